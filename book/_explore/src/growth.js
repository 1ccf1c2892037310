/** Dot products grow: sums that walk, raw and divided by a power of d_k, and the densities of their ends. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { makeGenerator, sample } from "./math.js";
import { powerControl } from "./scores.js";
import { axes, bar, fresh, layer, point, rule, say, show, show3, textLine } from "./shared.js";

const dims = data.growth.d_k;

/** Where the tables have a d_k. */
const place = (dK) => dims.indexOf(dK);

const PAIRS = 30;

/** Stands in the place of the law until the reader has found the power. */
const QUESTION = "With which p does the bar of q·k / d_k^p keep its length when d_k changes?";

/** The d_k at which the reader has seen p = one half: two of them, and the bar has kept its length. */
function steadyAt({ state, memory }) {
  memory.steady ??= new Set();
  if (state.p === 0.5) memory.steady.add(state.d_k);
  return [...memory.steady].sort((a, b) => a - b);
}

/** What p does to the bar between the least and the largest d_k that the reader has visited. */
function compare({ state: { p }, memory }) {
  const [low, high] = [Math.min(...memory.visited), Math.max(...memory.visited)];
  if (low === high) return "";
  if (p === 0.5) return "Its dots lie level: move d_k to confirm.";
  const [first, last] = [low, high].map((dK) => show3(dK ** (0.5 - p)));
  return `±${first} at d_k = ${low}, ±${last} at ${high}: the bar ${p < 0.5 ? "grows" : "shrinks"}.`;
}

/** For every pair its sums q_1 k_1 + ... + q_i k_i, from none of the terms to all. */
function walks({ state: { components }, memory }) {
  memory.walks ??= {};
  memory.walks[components] ??= Array.from({ length: PAIRS }, (_, pair) => {
    const uniform = makeGenerator(pair);
    const [query, key] = [0, 1].map(() => sample(dims.at(-1), components, uniform));
    let sum = 0;
    return [0, ...Array.from(query, (x, i) => (sum += x * key[i]))];
  });
  return memory.walks[components];
}

export const growth = {
  title: "Why do dot products spread?",
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
  readouts: [],
  panels: [
    [
      "raw",
      "q·k, raw: 30 pairs, a term at a time",
      152,
      { left: 34, top: 22, bottom: 22, right: 6 },
    ],
    ["divided", "q·k / d_k^p, the same pairs", 152, { left: 34, top: 22, bottom: 22, right: 6 }],
    ["spread", "std of q·k / d_k^p, where you have been", 130, { left: 52, top: 8 }],
  ],
  forget({ memory }) {
    memory.pinned = undefined;
    memory.steady = undefined;
    memory.visited = undefined;
  },
  update(app) {
    const { d_k: dK, p, components } = app.state;
    const variance = dK ** (1 - 2 * p);
    const [rawStd, std] = [Math.sqrt(dK), Math.sqrt(variance)];
    const { pinned } = pin(app);
    const steady = steadyAt(app);
    const found = steady.length > 1;
    drawSums(app, app.panels.raw, 0, pinned);
    drawSums(app, app.panels.divided, p, pinned);
    drawSpread(app, found);
    const power = show(1 - 2 * p).replace(/\.?0+$/, "");
    const seen =
      found && p === 0.5
        ? `±1.00 at d_k = ${steady.join(", ").replace(/, (\d+)$/, " and $1")}: the bar stays${components === "normal" ? "" : ", with these components, too"}.`
        : compare(app);
    const law = `Var(q·k / d_k^p) = d_k^{1 − 2p} = ${dK}^{${power}} = ${show3(variance)}`;
    const sentences = found ? [seen, law] : [QUESTION, seen].filter(Boolean);
    app.formula.replaceChildren(...sentences.map(textLine));
    return {
      values: {},
      spoken:
        `Standard deviation ${show3(rawStd)} raw, ${show3(std)} divided; variance ${show3(variance)}. ${seen}`
          .replaceAll("_", " ")
          .trim(),
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

/** The density of q·k / d_k^p on a half of its points; or the heights of the lattice that ±1 makes. */
function density({ d_k: dK, p, components }) {
  const heights = data.growth.density[components][place(dK)];
  const unit = dK ** (0.5 - p);
  const at =
    components === "rademacher"
      ? heights.map((_, i) => (2 * i + (dK % 2)) / dK ** p)
      : data.growth.grid.map((x) => x * unit);
  return heights.map((height, i) => [at[i], height / heights[0]]);
}

/** The sums of some pairs, walking from 0 to q·k / d_k^p, and beside their ends the density, its peak as wide as there is room, and the bar of plus and minus one standard deviation. The axis stands still: what is farther out leaves the frame, and a bar that is longer ends in arrows. Pale, the density and the bar at the pinned setting. */
function drawSums(app, panel, p, pinned) {
  const { d_k: dK, components } = app.state;
  const raw = panel === app.panels.raw;
  const [reach, role] = raw ? [36, "key"] : [6, "weights"];
  const [left, right] = panel.xRange;
  const y = d3.scaleLinear([-reach, reach], panel.yRange);
  const [bottom, top] = y.range();
  const end = left + 0.62 * (right - left);
  const x = d3.scaleLinear([0, dK], [left, end]);
  axes(panel, {
    x,
    y,
    xTicks: [0, dK],
    xFormat: (terms) => (terms ? `${terms} ${terms > 1 ? "terms" : "term"}` : "0"),
    yTicks: [-reach, -reach / 2, 0, reach / 2, reach],
    yFormat: (at) => String(at).replace("-", "−"),
  });
  const name = `growth-${raw ? "raw" : "divided"}`;
  layer(layer(panel.svg, "window", "clipPath").attr("id", name), "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", right - left)
    .attr("height", bottom - top);
  const [fan, group, notes] = ["fan", "densities", "notes"].map((of) => fresh(panel.svg, of));
  for (const drawn of [fan, group]) drawn.attr("clip-path", `url(#${name})`);
  const c = dK ** p;
  walks(app).forEach((sums, pair) => {
    const way = sums.slice(0, dK + 1).map((sum, terms) => [x(terms), y(sum / c)]);
    const bold = pair === 0;
    fan
      .append("path")
      .attr("d", d3.line()(way))
      .style("fill", "none")
      .style("stroke", bold ? "var(--ex-ink)" : colour(role))
      .style("stroke-width", bold ? 1.5 : 1)
      .style("opacity", bold ? 1 : 0.35);
    point(fan, ...way.at(-1), 2.5, bold ? "var(--ex-ink)" : colour(role)).style("opacity", 0.8);
  });
  const base = end + 6;
  const widest = right - base - 26;
  const drawDensity = (state, past) => {
    const opacity = past ? 0.35 : 1;
    const half = density(state);
    if (state.components === "rademacher") {
      const thick = Math.max(1, Math.min(4, 0.6 * (y(0) - y(2 / state.d_k ** state.p))));
      for (const [at, height] of half)
        for (const sign of at ? [-1, 1] : [1])
          rule(group, [base, y(sign * at)], [base + height * widest, y(sign * at)], colour(role))
            .style("stroke-width", thick)
            .style("opacity", opacity);
      return;
    }
    const both = [...half.map(([at, height]) => [-at, height]).reverse(), ...half];
    const outline = both.map(([at, height]) => [base + height * widest, y(at)]);
    group
      .append("path")
      .attr("d", d3.line()(outline))
      .style("fill", past ? "none" : colour(role))
      .style("fill-opacity", 0.18)
      .style("stroke", colour(role))
      .style("stroke-width", past ? 1.5 : 2)
      .style("opacity", opacity);
  };
  const upright = notes.append("g").attr("transform", "rotate(90)");
  const drawBar = (power, dK, at, opacity) => {
    const std = dK ** (0.5 - power);
    bar(
      upright.append("path"),
      Math.max(top, y(std)),
      Math.min(bottom, y(-std)),
      -at,
      std > reach,
    ).style("opacity", opacity);
  };
  if (pinned) {
    const past = { ...pinned, p: raw ? 0 : pinned.p };
    drawDensity(past, true);
    drawBar(past.p, past.d_k, right - 4, 0.35);
  }
  drawDensity({ d_k: dK, p, components }, false);
  drawBar(p, dK, right - 14, 1);
  const std = dK ** (0.5 - p);
  say(notes, `±${show3(std)}`, right, top - 8, "end").style("font-weight", 700);
  panel.describe(
    `Thirty sums of ${dK} terms, ${raw ? "raw" : "divided"}, and the density of their ends, from −${reach} to ${reach}: standard deviation ${show3(std)}${std > reach ? ", so that its bar leaves the axis on both sides" : ""}. Pale, the density and the bar when the control was taken.`,
  );
}

/** The standard deviation of q·k / d_k^p at every d_k that the reader has visited; and the level of 1, once it has been found that one p keeps them there. */
function drawSpread({ panels: { spread: panel }, state: { d_k: dK, p }, memory }, found) {
  memory.visited ??= new Set();
  memory.visited.add(dK);
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
  const group = fresh(panel.svg, "visited");
  if (found)
    rule(group, [x(1), y(1)], [x(dims.at(-1)), y(dims.at(-1) ** (0.5 - p))], colour("weights"))
      .style("stroke-width", 2)
      .style("opacity", 0.5);
  const visited = [...memory.visited].sort((a, b) => a - b);
  for (const at of visited)
    point(group, x(at), y(at ** (0.5 - p)), at === dK ? 5 : 3.5, colour("weights"));
  panel.describe(
    `Standard deviation of q·k over d_k to the power ${show(p)}, at the d_k visited, both axes logarithmic: ${visited.map((at) => `${show3(at ** (0.5 - p))} at ${at}`).join(", ")}.`,
  );
}
