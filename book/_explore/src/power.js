/** Divide by a power of d_k: which line is flat, the start's, gradient descent's or Adam's? */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawCursor } from "./handles.js";
import { powerControl } from "./scores.js";
import { apart, axes, fresh, rich, show, show3, showCount } from "./shared.js";

const { power: steps } = data;
const names = Object.keys(steps.lines);
const [least, most] = [steps.d_k[0], steps.d_k.at(-1)];

const widthControl = {
  name: "d_k",
  label: "d_k, components of a head",
  spoken: "components of a head",
  values: steps.d_k,
  value: most,
  text: (dK) => showCount(dK),
};

/** Lines that lie on each other are both seen: dots on a line, and dashes on one. */
const looks = {
  start: { stroke: "var(--ex-ink)", dashes: "0.1 8", outline: "M-3.2,-3.2H3.2V3.2H-3.2Z" },
  SGD: {
    stroke: colour("SGD"),
    dashes: "none",
    outline: "M-6.5,0A6.5,6.5,0,1,1,6.5,0A6.5,6.5,0,1,1,-6.5,0Z",
  },
  Adam: { stroke: colour("Adam"), dashes: "9 7", outline: "M0,-5.5L5,4H-5Z" },
};

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = steps.lines[name].exponents;
  return undivided + p * (divided - undivided);
};

/** Of how many times it is at d_k what it is at the least d_k. */
const change = (name, p, dK) => (dK / least) ** exponent(name, p);

const isFlat = (name, p) => Math.abs(exponent(name, p)) < 1e-9;

export const power = {
  title: "Divide by d_k^p: which line is flat?",
  controls: [powerControl, widthControl],
  readouts: names.map((name) => [name, steps.lines[name].label]),
  panels: [
    [
      "lines",
      `size in a head of d_k components, over that at ${least}`,
      300,
      { left: 40, right: 126, top: 32 },
    ],
  ],
  update(app) {
    const { p, d_k: dK } = app.state;
    drawLines(app, p, dK);
    const flat = names.filter((name) => isFlat(name, p)).map((name) => steps.lines[name].kept);
    const powers = names.map(
      (name, i) =>
        `${steps.lines[name].kept}${i ? "" : " goes"} like d_k^{${plain(exponent(name, p))}}`,
    );
    const kept = flat.length ? `Flat: ${flat.join(" and ")}.` : "None of the three is flat.";
    app.formula.replaceChildren(
      rich(`Divided by d_k^{${plain(p)}}: ${powers.join(", ")}. ${kept}`),
    );
    const values = Object.fromEntries(names.map((name) => [name, change(name, p, dK)]));
    return {
      values: Object.fromEntries(names.map((name) => [name, `${show3(values[name])} times`])),
      spoken: `Divided by d_k to the power ${plain(p)}, from ${least} to ${dK} components: ${names.map((name) => `${steps.lines[name].label} ${show3(values[name])} times`).join(", ")}. ${kept}`,
    };
  },
};

/** A power without needless zeros. */
const plain = (x) => show(x).replace(/\.?0+$/, "");

function drawLines(app, p, dK) {
  const panel = app.panels.lines;
  const x = d3.scaleLog([least / 1.25, most], panel.xRange);
  const y = d3.scaleLog([least / most / 1.5, (1.5 * most) / least], panel.yRange);
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  axes(panel, {
    x,
    y,
    xLabel: "d_k",
    xTicks: panel.width < 420 ? [16, 256, 4096] : [16, 64, 256, 1024, 4096],
    yTicks: [0.01, 0.1, 1, 10, 100],
    xFormat: showCount,
    yFormat: d3.format("~r"),
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  under
    .append("line")
    .attr("x1", left)
    .attr("x2", right)
    .attr("y1", y(1))
    .attr("y2", y(1))
    .style("stroke", "var(--ex-muted)");
  const levels = names.map((name) => y(change(name, p, most)));
  const heights = apart(levels, 16, top, bottom);
  // The one with gaps lies above the one without.
  for (const name of ["SGD", "Adam", "start"]) {
    const { stroke, dashes, outline } = looks[name];
    const place = names.indexOf(name);
    group
      .append("path")
      .attr("class", "curve")
      .attr("data-line", name)
      .attr("d", `M${x(least)},${y(1)}L${right},${levels[place]}`)
      .style("stroke", stroke)
      .style("stroke-width", isFlat(name, p) && name !== "start" ? 6 : 3)
      .style("stroke-linecap", name === "start" ? "round" : "butt")
      .style("stroke-dasharray", dashes);
    const measured = steps.lines[name].measured[p] ?? [];
    measured.forEach((value, i) =>
      group
        .append("path")
        .attr("class", "measured")
        .attr("data-line", name)
        .attr("d", outline)
        .attr("transform", `translate(${x(steps.measured_at[i])},${y(value)})`)
        .style("fill", "var(--ex-ground)")
        .style("stroke", stroke)
        .style("stroke-width", 1.8),
    );
    under
      .append("path")
      .attr("d", `M${right},${levels[place]}L${right + 8},${heights[place]}`)
      .style("fill", "none")
      .style("stroke", "var(--ex-muted)");
    group
      .append("text")
      .attr("class", "rim")
      .attr("x", right + 11)
      .attr("y", heights[place] + 4)
      .style("fill", stroke)
      .style("font-weight", isFlat(name, p) ? 700 : 400)
      .text(steps.lines[name].short);
    group
      .append("circle")
      .attr("cx", x(dK))
      .attr("cy", y(change(name, p, dK)))
      .attr("r", 4)
      .style("fill", stroke);
  }
  drawCursor(app, panel, under, widthControl, x);
  panel.describe(
    `From ${least} to ${most} components, both axes logarithmic: ${names.map((name) => `${steps.lines[name].label} goes to ${show3(change(name, p, most))} times`).join(", ")}.`,
    "group",
  );
}
