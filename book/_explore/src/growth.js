/** Dot products grow: the density of q·k, raw and divided by a power of d_k. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { powerControl } from "./scores.js";
import { axes, bar, fresh, point, rich, rule, say, show, show3 } from "./shared.js";

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
    ["raw", "q·k, raw", 168, { left: 52, top: 34 }],
    ["divided", "q·k / d_k^p", 168, { left: 52, top: 34 }],
    ["spread", "std of q·k / d_k^p at every d_k", 128, { left: 52, top: 8 }],
  ],
  update(app) {
    const { d_k: dK, p } = app.state;
    const variance = dK ** (1 - 2 * p);
    const [rawStd, std] = [Math.sqrt(dK), Math.sqrt(variance)];
    const { pinned } = pin(app);
    drawDensity(app.panels.raw, app.state, 0, pinned);
    drawDensity(app.panels.divided, app.state, p, pinned);
    drawSpread(app.panels.spread, dK, p, pinned);
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

/** Keeps the setting at which the reader took hold of a control: what changes is compared with it. */
function pin({ controls, state, memory }) {
  if (!memory.watched) {
    memory.watched = true;
    for (const taken of ["pointerdown", "focusin"])
      controls.addEventListener(taken, () => (memory.pinned = { ...state }));
  }
  return memory;
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

/** The density of q·k / d_k^p with a bar of plus and minus one standard deviation above it, beside the normal density of the same variance and, pale, the density at the pinned setting. The axes stand still, so that the curve is seen to move: a bar that is longer than the axis ends in arrows, and a curve that is higher has one, too. */
function drawDensity(panel, { d_k: dK, components }, p, pinned) {
  const [c, std] = [dK ** p, dK ** (0.5 - p)];
  const raw = panel.svg.node().parentNode.dataset.panel === "raw";
  const [reach, highest, role] = raw ? [30, 0.3, "key"] : [7, 0.6, "weights"];
  const x = d3.scaleLinear([-reach, reach], panel.xRange);
  const y = d3.scaleLinear([0, highest], panel.yRange);
  axes(panel, { x, y, yLabel: "density", xLabel: raw ? "q·k" : "q·k, divided", yTicks: 4 });
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
  const past = pinned && curve({ ...pinned, p: raw ? 0 : pinned.p }, reach);
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
    const points = curve({ d_k: dK, p, components }, reach);
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
  const peak = Math.max(data.growth.density[components][place(dK)][0] / std, normal(0));
  if (peak > highest)
    say(group, "↑ higher at 0", Math.min(x(std), x(reach / 2)) + 8, top + 14, "start");
  const level = top - 9;
  const [from, to] = [Math.max(left, x(-std)), Math.min(right, x(std))];
  const leaves = std > reach;
  bar(group, from, to, level, leaves);
  const beside = to + 50 < right;
  const text = `±${show3(std)}`;
  if (beside) say(group, text, to + 7, level + 4, "start");
  else say(group, text, (from + to) / 2, level - 6, "middle");
  panel.describe(
    `Density of the ${raw ? "raw" : "divided"} dot product, from −${reach} to ${reach}: standard deviation ${show3(std)}${leaves ? ", so that its bar leaves the axis on both sides" : ""}. Dashed, the normal density of the same variance; pale, the density when the control was taken.`,
  );
}

/** The standard deviation of q·k / d_k^p at every d_k: level for one p alone. Pale, the line of the pinned p. */
function drawSpread(panel, dK, p, pinned) {
  const dims = data.growth.d_k;
  const x = d3.scaleLog([1, dims.at(-1)], panel.xRange);
  const y = d3.scaleLog([0.03, 60], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: dims.filter((_, i) => i % 2 === 0),
    yTicks: [0.1, 1, 10],
    xFormat: String,
    yFormat: String,
    xLabel: "d_k",
  });
  const group = fresh(panel.svg, "line");
  const draw = (power, opacity) =>
    rule(group, [x(1), y(1)], [x(dims.at(-1)), y(dims.at(-1) ** (0.5 - power))], colour("weights"))
      .style("stroke-width", 2)
      .style("opacity", opacity);
  if (pinned && pinned.p !== p) draw(pinned.p, 0.35);
  draw(p, 1);
  const std = dK ** (0.5 - p);
  point(group, x(dK), y(std), 6, colour("weights"));
  const inside = Math.min(Math.max(x(dK), x(1) + 18), x(dims.at(-1)) - 16);
  say(group, show3(std), inside, y(std) - 11, "middle").style("font-weight", 700);
  panel.describe(
    `Standard deviation of q·k over d_k to the power ${show(p)}, against d_k, both axes logarithmic: ${dims.map((dims) => `${show3(dims ** (0.5 - p))} at ${dims}`).join(", ")}.`,
  );
}
