/** The first question: how well eight keys fit a query, and what a token listens to, as their lists grow longer, undivided or divided. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour, looks } from "../_shared/data.js";
import { softmax } from "../_shared/math.js";
import {
  divisorControl,
  fresh,
  layer,
  rule,
  say,
  show,
  showCount,
  wantsCalm,
} from "../_shared/shared.js";

const { words, reach } = data.start;
const [CAT, ASKS, TIRED] = ["cat", "it", "tired"].map((word) => words.indexOf(word));
const HEARD = 0.05; // the weight from which on a word is listened to
const WHOLE = 0.1; // the share of the other six from which on the whole sentence is
const HARDLY = 0.02; // and below which it is not
const BETWEEN = 62; // px, from the weights to the longest fit
const WEIGHTS = 0.55; // of what is left, their share of the height

const widths = Array.from({ length: 9 }, (_, i) => (i % 2 ? 3 : 2) * 2 ** (1 + (i >> 1)));

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
      marks: widths.filter((_, i) => i % 2 === 0).map(showCount),
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
    return { sentence: answer(weights, state.d_k, divided) };
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
  const [cat, tired, rest] = [p[CAT], p[TIRED], 1 - p[CAT] - p[TIRED]];
  const each = `“cat” gets ${percent(cat)} of the weight, “tired” ${percent(tired)}, the other six ${percent(rest)}.`;
  if (divided) return `Yes: divided by √${showCount(dK)}\u00a0${equals(Math.sqrt(dK))}, ${each}`;
  if (rest >= HARDLY) return `${rest < WHOLE ? "Hardly" : "Yes, partly"}: ${each}`;
  if (tired >= HEARD)
    return `No: “cat” and “tired” get ${percent(cat + tired)} of the weight, the other six ${percent(rest)}.`;
  return `No: “cat” gets ${percent(cat)} of the weight, the other seven ${percent(1 - cat)}.`;
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
  const longest = Math.sqrt(widths.at(-1));
  const room = [Math.min(...reach) * longest, Math.max(...reach) * longest];
  const reaches = d3.scaleLinear(room, [floor, ground + BETWEEN]);
  const zero = reaches(0);
  const ink = colour(divisor);
  const p = weightsAt(length);
  const fits = reach.map((far) => far * length);
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
  columns("all", p, at(ground), at(top)).style("fill", "var(--ex-panel)");
  columns("bars", p, at(ground), y).style("fill", ink);
  const before = divisor === "none" ? [] : [weightsAt(root)[CAT]];
  columns("before", before, at(ground), y)
    .attr("x", x(CAT))
    .style("fill", "none")
    .style("stroke", colour("none"))
    .style("stroke-width", 1.5);
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
  write("numbers", fits, (fit) => reaches(fit) + (fit < 0 ? 15 : -5))
    .style("fill", lettersColour(divisor))
    .text((fit) => show(fit, 1));
  const notes = fresh(panel.svg, "notes");
  say(notes, "weight", left, top - 8, "start");
  say(notes, "1: “it” listens to this word alone", right, top - 8, "end");
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
  const divided = divisor === "none" ? "" : ` ÷ ${show(root, Number.isInteger(root) ? 0 : 1)}`;
  say(notes, `how well each key fits${divided}`, left, ground + 38, "start");
  for (const w of before)
    say(notes, looks.none.label, x(CAT) + x.bandwidth() + 5, y(w) + 10, "start").style(
      "fill",
      lettersColour("none"),
    );
}
