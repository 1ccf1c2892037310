/** One row of softmax under a larger or smaller divisor: what of the gradient is left, a curve that the reader draws. */
import * as d3 from "./d3.js";
import { colour, data, looks } from "./data.js";
import * as math from "./math.js";
import { drawCursor } from "./handles.js";
import { axes, element, fresh, point, rich, rule, say, show2, show3, showCount } from "./shared.js";
import { drawJacobian, drawWeights } from "./weights.js";

const RATIOS = Array.from({ length: 27 }, (_, i) => 2 ** (i / 2 - 8));
const LEAST = 1e-8; // in the colours of the matrix
const [FLOOR, CEILING] = [0.003, 400]; // of the axis of the curves

const ratioControl = {
  name: "r",
  label: "r = c/√d_k",
  spoken: "r, the divisor over the root",
  values: RATIOS,
  value: 1,
  text: (r) => written(r),
};

/** A divisor over the root: a power of two as a fraction or a whole number. */
function written(r) {
  if (Number.isInteger(r)) return String(r);
  return Number.isInteger(1 / r) ? `1/${1 / r}` : show3(r);
}

const rows = { decided: "ordinary", level: "nearly level" };

export const row = {
  title: "What is left of the gradient?",
  paired: true,
  controls: [
    ratioControl,
    {
      name: "row",
      label: "row",
      options: rows,
      value: "decided",
    },
  ],
  readouts: [
    ["factor", "1/r", show2],
    ["norm", "norm of J", show2],
    ["left", "what is left", show2],
    ["ratio", "relative to the root", show2],
  ],
  panelWidth: "15rem",
  panels: [
    ["curve", "1/r × norm of J = what is left", 250, { left: 36, right: 26, top: 32 }],
    ["weights", "weights p, in hundredths", 150, { left: 30, bottom: 24, top: 18 }],
    ["jacobian", "Jacobian J, in hundredths", 180, { left: 30, bottom: 22, top: 6, right: 4 }],
  ],
  update(app) {
    const { r, row } = app.state;
    const scores = data.row[row];
    const p = math.softmax(scores, r);
    const norm = math.jacobianNorm(p);
    drawWeights(app.panels.weights, p, number, orNothing, hundredths);
    drawCurve(app, been(app), r);
    drawJacobian(app.panels.jacobian, math.jacobian(p), orNothing, shareOfDecades);
    const values = { norm, factor: 1 / r, left: norm / r, ratio: left(row)(r) / left(row)(1) };
    const [low, high] = been(app)[row];
    const most = largest(row);
    const highest = show2(left(row)(most) / left(row)(1));
    const top =
      highest === show2(values.ratio)
        ? "This is the maximum."
        : `The maximum is ${highest} times that at the root.`;
    const found = low < most && most < high;
    const compared = r === 1 && found ? "." : verdict(r, values.ratio);
    const sentence = `${name(r)}${compared}${found ? ` ${top}` : ""}`;
    app.formula.replaceChildren(rich(sentence));
    app.panels.curve.svg.node().after(app.formula); // in sight with it, on a phone too
    return {
      values,
      spoken: `${sentence} Norm of the Jacobian ${show2(norm)}, over r ${show2(norm / r)}.`,
    };
  },
  forget({ memory }) {
    memory.been = {};
  },
};

/** By row, from where to where the reader has come on the way from the root. */
function been({ memory, state: { r, row } }) {
  const [low, high] = (memory.been ??= {})[row] ?? [1, 1];
  memory.been[row] = [Math.min(low, r), Math.max(high, r)];
  return memory.been;
}

/** The norm of a row's Jacobian against r. */
const fading = (row) => (r) => math.jacobianNorm(math.softmax(data.row[row], r));

/** The same over r: what is left of the gradient. */
const left = (row) => (r) => fading(row)(r) / r;

const number = (j) => j + 1;

const hundredths = (entry) => String(Math.round(100 * entry) + 0).replace("-", "−");

/** The same, where it isn't 0. */
const orNothing = (entry) => (Math.abs(entry) < 0.005 ? "" : hundredths(entry));

/** How dark an entry is: with its logarithm, since most are small. */
const shareOfDecades = (entry) =>
  1 - Math.log(0.25 / Math.max(LEAST, Math.abs(entry))) / Math.log(0.25 / LEAST);

/** Which divisor of the book that is, and at which d_k. */
function name(r) {
  if (r === 1) return "r = 1, the root";
  const dK = Math.round(r < 1 ? r ** -2 : r ** 2);
  return `r = ${written(r)}, as ${r < 1 ? looks.none.label : `divided by ${looks.d_k.label}`} at d_k = ${showCount(dK)}`;
}

const countOf = (x) => (x < 10 ? show2(x) : showCount(Number(x.toPrecision(2))));

/** How what is left compares with the root's. */
function verdict(r, ratio) {
  if (r === 1) return ". Is more left at a smaller divisor, or less?";
  if (ratio < 1e-6) return ": practically nothing is left.";
  if (ratio < 0.9) {
    const part = ratio < 0.5 ? `1/${countOf(1 / ratio)}` : show2(ratio);
    return `: ${part} of what it was at the root.`;
  }
  return `: ${ratio > 1.1 ? "" : "about as much, "}${show2(ratio)} times what it was at the root.`;
}

/** The r at which most is left. */
const largest = (row) => GRID.reduce((best, r) => (left(row)(r) > left(row)(best) ? r : best));

const GRID = Array.from({ length: 261 }, (_, i) => 2 ** (i / 20 - 8));

/** 1/r against r, and as far as the reader has been the norm and the product; dotted, the product in the other row. */
function drawCurve(app, been, r) {
  const panel = app.panels.curve;
  const { row } = app.state;
  const x = d3.scaleLog([RATIOS[0], RATIOS.at(-1)], panel.xRange);
  const y = d3.scaleLog([FLOOR, CEILING], panel.yRange);
  const [bottom, top] = y.range();
  const [start, end] = x.range();
  axes(panel, {
    x,
    y,
    xLabel: "r = c/√d_k",
    xTicks: [1 / 256, 1 / 32, 1 / 8, 1, 8, 32],
    xFormat: (at) => (at < 1 ? `1/${1 / at}` : at === 1 ? "1, the root" : String(at)),
    yTicks: [0.01, 0.1, 1, 10, 100],
    yFormat: String,
  });
  const under = fresh(panel.svg, "under");
  const dashed = (from, to) =>
    rule(under, from, to, "var(--ex-muted)").style("stroke-dasharray", "4 3");
  dashed([x(1), top], [x(1), bottom]);
  dashed([start, y(left(row)(1))], [x(1), y(left(row)(1))]);
  const group = fresh(panel.svg, "curves");
  const inside = group.append("clipPath").attr("id", "explorable-row-inside").append("rect");
  inside.attr("x", start - 8).attr("width", end - start + 16);
  inside.attr("y", top).attr("height", bottom - top);
  const within = group.append("g").attr("clip-path", "url(#explorable-row-inside)");
  const curve = (name, of, [low, high], stroke, width, dashes) =>
    within
      .append("path")
      .attr("data-line", name)
      .attr(
        "d",
        d3.line()(GRID.filter((at) => at >= low && at <= high).map((at) => [x(at), y(of(at))])),
      )
      .style("fill", "none")
      .style("stroke", stroke)
      .style("stroke-width", width)
      .style("stroke-dasharray", dashes);
  const all = [GRID[0], GRID.at(-1)];
  const factors = [
    ["1/r", (at) => 1 / at, all, "var(--ex-muted)", "none"],
    ["norm of J", fading(row), been[row], colour("weights"), "7 4"],
  ];
  for (const [text, of, way, stroke, dashes] of factors) curve(text, of, way, stroke, 1.5, dashes);
  for (const [other, way] of Object.entries(been))
    if (other !== row) curve("other", left(other), way, colour("key"), 2, "2 4");
  const product = left(row);
  curve("left", product, been[row], colour("query"), 3.5, "none");
  for (const [, of, , stroke] of factors)
    if (of(r) >= FLOOR) point(within, x(r), y(of(r)), 4, stroke);
  if (product(r) >= FLOOR) point(within, x(r), y(product(r)), 6, colour("query"));
  else say(group, "↓", x(r) - 4, bottom - 4, "end").style("font-weight", 700);
  drawNames(panel, Object.keys(been).length > 1);
  const most = largest(row);
  const [low, high] = been[row];
  if (low < most && most < high && Math.abs(x(r) - x(most)) > 20)
    say(group, "max", x(most), y(product(most)) - 10, "middle"); // clear of the handle's line
  drawCursor(app, panel, under, ratioControl, x);
  const told = RATIOS.filter((_, i) => i % 4 === 0).map((at) => show2(product(at)));
  panel.describe(
    `Norm of the Jacobian over r, both axes logarithmic, for r from 1/256 to 32: ${told.join(", ")}.`,
    "group",
  );
}

/** The panel's title as a product, each part underlined as its curve is drawn; then the other row's, where it is drawn. */
function drawNames({ heading }, other) {
  const named = (text, stroke, line) => {
    const name = element("span", { class: "explorable-curve-name" }, text);
    name.style.borderBottom = `${line} ${stroke}`;
    return name;
  };
  const product = [
    named("1/r", "var(--ex-muted)", "2px solid"),
    " × ",
    named("norm of J", colour("weights"), "2px dashed"),
    " = ",
    named("what is left", colour("query"), "4px solid"),
  ];
  if (other) product.push(", ", named("other row", colour("key"), "2px dotted"));
  heading.replaceChildren(...product);
}
