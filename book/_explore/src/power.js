/** Divide by a power of d_k: which p keeps the scores, a step of gradient descent or one of Adam at every width? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { apart, axes, fresh, rich, say, show, show2, showCount, wantsCalm } from "./shared.js";

const { d_k: widths, lines } = data.power;
const [least, most] = [widths[0], widths.at(-1)];

/** In this order; lines that coincide are seen side by side. */
const order = ["SGD", "Adam", "start"];
const BESIDE = 5;

/** What a line is drawn in; how its points look. */
const inkOf = (name) => (name === "start" ? "var(--ex-ink)" : colour(name));
const lettersOf = (name) => (name === "start" ? "var(--ex-ink)" : lettersColour(name));
const outlines = {
  start: "M-4,-4H4V4H-4Z",
  SGD: "M-5,0A5,5,0,1,1,5,0A5,5,0,1,1,-5,0Z",
  Adam: "M0,-6L5.5,4.5H-5.5Z",
};

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = lines[name].exponents;
  return undivided + p * (divided - undivided);
};

const isLevel = (name, p) => Math.abs(exponent(name, p)) < 1e-9;

/** How many times as large something is in the widest head as in the narrowest. */
const change = (name, p) => (most / least) ** exponent(name, p);

export const power = {
  title: "Which power p keeps first scores and steps the same in wider heads?",
  prompt: "Scores are divided by d_k^p: move p until a line is level.",
  hint: { target: "input" },
  controls: [
    {
      name: "p",
      label: "power p",
      values: Array.from({ length: 21 }, (_, i) => i / 20),
      value: 0.25,
      text: plain,
      marks: ["0", "½", "1"],
    },
    {
      name: "query",
      label: "start with all scores 0 (W_Q = 0)",
      options: { random: "at random", zero: "at 0" },
      check: true,
      value: "random",
    },
  ],
  panelWidth: "100%",
  panels: [["lines", "", 260, { left: 44, right: 108, top: 12 }]],
  update(app) {
    const { p, query } = app.state;
    drawLines(app.panels.lines, p, query === "random");
    return { said: verdict(p, query === "random") };
  },
};

/** What is level at p, and how what matters most is not. */
function verdict(p, random) {
  const at = `p = ${plain(p)}`;
  const [SGD, Adam, first] = order.map((name) => change(name, p));
  const [all, both] = random ? ["all three", "first scores and "] : ["both steps", ""];
  if (p < 0.5) return `${at} is too small: ${all} grow, up to ${brief(Adam)} times.`;
  if (p === 0.5) {
    const end = random ? ": no p keeps all three" : "";
    return `${at} keeps ${both}descent’s step, but Adam’s grows ${brief(Adam)} times${end}.`;
  }
  if (p < 1) return `${at} is too large for ${both}descent’s step, and too small for Adam’s.`;
  const shrinks = `descent’s step shrinks to 1/${brief(1 / SGD)}`;
  return random
    ? `${at} keeps Adam’s step, but first scores shrink to 1/${brief(1 / first)}: no p keeps all three.`
    : `${at} keeps Adam’s step, and scores start at 0 at every width; ${shrinks}.`;
}

/** A power without needless zeros, and the one that matters as people say it. */
function plain(p) {
  return p === 0.5 ? "½" : show(p).replace(/\.?0+$/, "");
}

/** A factor in two digits. */
const brief = (x) => show2(x).replace(/\.0$/, "");

/** Beside a line or at the axis: how many times as large. */
const factor = (x) => (x > 0.99 ? `× ${brief(x)}` : `÷ ${brief(1 / x)}`);

function drawLines(panel, p, random) {
  const x = d3.scaleLog([least, most], panel.xRange);
  const y = d3.scaleLog([1 / 400, 400], panel.yRange);
  const [left, right] = panel.xRange;
  axes(panel, {
    x,
    y,
    xLabel: "components of the head, d_k",
    xTicks: widths,
    xFormat: showCount,
    yTicks: [1 / 256, 1 / 16, 1, 16, 256],
    yFormat: (size) => (size === 1 ? "same" : factor(size)),
  });
  panel.heading.replaceChildren(
    rich(`times as large as at d_k = ${least}${random ? " (points: measured)" : ""}`),
  );
  const here = random ? order : order.slice(0, 2); // where all scores start at 0 they have no size
  const ends = here.map((name) => y(change(name, p)));
  // Side by side where they coincide.
  const shift = here.map((_, i) => {
    const same = ends.flatMap((end, j) => (Math.abs(end - ends[i]) < 1 ? [j] : []));
    return BESIDE * (same.indexOf(i) - (same.length - 1) / 2);
  });
  panel.svg
    .selectAll("path.curve")
    .data(here)
    .join("path")
    .attr("class", "curve")
    .style("transition", wantsCalm() ? null : "d 0.2s")
    .style("stroke", inkOf)
    .style("stroke-width", (name) => (isLevel(name, p) ? 3.5 : 2.5))
    .attr("d", (_, i) => `M${left},${y(1) + shift[i]}L${right},${ends[i] + shift[i]}`);
  const group = fresh(panel.svg, "points").raise();
  const heights = apart(ends, 36, 16, y.range()[0] - 18);
  here.forEach((name, i) => {
    for (const [place, size] of (random ? lines[name].measured[p] : []).entries())
      group
        .append("path")
        .attr("class", "measured")
        .attr("d", outlines[name])
        .attr("transform", `translate(${x(widths[place])},${y(size) + shift[i]})`)
        .style("fill", "var(--ex-ground)")
        .style("stroke", inkOf(name))
        .style("stroke-width", 1.8);
    const label = say(group, "", right + 12, heights[i], "start");
    label.style("fill", lettersOf(name));
    const level = isLevel(name, p);
    const says = level ? "level" : factor(change(name, p));
    [lines[name].short, says].forEach((text, row) =>
      label
        .append("tspan")
        .attr("x", right + 12)
        .attr("dy", 16 * row)
        .style("font-size", "13px")
        .style("font-weight", row ? 700 : 400)
        .text(text),
    );
  });
  const told = here.map((name) => `${lines[name].short} ${show(change(name, p), 3)}`);
  panel.describe(`In a head of ${most} components, over one of ${least}: ${told.join(", ")}`);
}
