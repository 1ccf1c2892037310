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
  show,
  show2,
  showCount,
  textLine,
  wantsCalm,
} from "./shared.js";

/** The divisors that are compared, and what they are called. */
const { labels, ratios } = data.scalings;
const NAMES = Object.keys(labels);

/** Those that do not know how long the keys are. */
const CONSTANT = ["none", "sqrt_d_k"];

const MEASURE = "effective keys, of n";
const DIVISORS = [0.1, 5e4]; // that are drawn: every setting has the four of them between
const FLOOR = 0.001; // of the gradients that are drawn
const SEEN = 1.2; // the factor by which a slider is moved when one sees what it does
const GLIDE = 500; // milliseconds from a setting to the next

/** The sliders, each with a question, and the factor by which it is moved when another is asked. */
const sliders = [
  {
    name: "a",
    label: "keys × a",
    values: Array.from({ length: 41 }, (_, i) => 10 ** (i / 20 - 1)),
    value: 1,
    text: show2,
    far: 3,
    question: "Make the keys ten times as long: which divisors follow?",
  },
  {
    name: "n",
    label: "n, keys",
    values: data.scalings.n,
    value: 32,
    text: String,
    far: SEEN,
    question: "Now make n larger. Which divisor changes?",
  },
  {
    name: "d_k",
    label: "d_k",
    values: data.scalings.d_k,
    value: 64,
    text: String,
    far: SEEN,
    question: "Now change d_k. Which divisors change?",
  },
];

export const scalings = {
  title: "Which divisors follow the keys?",
  paired: true,
  controls: sliders,
  readouts: [],
  panelWidth: "100%",
  panels: [
    ["evenness", MEASURE, 164, { left: 44, top: 44, bottom: 22 }],
    ["gradient", "gradient at the query, median", 204, { left: 44, top: 44 }],
  ],
  forget({ memory }) {
    memory.answered = memory.before = memory.moving = undefined;
  },
  also(asked, { memory }) {
    if (!("n" in asked || "d_k" in asked) || wantsCalm()) return;
    memory.from = memory.shown;
    memory.began = performance.now();
  },
  update(app) {
    const { n, d_k: dK } = app.state;
    const root = Math.sqrt(dK);
    const { sizes, shape } = standing(app.state);
    app.memory.sizes ??= addLegend(app);
    for (const name of NAMES) app.memory.sizes[name].textContent = ` = ${written(sizes[name])}`;

    const now = measures(...shape(n));
    const share = (divisor, m = n) => `${show(100 * measures(...shape(m)).keys(divisor), 0)} %`;
    const keys = (divisor) => n * now.keys(divisor);
    const gradientText = (divisor) =>
      now.gradient(divisor) < FLOOR ? `< ${FLOOR}` : show2(now.gradient(divisor));
    const [at, ofKeys, ofGradient, ...ofSizes] = glide(app, [...shape(n), ...Object.values(sizes)]);
    const shown = measures(at, ofKeys, ofGradient);
    const { evenness, gradient: comesBack } = app.panels;
    const start = startOf(app);
    const old = start && standing(start);
    const then = old && measures(...old.shape(start.n));
    const moving = app.memory.moving;
    const hint = start
      ? ` (small, dotted: ${moving} = ${show2(start[moving]).replace(/\.0$/, "")})`
      : "";
    evenness.heading.replaceChildren(rich(MEASURE + hint));
    drawAlong(evenness, {
      sizes: ofSizes,
      of: shown.keys,
      old: old && { sizes: Object.values(old.sizes), of: then.keys },
      y: d3.scaleLinear([0, 1], evenness.yRange),
      yTicks: [0, 0.5, 1],
      yFormat: (share) => ({ 0: "0", 0.5: "n/2", 1: "n" })[share],
    });
    drawAlong(comesBack, {
      sizes: ofSizes,
      of: shown.gradient,
      old: old && { sizes: Object.values(old.sizes), of: then.gradient },
      y: d3.scaleLog([FLOOR, 20], comesBack.yRange),
      yTicks: [0.001, 0.01, 0.1, 1, 10],
      yFormat: String,
      xLabel: "divisor",
    });
    describe(evenness, sizes, (divisor) => `${show2(keys(divisor))} of ${n} keys`);
    describe(comesBack, sizes, gradientText);
    const [few, many] = [data.scalings.n[0], data.scalings.n.at(-1)];
    const sentences = verdict(app, {
      a: `a moves the curve, k_mean and k_total. √d_k stays at ${root}: ${show2(keys(root))} of ${n} keys; k_mean has ${show2(keys(sizes.k_mean))}.`,
      n: `n moves one divisor, k_total: ${show2(keys(sizes.k_total))} of ${n} keys, gradient ${gradientText(sizes.k_total)}. The curve changes, too: k_mean stays at ${written(sizes.k_mean)} and has ${share(sizes.k_mean, few)} of ${few} keys, but ${share(sizes.k_mean, many)} of ${many}.`,
      d_k: `d_k moves the curve and all divisors but undivided, which stays at 1: ${show2(keys(1))} of ${n} keys.`,
    });
    app.formula.replaceChildren(...sentences.map(textLine));
    if (app.controls.nextSibling !== app.formula) app.controls.after(app.formula); // near the sliders
    return { values: {}, spoken: sentences.join(" ") };
  },
};

/** The sizes of the divisors at a setting, and the shape of the curves there, or with so many keys. */
function standing({ a, n, d_k: dK }) {
  const { along, compared, n: ns, d_k: dKs } = data.scalings;
  const of = (table, m = n) => lookUp(table, ns, m, dKs, dK);
  const root = Math.sqrt(dK);
  const sizes = Object.fromEntries(
    NAMES.map((name) => [name, of(compared[name]) * root * (CONSTANT.includes(name) ? 1 : a)]),
  );
  // Keys a times as long are at a divisor a times as large what they were.
  const shape = (m) => [
    a * root,
    of(along, m).map(([effective]) => effective / m),
    of(along, m).map(([, gradient]) => Math.log(Math.max(1e-9, gradient))),
  ];
  return { sizes, shape };
}

/** The setting at which the slider that was moved last stood before; none while it stands there. */
function startOf({ state, memory }) {
  const before = memory.before ?? state;
  for (const { name } of sliders) {
    if (state[name] === before[name] || memory.moving === name) continue;
    memory.moving = name;
    memory.start = before[name];
  }
  const { moving, start } = memory;
  return moving && state[moving] !== start ? { ...state, [moving]: start } : undefined;
}

/** What a curve of these shapes has at a divisor: the share of the keys, and the gradient; `at` is the root's divisor of such keys. */
function measures(at, keys, logarithms) {
  const curve = (ys) => {
    const smooth = between(ratios.map(Math.log), ys);
    return (divisor) => smooth(Math.log(divisor / at));
  };
  const logarithm = curve(logarithms);
  return { keys: curve(keys), gradient: (divisor) => Math.exp(logarithm(divisor)) };
}

/** What is drawn on the way to these numbers, and lists of them: those above 0 go by factors, as their axes do. */
function glide({ memory, redraw }, target) {
  const t = Math.min(1, (performance.now() - memory.began) / GLIDE);
  if (!(t < 1)) return (memory.shown = target);
  redraw();
  const on = (from, to) => {
    if (Array.isArray(to)) return to.map((x, i) => from[i] + t * (x - from[i]));
    return from * (to / from) ** t;
  };
  return (memory.shown = target.map((to, i) => on(memory.from[i], to)));
}

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

/** The answer to what the reader has moved, and the next question once it has been moved far. */
function verdict({ state, memory }, answers) {
  memory.answered ??= {};
  for (const { name, value, far } of sliders) {
    const by = Math.exp(Math.abs(Math.log(state[name] / value)));
    if (by < SEEN || memory.before?.[name] === state[name]) continue;
    memory.answered.last = name;
    if (by >= far) memory.answered[name] = true;
  }
  memory.before = { ...state };
  const next = sliders.find(({ name }) => !memory.answered[name]);
  return [
    answers[memory.answered.last],
    next?.question ?? "Only k_mean went along with a and d_k, and stayed when n grew.",
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

/** A measure along the divisor: the curve, and each divisor with its name, at its size on the axis and at what it does on the curve; small and dotted what was there before. */
function drawAlong(panel, { sizes, of, old, y, yTicks, yFormat, xLabel }) {
  const x = d3.scaleLog(DIVISORS, panel.xRange);
  const [bottom, top] = y.range();
  const [left, right] = x.range();
  const [least] = y.domain();
  axes(panel, {
    x,
    y,
    xTicks: [0.1, 1, 10, 100, 1000, 10000],
    xFormat: (divisor) => (divisor < 1 ? divisor : showCount(divisor)),
    xLabel,
    yTicks,
    yFormat,
  });
  const draw = (parent, measure) => {
    const points = Array.from({ length: Math.round(right - left) + 1 }, (_, i) => left + i)
      .map((at) => [at, measure(x.invert(at))])
      .filter(([, value]) => value >= least)
      .map(([at, value]) => [at, y(value)]);
    return parent
      .append("path")
      .attr("class", "curve")
      .attr("d", d3.line()(points))
      .style("fill", "none")
      .style("stroke", "var(--ex-muted)")
      .style("stroke-width", 1.5);
  };
  const past = fresh(panel.svg, "before");
  const group = fresh(panel.svg, "along");
  if (old) {
    draw(past, old.of).attr("class", "past").style("stroke-dasharray", "1.5 3");
    NAMES.forEach((name, i) => {
      const value = old.of(old.sizes[i]);
      if (value < least) return;
      const place = `translate(${x(old.sizes[i])},${y(value)})`;
      marker(past, name, 0, 0)
        .attr("transform", `${place} scale(${name === "sqrt_d_k" ? 1.1 : 0.7})`)
        .style("fill", "none")
        .style("stroke-width", 1.5);
    });
  }
  draw(group, of);
  const at = sizes.map(x);
  // Within a row none overtakes another: the constants are above those that measure the keys.
  const beside = [at.slice(0, 2), at.slice(2)].flatMap((row) =>
    apart(row, 44, left + 16, right - 20),
  );
  const level = (i) => top - (i < 2 ? 32 : 18);
  NAMES.forEach((name, i) => {
    rule(group, [beside[i], level(i) + 8], [at[i], top], colour(name)); // clear of lowered letters
    const below = of(sizes[i]) < least;
    const stem = rule(group, [at[i], top], [at[i], bottom - (below ? 16 : 0)], colour(name));
    if (name === "k_mean") stem.style("stroke-dasharray", "4 4"); // the root's is seen under it
    if (!below) return;
    say(group, "↓", at[i], bottom - 3, "middle").style("fill", lettersColour(name));
    say(group, "below", at[i] - 6, bottom - 4, "end").style("fill", lettersColour(name));
  });
  NAMES.forEach((name, i) => {
    const words = say(group, "", beside[i], level(i), "middle");
    richText(words, labels[name]).style("fill", lettersColour(name));
    if (of(sizes[i]) >= least) mark(group, name, at[i], y(of(sizes[i])));
  });
}

/** What a panel shows, for those who do not see it. */
function describe(panel, sizes, text) {
  panel.describe(
    `${panel.heading.textContent}, along the divisor: ${NAMES.map((name) => `${labels[name]} ${text(sizes[name])}`).join("; ")}`,
  );
}
