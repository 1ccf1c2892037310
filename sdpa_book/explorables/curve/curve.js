/** The curve of softmax between two keys: flat where their scores lie far apart, and how many random gaps lie there, by divisor. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour, looks } from "../_shared/data.js";
import { drawSideways, nearest } from "../_shared/handles.js";
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
  say,
  show,
} from "../_shared/shared.js";

const { edge, flat, lengths } = data.curve;
const WIDTHS = commonControls[0].values;
const MARKED = [4, 64, 256];
const REACH = 16; // of the axis
const BELL = 66; // px, the highest of a bell
const BETWEEN = 12; // px, from the curve's ground to it
const TANGENT = 2.5; // of the gap, to either side

const places = Array.from({ length: 8 * REACH + 1 }, (_, i) => i / 4 - REACH);

const gapControl = {
  name: "gap",
  label: "gap",
  spoken: "gap between the two scores",
  values: places,
  value: 2,
  text: (gap) => show(gap, 2),
  drawn: true,
};

export const curve = {
  title: "Where is the curve of softmax flat?",
  prompt: "Two keys share the weight. Drag the point along the curve; widen the head, and divide.",
  hint: { target: ".explorable-handle" },
  shares: COMMON,
  controls: [...commonControls, gapControl],
  panelWidth: "100%",
  panels: [
    [
      "curve",
      "Shaded: slope below a tenth of the steepest. Bells: random gaps at d_k = 4, 64 and 256.",
      268,
      { left: 30, right: 10, top: 24 },
    ],
  ],
  update(app) {
    drawCurve(app, app.panels.curve);
    return { sentence: answer(app.state) };
  },
};

/** The weight of the first key. */
const weightAt = (gap) => 1 / (1 + Math.exp(-gap));

/** How much it grows with the gap. */
const slopeAt = (gap) => weightAt(gap) * weightAt(-gap);

/** The standard deviation of gaps between the scores of random keys. */
const spreadOf = (dK, divisor) => Math.sqrt(2 * dK) / dividedBy(divisor, dK);

/** How often gaps are so wide, over how often they are 0: they are normal for each length of a query. */
function oftenAt(gap, dK, divisor) {
  const bell = (at) =>
    lengths[dK].reduce((sum, length) => {
      const spread = length * spreadOf(dK, divisor);
      return sum + Math.exp(-0.5 * (at / spread) ** 2) / spread;
    }, 0);
  return bell(gap) / bell(0);
}

/** The share of gaps where the curve is flat. */
function shareFlat(dK, divisor) {
  const share = flat[divisor][WIDTHS.indexOf(dK)];
  return share < 0.005 ? "hardly any" : `${Math.round(100 * share)}\u00a0%`;
}

function answer({ d_k: dK, divisor }) {
  const root = Math.sqrt(dK);
  const rootIs = `√${dK}\u00a0${Number.isInteger(root) ? "=" : "≈"}\u00a0${show(root, Number.isInteger(root) ? 0 : 1)}`;
  const none = shareFlat(dK, "none");
  const divided = shareFlat(dK, "sqrt_d_k");
  const lie = "of random gaps lie where the curve is flat";
  const lies = "gap lies where it is flat";
  if (divisor === "none") return `Undivided, ${none} ${lie}; divided by ${rootIs}, ${divided}.`;
  if (divisor === "sqrt_d_k")
    return `Divided by ${rootIs}, ${divided} ${lie}; ${looks.none.label}, ${none}.`;
  const [low, high] = [-1, 1].map((side) => show(weightAt(side * spreadOf(dK, divisor))));
  return `Divided by ${dK}, ${shareFlat(dK, divisor)} ${lies}, but most weights are ${low} to ${high}.`;
}

/** The curve with its handle, flat parts shaded, and below it bells of gaps. */
function drawCurve(app, panel) {
  const { d_k: dK, divisor, gap } = app.state;
  const x = d3.scaleLinear([-REACH, REACH], panel.xRange);
  const [floor, top] = panel.yRange;
  const ground = floor - BELL - BETWEEN;
  const y = d3.scaleLinear([0, 1], [ground, top]);
  const shade = layer(panel.svg, "flat").selectAll("rect").data([-1, 1]).join("rect");
  shade
    .attr("x", (side) => x(side < 0 ? -REACH : edge))
    .attr("width", x(REACH) - x(edge))
    .attr("y", top)
    .attr("height", floor - top)
    .style("fill", "var(--ex-muted)")
    .style("fill-opacity", 0.13);
  axes(panel, {
    x,
    y,
    xTicks: [],
    yTicks: [0, 0.5, 1],
    yFormat: String,
    yLabel: "weight of the first key",
  });
  const foot = fresh(panel.svg, "foot");
  const scale = foot.append("g").attr("class", "axis").attr("transform", `translate(0,${floor})`);
  const minus = (value) => String(value).replace("-", "−");
  scale.call(
    d3.axisBottom(x).tickValues([-15, -10, -5, 0, 5, 10, 15]).tickFormat(minus).tickSizeOuter(0),
  );
  say(foot, "gap: how far the first score lies above the second", x(0), floor + 34, "middle").style(
    "fill",
    "var(--ex-muted)",
  );
  drawBells(panel, x, floor, dK, divisor);
  const path = (name, d) => layer(panel.svg, name, "path").attr("d", d).style("fill", "none");
  path("curve", d3.line(x, (at) => y(weightAt(at)))(places))
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2.5);
  const [weight, slope] = [weightAt(gap), slopeAt(gap)];
  const by = TANGENT / Math.hypot(1, (slope * (top - ground)) / (x(1) - x(0)));
  const tangent = [-by, by].map((step) => [x(gap + step), y(weight + slope * step)]);
  path("tangent", d3.line()(tangent)).style("stroke", colour("query")).style("stroke-width", 3);
  const words = fresh(panel.svg, "words");
  const [aside, anchor] = gap > 0 ? [x(REACH) - 8, "end"] : [x(-REACH) + 8, "start"];
  [`gap ${gapControl.text(gap)}`, `weight ${brief(weight)}`, `slope ${brief(slope)}`].forEach(
    (line, i) =>
      say(words, line, aside, y(0.6) + 17 * i, anchor)
        .style("font-weight", 700)
        .style("fill", lettersColour("query")),
  );
  say(words, "flat", x(-REACH) + 8, top + 14, "start").style("fill", "var(--ex-muted)");
  say(words, "flat", x(REACH) - 8, ground - 8, "end").style("fill", "var(--ex-muted)");
  panel.describe(
    `The first key’s weight against the gap. At a gap of ${gapControl.text(gap)} the weight is ${weight.toFixed(4)} and the slope ${slope.toFixed(4)}; the curve is flat beyond ${show(edge, 1)}.`,
    "group",
  );
  drawSideways(app, panel, gapControl, x(gap), y(weight), (event) => ({
    gap: nearest(places, x, event.x),
  }));
}

/** A weight or slope with two digits, or about 0 or 1 where they would show none of it. */
const brief = (w) => (w < 0.005 ? "≈ 0" : w > 0.995 ? "≈ 1" : show(w));

/** How often random gaps are so wide: of the chosen head in full, of others and of what it is compared with in grey. */
function drawBells(panel, x, floor, dK, divisor) {
  const bell = (width, name) =>
    places.map((gap) => [x(gap), floor - BELL * oftenAt(gap, width, name)]);
  const other = comparedWith(divisor);
  const beside = MARKED.filter((width) => width !== dK);
  const outlines = [...beside.map((width) => [width, divisor]), [dK, other]];
  layer(panel.svg, "outlines")
    .selectAll("path")
    .data(outlines)
    .join("path")
    .attr("d", ([width, name]) => d3.line()(bell(width, name)))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-dasharray", ([, name]) => (name === divisor ? null : "4 3"))
    .style("stroke-width", 1.3);
  layer(panel.svg, "bell", "path")
    .attr("d", d3.line()([[x(-REACH), floor], ...bell(dK, divisor), [x(REACH), floor]]))
    .style("fill", colour(divisor))
    .style("fill-opacity", 0.35)
    .style("stroke", colour(divisor))
    .style("stroke-width", 2);
  const words = fresh(panel.svg, "names");
  const muted = "var(--ex-muted)";
  const name = (text, width, by, height) => {
    const bell = (at) => oftenAt(at, width, by);
    const at = Math.min(places.findLast((gap) => bell(gap) >= height) + 0.5, 0.8 * REACH);
    const level = floor - BELL * Math.max(height, bell(at)) - 3;
    const wide = at > REACH / 2; // its name ends where the drawing does
    const place = wide ? [x(REACH) - 2, level, "end"] : [x(at), level, "start"];
    richText(say(words, "", ...place), text).style("fill", muted);
  };
  if (divisor === "none") for (const width of beside) name(String(width), width, divisor, 0.2);
  name(divisorName(other), dK, other, other === "none" ? 0.2 : 0.55);
  const at = -Math.min(1.2 * spreadOf(dK, divisor) + 1.5, 9);
  say(words, dK, x(at), floor - 0.35 * BELL, "middle")
    .style("font-weight", 700)
    .style("fill", lettersColour(divisor));
}
