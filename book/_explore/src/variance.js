/** The variance of q·k: which of its assumptions guards the constant, and which the power. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { dotProductVariance, makeGenerator, sampleNormal } from "./math.js";
import { apart, axes, fresh, layer, rule, say, show } from "./shared.js";

const DIMS = [1, 16, 32, 48, 64];
const WIDEST = DIMS.at(-1);
const TOPS = [8, 50]; // of the axis: that of a steep line is the second

/** For each point of a cloud two numbers of its own and one that they share: draws whose correlations are near those that are meant. */
const cloud = (seed) => {
  const drawn = sampleNormal(240, makeGenerator(seed));
  return Array.from({ length: 80 }, (_, i) => drawn.slice(3 * i, 3 * i + 3));
};
const CLOUDS = { query: cloud(5), key: cloud(8) };

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
  panels: [
    ["query", "query: q_1 and q_2", 100, { left: 0, right: 0, top: 4, bottom: 4 }],
    ["key", "key: k_1 and k_2", 100, { left: 0, right: 0, top: 4, bottom: 4 }],
    ["line", "variance of q·k, divided by d_k", 262, { left: 26, right: 78, top: 12 }],
  ],
  forget({ memory }) {
    memory.boxes = undefined;
  },
  update({ memory, state, panels: { query, key, line } }) {
    const boxes = ["mu_q", "mu_k", "rho_q", "rho_k"].map((name) => Number(state[name]));
    const [muQ, muK, rhoQ, rhoK] = boxes;
    const over = (dK) => dotProductVariance(dK, { muQ, muK, rhoQ, rhoK }).variance / dK;
    const now = [over(1), over(WIDEST)];
    if (String(boxes) !== String(memory.boxes))
      Object.assign(memory, { boxes, now, before: memory.boxes && memory.now });
    drawCloud(query, "query", muQ, rhoQ);
    drawCloud(key, "key", muK, rhoK);
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

/** Two components of many vectors, one across and one up: a mean moves the cloud, a correlation stretches it. */
function drawCloud(panel, vector, mean, rho) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const unit = Math.min(right - left, bottom - top) / 6.4;
  const [x0, y0] = [(left + right) / 2 - 0.5 * unit, (top + bottom) / 2 + 0.5 * unit];
  const around = fresh(panel.svg, "around");
  rule(around, [x0 - 2.7 * unit, y0], [x0 + 3.7 * unit, y0], "var(--ex-muted)");
  rule(around, [x0, y0 + 2.7 * unit], [x0, y0 - 3.7 * unit], "var(--ex-muted)");
  say(around, "0", x0 - 3 * unit, y0 + 4, "middle");
  const moving = layer(panel.svg, "cloud").classed("glides", true);
  const places = CLOUDS[vector].map(([own1, own2, shared]) =>
    [own1, own2].map((own) => mean + Math.sqrt(1 - rho) * own + Math.sqrt(rho) * shared),
  );
  layer(moving, "ring", "path")
    .attr("d", ring(x0 + mean * unit, y0 - mean * unit, 2 * unit, rho))
    .style("fill", colour(vector))
    .style("fill-opacity", 0.15)
    .style("stroke", colour(vector))
    .style("stroke-width", 1.5);
  layer(moving, "points")
    .classed("glides", true)
    .selectAll("circle")
    .data(places)
    .join("circle")
    .attr("r", 1.6)
    .style("fill", colour(vector))
    .attr("cx", ([a]) => x0 + a * unit)
    .attr("cy", ([, b]) => y0 - b * unit);
  panel.describe(`Two components of a ${vector}: mean ${mean}, correlation ${rho}.`);
}

/** An ellipse around pairs of that correlation, along the diagonal. */
function ring(x, y, size, rho) {
  const [long, short] = [Math.sqrt(1 + rho), Math.sqrt(1 - rho)].map((share) => size * share);
  const reach = long * Math.SQRT1_2;
  const [from, to] = [`${x - reach},${y + reach}`, `${x + reach},${y - reach}`];
  return `M${from}A${long},${short},-45,0,1,${to}A${long},${short},-45,0,1,${from}Z`;
}

/** The line from its first to its last variance over d_k, pale the one before, and level at 1 that of the assumptions. */
function drawLine(panel, now, before) {
  const most = TOPS.find((high) => Math.max(now[1], before?.[1] ?? 0) <= high);
  const x = d3.scaleLinear([1, WIDEST], panel.xRange);
  const y = d3.scaleLinear([0, most], panel.yRange);
  const [left, right] = x.range();
  axes(panel, { x, y, xTicks: DIMS, yTicks: 4, xFormat: String, xLabel: "d_k" });
  const draw = (parent, name, [first, last]) =>
    layer(parent, name, "path")
      .attr("d", `M${left},${y(first)}L${right},${y(last)}`)
      .style("stroke", colour("weights"))
      .style("stroke-width", 3);
  draw(panel.svg, "before", before ?? now).style("opacity", 0.35);
  draw(layer(panel.svg, "now").classed("glides", true), "line", now);
  const words = fresh(panel.svg, "words");
  rule(words, [left, y(1)], [right, y(1)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  const [, last] = now;
  const stays = String(before) === String(now);
  const labels = [
    [last, show(last, last % 1 ? 1 : 0)],
    [1, "as assumed"],
    ...(before ? [[before[1], stays ? "as before" : "before"]] : []),
  ];
  const levels = labels.map(([variance]) => y(variance));
  apart(levels, 15, panel.margin.top, y(0)).forEach((level, i) => {
    const label = say(words, labels[i][1], right + 6, level + 4, "start").attr("class", null);
    if (!i) label.style("font-weight", 700).style("font-size", "15px");
  });
  panel.describe(
    `Variance over d_k, a straight line: ${show(now[0])} at d_k = 1, ${show(last)} at d_k = ${WIDEST}. If all assumptions hold it is 1.`,
  );
}
