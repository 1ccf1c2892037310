/** Alternative scalings: where their divisors lie beside the root, and what they do there with evenness and gradient. */
import * as d3 from "./d3.js";
import { colour, data, lookUp } from "./data.js";
import {
  addButtons,
  arrow,
  axes,
  element,
  fresh,
  marker,
  rich,
  rule,
  say,
  show2,
} from "./shared.js";

/** The divisors that are compared, and what they are called. */
const { labels, ratios } = data.scalings;
const NAMES = Object.keys(labels);

const GLIDES = 600; // milliseconds, from one divisor to another

export const scalings = {
  title: "Which divisor is large enough, and not too large?",
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
  ],
  readouts: [
    ["ratio", "divisor over √d_k", show2],
    ["effective", "effective keys, 1/Σp²", show2],
    ["gradient", "gradient at q, median", show2],
  ],
  panelWidth: "100%",
  panels: [
    ["evenness", "effective keys, of n", 132, { left: 44, top: 14, bottom: 22 }],
    ["gradient", "gradient at the query, median", 190, { left: 44, top: 12 }],
  ],
  update(app) {
    const { rescaling, n, d_k: dK } = app.state;
    app.memory.buttons ??= addChoice(app);
    app.memory.buttons.forEach((button, i) =>
      button.setAttribute("aria-pressed", NAMES[i] === rescaling),
    );
    const of = (table) => lookUp(table, data.scalings.n, n, data.scalings.d_k, dK);
    const compared = Object.fromEntries(
      NAMES.map((name) => [name, of(data.scalings.compared[name])]),
    );
    const along = of(data.scalings.along);
    const [ratio, effective, gradient] = compared[rescaling];
    const [, rootEffective, rootGradient] = compared.sqrt_d_k;
    const now = glide(app.memory, ratio);
    if (now !== ratio) app.redraw();
    const { evenness, gradient: comesBack } = app.panels;
    const draw = (panel, at, y, yTicks, text) =>
      drawAlong(panel, {
        along: along.map((measured) => measured[at]),
        marks: NAMES.map((name) => [name, compared[name][0], compared[name][at + 1]]),
        chosen: rescaling,
        now,
        y,
        yTicks,
        text,
      });
    draw(evenness, 0, d3.scaleLinear([0, n], evenness.yRange), [0, n / 2, n], show2(effective));
    draw(
      comesBack,
      1,
      d3.scaleLog([0.001, 20], comesBack.yRange),
      [0.001, 0.01, 0.1, 1, 10],
      rescaling === "sqrt_d_k" ? show2(gradient) : `× ${show2(gradient / rootGradient)}`,
    );
    const sentences =
      rescaling === "sqrt_d_k"
        ? [`With the root a query hears ${show2(effective)} of ${n} keys.`, "What do others do?"]
        : [
            `It hears ${show2(effective)} of ${n} keys; with the root it hears ${show2(rootEffective)}.`,
            `Its gradient is ${show2(gradient / rootGradient)} times that with the root.`,
          ];
    app.formula.replaceChildren(
      ...sentences.map((text) => element("span", { class: "explorable-line" }, rich(text))),
    );
    const spoken = `${labels[rescaling]}: ${sentences.join(" ")}`;
    return { values: { ratio, effective, gradient }, spoken };
  },
};

/** A button for each divisor, with the marker that it has in the panels. */
function addChoice(app) {
  const buttons = addButtons(
    app.controls,
    "divided by",
    NAMES.map((name) => [labels[name], () => app.set({ rescaling: name })]),
  );
  buttons.forEach((button, i) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "-8 -8 16 16");
    svg.setAttribute("aria-hidden", "true");
    marker(d3.select(svg), NAMES[i], 0, 0);
    button.prepend(svg);
  });
  return buttons;
}

/** Where between two divisors the drawing is: on the way to the chosen one, or there where motion is unwelcome. */
function glide(memory, aim) {
  const time = performance.now();
  if (memory.aim !== aim) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    Object.assign(memory, { aim, from: calm ? aim : (memory.now ?? aim), start: time });
  }
  const share = Math.min(1, (time - memory.start) / GLIDES);
  const eased = share * share * (3 - 2 * share);
  memory.now = share < 1 ? memory.from * (aim / memory.from) ** eased : aim;
  return memory.now;
}

/** A measure along the divisor: the curve, the divisors' markers on it, and thick the way from the root to where we are. */
function drawAlong(panel, { along, marks, chosen, now, y, yTicks, text }) {
  const x = d3.scaleLog([1 / 50, 1000], panel.xRange);
  const [bottom, top] = y.range();
  axes(panel, {
    x,
    y,
    xTicks: [0.1, 1, 10, 100],
    xFormat: String,
    xLabel: panel.margin.bottom > 30 ? "divisor, over √d_k" : undefined, // of the lowest panel
    yTicks,
    yFormat: String,
  });
  const levels = along.map(y);
  const level = (r) => {
    const next = Math.max(
      1,
      ratios.findIndex((ratio) => ratio >= r),
    );
    const share = Math.log(r / ratios[next - 1]) / Math.log(ratios[next] / ratios[next - 1]);
    return levels[next - 1] + share * (levels[next] - levels[next - 1]);
  };
  const group = fresh(panel.svg, "along");
  const curve = (between, stroke, width) =>
    group
      .append("path")
      .attr("d", d3.line()(between.map((r) => [x(r), level(r)])))
      .style("fill", "none")
      .style("stroke", stroke)
      .style("stroke-width", width);
  const here = level(now);
  const dashed = (from, to) =>
    rule(group, from, to, "var(--ex-muted)").style("stroke-dasharray", "4 3");
  dashed([x(1), bottom], [x(1), top]);
  dashed([x(1), level(1)], [x(now), level(1)]);
  curve(ratios, "var(--ex-muted)", 1.5);
  const [low, high] = [Math.min(now, 1), Math.max(now, 1)];
  curve([low, ...ratios.filter((r) => r > low && r < high), high], colour(chosen), 4);
  if (Math.abs(here - level(1)) > 12)
    arrow(
      group,
      [x(now), level(1)],
      [x(now), here + (here > level(1) ? -8 : 8)],
      colour(chosen),
      2,
    );
  for (const [name, ratio, value] of [...marks].sort(([a], [b]) => (a === chosen) - (b === chosen)))
    marker(group, name, x(ratio), y(value));
  // Across the root's level from the arrow, where no curve is.
  const half = 3.8 * text.length;
  const beside = x(now) - x(1) < 14 && x(1) - x(now) < 14;
  const place = beside
    ? [x(1) + 12 + half, level(1) + 4]
    : [Math.min(panel.width - half, x(now)), level(1) + (here < level(1) ? 16 : -7)];
  say(group, text, ...place, "middle").style("font-weight", 700);
  panel.describe(
    `${panel.heading.textContent}, along the divisor: ${marks.map(([name, , value]) => `${labels[name]} ${show2(value)}`).join("; ")}`,
  );
}
