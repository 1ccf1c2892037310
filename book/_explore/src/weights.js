/** What the explorables of one row draw of it: its weights, and the Jacobian. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { axes, fresh, richAxisLabel, show } from "./shared.js";

/** A place for each of n keys. */
export const keyScale = (panel, n) =>
  d3
    .scaleBand(
      Array.from({ length: n }, (_, j) => j),
      panel.xRange,
    )
    .padding(0.3);

/** Weights as bars with their numbers; `name`, `text` and `tick` say how keys, weights and those of the axis are written. */
export function drawWeights(panel, p, name, text, tick) {
  const x = keyScale(panel, p.length);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, { x, y, xFormat: name, yFormat: tick, xTicks: x.domain() });
  panel.describe(`Weights ${p.map((w) => show(w)).join(", ")}`);
  const bars = fresh(panel.svg, "bars");
  p.forEach((w, j) => {
    bars
      .append("rect")
      .attr("x", x(j))
      .attr("width", x.bandwidth())
      .attr("y", y(w))
      .attr("height", y(0) - y(w))
      .style("fill", colour("weights"));
    bars
      .append("text")
      .attr("class", "rim")
      .attr("x", x(j) + x.bandwidth() / 2)
      .attr("y", y(w) - 5)
      .attr("text-anchor", "middle")
      .text(text(w));
  });
}

/** How dark an entry is: from 0 to 1 for 1/4, the largest that one can be. */
const shareOfRoot = (entry) => Math.min(1, Math.sqrt(Math.abs(entry) / 0.25));

/** Cells from -1/4 to 1/4: orange below 0, purple above, pale near it. */
export function drawJacobian(panel, entries, text, shareOf = shareOfRoot) {
  const n = entries.length;
  const height = panel.yRange[0] - panel.yRange[1];
  const width = Math.min(panel.xRange[1] - panel.xRange[0], 1.6 * height);
  const [x, y] = [width, height].map((size) =>
    d3
      .scaleBand(
        Array.from({ length: n }, (_, j) => j),
        [0, size],
      )
      .padding(0.04),
  );
  const group = fresh(panel.svg, "cells").attr(
    "transform",
    `translate(${panel.margin.left},${panel.margin.top})`,
  );
  entries.forEach((row, i) => {
    const name = (text, at, level, anchor) =>
      richAxisLabel(group, text, at, level).attr("text-anchor", anchor);
    name(`z_${i + 1}`, x(i) + x.bandwidth() / 2, height + 16, "middle");
    name(`p_${i + 1}`, -6, y(i) + y.bandwidth() / 2 + 4, "end");
    row.forEach((entry, j) => {
      const cell = group
        .append("rect")
        .attr("class", "cell")
        .attr("x", x(j))
        .attr("y", y(i))
        .attr("width", x.bandwidth())
        .attr("height", y.bandwidth());
      const share = Math.round(40 * shareOf(entry));
      cell.style(
        "fill",
        `color-mix(in srgb, ${colour(entry < 0 ? "key" : "weights")} ${share}%, var(--ex-panel))`,
      );
      group
        .append("text")
        .attr("x", x(j) + x.bandwidth() / 2)
        .attr("y", y(i) + y.bandwidth() / 2 + 4)
        .attr("text-anchor", "middle")
        .text(text(entry));
    });
  });
  const rows = entries.map(
    (row, i) => `row ${i + 1}: ${row.map((entry) => show(entry, 3)).join(", ")}`,
  );
  panel.describe(`Jacobian of the weights by the scores, ${rows.join("; ")}`);
}
