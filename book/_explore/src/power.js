/** Divide by a power of d_k: which line is flat, the start's, gradient descent's or Adam's? */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { powerControl } from "./scores.js";
import { apart, axes, fresh, rich, rule, show, show3, showCount } from "./shared.js";

const { power: steps } = data;
const names = Object.keys(steps.lines);
const [least, most] = [steps.d_k[0], steps.d_k.at(-1)];

/** Stands in the place of the answer until the reader has found a flat line. */
const QUESTION =
  "Which p keeps the start as large as it was, which gradient descent’s step, and which Adam’s? Is there one for all three?";

/** How a line and its points are drawn. */
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

/** How many times as large it is at the most components as at the least. */
const change = (name, p) => (most / least) ** exponent(name, p);

const isFlat = (name, p) => Math.abs(exponent(name, p)) < 1e-9;

export const power = {
  title: "Divide by d_k^p: which line is flat?",
  controls: [powerControl],
  readouts: names.map((name) => [name, steps.lines[name].label]),
  panels: [
    [
      "lines",
      `how many times as large as at ${least} components; points: measured, at p = 0, ½ and 1`,
      300,
      { left: 40, right: 118, top: 14 },
    ],
  ],
  update(app) {
    const { p } = app.state;
    drawLines(app.panels.lines, p);
    const flat = names.filter((name) => isFlat(name, p)).map((name) => steps.lines[name].kept);
    const powers = names.map(
      (name, i) =>
        `${steps.lines[name].kept}${i ? "" : " goes"} like d_k^{${plain(exponent(name, p))}}`,
    );
    const kept = flat.length ? `Flat: ${flat.join(" and ")}.` : "None of the three is flat.";
    app.memory.found ||= flat.length > 0;
    app.formula.replaceChildren(
      rich(
        app.memory.found ? `Divided by d_k^{${plain(p)}}: ${powers.join(", ")}. ${kept}` : QUESTION,
      ),
    );
    const values = Object.fromEntries(names.map((name) => [name, change(name, p)]));
    return {
      values: Object.fromEntries(names.map((name) => [name, `${show3(values[name])} times`])),
      spoken: `Divided by d_k to the power ${plain(p)}, from ${least} to ${most} components: ${names.map((name) => `${steps.lines[name].label} ${show3(values[name])} times`).join(", ")}.${app.memory.found ? ` ${kept}` : ""}`,
    };
  },
};

/** A power without needless zeros. */
const plain = (x) => show(x).replace(/\.?0+$/, "");

/** Three digits, without zeros behind the point at the end. */
const brief = (x) =>
  show3(x)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

function drawLines(panel, p) {
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
  rule(under, [left, y(1)], [right, y(1)], "var(--ex-muted)");
  const levels = names.map((name) => y(change(name, p)));
  const heights = apart(levels, 32, top, bottom - 16);
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
      .style("stroke-width", isFlat(name, p) ? 4.5 : 3)
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
      .selectAll("tspan")
      .data([steps.lines[name].short, `×${brief(change(name, p))}`])
      .enter()
      .append("tspan")
      .attr("x", right + 11)
      .attr("dy", (_, i) => 15 * i)
      .text(String);
  }
  panel.describe(
    `From ${least} to ${most} components, both axes logarithmic: ${names.map((name) => `${steps.lines[name].label} goes to ${show3(change(name, p))} times`).join(", ")}.`,
  );
}
