/** One row of softmax under a larger or smaller divisor: its weights, the Jacobian, and what of the gradient is left. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import * as math from "./math.js";
import { axes, fresh, rich, show, show3, superscript } from "./shared.js";
import { drawJacobian, drawWeights, keyScale } from "./weights.js";

const RATIOS = Array.from({ length: 21 }, (_, i) => 2 ** (i / 2 - 5));
const LEAST = 1e-8; // on the axis of what is left

export const row = {
  title: "What is left of the gradient?",
  paired: true,
  controls: [
    {
      name: "r",
      label: "r = c/√d_k",
      values: RATIOS,
      value: 1,
      text: show3,
    },
    {
      name: "row",
      label: "row",
      options: { decided: "ordinary", level: "nearly level" },
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
    ["weights", "weights p, in hundredths", 150, { left: 30, bottom: 24, top: 18 }],
    ["jacobian", "Jacobian J, in hundredths", 172, { left: 30, bottom: 22, top: 6, right: 4 }],
    ["left", "gradient left: ○ by J, ● by J/r", 160, { left: 36, top: 10, bottom: 38 }],
  ],
  update(app) {
    const { r } = app.state;
    const scores = data.row[app.state.row];
    const p = math.softmax(scores, r);
    const root = math.softmax(scores);
    const norm = math.jacobianNorm(p);
    const left = norm / r;
    const atRoot = math.jacobianNorm(root);
    drawWeights(app.panels.weights, p, number, (w) => (w < 0.005 ? "" : hundredths(w)), hundredths);
    drawJacobian(app.panels.jacobian, math.jacobian(p), hundredths);
    drawLeft(app.panels.left, math.jacobianRows(p), math.jacobianRows(root), r);
    app.formula.replaceChildren(
      rich(
        `${name(r)}: ${show3(norm)} · ${show3(1 / r)} = ${show3(left)}, and ${show3(atRoot)} at the root.`,
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

/** Which divisor of the book that is, and at which d_k. */
function name(r) {
  if (r === 1) return "r = 1, the root";
  const dK = Math.round(r < 1 ? r ** -2 : r ** 2);
  return `r = ${show3(r)}, as ${r < 1 ? "undivided" : "divided by d_k"} at d_k = ${dK}`;
}

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
    yFormat: (v) => (v === 1 ? "1" : `10${superscript(Math.round(Math.log10(v)))}`),
  });
  const group = fresh(panel.svg, "left");
  rows.forEach((part, j) => {
    const at = x(j) + x.bandwidth() / 2;
    group
      .append("line")
      .attr("x1", x(j) - 2)
      .attr("x2", x(j) + x.bandwidth() + 2)
      .attr("y1", y(atRoot[j]))
      .attr("y2", y(atRoot[j]))
      .style("stroke", "var(--ex-ink)")
      .style("stroke-width", 2);
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
    group
      .append("line")
      .attr("x1", at)
      .attr("x2", at)
      .attr("y1", y(shown))
      .attr("y2", y(part / r))
      .style("stroke", colour("query"))
      .style("stroke-width", 1.5);
    if (part >= LEAST)
      group
        .append("circle")
        .attr("cx", at)
        .attr("cy", y(part))
        .attr("r", 4.5)
        .style("fill", "var(--ex-ground)")
        .style("stroke", colour("weights"))
        .style("stroke-width", 2);
    group
      .append("circle")
      .attr("cx", at)
      .attr("cy", y(part / r))
      .attr("r", 4.5)
      .style("fill", colour("query"));
  });
  panel.describe(
    `By key, in the Jacobian and over r: ${rows.map((part, j) => `key ${j + 1} ${show3(part)} and ${show3(part / r)}, at the root ${show3(atRoot[j])}`).join("; ")}.`,
  );
}
