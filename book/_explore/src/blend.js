/** Weights times V: three values to drag, and the output in their hull. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { scoreControl, temperatureControl } from "./scores.js";
import { arrow, axes, fresh, rich, show } from "./shared.js";

const VALUES = [
  [0.9, 0.1],
  [0.2, 0.8],
  [0.4, -0.2],
];
const pointRange = { min: -0.3, max: 1, step: 0.02 };

export const blend = {
  title: "Weights times V: the output stays in the hull of the values",
  controls: [
    ...[1.25, 0.8, -0.2].map((value, i) => ({
      ...scoreControl(i + 1, value),
      step: 0.05,
      text: (z) => show(z, 2),
    })),
    temperatureControl,
    ...VALUES.flatMap((v, i) =>
      ["x", "y"].map((axis, c) => ({
        name: `${axis}${i + 1}`,
        ...pointRange,
        value: v[c],
        drawn: true,
      })),
    ),
  ],
  readouts: [
    ["x", "output, x", 3],
    ["y", "output, y", 3],
    ["effective", "effective keys, 1/Σp²", 2],
    ["squares", "Σp², variance left", 3],
  ],
  panels: [
    [
      "plane",
      "three values v, drag them or use arrow keys; the output o",
      360,
      { left: 32, top: 10, bottom: 26 },
    ],
  ],
  update(app) {
    const scores = [1, 2, 3].map((j) => app.state[`z${j}`]);
    const values = [1, 2, 3].map((j) => [app.state[`x${j}`], app.state[`y${j}`]]);
    const p = math.softmax(scores, app.state.T);
    const output = math.blend(p, values);
    drawPlane(app, scores, values, p, output);
    const sum = p.map((w, j) => `${show(w, 3)} v_${j + 1}`).join(" + ");
    app.formula.replaceChildren(rich(`o = ${sum} = (${show(output[0])}, ${show(output[1])})`));
    return {
      values: {
        x: output[0],
        y: output[1],
        effective: math.effectiveKeys(p),
        squares: 1 / math.effectiveKeys(p),
      },
      spoken: `Weights ${p.map((w) => show(w)).join(", ")}; output at ${show(output[0])}, ${show(output[1])}.`,
    };
  },
};

function drawPlane(app, scores, values, p, output) {
  const panel = app.panels.plane;
  const domain = [pointRange.min - 0.1, pointRange.max + 0.1]; // the triangle fills any panel
  const x = d3.scaleLinear(domain, panel.xRange);
  const y = d3.scaleLinear(domain, panel.yRange);
  axes(panel, { x, y, xTicks: 7, yTicks: 7 });
  const at = ([a, b]) => [x(a), y(b)];
  const group = fresh(panel.svg, "vectors");
  group
    .append("path")
    .attr("d", `M${values.map(at).join("L")}Z`)
    .style("fill", colour("value"))
    .style("fill-opacity", 0.14)
    .style("stroke", colour("value"));
  const path = Array.from({ length: 81 }, (_, i) =>
    at(math.blend(math.softmax(scores, 10 ** (2.2 - i / 20)), values)),
  );
  group
    .append("path")
    .attr("d", d3.line()(path))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "2 3");
  group
    .append("circle")
    .attr("cx", x(0))
    .attr("cy", y(0))
    .attr("r", 4)
    .style("fill", "var(--ex-ink)");
  let end = [0, 0];
  values.forEach((value, j) => {
    const next = [end[0] + p[j] * value[0], end[1] + p[j] * value[1]];
    arrow(group, at(end), at(next), colour("weights"), 2.2);
    const [[x1, y1], [x2, y2]] = [at(end), at(next)];
    const length = Math.hypot(x2 - x1, y2 - y1);
    const aside = j < 2 ? 16 : -16; // at the arrow's right, the last at its left: both may be short
    if (length > 8)
      group
        .append("text")
        .attr("class", "rim")
        .attr("x", (x1 + x2) / 2 - (aside * (y2 - y1)) / length)
        .attr("y", (y1 + y2) / 2 + (aside * (x2 - x1)) / length + 4)
        .attr("text-anchor", "middle")
        .style("fill", colour("weights"))
        .text(`p${"₁₂₃"[j]}v${"₁₂₃"[j]}`);
    end = next;
  });
  const middle = values.reduce((sum, value) => sum + value[1] / 3, 0);
  values.forEach((value, j) => {
    const dy = value[1] >= middle ? -14 : 26; // outside the triangle
    const label = group
      .append("text")
      .attr("class", "rim")
      .attr("x", x(value[0]))
      .attr("y", y(value[1]) + dy);
    label.attr("text-anchor", "middle").text(`v${"₁₂₃"[j]}: ${show(p[j])}`);
  });
  group
    .append("circle")
    .attr("cx", x(output[0]))
    .attr("cy", y(output[1]))
    .attr("r", 7)
    .style("fill", colour("weights"))
    .style("stroke", "var(--ex-ground)")
    .style("stroke-width", 1.5);
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", x(output[0]) + 12)
    .attr("y", y(output[1]) + 5)
    .style("font-weight", 700)
    .text("o");
  const { made, all } = drawHandles(panel, values, pointRange, "value");
  made.attr(
    "aria-label",
    (_, j) => `value ${j + 1}, a point: left and right arrows move x, up and down move y`,
  );
  all.attr("transform", (value) => `translate(${at(value)})`);
  all
    .attr("aria-valuenow", (value) => value[0])
    .attr("aria-valuetext", (value) => `x ${show(value[0])}, y ${show(value[1])}`);
  const byKey = (event, value, number) => {
    const axis = /Up|Down/.test(event.key) ? 1 : 0;
    const next = fromKey(event, value[axis], pointRange);
    return next === null ? null : { [`${"xy"[axis]}${number}`]: next };
  };
  const byDrag = (event, number) => ({
    [`x${number}`]: x.invert(event.x),
    [`y${number}`]: y.invert(event.y),
  });
  listen(app, panel, all, byKey, byDrag);
  panel.describe(
    `Values at ${values.map(([a, b]) => `(${show(a)}, ${show(b)})`).join(", ")}; output at (${show(output[0])}, ${show(output[1])}). Dotted, the output's path from the highest temperature to the lowest.`,
    "group",
  );
}
