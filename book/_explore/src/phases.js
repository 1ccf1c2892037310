/** The two phases: a point (n, σ) to drag over a map of how many keys share the weight of rows of normal scores. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawHandles, fromKey, listen, nearest } from "./handles.js";
import * as math from "./math.js";
import {
  apart,
  axes,
  fresh,
  layer,
  point,
  richText,
  rule,
  say,
  show,
  show2,
  showCount,
  textLine,
} from "./shared.js";

const { n: counts, sigma: sigmas, share } = data.phases;
const most = counts.at(-1);
const ticks = [2, 32, 1024, most];
const fromOne = [1, ...ticks.slice(1)];

/** How many keys share the weight, a geometric mean over rows of so many keys: at the number `place` of `counts`. */
const effectiveKeys = (place, sigma) => counts[place] ** share[place][sigmas.indexOf(sigma)];

/** The divisors whose lines are drawn, each with the standard deviation of scores that it leaves. */
const divisors = [
  ["none", (dK) => Math.sqrt(dK)],
  ["sqrt_d_k", () => 1],
  ["d_k", (dK) => 1 / Math.sqrt(dK)],
];

/** One row, normal with standard deviation 1: of n keys it has the first n, so that more keys leave those that are there. */
let drawn;
const scoresOf = (n) =>
  (drawn ??= math.sample(most, "normal", math.makeGenerator(0))).subarray(0, n);

/** The row's weights in order, which is kept until there are more keys or fewer. */
function weightsOf(memory, n, sigma) {
  if (memory.n !== n) memory.ordered = scoresOf(n).slice().sort().reverse();
  memory.n = n;
  return math.softmax(memory.ordered, 1 / sigma);
}

export const phases = {
  title: "How many keys share the weight of a row?",
  controls: [
    {
      name: "d_k",
      label: "d_k, for the divisors’ lines",
      values: data.phases.d_k,
      value: 64,
      text: String,
    },
    { name: "n", label: "n, keys", values: counts, value: 512, drawn: true },
    { name: "sigma", label: "σ of the scores", values: sigmas, value: 1, drawn: true },
  ],
  readouts: [],
  panels: [
    ["phases", "drag the point: σ against n, keys", 296, { left: 30, right: 70 }],
    ["weights", "one row’s weights, by rank", 160, { left: 34, right: 54, top: 12 }],
    ["keys", "effective keys along your way", 140, { left: 34, right: 54, top: 12 }],
  ],
  forget({ memory }) {
    delete memory.walks;
    delete memory.at;
  },
  update(app) {
    const { n, sigma, d_k: dK } = app.state;
    const critical = math.criticalSigma(n);
    const ratio = sigma / critical;
    const place = counts.indexOf(n);
    const keys = effectiveKeys(place, sigma);
    drawPlane(app, n, sigma, dK);
    drawWeights(app.panels.weights, weightsOf(app.memory, n, sigma), keys);
    const walks = walk(app, place, sigma);
    drawKeys(app.panels.keys, n, sigma, walks);
    const side = ratio > 1 ? "above it" : ratio > 0.5 ? "in the crossover" : "far below";
    const said = [
      `${count(keys)} of ${showCount(n)} keys share the weight, counted by 1/Σp².`,
      `σ ${show2(sigma)}, border ${show2(critical)}: ${side}.`,
      ...(asksForDivisors(app) ? [answer(dK, n)] : found(walks)),
    ];
    app.formula.replaceChildren(...said.map(textLine));
    arrange(app);
    return { values: {}, spoken: said.join(" ") };
  },
};

/** What is said stays in view with the point, on a phone too; the divisors’ lines lie over the slider that moves them. */
function arrange({ controls, formula, panels }) {
  const map = panels.phases.svg.node();
  if (map.nextSibling === controls) return; // it would lose the focus
  controls.before(formula);
  map.after(controls);
}

/** Whether d_k is what was moved last, and not the point. */
function asksForDivisors({ memory, state }) {
  const { n, sigma, d_k: dK } = state;
  const before = memory.at ?? state;
  if (n !== before.n || sigma !== before.sigma) memory.asks = false;
  else if (dK !== before.d_k) memory.asks = true;
  memory.at = { n, sigma, d_k: dK };
  return memory.asks;
}

/** Which lines d_k moves, and on which side of the border they lie: only undivided has two, as no border is below √(2 ln 2) = 1.18. */
function answer(dK, n) {
  const [undivided, low] = [Math.sqrt(dK), 1 / Math.sqrt(dK)];
  const side = undivided > math.criticalSigma(n) ? "above" : "below";
  return (
    `Undivided moves to √d_k = ${show2(undivided)}: ${side} the border. d_k moves to 1/\u2060√d_k = ${show2(low)}, ` +
    `the root stays at 1: below. At d_k = 2 ln n = ${show2(2 * Math.log(n))} undivided crosses.`
  );
}

/** So many keys, with commas: two digits. */
const count = (keys) => (keys < 100 ? show2(keys) : showCount(Number(keys.toPrecision(2))));

/** Where the reader has been: stretches [σ, [from, to]] along n, as places in `counts`; the latest last, of which those near it at its σ are part. */
function walk({ memory }, place, sigma) {
  const before = memory.walks ?? [];
  const last = before.at(-1);
  const isPart = (of) => {
    const [at, [from, to]] = of;
    return at === sigma && (of === last || (from - 2 <= place && place <= to + 2));
  };
  const places = [place, ...before.filter(isPart).flatMap(([, ends]) => ends)];
  const others = before.filter((of) => !isPart(of));
  return (memory.walks = [...others, [sigma, [Math.min(...places), Math.max(...places)]]]);
}

/** Whether a stretch is more than a slanting drag crosses. */
const isLong = ([, [from, to]]) => to - from > 2;

/** The latest of these stretches that is. */
const walked = (walks) => walks.filter(isLong).at(-1);

/** What to look for first, and what the reader has seen: at one number of keys nothing jumps; more keys share, or do not, on either side of the border. */
function found(walks) {
  const border = (place) => math.criticalSigma(counts[place]);
  const below = walks.filter(([sigma, [from]]) => sigma < border(from));
  const above = walks.filter(([sigma, [, to]]) => sigma > border(to));
  const crossed =
    walks.some(([sigma, [, to]]) => sigma < border(to)) &&
    walks.some(([sigma, [from]]) => sigma > border(from));
  const [few, many] = [walked(above), walked(below)];
  const grown = ([sigma, ends]) => {
    const numbers = ends.map((place) => count(effectiveKeys(place, sigma)));
    return `(σ = ${show2(sigma)}: ${[...new Set(numbers)].join(" to ")})`;
  };
  if (!few && !many)
    return crossed
      ? [
          "At one n the passage is gradual: the border √(2 ln n) is for growing n.",
          "Now drag along n: below it, then above it.",
        ]
      : ["Let n grow: drag the point to the right. Do more and more keys share?"];
  if (!few)
    return [
      `Below the border the keys that share grow with n ${grown(many)}.`,
      "Now drag along n: above it.",
    ];
  if (!many)
    return [
      `Above the border the keys that share stay a few ${grown(few)}.`,
      "Now drag along n: below it.",
    ];
  return [
    `Below the border the keys that share grow with n ${grown(many)}; above it they stay a few ${grown(few)}.`,
  ];
}

const line = (group, points, stroke) =>
  group.append("path").attr("d", d3.line()(points)).style("fill", "none").style("stroke", stroke);

/** The map: a strip for each step of σ, the deeper in colour the fewer keys share the weight, over the logarithm of their number. */
function drawMap(panel, x, y) {
  const made = panel.svg.select("g.map").empty();
  const map = layer(panel.svg, "map");
  const fine = 3; // strips between two stored σ
  const places = Array.from({ length: fine * (sigmas.length - 1) + 1 }, (_, i) => i / fine);
  const between = (values, at) => {
    const [low, part] = [Math.floor(at), at % 1];
    return part ? values[low] * (1 - part) + values[low + 1] * part : values[low];
  };
  if (made)
    places.forEach((at, i) => {
      const strip = map.append("linearGradient").attr("id", `explorable-phases-${i}`);
      share.forEach((of, place) =>
        strip
          .append("stop")
          .attr("offset", place / (counts.length - 1))
          .attr("stop-color", colour("weights"))
          .attr("stop-opacity", 0.02 + 0.4 * (1 - between(of, at))),
      );
      map.append("rect").style("fill", `url(#explorable-phases-${i})`);
    });
  const [left, right] = [x(2), x(most)];
  const logs = sigmas.map((sigma) => y(sigma));
  const height = (logs[0] - logs.at(-1)) / (places.length - 1);
  map
    .selectAll("rect")
    .data(places)
    .attr("shape-rendering", "crispEdges")
    .attr("x", left)
    .attr("width", right - left)
    .attr("y", (at) => between(logs, at) - height / 2)
    .attr("height", height);
}

/** The map under the border and half of it, a line for each divisor, and the point. */
function drawPlane(app, n, sigma, dK) {
  const panel = app.panels.phases;
  const [left, right] = panel.xRange;
  const inner = d3.scaleLog([2, most], [left + 8, right - 8]); // at the ends the point covers no label
  const x = d3.scaleLog([left, right].map(inner.invert), [left, right]);
  const step = Math.log(sigmas[1] / sigmas[0]) / 6; // half a strip beyond the last σ, so that none hangs over
  const y = d3.scaleLog(
    [sigmas[0] * Math.exp(-step), sigmas.at(-1) * Math.exp(step)],
    panel.yRange,
  );
  const [bottom, top] = y.range();
  drawMap(panel, x, y);
  axes(panel, {
    x,
    y,
    xLabel: "n, keys",
    yLabel: "σ",
    xTicks: ticks,
    yTicks: [0.1, 1, 10],
    xFormat: showCount,
    yFormat: String,
  });
  const group = fresh(panel.svg, "lines");
  const border = (times) =>
    Array.from({ length: 65 }, (_, i) => 2 ** (1 + i / 4)).map((m) => [
      x(m),
      y(times * math.criticalSigma(m)),
    ]);
  line(group, border(1), "var(--ex-ink)").style("stroke-width", 2);
  line(group, border(0.5), "var(--ex-ink)").style("stroke-dasharray", "2 4");
  const critical = math.criticalSigma(most);
  const beside = [
    { text: "border σ_c", level: y(critical) },
    { text: "half of it", level: y(critical / 2) },
  ];
  for (const [name, sigmaOf] of divisors) {
    const { label: text, dashes } = looks[name];
    const level = y(sigmaOf(dK));
    if (level > bottom) {
      beside.push({ text: `↓ ${text}`, level: bottom }); // below the map
      continue;
    }
    rule(group, [left, level], [right, level], colour(name))
      .attr("data-rescaling", name)
      .attr("data-sigma", sigmaOf(dK))
      .style("stroke-width", 2)
      .style("stroke-dasharray", dashes);
    beside.push({ text, level });
  }
  const heights = apart(
    beside.map(({ level }) => level),
    15,
    top,
    bottom,
  );
  beside.forEach(({ text, level }, i) => {
    if (level < bottom) rule(group, [right, level], [right + 5, heights[i]], "var(--ex-muted)");
    richText(say(group, "", right + 8, heights[i] + 4, "start").classed("name", true), text);
  });
  nameRegions(group, x, y, app.state);
  drawPoint(app, panel, x, y, n, sigma);
  panel.describe(
    `A map of how many keys share the weight, from one at the top to all at the bottom. The border rises from ${show(math.criticalSigma(2))} at 2 keys to ${show(critical)} at ${showCount(most)}. Lines of the divisors for ${dK} components: undivided at ${show2(Math.sqrt(dK))}, the root at 1, d_k at ${show2(1 / Math.sqrt(dK))}. The point is at ${showCount(n)} keys and ${show2(sigma)}.`,
    "group",
  );
}

/** What the ground means, written at the first place where neither a divisor’s line runs nor the point stands, or where most room is left. */
function nameRegions(group, x, y, { n, sigma, d_k: dK }) {
  const lines = divisors.map(([, sigmaOf]) => y(sigmaOf(dK)));
  const place = (text, width, ...places) => {
    const free = ([m, at]) => {
      const beside = Math.abs(x(m) - x(n)) - width / 2;
      const point = Math.max(beside, Math.abs(y(at) - y(sigma))) - 8;
      return Math.min(point, ...lines.map((level) => Math.abs(level - y(at))));
    };
    const [m, at, turn = 0] =
      places.find((place) => free(place) > 12) ??
      places.reduce((best, place) => (free(place) > free(best) ? place : best));
    say(group, text, 0, 4, "middle")
      .attr("class", "name")
      .attr("transform", `translate(${x(m)},${y(at)}) rotate(${turn})`)
      .style("font-style", "italic");
  };
  const crossover = (m) => {
    const [from, to] = [m / 4, m * 4].map((at) => [x(at), y(math.criticalSigma(at))]);
    const turn = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
    return [m, math.criticalSigma(m) / Math.SQRT2, turn];
  };
  place("frozen: a few keys", 100, [512, 26], [512, 14], [512, 20]);
  place("crossover", 56, crossover(2 ** 13), crossover(2 ** 6));
  place("a fixed share of the keys", 136, [512, 0.2], [512, 0.4], [512, 0.14], [512, 0.55]);
}

/** The height that a drag means: while it goes sideways that at which it set out, though the hand sways, until it leaves that. */
function steady(memory, { x, y }) {
  const way = (memory.way ??= { x, y });
  const [dx, dy] = [Math.abs(x - way.x), Math.abs(y - way.y)];
  way.sideways ||= dx > 12 && dy < dx / 2;
  if (dy > (way.sideways ? 20 : 12)) memory.way = { x, y };
  return dy < (way.sideways ? 20 : 6) ? way.y : y;
}

/** The point (n, σ): left and right arrow keys move n, up and down σ. */
function drawPoint(app, panel, x, y, n, sigma) {
  const range = { min: 0, max: sigmas.length - 1, step: 1 };
  const { made, all } = drawHandles(panel, [sigmas.indexOf(sigma)], range, "weights");
  made.attr(
    "aria-label",
    "the row: left and right arrows change the number of keys, up and down the spread",
  );
  made.select("circle:not(.ring)").attr("r", 8).style("fill", "var(--ex-ink)");
  all
    .attr("transform", `translate(${x(n)},${y(sigma)})`)
    .attr("aria-valuenow", (place) => place)
    .attr("aria-valuetext", `${showCount(n)} keys, σ ${show2(sigma)}`);
  const within = (values, place) => values[Math.min(values.length - 1, Math.max(0, place))];
  const byKey = (event, place) => {
    const across = /Left|Right/.test(event.key);
    const next = fromKey(event, across ? counts.indexOf(app.state.n) : place, range);
    if (next === null) return null;
    return across ? { n: within(counts, next) } : { sigma: within(sigmas, next) };
  };
  const byDrag = (event) => ({
    n: nearest(counts, x, event.x),
    sigma: nearest(sigmas, y, steady(app.memory, event)),
  });
  const begin = (event) => {
    const held = event.target.closest(".explorable-handle");
    app.memory.way = held ? { x: x(n), y: y(sigma) } : null;
  };
  panel.svg.on("pointerdown.steady", begin, true); // before a press brings the point
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
    xTicks: fromOne,
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
  say(group, "even, 1/n", x(n) + 5, Math.max(level(1 / n) + 4, top + 27), "start")
    .attr("class", "name")
    .style("fill", "var(--ex-muted)");
  const right = keys > 300;
  const [fallen] = points.find(([, at]) => at > top + 16) ?? [0];
  const start = Math.max(x(keys), fallen, n <= 64 ? x(n) : 0) + 5; // past the curve and the even share, where these are high
  say(group, "effective keys", right ? x(keys) - 5 : start, top + 11, right ? "end" : "start");
  panel.describe(
    `Weights of ${showCount(n)} keys in order, the largest ${show(weights[0])}, the least ${show(weights.at(-1))}; dashed, even weights of ${show(1 / n)}`,
  );
}

/** How many keys share the weight as the row gets more of them, drawn where one has been: the last walks along n, each at its σ. */
function drawKeys(panel, n, sigma, walks) {
  const x = d3.scaleLog([1, most], panel.xRange); // that of the ranks
  const y = d3.scaleLog([1, most], panel.yRange);
  const [bottom, top] = y.range();
  axes(panel, {
    x,
    y,
    xLabel: "n, keys",
    xTicks: fromOne,
    yTicks: [1, 100, 1e4],
    xFormat: showCount,
    yFormat: (keys) => (keys === 1e4 ? "10⁴" : keys),
  });
  const group = fresh(panel.svg, "keys");
  rule(group, [x(1), y(1)], [x(most), y(most)], "var(--ex-muted)").style("stroke-dasharray", "4 3");
  const along = ([from, to], at) =>
    counts.slice(from, to + 1).map((m, i) => [x(m), y(effectiveKeys(from + i, at))]);
  const stretches = walks.map(([at, ends]) => ({ at, points: along(ends, at) }));
  for (const { points } of stretches) line(group, points, "var(--ex-muted)").attr("class", "been");
  const isShown = (of) => of === walks.at(-1) || isLong(of);
  const shown = stretches.filter((_, i) => isShown(walks[i])).slice(-4);
  const levels = shown.map(({ points }) => points.at(-1)[1]);
  const heights = apart([...levels, y(most)], 14, top - 4, bottom - 4);
  say(group, "all keys", x(most) + 8, heights.at(-1) + 4, "start").style("fill", "var(--ex-muted)");
  shown.forEach(({ at, points }, i) => {
    const now = at === sigma;
    line(group, points, now ? colour("weights") : "var(--ex-muted)")
      .attr("class", "been")
      .style("stroke-width", now ? 3 : 2);
    rule(group, points.at(-1), [x(most) + 6, heights[i]], "var(--ex-muted)").style(
      "stroke-dasharray",
      "1 4",
    );
    say(group, `σ = ${show2(at)}`, x(most) + 8, heights[i] + 4, "start")
      .attr("class", "walk")
      .style("fill", now ? lettersColour("weights") : "var(--ex-muted)")
      .style("font-weight", now ? 700 : 400);
  });
  const keys = effectiveKeys(counts.indexOf(n), sigma);
  const level = y(keys);
  line(
    group,
    [
      [x(keys), top],
      [x(keys), level],
      [x(n), level],
    ],
    "var(--ex-ink)",
  ) // the line above, carried on
    .attr("class", "carried")
    .style("stroke-dasharray", "1 3");
  point(group, x(n), level, 6, colour("weights"))
    .style("stroke", "var(--ex-ground)")
    .style("stroke-width", 1.5);
  panel.describe(
    `Effective keys against their number, at each standard deviation that you have walked along: ${shown.map(({ at }) => show2(at)).join(", ")}. Now ${count(keys)} of ${showCount(n)}.`,
  );
}
