/** Heads of a model in training: whom each looks at, and at how many characters, beside random scores of the same spread. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { element, fresh, layer, rule, say, show, show2, show3, showCount } from "./shared.js";

const {
  text,
  moments,
  heads: count,
  layers,
  unit,
  first: FIRST,
  head: shownFirst,
  inside,
} = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from(
  { length: layers * count },
  (_, i) => `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
);

const kept = new Map();

/** Of a moment the scores, each less its row's largest, head by head and row by row, and at how many characters these look, and between which numbers random ones do; and on average how many heads lie between these: in a script of its own, read when needed. */
function load(moment, then) {
  if (kept.has(moment)) return;
  const read = () => {
    const [bytes, looks, stay] = window.explorableHeads[moment];
    kept.set(moment, {
      levels: Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0)),
      looks,
      stay,
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

/** Of each head, at how many characters it looks from one, and between which numbers random scores do nine times in ten. */
const measure = ({ looks }, place) =>
  looks[place - FIRST].map(([keys, low, high]) => {
    return { keys, low, high, stays: low <= keys && keys <= high };
  });

const LAST = places.length - 1;

export const heads = {
  title: "Does its spread tell how many characters a head looks at?",
  prompt:
    "Train: scores spread, and bars move left. Do dots stay inside? Press a line or a letter.",
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
    { name: "place", min: FIRST, max: LAST, step: 1, value: LAST, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["head", "", 27, { left: 2, right: 2 }],
    ["heads", "", 232, { left: 72, right: 12, top: 24, bottom: 8 }],
  ],
  update(app) {
    const { step, place, head } = app.state;
    load(step, app.redraw);
    const of = kept.get(step);
    if (!of) return { said: app.memory.said };
    const measured = measure(of, place);
    const { keys, low, high } = measured[head];
    const alike = [low, high].some((one) => show2(one) === show2(keys));
    const [looks, from, to] = [keys, low, high].map(alike ? show3 : show2);
    const told = `${names[head]} looks at ${looks} characters, random scores at ${from} to ${to}`;
    app.panels.head.heading.textContent = told;
    drawText(app, math.softmax(rowOf(of.levels, head, place)));
    drawHeads(app, measured, told);
    return { said: (app.memory.said = answer(step, measured, of.stay)) };
  },
};

/** How many heads look at as many characters as random scores do: from this one, on average over all that may look, and if their own were random. */
function answer(step, measured, stay) {
  const here = measured.filter(({ stays }) => stays).length;
  const first = step ? "Spread tells much, not all" : "Untrained, heads are much like random ones";
  return `${first}: ${here} of ${names.length} stay in their bars, ${show(stay, 1)} at the average letter, ${show(inside * names.length, 1)} if all were random.`;
}

const numbers = (count) => [...Array(count).keys()];
/** Which of so many numbers from 0 on is the least far. */
const least = (count, far) => numbers(count).reduce((best, i) => (far(i) < far(best) ? i : best));
const seen = (place) => shown[places[place]] ?? places[place];

const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5
const TICKS = [1, 2, 5, 10, 20, 50]; // characters
const OUTSIDE = "var(--ex-key)";
const BAR = "color-mix(in srgb, var(--ex-muted) 35%, var(--ex-ground))";
const LEGEND = [
  ["●", "a head,", "var(--ex-ink)"],
  ["●", "outside", OUTSIDE],
  ["▬", "9 in 10 rows of random scores of its spread", BAR],
];
const LAYERS = 4; // px, further apart than heads
const DOWN = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }; // the list's next head is below
const LINE = 25; // px, of a line of the passage
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, the stronger coloured the more weight goes there, and pale where the character that looks cannot; around that a frame, which readers move to another of those that are underlined. */
function drawText(app, weights) {
  const panel = app.panels.head;
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
  const cells = layer(panel.svg, "text").selectAll("g.character").data(places);
  const made = cells.enter().append("g").attr("class", "character");
  made
    .append("rect")
    .attr("class", "cell")
    .attr("height", LINE - 2);
  made.append("text").attr("y", 16).attr("text-anchor", "middle").style("font", "15px monospace");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${at[i]})`);
  const most = Math.max(...weights);
  const tint = (i) => `${colour("weights")} ${((TINT * weights[i]) / most).toFixed(1)}%`;
  const blind = (i) => i >= weights.length;
  const fill = (i) =>
    blind(i) ? "var(--ex-panel)" : `color-mix(in srgb, ${tint(i)}, var(--ex-ground))`;
  all
    .select("rect")
    .attr("width", width)
    .style("fill", (_, i) => fill(i));
  all
    .select("text")
    .attr("x", width / 2)
    .style("fill", (_, i) => `var(--ex-${blind(i) ? "muted" : "ink"})`)
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

/** A line for each head: among so many characters random scores share their weight nine times in ten, a bar, and the head its own, a dot, coloured outside its bar. */
function drawHeads(app, measured, told) {
  const panel = app.panels.heads;
  const { head } = app.state;
  const x = d3.scaleLog([1, places.length], panel.xRange);
  const y = d3.scaleBand(numbers(names.length), panel.yRange.reverse());
  const shift = (i) => LAYERS * (Math.floor(i / count) - (layers - 1) / 2); // layers stand apart
  const level = (i) => y(i) + y.bandwidth() / 2 + shift(i);
  const sign = ([mark, of, fill]) => [element("span", { style: `color:${fill}` }, mark), ` ${of} `];
  panel.heading.replaceChildren(...LEGEND.flatMap(sign));
  const notes = fresh(panel.svg, "notes");
  const [bottom, top] = panel.yRange;
  say(notes, "characters", 0, top - 8, "start").style("fill", "var(--ex-muted)");
  for (const keys of TICKS) {
    rule(notes, [x(keys), top - 4], [x(keys), bottom], "var(--ex-grid)");
    say(notes, keys, x(keys), top - 8, "middle").style("fill", "var(--ex-muted)");
  }
  const middle = (layer) => (level(layer * count) + level(layer * count + count - 1)) / 2;
  for (let i = 0; i < layers; i++) say(notes, `layer ${i + 1}`, 0, middle(i) + 4, "start");
  const lines = layer(panel.svg, "lines").selectAll("g.head").data(measured);
  const made = lines.enter().append("g").attr("class", "head glides");
  made.append("rect").attr("class", "cell").attr("rx", 3).style("fill", BAR);
  made.append("circle").attr("r", 4).style("stroke", "var(--ex-ground)");
  const all = made.merge(lines);
  all
    .select("rect")
    .attr("x", ({ low }) => x(low))
    .attr("width", ({ low, high }) => x(high) - x(low))
    .attr("y", (_, i) => level(i) - 4)
    .attr("height", 8);
  all
    .select("circle")
    .attr("cx", ({ keys }) => x(keys))
    .attr("cy", (_, i) => level(i))
    .style("fill", ({ stays }) => (stays ? "var(--ex-ink)" : OUTSIDE));

  const range = { min: 0, max: names.length - 1, step: 1 };
  const { made: frame, all: handle } = drawHandles(panel, [head], range, "query");
  frame.attr("aria-label", "the head").style("pointer-events", "none"); // a press is for the nearest line
  frame.selectAll("*").remove();
  frame.append("rect").attr("class", "ring").attr("rx", 3).style("stroke", colour("query"));
  handle
    .attr("transform", `translate(${x.range()[0] - 8},${y(head) + shift(head)})`)
    .attr("aria-valuenow", head)
    .attr("aria-valuetext", told)
    .select("rect")
    .attr("width", x.range()[1] - x.range()[0] + 16)
    .attr("height", y.bandwidth())
    .style("stroke-width", 2);
  const byKey = (event, from) => {
    const next = fromKey({ key: DOWN[event.key] ?? event.key }, from, range);
    return next === null ? null : { head: next };
  };
  const byDrag = (event) => ({ head: least(names.length, (i) => Math.abs(level(i) - event.y)) });
  listen(app, panel, handle, byKey, byDrag);
  panel.describe(
    "Among how many characters each head shares its weight, and random scores theirs.",
    "group",
  );
}
