/** Alternative scalings: where their divisors lie among all, in lengths of a key, and which of them leave their place. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, lookUp } from "./data.js";
import { drawCursor } from "./handles.js";
import {
  axes,
  element,
  fresh,
  marker,
  point,
  rich,
  richLabel,
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

const FLOOR = 0.001; // of the gradients that are drawn

/** A divisor has kept its place while the ends of its way differ by less than this factor: a slider's step moves the others by more, and d_k moves the mean length by less. */
const KEPT = 1.1;

/** How far to the left of the curve the way of a divisor runs, in pixels: where two have been, both are seen. */
const LANES = { none: 6, sqrt_d_k: 0, k_mean: 0, k_total: -6 };

const dialControl = {
  name: "r",
  label: "divisor",
  spoken: "divisor, in key lengths",
  values: Array.from({ length: 61 }, (_, i) => 2 ** (i / 4 - 7)),
  value: 1, // the root, and where the mean length begins
  text: show2,
  drawn: true,
};

/** The sliders; each leaves some of the divisors where they are. */
const sliders = [
  {
    name: "a",
    label: "keys × a",
    values: Array.from({ length: 41 }, (_, i) => 10 ** (i / 20 - 1)),
    value: 1,
    text: show2,
  },
  { name: "n", label: "n, keys", values: data.scalings.n, value: 32, text: String },
  { name: "d_k", label: "d_k", values: data.scalings.d_k, value: 64, text: String },
];

export const scalings = {
  title: "Which divisor keeps its place?",
  paired: true,
  controls: [...sliders, dialControl],
  readouts: [],
  panelWidth: "100%",
  panels: [
    ["evenness", "effective keys, of n", 150, { left: 44, top: 32, bottom: 22 }],
    ["gradient", "gradient at the query, median", 190, { left: 44, top: 24 }],
  ],
  forget({ memory }) {
    memory.ways = undefined;
    memory.moved = undefined;
  },
  update(app) {
    const { a, n, d_k: dK } = app.state;
    app.memory.sizes ??= addLegend(app);
    const of = (table) => lookUp(table, data.scalings.n, n, data.scalings.d_k, dK);
    const along = of(data.scalings.along);
    const places = Object.fromEntries(
      NAMES.map((name) => [
        name,
        of(data.scalings.compared[name]) / (CONSTANT.includes(name) ? a : 1),
      ]),
    );
    const ways = extend(app.memory, places);
    for (const name of NAMES) {
      const size = places[name] * a * Math.sqrt(dK);
      const written = size < 1000 ? show2(size).replace(/\.0$/, "") : showCount(Math.round(size));
      app.memory.sizes[name].textContent = ` = ${written}`;
    }
    const keys = (r) => between(along, 0, r);
    const gradient = (r) => Math.exp(between(along, 1, r));
    const { evenness, gradient: comesBack } = app.panels;
    const y = d3.scaleLinear([0, n], evenness.yRange);
    const common = { app, places, ways };
    const text = (r) => `${show2(keys(r))} of ${n} keys`;
    drawAlong(evenness, { ...common, of: keys, y, yTicks: [0, n / 2, n], text, handle: true });
    const y2 = d3.scaleLog([FLOOR, 20], comesBack.yRange);
    drawAlong(comesBack, {
      ...common,
      of: gradient,
      y: y2,
      yTicks: [0.001, 0.01, 0.1, 1, 10],
      text: (r) => (gradient(r) < FLOOR ? `< ${FLOOR}` : show2(gradient(r))),
    });
    const sentences = verdict(app, (name) => show2(keys(places[name])));
    app.formula.replaceChildren(...sentences.map(textLine));
    return { values: {}, spoken: `${sentences.join(" ")} The dial: ${text(app.state.r)}.` };
  },
};

/** What a row of the table has at r: straight between two of its places, where r is drawn by its logarithm and so are gradients. */
function between(along, measure, r) {
  const next = Math.max(
    1,
    ratios.findIndex((ratio) => ratio >= r),
  );
  const [low, high] = [next - 1, next].map((i) =>
    measure ? Math.log(Math.max(1e-9, along[i][1])) : along[i][0],
  );
  const share = Math.log(r / ratios[next - 1]) / Math.log(ratios[next] / ratios[next - 1]);
  return low + share * (high - low);
}

/** From where to where each divisor has been moved. */
function extend(memory, places) {
  memory.ways ??= {};
  for (const [name, place] of Object.entries(places)) {
    const [low, high] = memory.ways[name] ?? [place, place];
    memory.ways[name] = [Math.min(low, place), Math.max(high, place)];
  }
  return memory.ways;
}

/** What the reader is asked to move, and what has been seen of it. */
function verdict({ state, memory }, attended) {
  memory.moved ??= new Set();
  for (const { name, value } of sliders) if (state[name] !== value) memory.moved.add(name);
  const { moved } = memory;
  if (!moved.size) return ["Make the keys longer. Which of the four divisors keep their place?"];
  const length = state.a === 1 ? "D" : `Keys ${show2(state.a)} times as long: d`;
  const seen = `${length}ivided by √d_k, a query attends to ${attended("sqrt_d_k")} of ${state.n} keys; by k_mean, to ${attended("k_mean")}.`;
  const left = sliders.filter(({ name }) => !moved.has(name)).map(({ name }) => name);
  if (!left.length) return [seen, "Only k_mean has kept its place."];
  const stay = NAMES.filter((name) => memory.ways[name][1] < KEPT * memory.ways[name][0]);
  const list = stay.map((name) => labels[name]).join(", ");
  const go = ["", ": one of them goes", ": two of them go"][stay.length - 1];
  return [
    seen,
    `${list.replace(/, (\S+)$/, " and $1")} ${stay.length > 1 ? "stay" : "stays"}. Now move ${left.join(" and ")}${go}.`,
  ];
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

/** The points of a line moved so many pixels to its left, seen from its beginning. */
function beside(points, pixels) {
  return points.map(([x, y], i) => {
    const [before, after] = [points[i - 1] ?? [x, y], points[i + 1] ?? [x, y]];
    const [dx, dy] = [after[0] - before[0], after[1] - before[1]];
    const length = Math.hypot(dx, dy) || 1;
    return [x + (pixels * dy) / length, y - (pixels * dx) / length];
  });
}

/** A measure along the divisor: the curve, the divisors on it, each with the way that it has been moved, and the dial. */
function drawAlong(panel, { app, places, ways, of, y, yTicks, text, handle }) {
  const { r } = app.state;
  const x = d3.scaleLog([ratios[0], ratios.at(-1)], panel.xRange);
  const [bottom, top] = y.range();
  axes(panel, {
    x,
    y,
    xTicks: [0.01, 0.1, 1, 10, 100],
    xFormat: String,
    xLabel: handle ? undefined : "divisor, in lengths of a key",
    yTicks,
    yFormat: String,
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "along");
  const [left, right] = x.range();
  const id = `explorable-scalings-${handle ? "evenness" : "gradient"}`;
  const frame = group.append("clipPath").attr("id", id).append("rect");
  frame
    .attr("x", left)
    .attr("y", top - 4)
    .attr("width", right - left);
  frame.attr("height", bottom - top + 8);
  const within = group.append("g").attr("clip-path", `url(#${id})`);
  const curve = ([low, high], stroke, width, lane = 0) => {
    const along = [low, ...ratios.filter((at) => at > low && at < high), high];
    return within
      .append("path")
      .attr(
        "d",
        d3.line()(
          beside(
            along.map((at) => [x(at), y(of(at))]),
            lane,
          ),
        ),
      )
      .style("fill", "none")
      .style("stroke", stroke)
      .style("stroke-width", width);
  };
  for (const name of NAMES) curve(ways[name], colour(name), 4, LANES[name]).attr("data-way", name);
  curve([ratios[0], ratios.at(-1)], "var(--ex-muted)", 1.5);
  for (const [name, place] of Object.entries(places)) {
    if (of(place) >= y.domain()[0]) mark(group, name, x(place), y(of(place)));
    else say(group, "↓", x(place), bottom - 4, "middle").style("fill", lettersColour(name));
  }
  if (handle) {
    drawCursor(app, panel, under, dialControl, x);
    under.select("text").text(text(r));
  } else {
    rule(under, [x(r), top - 22], [x(r), bottom], "var(--ex-ink)").style("stroke-width", 1.5);
    const first = x(r) < (left + right) / 2;
    say(under, text(r), x(r) + (first ? 6 : -6), top - 10, first ? "start" : "end").style(
      "font-weight",
      700,
    );
  }
  if (of(r) >= y.domain()[0]) point(under, x(r), y(of(r)), 4, "var(--ex-ink)");
  panel.describe(
    `${panel.heading.textContent}, along the divisor: ${NAMES.map((name) => `${labels[name]} ${text(places[name])}`).join("; ")}`,
    handle ? "group" : "img",
  );
}
