/** Alternative scalings: one query's weights under four divisors, while its keys are made longer or shorter. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour } from "../_shared/data.js";
import { effectiveKeys, softmax } from "../_shared/math.js";
import {
  element,
  fresh,
  layer,
  rich,
  rule,
  say,
  show,
  show2,
  wantsCalm,
} from "../_shared/shared.js";

const { scores, divisors } = data.scalings;
const names = Object.keys(divisors);
const n = scores.length;
const longest = divisors.sqrt_d_k.size; // there the root does what undivided did at × 1
const doublings = [-2, -1, 0, 1, 2].map((k) => 2 ** k);
const length = (a) => `× ${a}`;

/** A divisor where keys are a times as long. */
const sizeAt = (a, name) => divisors[name].size * (divisors[name].grows ? a : 1);

/** The weights there: every score is a times as large, too. */
const weightsAt = (a, name) => softmax(scores, sizeAt(a, name) / a);

const keysAt = (a, name) => show(effectiveKeys(weightsAt(a, name)), 1);

/** What was at × 1 and what is, or one of them where they are the same. */
const change = (what, a, name) => [...new Set([what(1, name), what(a, name)])].join(" → ");
const sizes = (a, name) => show2(sizeAt(a, name)).replace(/\.0$/, "");

export const scalings = {
  title: "Which divisors keep these weights when training makes keys longer?",
  prompt: `Each bar is a query’s weight on one of its ${n} keys: make the keys longer, or shorter.`,
  hint: { target: "input" },
  controls: [
    {
      name: "a",
      label: "length of the keys",
      values: [...doublings.flatMap((a) => [a, 1.5 * a]), longest],
      value: 1,
      text: length,
      marks: [...doublings, longest].map(length),
    },
  ],
  panelWidth: "8.5rem",
  panels: names.map((name) => [name, "", 146, { left: 0, right: 2, top: 4, bottom: 38 }]),
  update({ state: { a }, panels }) {
    names.forEach((name) => drawWeights(panels[name], name, a));
    const root =
      a < longest
        ? `does not: ${change(keysAt, a, "sqrt_d_k")} keys`
        : "now does what undivided did at × 1";
    return {
      sentence:
        a === 1
          ? "So far the root and the mean length give nearly the same weights; which of the two keeps them?"
          : `Mean and total length ${a > 1 ? "grow" : "shrink"} with the keys and keep the weights; the root ${root}.`,
    };
  },
};

/** A bar for each weight, and dashed what it was at × 1; as if by how many keys they were shared. */
function drawWeights(panel, name, a) {
  const { words: plain, symbol, grows } = divisors[name];
  const size = name === "none" ? "" : ` = ${change(sizes, a, name)}`;
  panel.heading.replaceChildren(plain, element("br"), rich(symbol + size));
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
  bars("before", a === 1 ? [] : weightsAt(1, name))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-dasharray", "3 2");
  const words = fresh(panel.svg, "words");
  const bold = (text) => text.style("font-size", "13px").style("font-weight", 700);
  rule(words, [left, y(0)], [right, y(0)], "var(--ex-ink)");
  rule(words, [left, y(1)], [right, y(1)], "var(--ex-muted)").style("stroke-dasharray", "1 4");
  const pale = (text) => text.style("fill", "var(--ex-muted)");
  if (name === "none") pale(say(words, "weight 1", right, y(1) + 15, "end"));
  const verdict = a === 1 ? [] : [grows ? "unmoved" : a > 1 ? "sharper" : "more even"];
  if (a !== 1 && name === "k_total") verdict.push("hardly chooses");
  verdict.forEach((word, i) =>
    bold(say(words, word, right, y(0.62) + 17 * i, "end")).style("fill", lettersColour(name)),
  );
  if (name === "none") {
    if (a !== 1) say(words, "dashed: at × 1", right, y(0.62) + 17, "end");
    pale(say(words, "as if shared by", left, y(0) + 16, "start"));
  }
  const of = name === "k_total" ? ` of ${n}` : "";
  bold(say(words, `${change(keysAt, a, name)}${of} keys`, left, y(0) + 33, "start"));
  panel.describe(
    `÷ ${sizes(a, name)}: weights ${p.map((w) => w.toFixed(2)).join(", ")}: ${keysAt(a, name)} of ${n} keys`,
  );
}
