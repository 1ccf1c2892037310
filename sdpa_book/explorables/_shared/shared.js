/** What the explorables share: numbers for reading, pieces of a page, axes and markers. */
import * as d3 from "./d3.js";
import { colour, looks } from "./data.js";

/** A number for reading: so many decimals, or a power of ten where they would show none of it; a true minus sign. */
export function show(x, digits = 2) {
  if (!Number.isFinite(x)) return "∞";
  const small = x !== 0 && Math.abs(x) < 0.5 * 10 ** -digits;
  if (small || Math.abs(x) >= 1e5) return scientific(x, 1);
  const text = x.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

/** A number times a power of ten. */
function scientific(x, digits) {
  const [mantissa, exponent] = x.toExponential(digits).split("e");
  return `${mantissa}·10${superscript(Number(exponent))}`.replace("-", "−");
}

/** Of so many significant digits those behind the point; 9.96 has two as 10. */
function decimals(x, count) {
  const rounded = Math.abs(Number(x.toPrecision(count)));
  return Math.max(0, count - 1 - Math.floor(Math.log10(rounded || 1)));
}

/** Three significant digits at any size. */
export const show3 = (x) =>
  x !== 0 && Math.abs(x) < 0.001 ? scientific(x, 2) : show(x, decimals(x, 3));

/** Two. */
export const show2 = (x) =>
  x !== 0 && Math.abs(x) < 0.001 ? scientific(x, 1) : show(x, decimals(x, 2));

/** Of an integer. */
export const superscript = (exponent) =>
  String(exponent).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));

/** Places from 0 to 1 for dots, filled evenly and blind to what was drawn: multiples of the golden ratio, less their whole part. */
export const spread = (i) => (i * 0.6180339887) % 1;

/** Counts with commas: 131,072. */
export const showCount = d3.format(",");

/** An element with attributes and children; text may hold <i>, <sub> and <sup> through `rich`. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Whether the reader wants no motion. */
export const wantsCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Whether the page is wider than a phone. */
export const ROOMY = matchMedia("(min-width: 600px)").matches;

/** How wide the head is, and by what its dot products are divided: in the same words and order wherever a page shares them. */
export const commonControls = [
  {
    name: "d_k",
    label: "width of the head, d_k",
    values: [4, 8, 16, 32, 64, 128, 256],
    value: 64,
    text: showCount,
  },
  {
    name: "divisor",
    label: "divisor",
    options: { none: "Undivided", sqrt_d_k: "÷ √d_k", d_k: "÷ d_k" },
    value: "none",
    buttons: true,
  },
];

/** Their names, for `shares`. */
export const COMMON = commonControls.map(({ name }) => name);

/** What dot products are divided by. */
export const dividedBy = (divisor, dK) => ({ none: 1, sqrt_d_k: Math.sqrt(dK), d_k: dK })[divisor];

/** What that is called beside a drawing. */
export const divisorName = (divisor) =>
  divisor === "none" ? looks.none.label : commonControls[1].options[divisor];

/** What the chosen divisor is compared with, in grey. */
export const comparedWith = (divisor) => (divisor === "none" ? "sqrt_d_k" : "none");

/** A row of buttons [label, what a press does] under a name for those who do not see it; the buttons. */
export function addButtons(parent, name, choices) {
  const buttons = choices.map(([label, press]) => {
    const button = element("button", { type: "button" }, rich(label));
    button.addEventListener("click", press);
    return button;
  });
  const row = {
    class: "explorable-buttons",
    role: "group",
    "aria-label": name,
  };
  parent.append(element("div", row, ...buttons));
  return buttons;
}

/** "d_k^p" as nodes with sub- and superscripts; braces hold what is longer than a word. */
export function rich(text) {
  const nodes = document.createDocumentFragment();
  for (const [, plain, mark, braced, word] of text.matchAll(
    /([^_^]+)|([_^])(?:\{([^}]*)\}|(\w+))/g,
  )) {
    nodes.append(plain ?? element(mark === "_" ? "sub" : "sup", {}, braced ?? word));
  }
  return nodes;
}

/** The same within an SVG text: the first "_" of a name lowers the rest of it. */
export function richText(text, content) {
  const [head, ...tail] = content.split("_");
  text.text(head);
  if (tail.length) text.append("tspan").attr("dy", 3).attr("font-size", "85%").text(tail.join(" "));
  return text;
}

/** The child <tag class=name> of a D3 selection, made if it is not there yet, so that drawing again keeps the focus. */
export function layer(parent, name, tag = "g") {
  const child = parent.select(`${tag}.${name}`);
  return child.empty() ? parent.append(tag).attr("class", name) : child;
}

/** As `layer`, and empty: for what no one can focus. */
export function fresh(parent, name) {
  const group = layer(parent, name);
  group.selectAll("*").remove();
  return group;
}

/** Axes with labels and a light grid. Options: x, y (scales), xLabel, yLabel, xTicks, yTicks (counts or values), formats. */
export function axes(panel, { x, y, xLabel, yLabel, xTicks = 5, yTicks = 5, xFormat, yFormat }) {
  const group = fresh(panel.svg, "axes");
  const draw = (axis, ticks, shape) =>
    (Array.isArray(ticks) ? axis.tickValues(ticks) : axis.ticks(ticks))
      .tickFormat(shape)
      .tickSizeOuter(0);
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  if (yTicks !== 0) {
    const drawn = group.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`);
    drawn.call(draw(d3.axisLeft(y), yTicks, yFormat).tickSize(4).tickPadding(4));
    drawn
      .selectAll(".tick")
      .append("line")
      .attr("class", "grid")
      .attr("x2", right - left);
  }
  const drawn = group.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`);
  drawn.call(draw(d3.axisBottom(x), xTicks, xFormat));
  if (xLabel)
    richAxisLabel(group, xLabel, (left + right) / 2, bottom + 34).attr("text-anchor", "middle");
  if (yLabel) richAxisLabel(group, yLabel, left - panel.margin.left + 2, top - 8);
  return group;
}

export function richAxisLabel(group, text, x, y) {
  return richText(group.append("text").attr("class", "axis-label").attr("x", x).attr("y", y), text);
}

/** Words within a drawing, with a rim where they stand on lines; `anchor` is start, middle or end. */
export const say = (parent, text, x, y, anchor) =>
  parent
    .append("text")
    .attr("class", "rim")
    .attr("x", x)
    .attr("y", y)
    .attr("text-anchor", anchor)
    .text(text);

/** A straight line from a place to another. */
export const rule = (parent, [x1, y1], [x2, y2], stroke) =>
  parent
    .append("line")
    .attr("x1", x1)
    .attr("y1", y1)
    .attr("x2", x2)
    .attr("y2", y2)
    .style("stroke", stroke);

/** A round point. */
export const point = (parent, x, y, r, fill) =>
  parent.append("circle").attr("cx", x).attr("cy", y).attr("r", r).style("fill", fill);

/** A rescaling's marker at (x, y). */
export function marker(parent, name, x, y) {
  const { marker, filled } = looks[name];
  return parent
    .append("path")
    .attr("d", marker)
    .attr("transform", `translate(${x},${y})`)
    .style("fill", filled ? colour(name) : "none")
    .style("stroke", colour(name))
    .style("stroke-width", filled ? 1 : 2.5);
}

/** A path as a bar from one place to another, with an end at each. */
export function bar(path, from, to, level) {
  const end = (at) => `M${at},${level - 4}v8`;
  return path
    .attr("class", "bar")
    .attr("d", `M${from},${level}H${to}${end(from)}${end(to)}`)
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5)
    .style("fill", "none");
}

/** An arrow along a line, its head at the end. */
export function arrow(parent, [x1, y1], [x2, y2], stroke, width) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length < 1) return;
  const head = Math.min(4 + 2 * width, 0.6 * length);
  const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [bx, by] = [x2 - head * ux, y2 - head * uy];
  parent
    .append("line")
    .attr("x1", x1)
    .attr("y1", y1)
    .attr("x2", bx)
    .attr("y2", by)
    .style("stroke", stroke)
    .style("stroke-width", width);
  const half = head * 0.45;
  const points = [
    [x2, y2],
    [bx - half * uy, by + half * ux],
    [bx + half * uy, by - half * ux],
  ];
  parent
    .append("path")
    .attr("d", `M${points.join("L")}Z`)
    .style("fill", stroke);
}

/** Heights for labels that would stand at `levels`: in the same order or that of these places, a gap apart, and between top and bottom. */
export function apart(levels, gap, top, bottom, given) {
  const order = given ?? levels.map((_, i) => i).sort((a, b) => levels[a] - levels[b]);
  const at = [...levels];
  let free = top;
  for (const i of order) {
    at[i] = Math.max(levels[i], free);
    free = at[i] + gap;
  }
  let floor = bottom;
  for (const i of order.reverse()) {
    at[i] = Math.min(at[i], floor);
    floor = at[i] - gap;
  }
  return at;
}
