/** Softmax saturates: scores to drag, their weights, the Jacobian, and where its norm has been. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import * as math from "./math.js";
import { drawScoreHandles, scoreControl, scoreRange } from "./scores.js";
import { addButtons, axes, fresh, point, rule, say, show } from "./shared.js";
import { drawJacobian, drawWeights, keyScale } from "./weights.js";

const KEYS = [1, 2, 3, 4];

/** The rows of the chapter's question, as scores. */
const ROWS = [
  ["even", [0, 0, 0, 0]],
  ["split in two", [6, 6, -6, -6]],
  ["0.99 on one", [4.6, 0, -10, -10]],
];

export const saturation = {
  title: "In which row do the weights move most?",
  controls: [2, 1, 0, -1].map((value, i) => ({ ...scoreControl(i + 1, value), drawn: true })),
  readouts: [
    ["effective", "effective keys, 1/Σp²", 2],
    ["norm", "norm of J", 2],
  ],
  panelWidth: "12.5rem",
  panels: [
    ["scores", "scores z: drag, or arrow keys", 150, { left: 34, bottom: 20, top: 26 }],
    ["weights", "weights p = softmax(z)", 150, { left: 34, bottom: 20, top: 26 }],
    ["jacobian", "J = diag(p) − pp^{⊤}", 150, { left: 34, bottom: 20, top: 6, right: 4 }],
    ["visited", "how much they move: norm of J", 160, { left: 34, top: 10, bottom: 38 }],
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
    drawWeights(app.panels.weights, p, nameKey, (w) => (w < 0.005 ? "<0.01" : show(w)));
    drawJacobian(app.panels.jacobian, math.jacobian(p), (entry) =>
      Math.abs(entry) < 0.005 ? "≈0" : show(entry),
    );
    drawVisited(app.panels.visited, [math.largestWeight(p), values.norm], memory);
    app.formula.hidden = true; // the readouts have it
    const spoken = `Weights ${p.map((x) => show(x)).join(", ")}. ${show(values.effective)} effective keys. Norm of the Jacobian ${show(values.norm)}.`;
    return { values, spoken };
  },
  forget({ memory }) {
    clearInterval(memory.way);
    memory.visited = [];
  },
};

/**
 * Moves the scores to those of a row, so that the way is seen; at once where motion is unwelcome. A score that the reader takes on
 * the way is the reader's; the others arrive.
 */
function go(app, to) {
  const { state, memory } = app;
  const from = KEYS.map((j) => state[`z${j}`]);
  const steps = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 60;
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
  memory.way = setInterval(move, 25);
  move();
}

const nameKey = (j) => `key ${j + 1}`;

function drawScores(app, scores) {
  const panel = app.panels.scores;
  const x = keyScale(panel, scores.length);
  const y = d3.scaleLinear([scoreRange.min, scoreRange.max], panel.yRange);
  axes(panel, { x, y, xFormat: nameKey, yTicks: 5, xTicks: x.domain() });
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
  drawScoreHandles(app, panel, { x, y }, scores, scoreRange, -12);
}

/** The norm of J against the largest weight: a dot now, and a small one for each row that was there before. */
function drawVisited(panel, now, memory) {
  memory.visited = [...(memory.visited ?? []).slice(-400), now];
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
  rule(group, [x(0.25), y(0.5)], [x(1), y(0.5)], "var(--ex-ink)").style("stroke-dasharray", "4 3");
  const dot = ([largest, norm], r, opacity) =>
    point(group, x(largest), y(norm), r, colour("weights")).style("opacity", opacity);
  memory.visited.forEach((place) => dot(place, 2.2, 0.5));
  dot(now, 6, 1);
  const low = now[1] < 0.2; // beside the dot, where below it there is no room
  const place = low
    ? [x(now[0]) - 12, Math.min(y(now[1]) + 4, y(0) - 6)]
    : [x(now[0]), y(now[1]) + 20];
  say(group, show(now[1]), ...place, low ? "end" : "middle").style("font-weight", 700);
  panel.describe(
    `The largest weight is ${show(now[0])}, the norm of the Jacobian ${show(now[1])} on an axis up to one half, its bound; small dots mark the rows before.`,
  );
}
