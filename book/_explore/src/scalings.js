/** Alternative scalings: one query's weights under four divisors, while its keys are made longer. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { effectiveKeys, softmax } from "./math.js";
import { arrow, fresh, layer, rule, say, show, show2, wantsCalm } from "./shared.js";

const { lengths, scores, divisors } = data.scalings;
const names = Object.keys(divisors);
const n = scores.length;

/** From a tenth to ten times, by tenths of a decade. */
const LENGTHS = Array.from({ length: 21 }, (_, i) => Number((10 ** (i / 10 - 1)).toPrecision(2)));

/** A divisor where keys are a times as long. */
const sizeAt = (a, name) => divisors[name].size * (divisors[name].grows ? a : 1);

/** The weights there: every score is a times as large, too. */
const weightsAt = (a, name) => softmax(scores, sizeAt(a, name) / a);

const keysAt = (a, name) => effectiveKeys(weightsAt(a, name));

export const scalings = {
  title: "Which divisors undo longer keys?",
  prompt: "Make the keys longer: which bars move?",
  hint: { target: "input" },
  controls: [
    {
      name: "a",
      label: `length of the query’s ${n} keys`,
      values: LENGTHS,
      value: 1,
      text: (a) => `× ${a}`,
      marks: ["× 0.1", "× 1", "× 10"],
    },
  ],
  panelWidth: "8.5rem",
  panels: [
    ["keys", "the keys, in the order of the bars", 78, { left: 2, right: 14 }],
    ...names.map((name) => [
      name,
      divisors[name].title,
      138,
      { left: 2, right: 2, top: 34, bottom: 22 },
    ]),
  ],
  update(app) {
    const { a } = app.state;
    drawKeys(app.panels.keys, a);
    names.forEach((name) => drawWeights(app.panels[name], name, a));
    return { said: verdict(a) };
  },
};

/** What the length does under each divisor. */
function verdict(a) {
  if (a === 1)
    return `Root and mean let about ${show(keysAt(1, "k_mean"), 0)} of ${n} keys share the weight. With longer keys, too?`;
  const taken = Math.max(...weightsAt(a, "sqrt_d_k"));
  const alone = taken > 0.9 ? "one key take nearly all" : "fewer share the weight";
  const root = a > 1 ? `longer keys let ${alone}` : "shorter keys let more share the weight";
  return `Under the root ${root}; mean and total do not notice, but the total leaves the weights nearly even.`;
}

/** The keys as arrows of their lengths, and below them the mean of these. */
function drawKeys(panel, a) {
  const x = d3.scaleLinear([0, LENGTHS.at(-1) * Math.max(...lengths)], panel.xRange);
  const group = fresh(panel.svg, "keys");
  lengths.forEach((length, j) =>
    arrow(group, [x(0), 5 + 6 * j], [x(a * length), 5 + 6 * j], colour("key"), 2),
  );
  const mean = sizeAt(a, "k_mean");
  rule(group, [x(0), 58], [x(mean), 58], colour("k_mean")).style("stroke-width", 4);
  say(group, `mean length ${show2(mean)}`, x(0), 75, "start")
    .style("fill", lettersColour("k_mean"))
    .style("font-weight", 700);
  panel.describe(`The keys’ lengths: ${lengths.map((length) => show2(a * length)).join(", ")}.`);
}

/** The divisor’s size; a bar for each weight, and its outline at first once it has moved; how many keys these weights are. */
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
  const write = (what, at, level, words) =>
    layer(panel.svg, what, "text").attr("x", at).attr("y", level).text(words);
  const line = (what, d) =>
    layer(panel.svg, what, "path").attr("d", d).style("stroke", "var(--ex-ink)");
  const size = `÷ ${show2(sizeAt(a, name)).replace(/\.0$/, "")}`;
  write("size", left, 18, size).style("font-size", "15px").style("font-weight", 700);
  const scale = fresh(panel.svg, "scale");
  if (name === names[0]) {
    rule(scale, [left, y(1)], [right, y(1)], "var(--ex-muted)").style("stroke-dasharray", "1 4");
    say(scale, "weight 1", right, y(1) - 5, "end").style("fill", "var(--ex-muted)");
  }
  const bars = (what, weights) =>
    layer(panel.svg, what)
      .selectAll("rect")
      .data(weights)
      .join("rect")
      .attr("x", (_, j) => x(j))
      .attr("width", x.bandwidth())
      .attr("y", y)
      .attr("height", (w) => ground - y(w));
  bars("bars", p)
    .style("fill", colour(name))
    .style("transition", wantsCalm() ? null : "y 0.2s, height 0.2s");
  const before = a === 1 ? [] : weightsAt(1, name);
  bars("before", before).style("fill", "none").style("stroke", "var(--ex-ink)");
  line("ground", `M${left},${ground}H${right}`);
  const told = name === "sqrt_d_k" && a !== 1 ? "outlines: at × 1" : "";
  write("told", right, y(0.36), told).attr("text-anchor", "end");
  const [was, is] = [1, a].map((length) => show(keysAt(length, name), 1));
  const keys = was === is ? `${is} of ${n} keys` : `${was} → ${is} of ${n} keys`;
  const still = a !== 1 && divisors[name].grows ? `${is} of ${n}, as before` : keys;
  write("keys", left, ground + 17, still)
    .style("font-size", "13px")
    .style("font-weight", 700);
  panel.describe(`${size}: weights ${p.map((w) => w.toFixed(2)).join(", ")}: ${is} of ${n} keys`);
}
