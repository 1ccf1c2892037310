/** The variance of q·k: which of its assumptions guards the constant, and which the power. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { dotProductVariance, makeGenerator, sampleNormal } from "./math.js";
import { arrow, axes, fresh, layer, richText, rule, say, show } from "./shared.js";

const DIMS = [1, 16, 32, 48, 64];
const WIDEST = DIMS.at(-1);
const TOP = 8; // of the axis: a steep line is cut there

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
  title: "What lifts this line, and what tilts it?",
  prompt: "Break an assumption of the proof: tick a box, and watch the line.",
  hint: { target: "[id$=mu_q]" },
  controls: [
    { ...box("mu_q", "mean 1", 1), group: "query components" },
    box("rho_q", "correlated (0.3)", 0.3),
    { ...box("mu_k", "mean 1", 1), group: "key components" },
    box("rho_k", "correlated (0.3)", 0.3),
  ],
  panels: [
    ["query", "a dot: one query", 106, { left: 0, right: 0, top: 2, bottom: 14 }],
    ["key", "a dot: one key", 106, { left: 0, right: 0, top: 2, bottom: 14 }],
    ["line", "variance of q·k, divided by d_k", 236, { left: 26, right: 78, top: 26 }],
  ],
  update({ state, panels: { query, key, line } }) {
    const boxes = ["mu_q", "mu_k", "rho_q", "rho_k"].map((name) => Number(state[name]));
    const [muQ, muK, rhoQ, rhoK] = boxes;
    const over = (dK) => dotProductVariance(dK, { muQ, muK, rhoQ, rhoK }).variance / dK;
    const [first, last] = [over(1), over(WIDEST)];
    drawCloud(query, "query", muQ, rhoQ);
    drawCloud(key, "key", muK, rhoK);
    drawLine(line, first, last);
    return { said: answer(first, last, boxes) };
  },
};

function answer(first, last, [muQ, muK, rhoQ, rhoK]) {
  if (last > first) {
    const means = muQ && muK ? "means add" : "a mean adds";
    const why =
      rhoQ && rhoK
        ? `Both are correlated${muQ + muK ? `, and ${means} to it` : ""}`
        : `The ${rhoQ ? "key" : "query"}’s mean meets the ${rhoQ ? "query" : "key"}’s correlation`;
    return `${why}: the line ${first > 1 ? "lifts and tilts" : "tilts"}, to ${show(last, 1)} instead of 1 at d_k\u00a0=\u00a0${WIDEST}.`;
  }
  if (first > 1)
    return `The line is lifted, and still level: the variance is ${first}\u00a0d_k, another constant with the same power of d_k.`;
  if (rhoQ + rhoK > 0)
    return `Correlated components in the ${rhoQ ? "query" : "key"} alone neither lift nor tilt the line: it is level at 1.`;
  return "All assumptions of the proof hold: the variance is d_k, and the line is level at 1.";
}

/** Two components of many vectors, one across and one up: a mean moves the cloud, a correlation stretches it. */
function drawCloud(panel, vector, mean, rho) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const unit = (bottom - top) / 6.4;
  const [x0, y0] = [(left + right) / 2 - 0.5 * unit, (top + bottom) / 2 + 0.5 * unit];
  const around = fresh(panel.svg, "around");
  for (const at of [0, 1]) {
    const [across, up] = [y0 - at * unit, x0 + at * unit];
    const lines = [
      rule(around, [x0 - 2.7 * unit, across], [x0 + 3.7 * unit, across], "var(--ex-muted)"),
      rule(around, [up, bottom], [up, top], "var(--ex-muted)"),
    ];
    if (at) lines.forEach((line) => line.style("stroke-dasharray", "2 3"));
    say(around, at, x0 - 3.1 * unit, across + 4, "middle");
    say(around, at, up, bottom + 12, "middle");
  }
  const name = vector[0];
  richText(say(around, "", x0 + 3.9 * unit, y0 + 4, "start"), `${name}_1`);
  richText(say(around, "", x0 - 0.5 * unit, top + 9, "end"), `${name}_2`);
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

/** The line from its first to its last variance over d_k, and level at 1 that of the assumptions. */
function drawLine(panel, first, last) {
  const x = d3.scaleLinear([1, WIDEST], panel.xRange);
  const y = d3.scaleLinear([0, TOP], panel.yRange);
  const [left, right] = x.range();
  axes(panel, { x, y, xTicks: DIMS, yTicks: 4, xFormat: String, xLabel: "d_k" });
  const steep = last > TOP;
  const leaves = steep ? x(1 + ((TOP - first) / (last - first)) * (WIDEST - 1)) : right;
  const end = [leaves, y(Math.min(last, TOP))];
  layer(layer(panel.svg, "now").classed("glides", true), "line", "path")
    .attr("d", `M${left},${y(first)}L${end}`)
    .style("stroke", colour("weights"))
    .style("stroke-width", 3);
  const words = fresh(panel.svg, "words");
  if (last > 1)
    rule(words, [left, y(1)], [right, y(1)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  say(words, last === 1 ? "as assumed" : "1 as assumed", right, y(1) + 15, "end");
  const [lifted, tilted] = [first > 1 && "lifted", last > first && "tilted"];
  const word = [lifted, tilted].filter(Boolean).join(" and ");
  const value = show(last, last % 1 ? 1 : 0);
  const label = steep
    ? say(words, "", leaves - 8, end[1] - 8, "start")
    : say(words, "", right + 6, end[1] + 5, "start");
  label.append("tspan").text(value).style("font-size", "15px");
  label.style("font-weight", 700);
  if (steep) {
    const back = 18 / Math.hypot(leaves - left, y(first) - end[1]);
    const from = [leaves - back * (leaves - left), end[1] + back * (y(first) - end[1])];
    arrow(words, from, end, colour("weights"), 3);
    label.append("tspan").text(" at d");
    label.append("tspan").attr("dy", 3).attr("font-size", "75%").text("k");
    label.append("tspan").attr("dy", -3).text(` = ${WIDEST},`);
  }
  label.append("tspan").text(` ${word}`);
  panel.describe(
    `Variance over d_k, a straight line: ${show(first)} at d_k = 1, ${show(last)} at d_k = ${WIDEST}. If all assumptions hold it is 1.`,
  );
}
