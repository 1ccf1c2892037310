/** Softmax saturates: how far each key's weight would move, in narrow heads and in wide ones, undivided and divided. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour, looks } from "../_shared/data.js";
import { softmax } from "../_shared/math.js";
import { ROOMY, fresh, layer, say, show } from "../_shared/shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const KEYS = pattern.map((_, j) => j);
const SIDES = ["none", "sqrt_d_k"];
const COUNTS = 0.05; // of the weight, from which a gain counts
const GAP = 16; // px, between the sides
const LETTERS = 16; // px, above a key's bar, for its numbers, which where there is room stand beside it
const [HEIGHT, ASIDE] = ROOMY ? [238, [56, 56]] : [326, [0, 0]];

export const saturation = {
  title: "In a wide head, how many keys can still gain weight?",
  prompt:
    "Widen the head: scores keep their pattern, and spread as √d_k. Which keys still respond?",
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
  ],
  panelWidth: "100%",
  panels: [
    [
      "keys",
      `full: weight; faint: gain if the score shown rose by ${nudge}`,
      HEIGHT,
      { left: 34, right: 0, top: 44, bottom: 2 },
    ],
  ],
  update(app) {
    const { d_k: dK } = app.state;
    const sides = SIDES.map((divisor) => sideOf(dK, divisor));
    drawKeys(app.panels.keys, sides, dK);
    return { sentence: answer(sides, dK) };
  },
};

/** Scores of eight keys, their weights, and how much more each would have if its score alone were higher. */
function sideOf(dK, divisor) {
  const scores = pattern.map((z) => (divisor === "none" ? Math.sqrt(dK) * z : z));
  const weights = softmax(scores);
  const raised = (key) => softmax(scores.map((z, j) => (j === key ? z + nudge : z)))[key];
  return { scores, weights, gains: KEYS.map((j) => raised(j) - weights[j]) };
}

function answer(sides, dK) {
  const [undivided, divided] = sides.map(
    ({ gains }) => gains.filter((gain) => gain >= COUNTS).length,
  );
  const count = undivided ? `${undivided} of ${KEYS.length} keys` : "no key";
  const still = dK > widths[0] ? "still " : "";
  const first = show(sides[0].weights[0]);
  return `Undivided, key 1 has ${first} of the weight, and ${count} would gain ${COUNTS} or more; divided, ${still}${divided} of ${KEYS.length}.`;
}

/** A line for each key, and on both sides its weight as a bar. */
function drawKeys(panel, sides, dK) {
  const [left, right] = panel.xRange;
  const y = d3.scaleBand(KEYS, panel.yRange.reverse());
  const width = (right - left - GAP) / 2;
  const names = [looks.none.label, `divided by √${dK}`];
  sides.forEach((side, i) => {
    const start = left + i * (width + GAP);
    drawSide(panel, { ...side, y, name: names[i], start, end: start + width }, SIDES[i]);
  });
  const words = fresh(panel.svg, "words");
  say(words, "key", 0, 34, "start");
  for (const j of KEYS)
    say(words, j + 1, 0, y(j) + (ROOMY ? y.bandwidth() / 2 + 4 : y.bandwidth() - 7), "start");
  const list = (values) => values.map((x) => x.toFixed(3)).join("; ");
  const described = sides.map(
    ({ scores, weights, gains }, i) =>
      `${names[i]}: scores ${scores.map(decimal).join("; ")}; weights ${list(weights)}; gains ${list(gains)}`,
  );
  panel.describe(`${described.join(". ")}.`);
}

/** A score with one decimal. */
const decimal = (z) =>
  z
    .toFixed(1)
    .replace(/^-0\.0$/, "0.0")
    .replace("-", "−");

/** One divisor's side: a bar for each key, its weight, and at its end, faint, what the key would gain. */
function drawSide(panel, { scores, weights, gains, y, name, start, end }, divisor) {
  const x = d3.scaleLinear([0, 1], [start + ASIDE[0], end - ASIDE[1]]);
  const above = ROOMY ? 2 : LETTERS;
  const bars = (of, from, to, fill) =>
    layer(panel.svg, `${of}-${divisor}`)
      .classed("glides", true)
      .selectAll("rect")
      .data(KEYS)
      .join("rect")
      .attr("x", (j) => x(from(j)))
      .attr("width", (j) => x(to(j)) - x(from(j)))
      .attr("y", (j) => y(j) + above)
      .attr("height", y.bandwidth() - above - (ROOMY ? 2 : 4))
      .style("fill", fill);
  const none = () => 0;
  const weight = (j) => weights[j];
  const ink = colour(divisor);
  bars("all", none, () => 1, "var(--ex-panel)");
  bars("weight", none, weight, ink);
  const raised = (j) => weights[j] + gains[j];
  bars("gain", weight, raised, `color-mix(in srgb, ${ink} 45%, var(--ex-ground))`);
  const words = fresh(panel.svg, `words-${divisor}`);
  say(words, name, start, 16, "start")
    .style("fill", lettersColour(divisor))
    .style("font-weight", 700);
  const muted = "var(--ex-muted)";
  say(words, "score", start, 34, "start").style("fill", muted);
  say(words, "gain", end, 34, "end").style("fill", muted);
  for (const j of KEYS) {
    const level = ROOMY ? y(j) + y.bandwidth() / 2 + 4 : y(j) + LETTERS - 3;
    say(words, decimal(scores[j]), start, level, "start").style("fill", muted);
    const label = gains[j] < 0.005 ? "< 0.01" : `+${show(gains[j])}`;
    const gain = say(words, label, end, level, "end");
    if (gains[j] >= COUNTS) gain.style("font-weight", 700);
    else gain.style("fill", muted);
  }
}
