/** The two phases: a point (n, σ) to drag over a map of how many keys share the weight of rows of normal scores. */
import * as d3 from "./d3.js";
import { colour, data, looks } from "./data.js";
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
} from "./shared.js";

const { n: counts, sigma: sigmas, share } = data.phases;
const most = counts.at(-1);
const ticks = [2, 32, 1024, most];
const WIDTH = 64; // of the heads whose divisors have a line

/** How many keys share the weight, a geometric mean over rows of so many keys: at the number `place` of `counts`. */
const effectiveKeys = (place, sigma) => counts[place] ** share[place][sigmas.indexOf(sigma)];

/** The divisors whose lines are drawn, each with the standard deviation of scores that it leaves. */
const divisors = [
  ["none", (dK) => Math.sqrt(dK)],
  ["sqrt_d_k", () => 1],
  ["d_k", (dK) => 1 / Math.sqrt(dK)],
];

export const phases = {
  title: "Do more keys share the weight of a longer row?",
  prompt: "Drag the point to the right: below the border, then above it.",
  hint: { target: ".explorable-handle", by: [110, 0] },
  controls: [
    { name: "n", label: "n, keys", values: counts, value: 512, drawn: true },
    { name: "sigma", label: "σ of the scores", values: sigmas, value: 1, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["phases", "spread σ of a row’s scores, and its number of keys", 330, { left: 30, right: 76 }],
  ],
  update(app) {
    const { n, sigma } = app.state;
    drawPlane(app, n, sigma);
    return { said: verdict(n, sigma) };
  },
};

/** So many keys, with commas: two digits. */
const count = (keys) => (keys < 100 ? show2(keys) : showCount(Number(keys.toPrecision(2))));

/** The length of a row that this one is compared with: 16 times as long, or, at the end, as short. */
const compared = (n) => (counts.includes(16 * n) ? 16 * n : n / 16);

/** How many keys share the weight here, and how many would in a row 16 times as long, or, at the end, as short. */
function verdict(n, sigma) {
  const place = counts.indexOf(n);
  const ratio = sigma / math.criticalSigma(n);
  const side =
    ratio > 1 ? "Above the border" : ratio > 0.5 ? "In the crossover" : "Far below the border";
  const words = compared(n) > n ? "16 times as many" : "a 16th of them";
  const other = counts.indexOf(compared(n));
  return `${side}, ${count(effectiveKeys(place, sigma))} of ${showCount(n)} keys share the weight; with ${words}, ${count(effectiveKeys(other, sigma))} would.`;
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
function drawPlane(app, n, sigma) {
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
    const level = y(sigmaOf(WIDTH));
    if (level > bottom) {
      beside.push({ text: `↓ ${text}`, level: bottom }); // below the map
      continue;
    }
    rule(group, [left, level], [right, level], colour(name))
      .attr("data-rescaling", name)
      .attr("data-sigma", sigmaOf(WIDTH))
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
  nameRegions(group, x, y, n, sigma);
  drawCounts(group, x, y, n, sigma);
  drawPoint(app, panel, x, y, n, sigma);
  panel.describe(
    `A map of how many keys share the weight, from one at the top to all at the bottom. The border rises from ${show(math.criticalSigma(2))} at 2 keys to ${show(critical)} at ${showCount(most)}. Lines of the divisors for ${WIDTH} components: undivided at ${show2(Math.sqrt(WIDTH))}, the root at 1, d_k at ${show2(1 / Math.sqrt(WIDTH))}. The point is at ${showCount(n)} keys and ${show2(sigma)}.`,
    "group",
  );
}

/** How many keys share the weight at the point, and at a hollow one where the row is so much longer, or shorter. */
function drawCounts(group, x, y, n, sigma) {
  const [, right] = x.range();
  for (const m of [n, compared(n)]) {
    const at = [x(m), y(sigma)];
    if (m !== n)
      point(group, ...at, 7, "var(--ex-ground)")
        .style("stroke", "var(--ex-ink)")
        .style("stroke-width", 2);
    const late = at[0] > right - 40;
    say(
      group,
      count(effectiveKeys(counts.indexOf(m), sigma)),
      late ? right : at[0],
      at[1] - 13,
      late ? "end" : "middle",
    )
      .attr("class", "rim name")
      .style("font-weight", 700);
  }
}

/** What the ground means, written at the first place where neither a divisor’s line runs nor the point stands, or where most room is left. */
function nameRegions(group, x, y, n, sigma) {
  const lines = divisors.map(([, sigmaOf]) => y(sigmaOf(WIDTH)));
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
