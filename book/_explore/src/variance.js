/** The variance of q·k: which of its assumptions guards the constant, and which the power. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { dotProductVariance, makeGenerator, sampleNormal } from "./math.js";
import { arrow, axes, fresh, layer, richText, rule, say, show } from "./shared.js";

const DIMS = [1, 16, 32, 48, 64];
const WIDEST = DIMS.at(-1);
const TOP = 8; // of the axis: a steep line leaves there

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
  prompt: "Tick one box, then another: does the line lift or tilt?",
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
    ["line", "variance of q·k, divided by d_k", 246, { left: 26, right: 78, top: 26 }],
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
    return { said: answer(now, boxes) };
  },
};

function answer([first, last], [muQ, muK, rhoQ, rhoK]) {
  if (last > first) {
    const means = muQ && muK ? "means add" : "a mean adds";
    const why =
      rhoQ && rhoK
        ? `Both are correlated${muQ + muK ? `, and ${means} to it` : ""}`
        : `The ${rhoQ ? "key" : "query"}’s mean meets the ${rhoQ ? "query" : "key"}’s correlation`;
    return `${why}: the line ${first > 1 ? "lifts and tilts" : "tilts"}, to ${show(last, 1)} instead of 1 at d_k\u00a0=\u00a0${WIDEST}.`;
  }
  if (first > 1)
    return `The line lifts, and stays level: the variance is ${first}\u00a0d_k. The constant has changed, not the power of d_k.`;
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

/** The line from its first to its last variance over d_k, pale the one before, and level at 1 that of the assumptions. */
function drawLine(panel, now, before) {
  const x = d3.scaleLinear([1, WIDEST], panel.xRange);
  const y = d3.scaleLinear([0, TOP], panel.yRange);
  const [left, right] = x.range();
  axes(panel, { x, y, xTicks: DIMS, yTicks: 4, xFormat: String, xLabel: "d_k" });
  /** Where a line ends: at the right, or at the top if it is steep. */
  const end = ([first, last]) => {
    const d = last > TOP ? 1 + ((TOP - first) / (last - first)) * (WIDEST - 1) : WIDEST;
    return [x(d), y(Math.min(last, TOP))];
  };
  const draw = (parent, name, line) =>
    layer(parent, name, "path")
      .attr("d", `M${left},${y(line[0])}L${end(line)}`)
      .style("stroke", colour("weights"))
      .style("stroke-width", 3);
  draw(panel.svg, "before", before ?? now).style("opacity", 0.45);
  draw(layer(panel.svg, "now").classed("glides", true), "line", now);
  const words = fresh(panel.svg, "words");
  rule(words, [left, y(1)], [right, y(1)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  if (!before && String(now) === "1,1") foretell(words, x, y);
  const steep = ([, last]) => last > TOP;
  const value = ([, last]) => show(last, last % 1 ? 1 : 0);
  const bold = (text) => text.style("font-weight", 700).style("font-size", "15px");
  if (steep(now)) {
    const [tip, level] = end(now);
    arrow(words, [left, y(now[0])], [tip, level], colour("weights"), 3);
    const label = say(words, "", tip - 8, level - 8, "start");
    bold(label.append("tspan").text(value(now)));
    const was = before && steep(before) ? `, before ${value(before)}` : "";
    label.append("tspan").text(" at d");
    label.append("tspan").attr("dy", 3).attr("font-size", "75%").text("k");
    label.append("tspan").attr("dy", -3).text(` = ${WIDEST}${was}`);
  } else if (before && steep(before)) say(words, "before", end(before)[0], y(TOP) - 8, "middle");
  const groups = new Map(); // what stands at the right end of a line, or of more that are one there
  const add = (line, word) =>
    steep(line) || groups.set(value(line), [...(groups.get(value(line)) ?? []), word]);
  add(now, value(now));
  if (before) add(before, String(before) === String(now) ? "as before" : "before");
  add([1, 1], "as assumed");
  for (const [at, lines] of groups)
    lines.forEach((line, i) => {
      const level = y(Number(at)) + 4 + 15 * (i - (lines.length - 1) / 2);
      const comma = i < lines.length - 1 && line !== value(now) ? "," : "";
      const label = say(words, line + comma, right + 6, level, "start").attr("class", null);
      if (line === value(now)) bold(label);
    });
  panel.describe(
    `Variance over d_k, a straight line: ${show(now[0])} at d_k = 1, ${show(now[1])} at d_k = ${WIDEST}. If all assumptions hold it is 1.`,
  );
}

/** What may come, before anything is ticked. */
function foretell(words, x, y) {
  const pale = "var(--ex-muted)";
  const at = x(40);
  arrow(words, [at, y(1.3)], [at, y(3)], pale, 1.5);
  say(words, "lift?", at + 8, y(2.2), "start").style("fill", pale);
  const to = [x(60), y(6)];
  rule(words, [x(1), y(1)], to, pale).style("stroke-dasharray", "2 4");
  say(words, "tilt?", to[0], to[1] - 8, "middle").style("fill", pale);
}
