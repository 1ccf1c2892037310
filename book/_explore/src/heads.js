/** A trained head: whom a character looks at, its row of scores, and where the row stands beside the border of the phases. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import * as math from "./math.js";
import { axes, fresh, richText, show, show3, showCount } from "./shared.js";

const { text, moments, heads: count, layers, unit } = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from({ length: layers * count }, (_, i) => [
  String(i),
  `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
]);

const FIRST = 7; // shorter rows say nothing of a spread

const scores = new Map();

/**
 * The scores of a moment, with what place decides or without it, each less its row's largest, head by head and row by row: in a
 * script of its own, read when needed.
 */
function load(part, then) {
  if (scores.has(part)) return;
  scores.set(part, null);
  const script = document.createElement("script");
  script.src = new URL(`heads_${part}.js`, here);
  script.onload = () => {
    const levels = Uint8Array.from(atob(window.explorableHeads[part]), (c) => c.charCodeAt(0));
    scores.set(part, levels);
    then();
  };
  script.onerror = () => scores.delete(part);
  document.head.append(script);
}

/** What a character of a head sees: a score for each one before it and itself. */
function rowOf(levels, head, place) {
  const all = places.length;
  const from = (head * all * (all + 1)) / 2 + (place * (place + 1)) / 2;
  return Array.from(levels.subarray(from, from + place + 1), (level) => -((level / unit) ** 2));
}

const back = (many) =>
  many ? `${many} ${many === 1 ? "character" : "characters"} back` : "the character itself";

const average = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

/** The standard deviation of a row. */
function spread(row) {
  const mean = average(row);
  return Math.sqrt(average(row.map((s) => (s - mean) ** 2)));
}

/** Σp² of normal rows with as many keys and the same spread, mean over some of them. */
function normalSquares(n, sigma) {
  const rows = 400;
  const drawn = math.sample(rows * n, "normal", math.makeGenerator(0));
  let sum = 0;
  for (let i = 0; i < rows; i++) {
    const row = drawn.slice(i * n, (i + 1) * n);
    const own = spread(Array.from(row));
    sum += 1 / math.effectiveKeys(math.softmax(Array.from(row, (z) => (z / own) * sigma)));
  }
  return sum / rows;
}

export const heads = {
  title: "A trained head: whom does a character look at?",
  controls: [
    { name: "head", label: "head", options: Object.fromEntries(names), value: "4" },
    {
      name: "step",
      label: "after training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
    },
    {
      name: "place",
      label: "looked at from",
      min: FIRST,
      max: places.length - 1,
      step: 1,
      value: places.length - 1,
      text: (place) => `${shown[places[place]] ?? places[place]} (character ${place + 1})`,
    },
    { name: "T", label: "temperature", values: [0.25, 0.5, 0.71, 1, 1.41, 2, 4, 8], value: 1 },
    {
      name: "part",
      label: "what place decides",
      options: { all: "in the scores", read: "taken away" },
      value: "all",
    },
  ],
  readouts: [
    ["sigma", "σ of the row"],
    ["critical", "border √(2 ln n)"],
    ["keys", "effective keys, 1/Σp²"],
    ["normal", "of a normal row"],
    ["largest", "largest weight", 3],
  ],
  panels: [
    [
      "text",
      "its weights: the stronger the colour, the more (click a character to look from there)",
      128,
      { left: 4, right: 4, top: 6, bottom: 4 },
    ],
    [
      "back",
      "scores of the row, less their mean, against how many characters back",
      170,
      { left: 34 },
    ],
    ["row", "the same scores as a histogram", 190, { left: 34 }],
    [
      "plane",
      "spread σ of the rows against their keys n: this head's as a line, the others' as points, by layer and head (click one to choose it)",
      250,
      { left: 34 },
    ],
  ],
  update(app) {
    const { step, place, T } = app.state;
    const away = app.state.part === "read";
    load(step, app.redraw);
    if (away) load(`${step}_read`, app.redraw);
    const whole = scores.get(step);
    const levels = (away ? scores.get(`${step}_read`) : whole) ?? app.memory.levels;
    if (!levels) return { values: {}, spoken: "" };
    app.memory.levels = levels;
    const row = rowOf(levels, Number(app.state.head), place).map((s) => s / T);
    const weights = math.softmax(row);
    const sigma = spread(row);
    const critical = math.criticalSigma(row.length);
    drawText(app, weights);
    drawBack(app.panels.back, row, weights);
    drawRow(app.panels.row, row, sigma);
    const others = names.map((_, head) => spread(rowOf(levels, head, place)) / T);
    const before = places
      .slice(FIRST)
      .map((_, i) => FIRST + i)
      .map((at) => [at + 1, spread(rowOf(levels, Number(app.state.head), at)) / T]);
    drawPlane(app, row.length, sigma, others, before);
    const best = weights.indexOf(Math.max(...weights));
    const values = {
      sigma,
      critical,
      keys: math.effectiveKeys(weights),
      normal: 1 / normalSquares(row.length, sigma),
      largest: math.largestWeight(weights),
    };
    const name = (at) => `${shown[places[at]] ?? places[at]} at ${at + 1}`;
    const head = names[app.state.head][1];
    const side = sigma > critical ? "past" : "before";
    const ratio = values.keys / values.normal;
    const compared =
      ratio > 1.15 ? "more even than" : ratio < 1 / 1.15 ? "sharper than" : "about as even as";
    const said = [
      `${head[0].toUpperCase()}${head.slice(1)}, looking from ${name(place)}: the largest weight, ${show(weights[best])}, is on ${name(best)}, ${back(place - best)}.`,
      `The spread of its scores, ${show3(sigma)}, is ${side} the border at ${show3(critical)}.`,
      `It has ${show3(values.keys)} effective keys, and normal scores of this spread have ${show3(values.normal)}: the row is ${compared} a normal one.`,
    ];
    if (away && whole) {
      const own = spread(rowOf(whole, Number(app.state.head), place)) / T;
      said.push(`With what place decides the spread was ${show3(own)}.`);
    }
    app.formula.textContent = said.join(" ");
    return { values, spoken: app.formula.textContent };
  },
};

/** The passage, line by line as it was written; a click on a character looks from there. */
function drawText(app, weights) {
  const panel = app.panels.text;
  const lines = text.split("\n");
  const [left, right] = panel.xRange;
  const width = Math.min(17, (right - left) / (1 + Math.max(...lines.map((l) => l.length))));
  const height = Math.min(30, (panel.height - 10) / lines.length);
  const group = fresh(panel.svg, "text");
  let line = 0;
  let column = 0;
  places.forEach((character, place) => {
    const cell = group
      .append("g")
      .attr("class", "character")
      .attr("transform", `translate(${left + column * width},${panel.margin.top + line * height})`);
    const weight = weights[place] ?? 0;
    const share = Math.round(100 * Math.sqrt(weight));
    cell
      .append("rect")
      .attr("width", width)
      .attr("height", height - 2)
      .style("fill", `color-mix(in srgb, ${colour("weights")} ${share}%, var(--ex-ground))`)
      .style("stroke", place === app.state.place ? colour("query") : "none")
      .style("stroke-width", 2);
    cell
      .append("text")
      .attr("x", width / 2)
      .attr("y", height / 2 + 3)
      .attr("text-anchor", "middle")
      .style("font-family", "monospace")
      .style("opacity", place > app.state.place ? 0.45 : 1)
      .style("fill", share > 60 ? "var(--ex-ground)" : "var(--ex-ink)")
      .text(shown[character] ?? character);
    if (place >= FIRST) cell.style("cursor", "pointer").on("click", () => app.set({ place }));
    column += 1;
    if (character === "\n") [line, column] = [line + 1, 0];
  });
  const marked = weights.map((w, i) => [w, i]).filter(([w]) => w >= 0.1);
  const said = marked.map(([w, i]) => `${shown[places[i]] ?? places[i]} at ${i + 1}: ${show(w)}`);
  panel.describe(`Weights of a tenth or more: ${said.join(", ") || "none"}`);
}

/** The row's scores against the distance of their keys; the larger the dot, the more weight. */
function drawBack(panel, row, weights) {
  const mean = average(row);
  const last = row.length - 1;
  const x = d3.scaleLinear([last, 0], panel.xRange);
  const y = d3.scaleLinear([Math.min(...row) - mean, Math.max(...row) - mean], panel.yRange).nice();
  axes(panel, { x, y, xLabel: "characters back", yTicks: 4, yLabel: "score" });
  const group = fresh(panel.svg, "points");
  const at = row.map((s, place) => [x(last - place), y(s - mean)]);
  group
    .append("path")
    .attr("d", d3.line()(at))
    .style("fill", "none")
    .style("stroke", colour("weights"))
    .style("opacity", 0.35);
  at.forEach(([cx, cy], place) => {
    group
      .append("circle")
      .attr("cx", cx)
      .attr("cy", cy)
      .attr("r", 2 + 5 * Math.sqrt(weights[place]))
      .style("fill", colour("weights"));
  });
  const best = row.indexOf(Math.max(...row));
  panel.describe(
    `${row.length} scores from the first character to the one that looks; the largest is ${last - best} characters back`,
  );
}

/** The row's scores as a histogram, and a normal curve of the same spread. */
function drawRow(panel, row, sigma) {
  const mean = average(row);
  const centred = row.map((s) => s - mean);
  const reach = Math.max(3.2 * sigma, ...centred.map(Math.abs), 0.1);
  const x = d3.scaleLinear([-reach, reach], panel.xRange).nice();
  const bins = 24;
  const [low, high] = x.domain();
  const width = (high - low) / bins;
  const counts = Array(bins).fill(0);
  for (const s of centred) counts[Math.min(bins - 1, Math.floor((s - low) / width))] += 1;
  const normal = (z) =>
    ((row.length * width) / (sigma * Math.sqrt(2 * Math.PI))) * Math.exp(-0.5 * (z / sigma) ** 2);
  const y = d3.scaleLinear([0, Math.max(...counts, normal(0)) * 1.08], panel.yRange);
  axes(panel, { x, y, xLabel: "score less the row's mean", yTicks: 4, yLabel: "characters" });
  const group = fresh(panel.svg, "bars");
  counts.forEach((many, i) => {
    group
      .append("rect")
      .attr("x", x(low + i * width))
      .attr("width", Math.max(1, x(low + width) - x(low) - 1))
      .attr("y", y(many))
      .attr("height", y(0) - y(many))
      .style("fill", colour("weights"))
      .style("opacity", 0.6);
  });
  const at = Array.from({ length: 121 }, (_, i) => low + ((high - low) * i) / 120);
  group
    .append("path")
    .attr("d", d3.line()(at.map((z) => [x(z), y(normal(z))])))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-dasharray", "4 3");
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", x(-1.1 * sigma))
    .attr("y", y(normal(1.1 * sigma)) - 5)
    .attr("text-anchor", "end")
    .text("normal");
  panel.describe(
    `${row.length} scores from ${show(Math.min(...centred))} to ${show(Math.max(...centred))} about their mean, beside a normal curve of the same spread ${show(sigma)}`,
  );
}

/** Where the row stands: n across, σ up, the border as a line; its head's other rows as a line, the other heads' rows of the same character as points. */
function drawPlane(app, n, sigma, others, own) {
  const panel = app.panels.plane;
  const x = d3.scaleLog([8, 100], panel.xRange);
  const y = d3.scaleLog([0.05, 60], panel.yRange);
  axes(panel, {
    x,
    y,
    xLabel: "n, keys",
    yLabel: "σ",
    xTicks: [8, 16, 32, 64],
    yTicks: [0.1, 1, 10],
    xFormat: String,
    yFormat: String,
  });
  const group = fresh(panel.svg, "points");
  const border = Array.from({ length: 25 }, (_, i) => 8 * 10 ** (i / 24));
  group
    .append("path")
    .attr("d", d3.line()(border.map((m) => [x(m), y(math.criticalSigma(m))])))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2);
  const label = group
    .append("text")
    .attr("class", "rim")
    .attr("x", x(9))
    .attr("y", y(math.criticalSigma(9)) - 8);
  richText(label, "border σ_c");
  group
    .append("path")
    .attr("d", d3.line()(own.map(([m, value]) => [x(m), y(value)])))
    .style("fill", "none")
    .style("stroke", colour("weights"))
    .style("opacity", 0.6);
  const point = (value, radius, opacity) =>
    group
      .append("circle")
      .attr("cx", x(n))
      .attr("cy", y(value))
      .attr("r", radius)
      .style("fill", colour("weights"))
      .style("opacity", opacity);
  const shownHeads = others
    .map((value, head) => ({ value, head: String(head) }))
    .filter(({ value, head }) => value > 0.05 && value < 60 && head !== app.state.head)
    .sort((a, b) => b.value - a.value);
  const free = [0, 0]; // how far down the labels on either side reach
  shownHeads.forEach(({ value, head }, i) => {
    const choose = () => app.set({ head });
    const side = i % 2;
    free[side] = Math.max(free[side] + 11, y(value) + 4);
    point(value, 4, 0.4).style("cursor", "pointer").on("click", choose);
    group
      .append("text")
      .attr("class", "rim other-head")
      .attr("x", x(n) + (side ? -9 : 9))
      .attr("y", free[side])
      .attr("text-anchor", side ? "end" : "start")
      .style("font-size", "11px")
      .style("cursor", "pointer")
      .on("click", choose)
      .text(`${Math.floor(head / count) + 1}.${(head % count) + 1}`);
  });
  if (sigma > 0.05 && sigma < 60) point(sigma, 6, 1);
  panel.describe(
    `The row stands at ${show3(sigma)} with ${n} keys, where the border is ${show3(math.criticalSigma(n))}; the other heads stand between ${show3(Math.min(...others))} and ${show3(Math.max(...others))}`,
  );
}
