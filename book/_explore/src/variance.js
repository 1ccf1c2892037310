/** The variance of q·k: which of its assumptions guards the constant, and which the power. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { dotProductVariance } from "./math.js";
import { axes, fresh, layer, rule, say, show } from "./shared.js";

const DIMS = [1, 16, 32, 48, 64];
const WIDEST = DIMS.at(-1);
const TOP = 8; // of the axis, which stands still: a steeper line leaves it

/** A box that drops an assumption: where it is ticked, a mean or a correlation is this and no longer 0. */
const box = (name, label, dropped) => ({
  name,
  label,
  options: { 0: "0", [dropped]: String(dropped) },
  value: "0",
  check: true,
});

export const variance = {
  title: "What lifts the variance of q·k, and what tilts it?",
  prompt: "Tick a box: does the line lift or tilt?",
  hint: { target: "[id$=mu_q]" },
  controls: [
    { ...box("mu_q", "mean 1", 1), group: "query components" },
    box("rho_q", "correlated (0.3)", 0.3),
    { ...box("mu_k", "mean 1", 1), group: "key components" },
    box("rho_k", "correlated (0.3)", 0.3),
  ],
  panelWidth: "100%",
  panels: [["line", "variance of q·k, divided by d_k", 285, { left: 26, right: 52, top: 12 }]],
  forget({ memory }) {
    memory.now = undefined;
  },
  update({ memory, state, panels: { line } }) {
    const [muQ, muK, rhoQ, rhoK] = ["mu_q", "mu_k", "rho_q", "rho_k"].map((name) =>
      Number(state[name]),
    );
    const over = (dK) => dotProductVariance(dK, { muQ, muK, rhoQ, rhoK }).variance / dK;
    const [now, was] = [[over(1), over(WIDEST)], memory.now];
    if (String(now) !== String(was)) Object.assign(memory, { now, before: was ?? now });
    drawLine(line, now, memory.before);
    return { said: answer(now, rhoQ, rhoK) };
  },
};

function answer([first, last], rhoQ, rhoK) {
  if (last > first)
    return `The line ${first > 1 ? "lifts and tilts" : "tilts"}: at d_k\u00a0=\u00a0${WIDEST} the variance is ${show(last, 1)}\u00a0d_k and no longer d_k, for it grows with d_k^2.`;
  if (first > 1)
    return `The line lifts, and stays level: the variance is ${first}\u00a0d_k. The constant has changed, not the power of d_k.`;
  if (rhoQ + rhoK > 0)
    return `Correlated components in the ${rhoQ ? "query" : "key"} alone neither lift nor tilt the line: it is level at 1.`;
  return "All assumptions of the proof hold: the variance is d_k, and the line is level at 1.";
}

/** The line from its first to its last variance over d_k, pale the one before, and level at 1 that of the assumptions. */
function drawLine(panel, now, before) {
  const x = d3.scaleLinear([1, WIDEST], panel.xRange);
  const y = d3.scaleLinear([0, TOP], panel.yRange);
  const [left, right] = x.range();
  axes(panel, { x, y, xTicks: DIMS, yTicks: 4, xFormat: String, xLabel: "d_k" });
  const draw = (parent, name, [first, last]) => {
    const share = Math.min(1, (TOP - first) / (last - first || 1)); // of the way, within the frame
    return layer(parent, name, "path")
      .attr("d", `M${left},${y(first)}L${left + share * (right - left)},${y(Math.min(last, TOP))}`)
      .style("stroke", colour("weights"))
      .style("stroke-width", 3);
  };
  draw(panel.svg, "before", before).style("opacity", 0.35);
  draw(layer(panel.svg, "now").classed("glides", true), "line", now);
  const words = fresh(panel.svg, "words");
  rule(words, [left, y(1)], [right, y(1)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  say(words, "if all assumptions hold", right - 4, y(1) - 7, "end");
  const [last, was] = [now[1], before[1]];
  if (was > 1 && was <= TOP && was !== last) say(words, "before", right + 6, y(was) + 4, "start");
  const value = show(last, last % 1 ? 1 : 0);
  const end =
    last > TOP
      ? say(words, `↑ on to ${value}`, right, y(TOP) + 20, "end")
      : say(words, value, right + 6, y(last) + 5, "start");
  end.style("font-weight", 700).style("font-size", "15px");
  panel.describe(
    `Variance over d_k, a straight line: ${show(now[0])} at d_k = 1, ${show(last)} at d_k = ${WIDEST}. If all assumptions hold it is 1.`,
  );
}
