/** Dot products grow: the density of q·k, raw and divided by a power of d_k. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { powerControl } from "./scores.js";
import { axes, bar, fresh, rich, show, show3 } from "./shared.js";

/** Where the tables have a d_k. */
const place = (dK) => data.growth.d_k.indexOf(dK);

/** Stands in the place of the law until the reader has found the power. */
const QUESTION = "With which p does the bar of q·k / d_k^p keep its length when d_k changes?";

/** Whether the reader has seen the bar keep its length: p was one half at two d_k. */
function found({ state, memory }) {
  memory.steady ??= new Set();
  if (state.p === 0.5) memory.steady.add(state.d_k);
  return memory.steady.size > 1;
}

export const growth = {
  title: "Dot products, raw and divided by d_k^p",
  controls: [
    {
      name: "d_k",
      label: "d_k, components of a query and a key",
      values: data.growth.d_k,
      value: 4,
      text: String,
    },
    powerControl,
    {
      name: "components",
      label: "distribution of the components",
      options: data.distributions,
      value: "normal",
      below: true,
    },
  ],
  readouts: [
    ["raw_std", "std of q·k, raw"],
    ["std", "std, divided"],
    ["variance", "variance, divided"],
  ],
  panels: [
    ["raw", "q·k, raw", 180, { left: 46 }],
    ["divided", "q·k / d_k^p", 180, { left: 46 }],
  ],
  update(app) {
    const { d_k: dK, p } = app.state;
    const variance = dK ** (1 - 2 * p);
    const [rawStd, std] = [Math.sqrt(dK), Math.sqrt(variance)];
    drawDensity(app.panels.raw, app.state, 0, 30, "key");
    drawDensity(app.panels.divided, app.state, p, 7, "weights");
    const power = show(1 - 2 * p).replace(/\.?0+$/, "");
    app.formula.replaceChildren(
      found(app)
        ? rich(`Var(q·k / d_k^p) = d_k^{1 − 2p} = ${dK}^{${power}} = ${show3(variance)}`)
        : rich(QUESTION),
    );
    return {
      values: { raw_std: rawStd, std, variance },
      spoken: `Standard deviation ${show3(rawStd)} raw, ${show3(std)} divided; variance ${show3(variance)}.`,
    };
  },
};

/** What each panel shows, and what it showed before the last change. */
const shown = new WeakMap();

/** The panel's setting before the one that is drawn now; undefined at first. */
function previous(panel, setting) {
  const { now, before } = shown.get(panel) ?? {};
  if (now && Object.keys(setting).every((name) => setting[name] === now[name])) return before;
  shown.set(panel, { now: setting, before: now });
  return now;
}

/** The density of q·k / d_k^p as points; nothing where the components make a lattice of sums. */
function curve({ d_k: dK, p, components }, reach) {
  if (components === "rademacher") return undefined;
  const std = dK ** (0.5 - p);
  const inside = Math.min(reach, 5 * std);
  const heights = data.growth.density[components][place(dK)].map((height) => height / std);
  const grid = data.growth.grid.map((at) => at * std);
  const half = [...grid.filter((at) => at < inside), inside].map((at) => [
    at,
    d3.scaleLinear(grid, heights)(at),
  ]);
  return [...half.map(([at, height]) => [-at, height]).reverse(), ...half];
}

/** The density of q·k / d_k^p with a bar of plus and minus one standard deviation, beside the normal density of the same variance and, pale, the density before the last change. A bar that is longer than the axis ends in arrows. The axes stand still, so that the curve is seen to move; only where it becomes narrower than standard deviation 1 do the heights follow it. */
function drawDensity(panel, { d_k: dK, components }, p, reach, role) {
  const [c, std] = [dK ** p, dK ** (0.5 - p)];
  const x = d3.scaleLinear([-reach, reach], panel.xRange);
  const raw = role === "key";
  const highest = (raw ? 0.3 : 0.6) / Math.min(1, std);
  const y = d3.scaleLinear([0, highest], panel.yRange);
  axes(panel, { x, y, yLabel: "density", xLabel: raw ? "q·k" : "q·k, divided", yTicks: 4 });
  const setting = { d_k: dK, p, components };
  const before = previous(panel, setting);
  const ghost = fresh(panel.svg, "ghost");
  const group = fresh(panel.svg, "densities");
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  const inside = Math.min(reach, 5 * std);
  const normal = (at) => Math.exp(-((at / std) ** 2) / 2) / (std * Math.sqrt(2 * Math.PI));
  const limited = (at) => Math.max(top, y(at));
  const line = d3.line(
    (point) => x(point[0]),
    (point) => limited(point[1]),
  );
  const past = before && curve(before, reach);
  if (past) {
    ghost
      .append("path")
      .attr("d", line(past))
      .style("fill", "none")
      .style("stroke", colour(role))
      .style("stroke-width", 1.5)
      .style("opacity", 0.35);
  }
  if (components === "rademacher") {
    const heights = data.growth.density[components][place(dK)].map((height) => height / std);
    const sums = heights.flatMap((height, i) =>
      [-1, 1].map((sign) => [(sign * (2 * i + (dK % 2))) / c, height]),
    );
    for (const [sum, height] of sums.filter(([at]) => Math.abs(at) <= reach)) {
      const stick = group
        .append("line")
        .attr("x1", x(sum))
        .attr("x2", x(sum))
        .attr("y1", bottom)
        .attr("y2", limited(height));
      stick
        .style("stroke", colour(role))
        .style("stroke-width", Math.max(1.2, Math.min(4, (x(2 / c) - x(0)) * 0.6)));
    }
  } else {
    const points = curve(setting, reach);
    group
      .append("path")
      .attr(
        "d",
        d3.area(
          (point) => x(point[0]),
          bottom,
          (point) => limited(point[1]),
        )(points),
      )
      .style("fill", colour(role))
      .style("opacity", 0.18);
    group
      .append("path")
      .attr("d", line(points))
      .style("fill", "none")
      .style("stroke", colour(role))
      .style("stroke-width", 2);
  }
  if (
    components !== "rademacher" &&
    data.growth.density[components][place(dK)][0] / std > highest
  ) {
    group
      .append("text")
      .attr("class", "rim")
      .attr("x", x(0) + 8)
      .attr("y", top + 34)
      .text("higher at 0");
  }
  const reference = Array.from({ length: 121 }, (_, i) => (inside * (i - 60)) / 60).map((at) => [
    at,
    normal(at),
  ]);
  group
    .append("path")
    .attr("d", line(reference))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 1.2)
    .style("stroke-dasharray", "4 3");
  const level = top + 6;
  const [from, to] = [Math.max(left, x(-std)), Math.min(right, x(std))];
  const leaves = std > reach;
  bar(group, from, to, level, leaves);
  const beside = to + 6 + 70 < right;
  const text = group
    .append("text")
    .attr("class", "rim")
    .attr("x", beside ? to + 6 : right)
    .attr("y", beside ? level + 4 : level + 18);
  text.attr("text-anchor", beside ? "start" : "end").text(`±${show3(std)}`);
  panel.describe(
    `Density of the ${raw ? "raw" : "divided"} dot product, from −${reach} to ${reach}: standard deviation ${show3(std)}${leaves ? ", so that its bar leaves the axis on both sides" : ""}. Dashed, the normal density of the same variance; pale, the density before the last change.`,
  );
}
