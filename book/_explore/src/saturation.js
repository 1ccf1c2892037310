/** Softmax saturates: a head's width gives eight scores, undivided and divided, these their weights, and these how far each responds. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { effectiveKeys, softmax } from "./math.js";
import { fresh, layer, rule, say, show, show2, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const BOTH = ["none", "sqrt_d_k"];

export const saturation = {
  title: "Do the weights of a wide head still move?",
  prompt: "Make the head wider or narrower: what do the red bars do, and what the blue ones?",
  hint: { target: "input" },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: 64,
      text: String,
    },
  ],
  panelWidth: "100%",
  panels: [["rows", "", 325, { left: 2, right: 2 }]],
  update({ state: { d_k: dK }, panels: { rows } }) {
    const [undivided, divided] = BOTH.map((divisor) => rowOf(dK, divisor));
    const described = ROWS.map((row) => {
      BOTH.forEach((divisor, i) =>
        drawBars(rows, row, divisor, i, [undivided, divided][i][row.of]),
      );
      const told = (values) => values.map((x) => brief(x, row.digits)).join("; ");
      return `${row.name}: ${told(undivided[row.of])}; divided ${told(divided[row.of])}`;
    });
    const words = fresh(rows.svg, "which");
    const name = (text, of, level) =>
      say(words, text, rows.xRange[1] - 8, level, "end").style("fill", lettersColour(of));
    name(looks.none.label, "none", 147);
    name(`divided by √${dK} = ${Math.sqrt(dK)}`, "sqrt_d_k", 163);
    rows.describe(`Eight keys. ${described.join(". ")}.`);
    return { said: answer(undivided, divided) };
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

/** The three rows of bars: how they are called, at which height, and the values there. */
const ROWS = [
  { name: "scores", of: "scores", levels: [99, 25], ends: [-26, 6], digits: 1 },
  { name: "weights, by softmax", of: "weights", levels: [193, 135], ends: [0, 1], digits: 2 },
  {
    name: `how far +${nudge} on its score moves it`,
    of: "responses",
    levels: [307, 249],
    ends: [0, nudge / 4],
    digits: 3,
  },
];

/** One divisor's bars of a row: the undivided ones on the left of each key's place, the others on the right. The first weight is told. */
function drawBars(panel, { name, of, levels, ends, digits }, divisor, side, values) {
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
  const width = x.bandwidth() / 2;
  layer(panel.svg, `${of}-${divisor}`)
    .style("fill", colour(divisor))
    .selectAll("rect")
    .data(values)
    .join("rect")
    .attr("x", (_, j) => x(j) + side * width)
    .attr("width", width)
    .style("transition", wantsCalm() ? null : "y 0.4s, height 0.4s")
    .attr("y", (v) => y(Math.max(v, 0)))
    .attr("height", (v) => Math.abs(y(v) - y(0)));
  if (side) return;
  const words = fresh(panel.svg, `${of}-words`);
  rule(words, [x.range()[0], y(0)], [x.range()[1], y(0)], "var(--ex-muted)");
  say(words, name, x.range()[0], high - 12, "start").style("font-weight", 700);
  if (of !== "weights") return;
  const number = say(words, show(values[0], digits), x(0) + width / 2, y(0) + 15, "middle");
  number.style("fill", lettersColour(divisor));
}

const total = (values) => values.reduce((sum, x) => sum + x, 0);

function answer(undivided, divided) {
  const [seen, open] = [undivided, divided].map((row) => show(effectiveKeys(row.weights), 1));
  const far = show2((100 * total(undivided.responses)) / total(divided.responses));
  return `Undivided, the row in effect sees ${seen} of 8 keys, divided ${open}, and together the red weights move ${far} % as far.`;
}
