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
  ["strongest", "a query’s largest link"],
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
    "How fast the loss changes with a link’s dot product, or with the score that softmax makes weights of.",
  hint: { target: ".explorable-buttons button" },
  shares: COMMON,
  controls: [
    ...commonControls,
    {
      name: "to",
      label: "the loss changes",
      options: { dot: "with the dot product", score: "with the score" },
      value: "dot",
      buttons: true,
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "rows",
      "Gradient: how many times what arrives with ÷\u00a0√d_k",
      4 * HEIGHT + 46,
      { left: 8, right: 8, top: 12, bottom: 34 },
    ],
  ],
  update({ panels, state }) {
    const { d_k: dK, divisor, to } = state;
    const other = comparedWith(divisor);
    const at = Object.fromEntries(ROWS.map(([row]) => [row, over(row, dK, divisor, to)]));
    const grey = Object.fromEntries(ROWS.map(([row]) => [row, over(row, dK, other, to)]));
    drawRows(panels.rows, state, at, grey);
    panels.rows.describe(
      `Gradients ${nameOf(divisor, dK)}, over those divided by the root: ${ROWS.map(([row, name]) => `${name.replace("_", " ")} ${spoken(at[row])}`).join("; ")}. In grey those ${nameOf(other, dK)}: ${ROWS.map(([row]) => spoken(grey[row])).join("; ")}.`,
    );
    return { sentence: answer(state, at, grey) };
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

/** Eight times as much, 25,000 times less, or as much. */
function times(ratio) {
  if (Math.abs(ratio - 1) < 0.005) return "as much";
  return ratio > 1 ? `${count(ratio)} times as much` : `${count(1 / ratio)} times less`;
}

/** In full precision, for those who do not see the drawing. */
const spoken = (ratio) => `${times(ratio)} (${ratio.toPrecision(3).replace("e-", "e−")})`;

/** What becomes small and what does not, compared with the root. */
function answer({ d_k: dK, divisor, to }, at, grey) {
  const link = to === "dot" ? "the median link" : "the score of the median link";
  const [links, matrix] = ["link", "matrix"].map((row) =>
    times((divisor === "sqrt_d_k" ? grey : at)[row]),
  );
  if (divisor === "sqrt_d_k")
    return `√${dK} is what the others are compared with. ${capital(looks.none.label)}, ${link} would get ${links}, and W_Q ${matrix}.`;
  const than = links.includes("less") ? "than" : "as";
  const begins = `${capital(nameOf(divisor, dK))}, ${link} gets ${links} gradient ${than} with √${dK}`;
  if (divisor === "d_k") return `${begins}, and W_Q gets ${matrix}.`;
  const small = at.link < SMALL ? ": gradients are small for most links, not for W_Q" : "";
  return `${begins}, but W_Q gets ${matrix}${small}.`;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A line for each, with a point for the chosen divisor and a grey one for what it is compared with; the root's are all at 1. */
function drawRows(panel, { divisor, to }, at, grey) {
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
    const said = divisor === "sqrt_d_k" ? `${looks.none.label}: ${times(other)}` : times(own);
    say(notes, said, right, level(i) - 13, "end")
      .style("font-weight", 700)
      .style("fill", divisor === "sqrt_d_k" ? muted : lettersColour(divisor));
    if (to === "score" && !OF_LINKS.includes(ROWS[i][0]))
      say(notes, "unchanged", left, level(i) + 4, "start").style("fill", muted);
    if (Math.min(own, other) < LEAST) say(notes, "◂", left - 8, level(i) + 4, "end");
  });
  const at0 = Math.max(x(inside(grey.link)), left + 25);
  richText(say(notes, "", at0, level(0) + 17, "middle"), divisorName(comparedWith(divisor))).style(
    "fill",
    muted,
  );
}
