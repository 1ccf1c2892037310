/** Heads of a model in training: whom each looks at, beside random scores of the same spread, and at how many characters. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { fresh, layer, rule, say, show, show2, showCount } from "./shared.js";

const {
  text,
  moments,
  heads: count,
  layers,
  unit,
  first: FIRST,
  head: shownFirst,
  place: looksFirst,
} = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from(
  { length: layers * count },
  (_, i) => `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
);

const kept = new Map();

/** Of a moment the scores, each less its row's largest, head by head and row by row, and at how many characters these look, and random ones; and on average how many heads look more widely or narrowly than these: in a script of its own, read when needed. */
function load(moment, then) {
  if (kept.has(moment)) return;
  const read = () => {
    const [bytes, looks, leave] = window.explorableHeads[moment];
    kept.set(moment, {
      levels: Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0)),
      looks,
      leave,
    });
  };
  if (window.explorableHeads?.[moment]) return read();
  kept.set(moment, null);
  const script = document.createElement("script");
  script.src = new URL(`heads_${moment}.js`, here);
  script.onload = () => {
    read();
    then();
  };
  script.onerror = () => kept.delete(moment);
  document.head.append(script);
}

/** The scores that a character of a head sees: one for each before it, and its own. */
function rowOf(levels, head, place) {
  const all = places.length;
  const from = (head * all * (all + 1)) / 2 + (place * (place + 1)) / 2;
  return Array.from(levels.subarray(from, from + place + 1), (level) => -((level / unit) ** 2));
}

/** Of each head, at how many characters it looks from one, at how many random scores do, and within which of these nine times in ten. */
const measure = ({ looks }, place) =>
  looks[place - FIRST].map(([keys, low, middle, high]) => {
    return { keys, low, middle, high, side: keys > high ? 1 : keys < low ? -1 : 0 };
  });

/** Weights of random scores with the spread of these: of a hundred rows the one that looks at most nearly `keys` characters. */
function randomLike(scores, keys) {
  const uniform = math.makeGenerator(scores.length);
  const asked = spread(scores);
  const rows = Array.from({ length: 100 }, () => {
    const row = math.sampleNormal(scores.length, uniform);
    const factor = asked / spread(row);
    return math.softmax(row.map((z) => factor * z));
  });
  return rows[least(rows.length, (i) => Math.abs(math.effectiveKeys(rows[i]) - keys))];
}
const mean = (row) => row.reduce((sum, x) => sum + x, 0) / row.length;
function spread(row) {
  const middle = mean(row);
  return Math.sqrt(mean(row.map((x) => (x - middle) ** 2)));
}

const LAST = places.length - 1;

export const heads = {
  title: "Do heads look as widely as random scores would?",
  prompt: "Train the model, and compare the head with random scores. Press heads, or letters.",
  hint: { target: "input" },
  controls: [
    {
      name: "step",
      label: "training steps",
      values: moments,
      value: moments[0],
      text: showCount,
      marks: moments.map(showCount),
    },
    { name: "head", min: 0, max: names.length - 1, step: 1, value: shownFirst, drawn: true },
    { name: "place", min: FIRST, max: LAST, step: 1, value: looksFirst, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["head", "", 27, { left: 2, right: 2 }],
    ["random", "", 27, { left: 2, right: 2 }],
    ["heads", "every head over random", 168, { left: 50, right: 2, top: 36, bottom: 2 }],
  ],
  update(app) {
    const { step, place, head } = app.state;
    load(step, app.redraw);
    const of = kept.get(step);
    if (!of) return { said: app.memory.said };
    const measured = measure(of, place);
    const { keys, middle } = measured[head];
    const scores = rowOf(of.levels, head, place);
    const own = `${names[head]}: as if shared by ${show2(keys)} characters`;
    const random = `random scores of the same spread: by ${show2(middle)}`;
    app.panels.head.heading.textContent = own;
    app.panels.random.heading.textContent = random;
    const [weights, byChance] = [math.softmax(scores), randomLike(scores, middle)];
    const most = Math.max(...weights, ...byChance);
    drawFrame(app, drawText(app.panels.head, weights, most, colour("weights")), weights);
    drawText(app.panels.random, byChance, most, "var(--ex-muted)");
    drawHeads(app, measured, `${own}; ${random}`);
    return { said: (app.memory.said = answer(measured[head], of.leave)) };
  },
};

/** How many heads look as widely as random scores, on average over all characters that may look; and whether this one does here. */
function answer({ low, high, side }, leave) {
  const [all, byChance] = [names.length - leave, 0.9 * names.length];
  const verdict = all > byChance - 1 ? "Yes" : "Mostly"; // to within a head
  const here = ["narrower", "within chance", "wider"][side + 1];
  return `${verdict}: over all letters ${show(all, 1)} of ${names.length} heads do, by chance ${show(byChance, 1)}. From this one this head is ${here}: 9 random rows in 10 have ${show2(low)} to ${show2(high)}.`;
}

const numbers = (count) => [...Array(count).keys()];
/** Which of so many numbers from 0 on is the least far. */
const least = (count, far) => numbers(count).reduce((best, i) => (far(i) < far(best) ? i : best));
const seen = (place) => shown[places[place]] ?? places[place];

const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5
const LINE = 25; // px, of a line of the passage
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, the stronger coloured the more weight goes there, and pale where the character that looks cannot; where each stands. */
function drawText(panel, weights, most, ink) {
  const [left, right] = panel.xRange;
  const breaks = (i) => places[i - 1] === "\n" && places[i] !== "\n" && right - left < ROOMY;
  const at = [];
  let [line, column] = [0, 0];
  places.forEach((_, i) => {
    [line, column] = breaks(i) ? [line + 1, 0] : [line, column];
    at.push([column, line]);
    column += 1;
  });
  const width = (right - left) / (1 + Math.max(...at.map(([column]) => column)));
  for (const one of at) [one[0], one[1]] = [left + one[0] * width, 2 + one[1] * LINE];
  panel.svg.attr("height", (line + 1) * LINE + 2);
  const cells = layer(panel.svg, "text").selectAll("g.character").data(places);
  const made = cells.enter().append("g").attr("class", "character");
  made
    .append("rect")
    .attr("class", "cell")
    .attr("height", LINE - 2);
  made.append("text").attr("y", 16).attr("text-anchor", "middle").style("font", "15px monospace");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${at[i]})`);
  const tint = (i) => `${ink} ${((TINT * weights[i]) / most).toFixed(1)}%, var(--ex-ground)`;
  const blind = (i) => i >= weights.length;
  all
    .select("rect")
    .attr("width", width)
    .style("fill", (_, i) => (blind(i) ? "var(--ex-panel)" : `color-mix(in srgb, ${tint(i)})`));
  all
    .select("text")
    .attr("x", width / 2)
    .style("fill", (_, i) => `var(--ex-${blind(i) ? "muted" : "ink"})`)
    .text((_, i) => seen(i));
  return { at, width };
}

/** A frame around the character that looks, which readers move to another of those that are underlined. */
function drawFrame(app, { at, width }, weights) {
  const panel = app.panels.head;
  const { place } = app.state;
  const [under, lines] = [LINE - 2, fresh(panel.svg, "lines")];
  for (const [x, y] of at.slice(FIRST))
    rule(lines, [x, y + under], [x + width, y + under], colour("query"));

  const range = { min: FIRST, max: LAST, step: 1 };
  const { made: frame, all: handle } = drawHandles(panel, [place], range, "query");
  frame.attr("aria-label", "the character that looks").selectAll("*").remove();
  frame.append("rect").attr("class", "ring").style("stroke", colour("query"));
  const named = (i) => `${seen(i)} at ${i + 1}`;
  const told = weights.flatMap((w, i) => (w >= 0.1 ? [`${named(i)}: ${show(w)}`] : []));
  handle
    .attr("transform", `translate(${at[place]})`)
    .attr("aria-valuenow", place)
    .attr(
      "aria-valuetext",
      `${named(place)}; weights of a tenth or more: ${told.join(", ") || "none"}`,
    )
    .select("rect")
    .attr("width", width)
    .attr("height", LINE - 2)
    .style("stroke-width", 2.5);
  const byKey = (event, from) => {
    const next = fromKey(event, from, range);
    return next === null ? null : { place: next };
  };
  const byDrag = ({ x, y }) => {
    const far = ([px, py]) => Math.abs(px + width / 2 - x) + 100 * Math.abs(py + LINE / 2 - y); // its own line first
    return { place: least(places.length, (i) => far(at[i])) };
  };
  listen(app, panel, handle, byKey, byDrag);
}

/** A cell for each head, a row for a layer: how many times as many characters as random scores it looks at, coloured where these rarely do. */
function drawHeads(app, measured, told) {
  const panel = app.panels.heads;
  const head = app.state.head;
  const x = d3.scaleBand(numbers(count), panel.xRange).paddingInner(0.05);
  const y = d3.scaleBand(numbers(layers), panel.yRange.reverse()).paddingInner(0.12);
  const corner = (i) => [x(i % count), y(Math.floor(i / count))];
  const size = [x.bandwidth(), y.bandwidth()];
  const notes = fresh(panel.svg, "notes");
  for (let i = 0; i < layers; i++) say(notes, `layer ${i + 1}`, 0, y(i) + size[1] / 2 + 4, "start");
  for (let i = 0; i < count; i++) say(notes, `head ${i + 1}`, x(i) + size[0] / 2, 30, "middle");
  const key = say(notes, "", 0, 11, "start");
  for (const [name, words] of [
    ["weights", "wider"],
    ["key", "narrower: outside 9 random rows in 10"],
  ]) {
    key.append("tspan").style("fill", colour(name)).text("■ ");
    key.append("tspan").text(`${words} `);
  }
  const cells = layer(panel.svg, "cells").selectAll("g.head").data(measured);
  const made = cells.enter().append("g").attr("class", "head");
  made.append("rect").attr("class", "cell").attr("rx", 3);
  made.append("text").attr("text-anchor", "middle");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${corner(i)})`);
  const ink = ({ side }) => `${colour(side > 0 ? "weights" : "key")} ${side ? TINT : 0}%`;
  all
    .select("rect")
    .attr("width", size[0])
    .attr("height", size[1])
    .style("fill", (one) => `color-mix(in srgb, ${ink(one)}, var(--ex-panel))`);
  all
    .select("text")
    .attr("x", size[0] / 2)
    .attr("y", size[1] / 2 + 5)
    .style("font-weight", ({ side }) => (side ? 700 : null))
    .text(({ keys, middle }) =>
      keys < 0.95 * middle ? `÷ ${show(middle / keys, 1)}` : `× ${show(keys / middle, 1)}`,
    );

  const range = { min: 0, max: names.length - 1 };
  const { made: frame, all: handle } = drawHandles(panel, [head], range, "query");
  frame.attr("aria-label", "the head").style("pointer-events", "none"); // a press is for the nearest cell
  frame.selectAll("*").remove();
  frame.append("rect").attr("class", "ring").attr("rx", 3).style("stroke", colour("query"));
  handle
    .attr("transform", `translate(${corner(head)})`)
    .attr("aria-valuenow", head)
    .attr("aria-valuetext", told)
    .select("rect")
    .attr("width", size[0])
    .attr("height", size[1])
    .style("stroke-width", 2.5);
  const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -count, ArrowDown: count };
  const byKey = ({ key }, from) => {
    const to = { Home: 0, End: range.max }[key] ?? from + by[key];
    return Number.isNaN(to) ? null : { head: to in measured ? to : from };
  };
  const byDrag = (event) => {
    const far = ([px, py]) => Math.hypot(px + size[0] / 2 - event.x, py + size[1] / 2 - event.y);
    return { head: least(names.length, (i) => far(corner(i))) };
  };
  listen(app, panel, handle, byKey, byDrag);
  panel.describe(
    "At how many characters each head looks, over how many random scores would.",
    "group",
  );
}
