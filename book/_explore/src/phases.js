/** The two phases: how many of the heaviest keys of a row gather its weight, a row of 32 keys beside it, and the scores' spread to drag across the border. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawSideways, nearest } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, point, richText, rule, say, show2, showCount } from "./shared.js";

const { n: counts, sigma: stored, keys, gathered } = data.phases;
const [SHORT] = counts; // keys of the row that stays behind
const WIDTH = 64; // of the heads whose spreads are marked
const STEPS = 32; // of the handle, for each doubling of the spread

/** The spreads of fresh heads, undivided and with the root: name, spread, and words where there is room and where not. */
const HEADS = [
  ["sqrt_d_k", 1, "divided by √d_k", "÷ √d_k"],
  ["none", Math.sqrt(WIDTH), looks.none.label, looks.none.label],
];

const doublings = Math.log2(stored.at(-1) / stored[0]);
const sigmas = Array.from({ length: Math.round(STEPS * doublings) + 1 }, (_, i) =>
  Number((stored[0] * 2 ** (i / STEPS)).toPrecision(4)),
);

const spreadControl = {
  name: "sigma",
  label: "spread of the scores",
  spoken: "spread of the scores",
  values: sigmas,
  value: 1,
  text: (sigma) => show2(sigma),
  drawn: true,
};

export const phases = {
  title: "Do more keys share the weight of a longer row?",
  prompt: "Add keys to the row; then drag the spread of its scores across the border.",
  hint: { target: "input" },
  controls: [
    { name: "n", label: "keys in the row", values: counts.slice(1), value: 1024, text: showCount },
    spreadControl,
  ],
  panelWidth: "100%",
  panels: [
    ["spread", "", 64, { left: 18, right: 18 }],
    [
      "weight",
      "share of the row’s weight on its heaviest keys",
      216,
      { top: 38, left: 46, right: 14 },
    ],
  ],
  update(app) {
    const { n, sigma } = app.state;
    drawSpread(app, n, sigma);
    drawWeight(app.panels.weight, n, sigma);
    return { said: verdict(n, sigma) };
  },
};

/** Of so many of the heaviest keys, the share of the weight: between two spreads that are stored, what lies between theirs. */
function curve(n, sigma) {
  const above = Math.max(
    1,
    stored.findIndex((s) => s >= sigma),
  );
  const [low, high] = [above - 1, above].map((i) => gathered[counts.indexOf(n)][i]);
  const by = Math.log(sigma / stored[above - 1]) / Math.log(stored[above] / stored[above - 1]);
  return low.map((share, i) => [keys[i], share + by * (high[i] - share)]);
}

/** Where a curve comes to half of the weight: so many whole keys, three digits, and their share; one key where it has more. */
function half(points) {
  const at = points.findIndex(([, share]) => share >= 0.5);
  if (at === 0) return points[0];
  const [[less, low], [more, high]] = points.slice(at - 1, at + 1);
  const exact = less * (more / less) ** ((0.5 - low) / (high - low));
  const whole = Math.ceil(Number(exact.toPrecision(3)));
  const by = Math.log(whole / less) / Math.log(more / less);
  return [whole, low + by * (high - low)];
}

const percent = (share) => (share < 0.01 ? "under 1\u00a0%" : `${Math.round(100 * share)}\u00a0%`);

/** Whether more keys have half of the weight, and how many; where one has more, its share. */
function verdict(n, sigma) {
  const [ratio, before] = [n, SHORT].map((m) => sigma / math.criticalSigma(m));
  const count = showCount(n);
  const [[fewer, more], [whole, share]] = [SHORT, n].map((m) => half(curve(m, sigma)));
  const answer =
    ratio > 1.05
      ? "Above the border, no"
      : ratio > 0.95
        ? "At the border, hardly"
        : before > 1
          ? `Above the border for ${SHORT}, below that for ${count}`
          : ratio > 0.7
            ? `Just below the border, ${whole > fewer ? "a few more" : "hardly"}`
            : "Below the border, yes";
  const short =
    fewer === 1
      ? `one of ${SHORT} keys has ${percent(more)} of the weight`
      : `half of the weight lies on ${fewer} of ${SHORT} keys`;
  const long =
    whole === 1
      ? `one of ${count} has ${percent(share)}`
      : fewer === 1
        ? `${showCount(whole)} of ${count} have half or more`
        : `on ${showCount(whole)} of ${count}`;
  return `${answer}: ${short}, and ${long}.`;
}

/** The spread on a line that the border parts, that of the short row in grey, with a handle; below it where fresh heads stand. */
function drawSpread(app, n, sigma) {
  const panel = app.panels.spread;
  const [left, right] = panel.xRange;
  const wide = right - left > 450;
  panel.svg.attr("height", (panel.height = wide ? 64 : 96));
  const x = d3.scaleLog([sigmas[0], sigmas.at(-1)], [left, right]);
  const next = wide ? 13 : 30; // where the words of the parts stand, on a phone below those of the border
  const level = next + 21;
  const [before, critical] = [SHORT, n].map(math.criticalSigma);
  const group = fresh(panel.svg, "line");
  const [old, border] = [x(before), x(critical)];
  const part = (from, to, words, opacity, at, anchor) => {
    group
      .append("rect")
      .attr("x", from)
      .attr("width", to - from)
      .attr("y", level - 7)
      .attr("height", 14)
      .style("fill", colour("weights"))
      .style("opacity", opacity);
    say(group, words, at, next, anchor);
  };
  part(left, border - 1, wide ? "many keys share the weight" : "many keys", 0.2, left, "start");
  part(border + 1, right, wide ? "a few keys have it" : "few", 0.6, right, "end");
  rule(group, [old, next + 4], [old, level + 7], "var(--ex-muted)").style("stroke-width", 1.5);
  say(group, `for ${SHORT}: ${show2(before)}`, old + (wide ? 4 : 0), next, "end").style(
    "fill",
    "var(--ex-muted)",
  );
  rule(group, [border, 19], [border, level + 8], "var(--ex-ink)").style("stroke-width", 2.5);
  say(
    group,
    `border for ${showCount(n)} keys: ${show2(critical)}`,
    old + (wide ? 14 : -75),
    13,
    "start",
  ).style("font-weight", 700);
  for (const at of [1, 2, 4, 8]) {
    const [name, , long, short] = HEADS.find(([, spread]) => spread === at) ?? [];
    rule(
      group,
      [x(at), level + 8],
      [x(at), level + 13],
      name ? colour(name) : "var(--ex-muted)",
    ).style("stroke-width", name ? 2.5 : 1);
    const write = (text, down) =>
      richText(say(group, "", x(at), level + down, "middle"), text).style(
        "fill",
        name ? lettersColour(name) : "var(--ex-muted)",
      );
    const words = name && `heads of ${WIDTH}, ${wide ? long : short}`;
    write(wide && name ? `${at}: ${words}` : String(at), 27);
    if (!wide && name) write(words, 43);
  }
  drawSideways(app, panel, spreadControl, x(sigma), level, (event) => ({
    sigma: nearest(sigmas, x, event.x),
  }));
  panel.heading.textContent = `spread of the scores, σ = ${show2(sigma)}`;
  panel.describe(
    `The spread of the scores, ${show2(sigma)}, on a line from ${sigmas[0]} to ${sigmas.at(-1)}; the border of ${SHORT} keys is at ${show2(before)}, that of ${showCount(n)} at ${show2(critical)}.`,
    "group",
  );
}

/** The weight against the keys that gather it, the heaviest first: of the row, and of a short one. */
function drawWeight(panel, n, sigma) {
  const x = d3.scaleLog([1, counts.at(-1)], panel.xRange);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, {
    x,
    y,
    xLabel: "number of keys, the heaviest first",
    xTicks: [1, 10, 100, 1000, 1e4, 1e5],
    xFormat: (m) => (m === 1 ? "one key" : showCount(m)),
    yTicks: [0, 0.5, 1],
    yFormat: (share) => (share === 0.5 ? "half" : share ? "all" : "0"),
  });
  const group = fresh(panel.svg, "curves");
  const wide = panel.width > 450;
  /** A row's curve, a drop where it comes to half, and above its end two lines of words, as wide as `room`. */
  const draw = (m, ink, letters, width, start, anchor) => {
    const points = curve(m, sigma);
    group
      .append("path")
      .attr(
        "d",
        d3
          .line(
            ([k]) => x(k),
            ([, share]) => y(share),
          )
          .curve(d3.curveMonotoneX)(points),
      )
      .style("fill", "none")
      .style("stroke", ink)
      .style("stroke-width", width);
    const [whole, share] = half(points);
    rule(group, [x(whole), y(share)], [x(whole), y(0)], ink)
      .style("stroke-width", 1.5)
      .style("stroke-dasharray", "3 3");
    point(group, x(whole), y(share), width + 2, ink);
    const of = wide ? " of the weight" : "";
    const words =
      whole === 1
        ? `one key has ${percent(share)}${of}`
        : `half${of} on ${showCount(whole)} keys: ${percent(whole / m)}`;
    [`row of ${showCount(m)} keys`, words].forEach((text, i) =>
      say(group, text, start, y(1) - 25 + 15 * i, anchor)
        .style("fill", letters)
        .style("font-weight", m === n ? 700 : 400),
    );
    return points;
  };
  const far = panel.width - (wide ? 300 : 175);
  draw(SHORT, "var(--ex-muted)", "var(--ex-muted)", 2, Math.max(x(SHORT), 136), "end");
  const points = draw(
    n,
    colour("weights"),
    lettersColour("weights"),
    3.5,
    Math.max(x(SHORT) + 20, Math.min(x(n) - 20, far)),
    "start",
  );
  panel.describe(
    `The weight on the heaviest keys of a row, the mean of many rows: ${points
      .filter((_, i) => i % 4 === 0 || i === points.length - 1)
      .map(([k, share]) => `${showCount(k)}: ${share.toFixed(3)}`)
      .join(", ")}.`,
  );
}
