/** Softmax saturates: scores to drag, their weights, and the Jacobian. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import * as math from "./math.js";
import { drawScoreHandles, scoreControl, scoreRange, temperatureControl } from "./scores.js";
import { axes, fresh, rich, show } from "./shared.js";
import { drawJacobian, drawWeights, keyScale } from "./weights.js";

export const saturation = {
  title: "Softmax saturates: drag the scores, turn the temperature",
  controls: [
    ...[2, 1, 0, -1].map((value, i) => ({ ...scoreControl(i + 1, value), drawn: true })),
    temperatureControl,
  ],
  readouts: [
    ["entropy", "entropy, nats", 3],
    ["effective", "effective keys, 1/Σp²", 2],
    ["largest", "largest weight", 3],
    ["norm", "Jacobian, Frobenius norm", 3],
  ],
  panelWidth: "12.5rem",
  panels: [
    ["scores", "scores z: drag, or arrow keys", 240, { left: 34, bottom: 26, top: 26 }],
    ["weights", "weights p = softmax(z/T)", 240, { left: 34, bottom: 26, top: 26 }],
    ["jacobian", "Jacobian (diag(p) − pp^⊤)/T", 240, { left: 34, bottom: 26, top: 26, right: 4 }],
  ],
  update(app) {
    const scores = [1, 2, 3, 4].map((j) => app.state[`z${j}`]);
    const p = math.softmax(scores, app.state.T);
    drawScores(app, scores);
    drawWeights(app.panels.weights, p, nameKey, (w) => (w < 0.005 ? "<0.01" : show(w)));
    const jacobian = math.jacobian(p).map((row) => row.map((entry) => entry / app.state.T));
    drawJacobian(app.panels.jacobian, jacobian, (entry) =>
      show(entry + 0, 2).length > 5 ? "0.00" : show(entry),
    );
    app.formula.replaceChildren(
      rich(
        `softmax([${scores.map((z) => show(z, 1)).join(", ")}] / ${app.state.T}) = [${p.map((x) => show(x, 3)).join(", ")}]`,
      ),
    );
    const values = {
      entropy: math.entropy(p),
      effective: math.effectiveKeys(p),
      largest: math.largestWeight(p),
      norm: math.jacobianNorm(p) / app.state.T,
    };
    const spoken = `Weights ${p.map((x) => show(x)).join(", ")}. Entropy ${show(values.entropy)} nats, ${show(values.effective)} effective keys, Jacobian norm ${show(values.norm, 3)}.`;
    return { values, spoken };
  },
};

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
  bars
    .append("line")
    .attr("x1", x.range()[0])
    .attr("x2", x.range()[1])
    .attr("y1", y(0))
    .attr("y2", y(0))
    .style("stroke", "var(--ex-muted)");
  drawScoreHandles(app, panel, { x, y }, scores, scoreRange, (z) => (z >= 0 ? -13 : 23));
}
