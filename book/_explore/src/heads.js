/** A trained head: how many characters share the weight that a character gives, and how many do by chance. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { fromKey } from "./handles.js";
import * as math from "./math.js";
import {
  addButtons,
  fresh,
  layer,
  rule,
  say,
  show,
  show2,
  showCount,
  wantsCalm,
} from "./shared.js";

const { text, moments, heads: count, layers, unit, normal, gap, first: FIRST, drawn } = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from({ length: layers * count }, (_, i) => [
  String(i),
  `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
]);
const APART = 1.2; // times as many characters as by chance, or as few, and a row is more even, or sharper
const PAUSE = 1100; // milliseconds at each moment of training

const scores = new Map();

/** The scores of a moment, each less its row's largest, head by head and row by row: in a script of its own, read when needed. */
function load(moment, then) {
  if (scores.has(moment)) return;
  const read = () => {
    const bytes = atob(window.explorableHeads[moment]);
    scores.set(
      moment,
      Uint8Array.from(bytes, (one) => one.charCodeAt(0)),
    );
  };
  if (window.explorableHeads?.[moment]) return read();
  scores.set(moment, null);
  const script = document.createElement("script");
  script.src = new URL(`heads_${moment}.js`, here);
  script.onload = () => {
    read();
    then();
  };
  script.onerror = () => scores.delete(moment);
  document.head.append(script);
}

/** The scores that a character of a head sees: one for each before it, and its own. */
function rowOf(levels, head, place) {
  const all = places.length;
  const from = (head * all * (all + 1)) / 2 + (place * (place + 1)) / 2;
  return Array.from(levels.subarray(from, from + place + 1), (level) => -((level / unit) ** 2));
}

const average = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

/** The standard deviation of a row. */
const spread = (row) => Math.sqrt(average(row.map((s) => s * s)) - average(row) ** 2);

/** Effective keys of normal rows with as many keys and the same spread, between those that the build has drawn. */
function normalKeys(row) {
  const known = normal[row.length - 1 - FIRST];
  const at = Math.min(spread(row) / gap, known.length - 1.001);
  const [below, above] = [known[Math.floor(at)], known[Math.ceil(at)]].map(Math.log);
  return Math.exp(below + (at % 1) * (above - below));
}

/** The weights of random scores that are spread as a row's. */
function randomWeights(row) {
  const scores = drawn.slice(0, row.length);
  return math.softmax(scores, spread(scores) / spread(row));
}

/** A row's weights, its effective keys, and those of chance. */
function measure(row) {
  const weights = math.softmax(row);
  return { weights, keys: math.effectiveKeys(weights), chance: normalKeys(row) };
}

const LINES = { left: 2, right: 2, top: 4, bottom: 2 };

export const heads = {
  title: "Do more characters share a head’s weight than by chance?",
  prompt: "Press another head, or a character to see where it looks back.",
  hint: { target: ".head:nth-child(11)" },
  controls: [
    {
      name: "step",
      label: "after training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
    },
    { name: "head", options: Object.fromEntries(names), value: "4", drawn: true },
    {
      name: "place",
      min: FIRST,
      max: places.length - 1,
      step: 1,
      value: places.length - 1,
      drawn: true,
    },
  ],
  panels: [
    ["text", "", 92, LINES],
    ["chance", "", 92, LINES],
    [
      "heads",
      "how many share it: ● in each head, ○ by chance",
      130,
      { left: 46, right: 4, top: 18, bottom: 26 },
    ],
  ],
  forget({ memory }) {
    clearInterval(memory.playing);
  },
  update(app) {
    const { step, place, head } = app.state;
    addPlay(app);
    load(step, app.redraw);
    const levels = scores.get(step) ?? app.memory.levels;
    if (!levels) return {};
    app.memory.levels = levels;
    const measured = names.map(([one]) => measure(rowOf(levels, Number(one), place)));
    const { weights, keys, chance } = measured[head];
    const { text, chance: random } = app.panels;
    const cells = drawText(text, weights, place);
    drawText(random, randomWeights(rowOf(levels, Number(head), place)), place);
    const many = keys < 1.05 ? "one character has" : `${show2(keys)} characters share`;
    text.heading.textContent = `this head: ${many} the weight`;
    random.heading.textContent = `by chance (random scores): ${show2(chance)} share it`;
    random.describe("Whom it would look at by chance, with random scores of the same spread.");
    makeChoice(app, cells, weights);
    drawHeads(app, measured);
    const who = names[head][1].replace("l", "L");
    return { said: `${who}: ${many} the weight of ${quoted(place)}, ${verdict(keys / chance)}.` };
  },
};

const seen = (place) => shown[places[place]] ?? places[place];
const quoted = (place) => `“${seen(place)}”`;

/** So many times as many characters as by chance, in words. */
function verdict(ratio) {
  if (ratio > APART) return `${show2(ratio)} times as many as by chance: more even`;
  if (ratio < 1 / APART) return `${show2(100 * ratio)} % as many as by chance: sharper`;
  return "about as many as by chance";
}

/** A button that goes through the moments of training, once; or to the next of them, where motion is unwelcome. */
function addPlay(app) {
  const { memory } = app;
  if (memory.play) return;
  const to = (at) => app.set({ step: moments[at % moments.length] });
  const next = () => {
    const at = moments.indexOf(app.state.step) + 1;
    if (at < moments.length || wantsCalm()) to(at);
    else clearInterval(memory.playing);
  };
  const play = () => {
    if (wantsCalm()) return next();
    clearInterval(memory.playing);
    to(0);
    memory.playing = setInterval(next, PAUSE);
  };
  [memory.play] = addButtons(app.controls, "training", [["Watch it learn", play]]);
}

const TINT = 46; // percent of the weights' colour, under which letters keep a contrast of 4.5

/** The passage, line by line as it was written, darker where weight goes, and grey where the character in the frame cannot look. */
function drawText(panel, weights, place) {
  const lines = text.split("\n");
  const [left, right] = panel.xRange;
  const width = Math.min(20, (right - left) / (1 + Math.max(...lines.map((one) => one.length))));
  const height = (panel.height - 6) / lines.length;
  const at = [];
  let [line, column] = [0, 0];
  for (const character of places) {
    at.push([left + column * width, panel.margin.top + line * height]);
    column += 1;
    if (character === "\n") [line, column] = [line + 1, 0];
  }
  const cells = layer(panel.svg, "text").selectAll("g.character").data(places);
  const made = cells.enter().append("g").attr("class", "character");
  made.append("rect").attr("class", "cell");
  made.append("text").attr("text-anchor", "middle").style("font", "15px monospace");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${at[i]})`);
  all
    .select("rect")
    .attr("width", width)
    .attr("height", height - 2)
    .style("fill", (_, i) => {
      if (i > place) return "var(--ex-panel)";
      const share = Math.round(TINT * Math.min(1, Math.sqrt(2.5 * weights[i])));
      return `color-mix(in srgb, ${colour("weights")} ${share}%, var(--ex-ground))`;
    })
    .style("stroke", (_, i) => (i === place ? colour("query") : "none"))
    .style("stroke-width", 2.5);
  all
    .select("text")
    .attr("x", width / 2)
    .attr("y", height / 2 + 4)
    .style("fill", (_, i) => `var(--ex-${i > place ? "muted" : "ink"})`)
    .text((_, i) => seen(i));
  return at.map(([x, y]) => [x + width / 2, y + height / 2]);
}

/** A character is chosen by pressing it, or the nearest that may look; or by keys. */
function makeChoice(app, at, weights) {
  const { place } = app.state;
  const panel = app.panels.text;
  const named = (i) => `${seen(i)} at ${i + 1}`;
  const told = weights.flatMap((w, i) => (w >= 0.1 ? [`${named(i)}: ${show(w)}`] : []));
  const range = { min: FIRST, max: places.length - 1, step: 1 };
  panel.describe("the character that looks", "slider");
  panel.svg
    .style("cursor", "pointer")
    .attr("tabindex", 0)
    .attr("aria-valuemin", range.min + 1)
    .attr("aria-valuemax", range.max + 1)
    .attr("aria-valuenow", place + 1)
    .attr(
      "aria-valuetext",
      `${named(place)}; weights of a tenth or more: ${told.join(", ") || "none"}`,
    )
    .on("keydown", (event) => {
      app.settle();
      const next = fromKey(event, app.state.place, range);
      if (next === null) return;
      event.preventDefault();
      app.set({ place: next });
    })
    .on("pointerdown pointermove", (event) => {
      if (!event.isPrimary || !(event.buttons & 1)) return;
      const [px, py] = d3.pointer(event);
      const far = (i) => Math.abs(at[i][0] - px) + 100 * Math.abs(at[i][1] - py); // its own line first
      const may = places.map((_, i) => i).slice(FIRST);
      app.set({ place: may.reduce((best, i) => (far(i) < far(best) ? i : best)) });
    });
}

/** On one line a ring at the number by chance and a dot at the head's own. */
function drawPair(group, keys, chance, level) {
  rule(fresh(group, "way"), [chance, level], [keys, level], colour("weights")).style(
    "stroke-width",
    3,
  );
  for (const [name, at, fill, stroke] of [
    ["chance", chance, "var(--ex-ground)", "var(--ex-ink)"],
    ["own", keys, colour("weights"), "none"],
  ])
    layer(group, name, "circle")
      .attr("cx", at)
      .attr("cy", level)
      .attr("r", name === "own" ? 5 : 4)
      .style("fill", fill)
      .style("stroke", stroke)
      .style("stroke-width", 1.5);
}

/** A tile for each head, a row for each layer: arrow keys choose one, as in a list. */
function drawHeads(app, measured) {
  const panel = app.panels.heads;
  const scale = (many, range) =>
    d3
      .scaleBand(
        Array.from({ length: many }, (_, i) => i),
        range,
      )
      .padding(0.08);
  const x = scale(count, panel.xRange);
  const y = scale(layers, [panel.margin.top, panel.yRange[0]]);
  const around = fresh(panel.svg, "around");
  const name = (words, at, level, anchor) =>
    around
      .append("text")
      .attr("class", "axis-label")
      .attr("x", at)
      .attr("y", level)
      .attr("text-anchor", anchor)
      .text(words);
  for (const i of x.domain())
    name(`head ${i + 1}`, x(i) + x.bandwidth() / 2, panel.margin.top - 6, "middle");
  for (const i of y.domain())
    name(`layer ${i + 1}`, panel.margin.left - 4, y(i) + y.bandwidth() / 2 + 4, "end");
  const list = layer(panel.svg, "tiles").attr("role", "radiogroup").attr("aria-label", "head");
  const tiles = list.selectAll("g.head").data(measured);
  const made = tiles.enter().append("g").attr("class", "head").attr("role", "radio");
  made.style("cursor", "pointer");
  made.append("rect").attr("class", "cell").attr("rx", 3);
  const all = made.merge(tiles);
  const chosen = (i) => names[i][0] === app.state.head;
  all
    .attr("transform", (_, i) => `translate(${x(i % count)},${y(Math.floor(i / count))})`)
    .attr("tabindex", (_, i) => (chosen(i) ? 0 : -1))
    .attr("aria-checked", (_, i) => String(chosen(i)))
    .attr(
      "aria-label",
      ({ keys, chance }, i) =>
        `${names[i][1]}: ${show2(keys)} characters, by chance ${show2(chance)}`,
    )
    .on("click", function () {
      app.set({ head: names[all.nodes().indexOf(this)][0] });
    })
    .on("keydown", function (event) {
      const at = all.nodes().indexOf(this);
      const [Home, End] = [-at, names.length - 1 - at];
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -count, ArrowDown: count, Home, End };
      const to = all.nodes()[at + moves[event.key]];
      if (!to) return;
      event.preventDefault();
      to.focus();
      app.set({ head: names[all.nodes().indexOf(to)][0] });
    });
  all
    .select("rect")
    .attr("width", x.bandwidth())
    .attr("height", y.bandwidth())
    .style("fill", "var(--ex-panel)")
    .style("stroke", (_, i) => (chosen(i) ? "var(--ex-ink)" : "none"))
    .style("stroke-width", 2.5);
  const long = d3.scaleLog([1, places.length], [0, x.bandwidth() - 14]);
  all.each(function ({ keys, chance }) {
    const pair = layer(d3.select(this), "pair").attr("transform", "translate(7)");
    drawPair(pair, long(keys), long(chance), y.bandwidth() / 2);
  });
  const below = fresh(panel.svg, "scale");
  for (const i of x.domain())
    for (const keys of x.bandwidth() > 100 ? [1, 3, 10, 30] : [1, 10])
      say(below, keys, x(i) + 7 + long(keys), panel.yRange[0] + 13, "middle");
  panel.describe("How many characters share the weight in each head, and by chance.", "group");
}
