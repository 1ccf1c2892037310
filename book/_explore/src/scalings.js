/** Alternative scalings: one query's weights under four divisors, while its keys are made longer. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { effectiveKeys, softmax } from "./math.js";
import { layer, show, show2, wantsCalm } from "./shared.js";

const { scores, divisors } = data.scalings;
const names = Object.keys(divisors);
const n = scores.length;

/** From a tenth to ten times, by tenths of a decade. */
const LENGTHS = Array.from({ length: 21 }, (_, i) => Number((10 ** (i / 10 - 1)).toPrecision(2)));

/** A divisor where keys are a times as long. */
const sizeAt = (a, name) => divisors[name].size * (divisors[name].grows ? a : 1);

/** The weights there: every score is a times as large, too. */
const weightsAt = (a, name) => softmax(scores, sizeAt(a, name) / a);

const keysAt = (a, name) => effectiveKeys(weightsAt(a, name));

const longer = (a) => (a === 1 ? "as drawn" : a === 0.1 ? "a tenth as long" : `${a} times as long`);

export const scalings = {
  title: "Which divisors undo longer keys?",
  prompt: "Make the keys longer: which bars leave their marks?",
  hint: { target: "input" },
  controls: [
    {
      name: "a",
      label: "all keys",
      values: LENGTHS,
      value: 1,
      text: longer,
      marks: ["a tenth", "as drawn", "10 times"],
    },
  ],
  panelWidth: "8.5rem",
  panels: names.map((name) => [
    name,
    divisors[name].title,
    176,
    { left: 2, right: 2, top: 34, bottom: 38 },
  ]),
  update(app) {
    const { a } = app.state;
    names.forEach((name) => drawWeights(app.panels[name], name, a));
    return { said: verdict(a) };
  },
};

/** How many keys share the weight under each divisor, and which of these undo the length. */
function verdict(a) {
  const keys = (length) => names.map((name) => show(keysAt(length, name), 1));
  const [none, root, mean, total] = keys(a);
  if (a === 1)
    return `As drawn, ${root} of ${n} keys share the weight under the root, ${mean} under the mean, ${total} under the total, and ${none} undivided.`;
  const [noneBefore, before] = keys(1);
  const way = a > 1 ? "falls" : "rises";
  return `Only mean (still ${mean} of ${n} keys) and total (${total}, always nearly even) undo it; the root ${way} from ${before} to ${root}, undivided from ${noneBefore} to ${none}.`;
}

/** The divisor’s size; a bar for each weight, and a mark where it began; and how many keys these weights are. */
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
  const path = (what, d) =>
    layer(panel.svg, what, "path").attr("d", d).style("stroke", "var(--ex-ink)");
  const size = `÷ ${show2(sizeAt(a, name)).replace(/\.0$/, "")}`;
  write("size", left, 18, size).style("font-size", "15px").style("font-weight", 700);
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
  path("ground", `M${left},${ground}H${right}`);
  const drawn = weightsAt(1, name);
  const marks = drawn.map((w, j) => `M${x(j) - 2},${y(w)}h${x.bandwidth() + 4}`);
  path("marks", marks.join("")).style("stroke-width", 2);
  if (name === "sqrt_d_k") write("drawn", x(2), y(drawn[1]) + 4, "mark: as drawn");
  const keys = keysAt(a, name);
  const told = `${show(keys, 1)} of ${n} keys`;
  write("keys", left, ground + 17, told)
    .style("font-size", "14px")
    .style("font-weight", 700);
  // The same drawn: a strip with a cell for each key.
  const along = d3.scaleLinear([0, n], panel.xRange);
  layer(panel.svg, "filled", "rect")
    .attr("x", left)
    .attr("y", ground + 26)
    .attr("width", along(keys) - left)
    .attr("height", 9)
    .style("fill", colour(name));
  const cells = p.map((_, j) => `M${along(j)},${ground + 26}H${along(j + 1)}v9H${along(j)}Z`);
  path("cells", cells.join("")).style("fill", "none");
  panel.describe(`${size}: weights ${p.map((w) => w.toFixed(2)).join(", ")}: ${told}`);
}
