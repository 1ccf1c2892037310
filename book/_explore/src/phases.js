/** The two phases: how many of the heaviest keys of a row gather its weight, a row of 32 keys beside it, and the scores' spread to drag across the border. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawSideways, nearest } from "./handles.js";
import * as math from "./math.js";
import { axes, fresh, point, richText, rule, say, show2, showCount } from "./shared.js";

const { n: counts, sigma: sigmas, keys, gathered } = data.phases;
const [SHORT] = counts; // keys of the row that stays behind
const WIDTH = 64; // of the heads whose spreads are marked

/** The spreads of fresh heads, undivided and with the root. */
const HEADS = [
  ["sqrt_d_k", 1, "divided by √d_k"],
  ["none", Math.sqrt(WIDTH), looks.none.label],
];

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
    { name: "n", label: "keys in the row", values: counts, value: 1024, text: showCount },
    spreadControl,
  ],
  panelWidth: "100%",
  panels: [
    ["spread", "", 64, { left: 18, right: 18 }],
    ["weight", "share of the row’s weight on its heaviest keys", 216, { left: 46, right: 14 }],
  ],
  update(app) {
    const { n, sigma } = app.state;
    drawSpread(app, n, sigma);
    drawWeight(app.panels.weight, n, sigma);
    return { said: verdict(n, sigma) };
  },
};

/** Of so many of the heaviest keys, the share of the weight. */
const curve = (n, sigma) =>
  gathered[counts.indexOf(n)][sigmas.indexOf(sigma)].map((share, i) => [keys[i], share]);

/** Where a curve comes to half of the weight, in keys; at its beginning where one key has more. */
function halfway(points) {
  const at = points.findIndex(([, share]) => share >= 0.5);
  if (at === 0) return points[0];
  const [[less, low], [more, high]] = points.slice(at - 1, at + 1);
  return [less * (more / less) ** ((0.5 - low) / (high - low)), 0.5];
}

/** So many keys have half of the weight: three digits. */
const enough = (points) => Math.ceil(Number(halfway(points)[0].toPrecision(3)));

/** Whether more keys have half of the weight, and how many. */
function verdict(n, sigma) {
  const [long, short] = [n, SHORT].map(
    (m) => `${showCount(enough(curve(m, sigma)))} of ${showCount(m)}`,
  );
  const ratio = sigma / math.criticalSigma(n);
  const [side, answer] =
    ratio >= 1 ? ["Above", "no"] : ratio > 0.7 ? ["Just below", "a few more"] : ["Below", "yes"];
  if (n === SHORT)
    return `${side} the border: half of the weight lies on ${long} keys. And in a longer row?`;
  return `${side} the border, ${answer}: half of the weight lies on ${short} keys, and on ${long}.`;
}

/** The spread on a line that the border parts, with a handle; below it where fresh heads stand. */
function drawSpread(app, n, sigma) {
  const panel = app.panels.spread;
  const [left, right] = panel.xRange;
  const x = d3.scaleLog([sigmas[0], sigmas.at(-1)], [left, right]);
  const level = 34;
  const critical = math.criticalSigma(n);
  const border = x(critical);
  const group = fresh(panel.svg, "line");
  const wide = right - left > 450;
  const part = (from, to, words, opacity) => {
    group
      .append("rect")
      .attr("x", from)
      .attr("width", to - from)
      .attr("y", level - 7)
      .attr("height", 14)
      .style("fill", colour("weights"))
      .style("opacity", opacity);
    say(group, words, (from + to) / 2, 13, "middle");
  };
  part(left, border - 1, wide ? "many keys share the weight" : "many keys", 0.2);
  part(border + 1, right, wide ? "a few keys have it" : "few", 0.6);
  say(group, "border", border, 13, "middle").style("font-weight", 700);
  rule(group, [border, 19], [border, level + 11], "var(--ex-ink)").style("stroke-width", 2.5);
  for (const [name, spread, words] of HEADS) {
    const at = x(spread);
    rule(group, [at, level + 8], [at, level + 15], colour(name)).style("stroke-width", 2.5);
    const label = say(group, "", at, level + 27, "middle").style("fill", lettersColour(name));
    richText(label, wide ? `heads of ${WIDTH}, ${words}` : words);
  }
  drawSideways(app, panel, spreadControl, x(sigma), level, (event) => ({
    sigma: nearest(sigmas, x, event.x),
  }));
  panel.heading.textContent = `spread of the scores, σ = ${show2(sigma)}`;
  panel.describe(
    `The spread of the scores, ${show2(sigma)}, on a line from ${sigmas[0]} to ${sigmas.at(-1)}; the border of ${showCount(n)} keys is at ${show2(critical)}.`,
    "group",
  );
}

/** The weight against the keys that gather it, the heaviest first: of the row, and of a short one. */
function drawWeight(panel, n, sigma) {
  const x = d3.scaleLog([1, counts.at(-1)], panel.xRange);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  const right = panel.xRange[1];
  axes(panel, {
    x,
    y,
    xLabel: "number of keys, the heaviest first",
    xTicks: [1, 10, 100, 1000, 1e4, 1e5],
    xFormat: (m) => (m === 1 ? "one key" : showCount(m)),
    yTicks: [0, 0.5, 1],
    yFormat: d3.format(".0%"),
  });
  const group = fresh(panel.svg, "curves");
  const draw = (m, ink, width) => {
    const points = curve(m, sigma);
    const path = d3.line()(points.map(([k, share]) => [x(k), y(share)]));
    group
      .append("path")
      .attr("d", path)
      .style("fill", "none")
      .style("stroke", ink)
      .style("stroke-width", width);
    const [k, share] = halfway(points);
    return [x(k), y(share), points];
  };
  if (n > SHORT) {
    const [at, level] = draw(SHORT, "var(--ex-muted)", 2);
    point(group, at, level, 4, "var(--ex-muted)");
    say(group, `row of ${SHORT} keys`, x(SHORT), y(1) - 7, "end").style("fill", "var(--ex-muted)");
  }
  const [at, level, points] = draw(n, colour("weights"), 3.5);
  point(group, at, level, 6, colour("weights"));
  const name = `row of ${showCount(n)} keys`;
  say(group, name, Math.min(x(n), right - 7.6 * name.length), y(1) - 7, "start")
    .style("fill", lettersColour("weights"))
    .style("font-weight", 700);
  const words =
    level < y(0.5)
      ? [`one key has ${Math.round(100 * points[0][1])} %`, "of the weight"]
      : ["half of the weight", `lies on ${showCount(enough(points))} keys`];
  const room = 128;
  const [after, before] = [at + room < right + 12, at - room > x(SHORT) - 10];
  const [beside, lines, anchor] = after
    ? [at + 12, level + 18, "start"]
    : before
      ? [at - 12, level - 24, "end"]
      : [right + 12, y(0) - 22, "end"];
  words.forEach((text, i) =>
    say(group, text, beside, lines + 16 * i, anchor).style("font-weight", 700),
  );
  panel.describe(
    `The weight on the heaviest keys of a row, the mean of many rows: ${points
      .filter((_, i) => i % 4 === 0 || i === points.length - 1)
      .map(([k, share]) => `${showCount(k)}: ${share.toFixed(3)}`)
      .join(", ")}.`,
  );
}
