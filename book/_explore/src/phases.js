/** The two phases: a point (n, σ) to drag across the border, and how its row of normal scores shares the weight. */
import * as d3 from "./d3.js";
import { colour, data, looks, lookUp, names, short } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import {
  apart,
  axes,
  element,
  fresh,
  point,
  rich,
  richText,
  show,
  show3,
  showCount,
} from "./shared.js";

const counts = data.phases.n;
const most = counts.at(-1);
const sigmas = Array.from({ length: 69 }, (_, i) => Number((2 ** (i / 8 - 3.25)).toPrecision(4)));
const ticks = (panel) =>
  panel.width < 450 ? [2, 32, 1024, most] : [2, 16, 128, 1024, 2 ** 13, most];

/** The standard deviation of scores that a rescaling divides, for keys of the typical length. */
const sigmaOf = (name, n, dK) =>
  Math.sqrt(dK) / lookUp(data.phases.divisors[name], counts, n, data.phases.d_k, dK);

/** Normal scores with standard deviation 1: a row of n keys has the first n, so that more keys leave those that are there. */
let drawn;
const scoresOf = (n) =>
  (drawn ??= math.sample(most, "normal", math.makeGenerator(0))).subarray(0, n);

/** The row’s weights in order, and for each number of keys how many share them, kept until what they depend on changes. */
function measure(memory, n, sigma) {
  if (memory.n !== n) memory.ordered = scoresOf(n).slice().sort().reverse();
  if (memory.sigma !== sigma)
    memory.effective = counts.map((m) => math.effectiveKeys(math.softmax(scoresOf(m), 1 / sigma)));
  Object.assign(memory, { n, sigma });
  return { weights: math.softmax(memory.ordered, 1 / sigma), effective: memory.effective };
}

export const phases = {
  title: "Two phases: how many keys share the weight of a row?",
  controls: [
    { name: "n", label: "n, keys", values: counts, value: 512, text: showCount, below: true },
    { name: "sigma", label: "σ of the scores", values: sigmas, value: 1, below: true },
    {
      name: "d_k",
      label: "d_k, where the divisors’ lines stand",
      values: data.phases.d_k,
      value: 64,
      text: String,
      below: true,
    },
  ],
  readouts: [
    ["critical", "border σ_c = √(2 ln n)"],
    ["ratio", "σ/σ_c"],
    ["keys", "effective keys, 1/Σp²"],
    ["largest", "largest weight"],
  ],
  panels: [
    ["phases", "drag the point: σ of the scores against n", 296, { left: 30, right: 70 }],
    ["weights", "the row’s weights, by rank", 128, { left: 40, right: 24, top: 12 }],
    ["keys", "effective keys at this σ, against n", 128, { left: 40, right: 24, top: 12 }],
  ],
  forget({ memory }) {
    delete memory.visited;
  },
  update(app) {
    const { n, sigma, d_k: dK } = app.state;
    const { weights, effective } = measure(app.memory, n, sigma);
    const critical = math.criticalSigma(n);
    const ratio = sigma / critical;
    const keys = effective[counts.indexOf(n)];
    drawPlane(app, n, sigma, dK);
    drawWeights(app.panels.weights, weights, keys);
    const visited = (app.memory.visited ??= new Map()).set(`${n} ${sigma}`, [n, keys]);
    drawKeys(app.panels.keys, n, sigma, effective, visited);
    const side = ratio > 1 ? "above the border" : ratio > 0.5 ? "in the crossover" : "far below";
    const [share, place] = [
      `${count(keys)} of ${showCount(n)} keys share the weight`,
      `σ is ${show(ratio)} times σ_c: ${side}`,
    ];
    app.formula.replaceChildren(
      ...[share, place].map((text) => element("span", { class: "explorable-line" }, rich(text))),
    );
    return {
      values: { critical, ratio, keys, largest: weights[0] },
      spoken: `${share}. σ is ${show(ratio)} times the border’s ${show(critical)}: ${side}.`,
    };
  },
};

/** Three digits of so many keys, with commas. */
const count = (keys) => (keys < 1000 ? show3(keys) : showCount(Number(keys.toPrecision(3))));

const called = (name) => (name === "none" ? "undivided" : short(name));

const label = (group, text, x, y) =>
  richText(group.append("text").attr("class", "rim").attr("x", x).attr("y", y), text);

const line = (group, points, stroke) =>
  group.append("path").attr("d", d3.line()(points)).style("fill", "none").style("stroke", stroke);

/** The border over its crossover, a line for each divisor, and the point. */
function drawPlane(app, n, sigma, dK) {
  const panel = app.panels.phases;
  const x = d3.scaleLog([2, most], panel.xRange);
  const y = d3.scaleLog([0.03, 40], panel.yRange);
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  const ground = fresh(panel.svg, "ground");
  const border = (times) =>
    Array.from({ length: 65 }, (_, i) => 2 ** (1 + i / 4)).map((m) => [
      x(m),
      y(times * math.criticalSigma(m)),
    ]);
  for (const [times, opacity] of [
    [1, 0.14],
    [0.5, 0.08],
  ])
    ground
      .append("path")
      .attr("d", `M${left},${top}L${border(times).join("L")}L${right},${top}Z`)
      .style("fill", colour("none"))
      .style("opacity", opacity);
  axes(panel, {
    x,
    y,
    xLabel: "n, keys",
    yLabel: "σ",
    xTicks: ticks(panel),
    yTicks: [0.1, 1, 10],
    xFormat: showCount,
    yFormat: String,
  });
  const group = fresh(panel.svg, "lines");
  const at = (name, m) => y(sigmaOf(name, m, dK));
  // What is named at the right: the border, the ground to either side, and lines that end there; and by where their foot is, others.
  const critical = math.criticalSigma(most);
  const beside = [
    { text: "frozen", level: y(2.5 * critical) },
    { text: "border σ_c", level: y(critical) },
    { text: "crossover", level: y(0.7 * critical) },
  ];
  const below = new Map();
  for (const name of names) {
    const points = counts.map((m) => [x(m), at(name, m)]);
    const inside = points.filter(([, level]) => level <= bottom && level >= top);
    if (!inside.length) continue;
    const next = points[inside.length];
    if (next) {
      const [from, level] = inside.at(-1);
      inside.push([from + ((bottom - level) / (next[1] - level)) * (next[0] - from), bottom]);
      const foot = Math.round(inside.at(-1)[0]);
      below.set(foot, { inside, names: [...(below.get(foot)?.names ?? []), name] });
    } else beside.push({ text: called(name), level: inside.at(-1)[1], line: true });
    line(group, inside, colour(name))
      .attr("data-rescaling", name)
      .attr("data-sigma", sigmaOf(name, n, dK))
      .style("opacity", 0.7)
      .style("stroke-dasharray", looks[name].dashes);
  }
  const levels = beside.map(({ level }) => level);
  const heights = apart(levels, 15, top, bottom);
  beside.forEach(({ text, level, line: ofLine }, i) => {
    line(
      group,
      [
        [right, level],
        [right + 5, heights[i]],
      ],
      "var(--ex-grid)",
    );
    label(group, text, right + 8, heights[i] + 4)
      .classed("name", true)
      .style("font-style", ofLine ? "normal" : "italic");
  });
  const level = bottom - at("d_k", 2); // a level line, which crosses the others
  for (const { inside, names } of below.values()) {
    const [start, foot] = [inside[0], inside.at(-1)];
    const slope = (foot[0] - start[0]) / (foot[1] - start[1]);
    let height = 6;
    for (const name of names) {
      if (level > height - 6 && level < height + 13) height = level + 7;
      label(group, called(name), foot[0] - slope * height + 6, bottom - height).classed(
        "name",
        true,
      );
      height += 16;
    }
  }
  line(group, border(1), "var(--ex-ink)").style("stroke-width", 2);
  drawPoint(app, panel, x, y, n, sigma);
  panel.describe(
    `The border rises from ${show(math.criticalSigma(2))} at 2 keys to ${show(math.criticalSigma(most))} at ${showCount(most)}. Lines of the divisors for ${dK} components: undivided at ${show3(Math.sqrt(dK))}, the root at 1. The point is at ${showCount(n)} keys and ${show3(sigma)}.`,
    "group",
  );
}

/** The point (n, σ): left and right arrow keys move n, up and down σ. */
function drawPoint(app, panel, x, y, n, sigma) {
  const range = { min: 0, max: sigmas.length - 1, step: 1 };
  const { made, all } = drawHandles(panel, [sigmas.indexOf(sigma)], range, "weights");
  made.attr(
    "aria-label",
    "the row: left and right arrows change the number of keys, up and down the spread",
  );
  all
    .attr("transform", `translate(${x(n)},${y(sigma)})`)
    .attr("aria-valuenow", (place) => place)
    .attr("aria-valuetext", `${showCount(n)} keys, σ ${show3(sigma)}`);
  const nearest = (values, scale, pixel) =>
    values.reduce((best, v) =>
      Math.abs(scale(v) - pixel) < Math.abs(scale(best) - pixel) ? v : best,
    );
  const within = (values, place) => values[Math.min(values.length - 1, Math.max(0, place))];
  const byKey = (event, place) => {
    const across = /Left|Right/.test(event.key);
    const next = fromKey(event, across ? counts.indexOf(n) : place, range);
    if (next === null) return null;
    return across ? { n: within(counts, next) } : { sigma: within(sigmas, next) };
  };
  const byDrag = (event) => ({
    n: nearest(counts, x, event.x),
    sigma: nearest(sigmas, y, event.y),
  });
  listen(app, panel, all, byKey, byDrag);
}

/** The weights in order on logarithmic axes that stand still, beside the even share. */
function drawWeights(panel, weights, keys) {
  const n = weights.length;
  const x = d3.scaleLog([1, most], panel.xRange);
  const y = d3.scaleLog([1e-6, 1], panel.yRange);
  axes(panel, {
    x,
    y,
    xLabel: "rank",
    xTicks: ticks(panel).map((m) => (m === 2 ? 1 : m)),
    yTicks: [1e-6, 1e-3, 1],
    xFormat: showCount,
    yFormat: (w) => (w === 1 ? "1" : w === 1e-3 ? "10⁻³" : "10⁻⁶"),
  });
  const group = fresh(panel.svg, "weights");
  const [bottom, top] = y.range();
  const ranks = [...new Set(Array.from({ length: 120 }, (_, i) => Math.round(n ** (i / 119))))];
  const level = (w) => Math.min(bottom, y(Math.max(w, 1e-9)));
  const points = ranks.map((rank) => [x(rank), level(weights[rank - 1])]);
  const end = points.findIndex(([, at]) => at === bottom);
  const seen = end < 0 ? points : points.slice(0, end + 1);
  group
    .append("path")
    .attr("d", `M${x(1)},${bottom}L${seen.join("L")}L${seen.at(-1)[0]},${bottom}Z`)
    .style("fill", colour("weights"))
    .style("opacity", 0.18);
  line(
    group,
    [
      [x(1), level(1 / n)],
      [x(n), level(1 / n)],
      [x(n), bottom],
    ],
    "var(--ex-muted)",
  ).style("stroke-dasharray", "4 3");
  line(group, seen, colour("weights")).style("stroke-width", 2);
  line(
    group,
    [
      [x(keys), top],
      [x(keys), bottom],
    ],
    "var(--ex-ink)",
  );
  const right = keys > 300;
  const start = Math.max(x(keys), n <= 64 ? x(n) : 0) + 5; // past the even share, where that is high
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", right ? x(keys) - 5 : start)
    .attr("y", top + 11)
    .attr("text-anchor", right ? "end" : "start")
    .text(`${count(keys)} effective keys`);
  panel.describe(
    `Weights of ${showCount(n)} keys in order, the largest ${show(weights[0])}, the least ${show(weights.at(-1))}; dashed, even weights of ${show(1 / n)}`,
  );
}

/** How many keys share the weight as the row gets more of them: at this σ the border is crossed where the ground changes. Small dots are where one has been. */
function drawKeys(panel, n, sigma, effective, visited) {
  const x = d3.scaleLog([2, most], panel.xRange);
  const y = d3.scaleLog([1, most], panel.yRange);
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  const crossed = Math.min(right, Math.max(left, x(Math.exp(Math.min(sigma ** 2 / 2, 99)))));
  fresh(panel.svg, "ground")
    .append("rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", crossed - left)
    .attr("height", bottom - top)
    .style("fill", colour("none"))
    .style("opacity", 0.14);
  axes(panel, {
    x,
    y,
    xLabel: "n, keys",
    xTicks: ticks(panel),
    yTicks: [1, 100, 1e4],
    xFormat: showCount,
    yFormat: showCount,
  });
  const group = fresh(panel.svg, "keys");
  line(
    group,
    [
      [x(2), y(2)],
      [x(most), y(most)],
    ],
    "var(--ex-muted)",
  ).style("stroke-dasharray", "4 3");
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", right - 64)
    .attr("y", top + 11)
    .attr("text-anchor", "end")
    .text("all n");
  const points = counts.map((m, i) => [x(m), y(effective[i])]);
  line(group, points, colour("weights")).style("stroke-width", 2);
  for (const [m, keys] of visited.values())
    point(group, x(m), y(keys), 2.2, colour("weights")).attr("class", "been").style("opacity", 0.5);
  const [cx, cy] = points[counts.indexOf(n)];
  point(group, cx, cy, 6, colour("weights"))
    .style("stroke", "var(--ex-ground)")
    .style("stroke-width", 1.5);
  panel.describe(
    `At standard deviation ${show3(sigma)}: ${[32, 1024, most].map((m) => `${show3(effective[counts.indexOf(m)])} effective keys of ${showCount(m)}`).join(", ")}`,
  );
}
