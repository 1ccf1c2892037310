/** Softmax saturates: scores to drag, their weights, the Jacobian, and where its norm has been. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import * as math from "./math.js";
import { drawScoreHandles, scoreControl } from "./scores.js";
import { addButtons, axes, fresh, point, rule, say, show, show2, wantsCalm } from "./shared.js";
import { drawJacobian, drawWeights, keyScale } from "./weights.js";

const KEYS = [1, 2, 3, 4];
const scoreRange = { min: -6, max: 6, step: 0.1 };

/** The rows of the chapter's question, as scores. */
const ROWS = [
  ["even", [0, 0, 0, 0]],
  ["split in two", [6, 6, -6, -6]],
  ["0.99 on one", [6, 1.4, -6, -6]],
];

/** Stands in the place of the answer until all rows have been seen. */
const QUESTION = "In which of the three rows is the norm of J largest?";

export const saturation = {
  title: "In which row do the weights move most?",
  controls: [2, 1, 0, -1].map((value, i) => ({
    ...scoreControl(i + 1, value),
    ...scoreRange,
    step: 0.05, // finer than that of the keys, so that a way is smooth
    drawn: true,
  })),
  readouts: [
    ["effective", "effective keys, 1/Σp²", 2],
    ["norm", "norm of J", show2],
  ],
  panelWidth: "12.5rem",
  panels: [
    ["scores", "scores z: drag, or arrow keys", 170, { left: 34, bottom: 20, top: 26 }],
    ["weights", "weights p = softmax(z)", 170, { left: 34, bottom: 20, top: 26 }],
    ["jacobian", "J = diag(p) − pp^{⊤}", 170, { left: 34, bottom: 20, top: 6, right: 4 }],
    ["visited", "norm of J; pale: where rows can be", 160, { left: 34, top: 10, bottom: 38 }],
  ],
  update(app) {
    const { memory } = app;
    memory.buttons ??= addButtons(
      app.controls,
      "rows to go to",
      ROWS.map(([label, scores]) => [label, () => go(app, scores)]),
    );
    const scores = KEYS.map((j) => app.state[`z${j}`]);
    const p = math.softmax(scores);
    const values = { effective: math.effectiveKeys(p), norm: math.jacobianNorm(p) };
    drawScores(app, scores);
    drawWeights(app.panels.weights, p, nameKey, (w) => (w < 0.005 ? "≈0" : show(w)));
    drawJacobian(app.panels.jacobian, math.jacobian(p), (entry) =>
      Math.abs(entry) < 0.005 ? "≈0" : show(entry),
    );
    drawVisited(app.panels.visited, scores, memory);
    const answer = judge(scores, memory);
    app.formula.textContent = answer || QUESTION;
    const spoken =
      `Weights ${p.map((x) => show(x)).join(", ")}. ${show(values.effective)} effective keys. Norm of the Jacobian ${show(values.norm)}. ${answer}`.trim();
    return { values, spoken };
  },
  forget({ memory }) {
    clearInterval(memory.way);
    delete memory.arrive;
    delete memory.seen;
    delete memory.last;
    delete memory.trail;
  },
};

/** What the rows of the question have shown, once the reader has been at them all. */
function judge(scores, memory) {
  memory.seen ??= new Set();
  for (const [label, row] of ROWS) if (String(row) === String(scores)) memory.seen.add(label);
  if (memory.seen.size < ROWS.length) return "";
  const norms = ROWS.map(
    ([label, row]) => `${label}: ${show2(math.jacobianNorm(math.softmax(row)))}`,
  );
  return `${norms.join(", ")}. The norm of J rises first.`;
}

/**
 * Moves the scores to those of a row, so that the way is seen; at once where motion is unwelcome. A way that is under way ends first, or the line would show neither. A score that the reader takes on
 * the way is the reader's; the others arrive.
 */
function go(app, to) {
  const { state, memory } = app;
  memory.arrive?.();
  const from = KEYS.map((j) => state[`z${j}`]);
  const steps = wantsCalm() ? 1 : 60;
  const left = {};
  let moving = KEYS;
  let step = 0;
  clearInterval(memory.way);
  const move = () => {
    moving = moving.filter((j) => !step || state[`z${j}`] === left[j]);
    step += 1;
    const share = step / steps;
    app.set(
      Object.fromEntries(
        moving.map((j) => [`z${j}`, from[j - 1] + share * (to[j - 1] - from[j - 1])]),
      ),
    );
    for (const j of moving) left[j] = state[`z${j}`];
    if (step === steps) clearInterval(memory.way);
  };
  memory.arrive = () => {
    if (step === steps) return;
    step = steps - 1;
    move();
    app.settle();
  };
  memory.way = setInterval(move, 25);
  move();
}

const nameKey = (j) => `key ${j + 1}`;

function drawScores(app, scores) {
  const panel = app.panels.scores;
  const x = keyScale(panel, scores.length);
  const y = d3.scaleLinear([scoreRange.min - 3.5, scoreRange.max], panel.yRange); // numbers below
  axes(panel, {
    x,
    y,
    xFormat: nameKey,
    yTicks: [-6, -3, 0, 3, 6],
    yFormat: (at) => show(at, 0),
    xTicks: x.domain(),
  });
  panel.describe(`Scores ${scores.map((z) => show(z, 1)).join(", ")}`, "group");
  const bars = fresh(panel.svg, "bars");
  scores.forEach((z, j) => {
    const bar = bars
      .append("rect")
      .attr("x", x(j))
      .attr("width", x.bandwidth())
      .style("fill", colour("weights"))
      .style("opacity", 0.35);
    bar.attr("y", Math.min(y(0), y(z))).attr("height", Math.abs(y(z) - y(0)));
  });
  rule(bars, [x.range()[0], y(0)], [x.range()[1], y(0)], "var(--ex-muted)");
  drawScoreHandles(app, panel, { x, y }, scores, scoreRange, (z) => (z < 0 ? 26 : -16));
}

/** Where a row stands below: its largest weight, and the norm of its Jacobian. */
const placeOf = (p) => [math.largestWeight(p), math.jacobianNorm(p)];

/** The places that rows of four weights can have: the lower edge from left to right, then the upper one back. */
function reachable() {
  const largest = Array.from({ length: 151 }, (_, i) => 0.25 + i / 200);
  const even = (m) => [m, (1 - m) / 3, (1 - m) / 3, (1 - m) / 3];
  // On the upper edge as many keys as can share the largest weight, or two others share what it leaves.
  const filled = (m) => [0, 1, 2, 3].map((j) => Math.min(m, Math.max(0, 1 - j * m)));
  const halved = (m) => (m < 1 / 3 ? even(m) : [m, (1 - m) / 2, (1 - m) / 2, 0]);
  const upper = (m) => Math.max(...[filled, halved].map((row) => math.jacobianNorm(row(m))));
  return [...largest.map((m) => placeOf(even(m))), ...largest.reverse().map((m) => [m, upper(m)])];
}

/** The norm of J against the largest weight: a dot now, the way of the rows that were there before, and the places that rows can have. */
function drawVisited(panel, scores, memory) {
  const now = placeOf(math.softmax(scores));
  const { last = scores, trail = [now] } = memory;
  const steps = Math.ceil(Math.max(...scores.map((z, j) => Math.abs(z - last[j]))) * 5);
  const between = Array.from({ length: steps }, (_, step) => {
    const share = (step + 1) / steps;
    const row = scores.map((z, j) => last[j] + share * (z - last[j]));
    return placeOf(math.softmax(row));
  });
  memory.last = scores;
  memory.trail = [...trail, ...between].slice(-3000);
  const x = d3.scaleLinear([0.25, 1], panel.xRange);
  const y = d3.scaleLinear([0, 0.55], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: [0.25, 0.5, 0.75, 1],
    yTicks: [0, 0.25, 0.5],
    xFormat: (share) => (share === 0.25 ? "¼, even" : show(share)),
    yFormat: (norm) => show(norm),
    xLabel: "largest weight",
  });
  const group = fresh(panel.svg, "visited");
  const line = d3.line(
    ([largest]) => x(largest),
    ([, norm]) => y(norm),
  );
  const path = (name, places) => group.append("path").attr("class", name).attr("d", line(places));
  path("reach", reachable())
    .style("fill", colour("weights"))
    .style("fill-opacity", 0.28)
    .style("stroke", colour("weights"))
    .style("stroke-opacity", 0.28); // it begins as a line
  rule(group, [x(0.25), y(0.5)], [x(1), y(0.5)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  path("trail", memory.trail)
    .style("fill", "none")
    .style("stroke", colour("weights"))
    .style("stroke-width", 2)
    .style("stroke-linejoin", "round")
    .style("opacity", 0.6);
  point(group, x(now[0]), y(now[1]), 6, colour("weights"));
  const low = now[1] < 0.2; // beside the dot, where below it there is no room
  const place = low
    ? [x(now[0]) - 12, Math.min(y(now[1]) + 4, y(0) - 6)]
    : [x(now[0]), y(now[1]) + 20];
  say(group, show2(now[1]), ...place, low ? "end" : "middle").style("font-weight", 700);
  panel.describe(
    `The largest weight is ${show(now[0])}, the norm of the Jacobian ${show2(now[1])} on an axis up to one half, its bound; a line marks the rows before, and a pale region the places that rows of four keys can have.`,
  );
}
