/** The two phases: a point (n, σ) to drag over a map of how many keys share the weight of rows of normal scores, and the row there. */
import * as d3 from "./d3.js";
import { colour, data, looks } from "./data.js";
import { drawHandles, fromKey, listen, nearest } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, layer, point, richText, rule, say, show2, showCount } from "./shared.js";

const { n: counts, sigma: sigmas, share, weights } = data.phases;
const most = counts.at(-1);
const START = 32; // keys of the row that stays behind; so many weights are drawn
const WIDTH = 64; // of the heads whose lines are drawn

/** The spreads of fresh heads, undivided and with the root. */
const HEADS = { none: Math.sqrt(WIDTH), sqrt_d_k: 1 };

/** How many keys share the weight, a geometric mean over rows of n keys. */
const effectiveKeys = (n, sigma) => n ** share[counts.indexOf(n)][sigmas.indexOf(sigma)];

export const phases = {
  title: "Do more keys share the weight of a longer row?",
  prompt: "Drag the point to the right, then up across the border, and to the right again.",
  hint: { target: ".beyond" },
  controls: [
    { name: "n", label: "number of keys", values: counts, value: START, drawn: true },
    { name: "sigma", label: "spread of scores, σ", values: sigmas, value: 1, drawn: true },
  ],
  panels: [
    ["phases", "more violet: fewer keys share the weight", 292, { left: 38, right: 78 }],
    ["row", "the row at the point", 292, { left: 26, right: 2, bottom: 44 }],
  ],
  forget: (app) => (app.memory = {}),
  update(app) {
    const { n, sigma } = app.state;
    app.memory.moved ||= n !== START || sigma !== 1;
    drawPlane(app, n, sigma);
    drawRow(app.panels.row, n, sigma);
    return { said: verdict(n, sigma) };
  },
};

/** A number of keys, with commas: two digits. */
const count = (keys) => (keys < 100 ? show2(keys) : showCount(Number(keys.toPrecision(2))));

/** How many keys share the weight here, and how many times as many as of the row that stayed behind. */
function verdict(n, sigma) {
  const ratio = sigma / math.criticalSigma(n);
  const side = ratio > 1 ? "Above" : ratio > 0.5 ? "Just below" : "Far below";
  const keys = effectiveKeys(n, sigma);
  if (n <= START) return `${side} the border: ${count(keys)} of ${n} keys share the weight.`;
  const times = keys / effectiveKeys(START, sigma);
  const but = ratio > 0.5 ? "but only" : "and";
  return `${side} the border: ${showCount(n / START)} times the keys, ${but} ${count(times)} times as many share the weight, ${count(keys)} of ${showCount(n)}.`;
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
          .attr("stop-opacity", 0.02 + 0.5 * (1 - between(of, at))),
      );
      map.append("rect").style("fill", `url(#explorable-phases-${i})`);
    });
  const [left, right] = [x(2), x(most)];
  const logs = sigmas.map(y);
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

/** The map under the border, lines of two heads once the point was moved, and the point. */
function drawPlane(app, n, sigma) {
  const panel = app.panels.phases;
  const x = d3.scaleLog([2, most], panel.xRange);
  const y = d3.scaleLog([sigmas[0], sigmas.at(-1)], panel.yRange);
  const right = panel.xRange[1];
  drawMap(panel, x, y);
  axes(panel, {
    x,
    y,
    xLabel: "number of keys",
    yLabel: "spread of scores, σ",
    xTicks: [2, START, 1024, most],
    yTicks: [0.25, 1, 8, 32],
    xFormat: showCount,
    yFormat: String,
  });
  const group = fresh(panel.svg, "lines");
  const border = counts.map((m) => [x(m), y(math.criticalSigma(m))]);
  line(group, border, "var(--ex-ink)").style("stroke-width", 2).attr("class", "border");
  const beside = (level, ...rows) =>
    rows.forEach((text, i) =>
      richText(say(group, "", right + 6, level + 4 + 15 * (i + 1 - rows.length), "start"), text),
    );
  beside(y(math.criticalSigma(most)), "the border");
  for (const [name, spread] of app.memory.moved ? Object.entries(HEADS) : []) {
    const level = y(spread);
    rule(group, [x(2), level], [right, level], colour(name))
      .attr("data-rescaling", name)
      .attr("data-sigma", spread)
      .style("stroke-width", 2)
      .style("stroke-dasharray", looks[name].dashes);
    beside(level, `heads of ${WIDTH},`, looks[name].label);
  }
  const heads = app.memory.moved ? Object.values(HEADS).map(y) : [];
  drawCounts(group, x, y, n, sigma, [...heads, ...nameRegions(group, x, y, sigma)]);
  drawPoint(app, panel, x, y, n, sigma);
  panel.describe(
    `A map of how many keys share the weight, from one at the top to all at the bottom. The border rises from ${show2(math.criticalSigma(2))} at 2 keys to ${show2(math.criticalSigma(most))} at ${showCount(most)}. The point is at ${showCount(n)} keys and ${show2(sigma)}.`,
    "group",
  );
}

/** How many keys share the weight at the point, and at a hollow one of the same spread that stays where the row was short. */
function drawCounts(group, x, y, n, sigma, taken) {
  const level = y(sigma);
  const [bottom, top] = y.range();
  const free = (m, above) => {
    const at = level + (above ? -19 : 19);
    const hit = [y(math.criticalSigma(m)), ...taken].some((other) => Math.abs(other - at) < 11);
    return !hit && at < bottom - 8 && at > top + 6;
  };
  const above = free(n, true) || !free(n, false);
  const write = (m, up, words) => {
    const half = 3.6 * words.length;
    const [left, right] = x.range();
    const at = Math.min(right - half, Math.max(left + half, x(m)));
    say(group, words, at, level + (up ? -14 : 23), "middle").style("font-weight", 700);
  };
  if (n > START) {
    rule(group, [x(START), level], [x(n), level], "var(--ex-ink)").style("stroke-dasharray", "2 4");
    point(group, x(START), level, 7, "var(--ex-ground)")
      .style("stroke", "var(--ex-ink)")
      .style("stroke-width", 2);
    write(START, !above, `${count(effectiveKeys(START, sigma))} of ${START}`);
  }
  write(n, above, `${count(effectiveKeys(n, sigma))} of ${showCount(n)} keys`);
}

/** What the ground means, written where the point and its number are not: at these heights. */
function nameRegions(group, x, y, sigma) {
  const middle = (x.range()[0] + x.range()[1]) / 2;
  const names = [
    ["a few keys have the weight", 26, 13],
    ["many keys share the weight", 0.33, 0.6],
  ];
  return names.flatMap(([text, ...places]) => {
    const at = places.map(y).find((level) => Math.abs(level - y(sigma)) > 40);
    if (at === undefined) return [];
    say(group, text, middle, at + 4, "middle").style("font-style", "italic");
    return [at];
  });
}

/** The heaviest weights of the row, and outlines of those of the short one. */
function drawRow(panel, n, sigma) {
  const height = panel.width > 250 ? 132 : 292; // under the map, or beside it
  panel.svg.attr("height", height);
  const x = d3.scaleLinear([0, START], panel.xRange);
  const y = d3.scaleLinear([0, 1], [height - panel.margin.bottom, panel.margin.top]);
  const [left, right] = panel.xRange;
  const [ground, top] = y.range();
  axes(panel, { x, y, xTicks: [], yTicks: [0, 0.5, 1], yFormat: String, yLabel: "weight" });
  const of = (m) => weights[counts.indexOf(m)][sigmas.indexOf(sigma)];
  const group = fresh(panel.svg, "row");
  of(n).forEach((w, i) =>
    group
      .append("rect")
      .attr("x", x(i + 0.1))
      .attr("width", x(0.8) - x(0))
      .attr("y", y(w))
      .attr("height", ground - y(w))
      .style("fill", colour("weights")),
  );
  const middle = (left + right) / 2;
  const below = (row, words) => say(group, words, middle, ground + 18 + 17 * row, "middle");
  if (n <= START) below(0, `all ${n} keys, sorted`);
  else {
    const tops = of(START).map((w, i) => `V${y(w)}H${x(i + 1)}`);
    group
      .append("path")
      .attr("d", `M${left},${ground}${tops.join("")}V${ground}`)
      .style("fill", "none")
      .style("stroke", "var(--ex-ink)");
    say(group, `outline: row of ${START} keys`, right, top + 18, "end");
    below(0, `${START} heaviest of ${showCount(n)} keys:`);
    const together = of(n).reduce((sum, w) => sum + w);
    const percent = together < 0.01 ? "under 1" : Math.min(100, Math.round(100 * together));
    below(1, `${percent} % of the weight`).style("font-weight", 700);
  }
  panel.describe(
    `The row’s weights, the heaviest first: ${of(n)
      .slice(0, 4)
      .map((w) => w.toFixed(3))
      .join(", ")}`,
  );
}

/** The spread that a drag means: the two of the heads hold the point. */
function snapped(y, at) {
  const held = nearest(Object.values(HEADS), y, at);
  return Math.abs(y(held) - at) < 16 ? held : nearest(sigmas, y, at);
}

/** The point (n, σ): left and right arrow keys move n, up and down σ. */
function drawPoint(app, panel, x, y, n, sigma) {
  const range = { min: 0, max: sigmas.length - 1, step: 1 };
  const { made, all } = drawHandles(panel, [sigmas.indexOf(sigma)], range, "weights");
  made.attr(
    "aria-label",
    "the row: left and right arrows change the number of keys, up and down the spread of scores",
  );
  made.select("circle:not(.ring)").attr("r", 8).style("fill", "var(--ex-ink)");
  layer(panel.svg, "beyond", "circle")
    .attr("cx", x(n) + 28)
    .attr("cy", y(sigma))
    .attr("r", 1)
    .style("fill", "none"); // where the hand begins
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
    sigma: snapped(y, event.y),
  });
  listen(app, panel, all, byKey, byDrag);
}
