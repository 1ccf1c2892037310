/** Dot products grow: the density of q·k, raw and divided by a power of d_k. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { powerControl } from "./scores.js";
import { axes, bar, fresh, layer, point, rich, rule, say, show, show3 } from "./shared.js";

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
    ["raw", "q·k, raw", 162, { left: 52, top: 34 }],
    ["divided", "q·k / d_k^p", 162, { left: 52, top: 34 }],
    ["spread", "std of q·k / d_k^p at every d_k", 146, { left: 52, top: 8 }],
  ],
  forget({ memory }) {
    memory.pinned = undefined;
    memory.steady = undefined;
  },
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

/** The density of q·k / d_k^p with a bar of plus and minus one standard deviation above it, beside the normal density of the same variance and, pale, the density and the bar at the pinned setting. The axes stand still, so that the curve is seen to move: a bar that is longer than the axis ends in arrows, and a curve that is higher leaves the frame, with an arrow beside it. */
function drawDensity(panel, { d_k: dK, components }, p, pinned) {
  const [c, std] = [dK ** p, dK ** (0.5 - p)];
  const raw = panel.svg.node().parentNode.dataset.panel === "raw";
  const [reach, highest, role] = raw ? [30, 0.3, "key"] : [7, 0.6, "weights"];
  const x = d3.scaleLinear([-reach, reach], panel.xRange);
  const y = d3.scaleLinear([0, highest], panel.yRange);
  axes(panel, { x, y, yLabel: "density", xLabel: raw ? "q·k" : "q·k, divided", yTicks: 4 });
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  const frame = `growth-${raw ? "raw" : "divided"}`;
  const window = layer(panel.svg, "window", "clipPath").attr("id", frame);
  layer(window, "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", right - left)
    .attr("height", bottom - top);
  const [ghost, group] = ["ghost", "densities"].map((name) =>
    fresh(panel.svg, name).attr("clip-path", `url(#${frame})`),
  );
  const notes = fresh(panel.svg, "notes");
  const inside = Math.min(reach, 5 * std);
  const normal = (at) => Math.exp(-((at / std) ** 2) / 2) / (std * Math.sqrt(2 * Math.PI));
  const line = d3.line(
    (point) => x(point[0]),
    (point) => y(point[1]),
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
        .attr("y2", y(height));
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
          (point) => y(point[1]),
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
    say(notes, "↑ higher at 0", Math.min(x(std), x(reach / 2)) + 8, top + 14, "start");
  const level = top - 9;
  const drawBar = (std) => {
    const ends = [Math.max(left, x(-std)), Math.min(right, x(std))];
    return [bar(notes, ...ends, level, std > reach), ends];
  };
  const before = pinned && pinned.d_k ** (0.5 - (raw ? 0 : pinned.p));
  const [pale, [, ended]] = before ? drawBar(before) : [undefined, [0, 0]];
  pale?.style("opacity", 0.3);
  const [, [from, to]] = drawBar(std);
  const leaves = std > reach;
  const end = Math.max(to, ended);
  const text = `±${show3(std)}`;
  if (end + 50 < right) say(notes, text, end + 7, level + 4, "start");
  else say(notes, text, (from + to) / 2, level - 6, "middle");
  panel.describe(
    `Density of the ${raw ? "raw" : "divided"} dot product, from −${reach} to ${reach}: standard deviation ${show3(std)}${leaves ? ", so that its bar leaves the axis on both sides" : ""}. Dashed, the normal density of the same variance; pale, the density and the bar when the control was taken.`,
  );
}

/** The standard deviation of q·k / d_k^p at every d_k: level for one p alone, and for any other there is a wedge between it and the level of 1. Pale, the line of the pinned p. */
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
  const end = x(dims.at(-1));
  const wedge = [
    [x(1), y(1)],
    [end, y(1)],
    [end, y(dims.at(-1) ** (0.5 - p))],
  ];
  group
    .append("path")
    .attr("class", "wedge")
    .attr("d", `M${wedge.join("L")}Z`)
    .style("fill", colour("weights"))
    .style("opacity", 0.18);
  const draw = (power, opacity) =>
    rule(group, [x(1), y(1)], [end, y(dims.at(-1) ** (0.5 - power))], colour("weights"))
      .style("stroke-width", 2)
      .style("opacity", opacity);
  if (pinned && pinned.p !== p) draw(pinned.p, 0.35);
  draw(p, 1);
  point(group, x(dK), y(dK ** (0.5 - p)), 6, colour("weights"));
  panel.describe(
    `Standard deviation of q·k over d_k to the power ${show(p)}, against d_k, both axes logarithmic: ${dims.map((dims) => `${show3(dims ** (0.5 - p))} at ${dims}`).join(", ")}.`,
  );
}
