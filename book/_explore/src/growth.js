/** Dot products grow: sums that walk, a term at a time, and the densities of their ends. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { makeGenerator, sample } from "./math.js";
import { axes, bar, fresh, layer, point, rule, say, show3, textLine } from "./shared.js";

const dims = data.growth.d_k;

/** Where the tables have a d_k. */
const place = (dK) => dims.indexOf(dK);

const PAIRS = 30;
const REACH = 48; // of the axis, which stands still: what is farther out leaves the frame

/** Of undivided dot products of d_k components. */
const stdOf = (dK) => Math.sqrt(dK);

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
      "sums",
      "q·k, undivided: 30 pairs, a term at a time",
      250,
      { left: 34, top: 22, bottom: 22, right: 6 },
    ],
  ],
  forget({ memory }) {
    memory.pinned = undefined;
  },
  update(app) {
    const { pinned } = pin(app);
    drawSums(app, pinned);
    const sentences = [told(app.state), pinned ? compared(app.state, pinned) : ""].filter(Boolean);
    app.formula.replaceChildren(...sentences.map(textLine));
    return { values: {}, spoken: sentences.join(" ") };
  },
};

/** Keeps the setting at which the reader took hold of a control: what changes is compared with it. */
function pin({ controls, state, memory }) {
  if (!memory.watched) {
    memory.watched = true;
    for (const taken of ["pointerdown", "focusin"])
      controls.parentNode.addEventListener(taken, ({ target }) => {
        if (target.closest(".explorable-control")) memory.pinned = { ...state };
      });
  }
  return memory;
}

const told = ({ d_k: dK }) =>
  `With ${dK} component${dK > 1 ? "s" : ""} the standard deviation of q·k is ${show3(stdOf(dK))}.`;

/** What has changed since the reader took hold of the control. */
function compared({ d_k: dK, components }, pinned) {
  const [few, many] = [dK, pinned.d_k].sort((a, b) => a - b);
  if (few < many)
    return `From ${few} to ${many} there are ${many / few} times as many terms, and it is ${show3(stdOf(many) / stdOf(few))} times as large.`;
  return components === pinned.components
    ? ""
    : "Another distribution of the components leaves it as it was.";
}

/** The density of q·k on a half of its points; or the heights of the lattice that ±1 makes. */
function density({ d_k: dK, components }) {
  const heights = data.growth.density[components][place(dK)];
  const at =
    components === "rademacher"
      ? heights.map((_, i) => 2 * i + (dK % 2))
      : data.growth.grid.map((x) => x * stdOf(dK));
  return heights.map((height, i) => [at[i], height / heights[0]]);
}

/** The sums of some pairs, walking from 0 to q·k, and beside their ends the density, its peak as wide as there is room, and the bar of plus and minus one standard deviation. Pale, the density and the bar at the pinned setting. */
function drawSums(app, pinned) {
  const panel = app.panels.sums;
  const dK = app.state.d_k;
  const ink = colour("key");
  const [left, right] = panel.xRange;
  const y = d3.scaleLinear([-REACH, REACH], panel.yRange);
  const [bottom, top] = y.range();
  const end = left + 0.62 * (right - left);
  const x = d3.scaleLinear([0, dK], [left, end]);
  axes(panel, {
    x,
    y,
    xTicks: [0, dK],
    xFormat: (terms) => (terms ? `${terms} ${terms > 1 ? "terms" : "term"}` : "0"),
    yTicks: [-REACH, -REACH / 2, 0, REACH / 2, REACH],
    yFormat: (at) => String(at).replace("-", "−"),
  });
  layer(layer(panel.svg, "window", "clipPath").attr("id", "growth-window"), "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", right - left)
    .attr("height", bottom - top);
  const [fan, group, notes] = ["fan", "densities", "notes"].map((of) => fresh(panel.svg, of));
  for (const drawn of [fan, group]) drawn.attr("clip-path", "url(#growth-window)");
  walks(app).forEach((sums, pair) => {
    const way = sums.slice(0, dK + 1).map((sum, terms) => [x(terms), y(sum)]);
    const bold = pair === 0;
    fan
      .append("path")
      .attr("d", d3.line()(way))
      .style("fill", "none")
      .style("stroke", bold ? "var(--ex-ink)" : ink)
      .style("stroke-width", bold ? 1.5 : 1)
      .style("opacity", bold ? 1 : 0.35);
    point(fan, ...way.at(-1), 2.5, bold ? "var(--ex-ink)" : ink).style("opacity", 0.8);
  });
  const base = end + 6;
  const widest = right - base - 26;
  const drawDensity = (state, past) => {
    const opacity = past ? 0.35 : 1;
    const half = density(state);
    if (state.components === "rademacher") {
      const thick = Math.max(1, Math.min(4, 0.6 * (y(0) - y(2))));
      for (const [at, height] of half)
        for (const sign of at ? [-1, 1] : [1])
          rule(group, [base, y(sign * at)], [base + height * widest, y(sign * at)], ink)
            .style("stroke-width", thick)
            .style("opacity", opacity);
      return;
    }
    const both = [...half.map(([at, height]) => [-at, height]).reverse(), ...half];
    const outline = both.map(([at, height]) => [base + height * widest, y(at)]);
    group
      .append("path")
      .attr("d", d3.line()(outline))
      .style("fill", past ? "none" : ink)
      .style("fill-opacity", 0.18)
      .style("stroke", ink)
      .style("stroke-width", past ? 1.5 : 2)
      .style("opacity", opacity);
  };
  const upright = notes.append("g").attr("transform", "rotate(90)");
  const drawBar = (std, at, opacity) =>
    bar(upright.append("path"), y(std), y(-std), -at).style("opacity", opacity);
  if (pinned) {
    drawDensity(pinned, true);
    drawBar(stdOf(pinned.d_k), right - 4, 0.35);
  }
  drawDensity(app.state, false);
  const std = stdOf(dK);
  drawBar(std, right - 14, 1);
  say(notes, `±${show3(std)}`, right, top - 8, "end").style("font-weight", 700);
  panel.describe(
    `Thirty sums of ${dK} ${dK > 1 ? "terms" : "term"} and the density of their ends, from −${REACH} to ${REACH}: standard deviation ${show3(std)}. Pale, the density and the bar when the control was taken.`,
  );
}
