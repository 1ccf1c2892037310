/** Softmax saturates: scores to drag, their weights, and the Jacobian. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { scoreControl, scoreRange, temperatureControl } from "./scores.js";
import { axes, fresh, rich, richAxisLabel, show } from "./shared.js";

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
    ["scores", "scores z: drag the handles, or arrow keys", 240, { left: 34, bottom: 26, top: 14 }],
    ["weights", "weights p = softmax(z/T)", 240, { left: 34, bottom: 26, top: 14 }],
    ["jacobian", "Jacobian diag(p) − pp^⊤", 240, { left: 34, bottom: 26, top: 14, right: 4 }],
  ],
  update(app) {
    const scores = [1, 2, 3, 4].map((j) => app.state[`z${j}`]);
    const p = math.softmax(scores, app.state.T);
    drawScores(app, scores);
    drawWeights(app.panels.weights, p);
    drawJacobian(app.panels.jacobian, math.jacobian(p));
    app.formula.replaceChildren(
      rich(
        `softmax([${scores.map((z) => show(z, 1)).join(", ")}] / ${app.state.T}) = [${p.map((x) => show(x, 3)).join(", ")}]`,
      ),
    );
    const values = {
      entropy: math.entropy(p),
      effective: math.effectiveKeys(p),
      largest: math.largestWeight(p),
      norm: math.jacobianNorm(p),
    };
    const spoken = `Weights ${p.map((x) => show(x)).join(", ")}. Entropy ${show(values.entropy)} nats, ${show(values.effective)} effective keys, Jacobian norm ${show(values.norm, 3)}.`;
    return { values, spoken };
  },
};

const keyScale = (panel, n) =>
  d3
    .scaleBand(
      Array.from({ length: n }, (_, j) => j),
      panel.xRange,
    )
    .padding(0.3);

function drawScores(app, scores) {
  const panel = app.panels.scores;
  const x = keyScale(panel, scores.length);
  const y = d3.scaleLinear([scoreRange.min, scoreRange.max], panel.yRange);
  axes(panel, { x, y, xFormat: (j) => `key ${j + 1}`, yTicks: 5, xTicks: x.domain() });
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
  const { made, all } = drawHandles(panel, scores, scoreRange, "weights");
  made.attr("aria-label", (_, j) => `score of key ${j + 1}`).attr("aria-orientation", "vertical");
  made.append("text").attr("class", "rim").attr("text-anchor", "middle");
  all.attr("transform", (z, j) => `translate(${x(j) + x.bandwidth() / 2},${y(z)})`);
  all.attr("aria-valuenow", (z) => z).attr("aria-valuetext", (z) => show(z, 1));
  all
    .select("rect.touch")
    .attr("x", -x.step() / 2)
    .attr("width", x.step());
  all
    .select("text")
    .attr("y", (z) => (z >= 0 ? -13 : 23))
    .text((z) => show(z, 1));
  const byKey = (event, z, number) => {
    const next = fromKey(event, z, scoreRange);
    return next === null ? null : { [`z${number}`]: next };
  };
  listen(app, panel, all, byKey, (event, number) => ({ [`z${number}`]: y.invert(event.y) }));
}

function drawWeights(panel, p) {
  const x = keyScale(panel, p.length);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, { x, y, xFormat: (j) => `key ${j + 1}`, xTicks: x.domain() });
  panel.describe(`Weights ${p.map((w) => show(w)).join(", ")}`);
  const bars = fresh(panel.svg, "bars");
  p.forEach((w, j) => {
    bars
      .append("rect")
      .attr("x", x(j))
      .attr("width", x.bandwidth())
      .attr("y", y(w))
      .attr("height", y(0) - y(w))
      .style("fill", colour("weights"));
    const text = bars
      .append("text")
      .attr("class", "rim")
      .attr("x", x(j) + x.bandwidth() / 2)
      .attr("y", y(w) - 5)
      .attr("text-anchor", "middle");
    text.text(w < 0.005 ? "<0.01" : show(w));
  });
}

/** Cells from -1/4 to 1/4, the largest that an entry can be: orange below 0, purple above, pale near it. */
function drawJacobian(panel, entries) {
  const n = entries.length;
  const side = Math.min(panel.xRange[1] - panel.xRange[0], panel.yRange[0] - panel.yRange[1]);
  const place = d3
    .scaleBand(
      Array.from({ length: n }, (_, j) => j),
      [0, side],
    )
    .padding(0.04);
  const group = fresh(panel.svg, "cells").attr(
    "transform",
    `translate(${panel.margin.left},${panel.margin.top})`,
  );
  entries.forEach((row, i) => {
    const name = (at, x, y, anchor) => richAxisLabel(group, at, x, y).attr("text-anchor", anchor);
    name(`z_${i + 1}`, place(i) + place.bandwidth() / 2, side + 16, "middle");
    name(`p_${i + 1}`, -6, place(i) + place.bandwidth() / 2 + 4, "end");
    row.forEach((entry, j) => {
      const cell = group
        .append("rect")
        .attr("class", "cell")
        .attr("x", place(j))
        .attr("y", place(i))
        .attr("width", place.bandwidth())
        .attr("height", place.bandwidth());
      const share = Math.round(70 * Math.min(1, Math.sqrt(Math.abs(entry) / 0.25)));
      cell.style(
        "fill",
        `color-mix(in srgb, ${colour(entry < 0 ? "key" : "weights")} ${share}%, var(--ex-panel))`,
      );
      const text = group
        .append("text")
        .attr("x", place(j) + place.bandwidth() / 2)
        .attr("y", place(i) + place.bandwidth() / 2 + 4)
        .attr("text-anchor", "middle");
      text
        .style("fill", share > 45 ? "var(--ex-ground)" : "var(--ex-ink)")
        .text(show(entry + 0, 2).length > 5 ? "0.00" : show(entry));
    });
  });
  const rows = entries.map(
    (row, i) => `row ${i + 1}: ${row.map((entry) => show(entry, 3)).join(", ")}`,
  );
  panel.describe(`Jacobian of the weights by the scores, ${rows.join("; ")}`);
}
