/** One row of softmax under a larger or smaller divisor: its weights, the Jacobian, and what of the gradient is left. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import * as math from "./math.js";
import { drawCursor } from "./handles.js";
import { apart, axes, fresh, point, rich, rule, show, show3, superscript } from "./shared.js";
import { drawJacobian, drawWeights, keyScale } from "./weights.js";

const RATIOS = Array.from({ length: 21 }, (_, i) => 2 ** (i / 2 - 5));
const LEAST = 1e-8; // on the axis of what is left, and in the colours of the matrix
const FLOOR = 1e-6; // on the axis of the curves

const ratioControl = {
  name: "r",
  label: "r = c/√d_k",
  spoken: "r, the divisor over the root",
  values: RATIOS,
  value: 1,
  text: show3,
};

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
    ["norm", "norm of J"],
    ["factor", "1/r"],
    ["left", "norm of J, over r"],
    ["ratio", "over that at r = 1"],
  ],
  panelWidth: "12.5rem",
  panels: [
    [
      "curve",
      "norm of J, 1/r, and their product, what is left",
      220,
      { left: 36, right: 84, top: 32 },
    ],
    ["weights", "weights p, in hundredths", 150, { left: 30, bottom: 24, top: 18 }],
    ["jacobian", "Jacobian J, in hundredths", 200, { left: 30, bottom: 22, top: 6, right: 4 }],
    ["left", "gradient at score ○, query ●", 160, { left: 36, top: 10, bottom: 38 }],
  ],
  update(app) {
    const { r } = app.state;
    const scores = data.row[app.state.row];
    const p = math.softmax(scores, r);
    const root = math.softmax(scores);
    const norm = math.jacobianNorm(p);
    const left = norm / r;
    const atRoot = math.jacobianNorm(root);
    drawWeights(app.panels.weights, p, number, orNothing, hundredths);
    drawCurve(app, r);
    drawJacobian(app.panels.jacobian, math.jacobian(p), orNothing, shareOfDecades);
    drawLeft(app.panels.left, math.jacobianRows(p), math.jacobianRows(root), r);
    app.formula.replaceChildren(
      rich(
        `${name(r)}: ${show3(norm)} · ${show3(1 / r)} = ${show3(left)}; at the root ${show3(atRoot)}.`,
      ),
    );
    const values = { norm, factor: 1 / r, left, ratio: left / atRoot };
    return {
      values,
      spoken: `Largest weight ${show(p[0])}. Norm of the Jacobian ${show3(norm)}, over r ${show3(left)}, which is ${show3(values.ratio)} times that at the root.`,
    };
  },
};

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
  return `r = ${show3(r)}, as ${r < 1 ? "undivided" : "divided by d_k"} at d_k = ${dK}`;
}

/** The two factors and their product against r, and, pale, the product in the other row. */
function drawCurve(app, r) {
  const panel = app.panels.curve;
  const x = d3.scaleLog([RATIOS[0], RATIOS.at(-1)], panel.xRange);
  const y = d3.scaleLog([FLOOR, 100], panel.yRange).clamp(true);
  const [bottom, top] = y.range();
  const right = x.range()[1];
  axes(panel, {
    x,
    y,
    xLabel: "r = c/√d_k",
    xTicks: [1 / 32, 1 / 8, 1 / 2, 2, 8, 32],
    xFormat: (at) => (at < 1 ? `1/${1 / at}` : String(at)),
    yTicks: [1e-6, 1e-4, 0.01, 1, 100],
    yFormat: powerOfTen,
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  for (const [at, text, level] of [
    [1 / 8, "undivided, 64 components", 6],
    [1, "root", 22],
  ]) {
    rule(under, [x(at), top], [x(at), bottom], "var(--ex-muted)").style("stroke-dasharray", "4 3");
    group
      .append("text")
      .attr("class", "rim axis-label")
      .attr("x", x(at) + 4)
      .attr("y", bottom - level)
      .text(text);
  }
  const fading = (row) => (at) => math.jacobianNorm(math.softmax(data.row[row], at));
  const left = (row) => (at) => fading(row)(at) / at;
  const other = Object.keys(rows).find((row) => row !== app.state.row);
  const lines = [
    { name: "other", text: "other row", of: left(other), stroke: "key", look: [1.5, "2 4"] },
    { name: "factor", text: "1/r", of: (at) => 1 / at, stroke: null, look: [1.5, "none"] },
    {
      name: "norm",
      text: "norm of J",
      of: fading(app.state.row),
      stroke: "weights",
      look: [2, "7 4"],
    },
    { name: "left", text: "product", of: left(app.state.row), stroke: "query", look: [3, "none"] },
  ];
  const grid = Array.from({ length: 101 }, (_, i) => 2 ** (i / 10 - 5));
  const labelled = lines.slice(1);
  const heights = apart(
    labelled.map(({ of }) => y(of(32))),
    15,
    top,
    bottom,
  );
  for (const { name, of, stroke, look } of lines) {
    group
      .append("path")
      .attr("data-line", name)
      .attr("d", d3.line()(grid.filter((at) => of(at) >= FLOOR).map((at) => [x(at), y(of(at))])))
      .style("fill", "none")
      .style("stroke", stroke ? colour(stroke) : "var(--ex-muted)")
      .style("stroke-width", look[0])
      .style("stroke-dasharray", look[1]);
  }
  labelled.forEach(({ text, of, stroke }, i) => {
    group
      .append("text")
      .attr("class", "rim end")
      .attr("x", right + 6)
      .attr("y", heights[i] + 4)
      .style("fill", stroke ? colour(stroke) : "var(--ex-muted)")
      .text(text);
    if (of(r) >= FLOOR)
      point(group, x(r), y(of(r)), i === 2 ? 6 : 4, stroke ? colour(stroke) : "var(--ex-muted)");
  });
  drawCursor(app, panel, under, ratioControl, x);
  const say = (row) => RATIOS.filter((_, i) => i % 4 === 0).map((at) => show3(left(row)(at)));
  panel.describe(
    `Norm of the Jacobian over r, both axes logarithmic, for r from 1/32 to 32: ${say(app.state.row).join(", ")}; in the other row ${say(other).join(", ")}.`,
    "group",
  );
}

const powerOfTen = (v) => (v === 1 ? "1" : `10${superscript(Math.round(Math.log10(v)))}`);

/** What is left of the gradient at each key's score, by softmax alone and with the divisor, beside that at the root. */
function drawLeft(panel, rows, atRoot, r) {
  const x = keyScale(panel, rows.length);
  const y = d3.scaleLog([LEAST, 100], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: x.domain(),
    xFormat: number,
    xLabel: "key, the best first",
    yTicks: [1e-8, 1e-6, 1e-4, 0.01, 1, 100],
    yFormat: powerOfTen,
  });
  const group = fresh(panel.svg, "left");
  rows.forEach((part, j) => {
    const at = x(j) + x.bandwidth() / 2;
    rule(
      group,
      [x(j) - 2, y(atRoot[j])],
      [x(j) + x.bandwidth() + 2, y(atRoot[j])],
      "var(--ex-ink)",
    ).style("stroke-width", 2);
    if (part / r < LEAST) {
      group
        .append("text")
        .attr("x", at)
        .attr("y", y(LEAST) - 4)
        .attr("text-anchor", "middle")
        .text("↓");
      return;
    }
    const shown = Math.max(part, LEAST);
    rule(group, [at, y(shown)], [at, y(part / r)], colour("query")).style("stroke-width", 1.5);
    if (part >= LEAST)
      point(group, at, y(part), 4.5, "var(--ex-ground)")
        .style("stroke", colour("weights"))
        .style("stroke-width", 2);
    point(group, at, y(part / r), 4.5, colour("query"));
  });
  panel.describe(
    `By key, in the Jacobian and over r: ${rows.map((part, j) => `key ${j + 1} ${show3(part)} and ${show3(part / r)}, at the root ${show3(atRoot[j])}`).join("; ")}.`,
  );
}
