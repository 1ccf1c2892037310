/** Alternative scalings: what a divisor does with weights, evenness and gradient, beside the root. */
import * as d3 from "./d3.js";
import { colour, data, lookUp } from "./data.js";
import * as math from "./math.js";
import {
  addButtons,
  axes,
  element,
  fresh,
  marker,
  rich,
  richText,
  rule,
  say,
  show3,
} from "./shared.js";

/** The divisors that are compared, and what they are called. */
const { labels } = data.scalings;
const NAMES = Object.keys(labels);

/** Room for the longest name at the left of a panel. */
const margin = 14 + 7.4 * Math.max(...NAMES.map((name) => labels[name].length));

export const scalings = {
  title: "Alternative scalings: evenness and gradient",
  paired: true,
  controls: [
    {
      name: "rescaling",
      options: labels,
      value: "sqrt_d_k",
      drawn: true,
    },
    { name: "n", label: "n, keys", values: data.scalings.n, value: 32, text: String },
    { name: "d_k", label: "d_k", values: data.scalings.d_k, value: 64, text: String },
    {
      name: "components",
      label: "distribution of the components",
      options: data.distributions,
      value: "normal",
      below: true,
    },
  ],
  readouts: [
    ["divisor", "divisor, mean"],
    ["effective", "effective keys, 1/Σp²"],
    ["largest", "largest weight × n"],
    ["gradient", "gradient at q, median"],
  ],
  panelWidth: "13rem",
  panels: [
    ["shape", "weight of a key; outline √d_k", 186, { left: 42 }],
    ["evenness", "effective keys, of n", 146, { left: margin, top: 8, bottom: 24 }],
    ["gradient", "gradient at the query, median", 146, { left: margin, top: 8, bottom: 24 }],
  ],
  update(app) {
    const { memory } = app;
    const { rescaling, n } = app.state;
    memory.buttons ??= addButtons(
      app.controls,
      "divided by",
      NAMES.map((name) => [labels[name], () => app.set({ rescaling: name })]),
    );
    memory.buttons.forEach((button, i) =>
      button.setAttribute("aria-pressed", NAMES[i] === rescaling),
    );
    const reports = compareRescalings(app.state, memory);
    const chosen = reports[rescaling];
    drawShape(app.panels.shape, chosen.first, reports.sqrt_d_k.first, rescaling);
    const all = (key, over) =>
      Object.fromEntries(NAMES.map((name) => [name, reports[name][key] / over]));
    drawRows(
      app,
      "evenness",
      all("effective", n),
      d3.scaleLinear(),
      { 0: "0", 0.5: "n/2", 1: "n" },
      (share) => show3(share * n),
    );
    const powers = { 0.001: "0.001", 0.1: "0.1", 10: "10" };
    drawRows(app, "gradient", all("gradient", 1), d3.scaleLog().domain([0.001, 30]), powers, show3);
    const sentences = conclude(rescaling, chosen, reports.sqrt_d_k, n);
    const measured = `Measured on ${chosen.rows} queries and ${chosen.sets} sets of ${n} keys, from a fixed seed.`;
    app.formula.replaceChildren(
      ...[...sentences, measured].map((text) =>
        element("span", { class: "explorable-line" }, rich(text)),
      ),
    );
    return { values: chosen, spoken: `${labels[rescaling]}: ${sentences.join(" ")}` };
  },
};

/** What the chosen divisor does to a query, and how that compares with the root: lines that a phone need not break. */
function conclude(name, { effective, gradient }, root, n) {
  return [
    `A query hears ${show3(effective)} of ${n} keys.`,
    name === "sqrt_d_k"
      ? "Others are compared with its gradient."
      : `The root has ${show3(root.gradient / gradient)} times its gradient.`,
  ];
}

/** All of them on the same draws of queries and keys; the divisors of these keys are the library's. */
function compareRescalings({ n, d_k: dK, components }, memory) {
  const setting = `${n} ${dK} ${components}`;
  if (memory.setting === setting) return memory.reports;
  const of = (table) => lookUp(table, data.scalings.n, n, data.scalings.d_k, dK);
  const sets = of(data.scalings.sets);
  const { queries } = data.scalings;
  const drawn = Array.from({ length: sets }, (_, seed) =>
    math.sampleAttention({ queries, n, dK, dV: 64, distribution: components, seed: seed + 1 }),
  );
  const reports = {};
  for (const name of NAMES) {
    const divisors = [of(data.scalings.divisors[name][components])].flat(); // one where all sets have the same
    const parts = drawn.map((one, set) => math.report(one, divisors[set % divisors.length]));
    const mean = (key) => parts.reduce((sum, part) => sum + part[key], 0) / sets;
    reports[name] = {
      sets,
      rows: queries * sets,
      divisor: divisors.reduce((a, b) => a + b, 0) / divisors.length,
      effective: mean("effectiveKeys"),
      largest: mean("largestTimesN"),
      gradient: math.median(parts.flatMap((part) => part.gradients)),
      first: parts.flatMap((part) => part.first.map((weight) => weight * n)),
    };
  }
  Object.assign(memory, { setting, reports });
  return reports;
}

/** Of a histogram on a logarithmic axis: five bins a power of ten, the middle of one at 1. */
const [LOWEST, HIGHEST, BINS] = [-3.1, 2.5, 28];

/** The share of the numbers in each bin; what is less than the axis has is in none. */
function histogram(numbers) {
  const shares = new Array(BINS).fill(0);
  for (const number of numbers) {
    const bin = Math.floor(((Math.log10(number) - LOWEST) / (HIGHEST - LOWEST)) * BINS);
    if (bin >= 0) shares[Math.min(bin, BINS - 1)] += 1 / numbers.length;
  }
  return shares;
}

const percent = (share) => `${Math.round(100 * share)} %`;

/** How many queries give one key which weight, in even shares: the chosen divisor's histogram, and the root's as an outline. The axes stand still; a column that is higher ends in an arrow. */
function drawShape(panel, chosen, root, name) {
  const x = d3.scaleLog([10 ** LOWEST, 10 ** HIGHEST], panel.xRange);
  const y = d3.scaleLinear([0, 0.5], panel.yRange);
  const ticks = panel.width < 240 ? [0.01, 1, 100] : [0.001, 0.01, 0.1, 1, 10, 100];
  axes(panel, {
    x,
    y,
    xTicks: ticks,
    xFormat: String,
    xLabel: "weight, in even shares 1/n",
    yTicks: [0, 0.25, 0.5],
    yFormat: percent,
  });
  const edge = (bin) => x(10 ** (LOWEST + (bin * (HIGHEST - LOWEST)) / BINS));
  const [bottom, top] = y.range();
  const outline = (shares) =>
    `M${edge(0)},${bottom}${shares.map((share, bin) => `V${Math.max(top, y(share))}H${edge(bin + 1)}`).join("")}V${bottom}`;
  const group = fresh(panel.svg, "histograms");
  const shares = histogram(chosen);
  group
    .append("path")
    .attr("d", outline(shares))
    .style("fill", colour(name))
    .style("fill-opacity", 0.45)
    .style("stroke", colour(name));
  group
    .append("path")
    .attr("d", outline(histogram(root)))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  const most = Math.max(...shares);
  const mode = shares.indexOf(most);
  if (most > 0.5) say(group, `↑ ${percent(most)}`, edge(mode + 0.5), top - 6, "middle");
  const below = 1 - shares.reduce((sum, share) => sum + share, 0);
  if (below >= 0.005) say(group, `← ${percent(below)} smaller`, edge(0) + 3, top + 12, "start");
  panel.describe(
    `Histogram of the weights that queries give to one key, times n, on a logarithmic axis; divided by ${labels[name]}: ${percent(most)} of them near ${show3(10 ** (LOWEST + ((mode + 0.5) * (HIGHEST - LOWEST)) / BINS))}, ${percent(Math.max(0, below))} smaller than the axis has. As an outline, those of the root.`,
  );
}

/** One row a divisor, which a press chooses; the chosen one on a band, with its number, as `write` has it. */
function drawRows(app, key, values, scale, ticks, write) {
  const panel = app.panels[key];
  const chosen = app.state.rescaling;
  const x = scale.range(panel.xRange).clamp(true);
  const y = d3.scaleBand(NAMES, [panel.yRange[1], panel.yRange[0]]);
  const bands = fresh(panel.svg, "bands");
  axes(panel, {
    x,
    y: d3.scaleLinear([0, 1], panel.yRange),
    xTicks: Object.keys(ticks).map(Number),
    yTicks: 0,
    xFormat: (tick) => ticks[tick],
  });
  bands
    .append("rect")
    .attr("x", 0)
    .attr("width", panel.width)
    .attr("y", y(chosen))
    .attr("height", y.bandwidth())
    .attr("rx", 3)
    .style("fill", "var(--ex-panel)");
  const group = fresh(panel.svg, "rows");
  for (const name of NAMES) {
    const [left, right] = x.range();
    const middle = y(name) + y.bandwidth() / 2;
    const weight = name === chosen ? 700 : 400;
    richText(
      group
        .append("text")
        .attr("x", 4)
        .attr("y", middle + 4)
        .style("font-weight", weight),
      labels[name],
    );
    rule(group, [left, middle], [right, middle], "var(--ex-grid)");
    marker(group, name, x(values[name]), middle);
    if (name !== chosen) continue;
    const before = x(values[name]) > (left + right) / 2;
    const place = x(values[name]) + (before ? -10 : 10);
    const anchor = before ? "end" : "start";
    say(group, write(values[name]), place, middle + 4, anchor).style("font-weight", 700);
  }
  for (const name of NAMES)
    group
      .append("rect")
      .attr("x", 0)
      .attr("width", panel.width)
      .attr("y", y(name))
      .attr("height", y.bandwidth())
      .style("fill", "transparent")
      .style("cursor", "pointer")
      .on("click", () => app.set({ rescaling: name }));
  panel.describe(
    `${panel.heading.textContent}: ${NAMES.map((name) => `${labels[name]} ${write(values[name])}`).join("; ")}`,
  );
}
