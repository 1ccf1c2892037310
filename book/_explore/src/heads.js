/** Heads of a model in training: the scores of one row, and as many random scores that spread as far; and at how many characters each head looks. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, layer, say, show, show2, show3, showCount } from "./shared.js";

const { text, moments, layers, heads: perLayer, head: shownFirst, models, random } = data.heads;
const shown = { " ": "·", "\n": "⏎" };
const characters = [...text].map((one) => shown[one] ?? one);
const names = Array.from(
  { length: layers * perLayer },
  (_, i) => `layer ${Math.floor(i / perLayer) + 1}, head ${(i % perLayer) + 1}`,
);

const INKS = [colour("weights"), "var(--ex-muted)"]; // of the head's row, and of the random one
const TINTS = { 1: colour("value"), 0: "var(--ex-panel)", "-1": colour("key") };
const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5

export const heads = {
  title: "Is a head sharper or more even than random scores of the same spread?",
  prompt: "Each circle is a character, as large as its weight. Press a head, or switch to RoPE.",
  hint: { target: ".explorable-handle" },
  controls: [
    {
      name: "step",
      label: "training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
      marks: moments.map(showCount),
    },
    {
      name: "positions",
      label: "how the model knows places",
      options: { learned: "Learned places", rotary: "RoPE" },
      value: "learned",
      buttons: true,
    },
    { name: "head", min: 0, max: names.length - 1, step: 1, value: shownFirst, drawn: true },
  ],
  below: true,
  panelWidth: "100%",
  panels: [
    ["text", "", 0, { left: 2, right: 2 }],
    ["rows", "", 192, { left: 8, right: 8, top: 2, bottom: 38 }],
    ["heads", "", 166, { left: 50, right: 2, top: 16, bottom: 6 }],
  ],
  /** The other model's head whose spread is nearest to that of the one before. */
  also({ positions }, { state }) {
    if (positions === undefined || positions === state.positions) return {};
    const moment = moments.indexOf(state.step);
    const own = models[state.positions].spreads[moment][state.head];
    const far = models[positions].spreads[moment].map((other) => Math.abs(Math.log(other / own)));
    return { head: far.indexOf(Math.min(...far)) };
  },
  update(app) {
    const { step, head, positions } = app.state;
    const moment = moments.indexOf(step);
    const all = names.map((_, i) => measure(models[positions], moment, i));
    const one = all[head];
    drawText(app.panels.text, one.weights, names[head]);
    drawRows(app.panels.rows, one);
    drawHeads(app, all);
    return { said: answer(one) };
  },
};

/** Whether a panel has room for the passage on one line, and for long words. */
const wide = (panel) => panel.width > 560;

/** Of a model's head at a moment its scores in standard deviations from their mean, their spread, its weights, at how many characters it looks, and nine times in ten random scores, and on which side of these it is. */
function measure({ scores, spreads, chance }, moment, head) {
  const [row, spread] = [scores[moment][head], spreads[moment][head]];
  const [low, high] = chance[moment][head];
  const weights = math.softmax(row, 1 / spread);
  const keys = math.effectiveKeys(weights);
  return { row, spread, weights, keys, low, high, side: keys > high ? 1 : keys < low ? -1 : 0 };
}

/** Three numbers of characters, of a head and of the random rows around it, with as many digits as tell them apart. */
function told({ keys, low, high }) {
  const apart = (as) => ![as(low), as(high)].includes(as(keys));
  const digits = [show2, show3].find(apart) ?? ((x) => show(x, 3));
  return [keys, low, high].map(digits);
}

/** Whether a head is sharper or more even than random scores of its spread. */
function answer(one) {
  const verdict = { 1: "More even", 0: "Within chance", "-1": "Sharper" }[one.side];
  const [keys, low, high] = told(one);
  return `${verdict}: ${keys} characters; random rows mostly ${low} to ${high}.`;
}

/** The passage up to the character that looks, the stronger coloured the more weight goes there. */
function drawText(panel, weights, name) {
  const { svg, heading } = panel;
  heading.textContent = `${name} looks from the framed space`;
  const [left, right] = panel.xRange;
  const lines = wide(panel) ? [text] : text.split(/(?<=\n)/);
  const width = (right - left) / Math.max(...lines.map((line) => line.length));
  const height = 24;
  svg.attr("height", lines.length * (height + 2));
  const places = lines.flatMap((line, i) =>
    [...line].map((_, j) => [left + j * width, 1 + i * (height + 2)]),
  );
  const cells = layer(svg, "text").selectAll("g.character").data(characters);
  const made = cells.enter().append("g").attr("class", "character");
  made.append("rect").attr("class", "cell").attr("height", height);
  made
    .append("text")
    .attr("y", 17)
    .attr("text-anchor", "middle")
    .style("font", "15px monospace")
    .text((one) => one);
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${places[i]})`);
  const share = (i) => Math.round(TINT * Math.sqrt(weights[i])); // small ones show
  all
    .select("rect")
    .attr("width", width + 0.5)
    .style("fill", (_, i) => `color-mix(in srgb, ${INKS[0]} ${share(i)}%, var(--ex-ground))`);
  all.select("text").attr("x", width / 2);
  const [x, y] = places.at(-1);
  fresh(svg, "frame")
    .append("rect")
    .attr("x", x)
    .attr("y", y)
    .attr("width", width)
    .attr("height", height)
    .style("fill", "none")
    .style("stroke", colour("query"))
    .style("stroke-width", 2.5);
  panel.describe(heading.textContent);
}

const [LEAST, MOST] = [1.5, 21]; // px, the radius of a circle for next to no weight, and for all of it
const LANES = [102, 50]; // px, of the head's row, which may pile up, and of the random one

/** Heights at which circles at these places along a line, the large ones first, lie as near to it as they can and hide no other. */
function pile(places, radii) {
  const order = [...places.keys()].sort((i, j) => radii[j] - radii[i]);
  const heights = [];
  const lying = [];
  for (const i of order) {
    const near = lying
      .map((j) => [heights[j], radii[i] + radii[j], places[i] - places[j]])
      .filter(([, apart, across]) => apart > Math.abs(across));
    const touching = near.flatMap(([height, apart, across]) => {
      const up = Math.sqrt(apart ** 2 - across ** 2);
      return [height - up, height + up];
    });
    const free = (at) =>
      near.every(([height, apart, across]) => Math.hypot(at - height, across) > apart - 0.01);
    const levels = [0, ...touching].filter(free);
    heights[i] = levels.reduce((best, at) => (Math.abs(at) < Math.abs(best) ? at : best));
    lying.push(i);
  }
  return heights;
}

/** Two rows of scores on one axis, a circle for each, as large as its weight: the head's, and the random one. */
function drawRows(panel, { row, spread, weights, keys }) {
  panel.heading.remove();
  const x = d3.scaleLinear([-3.6, 4.2], panel.xRange);
  const [bottom, top] = panel.yRange;
  axes(panel, {
    x,
    y: d3.scaleLinear([0, 1], [bottom, top]),
    xLabel: `${wide(panel) ? "score, in " : ""}standard deviations from the mean (spread ${show2(spread)})`,
    xTicks: [-3, -2, -1, 0, 1, 2, 3],
    xFormat: (at) => show(at, 0),
    yTicks: 0,
  });
  const byChance = math.softmax(random, 1 / spread);
  const [looks, typical] = wide(panel) ? [" looks at", "a typical "] : [":", ""];
  const rows = [
    [`the head${looks} ${show2(keys)} characters`, row, weights],
    [`${typical}random row: ${show2(math.effectiveKeys(byChance))}`, random, byChance],
  ];
  const notes = fresh(panel.svg, "notes");
  rows.forEach(([name, places, weights], i) => {
    const head = top + (i ? LANES[0] : 0);
    const middle = head + LANES[i] / 2;
    const radii = weights.map((weight) => Math.max(LEAST, MOST * Math.sqrt(weight)));
    const heights = pile(places.map(x), radii);
    const circles = layer(panel.svg, `row-${i}`)
      .classed("glides", true)
      .selectAll("g.score")
      .data(places)
      .join((entered) => {
        const made = entered.append("g").attr("class", "score");
        made.append("circle").append("title");
        made.append("text").attr("text-anchor", "middle").attr("y", 4);
        return made;
      });
    circles.style("transform", (at, j) => `translate(${x(at)}px, ${middle + heights[j]}px)`);
    circles
      .select("circle")
      .attr("r", (_, j) => radii[j])
      .style("fill", `color-mix(in srgb, ${INKS[i]} ${TINT}%, var(--ex-ground))`)
      .style("stroke", INKS[i]);
    circles
      .select("title")
      .text((_, j) => `${i ? "" : `${characters[j]}: `}weight ${show(weights[j])}`);
    circles
      .select("text")
      .style("font", (_, j) => `${radii[j] > 7 ? 13 : 10}px monospace`)
      .text((_, j) => (i === 0 && radii[j] > 5.5 ? characters[j] : ""));
    say(notes, name, x.range()[0], head + 13, "start")
      .style("font-weight", 700)
      .style("fill", i ? "var(--ex-ink)" : INKS[0]);
  });
  panel.describe(rows.map(([name]) => name).join("; "));
}

const numbers = (count) => [...Array(count).keys()];

/** A cell for each head, a row for a layer: at how many characters it looks, a dot on a line from one to all, over a bar for nine in ten random rows; coloured outside of it. */
function drawHeads(app, all) {
  const panel = app.panels.heads;
  const { head } = app.state;
  const away = all.filter(({ side }) => side).length;
  const expected = show(0.1 * all.length, 1);
  panel.heading.textContent = wide(panel)
    ? `${away} of ${all.length} heads are outside the grey, which holds 9 in 10 random rows; by chance ${expected} would be`
    : `${away} outside 9 in 10 random rows; by chance ${expected}`;
  const x = d3.scaleBand(numbers(perLayer), panel.xRange).paddingInner(0.03);
  const y = d3.scaleBand(numbers(layers), panel.yRange.reverse()).paddingInner(0.08);
  const corner = (i) => [x(i % perLayer), y(Math.floor(i / perLayer))];
  const notes = fresh(panel.svg, "notes");
  for (const i of numbers(layers))
    say(notes, `layer ${i + 1}`, 0, y(i) + y.bandwidth() / 2 + 4, "start");
  for (const i of numbers(perLayer))
    say(notes, `head ${i + 1}`, x(i) + x.bandwidth() / 2, panel.margin.top - 4, "middle");
  const [even, sharp] = wide(panel) ? [", more even", ", sharper"] : [" ↑", " ↓"];
  const words = { 1: even, 0: "", "-1": sharp };
  const cells = layer(panel.svg, "cells").selectAll("g.head").data(all);
  const made = cells.enter().append("g").attr("class", "head");
  made.append("rect").attr("class", "cell").attr("rx", 3);
  const level = y.bandwidth() - 9; // px, of the line
  made.append("line").attr("y1", level).attr("y2", level).style("stroke", "var(--ex-muted)");
  const marks = made.append("g").attr("class", "glides");
  marks
    .append("rect")
    .attr("class", "chance")
    .attr("y", level - 4)
    .attr("height", 8)
    .style("fill", "color-mix(in srgb, var(--ex-muted) 55%, var(--ex-ground))");
  marks.append("circle").attr("cy", level).attr("r", 4).style("fill", "var(--ex-ink)");
  made.append("text").attr("text-anchor", "middle").attr("y", 14);
  const drawn = made.merge(cells).attr("transform", (_, i) => `translate(${corner(i)})`);
  drawn
    .select(".cell")
    .attr("width", x.bandwidth())
    .attr("height", y.bandwidth())
    .style("fill", ({ side }) => `color-mix(in srgb, ${TINTS[side]} ${TINT}%, var(--ex-panel))`);
  const along = d3.scaleLog([1, characters.length], [7, x.bandwidth() - 7]);
  drawn.select("line").attr("x1", along(1)).attr("x2", along(characters.length));
  drawn
    .select(".chance")
    .attr("x", ({ low }) => along(low))
    .attr("width", ({ low, high }) => along(high) - along(low));
  drawn.select("circle").attr("cx", ({ keys }) => along(keys));
  drawn
    .select("text")
    .attr("x", x.bandwidth() / 2)
    .style("font-weight", ({ side }) => (side ? 700 : null))
    .text(({ keys, side }) => `${show2(keys)}${words[side]}`);

  const range = { min: 0, max: names.length - 1 };
  const { made: frame, all: handle } = drawHandles(panel, [head], range, "query");
  frame.attr("aria-label", "the head").style("pointer-events", "none"); // a press is for the nearest cell
  frame.selectAll("*").remove();
  frame.append("rect").attr("class", "ring").attr("rx", 3).style("stroke", colour("query"));
  handle
    .attr("transform", `translate(${corner(head)})`)
    .attr("aria-valuenow", head)
    .attr("aria-valuetext", `${names[head]}: ${show2(all[head].keys)} characters`)
    .select("rect")
    .attr("width", x.bandwidth())
    .attr("height", y.bandwidth())
    .style("stroke-width", 2.5);
  const byKey = (event, from) => {
    const by = { ArrowUp: -perLayer, ArrowDown: perLayer, ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = by ? from + by : fromKey(event, from, { ...range, step: 1 });
    return next === null ? null : { head: next in names ? next : from };
  };
  const byDrag = (event) => {
    const far = (i) => {
      const [left, top] = corner(i);
      return Math.hypot(left + x.bandwidth() / 2 - event.x, top + y.bandwidth() / 2 - event.y);
    };
    return { head: numbers(names.length).reduce((best, i) => (far(i) < far(best) ? i : best)) };
  };
  listen(app, panel, handle, byKey, byDrag);
  panel.describe("At how many characters each head looks.", "group");
}
