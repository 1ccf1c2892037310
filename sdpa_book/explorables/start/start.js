/** One query, many keys: how well eight keys fit a query, and what weight they get, in narrow heads and in wide ones, by divisor. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour } from "../_shared/data.js";
import { effectiveKeys, softmax } from "../_shared/math.js";
import {
  COMMON,
  commonControls,
  comparedWith,
  dividedBy,
  divisorName,
  fresh,
  layer,
  richText,
  rule,
  say,
  show,
  showCount,
  wantsCalm,
} from "../_shared/shared.js";

const { words, reach } = data.start;
const [CAT, ASKS, TIRED, WORST] = ["cat", "it", "tired", "for"].map((word) => words.indexOf(word));
const COUNTS = 0.05; // the weight from which on a word is named
const WHOLE = 0.1; // the share of the other six from which on they count
const HARDLY = 0.02; // and below which they do not
const LINE = 18; // px, of a number
const ALIKE = 1.5; // times the worst word's weight: with less, the best is hardly told from it
const BETWEEN = 62; // px, from the weights to the longest fit
const WEIGHTS = 0.55; // of what is left, their share of the height

export const start = {
  title: "How does “it” share its weight?",
  prompt: "“it” compares its query with each word’s key. Widen the head, then divide.",
  hint: { target: "input" },
  shares: COMMON,
  controls: commonControls,
  panelWidth: "100%",
  panels: [["words", "", 310, { left: 4, right: 4, top: 22, bottom: 16 }]],
  update({ memory, panels, state }) {
    const { d_k: dK, divisor } = state;
    const length = lengthAt(dK, divisor);
    const weights = weightsAt(length);
    panels.words.describe(
      `Weights that “it” gives: ${words.map((word, j) => `${word} ${brief(weights[j])}, fit ${fitted(reach[j] * length)}`).join("; ")}.`,
    );
    glide(memory, length, (at) => drawWords(panels.words, at, dK, divisor));
    return { sentence: answer(weights, dK, divisor) };
  },
};

/** How long the query's arrow is, or what is left of that. */
const lengthAt = (dK, divisor) => Math.sqrt(dK) / dividedBy(divisor, dK);

/** The weights, where a key fits as well as it reaches along a query of that length. */
const weightsAt = (length) => softmax(reach.map((far) => far * length));

/** A weight with two digits, or about 0 where they would show none of it: it is never 0, or 1. */
const brief = (w) => (w < 0.005 ? "≈ 0" : w > 0.995 ? "≈ 1" : show(w));

const percent = (w) =>
  `${w < 0.005 ? "less than 1" : w > 0.995 ? "more than 99" : Math.round(100 * w)}\u00a0%`;

/** A fit: with two decimals where one would show little of it. */
const fitted = (fit) => fit.toFixed(Math.abs(fit) < 0.25 ? 2 : 1).replace("-", "−");

/** A root as it is, or about. */
const equals = (root) => (Number.isInteger(root) ? `=\u00a0${root}` : `≈\u00a0${show(root, 1)}`);

function answer(p, dK, divisor) {
  const [cat, tired, worst, rest] = [p[CAT], p[TIRED], p[WORST], 1 - p[CAT] - p[TIRED]];
  const others = 100 - Math.round(100 * cat) - Math.round(100 * tired); // so that the three make 100
  const each = `“cat” gets ${percent(cat)} of the weight, “tired” ${percent(tired)}, the other six ${others}\u00a0%.`;
  const root = `√${showCount(dK)}\u00a0${equals(Math.sqrt(dK))}`;
  if (divisor === "sqrt_d_k") return `Divided by ${root}, ${each}`;
  if (divisor === "d_k")
    return cat < ALIKE * worst
      ? `Divided by ${showCount(dK)}, every word gets nearly the same, “cat” ${percent(cat)} and “for”, which fits worst, ${percent(worst)}.`
      : `Divided by ${showCount(dK)}, ${each}`;
  if (rest >= WHOLE) return `Undivided, ${each}`;
  if (rest >= HARDLY) return `Undivided, the other six get hardly any: ${each}`;
  if (tired >= COUNTS)
    return `Undivided, “cat” and “tired” get ${percent(cat + tired)} of the weight, the other six ${percent(rest)}.`;
  return `Undivided, “cat” gets ${percent(cat)} of the weight, the other seven ${percent(1 - cat)}.`;
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
function drawWords(panel, length, dK, divisor) {
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
  const longest = Math.sqrt(commonControls[0].values.at(-1));
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
  const other = comparedWith(divisor);
  const instead = reach.map((far) => far * lengthAt(dK, other));
  const compared = weightsAt(lengthAt(dK, other));
  const outline = (name, values, from, to) =>
    columns(name, values, from, to)
      .style("fill", "none")
      .style("stroke", "var(--ex-muted)")
      .style("stroke-width", 1.5);
  outline("compared", compared, at(ground), y);
  // A number stands above its bar, and above the outline that would else cut it.
  const free = (w, j) => {
    const cut = y(w) - y(compared[j]);
    return cut > 0 && cut < LINE ? y(compared[j]) : y(w);
  };
  write("weights", p, (w, j) => (y(w) < top + LINE ? top : free(w, j)) - 5)
    .style("font-weight", 700)
    .style("font-size", "13px")
    .text(brief);
  write("names", words, ground + 19)
    .style("font-size", "14px")
    .style("font-weight", (_, j) => (j === ASKS ? 700 : null))
    .text(String);
  columns("room", fits, at(floor + 14), at(ground + 46)).style("fill", "var(--ex-panel)");
  columns("fits", fits, at(zero), reaches).style("fill", ink).style("fill-opacity", 0.55);
  outline("instead", instead, at(zero), reaches);
  write("numbers", fits, (fit) => reaches(fit) + (fit < 0 ? 15 : -5))
    .style("fill", lettersColour(divisor))
    .text(fitted);
  const notes = fresh(panel.svg, "notes");
  say(notes, "weight", left, top - 8, "start");
  say(
    notes,
    `as if ${show(effectiveKeys(p), 1)} of 8 words shared it evenly`,
    right,
    top - 8,
    "end",
  );
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
  const c = dividedBy(divisor, dK);
  const divided = c === 1 ? "" : ` ÷ ${show(c, Number.isInteger(c) ? 0 : 1)}`;
  const fit = `how well each key fits${divided}: a spread of ${show(spreadOf(reach) * length, 1)}`;
  say(notes, fit, left, ground + 38, "start");
  const level = y(compared[CAT]);
  const beside = [x(CAT) + x.bandwidth() + 5, Math.min(level + 2, ground - 5)];
  richText(say(notes, "", ...beside, "start"), divisorName(other)).style("fill", "var(--ex-muted)");
}

/** The standard deviation of numbers whose mean is 0. */
const spreadOf = (values) => Math.hypot(...values) / Math.sqrt(values.length);
