/** Alternative scalings: one query's weights under four divisors, while its keys are made longer. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { effectiveKeys, softmax } from "./math.js";
import { layer, show, wantsCalm } from "./shared.js";

const { scores, divisors } = data.scalings;
const names = Object.keys(divisors);
const n = scores.length;

/** From a tenth to ten times, by tenths of a decade. */
const LENGTHS = Array.from({ length: 21 }, (_, i) => Number((10 ** (i / 10 - 1)).toPrecision(2)));

/** The weights where keys are a times as long: so is every score, and a divisor that grows with the keys undoes it. */
const weightsAt = (a, name) =>
  softmax(scores, divisors[name].grows ? divisors[name].size : divisors[name].size / a);

const keysAt = (a, name) => show(effectiveKeys(weightsAt(a, name)), 1);

export const scalings = {
  title: "Which divisors undo longer keys?",
  prompt: "Make the keys longer: which bars leave their marks?",
  hint: { target: "input", by: [120, 0] },
  controls: [
    {
      name: "a",
      label: "length of all keys",
      values: LENGTHS,
      value: 1,
      text: (a) => `times ${a}`,
    },
  ],
  panelWidth: "8.5rem",
  panels: names.map((name) => [
    name,
    divisors[name].title,
    190,
    { left: 2, right: 2, top: 22, bottom: 46 },
  ]),
  update({ panels, state: { a } }) {
    names.forEach((name) => drawWeights(panels[name], name, a));
    const [root, mean] = ["sqrt_d_k", "k_mean"].map((name) => keysAt(a, name));
    return {
      said:
        a === 1
          ? `As drawn, the root sees ${root} of ${n} keys, and the mean key length sees ${mean}.`
          : `Keys ${a} times as long: the root now sees ${root} of ${n} keys; the mean key length still sees ${mean}.`,
    };
  },
};

/** A bar for each weight, a mark where it began, and how many keys these weights are. */
function drawWeights(panel, name, a) {
  const p = weightsAt(a, name);
  const x = d3
    .scaleBand(
      p.map((_, j) => j),
      panel.xRange,
    )
    .padding(0.3);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  const [left, right] = panel.xRange;
  const ground = y(0);
  const write = (what, level, words) =>
    layer(panel.svg, what, "text")
      .classed("rim", true)
      .attr("x", (left + right) / 2)
      .attr("y", level)
      .attr("text-anchor", "middle")
      .text(words);
  panel.heading.style.color = lettersColour(name);
  layer(panel.svg, "bars")
    .selectAll("rect")
    .data(p)
    .join("rect")
    .attr("x", (_, j) => x(j))
    .attr("width", x.bandwidth())
    .style("fill", colour(name))
    .style("transition", wantsCalm() ? null : "y 0.2s, height 0.2s")
    .attr("y", y)
    .attr("height", (w) => ground - y(w));
  layer(panel.svg, "ground", "path")
    .attr("d", `M${left},${ground}H${right}`)
    .style("stroke", "var(--ex-muted)");
  layer(panel.svg, "marks", "path")
    .attr(
      "d",
      weightsAt(1, name)
        .map((w, j) => `M${x(j) - 1},${y(w)}h${x.bandwidth() + 2}`)
        .join(""),
    )
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2);
  write("most", y(p[0]) - 7, show(p[0])).attr("x", Math.max(x(0) + x.bandwidth() / 2, left + 12));
  const [before, now] = [1, a].map((length) => keysAt(length, name));
  write("keys", ground + 20, `sees ${now} of ${n} keys`)
    .style("font-size", "14px")
    .style("font-weight", 700);
  write("before", ground + 39, a === 1 ? "" : divisors[name].grows ? "as before" : `was ${before}`);
  panel.describe(`Weights ${p.map((w) => w.toFixed(2)).join(", ")}: ${now} of ${n} keys`);
}
