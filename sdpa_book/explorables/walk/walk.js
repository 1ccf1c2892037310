/** A dot product is a walk of d_k random steps: how far from their beginning walks end, divided or not, and the angle that makes it so. */
import * as d3 from "../_shared/d3.js";
import { colour, lettersColour } from "../_shared/data.js";
import { makeGenerator, sampleNormal } from "../_shared/math.js";
import {
  COMMON,
  ROOMY,
  addButtons,
  arrow,
  axes,
  bar,
  commonControls,
  comparedWith,
  dividedBy,
  divisorName,
  fresh,
  layer,
  point,
  richText,
  rule,
  say,
  wantsCalm,
} from "../_shared/shared.js";

const WIDTHS = commonControls[0].values;
const MOST = WIDTHS.at(-1);
const DRAWN = 12; // walks, of which every step is shown
const ENDING = 500; // walks, of which the ends make the bell
const KEYS = 24; // arrows beside the query's
const SECONDS = 2.4; // from the first step to the last
const BINS = 41;
const BELL = 50; // px, its highest bar
/** How far up and down the axis goes: undivided, and divided. */
const REACH = { none: 30, sqrt_d_k: 4, d_k: 4 };

/** Of a draw some walks from beginning to end, and where many stand at each width. */
function walksOf(draw, memory) {
  if (memory.drawn === draw) return memory;
  const uniform = makeGenerator(draw);
  const walks = Array.from({ length: ENDING }, () => {
    const [query, key] = [0, 1].map(() => sampleNormal(MOST, uniform));
    let sum = 0;
    return [0, ...Array.from(query, (x, i) => (sum += x * key[i]))];
  });
  const angle = makeGenerator(draw + 5000);
  return Object.assign(memory, {
    drawn: draw,
    walks: walks.slice(0, DRAWN),
    ends: Object.fromEntries(WIDTHS.map((dK) => [dK, walks.map((walk) => walk[dK])])),
    keys: Array.from({ length: KEYS }, () => sampleNormal(MOST, angle)),
  });
}

export const walk = {
  title: "A dot product is a random walk",
  hint: { target: "input" },
  shares: COMMON,
  controls: [
    ...commonControls,
    { name: "draw", label: "draw", min: 0, max: 999, step: 1, value: 0, drawn: true },
  ],
  panelWidth: "100%",
  answerAfter: "walks",
  panels: [
    ["walks", "", ROOMY ? 220 : 156, { left: 30, right: 126, top: 16, bottom: 22 }],
    ["arrows", "", 74, { left: 2, right: 2, top: 2, bottom: 2 }],
  ],
  update(app) {
    const { memory, state, panels } = app;
    if (!memory.controls) prepare(app);
    const sample = walksOf(state.draw, memory);
    drawWalks(panels.walks, sample, state);
    drawArrows(panels.arrows, sample.keys, state.d_k);
    return { sentence: answer(state) };
  },
};

/** A button for other walks; and walks begin when they are seen. */
function prepare(app) {
  const { controls, memory, panels, set, state } = app;
  memory.controls = controls;
  const again = () => {
    set({ draw: (state.draw + 1) % 1000 });
    app.settle();
    walkOn(panels.walks);
  };
  addButtons(controls, "walks", [["Walk again", again]]);
  if (wantsCalm()) return;
  const seen = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      seen.disconnect();
      walkOn(panels.walks);
    },
    { threshold: 0.6 },
  );
  seen.observe(panels.walks.svg.node());
}

/** Let the walks go from their beginning to their end, and then the bell come. */
function walkOn({ svg }) {
  if (wantsCalm()) return;
  const play = (part, frames, timing) => svg.select(part).node().animate(frames, timing);
  const duration = 1000 * SECONDS;
  play(".window rect", { transform: ["scaleX(0)", "scaleX(1)"] }, { duration });
  play(".bell", { opacity: [0, 1] }, { duration: 400, delay: duration, fill: "backwards" });
}

/** How far apart ends lie: their standard deviation. */
const spreadOf = (dK, divisor) => Math.sqrt(dK) / dividedBy(divisor, dK);

/** A number with as many digits as it needs, up to three. */
const written = (x) => String(Number(x.toPrecision(3)));

/** A root, and what it is, or about. */
const rootOf = (dK) =>
  `√${dK} ${Number.isInteger(Math.sqrt(dK)) ? "=" : "≈"} ${written(Math.sqrt(dK))}`;

function answer({ d_k: dK, divisor }) {
  const within = `end within ±${written(spreadOf(dK, divisor))}`;
  if (divisor === "none") return `After ${dK} steps most walks ${within}: their spread is √${dK}.`;
  if (divisor === "sqrt_d_k") return `Divided by ${rootOf(dK)}, most ${within}, as at every width.`;
  return `Divided by ${dK}, most ${within}: less in a wider head.`;
}

/** Walks from left to right within the fan of what is expected, and at their end the bell of many. */
function drawWalks(panel, { walks, ends }, { d_k: dK, divisor }) {
  const reach = REACH[divisor];
  const x = d3.scaleLinear([0, dK], panel.xRange);
  const y = d3.scaleLinear([-reach, reach], panel.yRange);
  const [bottom, top] = panel.yRange;
  const [left, right] = panel.xRange;
  const c = dividedBy(divisor, dK);
  const spread = spreadOf(dK, divisor);
  const other = comparedWith(divisor);
  const instead = spreadOf(dK, other);
  panel.describe(
    `Walks of ${dK} steps, ${divisorName(divisor)}: the many ends have a standard deviation of ${written(spread)}; ${divisorName(other)}, in grey, of ${written(instead)}.`,
  );
  axes(panel, {
    x,
    y,
    xTicks: [0, dK / 2, dK],
    xFormat: String,
    yTicks: [-2, -1, 0, 1, 2].map((tick) => (tick * reach) / (reach === 4 ? 2 : 3)),
    yLabel: divisor === "none" ? "sum so far" : `sum so far ÷ ${written(c)}`,
    yFormat: (at) => String(at).replace("-", "−"),
  });
  const frame = layer(panel.svg, "frame", "clipPath").attr("id", "walk-frame");
  layer(frame, "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", panel.width - left)
    .attr("height", bottom - top);
  const window_ = layer(panel.svg, "window", "clipPath").attr("id", "walk-window");
  layer(window_, "inner", "rect")
    .attr("x", left)
    .attr("y", top)
    .attr("width", right - left)
    .attr("height", bottom - top)
    .style("transform-origin", `${left}px 0`);
  const each = (name, values) =>
    layer(panel.svg, name).selectAll("path").data(values).join("path").style("fill", "none");
  const steps = walks[0].slice(0, dK + 1).map((_, n) => n);
  const side = (share) => steps.map((n) => [x(n), y(share * Math.sqrt(n))]);
  const fan = (share) => d3.line()([...side(share), ...side(-share).reverse()]);
  const fans = layer(panel.svg, "fans").attr("clip-path", "url(#walk-frame)");
  fans
    .selectAll("path")
    .data([instead, spread])
    .join("path")
    .attr("d", (size) => fan(size / Math.sqrt(dK)))
    .style("fill", (_, i) => (i ? colour(divisor) : "var(--ex-muted)"))
    .style("fill-opacity", (_, i) => (i ? 0.16 : 0.22));
  const line = d3.line(
    (_, n) => x(n),
    (sum) => y(sum / c),
  );
  each(
    "walks",
    walks.map((walk) => walk.slice(0, dK + 1)),
  )
    .attr("d", line)
    .attr("clip-path", "url(#walk-window)")
    .style("stroke", colour(divisor))
    .style("stroke-width", 1.3)
    .style("opacity", 0.75);
  const bell = layer(panel.svg, "bell").attr("clip-path", "url(#walk-frame)");
  drawBell(
    bell,
    ends[dK].map((end) => end / c),
    spread,
    y,
    right + 6,
    colour(divisor),
  );
  drawOutline(bell, instead, y, right + 6);
  const column = right + BELL + 16;
  bar(
    layer(layer(panel.svg, "width").attr("transform", "rotate(90)"), "bar", "path"),
    y(spread),
    y(-spread),
    -column,
  )
    .style("stroke", colour(divisor))
    .style("stroke-width", 2);
  const words = fresh(panel.svg, "words");
  const label = say(words, `±${written(spread)}`, column + 7, y(0) + 4, "start");
  label.style("font-weight", 700).style("fill", lettersColour(divisor));
  say(words, "steps", x(dK * 0.75), bottom + 16, "middle").style("fill", "var(--ex-muted)");
  const at = divisor === "none" ? bottom - 4 : top + 10;
  richText(say(words, "", panel.width, at, "end"), divisorName(other)).style(
    "fill",
    "var(--ex-muted)",
  );
}

/** Ends in bins of a quarter of their spread, or so: the bell that they make. */
function drawBell(parent, ends, spread, y, from, fill) {
  const size = (8 * spread) / BINS;
  const counts = new Array(BINS).fill(0);
  for (const end of ends) {
    const bin = Math.floor(end / size + BINS / 2);
    if (bin in counts) counts[bin]++;
  }
  const thick = Math.abs(y(size) - y(0));
  const long = (count) => (count / ENDING / size) * spread * BELL * 2;
  layer(parent, "bars")
    .selectAll("rect")
    .data(counts)
    .join("rect")
    .attr("x", from)
    .attr("width", long)
    .attr("y", (_, i) => y((i + 1 - BINS / 2) * size))
    .attr("height", Math.max(0.5, thick - (thick > 3 ? 0.5 : 0)))
    .style("fill", fill)
    .style("fill-opacity", 0.75);
}

/** The normal bell of another spread. */
function drawOutline(parent, spread, y, from) {
  const [low, high] = y.domain();
  const places = Array.from({ length: 201 }, (_, i) => low + (i / 200) * (high - low));
  const long = (at) => 0.8 * BELL * Math.exp(-0.5 * (at / spread) ** 2);
  layer(parent, "outline", "path")
    .attr("d", d3.line((at) => from + long(at), y)(places))
    .style("fill", "none")
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 1.5);
}

/** To one scale: the query's arrow upwards, keys of about its length beside it, and how far along the query these reach. */
function drawArrows(panel, keys, dK) {
  const root = Math.sqrt(dK);
  const [left] = panel.xRange;
  const [floor, top] = panel.yRange;
  const longest = Math.sqrt(MOST);
  const unit = (floor - top) / (longest + 2); // px: of the query's reach, two below its beginning
  const half = 1.1 * longest * unit;
  const [middle, ground] = [left + half, floor - 2 * unit];
  const group = fresh(panel.svg, "arrows");
  group
    .append("rect")
    .attr("x", left)
    .attr("width", 2 * half)
    .attr("y", ground - unit)
    .attr("height", 2 * unit)
    .style("fill", colour("key"))
    .style("fill-opacity", 0.18);
  keys.forEach(([along, ...others], i) => {
    const across = Math.hypot(...others.slice(0, dK - 1)) * (i % 2 ? 1 : -1);
    const tip = [middle + across * unit, ground - along * unit];
    rule(group, [middle, ground], tip, colour("key")).style("opacity", 0.5);
    point(group, ...tip, 2, colour("key"));
  });
  arrow(group, [middle, ground], [middle, ground - root * unit], colour("query"), 2.5);
  const words = fresh(panel.svg, "words");
  const [size, cosine] = [root, 1 / root].map(written);
  const lines = [
    [`query: length ${rootOf(dK)}`, "query"],
    [`keys: about as long`, "key"],
    [`cosine: ±1/√${dK}, or ±${cosine}`, "key"],
  ];
  const write = (text, i) => say(words, text, left + 2 * half + 14, top + 12 + 18 * i, "start");
  lines.forEach(([text, role], i) => write(text, i).style("fill", lettersColour(role)));
  write(`${size} · ${size} · ${cosine} = ${size}`, lines.length).style("font-weight", 700);
  panel.describe(
    `A query's arrow of length ${size}, and the arrows of ${KEYS} keys, about as long and nearly perpendicular to it: their cosines spread by ${cosine}.`,
  );
}
