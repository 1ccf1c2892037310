/** Divide by a power of d_k: which p keeps first scores, a step of gradient descent and one of Adam the same at every width? */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour } from "../_shared/data.js";
import {
  apart,
  axes,
  fresh,
  point,
  say,
  show,
  show2,
  showCount,
  wantsCalm,
} from "../_shared/shared.js";

const { d_k: widths, lines } = data.power;
const [least, most] = [widths[0], widths.at(-1)];

/** As they are drawn: one that coincides with another lies over it, dashed, and ends their common label. */
const names = ["Adam", "start", "SGD"];
const inkOf = (name) => (name === "start" ? "var(--ex-ink)" : colour(name));
const lettersOf = (name) => (name === "start" ? "var(--ex-ink)" : lettersColour(name));
const ROW = 15; // px, of a label
const GAP = 34; // from the middle of a label to the next one's

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = lines[name].exponents;
  return Number((undivided + p * (divided - undivided)).toFixed(6));
};

/** How many times as large something is in the widest head as in the narrowest. */
const change = (name, p) => (most / least) ** exponent(name, p);

export const power = {
  title: "Which power p makes wide heads start and learn like narrow ones?",
  prompt: "Move p: which lines turn level, so that the width no longer matters?",
  hint: { target: "input" },
  controls: [
    {
      name: "p",
      label: "power p in the divisor d_k^p",
      values: Array.from({ length: 21 }, (_, i) => i / 20),
      value: 0.25,
      text: (p) => plain(p) + ({ 0: ", undivided", 0.5: ", the root" }[p] ?? ""),
      marks: ["0", "¼", "½", "¾", "1"],
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "lines",
      `compared with a head of ${least} components`,
      275,
      { left: 45, right: 122, top: 12 },
    ],
  ],
  update({ state: { p }, panels: { lines: panel } }) {
    drawLines(panel, p);
    return { sentence: verdict(p) };
  },
};

/** What is level at p, and what is not. */
function verdict(p) {
  const at = `At p = ${plain(p)}`;
  const times = `${brief(change("Adam", p))} times`;
  if (p === 0) return `Undivided, all three grow: steps move the scores ${times} as far.`;
  if (p < 0.5) return `${at} all three grow: in the widest head Adam’s step is ${times} as large.`;
  if (p === 0.5)
    return `${at} first scores and gradient descent’s step are level; Adam’s step is ${times} as large. No p keeps all three.`;
  if (p < 1)
    return `${at} Adam’s step is still ${times} as large; first scores and gradient descent’s step shrink.`;
  return `${at} Adam’s step is level; first scores and gradient descent’s step shrink. No p keeps all three.`;
}

/** A power without needless zeros, and quarters as people write them. */
function plain(p) {
  return { 0.25: "¼", 0.5: "½", 0.75: "¾" }[p] ?? show(p).replace(/\.?0+$/, "");
}

/** A factor in two digits. */
const brief = (x) => show2(x).replace(/\.0$/, "");

/** Beside a line or at the axis: how many times as large. */
const factor = (x) => (x >= 1 ? `× ${brief(x)}` : `÷ ${brief(1 / x)}`);

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
    yTicks: [1 / 256, 1 / 16, 1, 16, 256],
    yFormat: (times) => (times === 1 ? "same" : factor(times)),
  })
    .selectAll(".grid")
    .filter((tick) => tick === 1)
    .style("stroke", "var(--ex-muted)")
    .style("stroke-opacity", 0.6)
    .style("stroke-width", 1.5);
  const level = (name) => exponent(name, p) === 0;
  const ends = names.map((name) => y(change(name, p)));
  const over = (i) => ends.indexOf(ends[i]) < i;
  panel.svg
    .selectAll("path.curve")
    .data(names)
    .join("path")
    .attr("class", "curve")
    .style("transition", wantsCalm() ? null : "d 0.2s")
    .style("stroke", inkOf)
    .style("stroke-width", (name) => (level(name) ? 5 : 3))
    .style("stroke-dasharray", (_, i) => (over(i) ? "12 12" : null))
    .attr("d", (_, i) => `M${left},${y(1)}L${right},${ends[i]}`);
  const group = fresh(panel.svg, "points").raise();
  names.forEach((name, i) =>
    lines[name].measured[p].slice(1).forEach((size, place) =>
      // the first is 1 for all
      point(group, x(widths[place + 1]), y(size), over(i) ? 2.5 : 5, inkOf(name))
        .attr("class", "measured")
        .style("stroke", "var(--ex-ground)")
        .style("stroke-width", over(i) ? 1 : 1.5),
    ),
  );
  // A label for each place where lines end; those that would collide give way up and down alike.
  const places = [...new Set(ends)];
  const down = apart(places, GAP, top + 22, bottom - 18);
  const up = apart(
    places.map((at) => -at),
    GAP,
    18 - bottom,
    -22 - top,
  );
  places.forEach((place, j) => {
    const here = names.filter((_, i) => ends[i] === place);
    const rows = here.flatMap((name) =>
      lines[name].short.match(/\S.{0,17}(?= |$)/g).map((text) => [text, name]),
    );
    const middle = (down[j] - up[j]) / 2;
    const label = say(group, "", 0, middle + 4 - (ROW * (rows.length - 1)) / 2, "start");
    rows.forEach(([text, name], i) => {
      const row = label
        .append("tspan")
        .attr("x", right + 9)
        .attr("dy", i && ROW)
        .style("fill", lettersOf(name))
        .text(text);
      const last = i === rows.length - 1;
      if (!last) row.text(here.length > 1 && !i ? `${text} and` : text);
      else
        row
          .append("tspan")
          .style("font-weight", 700)
          .text(level(name) ? ": level" : ` ${factor(change(name, p))}`);
    });
  });
  const growths = names.map((name) => `${lines[name].short} ${show(change(name, p), 3)}`);
  panel.describe(`In a head of ${most} components, over one of ${least}: ${growths.join(", ")}`);
}
