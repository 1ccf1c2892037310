/** Softmax saturates: a head's width and divisor give eight scores, these their weights, and these how far each responds. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { softmax } from "./math.js";
import { divisorControl, fresh, layer, say, show, show2, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;

export const saturation = {
  title: "How far does a weight move when its score is nudged?",
  prompt: "Make the head wider and watch the lowest bars; then divide.",
  hint: { target: "input", by: [150, 0] },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: 16,
      text: String,
    },
    divisorControl,
  ],
  panelWidth: "100%",
  panels: [["rows", "", 324, { left: 2, right: 2 }]],
  update({ state: { d_k: dK, divisor }, panels: { rows } }) {
    const now = rowOf(dK, divisor);
    const described = ROWS.map(({ name, of, text }) => {
      drawBars(rows, name, divisor, now[of]);
      return `${name}: ${now[of].map(text).join("; ")}`;
    });
    rows.describe(`Eight keys. ${described.join(". ")}.`);
    return { said: answer(dK, divisor, now) };
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

/** The three rows of bars: where each begins and ends, its values there, and how they are written. */
const ROWS = [
  { name: "scores z", of: "scores", levels: [84, 24], ends: [-26, 6], text: (z) => brief(z, 1) },
  {
    name: "weights p = softmax(z)",
    of: "weights",
    levels: [200, 132],
    ends: [0, 1],
    text: (p) => brief(p, 2),
  },
  {
    name: `response of a weight to +${nudge} on its score`,
    of: "responses",
    levels: [322, 236],
    ends: [0, nudge / 4],
    text: (change) => brief(change, 3),
  },
];

/** A row of bars with their numbers. */
function drawBars(panel, name, divisor, values) {
  const row = ROWS.find((one) => one.name === name);
  const x = d3
    .scaleBand(
      values.map((_, j) => j),
      panel.xRange,
    )
    .padding(0.25);
  const y = d3.scaleLinear(row.ends, row.levels);
  const group = layer(panel.svg, row.of);
  const words = fresh(panel.svg, `${row.of}-words`);
  say(words, name, x.range()[0], row.levels[1] - 21, "start").style("font-weight", 700);
  group
    .selectAll("rect")
    .data(values)
    .join("rect")
    .attr("x", (_, j) => x(j))
    .attr("width", x.bandwidth())
    .style("transition", wantsCalm() ? null : "y 0.4s, height 0.4s")
    .attr("y", (v) => y(Math.max(v, 0)))
    .attr("height", (v) => Math.abs(y(v) - y(0)))
    .style("fill", colour(divisor));
  values.forEach((v, j) =>
    say(words, row.text(v), x(j) + x.bandwidth() / 2, v < 0 ? y(v) + 14 : y(v) - 5, "middle"),
  );
}

function answer(dK, divisor, now) {
  const share = show(now.weights[0]);
  if (divisor === "sqrt_d_k")
    return `Divided by √${dK} = ${Math.sqrt(dK)}, the first key has ${share} of the weight, and all eight respond, as in a head of any width.`;
  const ratio = now.responses[0] / rowOf(dK, "sqrt_d_k").responses[0];
  const far = ratio > 1 ? `${show(ratio, 1)} times` : `${show2(100 * ratio)} %`;
  return `Undivided at d_k = ${dK}, one key has ${share} of the weight, and a nudge moves it ${far} as far as if divided.`;
}
