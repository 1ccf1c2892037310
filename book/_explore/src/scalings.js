/** Alternative scalings: one query's weights under four divisors, while its keys are made longer. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { effectiveKeys, softmax } from "./math.js";
import { fresh, layer, rule, say, show, show2, wantsCalm } from "./shared.js";

const { scores, divisors } = data.scalings;
const names = Object.keys(divisors);
const n = scores.length;

/** A divisor where keys are a times as long. */
const sizeAt = (a, name) => divisors[name].size * (divisors[name].grows ? a : 1);

/** The weights there: every score is a times as large, too. */
const weightsAt = (a, name) => softmax(scores, sizeAt(a, name) / a);

const keysAt = (a, name) => show(effectiveKeys(weightsAt(a, name)), 1);

export const scalings = {
  title: "Which divisors keep the weights when the keys grow longer?",
  prompt: `Each bar is a query’s weight on one of its ${n} keys: make the keys longer.`,
  hint: { target: "input" },
  controls: [
    {
      name: "a",
      label: "length of the keys",
      min: 1,
      max: 10,
      step: 0.5,
      value: 3,
      text: (a) => `× ${a}`,
      marks: ["× 1", "× 10"],
    },
  ],
  panelWidth: "8.5rem",
  panels: names.map((name) => [
    name,
    divisors[name].title,
    138,
    { left: 0, right: 2, top: 26, bottom: 22 },
  ]),
  update({ state: { a }, panels }) {
    names.forEach((name) => drawWeights(panels[name], name, a));
    const [was, is] = [1, a].map((length) => keysAt(length, "sqrt_d_k"));
    return {
      said:
        a === 1
          ? `At × 1, √d_k and k_mean are nearly the same: with either, about ${Math.round(was)} of ${n} keys share the weight.`
          : `Only k_mean and k_total grow with the keys and keep the weights; √d_k leaves the weight to ${is} of ${n} keys instead of ${was}.`,
    };
  },
};

/** What the divisor does; a bar for each weight, and dashed what it was at first; how many keys these weights are. */
function drawWeights(panel, name, a) {
  const { grows } = divisors[name];
  const p = weightsAt(a, name);
  const [left, right] = panel.xRange;
  const x = d3.scaleBand(scores.keys(), [left, right]).padding(0.3);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  const bars = (what, weights) =>
    layer(panel.svg, what)
      .selectAll("rect")
      .data(weights)
      .join("rect")
      .attr("x", (_, j) => x(j))
      .attr("width", x.bandwidth())
      .attr("y", y)
      .attr("height", (w) => y(0) - y(w));
  bars("bars", p)
    .style("fill", colour(name))
    .style("transition", wantsCalm() ? null : "y 0.2s, height 0.2s");
  bars("before", weightsAt(1, name))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-dasharray", "3 2");
  const words = fresh(panel.svg, "words");
  const bold = (text) => text.style("font-size", "13px").style("font-weight", 700);
  rule(words, [left, y(0)], [right, y(0)], "var(--ex-ink)");
  const [first, size] = [1, a].map((length) => show2(sizeAt(length, name)).replace(/\.0$/, ""));
  const change = (was, is) => (was === is ? is : `${was} → ${is}`);
  const does = grows ? `grows: ${change(first, size)}` : `stays ${size}`;
  bold(say(words, does, left, 14, "start"));
  const pale = (text) => text.style("fill", "var(--ex-muted)");
  if (name === "none") {
    rule(words, [left, y(1)], [right, y(1)], "var(--ex-muted)").style("stroke-dasharray", "1 4");
    pale(say(words, "weight 1", right, y(1) - 5, "end"));
  }
  if (name === "sqrt_d_k") pale(say(words, "dashed: × 1", right, y(0.4), "end"));
  const verdict = grows ? "unmoved" : "sharper";
  bold(say(words, a > 1 ? verdict : "", right, y(0.62), "end")).style("fill", lettersColour(name));
  const [was, is] = [1, a].map((length) => keysAt(length, name));
  bold(say(words, `${change(was, is)} of ${n} keys`, left, y(0) + 17, "start"));
  panel.describe(`÷ ${size}: weights ${p.map((w) => w.toFixed(2)).join(", ")}: ${is} of ${n} keys`);
}
