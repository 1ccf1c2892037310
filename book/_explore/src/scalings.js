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

const longer = (a) => (a === 1 ? "as drawn" : a === 0.1 ? "a tenth" : `${a} times`);

export const scalings = {
  title: "Which divisors undo longer keys?",
  prompt: "Make the keys longer: which bars leave their marks?",
  hint: { target: "input" },
  controls: [
    {
      name: "a",
      label: `length of the query’s ${n} keys`,
      values: LENGTHS,
      value: 1,
      text: longer,
    },
  ],
  panelWidth: "8.5rem",
  panels: [
    ["keys", "", 80, { left: 2, right: 14 }],
    ...names.map((name) => [
      name,
      divisors[name].title,
      146,
      { left: 2, right: 2, top: 34, bottom: 24 },
    ]),
  ],
  update(app) {
    const { a } = app.state;
    drawKeys(app.panels.keys, a);
    names.forEach((name) => drawWeights(app.panels[name], name, a));
    return { said: verdict(a) };
  },
};

/** How many keys share the weight under each divisor, and which of these undo the length. */
function verdict(a) {
  const keys = (length) => names.map((name) => show(keysAt(length, name), 1));
  const [none, root, mean, total] = keys(a);
  if (a === 1)
    return `As drawn, the root lets ${root} of ${n} keys share the weight, the mean ${mean}, the total ${total}; undivided, ${none} do.`;
  const [noneBefore, before] = keys(1);
  const way = a > 1 ? "falls" : "rises";
  return `Mean (${mean} of ${n} keys) and total (${total}) undo it; the root ${way} from ${before} to ${root}, undivided from ${noneBefore} to ${none}.`;
}

/** The keys as arrows of their lengths, marks where these were drawn, and their mean length. */
function drawKeys(panel, a) {
  const x = d3.scaleLinear([0, LENGTHS.at(-1) * Math.max(...lengths)], panel.xRange);
  const group = fresh(panel.svg, "keys");
  const level = (j) => 24 + 7 * j;
  const mean = x(sizeAt(a, "k_mean"));
  lengths.forEach((length, j) =>
    arrow(group, [x(0), level(j)], [x(a * length), level(j)], colour("key"), 2.5),
  );
  lengths.forEach((length, j) =>
    rule(group, [x(length), level(j) - 4], [x(length), level(j) + 4], "var(--ex-ink)").style(
      "stroke-width",
      2,
    ),
  );
  rule(group, [mean, 18], [mean, level(n - 1) + 6], colour("k_mean")).style("stroke-width", 2);
  const far = mean > panel.width / 2;
  say(group, `mean length ${show2(sizeAt(a, "k_mean"))}`, mean, 13, far ? "end" : "start")
    .style("fill", lettersColour("k_mean"))
    .style("font-weight", 700);
  const marked = far ? [x(0), 13] : [Math.max(x(lengths[0]), x(a * lengths[0])) + 16, level(n / 2)];
  say(group, "mark: as drawn", ...marked, "start");
  panel.describe(`The keys’ lengths: ${lengths.map((length) => show2(a * length)).join(", ")}.`);
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
  const keys = keysAt(a, name);
  const told = `${show(keys, 1)} of ${n} keys`;
  write("keys", left, ground + 17, told)
    .style("font-size", "14px")
    .style("font-weight", 700);
  panel.describe(`${size}: weights ${p.map((w) => w.toFixed(2)).join(", ")}: ${told}`);
}
