/** Heads of a model in training: where each looks, at how many characters, and whether at more or fewer than by chance. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, layer, rule, say, show, show2, showCount } from "./shared.js";

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

/** Of a moment the scores, each less its row's largest, head by head and row by row, what chance gives, and how many heads leave that, on average over the characters: in a script of its own, read when needed. */
function load(moment, then) {
  if (kept.has(moment)) return;
  const read = () => {
    const [bytes, chance, leave] = window.explorableHeads[moment];
    const levels = Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0));
    kept.set(moment, { levels, chance, leave });
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

/** Of each head, at how many characters it looks from one, at how many it would by chance, and within which of these nine times in ten. */
function measure({ levels, chance }, place) {
  return names.map((_, head) => {
    const [low, middle, high] = chance[place - FIRST][head];
    const keys = math.effectiveKeys(math.softmax(rowOf(levels, head, place)));
    return { keys, low, middle, high, side: keys > high ? 1 : keys < low ? -1 : 0 };
  });
}

const LAST = places.length - 1;
const PURPLE = colour("weights");

export const heads = {
  title: "Do heads look at as many characters as by chance?",
  prompt:
    "Train the model: which heads (dots) leave the grey? Press a dot, or an underlined character.",
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
    ["text", "", 27, { left: 2, right: 2, top: 2, bottom: 2 }],
    [
      "heads",
      "chance: random scores of the same spread; 9 in 10 fall in the grey",
      240,
      { left: 50, right: 6, top: 18, bottom: 22 },
    ],
  ],
  update(app) {
    const { step, place, head } = app.state;
    load(step, app.redraw);
    const of = kept.get(step);
    if (!of) return { said: app.memory.said };
    const measured = measure(of, place);
    const { keys, low, middle, high } = measured[head];
    const told = `${names[head]} looks from “${seen(place)}” at ${show2(keys)} characters, by chance at ${show2(middle)}`;
    app.panels.text.heading.textContent = told;
    drawText(app, math.softmax(rowOf(of.levels, head, place)));
    drawHeads(app, measured, `${told}, 9 times in 10 at ${show2(low)} to ${show2(high)}`);
    return { said: (app.memory.said = answer(measured, of.leave, place)) };
  },
};

/** How many heads look at as many characters as by chance, from one; and how many do not, on average over all that may look. */
function answer(measured, leave, place) {
  const stay = measured.filter((one) => !one.side).length;
  const verdict = stay === names.length ? "Yes" : stay > names.length / 2 ? "Mostly" : "No";
  const byChance = show(0.1 * names.length, 1);
  return `${verdict}: from “${seen(place)}” ${stay} of ${names.length} heads do. On average over the passage ${show(leave, 1)} do not, by chance ${byChance}.`;
}

/** Which of so many numbers from 0 on is the least far. */
const least = (count, far) =>
  [...Array(count).keys()].reduce((best, i) => (far(i) < far(best) ? i : best));
const seen = (place) => shown[places[place]] ?? places[place];

const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5
const LINE = 25; // px, of a line of the passage
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, the stronger coloured the more weight goes there, and pale where the character in the frame cannot look. */
function drawText(app, weights) {
  const panel = app.panels.text;
  const { place } = app.state;
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
  const most = Math.max(...weights);
  const cells = layer(panel.svg, "text").selectAll("g.character").data(places);
  const made = cells.enter().append("g").attr("class", "character");
  made.append("rect").attr("height", LINE - 2);
  made.append("text").attr("y", 16).attr("text-anchor", "middle").style("font", "15px monospace");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${at[i]})`);
  const tint = (i) => `${PURPLE} ${Math.round((TINT * weights[i]) / most)}%, var(--ex-ground)`;
  all
    .select("rect")
    .attr("width", width)
    .style("fill", (_, i) => (i > place ? "var(--ex-panel)" : `color-mix(in srgb, ${tint(i)})`));
  all
    .select("text")
    .attr("x", width / 2)
    .style("fill", (_, i) => `var(--ex-${i > place ? "muted" : "ink"})`)
    .text((_, i) => seen(i));
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

/** A row for each head, layer by layer: a dot for how many times as many characters as by chance it looks at, and chance's grey bar. */
function drawHeads(app, measured, told) {
  const panel = app.panels.heads;
  const head = app.state.head;
  const [bottom, top] = panel.yRange;
  const x = d3.scaleLog([0.1, 10], panel.xRange);
  const y = d3.scaleLinear([layers, 0], [bottom, top]);
  const high = (y(1) - y(0) - 10) / count; // px, of a row
  const level = (i) => y(Math.floor(i / count)) + 5 + ((i % count) + 0.5) * high;
  const multiple = (of) => (of < 1 ? `÷ ${1 / of}` : of > 1 ? `× ${of}` : "chance");
  axes(panel, { x, y, xTicks: [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8], yTicks: 0, xFormat: multiple });
  const notes = fresh(panel.svg, "notes");
  for (let i = 0; i < layers; i++) {
    say(notes, `layer ${i + 1}`, 0, y(i + 0.5) + 4, "start");
    if (i) rule(notes, [x.range()[0], y(i)], [x.range()[1], y(i)], "var(--ex-grid)");
  }
  say(notes, "← fewer than chance", x(1) - 10, top - 6, "end");
  say(notes, "more than chance →", x(1) + 10, top - 6, "start");
  rule(notes, [x(1), top - 16], [x(1), bottom], "var(--ex-ink)");
  const rows = layer(panel.svg, "glides").selectAll("g.head").data(measured);
  const made = rows.enter().append("g").attr("class", "head");
  made.append("rect").attr("rx", 3);
  made.append("circle");
  const all = made.merge(rows).style("transform", (_, i) => `translateY(${level(i)}px)`);
  all
    .select("rect")
    .attr("x", ({ low, middle }) => x(low / middle))
    .attr("y", 1.5 - high / 2)
    .attr("width", ({ low, high }) => Math.max(4, x(high / low) - x(1)))
    .attr("height", high - 3)
    .style("fill", "color-mix(in srgb, var(--ex-muted) 25%, transparent)");
  all
    .select("circle")
    .attr("cx", ({ keys, middle }) => x(keys / middle))
    .attr("r", ({ side }) => (side ? 5.5 : 4))
    .style("fill", ({ side }) => (side ? PURPLE : "var(--ex-muted)"));

  const range = { min: 0, max: names.length - 1 };
  const { keys, middle } = measured[head];
  const { made: ring, all: handle } = drawHandles(panel, [head], range, "query");
  layer(panel.svg, "handles").classed("glides", true);
  ring.attr("aria-label", "the head").style("pointer-events", "none"); // a press is for the nearest row
  ring.select("circle:not(.ring)").remove();
  ring.select("circle").attr("r", 9).style("stroke", colour("query")).style("stroke-width", 2.5);
  handle
    .attr("transform", `translate(${x(keys / middle)},${level(head)})`)
    .attr("aria-valuenow", head)
    .attr("aria-valuetext", told);
  const by = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, PageUp: -4, PageDown: 4 };
  Object.assign(by, { Home: -names.length, End: names.length });
  const byKey = ({ key }, from) => (key in by ? { head: from + by[key] } : null);
  const nearest = (at) => least(names.length, (i) => Math.abs(level(i) - at));
  listen(app, panel, handle, byKey, (event) => ({ head: nearest(event.y) }));
  panel.describe("How many characters each head looks at, and how many by chance.", "group");
}
