/** Divide by a power of d_k: which line is flat, the start's, gradient descent's or Adam's? */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { powerControl } from "./scores.js";
import { apart, axes, fresh, rich, rule, say, show, show3, showCount } from "./shared.js";

const { power: steps } = data;
const names = Object.keys(steps.lines);
const [least, most] = [steps.d_k[0], steps.d_k.at(-1)];

/** How a line and its points are drawn. */
const looks = {
  start: { stroke: "var(--ex-ink)", dashes: "0.1 8", outline: "M-3.2,-3.2H3.2V3.2H-3.2Z" },
  SGD: {
    stroke: colour("SGD"),
    dashes: "none",
    outline: "M-6.5,0A6.5,6.5,0,1,1,6.5,0A6.5,6.5,0,1,1,-6.5,0Z",
  },
  Adam: { stroke: colour("Adam"), dashes: "9 7", outline: "M0,-5.5L5,4H-5Z" },
};

/** In this order one that has gaps or is small lies above the others. */
const layers = ["SGD", "Adam", "start"];

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = steps.lines[name].exponents;
  return undivided + p * (divided - undivided);
};

/** How many times as large it is at the most components as at the least. */
const change = (name, p) => (most / least) ** exponent(name, p);

const isFlat = (name, p) => Math.abs(exponent(name, p)) < 1e-9;

export const power = {
  title: "Divide by d_k^p: which line is flat?",
  controls: [powerControl],
  readouts: [],
  panelWidth: "100%",
  panels: [
    [
      "lines",
      `how many times as large as at ${least} components; points: measured`,
      240,
      { left: 40, right: 118, top: 14 },
    ],
    [
      "visited",
      `the lines’ right ends against p, where you have been`,
      132,
      { left: 40, right: 36, top: 10 },
    ],
  ],
  forget({ memory }) {
    delete memory.visited;
  },
  update({ state: { p }, panels, memory, formula }) {
    const visited = (memory.visited ??= new Set()).add(p);
    drawLines(panels.lines, p);
    drawVisited(panels.visited, p, visited);
    const sentence = found(visited);
    formula.replaceChildren(rich(sentence));
    return {
      values: {},
      spoken: `Divided by d_k to the power ${plain(p)}, from ${least} to ${most} components: ${names.map((name) => `${steps.lines[name].label} ${show3(change(name, p))} times`).join(", ")}. ${sentence}`,
    };
  },
};

/** What is flat where the reader has been, and what is left to find. */
function found(visited) {
  const kept = (name) => steps.lines[name].kept;
  const flatAt = names.map((name) => [...visited].find((p) => isFlat(name, p)));
  const left = names.filter((_, i) => flatAt[i] === undefined).map(kept);
  if (left.length === names.length)
    return "Which p keeps the start as large as it was, which gradient descent’s step, and which Adam’s? Is there one for all three?";
  const places = [...new Set(flatAt)].filter((p) => p !== undefined).sort();
  const flat = places.map((p) => {
    const these = names.filter((_, i) => flatAt[i] === p).map(kept);
    return `${these.join(" and ")} at p = ${plain(p)}`;
  });
  const rest = left.length ? `Is ${left.join(" or ")} flat anywhere?` : "No p keeps all three.";
  return `Flat: ${flat.join(", ")}. ${rest}`;
}

/** A power without needless zeros. */
const plain = (x) => show(x).replace(/\.?0+$/, "");

/** Three digits, without zeros behind the point at the end. */
const brief = (x) =>
  show3(x)
    .replace(/(\.\d*?)0+$/, "$1")
    .replace(/\.$/, "");

/** A measured point, or where one has been: in the form and colour of its line. */
const mark = (group, name, x, y) =>
  group
    .append("path")
    .attr("data-line", name)
    .attr("d", looks[name].outline)
    .attr("transform", `translate(${x},${y})`)
    .style("stroke", looks[name].stroke)
    .style("stroke-width", 1.8);

/** Of a line's ends, and a little more for the measured ones. */
const reach = [least / most / 1.5, (1.5 * most) / least];

function drawLines(panel, p) {
  const x = d3.scaleLog([least / 1.25, most], panel.xRange);
  const y = d3.scaleLog(reach, panel.yRange);
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  axes(panel, {
    x,
    y,
    xLabel: "d_k",
    xTicks: panel.width < 420 ? [16, 256, 4096] : [16, 64, 256, 1024, 4096],
    yTicks: [0.01, 0.1, 1, 10, 100],
    xFormat: showCount,
    yFormat: d3.format("~r"),
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  rule(under, [left, y(1)], [right, y(1)], "var(--ex-muted)");
  const levels = names.map((name) => y(change(name, p)));
  const heights = apart(levels, 32, top, bottom - 16);
  for (const name of layers) {
    const { stroke, dashes } = looks[name];
    const place = names.indexOf(name);
    group
      .append("path")
      .attr("class", "curve")
      .attr("data-line", name)
      .attr("d", `M${x(least)},${y(1)}L${right},${levels[place]}`)
      .style("stroke", stroke)
      .style("stroke-width", isFlat(name, p) ? 4.5 : 3)
      .style("stroke-linecap", name === "start" ? "round" : "butt")
      .style("stroke-dasharray", dashes);
    steps.lines[name].measured[p].forEach((value, i) =>
      mark(group, name, x(steps.measured_at[i]), y(value))
        .attr("class", "measured")
        .style("fill", "var(--ex-ground)"),
    );
    under
      .append("path")
      .attr("d", `M${right},${levels[place]}L${right + 8},${heights[place]}`)
      .style("fill", "none")
      .style("stroke", "var(--ex-muted)");
    group
      .append("text")
      .attr("class", "rim")
      .attr("x", right + 11)
      .attr("y", heights[place] + 4)
      .style("fill", stroke)
      .selectAll("tspan")
      .data([steps.lines[name].short, `×${brief(change(name, p))}`])
      .enter()
      .append("tspan")
      .attr("x", right + 11)
      .attr("dy", (_, i) => 15 * i)
      .style("font-weight", (_, i) => (i && isFlat(name, p) ? 700 : 400))
      .text(String);
  }
  panel.describe(
    `From ${least} to ${most} components, both axes logarithmic: ${names.map((name) => `${steps.lines[name].label} goes to ${show3(change(name, p))} times`).join(", ")}.`,
  );
}

/** The right ends of the lines at every p where the reader has been: a line is flat where its marks cross the level of 1. */
function drawVisited(panel, now, visited) {
  const x = d3.scaleLinear([-0.03, 1], panel.xRange);
  const y = d3.scaleLog(reach, panel.yRange);
  const [left, right] = x.range();
  axes(panel, {
    x,
    y,
    xLabel: "p",
    xTicks: [0, 0.25, 0.5, 0.75, 1],
    yTicks: [0.01, 1, 100],
    xFormat: plain,
    yFormat: d3.format("~r"),
  });
  const group = fresh(panel.svg, "visited");
  rule(group, [left, y(1)], [right, y(1)], "var(--ex-muted)");
  say(group, "flat", right + 10, y(1) + 4, "start");
  rule(group, [x(now), y.range()[0]], [x(now), y.range()[1]], "var(--ex-muted)").style(
    "stroke-dasharray",
    "4 3",
  );
  for (const name of layers)
    for (const p of visited)
      mark(group, name, x(p), y(change(name, p)))
        .attr("class", "been")
        .style("fill", p === now ? looks[name].stroke : "none");
  panel.describe(
    `At the ${visited.size} powers where you have been, how many times as large each is at ${most} components as at ${least}; the level of 1 is where a line is flat.`,
  );
}
