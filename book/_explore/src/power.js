/** Divide by a power of d_k: which p keeps fresh scores, a step of gradient descent or one of Adam at every width? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { apart, axes, fresh, say, show, show2, showCount, wantsCalm } from "./shared.js";

const { d_k: widths, lines } = data.power;
const [least, most] = [widths[0], widths.at(-1)];

/** In this order, with these widths where they are level, lines that coincide are all seen. */
const layers = { SGD: 9, Adam: 7, start: 3 };

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
  title: "Which power p makes width harmless?",
  prompt: "Scores are divided by d_k^p: move p until a line turns level.",
  hint: { target: "input", by: [75, 0] },
  controls: [
    {
      name: "p",
      label: "power p",
      values: Array.from({ length: 21 }, (_, i) => i / 20),
      value: 0.25,
      text: plain,
    },
    {
      name: "query",
      label: "W_Q, and so all scores, start at 0",
      options: { random: "at random", zero: "at 0" },
      check: true,
      value: "random",
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "lines",
      `growth from d_k = ${least} on (points: measured)`,
      290,
      { left: 44, right: 112, top: 12 },
    ],
  ],
  update(app) {
    const { p, query } = app.state;
    if (app.controls.nextSibling !== app.said) app.said.before(app.controls); // beneath the plot
    // Where W_Q starts at 0, all scores do, and there is no start to keep.
    const here = Object.keys(layers).filter((name) => name !== "start" || query === "random");
    drawLines(app.panels.lines, here, p, query === "random");
    const at = query === "zero" ? "From W_Q = 0, at" : "At";
    return { said: `${at} p = ${plain(p)} ${verdict(here, p)}` };
  },
};

/** What is level at p and what is not; where nothing is, what has changed most. */
function verdict(here, p) {
  const level = here.filter((name) => isLevel(name, p));
  if (!level.length) {
    const far = (name) => Math.abs(exponent(name, p));
    const worst = here.reduce((most, name) => (far(name) > far(most) + 1e-9 ? name : most));
    const size = change(worst, p);
    const times = size > 1 ? `${brief(size)} times` : `1/${brief(1 / size)} of`;
    return `no line is level: with ${showCount(most)} components ${lines[worst].one} is ${times} what it was with ${least}.`;
  }
  const rest = here
    .filter((name) => !level.includes(name))
    .map((name) => {
      const size = change(name, p);
      return `${lines[name].many} ${size > 1 ? `grow ${brief(size)} times` : `shrink to 1/${brief(1 / size)}`}`;
    });
  const others = rest.join(" and ");
  return `${level.map((name) => lines[name].many).join(" and ")} are level: they keep their size at every width. ${others && `${others[0].toUpperCase()}${others.slice(1)}.`}`;
}

/** A power without needless zeros, and the one that matters as people say it. */
function plain(p) {
  return p === 0.5 ? "1/2" : show(p).replace(/\.?0+$/, "");
}

/** A factor in two digits. */
const brief = (x) => show2(x).replace(/\.0$/, "");

/** Beside a line or at the axis: how many times as large. */
const factor = (x) => (x > 0.99 ? `× ${brief(x)}` : `÷ ${brief(1 / x)}`);

function drawLines(panel, here, p, measured) {
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
  const curves = panel.svg.selectAll("path.curve").data(here, (name) => name);
  const ends = here.map((name) => y(change(name, p)));
  curves
    .join("path")
    .attr("class", "curve")
    .style("transition", wantsCalm() ? null : "d 0.2s, stroke-width 0.2s")
    .style("stroke", inkOf)
    .style("stroke-width", (name) => (isLevel(name, p) ? layers[name] : 2.5))
    .attr("d", (_, i) => `M${left},${y(1)}L${right},${ends[i]}`);
  const group = fresh(panel.svg, "points").raise();
  const heights = apart(ends, 36, 16, y.range()[0] - 18);
  here.forEach((name, i) => {
    for (const [place, size] of (measured ? lines[name].measured[p] : []).entries())
      group
        .append("path")
        .attr("class", "measured")
        .attr("d", outlines[name])
        .attr("transform", `translate(${x(widths[place])},${y(size)})`)
        .style("fill", "var(--ex-ground)")
        .style("stroke", inkOf(name))
        .style("stroke-width", 1.8);
    const label = say(group, "", right + 12, heights[i], "start").style("fill", lettersOf(name));
    const says = isLevel(name, p) ? "level" : factor(change(name, p));
    [lines[name].short, says].forEach((text, row) =>
      label
        .append("tspan")
        .attr("x", right + 12)
        .attr("dy", 16 * row)
        .style("font-size", "13px")
        .style("font-weight", row || isLevel(name, p) ? 700 : 400)
        .text(text),
    );
  });
  panel.describe(
    `In a head of ${most} components, over one of ${least}: ${here
      .map((name) => `${lines[name].many} ${show(change(name, p), 3)}`)
      .join(", ")}`,
  );
}
