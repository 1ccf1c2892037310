/** Weights times V: three values to drag, and the output in their hull. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { scoreControl, temperatureControl } from "./scores.js";
import { arrow, axes, element, fresh, point, rich, say, show } from "./shared.js";

const VALUES = [
  [0.9, 0.1],
  [0.2, 0.8],
  [0.4, -0.2],
];
const pointRange = { min: -0.3, max: 1, step: 0.02 };

export const blend = {
  title: "Weights times V: the output stays in the hull of the values",
  paired: true,
  beside: true,
  controls: [
    ...[1.25, 0.8, -0.2].map((value, i) => ({
      ...scoreControl(i + 1, value),
      label: `score z_${i + 1}`,
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
  ],
  panels: [
    [
      "plane",
      "values v: drag, or arrow keys; output o",
      372,
      { left: 32, top: 8, bottom: 24, right: 8 },
    ],
  ],
  update(app) {
    const scores = [1, 2, 3].map((j) => app.state[`z${j}`]);
    const values = [1, 2, 3].map((j) => [app.state[`x${j}`], app.state[`y${j}`]]);
    const p = math.softmax(scores, app.state.T);
    const output = math.blend(p, values);
    drawShares(app, p);
    drawPlane(app, scores, values, p, output);
    const sum = p.map((w, j) => `${w.toFixed(3)} v_${j + 1}`).join(" + ");
    app.formula.replaceChildren(rich(`o = ${sum} = (${show(output[0])}, ${show(output[1])})`));
    return {
      values: {
        x: output[0],
        y: output[1],
        effective: math.effectiveKeys(p),
      },
      spoken: `Weights ${p.map((w) => show(w)).join(", ")}; output at ${show(output[0])}, ${show(output[1])}.`,
    };
  },
};

/** Under each score a bar, as long as the weight. */
function drawShares(app, p) {
  app.memory.shares ??= [...app.controls.children]
    .slice(0, p.length)
    .map((control) => control.appendChild(element("div", { class: "explorable-share" })));
  app.memory.shares.forEach((share, j) => {
    share.style.setProperty("--ex-share", `${100 * p[j]}%`);
    share.replaceChildren(rich(`p_${j + 1} = ${p[j].toFixed(3)}`));
  });
}

/** The way of the output from the highest temperature, where weights are even, to the lowest, where the largest scores share all. */
function wayOf(scores, values) {
  const temperatures = [Infinity, ...Array.from({ length: 121 }, (_, i) => 10 ** (3 - i / 20))];
  const largest = scores.map((z) => Number(z === Math.max(...scores)));
  const last = largest.map((one) => one / largest.filter(Boolean).length);
  return [...temperatures.map((T) => math.softmax(scores, T)), last].map((p) =>
    math.blend(p, values),
  );
}

/** Scales with equal units along both axes, which show all places that values can have. */
function planeOf(panel) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const reach = pointRange.max - pointRange.min + 0.3; // room for a handle at the ends, and its label
  const unit = Math.min(right - left, bottom - top) / reach;
  const middle = (pointRange.min + pointRange.max) / 2;
  const domain = (length) => [middle - length / unit / 2, middle + length / unit / 2];
  return {
    x: d3.scaleLinear(domain(right - left), [left, right]),
    y: d3.scaleLinear(domain(bottom - top), [bottom, top]),
  };
}

function drawPlane(app, scores, values, p, output) {
  const panel = app.panels.plane;
  const { x, y } = planeOf(panel);
  axes(panel, { x, y, xTicks: 7, yTicks: 7 });
  const at = ([a, b]) => [x(a), y(b)];
  const group = fresh(panel.svg, "vectors");
  group
    .append("path")
    .attr("d", `M${values.map(at).join("L")}Z`)
    .style("fill", colour("value"))
    .style("fill-opacity", 0.14)
    .style("stroke", colour("value"));
  const way = wayOf(scores, values).map(at);
  point(group, way[0][0], way[0][1], 3.5, "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 1.5);
  group
    .append("path")
    .attr("class", "way")
    .attr("d", d3.line()(way))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "2 3");
  point(group, x(0), y(0), 4, "var(--ex-ink)");
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
  const sizes = p.map((w) => 4 + 10 * Math.sqrt(w));
  const taken = [];
  values.forEach((value, j) => {
    const side = value[1] >= middle ? -1 : 1; // outside the triangle
    const [left, level] = at(value);
    let height = level + side * (sizes[j] + (side < 0 ? 7 : 15));
    const overprints = ([x, y]) => Math.abs(x - left) < 60 && Math.abs(y - height) < 15;
    while (taken.some(overprints)) height += side * 4;
    taken.push([left, height]);
    say(group, `v${"₁₂₃"[j]}: ${p[j].toFixed(2)}`, left, height, "middle");
  });
  const { made, all } = drawHandles(panel, values, pointRange, "value");
  made.attr(
    "aria-label",
    (_, j) => `value ${j + 1}, a point: left and right arrows move x, up and down move y`,
  );
  all.attr("transform", (value) => `translate(${at(value)})`);
  all.select("circle:not(.ring)").attr("r", (_, j) => sizes[j]);
  all.select("circle.ring").attr("r", (_, j) => sizes[j] + 5);
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
  const [left, level] = at(output);
  const above = fresh(panel.svg, "output").style("pointer-events", "none"); // of the handles, which may lie below
  point(above, left, level, 6, colour("weights"))
    .style("stroke", "var(--ex-ground)")
    .style("stroke-width", 1.5);
  say(above, "o", left + 17, level + 5, "start").style("font", "700 15px system-ui, sans-serif");
  panel.describe(
    `Values at ${values.map(([a, b]) => `(${show(a)}, ${show(b)})`).join(", ")}; output at (${show(output[0])}, ${show(output[1])}). Dotted, the output's path from the highest temperature to the lowest.`,
    "group",
  );
}
