/** Alternative scalings: what every divisor does, and which of them go along with the curve when the keys change. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, lookUp } from "./data.js";
import {
  apart,
  axes,
  element,
  fresh,
  marker,
  rich,
  richLabel,
  richText,
  rule,
  say,
  show2,
  showCount,
  textLine,
} from "./shared.js";

/** The divisors that are compared, and what they are called. */
const { labels, ratios } = data.scalings;
const NAMES = Object.keys(labels);

/** Those that do not know how long the keys are. */
const CONSTANT = ["none", "sqrt_d_k"];

const DIVISORS = [0.1, 5e4]; // that are drawn: every setting has the four of them between
const FLOOR = 0.001; // of the gradients that are drawn
const FAR = 3; // the factor by which a slider is moved before its question is answered

/** The sliders, each with a question. */
const sliders = [
  {
    name: "a",
    label: "keys × a",
    values: Array.from({ length: 41 }, (_, i) => 10 ** (i / 20 - 1)),
    value: 1,
    text: show2,
    question: "Make the keys ten times as long. Which divisors go along with the curve?",
  },
  {
    name: "n",
    label: "n, keys",
    values: data.scalings.n,
    value: 32,
    text: String,
    question: "Now make n larger. Which leaves?",
  },
  {
    name: "d_k",
    label: "d_k",
    values: data.scalings.d_k,
    value: 64,
    text: String,
    question: "Now change d_k. Which go along?",
  },
];

export const scalings = {
  title: "Which divisors follow the keys?",
  paired: true,
  controls: sliders,
  readouts: [],
  panelWidth: "100%",
  panels: [
    ["evenness", "effective keys, of n", 150, { left: 44, top: 30, bottom: 22 }],
    ["gradient", "gradient at the query, median", 190, { left: 44, top: 30 }],
  ],
  forget({ memory }) {
    memory.answered = undefined;
  },
  update(app) {
    const { a, n, d_k: dK } = app.state;
    const of = (table) => lookUp(table, data.scalings.n, n, data.scalings.d_k, dK);
    const root = Math.sqrt(dK);
    const sizes = Object.fromEntries(
      NAMES.map((name) => [
        name,
        of(data.scalings.compared[name]) * root * (CONSTANT.includes(name) ? 1 : a),
      ]),
    );
    app.memory.sizes ??= addLegend(app);
    for (const name of NAMES) app.memory.sizes[name].textContent = ` = ${written(sizes[name])}`;

    // Keys a times as long are at a divisor a times as large what they were.
    const along = of(data.scalings.along);
    const curve = (measure) => {
      const smooth = between(ratios.map(Math.log), along.map(measure));
      return (divisor) => smooth(Math.log(divisor / (a * root)));
    };
    const keys = curve(([effective]) => effective);
    const logarithm = curve(([, gradient]) => Math.log(Math.max(1e-9, gradient)));
    const gradient = (divisor) => Math.exp(logarithm(divisor));
    const gradientText = (divisor) =>
      gradient(divisor) < FLOOR ? `< ${FLOOR}` : show2(gradient(divisor));
    const { evenness, gradient: comesBack } = app.panels;
    drawAlong(evenness, {
      sizes,
      of: keys,
      y: d3.scaleLinear([0, n], evenness.yRange),
      yTicks: [0, n / 2, n],
      text: (divisor) => `${show2(keys(divisor))} of ${n} keys`,
    });
    drawAlong(comesBack, {
      sizes,
      of: gradient,
      y: d3.scaleLog([FLOOR, 20], comesBack.yRange),
      yTicks: [0.001, 0.01, 0.1, 1, 10],
      text: gradientText,
      xLabel: "divisor",
    });
    const sentences = verdict(app, {
      a: `a moves the curve, k_mean and k_total. √d_k stays at ${root}: ${show2(keys(root))} of ${n} keys; k_mean has ${show2(keys(sizes.k_mean))}.`,
      n: `n moves one divisor, k_total: ${show2(keys(sizes.k_total))} of ${n} keys, gradient ${gradientText(sizes.k_total)}.`,
      d_k: `d_k moves all but undivided, which stays at 1: ${show2(keys(1))} of ${n} keys.`,
    });
    app.formula.replaceChildren(...sentences.map(textLine));
    return { values: {}, spoken: sentences.join(" ") };
  },
};

/** The size of a divisor, for reading. */
const written = (size) =>
  size < 1000 ? show2(size).replace(/\.0$/, "") : showCount(Math.round(size));

/** A smooth function through points, which rises and falls only where they do: cubics, with the harmonic mean of the slopes at each point. */
function between(xs, ys) {
  const slopes = xs.slice(1).map((x, i) => (ys[i + 1] - ys[i]) / (x - xs[i]));
  const tangents = xs.map((_, i) => {
    const [before, after] = [slopes[i - 1] ?? slopes[i], slopes[i] ?? slopes[i - 1]];
    return before * after > 0 ? (2 * before * after) / (before + after) : 0;
  });
  return (x) => {
    const i = Math.max(0, xs.findIndex((place) => place >= x) - 1);
    const width = xs[i + 1] - xs[i];
    const t = (x - xs[i]) / width;
    const [rise, first, second] = [slopes[i], tangents[i], tangents[i + 1]];
    const bend = 3 * rise - 2 * first - second + t * (first + second - 2 * rise);
    return ys[i] + t * width * (first + t * bend);
  };
}

/** The answer to what the reader has moved far, and the next question. */
function verdict({ state, memory }, answers) {
  memory.answered ??= {};
  for (const { name, value } of sliders) {
    const far = Math.abs(Math.log(state[name] / value)) > Math.log(FAR);
    if (far && memory.before?.[name] !== state[name]) {
      memory.answered[name] = true;
      memory.answered.last = name;
    }
  }
  memory.before = { ...state };
  const next = sliders.find(({ name }) => !memory.answered[name]);
  return [
    answers[memory.answered.last],
    next?.question ?? "Only k_mean has kept its place on the curve each time.",
  ].filter(Boolean);
}

/** Which marker is whose; by name, where the size of the divisor itself is written. */
function addLegend(app) {
  const sizes = {};
  const row = element("p", { class: "explorable-legend" });
  for (const name of NAMES) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "-8 -8 16 16");
    svg.setAttribute("aria-hidden", "true");
    mark(d3.select(svg), name, 0, 0);
    sizes[name] = element("span", { class: "explorable-size" });
    row.append(element("span", {}, svg, rich(richLabel(labels[name])), sizes[name]));
  }
  app.controls.append(row);
  return sizes;
}

/** A divisor's marker: the root's stands open and larger around that of the mean length, which has a rim to be seen. */
function mark(parent, name, x, y) {
  const drawn = marker(parent, name, x, y);
  if (name === "sqrt_d_k")
    drawn
      .attr("transform", `translate(${x},${y}) scale(1.5)`)
      .style("fill", "none")
      .style("stroke-width", 1.5);
  if (name === "k_mean") drawn.style("stroke", "var(--ex-ink)").style("stroke-width", 1.5);
}

/** A measure along the divisor: the curve, and each divisor with its name, at its size on the axis and at what it does on the curve. */
function drawAlong(panel, { sizes, of, y, yTicks, text, xLabel }) {
  const x = d3.scaleLog(DIVISORS, panel.xRange);
  const [bottom, top] = y.range();
  const [left, right] = x.range();
  axes(panel, {
    x,
    y,
    xTicks: [0.1, 1, 10, 100, 1000, 10000],
    xFormat: (divisor) => (divisor < 1 ? divisor : showCount(divisor)),
    xLabel,
    yTicks,
    yFormat: String,
  });
  const group = fresh(panel.svg, "along");
  const points = Array.from({ length: Math.round(right - left) + 1 }, (_, i) => left + i)
    .map((at) => [at, of(x.invert(at))])
    .filter(([, value]) => value >= y.domain()[0])
    .map(([at, value]) => [at, y(value)]);
  group
    .append("path")
    .attr("class", "curve")
    .attr("d", d3.line()(points))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 1.5);
  const at = NAMES.map((name) => x(sizes[name]));
  const beside = apart(at, 54, left + 16, right - 20); // where two are at one place, their names are side by side
  NAMES.forEach((name, i) => {
    rule(group, [beside[i], top - 14], [at[i], top], colour(name));
    const stem = rule(group, [at[i], top], [at[i], bottom], colour(name));
    if (name === "k_mean") stem.style("stroke-dasharray", "4 4"); // the root's is seen under it
    const words = say(group, "", beside[i], top - 18, "middle");
    richText(words, labels[name]).style("fill", lettersColour(name));
  });
  NAMES.forEach((name, i) => {
    const value = of(sizes[name]);
    if (value >= y.domain()[0]) mark(group, name, at[i], y(value));
    else say(group, "↓", at[i] - 3, bottom - 4, "end").style("fill", lettersColour(name));
  });
  panel.describe(
    `${panel.heading.textContent}, along the divisor: ${NAMES.map((name) => `${labels[name]} ${text(sizes[name])}`).join("; ")}`,
  );
}
