/** The variance of q·k: which of its assumptions guards the constant, and which the power. */
import * as d3 from "../_shared/d3.js";
import { colour } from "../_shared/data.js";
import { dotProductVariance, makeGenerator, sampleNormal } from "../_shared/math.js";
import {
  ROOMY,
  axes,
  fresh,
  layer,
  richText,
  rule,
  say,
  show,
  showCount,
} from "../_shared/shared.js";

const DIMS = [1, 4, 8, 12, 16];
const WIDEST = DIMS.at(-1);
const [SHIFTED, CORRELATED] = [1, 0.3];
const SMALL = [ROOMY ? 132 : 113, { left: 0, right: 0, top: 2, bottom: 14 }];

/** For each point of a cloud two numbers of its own and one that they share: draws whose correlations are near those that are meant. */
const cloud = (seed) => {
  const drawn = sampleNormal(240, makeGenerator(seed));
  return Array.from({ length: 80 }, (_, i) => drawn.slice(3 * i, 3 * i + 3));
};
const CLOUDS = { query: cloud(5), key: cloud(8) };

/** Pairs of a query and a key: components of their own, and one number that those of a vector share. */
const PAIRS = 8000;
const DRAWN = sampleNormal(PAIRS * 2 * (WIDEST + 1), makeGenerator(11));

/** The variance of the products of these pairs over d_k, for each of DIMS. */
function measured([muQ, muK, rhoQ, rhoK]) {
  const sums = DIMS.map(() => [0, 0]);
  const size = WIDEST + 1;
  const component = (at, i, mu, rho) =>
    mu + Math.sqrt(1 - rho) * DRAWN[at + i] + Math.sqrt(rho) * DRAWN[at + WIDEST];
  for (let pair = 0; pair < PAIRS; pair++) {
    const at = 2 * size * pair;
    let product = 0;
    for (let i = 0; i < WIDEST; i++) {
      product += component(at, i, muQ, rhoQ) * component(at + size, i, muK, rhoK);
      const place = DIMS.indexOf(i + 1);
      if (place < 0) continue;
      sums[place][0] += product;
      sums[place][1] += product ** 2;
    }
  }
  return sums.map(([sum, squares], i) => (squares / PAIRS - (sum / PAIRS) ** 2) / DIMS[i]);
}

/** A box that drops an assumption: where it is ticked, a mean or a correlation is this and no longer 0. One is ticked at first. */
const box = (name, what, dropped) => ({
  name,
  label: `${what} ${dropped}`,
  options: { 0: "0", [dropped]: String(dropped) },
  value: name === "mu_q" ? String(dropped) : "0",
  check: true,
});

const over = (dK, [muQ, muK, rhoQ, rhoK]) =>
  dotProductVariance(dK, { muQ, muK, rhoQ, rhoK }).variance / dK;

export const variance = {
  title: "When is dividing by √d_k not enough?",
  prompt: "A mean lifts the variance, but keeps it level. Which two boxes make it grow with d_k?",
  hint: { target: "[id$=rho_k]" },
  controls: Object.keys(CLOUDS).flatMap((vector) => [
    {
      ...box(`mu_${vector[0]}`, "mean", SHIFTED),
      group: `${vector} components`,
    },
    box(`rho_${vector[0]}`, "correlation", CORRELATED),
  ]),
  panels: [
    ...Object.keys(CLOUDS).map((vector) => [vector, `a dot: one ${vector}`, ...SMALL]),
    ["line", "variance of q·k/√d_k", ROOMY ? 288 : 222, { left: 28, right: 84, top: 12 }],
  ],
  forget(app) {
    app.memory = {};
  },
  update({ memory, state, panels: { query, key, line } }) {
    const boxes = ["mu_q", "mu_k", "rho_q", "rho_k"].map((name) => Number(state[name]));
    const [muQ, muK, rhoQ, rhoK] = boxes;
    const [first, last] = [1, WIDEST].map((dK) => over(dK, boxes));
    if (memory.boxes !== String(boxes))
      Object.assign(memory, {
        boxes: String(boxes),
        before: memory.ends,
        ends: [first, last],
      });
    drawCloud(query, "query", muQ, rhoQ);
    drawCloud(key, "key", muK, rhoK);
    drawLine(line, first, last, memory.before, measured(boxes));
    return { sentence: answer(first, last, boxes) };
  },
};

function answer(first, last, [muQ, muK, rhoQ, rhoK]) {
  const [one, other] = rhoQ ? ["query", "key"] : ["key", "query"];
  if (last > first) {
    const why =
      rhoQ && rhoK
        ? `Both are correlated${["", ", and a mean adds", ", and means add"][muQ + muK]}`
        : `The ${other}’s mean meets the ${one}’s correlation`;
    return `${why}: terms rise together, and the root is not enough.`;
  }
  const level = first > 1 ? `Lifted to ${first}, but level` : "Level at 1";
  if (rhoQ + rhoK > 0)
    return `${level}: ${one} components rise together; the ${other}’s random signs undo it.`;
  if (first > 1) return `${level}: the root keeps the variance from growing with d_k.`;
  return "Means 0, no correlations: the line is level at 1; the root is enough.";
}

/** Two components of many vectors, one across and one up: a mean moves the cloud, a correlation stretches it. */
function drawCloud(panel, vector, mean, rho) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const unit = (bottom - top) / 6.2;
  const [x0, y0] = [(left + right) / 2 - 0.5 * unit, (top + bottom) / 2 + 0.5 * unit];
  const around = fresh(panel.svg, "around");
  rule(around, [x0 - 2.6 * unit, y0], [x0 + 3.6 * unit, y0], "var(--ex-muted)");
  rule(around, [x0, bottom], [x0, top], "var(--ex-muted)");
  say(around, `cross: mean ${mean}`, left, bottom + 12, "start").style("font-weight", 700);
  richText(say(around, "", x0 + 3.7 * unit, y0 + 4, "start"), `${vector[0]}_1`);
  richText(say(around, "", x0 - 0.5 * unit, top + 9, "end"), `${vector[0]}_2`);
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
    .attr("r", 1.8)
    .style("fill", colour(vector))
    .attr("cx", ([a]) => x0 + a * unit)
    .attr("cy", ([, b]) => y0 - b * unit);
  layer(moving, "mean", "path")
    .raise()
    .attr("d", "M-6,0H6M0,-6V6")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2.5)
    .attr("transform", `translate(${x0 + mean * unit},${y0 - mean * unit})`);
  panel.describe(`Two components of a ${vector}: mean ${mean}, correlation ${rho}.`);
}

/** An ellipse around pairs of that correlation, along the diagonal. */
function ring(x, y, size, rho) {
  const [long, short] = [Math.sqrt(1 + rho), Math.sqrt(1 - rho)].map((share) => size * share);
  const reach = long * Math.SQRT1_2;
  const [from, to] = [`${x - reach},${y + reach}`, `${x + reach},${y - reach}`];
  return `M${from}A${long},${short},-45,0,1,${to}A${long},${short},-45,0,1,${from}Z`;
}

/** The line from its first to its last variance over d_k, with those of drawn pairs on it, paler the one before, and level at 1 the wanted one. */
function drawLine(panel, first, last, [begun, past] = [1, 1], points = []) {
  const x = d3.scaleLinear([1, WIDEST], panel.xRange);
  const y = d3.scaleLinear([0, 1.2 * Math.max(2, last, past)], panel.yRange);
  const [left, right] = x.range();
  axes(panel, {
    x,
    y,
    xTicks: DIMS,
    yTicks: 3,
    xFormat: String,
    xLabel: "d_k",
  });
  const behind = fresh(panel.svg, "behind");
  say(behind, `dots: ${showCount(PAIRS)} random pairs`, left + 6, y(0) - 8, "start");
  const line = (from, to) => rule(behind, [left, y(from)], [right, y(to)], colour("weights"));
  line(1, 1).style("stroke-dasharray", "6 4");
  line(begun, past).style("stroke-width", 3).style("opacity", 0.3);
  if (past > 1 && past !== last)
    say(behind, `before: ${+past.toFixed(2)}`, right + 6, y(past) + 4, "start");
  const bold = (text, heavy = true) => text.style("font-weight", heavy ? 700 : null);
  bold(say(behind, "wanted: 1", right + 6, y(1) + 7, "start"), last === 1);
  const moving = layer(panel.svg, "now").classed("glides", true);
  layer(moving, "line", "path")
    .attr("d", `M${left},${y(first)}L${right},${y(last)}`)
    .style("stroke", colour("weights"))
    .style("stroke-width", 3);
  layer(moving, "measured")
    .classed("glides", true)
    .selectAll("circle")
    .data(points)
    .join("circle")
    .attr("r", 5)
    .style("fill", "var(--ex-ground)")
    .style("stroke", colour("weights"))
    .style("stroke-width", 2)
    .attr("cx", (_, i) => x(DIMS[i]))
    .attr("cy", y);
  const glide = (name, value) => fresh(moving, name).attr("transform", `translate(0,${y(value)})`);
  const [from, to] = [glide("from", first), glide("to", last)];
  if (first > 1 && last > first) bold(say(from, first, left + 9, -10, "start"));
  if (last > 1) bold(say(to, +last.toFixed(2), right + 6, 4, "start")).style("font-size", "15px");
  panel.describe(
    `Variance over d_k, a straight line: ${show(first)} at d_k = 1, ${show(last)} at d_k = ${WIDEST}. If all assumptions hold it is 1. Measured at ${DIMS.join(", ")}: ${points.map((value) => show(value)).join(", ")}.`,
  );
}
