/** Dot products grow: the sums of some pairs, a term at a time, and how far apart they end. */
import * as d3 from "./d3.js";
import { colour, lettersColour } from "./data.js";
import { makeGenerator, sampleNormal } from "./math.js";
import { addButtons, axes, bar, fresh, layer, rule, say, show2, wantsCalm } from "./shared.js";

const DIMS = [4, 16, 64, 256];
const MOST = DIMS.at(-1);
const PAIRS = 40;
const REACH = 64; // of the axis: four standard deviations of the longest sums
const BIN = 2; // ends so close stand in one row
const GAP = 46; // px, from the plot to the column of the ends
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
      { left: 30, right: 142, top: 24, bottom: 24 },
    ],
  ],
  forget({ memory }) {
    memory.before = undefined;
  },
  update(app) {
    const { memory, state } = app;
    if (!memory.ready) prepare(app);
    const sums = walks(state, memory);
    drawSums(app.panels.sums, sums, state.d_k);
    return { said: answer(sums, state.d_k, memory.before) };
  },
};

/** A button for other pairs, and what the reader takes hold of the slider at, to compare with. */
function prepare({ controls, memory, set, state }) {
  memory.ready = true;
  const others = () => {
    memory.before = "other pairs";
    set({ draw: (state.draw + 1) % 1000 });
  };
  addButtons(controls, "pairs", [["Draw other pairs", others]]);
  for (const taken of ["pointerdown", "focusin"])
    controls.addEventListener(taken, ({ target }) => {
      if (target.closest("input")) memory.before = state.d_k;
    });
}

/** The standard deviation of sums of so many terms, of which the mean is known to be 0. */
const spreadOf = (sums, terms) => Math.hypot(...sums.map((walk) => walk[terms])) / Math.sqrt(PAIRS);

const SHARES = { 2: "half", 4: "a quarter", 8: "an eighth" };

function answer(sums, dK, before = dK) {
  const now = spreadOf(sums, dK);
  const found = `${show2(now)} here, √${dK}\u00a0=\u00a0${Math.sqrt(dK)} expected.`;
  if (before === "other pairs") return `${PAIRS} other pairs: the standard deviation is ${found}`;
  if (dK === before) return `After ${dK} terms the standard deviation is ${found}`;
  const [expected, ratio] = [Math.sqrt(dK / before), now / spreadOf(sums, before)];
  const near = Math.abs(ratio / expected - 1) < 0.15;
  if (dK < before) {
    const share = before / dK === 4 ? "A quarter" : `1/${before / dK}`;
    const wide = near ? `about ${SHARES[1 / expected]}` : `${show2(ratio)} times`;
    return `${share} of the terms, ${wide} as wide: ${found}`;
  }
  const twice = expected === 2 ? "twice" : `${expected} times`;
  const wide = near ? `about ${twice}` : `${show2(ratio)} times`;
  return `${dK / before} times the terms, ${wide} as wide: ${found}`;
}

/** The sums, from 0 to q·k, and in a column beside them their ends in rows of dots, with their standard deviation to either side of 0. */
function drawSums(panel, sums, dK) {
  const x = d3.scaleLinear([0, MOST], panel.xRange);
  const y = d3.scaleLinear([-REACH, REACH], panel.yRange);
  const [bottom, top] = panel.yRange;
  const [left, right] = panel.xRange;
  const column = right + GAP;
  axes(panel, {
    x,
    y,
    xTicks: DIMS.slice(1),
    xFormat: (terms) => (terms === MOST ? `${terms} terms` : terms),
    yTicks: [-60, -30, 0, 30, 60],
    yFormat: (at) => String(at).replace("-", "−"),
  });
  const each = (parent, name, tag, values) =>
    layer(parent, name).selectAll(tag).data(values).join(tag);
  const line = d3.line((_, terms) => x(terms), y);
  const std = spreadOf(sums, dK);
  const now = layer(panel.svg, "now").classed("glides", true);
  layer(now, "reach", "path") // of the deviation, from where the lines end to the column
    .attr("d", `M${x(dK)},${y(std)}H${column}V${y(-std)}H${x(dK)}Z`)
    .style("fill", colour("none"))
    .style("fill-opacity", 0.14);
  each(panel.svg, "expected", "path", [1, -1])
    .attr("d", (side) => line(sums[0].map((_, terms) => side * Math.sqrt(terms))))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "5 4");
  const window_ = layer(panel.svg, "window", "clipPath").attr("id", "growth-window");
  layer(window_, "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("height", bottom - top)
    .style("transition", wantsCalm() ? null : "width 0.5s")
    .attr("width", x(dK) - left);
  each(panel.svg, "fan", "path", sums)
    .attr("d", line)
    .style("fill", "none")
    .style("stroke", colour("none"))
    .style("opacity", dK < 10 ? 0.8 : 0.45);
  panel.svg.select(".fan").attr("clip-path", "url(#growth-window)");
  const rows = new Map();
  const dots = sums.map((walk) => {
    const row = Math.round(walk[dK] / BIN);
    rows.set(row, (rows.get(row) ?? 0) + 1);
    return [rows.get(row), y(row * BIN)];
  });
  const apart = Math.min(5, (panel.width - column - 8) / Math.max(...rows.values()));
  each(now, "dots", "circle", dots)
    .attr("r", 2.4)
    .attr("cx", ([place]) => column + 4 + apart * place)
    .attr("cy", ([, level]) => level)
    .style("fill", colour("none"));
  const upright = layer(now, "upright").attr("transform", "rotate(90)");
  bar(layer(upright, "bar", "path"), y(std), y(-std), -column)
    .style("stroke", colour("none"))
    .style("stroke-width", 2.5);
  const notes = fresh(panel.svg, "notes");
  say(notes, `±${show2(std)}`, column + 4, y(std) - 7, "end")
    .style("fill", lettersColour("none"))
    .style("font-weight", 700)
    .style("font-size", "15px");
  say(notes, "expected: ±√terms", column + 4, top - 8, "end");
  rule(notes, [right + 12, top - 4], [right + 1, y(Math.sqrt(MOST)) - 3], "var(--ex-muted)");
  panel.describe(
    `Forty sums of ${dK} terms, on an axis from −${REACH} to ${REACH}: standard deviation ${show2(std)}, expected ${Math.sqrt(dK)}.`,
  );
}
