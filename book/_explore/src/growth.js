/** Dot products grow: the sums of some pairs, a term at a time, and how far apart they end. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { makeGenerator, sampleNormal } from "./math.js";
import { addButtons, axes, bar, fresh, layer, point, say } from "./shared.js";

const DIMS = [4, 16, 64, 256];
const PAIRS = 40;
const REACH = 44; // of the axis, which stands still: what is farther out leaves the frame

/** For every pair of a draw its sums q_1 k_1 + ... + q_i k_i, from none of the terms to all. */
function walks({ draw }, memory) {
  if (memory.drawn !== draw) {
    memory.drawn = draw;
    memory.walks = Array.from({ length: PAIRS }, (_, pair) => {
      const uniform = makeGenerator(PAIRS * draw + pair);
      const [query, key] = [0, 1].map(() => sampleNormal(DIMS.at(-1), uniform));
      let sum = 0;
      return [0, ...Array.from(query, (x, i) => (sum += x * key[i]))];
    });
  }
  return memory.walks;
}

export const growth = {
  title: "How far do dot products spread?",
  prompt: "Give queries and keys more components, and watch where the lines end.",
  hint: { target: "input", by: [110, 0] },
  controls: [
    { name: "d_k", label: "components, d_k", values: DIMS, value: 16, text: String },
    { name: "draw", label: "draw", min: 0, max: 999, step: 1, value: 0, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    [
      "sums",
      "sums of 40 unrelated pairs, a term at a time; dashed: ±√terms",
      300,
      { right: 66, top: 8, bottom: 24 },
    ],
  ],
  forget({ memory }) {
    memory.before = undefined;
  },
  update(app) {
    const { memory, state } = app;
    if (!memory.ready) prepare(app);
    drawSums(app.panels.sums, walks(state, memory), state.d_k, memory.before);
    return { said: answer(state.d_k, memory.before) };
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

function answer(dK, before = dK) {
  const spread = `with ${dK} the standard deviation is √${dK} = ${Math.sqrt(dK)}.`;
  if (dK > before)
    return `${dK / before} times as many terms, ${Math.sqrt(dK / before)} times as wide: ${spread}`;
  if (dK < before)
    return `1/${before / dK} of the terms, ${Math.sqrt(before / dK)} times narrower: ${spread}`;
  return `Each line adds up ${dK} terms: ${spread}`;
}

/** The sums, from 0 to q·k, and beside their ends a bar of one standard deviation to either side; pale, that of before. */
function drawSums(panel, sums, dK, before = dK) {
  const [left, right] = panel.xRange;
  const x = d3.scaleLinear([0, dK], [left, right]);
  const y = d3.scaleLinear([-REACH, REACH], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: [0, dK],
    xFormat: (terms) => (terms ? `${terms} terms` : "0"),
    yTicks: [-40, -20, 0, 20, 40],
    yFormat: (at) => String(at).replace("-", "−"),
  });
  const [bottom, top] = panel.yRange;
  layer(layer(panel.svg, "window", "clipPath").attr("id", "growth-window"), "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", right - left + 4)
    .attr("height", bottom - top);
  const fan = fresh(panel.svg, "fan").attr("clip-path", "url(#growth-window)");
  for (const walk of sums) {
    const way = walk.slice(0, dK + 1).map((sum, terms) => [x(terms), y(sum)]);
    fan
      .append("path")
      .attr("d", d3.line()(way))
      .style("fill", "none")
      .style("stroke", colour("none"))
      .style("opacity", 0.45);
    point(fan, ...way.at(-1), 3, colour("none"));
  }
  const notes = fresh(panel.svg, "notes");
  for (const side of [1, -1]) {
    const ends = Array.from({ length: 61 }, (_, i) => (dK * i) / 60);
    notes
      .append("path")
      .attr("d", d3.line()(ends.map((terms) => [x(terms), y(side * Math.sqrt(terms))])))
      .style("fill", "none")
      .style("stroke", "var(--ex-ink)")
      .style("stroke-width", 1.5)
      .style("stroke-dasharray", "5 4");
  }
  const upright = notes.append("g").attr("transform", "rotate(90)");
  const drawBar = (of, at) => bar(upright.append("path"), y(Math.sqrt(of)), y(-Math.sqrt(of)), -at);
  if (before !== dK) drawBar(before, right + 24).style("opacity", 0.4);
  drawBar(dK, right + 14).style("stroke-width", 2.5);
  say(notes, `±${Math.sqrt(dK)}`, right + 34, y(0) + 5, "start")
    .style("font-weight", 700)
    .style("font-size", "15px");
  panel.describe(
    `Forty sums of ${dK} terms, on an axis from −${REACH} to ${REACH}: standard deviation ${Math.sqrt(dK)}.`,
  );
}
