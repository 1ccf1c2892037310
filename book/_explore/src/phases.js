/** The two phases: how many keys have half of a row's weight, in rows of three lengths, while the spread of the scores grows. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import * as math from "./math.js";
import { bar, fresh, rule, say, show2, showCount } from "./shared.js";

const { n: lengths, sigma: sigmas, keys, gathered, half } = data.phases;

export const phases = {
  title: "How many keys share half of a row’s weight?",
  prompt: "Raise the spread of the scores, and see how many keys of each row still have half.",
  hint: { target: "input" },
  controls: [
    {
      name: "sigma",
      label: "spread of the scores, σ",
      values: sigmas,
      value: 1,
      text: show2,
      marks: ["1: heads of 64, divided by √64", "8: undivided"],
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "rows",
      "each bar is all of a row’s weight, on average: a slice for each key, the heaviest first",
      290,
      { left: 2, right: 2, top: 22, bottom: 0 },
    ],
  ],
  update(app) {
    const at = sigmas.indexOf(app.state.sigma);
    const rows = lengths.map((n, i) => {
      const border = math.criticalSigma(n);
      const share = d3.scaleLog([0.5, ...keys.filter((k) => k <= n)], [0, ...gathered[i][at]]);
      return { n, count: half[i][at], share, border, past: sigmas[at] > border };
    });
    drawRows(app.panels.rows, rows);
    return { said: answer(rows) };
  },
};

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

/** Whether more keys have half of the weight where a row is longer, and how many. */
function answer(rows) {
  const told = (what) => rows.map((row) => `${what(row)}\u00a0${showCount(row.n)}`);
  if (rows.at(-1).count === 1) {
    const [first, ...others] = told(({ share }) => `${percent(share(1))} among`);
    return `One, however long the row: on average the heaviest key has ${first} keys, ${others.join(" and ")}.`;
  }
  const past = rows.filter((row) => row.past).length;
  const start =
    past === rows.length
      ? "Few, however long the row"
      : past
        ? "Few where the row is past its border, more where it is longer"
        : "The longer the row, the more";
  const [first, ...others] = told(({ count }) => `${showCount(count)} of`);
  return `${start}: on average half or more lies on ${first} keys, ${others.join(" and ")}.`;
}

/** A bar for each row, cut into slices, which are strong as far as half of the weight; over it the row's length, and under it how many they are. */
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
  rows.forEach(({ n, count, share, border, past }, i) => {
    const y = top + 24 + apart * i;
    const end = share(count);
    block(0, end, y, 0.6);
    block(end, 1, y, 0.2);
    // Every second slice is darker, the less so the thinner it is.
    for (let k = 1; k <= n; k += 2) {
      const [from, to] = [k > 1 ? share(k - 1) : 0, share(k)];
      const width = x(to) - x(from);
      if (width < 1) break;
      block(from, to, y, (k > count ? 0.25 : 1) * Math.min(1, width / 4));
    }
    const write = (text, at, level, anchor) => say(group, text, at, level, anchor);
    write(`row of ${showCount(n)} keys`, left, y - 7, "start").style("font-weight", 700);
    if (past)
      write(
        `past its border, σ = ${show2(border)}${wide ? ": few keys suffice" : ""}`,
        right,
        y - 7,
        "end",
      );
    bar(group.append("path"), left + 1, x(end), y + high + 8).style("stroke", ink);
    write(
      count === 1 ? `1 key has ${percent(end)}` : `${showCount(count)} keys have half`,
      left,
      y + high + 27,
      "start",
    )
      .style("font-size", wide ? "17px" : "15px")
      .style("font-weight", 700)
      .style("fill", lettersColour("weights"));
  });
  rule(group, [x(0.5), top - 2], [x(0.5), top + 24 + 2 * apart + high], "var(--ex-ink)")
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "4 3");
  say(group, "half of the weight", x(0.5), top - 6, "middle");
  panel.describe(
    `A bar for each row, the mean of many: ${rows.map(({ n, count, share }) => `of ${showCount(n)} keys the heaviest has ${share(1).toFixed(3)} of the weight, and ${showCount(count)} have ${share(count).toFixed(3)}`).join("; ")}.`,
  );
}
