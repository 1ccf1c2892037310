/** What learning receives in a new layer: a link, a query and a matrix, by divisor, where 1 is added to a dot product or to a score. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour, looks } from "../_shared/data.js";
import {
  COMMON,
  axes,
  commonControls,
  comparedWith,
  dividedBy,
  divisorName,
  fresh,
  layer,
  richText,
  rule,
  say,
  showCount,
  superscript,
} from "../_shared/shared.js";

const received = data.learning;
const WIDTHS = commonControls[0].values;
/** What receives a gradient; the first two through a dot product, or through the score that softmax sees. */
const ROWS = [
  ["link", "the median link"],
  ["strongest", "a query’s strongest link"],
  ["query", "the median query"],
  ["matrix", "the matrix W_Q"],
];
const OF_LINKS = ["link", "strongest"];
const [LEAST, MOST] = [1e-6, 100]; // of the axis
const HEIGHT = 46; // px, of a row
const SMALL = 0.1; // times what arrives with the root, from which downwards a gradient is small

export const learning = {
  title: "Which gradients become small?",
  prompt:
    "A link is one query with one key. What reaches it in a new layer, and what goes on to W_Q?",
  hint: { target: ".explorable-buttons button" },
  shares: COMMON,
  controls: [
    ...commonControls,
    {
      name: "to",
      label: "1 is added",
      options: { dot: "+1 to the dot product", score: "+1 to the score" },
      value: "dot",
      buttons: true,
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "rows",
      "Gradient, over what arrives with ÷ √d_k",
      4 * HEIGHT + 46,
      { left: 8, right: 8, top: 12, bottom: 34 },
    ],
  ],
  update({ panels, state }) {
    const { d_k: dK, divisor, to } = state;
    const other = comparedWith(divisor);
    const at = Object.fromEntries(ROWS.map(([row]) => [row, over(row, dK, divisor, to)]));
    const grey = Object.fromEntries(ROWS.map(([row]) => [row, over(row, dK, other, to)]));
    const ratio = (row) => at[row] / grey[row];
    drawRows(panels.rows, divisor, at, grey);
    panels.rows.describe(
      `Gradients ${nameOf(divisor, dK)}, over those ${nameOf(other, dK)}: ${ROWS.map(([row, name]) => `${name.replace("_", " ")} ${spoken(ratio(row))}`).join("; ")}.`,
    );
    return { sentence: answer(state, ratio) };
  },
};

/** What arrives, over what arrives divided by the root; at a score it is c times what arrives at the dot product. */
function over(row, dK, divisor, to) {
  const arrives = (by) => {
    const c = to === "score" && OF_LINKS.includes(row) ? dividedBy(by, dK) : 1;
    return c * received[by][row][WIDTHS.indexOf(dK)];
  };
  return arrives(divisor) / arrives("sqrt_d_k");
}

const nameOf = (divisor, dK) =>
  divisor === "none" ? looks.none.label : `divided by ${divisor === "d_k" ? dK : `√${dK}`}`;

/** Two significant digits of a number from 1: 25,000, 14 million, 1.9·10¹². */
function count(x) {
  const short = Number(x.toPrecision(2));
  if (short < 1e6) return showCount(short);
  if (short >= 1e12) return x.toExponential(1).replace(/e\+(.*)/, (_, e) => `·10${superscript(e)}`);
  const [size, name] = short < 1e9 ? [1e6, "million"] : [1e9, "billion"];
  return `${short / size} ${name}`;
}

const tenTo = (x) => `10${superscript(Math.round(Math.log10(x)))}`;

/** Eight times as much of something, or 25,000 times less. */
function times(ratio, what = "") {
  if (ratio > 1) return `${count(ratio)} times as much${what}`;
  return `${count(1 / ratio)} times less${what}`;
}

/** In full precision, for those who do not see the drawing. */
const spoken = (ratio) => `${times(ratio)} (${ratio.toPrecision(3).replace("e-", "e−")})`;

/** What becomes small and what does not. */
function answer({ d_k: dK, divisor, to }, ratio) {
  const link = to === "dot" ? "the median link" : "the score of the median link";
  const links = times(ratio("link"), " gradient");
  const name = nameOf(divisor, dK);
  const begins = `${name[0].toUpperCase()}${name.slice(1)}, ${link} gets ${links}`;
  if (divisor !== "none")
    return `${begins} ${links.includes("less") ? "than" : "as"} ${looks.none.label}, and W_Q gets ${times(ratio("matrix"))}.`;
  const small =
    ratio("link") < SMALL
      ? "gradients are small for most links, not for W_Q"
      : "at this width no gradient is small";
  return `${begins}, but W_Q gets ${times(ratio("matrix"))}: ${small}.`;
}

/** A line for each, with a point for the chosen divisor and a grey one for what it is compared with. */
function drawRows(panel, divisor, at, grey) {
  const x = d3.scaleLog([LEAST, MOST], panel.xRange);
  const [bottom, top] = panel.yRange;
  const y = d3.scaleLinear([0, 1], [bottom, top]);
  const ticks = [-6, -4, -2, 0, 2].map((power) => 10 ** power);
  const label = (tick) => (tick < 1e-2 ? tenTo(tick) : String(tick));
  axes(panel, { x, y, xTicks: ticks, xFormat: label, yTicks: 0 });
  const notes = fresh(panel.svg, "notes");
  rule(notes, [x(1), top], [x(1), bottom], "var(--ex-grid)").style("stroke-width", 2);
  const dots = layer(panel.svg, "dots").classed("glides", true);
  const inside = (value) => Math.max(LEAST, Math.min(MOST, value));
  const high = (bottom - top) / ROWS.length; // less in a slide
  const level = (i) => top + (i + 0.7) * high;
  const rows = ROWS.map(([row], i) => ({ i, own: at[row], other: grey[row] }));
  const each = (name, tag) => layer(dots, name).selectAll(tag).data(rows).join(tag);
  each("way", "line")
    .attr("x1", ({ other }) => x(inside(other)))
    .attr("x2", ({ own }) => x(inside(own)))
    .attr("y1", ({ i }) => level(i))
    .attr("y2", ({ i }) => level(i))
    .style("stroke", colour(divisor))
    .style("stroke-width", 5)
    .style("opacity", 0.35);
  const dot = (name, value, r, fill) =>
    each(name, "circle")
      .attr("cx", (row) => x(inside(value(row))))
      .attr("cy", ({ i }) => level(i))
      .attr("r", r)
      .style("fill", fill)
      .style("stroke", "var(--ex-ground)");
  dot("other", ({ other }) => other, 6, "var(--ex-muted)");
  dot("own", ({ own }) => own, 7, colour(divisor));
  const [left, right] = panel.xRange;
  const muted = "var(--ex-muted)";
  rows.forEach(({ i, own, other }) => {
    richText(say(notes, "", left, level(i) - 13, "start"), ROWS[i][1]);
    say(notes, times(own / other), right, level(i) - 13, "end")
      .style("font-weight", 700)
      .style("fill", lettersColour(divisor));
    if (Math.min(own, other) < LEAST) say(notes, "◂", left - 8, level(i) + 4, "end");
  });
  const at0 = Math.max(x(inside(grey.link)), left + 25);
  richText(say(notes, "", at0, level(0) + 17, "middle"), divisorName(comparedWith(divisor))).style(
    "fill",
    muted,
  );
}
