/** Softmax saturates: scores to drag, their weights, and the Jacobian. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import * as math from "./math.js";
import { drawScoreHandles, scoreControl, scoreRange, temperatureControl } from "./scores.js";
import { addButtons, axes, fresh, point, rule, say, show, show3 } from "./shared.js";
import { drawJacobian, drawWeights, keyScale } from "./weights.js";

const KEYS = [1, 2, 3, 4];

/** The rows of the chapter's question, as scores at temperature 1. */
const ROWS = [
  ["even", [0, 0, 0, 0]],
  ["split in two", [6, 6, -6, -6]],
  ["0.99 on one", [4.6, 0, -10, -10]],
];

export const saturation = {
  title: "Softmax saturates: drag the scores, turn the temperature",
  controls: [
    ...[2, 1, 0, -1].map((value, i) => ({ ...scoreControl(i + 1, value), drawn: true })),
    temperatureControl,
  ],
  readouts: [
    ["effective", "effective keys, 1/Σp²", 2],
    ["norm", "norm of J"],
    ["factor", "1/T"],
    ["product", "norm of J, times 1/T"],
  ],
  panelWidth: "12.5rem",
  panels: [
    ["scores", "scores z: drag, or arrow keys", 150, { left: 34, bottom: 20, top: 26 }],
    ["weights", "weights p = softmax(z/T)", 150, { left: 34, bottom: 20, top: 26 }],
    ["jacobian", "J = diag(p) − pp^{⊤}", 150, { left: 34, bottom: 20, top: 6, right: 4 }],
    ["visited", "norm of J, and where you have been", 124, { left: 34, top: 10, bottom: 38 }],
  ],
  update(app) {
    const { memory } = app;
    memory.buttons ??= addButtons(
      app.controls,
      "rows to go to",
      ROWS.map(([label, scores]) => [label, () => go(app, scores)]),
    );
    const scores = KEYS.map((j) => app.state[`z${j}`]);
    const p = math.softmax(scores, app.state.T);
    const [norm, factor] = [math.jacobianNorm(p), 1 / app.state.T];
    drawScores(app, scores);
    drawWeights(app.panels.weights, p, nameKey, (w) => (w < 0.005 ? "<0.01" : show(w)));
    drawJacobian(app.panels.jacobian, math.jacobian(p), (entry) =>
      Math.abs(entry) < 0.005 ? "≈0" : show(entry),
    );
    drawVisited(app.panels.visited, [math.largestWeight(p), norm], memory);
    app.formula.hidden = true; // the readouts have it
    const values = {
      effective: math.effectiveKeys(p),
      norm,
      factor,
      product: norm * factor,
    };
    const spoken = `Weights ${p.map((x) => show(x)).join(", ")}. ${show(values.effective)} effective keys. Norm of the Jacobian ${show3(norm)}, times one over T ${show3(values.product)}.`;
    return { values, spoken };
  },
};

/** Moves the scores to those of a row, at temperature 1, so that the way is seen; at once where motion is unwelcome. */
function go(app, to) {
  const { state, memory } = app;
  const from = KEYS.map((j) => state[`z${j}`]);
  const steps = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : 60;
  let step = 0;
  clearInterval(memory.way);
  app.set({ T: 1 });
  let left = "";
  const move = () => {
    const here = JSON.stringify(state);
    if (step === steps || (left && here !== left)) return clearInterval(memory.way); // or the reader took over
    step += 1;
    const share = step / steps;
    app.set(Object.fromEntries(KEYS.map((j, i) => [`z${j}`, from[i] + share * (to[i] - from[i])])));
    left = JSON.stringify(state);
  };
  move();
  memory.way = setInterval(move, 25);
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
  const right = now[0] > 0.8;
  const [left, level] = [x(now[0]) + (right ? -11 : 11), y(now[1]) + (now[1] > 0.3 ? 17 : -7)];
  say(group, show3(now[1]), left, level, right ? "end" : "start").style("font-weight", 700);
  panel.describe(
    `The largest weight is ${show(now[0])}, the norm of the Jacobian ${show3(now[1])} on an axis up to one half, its bound; small dots mark the rows before.`,
  );
}
