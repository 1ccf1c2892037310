/** How many keys have half of a row's weight, while the row gets longer, at any spread of its scores. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour } from "../_shared/data.js";
import { drawCursor } from "../_shared/handles.js";
import { axes, bar, fresh, layer, point, rule, say, show2, showCount } from "../_shared/shared.js";

const { n: lengths, sigma: sigmas, keys, gathered, half } = data.phases;
const [least, most] = [sigmas[0], sigmas.at(-1)];
const [shortest, longest] = [lengths[0], lengths.at(-1)];
const HIGH = 46; // px, of the bar

const length = {
  name: "n",
  spoken: "keys in the row",
  values: lengths,
  value: 1024,
  text: (n) => `${showCount(n)} keys`,
  drawn: true,
};

export const phases = {
  title: "Does a longer row blend more keys?",
  prompt: "Make the row longer by the line in the drawing, then raise the spread σ.",
  hint: { target: "[data-panel=curve] .explorable-handle" },
  controls: [
    {
      name: "sigma",
      label: "spread of the scores, σ",
      values: sigmas,
      value: least,
      text: (sigma) =>
        show2(sigma) + ({ [least]: ", divided", [most]: ", undivided" }[sigma] ?? ""),
      marks: [least, most],
    },
    length,
  ],
  panelWidth: "100%",
  panels: [
    ["curve", "keys that have half of the row’s weight", 250, { left: 48, right: 16, top: 34 }],
    [
      "row",
      "the row’s weight, a slice for each key, the heaviest first",
      106,
      { left: 2, right: 2, top: 22, bottom: 0 },
    ],
  ],
  update(app) {
    const at = sigmas.indexOf(app.state.sigma);
    const counts = half.map((row) => row[at]);
    const row = lengths.indexOf(app.state.n);
    const share = d3.scaleLog(
      [0.5, ...keys.filter((k) => k <= app.state.n)],
      [0, ...gathered[row][at]],
    );
    drawCurve(app, counts);
    drawRow(app.panels.row, app.state.n, counts[row], share);
    return { sentence: answer(app.state.n, counts[row], counts[0], counts.at(-1)) };
  },
};

/** How many keys have half of the weight, and how that number grows with the row. */
function answer(n, count, first, last) {
  const here =
    count === 1
      ? `One of ${showCount(n)} keys has more than half of the weight`
      : `Half of the weight takes ${showCount(count)} of ${showCount(n)} keys`;
  if (last === 1) return `${here}, and in a row of any length it is one.`;
  const grows = `${showCount(first)} to ${showCount(last)}`;
  return `${here}. From ${shortest} keys to ${showCount(longest)} the number grows ${last > 10 * first ? "" : "only "}from ${grows}.`;
}

/** The number of keys by the length of the row, beside one that grows as the row does; the reader moves the line. */
function drawCurve(app, counts) {
  const panel = app.panels.curve;
  const x = d3.scaleLog([shortest, longest], panel.xRange);
  const y = d3.scaleLog([0.8, longest / 2], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: panel.width < 450 ? [32, 1024, 32768] : [32, 256, 2048, 32768],
    yTicks: [1, 10, 100, 1000, 10000],
    xFormat: showCount,
    yFormat: showCount,
    xLabel: "keys in the row, n",
  });
  const ink = colour("weights");
  const behind = fresh(panel.svg, "behind");
  rule(
    behind,
    [x(shortest), y(shortest / 2)],
    [x(longest), y(longest / 2)],
    "var(--ex-muted)",
  ).style("stroke-dasharray", "4 4");
  say(behind, "half of all keys", x(shortest) + 6, y(8 * shortest) - 4, "start");
  const moving = layer(panel.svg, "moving").classed("glides", true);
  layer(moving, "counts", "path")
    .attr("d", d3.line((_, i) => x(lengths[i]), y)(counts))
    .style("fill", "none")
    .style("stroke", ink)
    .style("stroke-width", 3);
  const above = fresh(panel.svg, "above");
  const { n } = app.state;
  const count = counts[lengths.indexOf(n)];
  drawCursor(app, panel, above, length, x);
  point(above, x(n), y(count), 6, ink).style("stroke", "var(--ex-ground)");
  const left = x(n) < (x.range()[0] + x.range()[1]) / 2;
  say(above, showCount(count), x(n) + (left ? 12 : -12), y(count) + 18, left ? "start" : "end")
    .style("font-size", "15px")
    .style("font-weight", 700)
    .style("fill", lettersColour("weights"));
  panel.describe(
    `Keys that have half of the weight, by the length of the row: ${lengths.map((long, i) => `${showCount(counts[i])} of ${showCount(long)}`).join("; ")}.`,
    "group",
  );
}

/** A bar cut into slices, which are strong as far as half of the weight, and dotted where too thin to draw. */
function drawRow(panel, n, count, share) {
  const group = fresh(panel.svg, "row");
  const [left, right] = panel.xRange;
  const x = d3.scaleLinear([0, 1], [left, right]);
  const [, y] = panel.yRange;
  const ink = colour("weights");
  const block = (from, to, opacity) =>
    group
      .append("rect")
      .attr("x", x(from))
      .attr("width", x(to) - x(from))
      .attr("y", y)
      .attr("height", HIGH)
      .style("fill", ink)
      .style("opacity", opacity);
  const dots = (from, to, opacity) =>
    x(to) - x(from) > 3 &&
    group
      .append("path")
      .attr(
        "d",
        Array.from(
          { length: (HIGH - 2) / 3 },
          (_, i) => `M${x(from) + 1 + 2 * (i % 2)},${y + 3 + 3 * i}H${x(to)}`,
        ).join(""),
      )
      .style("stroke", ink)
      .style("stroke-width", 1.4)
      .style("stroke-dasharray", "1.4 2.6")
      .style("opacity", opacity);
  const end = share(count);
  block(0, end, 0.6);
  block(end, 1, 0.2);
  // Every second slice is darker, the less so the thinner it is.
  let drawn = 0;
  for (let k = 1; k <= n; k += 2) {
    const [from, to] = [k > 1 ? share(k - 1) : 0, share(k)];
    const width = x(to) - x(from);
    if (width < 2) break;
    block(from, to, (k > count ? 0.25 : 1) * Math.min(1, width / 4));
    drawn = share(Math.min(n, k + 1));
  }
  dots(drawn, end, 1);
  dots(Math.max(drawn, end), 1, 0.4);
  rule(group, [x(0.5), y - 4], [x(0.5), y + HIGH + 12], "var(--ex-ink)")
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "4 3");
  say(group, "half of the weight", x(0.5), y - 9, "middle");
  if (x(1) - x(drawn) > 140) say(group, "slices too thin to draw", right, y + HIGH + 26, "end");
  bar(group.append("path"), left + 1, x(end), y + HIGH + 8).style("stroke", ink);
  say(
    group,
    count === 1 ? `1 key has ${Math.round(100 * end)}\u00a0%` : `${showCount(count)} keys`,
    left,
    y + HIGH + 27,
    "start",
  )
    .style("font-weight", 700)
    .style("fill", lettersColour("weights"));
  panel.describe(
    `A bar, the mean of many rows of ${showCount(n)} keys: the heaviest has ${share(1).toFixed(3)} of the weight, and ${showCount(count)} have ${end.toFixed(3)}.`,
  );
}
