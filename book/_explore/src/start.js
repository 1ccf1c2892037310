/** The first question: how well eight keys fit a query, and what a token listens to, as their lists grow longer, undivided or divided. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { softmax } from "./math.js";
import { divisorControl, fresh, layer, rule, say, show, showCount, wantsCalm } from "./shared.js";

const { words, reach } = data.start;
const [CAT, ASKS, TIRED] = ["cat", "it", "tired"].map((word) => words.indexOf(word));
const HEARD = 0.05; // the weight from which on a word is listened to
const WHOLE = 0.1; // the share of the other six from which on the whole sentence is
const HARDLY = 0.02; // and below which it is not
const MOST = 25; // the fit that has room: no bar is longer
const BETWEEN = 62; // px, from the weights to the longest fit
const WEIGHTS = 0.58; // of what is left, their share of the height

const widths = Array.from({ length: 13 }, (_, i) => (i % 2 ? 3 : 2) * 2 ** (1 + (i >> 1)));

export const start = {
  title: "Does “it” still listen to the whole sentence?",
  prompt: "“it” compares its query with each word’s key: make these lists longer, then divide.",
  hint: { target: "input" },
  controls: [
    {
      name: "d_k",
      label: "numbers in each list, d_k",
      values: widths,
      value: widths[0],
      text: showCount,
      marks: widths.filter((_, i) => i % 4 === 0).map(showCount),
    },
    divisorControl,
  ],
  panelWidth: "100%",
  panels: [["words", "", 310, { left: 4, right: 4, top: 22, bottom: 16 }]],
  update({ memory, panels, state }) {
    const root = Math.sqrt(state.d_k);
    const divided = state.divisor !== "none";
    const length = divided ? 1 : root;
    const weights = weightsAt(length);
    panels.words.describe(
      `Weights that “it” gives: ${words.map((word, j) => `${word} ${brief(weights[j])}, fit ${show(reach[j] * length, 1)}`).join("; ")}.`,
    );
    glide(memory, length, (at) => drawWords(panels.words, at, root, state.divisor));
    return { said: answer(weights, state.d_k, divided) };
  },
};

/** The weights, where a key fits as well as it reaches along a query of that length. */
const weightsAt = (length) => softmax(reach.map((far) => far * length));

/** A weight with two digits, or about 0 where they would show none of it: it is never 0, or 1. */
const brief = (w) => (w < 0.005 ? "≈ 0" : w > 0.995 ? "≈ 1" : show(w));

const percent = (w) =>
  `${w < 0.005 ? "less than 1" : w > 0.995 ? "more than 99" : Math.round(100 * w)}\u00a0%`;

/** A root as it is, or about. */
const equals = (root) => (Number.isInteger(root) ? `=\u00a0${root}` : `≈\u00a0${show(root, 1)}`);

function answer(p, dK, divided) {
  const cat = `“cat” gets ${percent(p[CAT])} of the weight`;
  const rest = `“tired” ${percent(p[TIRED])} and the other six share ${percent(1 - p[CAT] - p[TIRED])}`;
  if (divided)
    return `Yes: divided by √${showCount(dK)}\u00a0${equals(Math.sqrt(dK))}, ${cat}, ${rest}.`;
  const long = `with ${showCount(dK)} numbers ${cat}`;
  const others = 1 - p[CAT] - p[TIRED];
  if (others >= HARDLY) return `${others < WHOLE ? "Hardly" : "Yes, partly"}: ${long}, ${rest}.`;
  if (p[TIRED] >= HEARD)
    return `No: with ${showCount(dK)} numbers “cat” and “tired” get ${percent(1 - others)} of the weight, and the other six share ${percent(others)}.`;
  return `No: ${long}, and the other seven share ${percent(1 - p[CAT])}.`;
}

/** Draws a number on its way to another, and there. */
function glide(memory, to, draw) {
  cancelAnimationFrame(memory.frame);
  const from = wantsCalm() ? to : (memory.at ?? to);
  const began = performance.now();
  const step = (now) => {
    const left = Math.max(0, 1 - Math.max(0, now - began) / 500) ** 2;
    memory.at = left && from !== to ? to * (from / to) ** left : to;
    draw(memory.at);
    if (memory.at !== to) memory.frame = requestAnimationFrame(step);
  };
  step(began);
}

/** Over each word a bar of weight, below it one of how well its key fits. */
function drawWords(panel, length, root, divisor) {
  const x = d3
    .scaleBand(
      words.map((_, j) => j),
      panel.xRange,
    )
    .padding(0.12);
  const [left, right] = panel.xRange;
  const [floor, top] = panel.yRange;
  const ground = top + WEIGHTS * (floor - BETWEEN - top);
  const y = d3.scaleLinear([0, 1], [ground, top]);
  const reaches = d3.scaleLinear([-MOST, MOST], [floor, ground + BETWEEN]);
  const zero = reaches(0);
  const ink = colour(divisor);
  const p = weightsAt(length);
  const fits = reach.map((far) => far * length);
  const whole = reach.map((far) => far * root);
  const each = (name, tag, values = p) =>
    layer(panel.svg, name).selectAll(tag).data(values).join(tag);
  const columns = (name, values, from, to) =>
    each(name, "rect", values)
      .attr("x", (_, j) => x(j))
      .attr("width", x.bandwidth())
      .attr("y", (value) => Math.min(from(value), to(value)))
      .attr("height", (value) => Math.abs(from(value) - to(value)));
  const write = (name, values, level) =>
    each(name, "text", values)
      .attr("class", "rim")
      .attr("x", (_, j) => x(j) + x.bandwidth() / 2)
      .attr("y", level)
      .attr("text-anchor", "middle");
  const at = (level) => () => level;
  /** What stands there undivided, once it is divided. */
  const outline = (name, values, from, to) =>
    columns(name, divisor === "none" ? [] : values, from, to)
      .style("fill", "none")
      .style("stroke", colour("none"))
      .style("stroke-width", 1.5);
  columns("all", p, at(ground), at(top)).style("fill", "var(--ex-panel)");
  columns("bars", p, at(ground), y).style("fill", ink);
  outline("before", [weightsAt(root)[CAT]], at(ground), y).attr("x", x(CAT));
  write("weights", p, (w) => (y(w) < top + 18 ? top : y(w)) - 5)
    .style("font-weight", 700)
    .style("font-size", "13px")
    .text(brief);
  write("names", words, ground + 19)
    .style("font-size", "14px")
    .style("font-weight", (_, j) => (j === ASKS ? 700 : null))
    .text(String);
  columns("room", fits, at(floor + 14), at(ground + 46)).style("fill", "var(--ex-panel)");
  columns("fits", fits, at(zero), reaches).style("fill", ink).style("fill-opacity", 0.55);
  outline("whole", whole, at(zero), reaches);
  const beyond = (fit, j) => reaches(divisor === "none" ? fit : whole[j]) + (fit < 0 ? 15 : -5);
  write("numbers", fits, beyond)
    .style("fill", lettersColour(divisor))
    .text((fit) => show(fit, 1));
  const notes = fresh(panel.svg, "notes");
  say(notes, "1: all of the weight", right, top - 8, "end");
  rule(notes, [left, top], [right, top], "var(--ex-muted)").style("stroke-dasharray", "2 4");
  for (const level of [ground, zero]) rule(notes, [left, level], [right, level], "var(--ex-muted)");
  const middle = x(ASKS) + x.bandwidth() / 2;
  notes
    .append("rect")
    .attr("x", middle - 14)
    .attr("y", ground + 4)
    .attr("width", 28)
    .attr("height", 21)
    .attr("rx", 4)
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  say(notes, "listens", middle, ground + 38, "middle").style("font-weight", 700);
  const divided = divisor === "none" ? "" : ` ÷ ${show(root, Number.isInteger(root) ? 0 : 1)}`;
  say(notes, `how well each key fits${divided}`, left, ground + 38, "start");
  if (divisor !== "none")
    say(notes, `outlined: ${looks.none.label}`, left, top - 8, "start").style(
      "fill",
      lettersColour("none"),
    );
}
