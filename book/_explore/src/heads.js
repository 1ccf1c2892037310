/** Heads of a model in training: the scores of one row, and as many random scores that spread as far; and at how many characters each head looks. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, layer, rule, say, show, show2, showCount } from "./shared.js";

const {
  text,
  moments,
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

export const heads = {
  title: "Same spread of scores, same sharpness?",
  hint: { target: ".explorable-handle" },
  controls: [
    { name: "step", values: moments, value: moments.at(-1), drawn: true },
    { name: "head", min: 0, max: names.length - 1, step: 1, value: shownFirst, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["text", "", 0, { left: 2, right: 2 }],
    ["rows", "", 192, { left: 8, right: 8, top: 2, bottom: 38 }],
    ["looks", "", 46, { left: 10, right: 12 }],
    ["heads", "", 0, { left: 2, right: 2 }],
    ["steps", "the same head after so many steps of training", 0, { left: 2, right: 2 }],
  ],
  answerAfter: "looks",
  update(app) {
    const { step, head } = app.state;
    const moment = moments.indexOf(step);
    const all = names.map((_, i) => measure(moment, i));
    const course = moments.map((_, i) => measure(i, head));
    const one = all[head];
    drawText(app.panels.text, one.weights, names[head]);
    drawRows(app.panels.rows, one);
    drawLooks(app.panels.looks, one);
    drawHeads(app, all);
    drawSteps(app, course);
    const begins = head === shownFirst && step === moments.at(-1);
    const task = begins ? "Press an orange cell." : "Try other heads, and earlier steps.";
    return {
      said: answer(one),
      prompt: `Each circle is a character, as large as its weight. ${task}`,
    };
  },
};

/** Whether a panel has room for the passage on one line, and for long words. */
const wide = (panel) => panel.width > 560;

/** How numbers beside so many characters are written: with two digits, and near 1 with three. */
const digits = (keys) => (keys < 1.1 ? (x) => show(x) : show2);
const looks = (keys) => digits(keys)(keys);

/** Of a head at a moment its scores in standard deviations from their mean, their spread, its weights, at how many characters it looks, and between which numbers nine in ten random rows; and on which side of these it is: 0 if among them, or at the edge as far as digits tell. */
function measure(moment, head) {
  const [row, spread] = [scores[moment][head], spreads[moment][head]];
  const [low, high] = chance[moment][head];
  const weights = math.softmax(row, 1 / spread);
  const keys = math.effectiveKeys(weights);
  const edge = [low, high].map(digits(keys)).includes(looks(keys));
  const side = edge || (keys > low && keys < high) ? 0 : Math.sign(keys - low);
  return { row, spread, weights, keys, low, high, side };
}

/** Whether a head can be told apart from random scores of its spread. */
function answer({ keys, low, high, side }) {
  const verdict = { 1: "No, more even", 0: "Not told from chance", "-1": "No, sharper" }[side];
  const [from, to] = [low, high].map(digits(keys));
  return `${verdict}: ${looks(keys)} characters; random rows mostly ${from} to ${to}.`;
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
  const most = Math.max(...weights);
  const share = (i) => Math.round(TINT * Math.sqrt(weights[i] / most)); // small ones show
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
const MOST = 0.138; // that for all of it, as a part of the height of both rows
const UPPER = 0.67; // the head's row, which may pile up, as such a part

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
  const high = bottom - top;
  const factor = show2(Math.exp(spread));
  axes(panel, {
    x,
    y: d3.scaleLinear([0, 1], [bottom, top]),
    xLabel: wide(panel)
      ? `score, in standard deviations from the row’s mean; one more is ${factor} times the weight`
      : `in standard deviations, here ${show2(spread)}, from the mean`,
    xTicks: [-3, -2, -1, 0, 1, 2, 3],
    xFormat: (at) => show(at, 0),
    yTicks: 0,
  });
  const byChance = math.softmax(random, 1 / spread);
  const many = looks(math.effectiveKeys(byChance));
  const of = `spread ${show2(spread)}`;
  const rows = wide(panel)
    ? [
        [`the head, ${of}, looks at ${looks(keys)} characters`, row, weights],
        [`a typical random row, ${of}: ${many}`, random, byChance],
      ]
    : [
        [`head: ${looks(keys)} characters`, row, weights],
        [`random: ${many} characters`, random, byChance],
      ];
  const notes = fresh(panel.svg, "notes");
  rows.forEach(([name, places, weights], i) => {
    const [from, to] = i ? [UPPER, 1] : [0, UPPER];
    const head = top + from * high;
    const middle = top + ((from + to) / 2) * high;
    const radii = weights.map((weight) => Math.max(LEAST, MOST * high * Math.sqrt(weight)));
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
      .text((_, j) => (i === 0 && radii[j] > 5.5 ? characters[j] : ""));
    say(notes, name, x.range()[0], head + (i ? 3 : 13), "start")
      .style("font-weight", 700)
      .style("fill", i ? "var(--ex-ink)" : INKS[0]);
  });
  panel.describe(rows.map(([name]) => name).join("; "));
}

/** At how many characters the head looks, a dot on a line from one to all, over a bar for nine in ten random rows. */
function drawLooks(panel, one) {
  const { svg } = panel;
  panel.heading.textContent = wide(panel)
    ? "characters that it looks at (effective keys); grey: 9 in 10 random rows of this spread"
    : "looked at (effective keys); grey: 9 in 10 random";
  const last = characters.length;
  const x = d3.scaleLog([1, last], panel.xRange);
  const level = 22; // px
  const notes = fresh(svg, "notes");
  rule(notes, [x(1), level], [x(last), level], "var(--ex-muted)");
  for (const tick of [1, 2, 5, 10, 20, last]) say(notes, tick, x(tick), level + 21, "middle");
  const marks = layer(svg, "marks").classed("glides", true);
  layer(marks, "chance", "rect")
    .attr("x", x(one.low))
    .attr("width", x(one.high) - x(one.low))
    .attr("y", level - 7)
    .attr("height", 14)
    .style("fill", "color-mix(in srgb, var(--ex-muted) 40%, var(--ex-ground))");
  layer(marks, "own", "circle")
    .attr("cx", x(one.keys))
    .attr("cy", level)
    .attr("r", 6)
    .style("fill", INKS[0])
    .style("stroke", "var(--ex-ground)");
  say(fresh(svg, "words"), looks(one.keys), x(one.keys), level - 10, "middle")
    .style("font-weight", 700)
    .style("fill", INKS[0]);
  panel.describe(`${looks(one.keys)} characters of ${last}, and where nine in ten random rows are`);
}

const numbers = (count) => [...Array(count).keys()];

/** All heads at this moment, layer by layer. */
function drawHeads(app, all) {
  const panel = app.panels.heads;
  const away = all.filter(({ side }) => side).length;
  const expected = show(0.1 * all.length, 1);
  panel.heading.textContent = wide(panel)
    ? `${away} of ${all.length} heads more even (green) or sharper (orange) than 19 in 20 random rows; by chance ${expected}`
    : `more even ↑ or sharper ↓: ${away}; by chance ${expected}`;
  drawCells(app, panel, all, app.state.head, {
    lines: wide(panel) ? 1 : 2,
    labels: numbers(layers).map((i) => `layer ${i + 1}`),
    spoken: "the head",
    names,
    choose: (head) => ({ head }),
  });
}

/** This head at all moments. */
function drawSteps(app, course) {
  drawCells(app, app.panels.steps, course, moments.indexOf(app.state.step), {
    lines: 1,
    labels: moments.map(showCount),
    spoken: "training steps",
    names: moments.map((step) => `${showCount(step)} steps`),
    choose: (i) => ({ step: moments[i] }),
  });
}

/** A cell for each of some rows, of which readers choose one: at how many characters it looks, coloured where random scores rarely do; in lines, and in groups with a label each. */
function drawCells(app, panel, all, chosen, { lines, labels, spoken, names, choose }) {
  const [across, size] = [labels.length / lines, all.length / labels.length];
  const of = d3.scaleBand(numbers(across), panel.xRange).paddingInner(0.04);
  const x = d3.scaleBand(numbers(size), [0, of.bandwidth()]).paddingInner(size > 1 ? 0.06 : 0);
  const [top, high] = [16, 32]; // px, of a label and of a cell
  panel.svg.attr("height", lines * (top + high) + 4);
  const corner = (i) => {
    const group = Math.floor(i / size);
    const place = of(group % across) + x(i % size);
    return [place, Math.floor(group / across) * (top + high) + top];
  };
  const notes = fresh(panel.svg, "notes");
  labels.forEach((label, i) => {
    const [from, top] = corner(i * size);
    say(notes, label, from + 1, top - 4, "start");
  });
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
    .text(({ keys, side }) => `${looks(keys)}${ways[side]}`);

  const range = { min: 0, max: all.length - 1, step: 1 };
  const { made: frame, all: handle } = drawHandles(panel, [chosen], range, "query");
  frame.attr("aria-label", spoken).style("pointer-events", "none"); // a press is for the nearest cell
  frame.selectAll("*").remove();
  frame.append("rect").attr("class", "ring").attr("rx", 3).style("stroke", colour("query"));
  handle
    .attr("transform", `translate(${corner(chosen)})`)
    .attr("aria-valuenow", chosen)
    .attr("aria-valuetext", `${names[chosen]}: ${looks(all[chosen].keys)} characters`)
    .select("rect") // around the cell, not on its letters
    .attr("x", -1.5)
    .attr("y", -1.5)
    .attr("width", x.bandwidth() + 3)
    .attr("height", high + 3)
    .style("stroke-width", 2.5);
  const byKey = (event, from) => {
    const next = fromKey(event, from, range);
    return next === null ? null : choose(Math.min(Math.max(next, 0), range.max));
  };
  const byDrag = (event) => {
    const far = (i) => {
      const [from, top] = corner(i);
      return Math.hypot(from + x.bandwidth() / 2 - event.x, top + high / 2 - event.y);
    };
    return choose(numbers(all.length).reduce((best, i) => (far(i) < far(best) ? i : best)));
  };
  listen(app, panel, handle, byKey, byDrag);
  panel.describe(`At how many characters it looks, by ${spoken}.`, "group");
}
