/** Alternative scalings: what each divisor does with shape, evenness and gradient. */
import * as d3 from "./d3.js";
import { colour, data, labels, looks, lookUp, names, short } from "./data.js";
import * as math from "./math.js";
import { axes, element, fresh, marker, richText, show3 } from "./shared.js";

/** Room for the longest name at the left of a panel. */
const margin = 8 + 7 * Math.max(...names.map((name) => short(name).length));

export const scalings = {
  title: "Alternative scalings: shape, evenness and gradient",
  controls: [
    { name: "rescaling", label: "divided by", options: labels, value: "sqrt_d_k" },
    {
      name: "components",
      label: "distribution of the components",
      options: data.distributions,
      value: "normal",
    },
    { name: "n", label: "n, keys", values: data.scalings.n, value: 32, text: String },
    { name: "d_k", label: "d_k, components", values: data.scalings.d_k, value: 64, text: String },
  ],
  readouts: [
    ["divisor", "divisor, mean"],
    ["effective", "effective keys, 1/Σp²"],
    ["largest", "largest weight × n"],
    ["gradient", "gradient at q, median"],
  ],
  panelWidth: "13rem",
  panels: [
    ["shape", "shape: raw scores and weights, both with mean 0 and std 1", 250, { left: 30 }],
    ["evenness", "evenness: effective keys, of n", 250, { left: margin, top: 8 }],
    ["gradient", "gradient at the query, median", 250, { left: margin, top: 8 }],
  ],
  update(app) {
    const { rescaling, n } = app.state;
    const reports = compareRescalings(app.state, app.memory);
    const chosen = reports[rescaling];
    drawShape(app.panels.shape, chosen, rescaling);
    const all = (key) => Object.fromEntries(names.map((name) => [name, reports[name][key]]));
    const ticks = [1, ...(n >= 16 ? [Math.sqrt(n) | 0] : []), n];
    drawRows(app.panels.evenness, all("effective"), [1, n], ticks, rescaling, "effective keys");
    const { gradient } = app.panels;
    const powers = gradient.width < 240 ? [0.001, 0.1, 10] : [0.001, 0.01, 0.1, 1, 10];
    drawRows(gradient, all("gradient"), [0.001, 30], powers, rescaling, "length, log scale");
    app.formula.replaceChildren(
      `Measured on ${chosen.rows} queries, ${chosen.sets} sets of ${n} keys, drawn anew for every n, d`,
      element("sub", {}, "k"),
      " and distribution from a fixed seed.",
    );
    const spoken = `Divided by ${labels[rescaling]}: ${show3(chosen.effective)} effective keys of ${n}, median gradient ${show3(chosen.gradient)}.`;
    return { values: chosen, spoken };
  },
};

/** All rescalings on the same draws of queries and keys; the divisors of these keys are the library's. */
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
  for (const name of names) {
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
      raw: parts.flatMap((part) => [...math.standardise(part.raw)]),
      first: parts.flatMap((part) => [...math.standardise(part.first)]),
    };
  }
  Object.assign(memory, { setting, reports });
  return reports;
}

function drawShape(panel, { raw, first }, name) {
  const grid = Array.from({ length: 121 }, (_, i) => -3 + (8 * i) / 120);
  const curves = [math.kernelDensity(raw, grid), math.kernelDensity(first, grid)];
  const x = d3.scaleLinear([-3, 5], panel.xRange);
  const y = d3.scaleLinear([0, Math.max(0.6, ...curves.flat()) * 1.05], panel.yRange);
  axes(panel, { x, y, xTicks: 5, yTicks: 4, xLabel: "in standard deviations", yLabel: "density" });
  const group = fresh(panel.svg, "curves");
  const line = d3.line(
    (_, i) => x(grid[i]),
    (value) => y(value),
  );
  const styles = [
    ["raw scores", "var(--ex-ink)", "1 3"],
    ["weights", colour(name), looks[name].dashes],
  ];
  curves.forEach((curve, i) => {
    const [label, stroke, dashes] = styles[i];
    group
      .append("path")
      .attr("d", line(curve))
      .style("fill", "none")
      .style("stroke", stroke)
      .style("stroke-width", 2)
      .style("stroke-dasharray", dashes);
    const [right, level] = [x.range()[1], panel.margin.top + 10 + 18 * i];
    group
      .append("line")
      .attr("x1", right - 28)
      .attr("x2", right)
      .attr("y1", level)
      .attr("y2", level)
      .style("stroke", stroke)
      .style("stroke-width", 2)
      .style("stroke-dasharray", dashes);
    group
      .append("text")
      .attr("class", "rim")
      .attr("x", right - 34)
      .attr("y", level + 4)
      .attr("text-anchor", "end")
      .text(label);
  });
  panel.describe(
    `Densities of the raw scores and of the weights of one key, each standardised; divided by ${labels[name]}.`,
  );
}

/** One row a rescaling, its marker on a logarithmic axis; the chosen one on a band, with its number. */
function drawRows(panel, values, domain, ticks, chosen, label) {
  const x = d3.scaleLog(domain, panel.xRange).clamp(true);
  const y = d3.scaleBand(names, [panel.yRange[1], panel.yRange[0]]);
  const bands = fresh(panel.svg, "bands");
  const scale = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, {
    x,
    y: scale,
    xTicks: ticks,
    yTicks: 0,
    xFormat: (value) => d3.format("~r")(value),
    xLabel: label,
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
  for (const name of names) {
    const [left, right] = x.range();
    const middle = y(name) + y.bandwidth() / 2;
    const weight = name === chosen ? 700 : 400;
    richText(
      group
        .append("text")
        .attr("x", 4)
        .attr("y", middle + 4)
        .style("font-weight", weight),
      short(name),
    );
    group
      .append("line")
      .attr("x1", left)
      .attr("x2", right)
      .attr("y1", middle)
      .attr("y2", middle)
      .style("stroke", "var(--ex-grid)");
    marker(group, name, x(values[name]), middle);
    if (name !== chosen) continue;
    const before = x(values[name]) > (left + right) / 2;
    const text = group
      .append("text")
      .attr("class", "rim")
      .attr("x", x(values[name]) + (before ? -10 : 10))
      .attr("y", middle + 4);
    text
      .attr("text-anchor", before ? "end" : "start")
      .style("font-weight", 700)
      .text(show3(values[name]));
  }
  panel.describe(
    `${label}: ${names.map((name) => `${labels[name]} ${show3(values[name])}`).join("; ")}`,
  );
}
