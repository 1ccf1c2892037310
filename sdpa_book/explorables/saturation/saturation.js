/** Softmax saturates: how much weight a key gains from 1 more, in narrow heads and in wide ones, undivided and divided. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour, looks } from "../_shared/data.js";
import { softmax } from "../_shared/math.js";
import { axes, fresh, layer, rule, say, show } from "../_shared/shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const KEYS = pattern.map((_, j) => j);
const SIDES = ["none", "sqrt_d_k"];
const COUNTS = 0.05; // of the weight, from which a gain counts
const HIGHEST = 0.28; // of the axis, one for all widths: more than any key gains

export const saturation = {
  title: `Add ${nudge} to one key: does its weight grow?`,
  prompt: "Widen the head. Then add to the dot product, which is still to be divided.",
  hint: { target: "input" },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: widths[0],
      text: String,
      marks: widths.map(String),
    },
    {
      name: "to",
      label: `what ${nudge} is added to`,
      options: { score: `Add ${nudge} to the score`, product: "To the dot product" },
      value: "score",
      buttons: true,
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "keys",
      `what each of eight keys gains (dashed: ${COUNTS})`,
      260,
      { left: 42, right: 0, top: 30, bottom: 62 },
    ],
  ],
  update(app) {
    const { d_k: dK, to } = app.state;
    const sides = SIDES.map((divisor) => sideOf(dK, divisor, to));
    drawKeys(app.panels.keys, sides, dK);
    return { sentence: answer(sides, dK, to) };
  },
};

/** Scores of eight keys, their weights, and how much more each would have with 1 more on its own score or dot product alone. */
function sideOf(dK, divisor, to) {
  const root = Math.sqrt(dK);
  const c = divisor === "none" ? 1 : root;
  const scores = pattern.map((z) => (root / c) * z);
  const more = to === "score" ? nudge : nudge / c;
  const weights = softmax(scores);
  const raised = (key) => softmax(scores.map((z, j) => (j === key ? z + more : z)))[key];
  return { divisor, scores, weights, gains: KEYS.map((j) => raised(j) - weights[j]) };
}

function answer(sides, dK, to) {
  const [undivided, divided] = sides.map(({ gains }) => {
    const count = gains.filter((gain) => gain >= COUNTS).length;
    return count === KEYS.length ? `all ${count}` : count || "none";
  });
  const where = to === "score" ? "score" : "dot product";
  const [without, root] = sides.map(({ gains }) => gains);
  const more = root.filter((gain, j) => gain > without[j]).length;
  return `With ${nudge} more on its ${where}, ${undivided} of ${KEYS.length} keys would gain ${COUNTS} or more without the division; divided by √${dK}, ${divided}. Divided, ${more === KEYS.length ? `all ${more}` : more} gain more than without.`;
}

/** For each key a bar on either side, what it gains, and below them the weights that it has. */
function drawKeys(panel, sides, dK) {
  const [left, right] = panel.xRange;
  const [floor, top] = panel.yRange;
  const x = d3.scaleBand(KEYS, [left, right]).padding(0.16);
  const y = d3.scaleLinear([0, HIGHEST], [floor, top]);
  axes(panel, { x: x.copy().domain([]), y, yTicks: 4 });
  const width = x.bandwidth() / 2;
  sides.forEach(({ divisor, gains }, i) =>
    layer(panel.svg, `gain-${divisor}`)
      .classed("glides", true)
      .selectAll("rect")
      .data(gains)
      .join("rect")
      .attr("x", (_, j) => x(j) + i * width)
      .attr("width", width - 1)
      .attr("y", y)
      .attr("height", (gain) => floor - y(gain))
      .style("fill", colour(divisor)),
  );
  const names = [looks.none.label, `divided by √${dK}`];
  const words = fresh(panel.svg, "words");
  const counts = y(COUNTS);
  rule(words, [left, counts], [right, counts], "var(--ex-muted)").style("stroke-dasharray", "3 3");
  say(words, "weight that each key has now, best first", left, floor + 18, "start");
  sides.forEach(({ divisor, weights }, i) => {
    const group = fresh(panel.svg, `words-${divisor}`).style("fill", lettersColour(divisor));
    const ink = (word) => word.style("fill", lettersColour(divisor));
    const [at, anchor] = i ? [right, "end"] : [left, "start"];
    ink(say(group, names[i], at, top - 14, anchor)).style("font-weight", 700);
    const level = floor + 38 + 17 * i;
    KEYS.forEach((j) =>
      ink(say(group, brief(weights[j]), x(j) + width, level, "middle")).style("font-size", "11px"),
    );
  });
  const list = (values) => values.map((v) => v.toFixed(3)).join("; ");
  const described = sides.map(
    ({ scores, weights, gains }, i) =>
      `${names[i]}: scores ${scores.map(decimal).join("; ")}; weights ${list(weights)}; gains ${list(gains)}`,
  );
  panel.describe(`${described.join(". ")}.`);
}

/** A weight with two digits, and 0 and 1 only about: it is never either. */
const brief = (w) => (w < 0.005 ? "≈0" : w > 0.995 ? "≈1" : show(w));

/** A score with one decimal. */
const decimal = (z) =>
  z
    .toFixed(1)
    .replace(/^-0\.0$/, "0.0")
    .replace("-", "−");
