/** The variance of q·k: which of its assumptions guards the constant, and which the power. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { dotProductVariance } from "./math.js";
import { axes, fresh, layer, rule, say, show, show2 } from "./shared.js";

const DIMS = [1, 2, 4, 8, 16, 32, 64];
const WIDEST = DIMS.at(-1);
const TOPS = [8, 24, 48]; // of the axis, which has room for the line

/** A box that drops an assumption: where it is ticked, a mean or a correlation is this and no longer 0. */
const box = (name, label, dropped, value = 0) => ({
  name,
  label,
  options: { 0: "0", [dropped]: String(dropped) },
  value: String(value),
  check: true,
});

export const variance = {
  title: "What changes the variance of q·k?",
  prompt: "Untick a box, and tick others: what lifts the line, and what bends it?",
  hint: { target: "[id$=rho_k]", by: [0, 0] },
  beside: true,
  controls: [
    { ...box("mu_q", "mean 1", 1), group: "queries have" },
    box("rho_q", "correlated (0.3)", 0.3, 0.3),
    { ...box("mu_k", "mean 1", 1), group: "keys have" },
    box("rho_k", "correlated (0.3)", 0.3, 0.3),
  ],
  panelWidth: "100%",
  panels: [["line", "variance of q·k, divided by d_k", 300, { left: 26, right: 44, top: 12 }]],
  update({ state, panels: { line } }) {
    const [muQ, muK, rhoQ, rhoK] = ["mu_q", "mu_k", "rho_q", "rho_k"].map((name) =>
      Number(state[name]),
    );
    const over = (dK) => dotProductVariance(dK, { muQ, muK, rhoQ, rhoK }).variance / dK;
    drawLine(line, over);
    return { said: answer(over, rhoQ, rhoK) };
  },
};

function answer(over, rhoQ, rhoK) {
  if (over(WIDEST) > over(1))
    return `The line bends: at d_k = ${WIDEST} the variance is ${show2(over(WIDEST))} d_k and no longer d_k, because it grows with d_k^2.`;
  if (over(1) > 1) return `The line is lifted: the constant is ${over(1)}, the power stays.`;
  if (rhoQ + rhoK > 0)
    return `A correlation in the ${rhoQ ? "queries" : "keys"} alone moves nothing: the line is level at 1.`;
  return "All assumptions of the proof hold: the variance is d_k, and the line is level at 1.";
}

/** The variance over d_k against d_k, and level at 1 what it is while all assumptions hold. */
function drawLine(panel, over) {
  const x = d3.scaleLog([1, WIDEST], panel.xRange);
  const end = over(WIDEST);
  const y = d3.scaleLinear([0, TOPS.find((top) => top >= end)], panel.yRange);
  const [left, right] = x.range();
  axes(panel, { x, y, xTicks: DIMS, yTicks: 4, xFormat: String, xLabel: "d_k" });
  const grid = Array.from({ length: 61 }, (_, i) => WIDEST ** (i / 60));
  const curve = grid.map((dK) => [x(dK), y(over(dK))]);
  const now = layer(panel.svg, "now").classed("glides", true);
  layer(now, "between", "path")
    .attr("d", `${d3.line()(curve)}L${right},${y(1)}H${left}Z`)
    .style("fill", colour("weights"))
    .style("fill-opacity", 0.15);
  layer(now, "curve", "path")
    .attr("d", d3.line()(curve))
    .style("fill", "none")
    .style("stroke", colour("weights"))
    .style("stroke-width", 3);
  const words = fresh(panel.svg, "words");
  rule(words, [left, y(1)], [right, y(1)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  say(words, "if all assumptions hold", left + 6, y(1) + 17, "start");
  say(words, show(end, end % 1 ? 1 : 0), right + 6, y(end) + 5, "start")
    .style("font-weight", 700)
    .style("font-size", "15px");
  panel.describe(
    `Variance over d_k: ${DIMS.map((dK) => `${show(over(dK))} at d_k = ${dK}`).join(", ")}. If all assumptions hold it is 1.`,
  );
}
