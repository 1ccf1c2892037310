/** The phase diagram: where each divisor stands for keys of the typical length, beside the border at which softmax freezes. */
import * as d3 from "./d3.js";
import { colour, data, labels, looks, lookUp, names, short } from "./data.js";
import * as math from "./math.js";
import {
  apart,
  axes,
  element,
  fresh,
  marker,
  rich,
  richLabel,
  richText,
  show,
  show3,
  showCount,
  superscript,
} from "./shared.js";

/** The standard deviation of scores that a rescaling divides. */
const sigma = (name, n, dK) =>
  Math.sqrt(dK) / lookUp(data.phases.divisors[name], data.phases.n, n, data.phases.d_k, dK);

export const phases = {
  title: "The phase diagram: where each divisor stands, σ = √d_k / c",
  controls: [
    { name: "n", label: "n, keys", values: data.phases.n, value: 512, text: showCount },
    { name: "d_k", label: "d_k, components", values: data.phases.d_k, value: 64, text: String },
  ],
  readouts: [
    ["critical", "border σ_c = √(2 ln n)", 3],
    ["undivided", "σ/σ_c, undivided"],
    ["root", "σ/σ_c, divided by √d_k"],
    ["share", "keys left by the root, e^{−1/2}"],
  ],
  panels: [
    [
      "plane",
      "standard deviation σ of the scores against the number of keys n",
      440,
      { left: 44, right: 92, top: 24 },
    ],
  ],
  update(app) {
    const { n, d_k: dK } = app.state;
    const critical = math.criticalSigma(n);
    const sigmas = Object.fromEntries(names.map((name) => [name, sigma(name, n, dK)]));
    drawPhases(app.panels.plane, n, dK, sigmas);
    tabulate(app, n, sigmas);
    const ratio = sigmas.none / critical;
    const side = sigmas.none > critical ? "above the border, frozen" : "below the border";
    app.formula.replaceChildren(
      rich(
        `Undivided, σ = √${dK} = ${show(sigmas.none)} is ${show(ratio)} times σ_c = √(2 ln ${showCount(n)}) = ${show(critical)}: ${side}.`,
      ),
    );
    const values = { critical, undivided: ratio, root: 1 / critical, share: Math.exp(-0.5) };
    return {
      values,
      spoken: `Border at ${show(critical)}. Undivided scores stand ${side}, at ${show(ratio)} times; divided by the root, at ${show(1 / critical)} times.`,
    };
  },
};

function drawPhases(panel, n, dK, sigmas) {
  const x = d3.scaleLog([2, 2 ** 20], panel.xRange);
  const y = d3.scaleLog([4e-7, 100], panel.yRange); // below 1 / 2^20
  const counts =
    panel.width < 450
      ? [2, 2 ** 7, 2 ** 14, 2 ** 20]
      : [2, 16, 2 ** 7, 2 ** 10, 2 ** 14, 2 ** 17, 2 ** 20];
  const ground = fresh(panel.svg, "ground");
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  const keys = Array.from({ length: 77 }, (_, i) => 2 ** (1 + i / 4));
  const border = keys.map((m) => [x(m), y(math.criticalSigma(m))]);
  ground
    .append("path")
    .attr(
      "d",
      d3.area(
        (point) => point[0],
        top,
        (point) => point[1],
      )(border),
    )
    .style("fill", colour("none"))
    .style("opacity", 0.16);
  axes(panel, {
    x,
    y,
    xLabel: "n, keys",
    yLabel: "σ",
    xTicks: counts,
    yTicks: [1e-6, 1e-4, 0.01, 1, 100],
    xFormat: d3.format(","),
    yFormat: (v) => (v < 0.01 ? `10${superscript(Math.round(Math.log10(v)))}` : d3.format("~r")(v)),
  });
  const group = fresh(panel.svg, "points");
  group
    .append("path")
    .attr("d", d3.line()(border))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2);
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", left + 8)
    .attr("y", top + 16)
    .text("frozen: a few keys");
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", left + 8)
    .attr("y", bottom - 8)
    .text("even: a share of all keys");
  richText(
    group
      .append("text")
      .attr("class", "rim")
      .attr("x", left + 6)
      .attr("y", y(math.criticalSigma(6)) - 12),
    "σ_c",
  );
  group
    .append("line")
    .attr("x1", x(n))
    .attr("x2", x(n))
    .attr("y1", bottom)
    .attr("y2", top)
    .style("stroke", "var(--ex-muted)")
    .style("stroke-dasharray", "3 3");
  // Lines that end at the same place share a label; labels keep a line's distance, and a thin line leads to each.
  const ends = new Map();
  const crossings = new Map();
  const put = (places, at, name) => places.set(at, [...(places.get(at) ?? []), name]);
  for (const name of names) {
    const logSigma = d3.scaleLog(
      data.phases.n,
      data.phases.n.map((m) => Math.log(sigma(name, m, dK))),
    ); // between the table's n
    const path = keys.map((m) => [x(m), y(Math.exp(logSigma(m)))]);
    put(ends, Math.round(path.at(-1)[1]), name);
    put(crossings, Math.round(y(sigmas[name])), name);
    group
      .append("path")
      .attr("d", d3.line()(path))
      .style("fill", "none")
      .style("stroke", colour(name))
      .style("opacity", 0.55)
      .style("stroke-dasharray", looks[name].dashes);
  }
  for (const [level, names] of crossings)
    names.forEach((name, i) => marker(group, name, x(n) + 6 * (i - (names.length - 1) / 2), level));
  const levels = [...ends.keys()];
  const heights = apart(levels, 15, top, bottom);
  const labels = levels.map((level, i) => ({ level, names: ends.get(level), at: heights[i] }));
  for (const { level, names, at } of labels) {
    group
      .append("path")
      .attr("d", `M${right},${level}L${right + 5},${at}`)
      .style("fill", "none")
      .style("stroke", "var(--ex-grid)");
    const text = group
      .append("text")
      .attr("x", right + 8)
      .attr("y", at + 4);
    names.forEach((name, i) => {
      const [head, ...tail] = short(name).split("_");
      text
        .append("tspan")
        .attr("dy", i ? -3 : 0)
        .text(`${i ? ", " : ""}${head}`);
      text
        .append("tspan")
        .attr("dy", 3)
        .attr("font-size", "75%")
        .text(tail.join(" ") || "\u200b");
    });
  }
  panel.describe(
    `Border rising from ${show(math.criticalSigma(2))} at 2 keys to ${show(math.criticalSigma(2 ** 20))} at ${showCount(2 ** 20)}. At ${showCount(n)} keys: ${names.map((name) => `${labels[name]} at ${show3(sigmas[name])}`).join(", ")}.`,
  );
}

function tabulate(app, n, sigmas) {
  const head = element(
    "tr",
    {},
    ...["divided by", "σ", "σ/σ_c", "phase"].map((text) =>
      element("th", { scope: "col" }, rich(text)),
    ),
  );
  const rows = names.map((name) => {
    const ratio = sigmas[name] / math.criticalSigma(n);
    const phase = ratio > 1 ? "frozen" : ratio > 0.5 ? "crossover" : "even";
    const label = element("th", { scope: "row" }, rich(richLabel(labels[name])));
    const row = element(
      "tr",
      { "data-rescaling": name, "data-ratio": ratio, "data-sigma": sigmas[name] },
      label,
    );
    row.append(
      ...[show3(sigmas[name]), show3(ratio), phase].map((text) => element("td", {}, text)),
    );
    return row;
  });
  app.extra.replaceChildren(
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}
