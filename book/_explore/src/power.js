/** Divide by a power of d_k: which p keeps the scores, a step of gradient descent or one of Adam at every width? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { apart, axes, fresh, rich, say, show, show2, showCount, wantsCalm } from "./shared.js";

const { d_k: widths, lines } = data.power;
const [least, most] = [widths[0], widths.at(-1)];

/** In this order; where lines coincide, the dashes of one lie over another. */
const order = ["SGD", "Adam", "start"];
const dashes = { SGD: "none", Adam: "9 6", start: "2 5" };

/** What a line is drawn in; how its points look, of which a ring holds the others. */
const inkOf = (name) => (name === "start" ? "var(--ex-ink)" : colour(name));
const lettersOf = (name) => (name === "start" ? "var(--ex-ink)" : lettersColour(name));
const outlines = {
  SGD: "M-6,0A6,6,0,1,1,6,0A6,6,0,1,1,-6,0Z",
  Adam: "M0,-5L4.5,3.5H-4.5Z",
  start: "M-3,-3H3V3H-3Z",
};

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = lines[name].exponents;
  return undivided + p * (divided - undivided);
};

const isLevel = (name, p) => Math.abs(exponent(name, p)) < 1e-9;

/** How many times as large something is in the widest head as in the narrowest. */
const change = (name, p) => (most / least) ** exponent(name, p);

const marks = ["0", "½", "1"];

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
      marks,
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
  panels: [["lines", "", 260, { left: 44, right: 132, top: 12 }]],
  forget({ memory }) {
    delete memory.been;
  },
  update(app) {
    const { p, query } = app.state;
    const here = query === "random" ? order : order.slice(0, 2); // scores that are all 0 have no size
    drawLines(app.panels.lines, p, here);
    const been = (app.memory.been ??= new Set()).add(p);
    app.controls.querySelectorAll(".explorable-marks span").forEach((mark, i) => {
      const level = here.filter((name) => isLevel(name, i / 2)).length;
      const lit = level && been.has(i / 2);
      mark.textContent = lit ? `${marks[i]}: ${["", "one", "two"][level]} level` : marks[i];
      mark.style.color = lit ? "var(--ex-ink)" : null;
    });
    // The last thing to try, once no p has kept all three.
    const offered = been.has(1) || query === "zero";
    app.controls.lastChild.style.visibility = offered ? null : "hidden";
    return { said: verdict(p, query === "random") };
  },
};

/** What is level at p, and how what matters most is not. */
function verdict(p, random) {
  const at = `p = ${plain(p)}`;
  const [SGD, Adam, first] = order.map((name) => change(name, p));
  const [all, both] = random ? ["all three", "first scores and "] : ["both steps", ""];
  if (p < 0.5) return `${at} is too small: ${all} grow, up to ${brief(Adam)} times.`;
  if (p === 0.5)
    return `${at} keeps ${both}gradient descent’s step, but Adam’s grows ${brief(Adam)} times.`;
  if (p < 1) return `${at} is too large for ${both}gradient descent’s step, too small for Adam’s.`;
  return random
    ? `${at} keeps Adam’s step, but first scores shrink to 1/${brief(1 / first)}: no p keeps all three.`
    : `${at} keeps Adam’s step, and scores start at 0 at every width; gradient descent’s step shrinks to 1/${brief(1 / SGD)}.`;
}

/** A power without needless zeros, and quarters as people write them. */
function plain(p) {
  return { 0.25: "¼", 0.5: "½", 0.75: "¾" }[p] ?? show(p).replace(/\.?0+$/, "");
}

/** A factor in two digits. */
const brief = (x) => show2(x).replace(/\.0$/, "");

/** Beside a line or at the axis: how many times as large. */
const factor = (x) => (x > 0.99 ? `× ${brief(x)}` : `÷ ${brief(1 / x)}`);

function drawLines(panel, p, here) {
  const measured = here.length === order.length; // from scores at random
  const x = d3.scaleLog([least, most], panel.xRange);
  const y = d3.scaleLog([1 / 400, 400], panel.yRange);
  const [left, right] = panel.xRange;
  const bottom = panel.yRange[0];
  axes(panel, {
    x,
    y,
    xLabel: "components of the head, d_k",
    xTicks: widths,
    xFormat: showCount,
    yTicks: [1 / 256, 1 / 16, 1, 16, 256],
    yFormat: factor,
  });
  const [what, how] = measured
    ? ["first scores, and how far one step moves them", "points: measured"]
    : ["how far one step moves the scores", "by theory alone"];
  panel.heading.replaceChildren(rich(`${what}; × 1 as at d_k = ${least} (${how})`));
  panel.svg
    .selectAll("path.curve")
    .data(here)
    .join("path")
    .attr("class", "curve")
    .style("transition", wantsCalm() ? null : "d 0.2s")
    .style("stroke", inkOf)
    .style("stroke-dasharray", (name) => dashes[name])
    .style("stroke-width", 3)
    .attr("d", (name) => `M${left},${y(1)}L${right},${y(change(name, p))}`);
  const group = fresh(panel.svg, "points").raise();
  const ends = here.map((name) => y(change(name, p)));
  const heights = apart(ends, 36, 16, bottom - 18);
  here.forEach((name, i) => {
    // the first is 1 for all
    const points = measured ? lines[name].measured[p].slice(1) : [];
    for (const [place, size] of points.entries())
      group
        .append("path")
        .attr("class", "measured")
        .attr("d", outlines[name])
        .attr("transform", `translate(${x(widths[place + 1])},${y(size)})`)
        .style("fill", name === "SGD" ? "var(--ex-ground)" : inkOf(name))
        .style("stroke", inkOf(name))
        .style("stroke-width", 1.8);
    const label = say(group, "", right + 10, heights[i], "start");
    label.style("fill", lettersOf(name)).style("font-size", "13px");
    const says = isLevel(name, p) ? "level" : factor(change(name, p));
    const [, whose, thing] = lines[name].short.match(/(.*) (.*)/);
    const row = (dy, text) =>
      label
        .append("tspan")
        .attr("x", right + 10)
        .attr("dy", dy)
        .text(text);
    row(0, whose);
    row(16, `${thing} `).append("tspan").style("font-weight", 700).text(says);
  });
  if (!measured)
    ["first scores:", "0 at every width"].forEach((text, i) =>
      say(group, text, left + 8, bottom - 26 + 16 * i, "start"),
    );
  const told = here.map((name) => `${lines[name].short} ${show(change(name, p), 3)}`);
  panel.describe(`In a head of ${most} components, over one of ${least}: ${told.join(", ")}`);
}
