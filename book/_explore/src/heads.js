/** Heads of a model in training: whom each looks at, and at how many characters, beside random scores of its spread. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, layer, rule, say, show, show2, show3, showCount } from "./shared.js";

const {
  text,
  moments,
  heads: count,
  layers,
  unit,
  first: FIRST,
  head: shownFirst,
  place: looksFirst,
  beyond,
  spreads,
  bands,
} = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from(
  { length: layers * count },
  (_, i) => `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
);

const kept = new Map();

/** Of a moment the scores, each less its row's largest, head by head and row by row, how far these spread, at how many characters they look, and between which numbers random ones do; and how many heads, on average over the characters, leave these, and did untrained: in a script of its own, read when needed. */
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

/** Of each head, from a character, the spread of its scores, at how many it looks, and between which numbers random scores do nine times in ten. */
const measure = ({ looks }, place) =>
  looks[place - FIRST].map(([spread, keys, low, high]) => {
    return { spread, keys, low, high, side: keys > high ? 1 : keys < low ? -1 : 0 };
  });

const LAST = places.length - 1;

export const heads = {
  title: "Does spread tell how many characters a head looks at?",
  prompt: "Rewind to step 0: how many heads had left the band? Press a dot or a character.",
  hint: { target: "input" },
  controls: [
    {
      name: "step",
      label: "training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
      marks: moments.map(showCount),
    },
    { name: "head", min: 0, max: names.length - 1, step: 1, value: shownFirst, drawn: true },
    { name: "place", min: FIRST, max: LAST, step: 1, value: looksFirst, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["head", "", 27, { left: 2, right: 2 }],
    [
      "heads",
      "dot: a head; grey: 9 in 10 rows of random scores",
      232,
      { left: 32, right: 10, top: 26, bottom: 42 },
    ],
  ],
  update(app) {
    const { step, place, head } = app.state;
    load(step, app.redraw);
    const of = kept.get(step);
    if (!of) return { said: app.memory.said };
    const measured = measure(of, place);
    const { spread, keys, low, high } = measured[head];
    const alike = [low, high].some((one) => show2(one) === show2(keys));
    const [looks, from, to] = [keys, low, high].map(alike ? show3 : show2);
    const told = `${names[head]}: spread ${show2(spread)}; looks at ${looks} characters, random scores: ${from} to ${to}`;
    app.panels.head.heading.textContent = told;
    drawText(app, math.softmax(rowOf(of.levels, head, place)));
    const pair = farthest(measured);
    drawHeads(app, measured, pair, told);
    return { said: (app.memory.said = answer(step, measured, pair, of.leave)) };
  },
};

const NEAR = 1.1; // times as large, at most, is nearly the same spread

/** Of two heads with nearly the same spread those that look at the most different numbers of characters, the wider one first. */
function farthest(measured) {
  const pairs = measured.flatMap((wide) => measured.map((narrow) => [wide, narrow]));
  const near = pairs.filter(([{ spread: a }, { spread: b }]) => Math.max(a / b, b / a) <= NEAR);
  const ratio = ([wide, narrow]) => wide.keys / narrow.keys;
  return near.reduce((best, pair) => (ratio(pair) > ratio(best) ? pair : best));
}

/** How differently two heads look that spread alike, and how many leave the band: from this character, and on average over all that may look. */
function answer(step, measured, pair, [leave, untrained]) {
  const looks = pair.map(({ keys }) => show2(keys)).join(" and ");
  const spread = Math.sqrt(pair[0].spread * pair[1].spread); // between theirs
  const outside = measured.filter(({ side }) => side).length;
  const before = step ? `untrained ${show(untrained, 1)}, ` : "";
  const all = `${show(leave, 1)} on average (${before}by chance ${show(2 * beyond * names.length, 1)})`;
  return `Only roughly: near spread ${show2(spread)} two look at ${looks}. Outside the band: ${outside} of ${names.length} here, ${all}.`;
}

const numbers = (count) => [...Array(count).keys()];
/** Which of so many numbers from 0 on is the least far. */
const least = (count, far) => numbers(count).reduce((best, i) => (far(i) < far(best) ? i : best));
const seen = (place) => shown[places[place]] ?? places[place];

const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5
const TICKS = [1, 2, 5, 10, 20, 50]; // characters
const SIDES = ["var(--ex-key)", "var(--ex-ink)", "var(--ex-value)"]; // below the band, in it, and above
const LINE = 25; // px, of a line of the passage
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, coloured by the root of the weight that goes there, so that small ones show, and pale where the character that looks cannot; around that a frame, which readers move to another of those that are underlined. */
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
  const tint = (i) => `${colour("weights")} ${(TINT * Math.sqrt(weights[i])).toFixed(1)}%`;
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

/** A dot for each head, by how far its scores spread and among how many characters it shares its weight; and a band, where random scores lie nine times in ten; a line joins those two that spread alike and look most differently. */
function drawHeads(app, measured, pair, named) {
  const panel = app.panels.heads;
  const { head, place } = app.state;
  const x = d3.scaleLog([spreads[0], spreads.at(-1)], panel.xRange);
  const y = d3.scaleLog([0.9, 1.15 * places.length], panel.yRange);
  const band = layer(panel.svg, "band").classed("glides", true);
  axes(panel, {
    x,
    y,
    xLabel: "spread of a head’s scores",
    yLabel: "characters that it looks at",
    xTicks: [0.2, 0.5, 1, 2, 5, 10],
    xFormat: String,
    yTicks: TICKS,
    yFormat: String,
  });
  const area = d3
    .area(
      (_, i) => x(spreads[i]),
      ([low]) => y(low),
      ([, high]) => y(high),
    )
    .curve(d3.curveMonotoneX);
  layer(band, "random", "path")
    .attr("d", area(bands[place - FIRST]))
    .style("fill", "color-mix(in srgb, var(--ex-muted) 25%, var(--ex-ground))");
  const notes = fresh(panel.svg, "notes");
  const aside = (text, ...at) => say(notes, text, ...at).style("font-weight", 700); // where no dots are
  aside("more even", x.range()[1], y(18), "end").style("fill", SIDES[2]);
  aside("sharper", x(0.6), y(2.5), "end").style("fill", SIDES[0]);
  const at = measured.map(({ spread, keys }) => [x(spread), y(keys)]);
  layer(panel.svg, "dots")
    .classed("glides", true)
    .selectAll("circle")
    .data(measured)
    .join("circle")
    .attr("r", 5)
    .attr("cx", (_, i) => at[i][0])
    .attr("cy", (_, i) => at[i][1])
    .style("fill", ({ side }) => SIDES[side + 1])
    .style("stroke", "var(--ex-ground)");
  const ends = pair.map((one) => at[measured.indexOf(one)]);
  layer(layer(panel.svg, "pair").classed("glides", true), "line", "path")
    .attr("d", `M${ends.join("L")}`)
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2);
  const told = fresh(panel.svg, "told");
  ends.forEach(([across, down], i) => {
    const [by, anchor] = across > x(8) || hidden(1) > hidden(-1) ? [-13, "end"] : [13, "start"];
    say(told, show2(pair[i].keys), across + by, down + 4, anchor).style("font-weight", 700);
    /** How many dots a number hides on this side. */
    function hidden(way) {
      const near = ([px, py]) =>
        way * (px - across) > 5 && way * (px - across) < 45 && Math.abs(py - down) < 12;
      return at.filter(near).length;
    }
  });

  const range = { min: 0, max: names.length - 1, step: 1 };
  const { made: frame, all: handle } = drawHandles(panel, [head], range, "query");
  frame.attr("aria-label", "the head").style("pointer-events", "none"); // a press is for the nearest dot
  frame.classed("glides", true).selectAll("*").remove();
  frame.append("circle").attr("class", "ring").attr("r", 9).style("stroke", colour("query"));
  handle
    .attr("aria-valuenow", head)
    .attr("aria-valuetext", named)
    .select("circle")
    .attr("cx", at[head][0])
    .attr("cy", at[head][1])
    .style("stroke-width", 2.5);
  const byKey = (event, from) => {
    const next = fromKey(event, from, range);
    return next === null ? null : { head: next };
  };
  const byDrag = (event) => ({
    head: least(names.length, (i) => Math.hypot(at[i][0] - event.x, at[i][1] - event.y)),
  });
  listen(app, panel, handle, byKey, byDrag);
  panel.describe(
    "Among how many characters each head shares its weight, by the spread of its scores.",
    "group",
  );
}
