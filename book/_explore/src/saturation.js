/** Softmax saturates: a head's width and divisor give eight scores, these their weights, and these how far each responds. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { effectiveKeys, softmax } from "./math.js";
import { divisorControl, fresh, layer, rule, say, show, show2, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const OTHER = { none: "sqrt_d_k", sqrt_d_k: "none" };
const CALLED = { none: looks.none.label, sqrt_d_k: "divided" };

export const saturation = {
  title: "Does a weight still move when its score is nudged?",
  prompt: "Divide the scores by √d_k; then change the width.",
  hint: { target: ".explorable-buttons button:nth-child(2)" },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: 64,
      text: String,
    },
    divisorControl,
  ],
  panelWidth: "100%",
  panels: [["rows", "", 325, { left: 2, right: 2 }]],
  update({ state: { d_k: dK, divisor }, panels: { rows } }) {
    const now = rowOf(dK, divisor);
    const other = rowOf(dK, OTHER[divisor]);
    const described = ROWS.map((row) => {
      drawBars(rows, row, divisor, now[row.of], other[row.of]);
      return `${row.name}: ${now[row.of].map((x) => brief(x, row.digits)).join("; ")}`;
    });
    const words = fresh(rows.svg, "which");
    const name = (text, of, level) =>
      say(words, text, rows.xRange[1] - 8, level, "end").style("fill", lettersColour(of));
    name(`filled: ${CALLED[divisor]}`, divisor, 147);
    name(`outlines: ${CALLED[OTHER[divisor]]}`, OTHER[divisor], 163);
    rows.describe(`Eight keys. ${described.join(". ")}.`);
    return { said: answer(dK, divisor, now, other) };
  },
};

/** Scores of eight keys, their weights, and how far each weight moves when its own score is raised. */
function rowOf(dK, divisor) {
  const scores = pattern.map((z) => (divisor === "none" ? Math.sqrt(dK) * z : z));
  const weights = softmax(scores);
  const raised = (j) => softmax(scores.map((z, i) => (i === j ? z + nudge : z)))[j];
  return { scores, weights, responses: weights.map((p, j) => raised(j) - p) };
}

/** A number, or 0 where its decimals would show none of it. */
const brief = (x, digits) => (Math.abs(x) < 0.5 * 10 ** -digits ? "0" : show(x, digits));

/** The three rows of bars: how they are called, at which height, the values there, and which bars have a number beyond the line of 0. */
const ROWS = [
  {
    name: "scores z of eight keys, after any dividing",
    of: "scores",
    levels: [99, 25],
    ends: [-26, 6],
    digits: 1,
    told: (_, j) => j === pattern.length - 1,
  },
  {
    name: "weights p = softmax(z)",
    of: "weights",
    levels: [193, 135],
    ends: [0, 1],
    digits: 2,
    told: (p) => p >= 0.02,
  },
  {
    name: `response: what +${nudge} on z adds to p`,
    of: "responses",
    levels: [307, 249],
    ends: [0, nudge / 4],
    digits: 3,
    told: (change) => change >= 0.001,
  },
];

/** A row of bars, with outlines of what they would be otherwise. */
function drawBars(panel, { name, of, levels, ends, digits, told }, divisor, values, others) {
  const x = d3
    .scaleBand(
      values.map((_, j) => j),
      panel.xRange,
    )
    .padding(0.25);
  const [bottom] = panel.yRange; // a slide has less room
  const [low, high] = levels.map(
    (level) => (level * bottom) / (panel.natural - panel.margin.bottom),
  );
  const y = d3.scaleLinear(ends, [low, high]);
  const bars = (of, ink, heights) =>
    layer(panel.svg, of)
      .style("fill", ink)
      .selectAll("rect")
      .data(heights)
      .join("rect")
      .attr("x", (_, j) => x(j))
      .attr("width", x.bandwidth())
      .style("transition", wantsCalm() ? null : "y 0.4s, height 0.4s")
      .attr("y", (v) => y(Math.max(v, 0)))
      .attr("height", (v) => Math.abs(y(v) - y(0)));
  bars(of, colour(divisor), values);
  bars(`${of}-others`, "none", others)
    .style("stroke", colour(OTHER[divisor]))
    .style("stroke-width", 1.5);
  const words = fresh(panel.svg, `${of}-words`);
  rule(words, [x.range()[0], y(0)], [x.range()[1], y(0)], "var(--ex-muted)");
  say(words, name, x.range()[0], high - 12, "start").style("font-weight", 700);
  values.forEach((v, j) => {
    if (!told(v, j)) return;
    const level = y(0) + (v < 0 ? -5 : 15);
    const number = say(words, show(v, digits), x(j) + x.bandwidth() / 2, level, "middle");
    number.style("fill", lettersColour(divisor));
  });
}

const total = (values) => values.reduce((sum, x) => sum + x, 0);

function answer(dK, divisor, now, other) {
  const seen = `the row in effect sees ${show(effectiveKeys(now.weights), 1)} of 8 keys`;
  if (divisor === "sqrt_d_k")
    return `Divided by √${dK} = ${Math.sqrt(dK)}, ${seen}, and all weights move, at any width.`;
  const far = show2((100 * total(now.responses)) / total(other.responses));
  return `Undivided, ${seen}, and nudged weights move ${far} % as far as if divided.`;
}
