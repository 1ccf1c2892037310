/** Heads of a trained model: the scores of one row, and as many random scores, stretched to one spread; and at how many characters each head looks. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, layer, say, show, show2 } from "./shared.js";

const {
  text,
  layers,
  heads: perLayer,
  head: shownFirst,
  scores,
  spreads,
  chance,
  random,
} = data.heads;
const shown = { " ": "·", "\n": "⏎" };
const characters = [...text].map((one) => shown[one] ?? one);
const names = Array.from(
  { length: layers * perLayer },
  (_, i) => `layer ${Math.floor(i / perLayer) + 1}, head ${(i % perLayer) + 1}`,
);

const INKS = [colour("weights"), "var(--ex-muted)"]; // of the head's row, and of the random one
const TINTS = { 1: colour("value"), 0: "var(--ex-panel)", "-1": colour("key") };
const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5
const FULL = 0.25; // the weight from which a character is coloured as strongly
const { least: LEAST_SPREAD, step: STEP, shown: SPREAD } = spreads; // at which random rows were looked at, and the first

export const heads = {
  title: "Same spread of scores, same sharpness?",
  prompt: "A circle is a score, sized by its weight. Press the orange head below; drag the slider.",
  hint: { target: "input" },
  controls: [
    {
      name: "spread",
      label: "set the standard deviation of every row",
      min: LEAST_SPREAD,
      max: LEAST_SPREAD + STEP * (chance.length - 1),
      step: STEP,
      value: SPREAD,
      text: (spread) => show(spread, 1),
    },
    { name: "head", min: 0, max: names.length - 1, step: 1, value: shownFirst, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["text", "", 0, { left: 2, right: 2 }],
    ["rows", "", 250, { left: 8, right: 8, top: 2, bottom: 38 }],
    ["heads", "", 0, { left: 2, right: 2 }],
  ],
  answerAfter: "rows",
  forget({ panels }) {
    for (const { svg } of [panels.text, panels.rows]) svg.selectAll(".lit").classed("lit", false);
  },
  update(app) {
    const { head, spread } = app.state;
    const all = scores.map((row) => measure(row, spread));
    drawText(app.panels.text, all[head].weights, names[head]);
    drawRows(app.panels.rows, all[head]);
    drawHeads(app, all);
    const held = spread !== SPREAD && measure(scores[head], SPREAD).side === all[head].side;
    return { said: answer(all[head], held) };
  },
};

/** Whether a panel has room for the passage on one line, and for long words. */
const wide = (panel) => panel.width > 560;

/** Of standardised scores, stretched to a spread, their weights, at how many characters they look, and between which numbers nine in ten random rows; and on which side of these it is, 0 if among them. */
function measure(row, spread) {
  const [low, high] = chance[Math.round((spread - LEAST_SPREAD) / STEP)];
  const weights = math.softmax(row, 1 / spread);
  const keys = math.effectiveKeys(weights);
  const side = keys > high ? 1 : keys < low ? -1 : 0;
  return { row: row.map((score) => spread * score), spread, weights, keys, low, high, side };
}

/** Between which numbers of characters nine in ten random rows look. */
const between = ({ low, high }) => `${show2(low)} to ${show2(high)}`;

/** Whether a head can be told apart from random scores of its spread, and why; `held` where it was at the first spread as it is here. */
function answer(one, held) {
  const still = held ? "still " : "";
  if (one.side > 0) return `No, ${still}more even than random rows: no score stands far out.`;
  if (one.side < 0) return `No, ${still}sharper than random rows: one score stands far out.`;
  return `Could be chance: random rows mostly look at ${between(one)} characters.`;
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
  const share = (i) => Math.round(TINT * Math.sqrt(Math.min(1, weights[i] / FULL)));
  all
    .select("rect")
    .attr("width", width + 0.5)
    .style("fill", (_, i) => `color-mix(in srgb, ${INKS[0]} ${share(i)}%, var(--ex-ground))`);
  all.select("text").attr("x", width / 2);
  linked(all);
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

/** A character under the pointer, or the last that a finger touched, stands out in the passage and in its row. */
function linked(marks) {
  const light = (node, j) => {
    const panels = node.closest(".explorable-panels");
    for (const one of ["character", "row-0 .score"])
      panels
        .querySelectorAll(`.${one}`)
        .forEach((mark, i) => mark.classList.toggle("lit", i === j));
  };
  marks
    .on("pointerenter", function () {
      light(this, marks.nodes().indexOf(this));
    })
    .on("pointerleave", function ({ pointerType }) {
      if (pointerType === "mouse") light(this, -1);
    });
}

const LEAST = 1.5; // px, the radius of a circle for next to no weight
const MOST = 0.14; // that for all of it, as a part of the height of both rows
const UPPER = 0.67; // the head's row, which may pile up, as such a part

/** Heights at which circles at these places along a line, the large ones first, lie as near to it as they can and hide no other. */
function pile(places, radii) {
  const order = [...places.keys()].sort((i, j) => radii[j] - radii[i]);
  const heights = [];
  const lying = [];
  for (const [rank, i] of order.entries()) {
    const side = rank % 2 ? 1 : -1; // each keeps to its own while they spread
    const near = lying
      .map((j) => [heights[j], radii[i] + radii[j], places[i] - places[j]])
      .filter(([, apart, across]) => apart > Math.abs(across));
    const touching = near.map(
      ([height, apart, across]) => height + side * Math.sqrt(apart ** 2 - across ** 2),
    );
    const free = (at) =>
      near.every(([height, apart, across]) => Math.hypot(at - height, across) > apart - 0.01);
    const levels = [0, ...touching].filter((at) => at * side >= 0 && free(at));
    heights[i] = levels.reduce((best, at) => (Math.abs(at) < Math.abs(best) ? at : best));
    lying.push(i);
  }
  return heights;
}

/** Two rows of scores on one axis, a circle for each, as large as its weight: the head's, and the random one. */
function drawRows(panel, head) {
  panel.heading.remove();
  const x = d3.scaleLinear([-10, 14.5], panel.xRange);
  const [bottom, top] = panel.yRange;
  const high = bottom - top;
  const largest = (wide(panel) ? MOST : 0.7 * MOST) * high;
  axes(panel, {
    x,
    y: d3.scaleLinear([0, 1], [bottom, top]),
    xLabel: `score${wide(panel) ? ", from the row’s mean" : ""}; one more is 2.7 times the weight`,
    xTicks: [-10, -5, 0, 5, 10],
    xFormat: (at) => show(at, 0),
    yTicks: 0,
  });
  const band = layer(panel.svg, "deviation").classed("glides", true);
  layer(band, "within", "rect")
    .attr("x", x(-head.spread))
    .attr("width", x(head.spread) - x(-head.spread))
    .attr("y", top)
    .attr("height", high)
    .style("fill", "color-mix(in srgb, var(--ex-focus) 12%, var(--ex-ground))");
  const other = measure(random, head.spread);
  const [one, typical, most] = wide(panel)
    ? ["the head: effectively", "a typical random row:", "nine in ten look at"]
    : ["head:", "random row:", "9 in 10:"];
  const rows = [
    [`${one} ${show2(head.keys)} characters`, head],
    [`${typical} ${show2(other.keys)} (${most} ${between(other)})`, other],
  ];
  const notes = fresh(panel.svg, "notes");
  say(notes, `±${show(head.spread, 1)}`, x(-head.spread) - 3, bottom - 5, "end").style(
    "fill",
    "var(--ex-focus)",
  );
  rows.forEach(([name, { row: places, weights }], i) => {
    const [from, to] = i ? [UPPER, 1] : [0, UPPER];
    const middle = top + ((from + to) / 2) * high;
    const radii = weights.map((weight) => Math.max(LEAST, largest * Math.sqrt(weight)));
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
    if (i === 0) linked(circles);
    circles
      .select("title")
      .text((_, j) => `${i ? "" : `${characters[j]}: `}weight ${show(weights[j])}`);
    circles
      .select("text")
      .style("font", (_, j) => `${radii[j] > 7 ? 13 : 10}px monospace`)
      .text((_, j) => (i === 0 && radii[j] > 4.6 ? characters[j] : ""));
    say(notes, name, x.range()[0], top + from * high + (i ? 3 : 13), "start")
      .style("font-weight", 700)
      .style("fill", i ? "var(--ex-ink)" : INKS[0]);
  });
  notes.raise(); // over a tall pile
  panel.describe(rows.map(([name]) => name).join("; "));
}

const numbers = (count) => [...Array(count).keys()];

/** All heads, layer by layer, a cell for each, of which readers choose one: at how many characters it looks, coloured where random scores rarely do. */
function drawHeads(app, all) {
  const panel = app.panels.heads;
  const [even, sharp] = [1, -1].map((way) => all.filter(({ side }) => side === way).length);
  const expected = show(0.1 * all.length, 1);
  panel.heading.textContent = `effective characters: ${even} heads more even (green), ${sharp} sharper (orange); by chance ${expected} of ${all.length}`;
  const across = wide(panel) ? layers : layers / 2;
  const of = d3.scaleBand(numbers(across), panel.xRange).paddingInner(0.04);
  const x = d3.scaleBand(numbers(perLayer), [0, of.bandwidth()]).paddingInner(0.06);
  const [top, high] = [20, 32]; // px, of a label and of a cell
  panel.svg.attr("height", (layers / across) * (top + high) + 4);
  const corner = (i) => {
    const group = Math.floor(i / perLayer);
    const place = of(group % across) + x(i % perLayer);
    return [place, Math.floor(group / across) * (top + high) + top];
  };
  const notes = fresh(panel.svg, "notes");
  for (const i of numbers(layers)) {
    const [from, top] = corner(i * perLayer);
    say(notes, `layer ${i + 1}`, from + 1, top - 7, "start");
  }
  const cells = layer(panel.svg, "cells").selectAll("g.one").data(all);
  const made = cells.enter().append("g").attr("class", "one");
  made.append("rect").attr("class", "cell").attr("rx", 3);
  made.append("text").attr("text-anchor", "middle").style("font-size", "12px");
  const drawn = made.merge(cells).attr("transform", (_, i) => `translate(${corner(i)})`);
  drawn
    .select("rect")
    .attr("width", x.bandwidth())
    .attr("height", high)
    .style("fill", ({ side }) => `color-mix(in srgb, ${TINTS[side]} ${TINT}%, var(--ex-panel))`);
  const ways = { 1: "↑", 0: "", "-1": "↓" };
  drawn
    .select("text")
    .attr("x", x.bandwidth() / 2)
    .attr("y", high / 2 + 5)
    .style("font-weight", ({ side }) => (side ? 700 : null))
    .text(({ keys, side }) => `${show2(keys)}${ways[side]}`);

  const range = { min: 0, max: all.length - 1, step: 1 };
  const { head } = app.state;
  const { made: frame, all: handle } = drawHandles(panel, [head], range, "query");
  frame.attr("aria-label", "the head").style("pointer-events", "none"); // a press is for the nearest cell
  frame.selectAll("*").remove();
  frame.append("rect").attr("class", "ring").attr("rx", 3);
  handle
    .attr("transform", `translate(${corner(head)})`)
    .attr("aria-valuenow", head)
    .attr("aria-valuetext", `${names[head]}: ${show2(all[head].keys)} characters`)
    .select("rect") // around the cell, not on its letters
    .attr("x", -1.5)
    .attr("y", -1.5)
    .attr("width", x.bandwidth() + 3)
    .attr("height", high + 3);
  const byKey = (event, from) => {
    const next = fromKey(event, from, range);
    return next === null ? null : { head: Math.min(Math.max(next, 0), range.max) };
  };
  const byDrag = (event) => {
    const far = (i) => {
      const [from, top] = corner(i);
      return Math.hypot(from + x.bandwidth() / 2 - event.x, top + high / 2 - event.y);
    };
    return { head: numbers(all.length).reduce((best, i) => (far(i) < far(best) ? i : best)) };
  };
  listen(app, panel, handle, byKey, byDrag);
  panel.describe("At how many characters each head looks.", "group");
}
