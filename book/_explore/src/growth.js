/** Dot products grow: the sums of some pairs, a term at a time, and how far apart they end. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { makeGenerator, sampleNormal } from "./math.js";
import { addButtons, axes, bar, fresh, layer, say, show2, wantsCalm } from "./shared.js";

const DIMS = [4, 16, 64, 256];
const MOST = DIMS.at(-1);
const PAIRS = 40;
const REACH = 48; // of the axis: three standard deviations of the longest sums
const BIN = 2.5; // ends so close stand in one row
const TYPICAL = 17; // the draw to begin with: within 8 % of what is expected at every stop

/** For every pair of a draw its sums q_1 k_1 + ... + q_i k_i, from none of the terms to all. */
function walks({ draw }, memory) {
  if (memory.drawn !== draw) {
    memory.drawn = draw;
    memory.walks = Array.from({ length: PAIRS }, (_, pair) => {
      const uniform = makeGenerator(PAIRS * draw + pair);
      const [query, key] = [0, 1].map(() => sampleNormal(MOST, uniform));
      let sum = 0;
      return [0, ...Array.from(query, (x, i) => (sum += x * key[i]))];
    });
  }
  return memory.walks;
}

export const growth = {
  title: "How far do dot products spread?",
  prompt: "Add up more terms, and watch how far apart the lines end.",
  hint: { target: "input" },
  controls: [
    {
      name: "d_k",
      label: "terms added up, d_k",
      values: DIMS,
      value: 64,
      text: String,
      marks: DIMS.map(String),
    },
    { name: "draw", label: "draw", min: 0, max: 999, step: 1, value: TYPICAL, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    [
      "sums",
      "Each of 40 lines adds up the products of an unrelated query and key; a dot is where it ends.",
      280,
      { left: 30, right: 90, top: 22, bottom: 24 },
    ],
  ],
  forget({ memory }) {
    memory.before = undefined;
  },
  update(app) {
    const { memory, state } = app;
    if (!memory.ready) prepare(app);
    const sums = walks(state, memory);
    const ends = sums.map((walk) => walk[state.d_k]);
    drawSums(app.panels.sums, sums, ends, state.d_k, memory.before);
    return { said: answer(ends, state.d_k, memory.before) };
  },
};

/** A button for other pairs, and what the reader takes hold of the slider at, to compare with. */
function prepare({ controls, memory, set, state }) {
  memory.ready = true;
  addButtons(controls, "pairs", [
    ["Draw other pairs", () => set({ draw: (state.draw + 1) % 1000 })],
  ]);
  for (const taken of ["pointerdown", "focusin"])
    controls.addEventListener(taken, ({ target }) => {
      if (target.closest("input")) memory.before = state.d_k;
    });
}

function answer(ends, dK, before = dK) {
  const found = `the standard deviation here is ${show2(Math.hypot(...ends) / Math.sqrt(PAIRS))}, expected √${dK}\u00a0=\u00a0${Math.sqrt(dK)}.`;
  if (dK > before)
    return `${dK / before} times the terms should be ${Math.sqrt(dK / before)} times as wide: ${found}`;
  if (dK < before)
    return `1/${before / dK} of the terms should be ${Math.sqrt(before / dK)} times narrower: ${found}`;
  return `After ${dK} terms ${found}`;
}

/** The sums, from 0 to q·k, their ends in rows of dots, and bars of one standard deviation to either side: of now, and of before. */
function drawSums(panel, sums, ends, dK, before = dK) {
  const x = d3.scaleLinear([0, MOST], panel.xRange);
  const y = d3.scaleLinear([-REACH, REACH], panel.yRange);
  const [bottom, top] = panel.yRange;
  const [left, right] = panel.xRange;
  axes(panel, {
    x,
    y,
    xTicks: DIMS.slice(1),
    xFormat: (terms) => (terms === MOST ? `${terms} terms` : terms),
    yTicks: [-40, -20, 0, 20, 40],
    yFormat: (at) => String(at).replace("-", "−"),
  });
  const window_ = layer(panel.svg, "window", "clipPath").attr("id", "growth-window");
  layer(window_, "inner", "rect")
    .attr("x", left)
    .attr("y", 0)
    .attr("height", bottom + 20)
    .style("transition", wantsCalm() ? null : "width 0.5s")
    .attr("width", x(dK) - left);
  const each = (parent, name, tag, values) =>
    layer(parent, name).selectAll(tag).data(values).join(tag);
  const line = d3.line((_, terms) => x(terms), y);
  each(panel.svg, "fan", "path", sums)
    .attr("d", line)
    .style("fill", "none")
    .style("stroke", colour("none"))
    .style("opacity", 0.45);
  panel.svg.select(".fan").attr("clip-path", "url(#growth-window)");
  each(panel.svg, "expected", "path", [1, -1])
    .attr("d", (side) => line(sums[0].map((_, terms) => side * Math.sqrt(terms))))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "5 4");
  const rows = new Map();
  const dots = ends.map((end) => {
    const row = Math.round(end / BIN);
    rows.set(row, (rows.get(row) ?? 0) + 1);
    return [x(dK) + 8 + 6 * rows.get(row), y(row * BIN)];
  });
  each(layer(panel.svg, "now").classed("glides", true), "dots", "circle", dots)
    .attr("r", 2.8)
    .attr("cx", ([at]) => at)
    .attr("cy", ([, level]) => level)
    .style("fill", colour("none"));
  const notes = fresh(panel.svg, "notes");
  const upright = notes.append("g").attr("transform", "rotate(90)");
  const drawBar = (of) =>
    bar(upright.append("path"), y(Math.sqrt(of)), y(-Math.sqrt(of)), -x(of) - 5);
  drawBar(dK).style("stroke-width", 2.5);
  const most = Math.max(...dots.map(([at]) => at));
  const close = most > x(before) - 40 && most < x(before) + 5; // to the bar of before
  say(notes, `±${Math.sqrt(dK)}`, (close ? x(before) + 5 : most) + 8, y(0) + 5, "start")
    .style("font-weight", 700)
    .style("font-size", "15px");
  if (dK < MOST) say(notes, "±√terms", right + 8, y(Math.sqrt(MOST)) + 4, "start");
  if (before !== dK) {
    drawBar(before);
    notes
      .append("path")
      .attr("d", `M${x(before) + 5},${y(Math.sqrt(before))}V${top - 4}`)
      .style("stroke", "var(--ex-ink)");
    say(notes, `before: ±${Math.sqrt(before)}`, x(before) + 2, top - 9, "start");
  }
  panel.describe(
    `Forty sums of ${dK} terms, on an axis from −${REACH} to ${REACH}: expected standard deviation ${Math.sqrt(dK)}.`,
  );
}
