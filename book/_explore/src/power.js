/** Divide by a power of d_k: which p keeps first scores, a step of gradient descent and one of Adam the same at every width? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { apart, axes, fresh, point, say, show, show2, showCount, wantsCalm } from "./shared.js";

const { d_k: widths, lines } = data.power;
const [least, most] = [widths[0], widths.at(-1)];

/** From above, where labels of lines that coincide stand over each other. */
const names = ["Adam", "SGD", "start"];
const inkOf = (name) => (name === "start" ? "var(--ex-ink)" : colour(name));
const lettersOf = (name) => (name === "start" ? "var(--ex-ink)" : lettersColour(name));
const GAP = 32; // px from a label to the next

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = lines[name].exponents;
  return Number((undivided + p * (divided - undivided)).toFixed(6));
};

/** How many times as large something is in the widest head as in the narrowest. */
const change = (name, p) => (most / least) ** exponent(name, p);

export const power = {
  title: "Does one power p keep all three the same in wider heads?",
  prompt: "Scores are divided by d_k^p: move p until lines are level.",
  hint: { target: "input" },
  controls: [
    {
      name: "p",
      label: "power p",
      values: Array.from({ length: 21 }, (_, i) => i / 20),
      value: 0.25,
      text: plain,
      marks: [0, 0.25, 0.5, 0.75, 1].map(plain),
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "lines",
      `first scores, and how far one step moves them, compared with a head of ${least} (dots: measured)`,
      285,
      { left: 66, right: 126, top: 12 },
    ],
  ],
  update(app) {
    drawLines(app.panels.lines, app.state.p);
    return { said: verdict(app.state.p) };
  },
};

/** What is level at p, and what is not. */
function verdict(p) {
  const [grows, shrunk] = [brief(change("Adam", p)), brief(1 / change("start", p))];
  const not = `Not p = ${plain(p)}:`;
  if (p === 0) return `${not} all three grow, both steps ${grows} times.`;
  if (p < 0.5) return `${not} all three grow, Adam’s step ${grows} times.`;
  if (p === 0.5)
    return `${not} first scores and gradient descent’s step are level, but Adam’s step grows ${grows} times.`;
  if (p < 1)
    return `${not} Adam’s step grows ${grows} times, but first scores and gradient descent’s step shrink.`;
  return `${not} Adam’s step is level, but first scores shrink to 1/${shrunk}. No p keeps all three.`;
}

/** A power without needless zeros, and quarters as people write them. */
function plain(p) {
  return { 0.25: "¼", 0.5: "½", 0.75: "¾" }[p] ?? show(p).replace(/\.?0+$/, "");
}

/** A factor in two digits. */
const brief = (x) => show2(x).replace(/\.0$/, "");

/** Beside a line or at the axis: how many times as large. */
const factor = (x) => (x > 1 ? `× ${brief(x)}` : `÷ ${brief(1 / x)}`);

function drawLines(panel, p) {
  const x = d3.scaleLog([least, most], panel.xRange);
  const y = d3.scaleLog([1 / 400, 400], panel.yRange);
  const [left, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  axes(panel, {
    x,
    y,
    xLabel: "components of the head, d_k",
    xTicks: widths.filter((_, i) => i % 2 === 0),
    xFormat: showCount,
    yTicks: [1 / 256, 1, 256],
    yFormat: (x) => (x === 1 ? "the same" : factor(x)),
  });
  const level = (name) => exponent(name, p) === 0;
  const ends = names.map((name) => y(change(name, p)));
  // Lines that coincide lie side by side.
  const aside = ends.map((end, i) => {
    const before = ends.slice(0, i).includes(end);
    return before ? 2.5 : ends.lastIndexOf(end) > i ? -2.5 : 0;
  });
  panel.svg
    .selectAll("path.curve")
    .data(names)
    .join("path")
    .attr("class", "curve")
    .style("transition", wantsCalm() ? null : "d 0.2s")
    .style("stroke", inkOf)
    .style("stroke-width", (name) => (level(name) ? 5 : 3))
    .attr("d", (_, i) => `M${left},${y(1) + aside[i]}L${right},${ends[i] + aside[i]}`);
  const group = fresh(panel.svg, "points").raise();
  // Labels that would collide give way up and down alike.
  const places = ends.map((end, i) => end + i / 100);
  const down = apart(places, GAP, top + 12, bottom - 18);
  const up = apart(
    places.map((at) => -at),
    GAP,
    18 - bottom,
    -12 - top,
  );
  names.forEach((name, i) => {
    lines[name].measured[p].slice(1).forEach((size, place) =>
      // the first is 1 for all
      point(group, x(widths[place + 1]), y(size) + aside[i], 4.5, inkOf(name))
        .attr("class", "measured")
        .style("stroke", "var(--ex-ground)")
        .style("stroke-width", 1.5),
    );
    const label = say(group, "", 0, (down[i] - up[i]) / 2 - 3, "start");
    label.style("fill", lettersOf(name)).style("font-size", "13px");
    const row = (dy, text) =>
      label
        .append("tspan")
        .attr("x", right + 10)
        .attr("dy", dy)
        .text(text);
    const [, start, rest] = lines[name].short.match(/^(.{1,18})(?: (.*))?$/);
    row(0, start);
    row(15, rest ? `${rest} ` : "")
      .append("tspan")
      .style("font-weight", 700)
      .text(level(name) ? "level" : factor(change(name, p)));
  });
  const told = names.map((name) => `${lines[name].short} ${show(change(name, p), 3)}`);
  panel.describe(`In a head of ${most} components, over one of ${least}: ${told.join(", ")}`);
}
