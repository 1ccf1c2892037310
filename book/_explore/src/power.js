/** Divide by a power of d_k: which line is flat, the start's, gradient descent's or Adam's? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { drawCursor } from "./handles.js";
import { powerControl } from "./scores.js";
import { apart, axes, fresh, rich, rule, say, show, show2, showCount } from "./shared.js";

const { power: steps } = data;
const names = Object.keys(steps.lines);
const sizes = `size over that at ${steps.d_k[0]} components`;
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

/** The slider, and the handle below, stand at these powers. */
const pControl = {
  ...powerControl,
  spoken: "p, where the line stands",
  values: Array.from({ length: 21 }, (_, i) => i / 20),
};

/** Where W_Q starts at 0, all scores do, and there is no start to keep. */
const drawn = (state) => layers.filter((name) => name !== "start" || state.query === "random");

export const power = {
  title: "Divide by d_k^p: which line is flat?",
  controls: [
    pControl,
    {
      name: "query",
      label: "W_Q starts at 0",
      options: { random: "at random", zero: "at 0" },
      check: true,
      value: "random",
    },
  ],
  readouts: [],
  panelWidth: "100%",
  panels: [
    ["lines", sizes, 222, { left: 44, right: 92, top: 14 }],
    [
      "visited",
      `the lines’ right ends, where you have been`,
      200,
      { left: 44, right: 36, top: 34, bottom: 36 },
    ],
  ],
  forget({ memory }) {
    delete memory.visited;
  },
  update(app) {
    const { state, panels, memory, formula } = app;
    const { p, query } = state;
    const visited = (memory.visited ??= new Set()).add(p);
    panels.lines.heading.textContent = `${sizes}; ${query === "random" ? "points: measured" : "lines: the theorem"}`;
    drawLines(panels.lines, state);
    drawVisited(app, panels.visited, visited);
    const sentence = found(visited, query === "zero");
    formula.replaceChildren(rich(sentence));
    return {
      values: {},
      spoken: `Divided by d_k to the power ${plain(p)}, from ${least} to ${most} components: ${told(state)}. ${sentence}`,
    };
  },
};

/** How each line goes, in words. */
const told = (state) =>
  names
    .filter((name) => drawn(state).includes(name))
    .map((name) => `${steps.lines[name].label} ${times(change(name, state.p))}`)
    .join(", ");

/** From the least p to the largest where the reader has been: what lies between was passed over, and is drawn. */
const reached = (visited) => [Math.min(...visited), Math.max(...visited)];

/** What is flat where the reader has been, and what is left to find. */
function found(visited, zero) {
  const kept = (name) => steps.lines[name].kept;
  const here = zero ? names.filter((name) => name !== "start") : names;
  const ends = reached(visited);
  const passed = pControl.values.filter((p) => ends[0] <= p && p <= ends[1]);
  const flatAt = here.map((name) => passed.find((p) => isFlat(name, p)));
  const left = here.filter((_, i) => flatAt[i] === undefined).map(kept);
  const start = zero ? "All scores start at 0. " : "";
  if (left.length === here.length)
    return zero
      ? `${start}Which p keeps gradient descent’s step, and which Adam’s?`
      : "Which p keeps the start as large as it was, which gradient descent’s step, and which Adam’s? Is there one for all three?";
  const places = [...new Set(flatAt)].filter((p) => p !== undefined).sort();
  const flat = places.map((p) => {
    const these = here.filter((_, i) => flatAt[i] === p).map(kept);
    return `${these.join(" and ")} at p = ${plain(p)}`;
  });
  const all = zero ? "With either, one p keeps all there is to keep." : "No p keeps all three.";
  const rest = left.length ? `Is ${left.join(" or ")} flat anywhere?` : all;
  return `${start}Flat: ${flat.join(", ")}. ${rest}`;
}

/** A power without needless zeros. */
const plain = (x) => show(x).replace(/\.?0+$/, "");

/** How many times as large, in two digits; below 1 as a part. */
function times(x) {
  const brief = (y) => show2(y).replace(/\.0$/, "");
  return x > 0.95 ? `×${brief(x)}` : `×1/${brief(1 / x)}`;
}

/** Of an axis. */
const decade = (x) => (x < 1 ? `1/${Math.round(1 / x)}` : String(x));

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

function drawLines(panel, state) {
  const { p, query } = state;
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
    yFormat: decade,
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  rule(under, [left, y(1)], [right, y(1)], "var(--ex-muted)");
  const here = drawn(state);
  const levels = here.map((name) => y(change(name, p)));
  const heights = apart(levels, 50, top, bottom - 31);
  here.forEach((name, place) => {
    const { stroke, dashes } = looks[name];
    group
      .append("path")
      .attr("class", "curve")
      .attr("data-line", name)
      .attr("d", `M${x(least)},${y(1)}L${right},${levels[place]}`)
      .style("stroke", stroke)
      .style("stroke-width", isFlat(name, p) ? 4.5 : 3)
      .style("stroke-linecap", name === "start" ? "round" : "butt")
      .style("stroke-dasharray", dashes);
    // Measured from matrices that started at random.
    const points = query === "random" ? steps.lines[name].measured[p] : [];
    points.forEach((value, i) =>
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
      .style("fill", name === "start" ? stroke : lettersColour(name))
      .selectAll("tspan")
      .data([...steps.lines[name].short.split("\n"), times(change(name, p))])
      .enter()
      .append("tspan")
      .attr("x", right + 11)
      .attr("dy", (_, i) => (i ? 15 : 0))
      .style("font-weight", (_, i) => (i === 2 && isFlat(name, p) ? 700 : 400))
      .text(String);
  });
  panel.describe(
    `From ${least} to ${most} components, both axes logarithmic, so many times as large: ${told(state)}.`,
  );
}

/** The right ends of the lines, from the least p where the reader has been to the largest: a line is flat where its end crosses the level of 1. */
function drawVisited(app, panel, visited) {
  const { state } = app;
  const x = d3.scaleLinear([-0.03, 1.03], panel.xRange);
  const y = d3.scaleLog([reach[0], 2 * reach[1]], panel.yRange); // clear of the handle
  const [left, right] = x.range();
  axes(panel, {
    x,
    y,
    xLabel: "p",
    xTicks: [0, 0.25, 0.5, 0.75, 1],
    yTicks: [0.01, 0.1, 1, 10, 100],
    xFormat: plain,
    yFormat: decade,
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "visited");
  rule(under, [left, y(1)], [right, y(1)], "var(--ex-muted)");
  say(under, "flat", right + 8, y(1) + 4, "start");
  const ends = reached(visited); // the line between them is straight
  for (const name of drawn(state)) {
    const { stroke, dashes } = looks[name];
    group
      .append("path")
      .attr("class", "been")
      .attr("data-line", name)
      .attr("d", `M${ends.map((p) => [x(p), y(change(name, p))]).join("L")}`)
      .style("stroke", stroke)
      .style("stroke-width", 2.5)
      .style("stroke-linecap", name === "start" ? "round" : "butt")
      .style("stroke-dasharray", dashes);
  }
  for (const name of drawn(state))
    mark(group, name, x(state.p), y(change(name, state.p))).style("fill", looks[name].stroke);
  drawCursor(app, panel, under, pControl, x);
  panel.describe(
    `From p = ${plain(ends[0])} to ${plain(ends[1])}, where you have been, how many times as large each is at ${most} components as at ${least}; the level of 1 is where a line is flat.`,
    "group",
  );
}
