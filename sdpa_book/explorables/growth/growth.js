/** Dot products grow: the sums of some pairs, a term at a time, and how far apart they end. */
import * as d3 from "../_shared/d3.js";
import { colour, lettersColour } from "../_shared/data.js";
import { makeGenerator, sampleNormal } from "../_shared/math.js";
import { addButtons, axes, bar, fresh, layer, say, show2, wantsCalm } from "../_shared/shared.js";

const DIMS = [16, 32, 64, 128, 256];
const MARKED = [16, 64, 256];
const MOST = DIMS.at(-1);
const PAIRS = 40;
const REACH = 50; // of the axis: three standard deviations of the longest sums
const BIN = 2; // ends so close stand in one row
const PILE = 28; // px, the longest row
/** The draw to begin with: the first whose spreads at all stops, and their ratios from stop to stop, are within a standard error, 11 %, of the expected. */
const TYPICAL = 7;

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
      marks: MARKED.map(String),
    },
    {
      name: "draw",
      label: "draw",
      min: 0,
      max: 999,
      step: 1,
      value: TYPICAL,
      drawn: true,
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "sums",
      "Each of 40 lines adds up the products of an unrelated query and key; a dot is where it ends.",
      280,
      { left: 30, right: 148, bottom: 24 },
    ],
  ],
  forget({ memory }) {
    memory.before = undefined;
  },
  update(app) {
    const { memory, state } = app;
    if (!memory.ready) prepare(app);
    const sums = walks(state, memory);
    const before = memory.before === state.d_k ? undefined : memory.before;
    drawSums(app.panels.sums, sums, state.d_k, before);
    return { sentence: answer(sums, state.d_k, before) };
  },
};

/** A button for other pairs, and what the reader takes hold of the slider at, to compare with. */
function prepare({ controls, memory, set, state }) {
  memory.ready = true;
  const others = () => {
    memory.before = undefined;
    set({ draw: (state.draw + 1) % 1000 });
  };
  addButtons(controls, "pairs", [["Draw other pairs", others]]);
  for (const taken of ["pointerdown", "focusin"])
    controls.addEventListener(taken, ({ target }) => {
      if (target.closest("input")) memory.before = state.d_k;
    });
}

/** The standard deviation of sums of so many terms, of which the mean is known to be 0; with one decimal, as it is shown. */
const spreadOf = (sums, terms) =>
  (Math.hypot(...sums.map((walk) => walk[terms])) / Math.sqrt(PAIRS)).toFixed(1);

/** The expected one. */
const root = (terms) => +Math.sqrt(terms).toFixed(1);

/** The standard deviation, or how many times as wide as before the ends are; and what is expected. */
function answer(sums, dK, before) {
  const expected = (of) =>
    `${of < 1 ? `1/√${1 / of}` : `√${of}`}\u00a0=\u00a0${+Math.sqrt(of).toFixed(of < 1 ? 2 : 1)} expected.`;
  if (!before)
    return `After ${dK} terms the standard deviation is ${spreadOf(sums, dK)} here, ${expected(dK)}`;
  const share = {
    0.5: "Twice",
    2: "Half",
    4: "A quarter of",
    8: "An eighth of",
    16: "A sixteenth of",
  }[before / dK];
  const ratio = show2(spreadOf(sums, dK) / spreadOf(sums, before));
  return `${share ?? `${dK / before} times`} the terms, ${ratio} times as wide: ${expected(dK / before)}`;
}

/** The sums, from 0 to as many terms as are added up, where rows of dots are their ends; and behind all terms their standard deviation and that of before. */
function drawSums(panel, sums, dK, before) {
  const x = d3.scaleLinear([0, MOST], panel.xRange);
  const y = d3.scaleLinear([-REACH, REACH], panel.yRange);
  const [bottom] = panel.yRange;
  const [left, right] = panel.xRange;
  const column = right + 8;
  axes(panel, {
    x,
    y,
    xTicks: MARKED,
    yLabel: "sum so far",
    yTicks: [-40, -20, 0, 20, 40],
    yFormat: (at) => String(at).replace("-", "−"),
  });
  const each = (parent, name, tag, values) =>
    layer(parent, name).selectAll(tag).data(values).join(tag);
  const line = d3.line((_, terms) => x(terms), y);
  panel.describe(
    `Forty sums of ${dK} terms, on an axis from −${REACH} to ${REACH}: standard deviation ${spreadOf(sums, dK)}, expected ${root(dK)}.`,
  );
  for (const name of ["later", "expected"])
    each(panel.svg, name, "path", [1, -1])
      .attr("d", (side) => d3.line(x, (terms) => y(side * Math.sqrt(terms)))(sums[0].keys()))
      .style("fill", "none")
      .style("stroke", "var(--ex-ink)")
      .style("stroke-width", 1.5)
      .style("stroke-dasharray", "5 4");
  panel.svg.select(".later").style("opacity", 0.25);
  const window_ = layer(panel.svg, "window", "clipPath").attr("id", "growth-window");
  layer(window_, "inner", "rect")
    .attr("x", left)
    .attr("y", 0)
    .attr("height", bottom)
    .style("transition", wantsCalm() ? null : "width 0.5s")
    .attr("width", x(dK) - left);
  each(panel.svg, "fan", "path", sums)
    .attr("d", line)
    .style("fill", "none")
    .style("stroke", colour("none"))
    .style("opacity", 0.45);
  panel.svg.selectAll(".fan, .expected").attr("clip-path", "url(#growth-window)");
  const now = layer(panel.svg, "now").classed("glides", true);
  each(now, "level", "path", [1, -1])
    .attr("d", (side) => `M${x(dK)},${y(side * Math.sqrt(dK))}H${column + PILE + 16}`)
    .style("stroke", "var(--ex-ink)")
    .style("stroke-dasharray", "1 3");
  const rows = new Map();
  const dots = sums.map((walk) => {
    const row = Math.round(walk[dK] / BIN);
    rows.set(row, (rows.get(row) ?? 0) + 1);
    return [rows.get(row) - 1, Math.max(3, Math.min(bottom, y(row * BIN)))];
  });
  const apart = Math.min(5, PILE / Math.max(...rows.values()));
  each(now, "dots", "circle", dots)
    .attr("r", 2.4)
    .attr("cx", ([place]) => x(dK) + 8 + apart * place)
    .attr("cy", ([, level]) => level)
    .style("fill", colour("none"));
  const notes = fresh(panel.svg, "notes");
  const note = (text, level) => say(notes, text, column + PILE + 24, y(0) + level, "start");
  const bracket = (parent, terms, at, level, stroke, letters) => {
    const size = spreadOf(sums, terms);
    bar(
      layer(layer(parent, "upright").attr("transform", "rotate(90)"), "bar", "path"),
      y(size),
      y(-size),
      -column - PILE - at,
    )
      .style("stroke", stroke)
      .style("stroke-width", 2.5);
    note(`±${size} at ${terms}`, level).style("fill", letters).style("font-weight", 600);
  };
  bracket(now, dK, 16, 8, colour("none"), lettersColour("none"));
  if (before > 0) bracket(notes, before, 8, 66, "var(--ex-muted)", "var(--ex-muted)");
  note("standard", -28);
  note("deviation", -11);
  note("expected:", 27);
  note(`±${root(dK)}, dashed`, 44);
  say(notes, "terms", x(MOST * 0.62), bottom + 16, "middle");
}
