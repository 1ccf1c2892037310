/** How many keys have half of a row's weight, in rows of three lengths, while the spread of the scores grows. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour } from "../_shared/data.js";
import { bar, fresh, rule, say, show2, showCount } from "../_shared/shared.js";

const { n: lengths, sigma: sigmas, keys, gathered, half } = data.phases;
const [least, most] = [sigmas[0], sigmas.at(-1)];

export const phases = {
  title: "Does a longer row blend more keys?",
  prompt: "Raise σ from 1, divided, to 8, undivided: do longer rows still need more keys?",
  hint: { target: "input" },
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
  ],
  panelWidth: "100%",
  panels: [
    [
      "rows",
      "a slice for each key, the heaviest first",
      290,
      { left: 2, right: 2, top: 22, bottom: 0 },
    ],
  ],
  update(app) {
    const { sigma } = app.state;
    const at = sigmas.indexOf(sigma);
    const rows = lengths.map((n, i) => {
      const share = d3.scaleLog([0.5, ...keys.filter((k) => k <= n)], [0, ...gathered[i][at]]);
      return { n, count: half[i][at], share };
    });
    drawRows(app.panels.rows, rows);
    return { sentence: answer(rows) };
  },
};

/** Whether the longest row needs more keys than the shortest for half of the weight. */
function answer(rows) {
  const [shortest, longest] = [rows[0], rows.at(-1)];
  if (longest.count === 1) return "No: in all three rows one key has most of the weight.";
  const verdict = longest.count > 10 * shortest.count ? "Yes" : "Hardly";
  return `${verdict}: half of the weight takes ${showCount(shortest.count)} of ${shortest.n} keys, and ${showCount(longest.count)} of ${showCount(longest.n)}.`;
}

/** A bar for each row, cut into slices, which are strong as far as half of the weight, and dotted where too thin to draw; over it the row's length, and under it how many they are. */
function drawRows(panel, rows) {
  const group = fresh(panel.svg, "rows");
  const [left, right] = panel.xRange;
  const x = d3.scaleLinear([0, 1], [left, right]);
  const wide = right - left > 450;
  const [bottom, top] = panel.yRange;
  const apart = (bottom - top) / rows.length;
  const high = apart - 63;
  const ink = colour("weights");
  const block = (from, to, y, opacity) =>
    group
      .append("rect")
      .attr("x", x(from))
      .attr("width", x(to) - x(from))
      .attr("y", y)
      .attr("height", high)
      .style("fill", ink)
      .style("opacity", opacity);
  const dots = (from, to, y, opacity) =>
    x(to) - x(from) > 3 &&
    group
      .append("path")
      .attr(
        "d",
        Array.from(
          { length: (high - 2) / 3 },
          (_, i) => `M${x(from) + 1 + 2 * (i % 2)},${y + 3 + 3 * i}H${x(to)}`,
        ).join(""),
      )
      .style("stroke", ink)
      .style("stroke-width", 1.4)
      .style("stroke-dasharray", "1.4 2.6")
      .style("opacity", opacity);
  rows.forEach(({ n, count, share }, i) => {
    const y = top + 24 + apart * i;
    const end = share(count);
    block(0, end, y, 0.6);
    block(end, 1, y, 0.2);
    // Every second slice is darker, the less so the thinner it is.
    let drawn = 0;
    for (let k = 1; k <= n; k += 2) {
      const [from, to] = [k > 1 ? share(k - 1) : 0, share(k)];
      const width = x(to) - x(from);
      if (width < 2) break;
      block(from, to, y, (k > count ? 0.25 : 1) * Math.min(1, width / 4));
      drawn = share(Math.min(n, k + 1));
    }
    dots(drawn, end, y, 1);
    dots(Math.max(drawn, end), 1, y, 0.4);
    const write = (text, at, level, anchor) => say(group, text, at, level, anchor);
    write(`row of ${showCount(n)} keys`, left, y - 7, "start").style("font-weight", 700);
    if (i === rows.length - 1 && x(1) - x(drawn) > 140)
      write("slices too thin to draw", right, y - 7, "end");
    rule(group, [x(0.5), y - (i ? 4 : 26)], [x(0.5), y + high + 12], "var(--ex-ink)")
      .style("stroke-width", 1.5)
      .style("stroke-dasharray", "4 3");
    bar(group.append("path"), left + 1, x(end), y + high + 8).style("stroke", ink);
    write(
      count === 1
        ? `1 key has ${Math.round(100 * end)}\u00a0%`
        : `${showCount(count)} keys reach half`,
      left,
      y + high + 27,
      "start",
    )
      .style("font-size", wide ? "17px" : "15px")
      .style("font-weight", 700)
      .style("fill", lettersColour("weights"));
  });
  say(group, "half of the weight", x(0.5), top - 6, "middle");
  panel.describe(
    `A bar for each row, the mean of many: ${rows.map(({ n, count, share }) => `of ${showCount(n)} keys the heaviest has ${share(1).toFixed(3)} of the weight, and ${showCount(count)} have ${share(count).toFixed(3)}`).join("; ")}.`,
  );
}
