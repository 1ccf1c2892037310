/** A head that is trained: how many characters it looks at, and how many it would by chance. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { fromKey } from "./handles.js";
import * as math from "./math.js";
import { fresh, layer, rule, say, show, show2, showCount } from "./shared.js";

const { text, moments, heads: count, layers, unit, chance, gap, first: FIRST, drawn } = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from({ length: layers * count }, (_, i) => [
  String(i),
  `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
]);

const scores = new Map();

/** The scores of a moment, each less its row's largest, head by head and row by row: in a script of its own, read when needed. */
function load(moment, then) {
  if (scores.has(moment)) return;
  const read = () => {
    const bytes = atob(window.explorableHeads[moment]);
    scores.set(
      moment,
      Uint8Array.from(bytes, (one) => one.charCodeAt(0)),
    );
  };
  if (window.explorableHeads?.[moment]) return read();
  scores.set(moment, null);
  const script = document.createElement("script");
  script.src = new URL(`heads_${moment}.js`, here);
  script.onload = () => {
    read();
    then();
  };
  script.onerror = () => scores.delete(moment);
  document.head.append(script);
}

/** The scores that a character of a head sees: one for each before it, and its own. */
function rowOf(levels, head, place) {
  const all = places.length;
  const from = (head * all * (all + 1)) / 2 + (place * (place + 1)) / 2;
  return Array.from(levels.subarray(from, from + place + 1), (level) => -((level / unit) ** 2));
}

const average = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

/** The standard deviation of a row. */
const spread = (row) => Math.sqrt(average(row.map((s) => s * s)) - average(row) ** 2);

/** The least and most effective keys of nine in ten normal rows with as many keys and the same spread, between those that the build has drawn. */
function byChance(row) {
  const known = chance[row.length - 1 - FIRST];
  const at = Math.min(spread(row) / gap, known.length - 1.001);
  const [below, above] = [known[Math.floor(at)], known[Math.ceil(at)]];
  return below.map((keys, end) => keys * (above[end] / keys) ** (at % 1));
}

/** The weights of random scores that are spread as a row's. */
function randomWeights(row) {
  const scores = drawn.slice(0, row.length);
  return math.softmax(scores, spread(scores) / spread(row));
}

/** How many characters a row looks at, and between which numbers it would by chance. */
function measure(row) {
  const keys = math.effectiveKeys(math.softmax(row));
  const [low, high] = byChance(row);
  return { keys, low, high };
}

const LINES = { left: 2, right: 2, top: 2, bottom: 2 };

export const heads = {
  title: "How many of 16 heads look at more characters than by chance?",
  prompt: "Train the model on Python code, then press another head or character.",
  hint: { target: "input" },
  controls: [
    { name: "step", label: "training steps", values: moments, value: 0, text: showCount },
    { name: "head", options: Object.fromEntries(names), value: "4", drawn: true },
    {
      name: "place",
      min: FIRST,
      max: places.length - 1,
      step: 1,
      value: places.length - 1,
      drawn: true,
    },
  ],
  panelWidth: "100%",
  panels: [
    ["text", "", 30, LINES],
    ["chance", "", 30, LINES],
    ["heads", "", 170, { left: 22, right: 2, top: 10, bottom: 24 }],
  ],
  update(app) {
    const { step, place, head } = app.state;
    const { memory, panels } = app;
    load(step, app.redraw);
    const levels = scores.get(step);
    if (!levels) return { said: memory.said };
    const rows = names.map(([one]) => rowOf(levels, Number(one), place));
    const [weights, random] = [math.softmax(rows[head]), randomWeights(rows[head])];
    const keys = (p) => show2(math.effectiveKeys(p));
    const who = names[head][1];
    const many = `how many of ${place + 1} characters each head looks at`;
    panels.heads.heading.textContent = `${many}; grey: chance, 9 times in 10`;
    panels.text.heading.textContent = `from “${seen(place)}” ${who} looks at ${keys(weights)} characters`;
    panels.chance.heading.textContent = `by chance, random scores as widely spread: ${keys(random)}`;
    makeChoice(app, drawText(panels.text, weights, place), weights);
    drawText(panels.chance, random, place);
    panels.chance.describe("Where it would look by chance, with random scores of the same spread.");
    const measured = rows.map(measure);
    drawHeads(app, measured);
    memory.said = answer(step, measured);
    return { said: memory.said };
  },
};

function answer(step, measured) {
  const when = step ? `After ${showCount(step)} steps` : "Before training";
  const [more, fewer] = [isMore, isLess].map((is) => measured.filter(is).length);
  const look = more === 1 ? "looks" : "look";
  const others = fewer ? `, ${fewer} at fewer` : "";
  return `${when} ${more || "none"} of 16 heads ${look} at more characters than by chance${others}.`;
}

const isMore = ({ keys, high }) => keys > high;
const isLess = ({ keys, low }) => keys < low;
const seen = (place) => shown[places[place]] ?? places[place];

const TINT = 46; // percent of the weights' colour, under which letters keep a contrast of 4.5
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, darker where weight goes, and grey where the character in the frame cannot look. */
function drawText(panel, weights, place) {
  const [left, right] = panel.xRange;
  const breaks = (i) => places[i - 1] === "\n" && places[i] !== "\n" && right - left < ROOMY;
  const at = [];
  let [line, column] = [0, 0];
  places.forEach((_, i) => {
    [line, column] = breaks(i) ? [line + 1, 0] : [line, column];
    at.push([column, line]);
    column += 1;
  });
  const width = (right - left) / (1 + Math.max(...at.map(([column]) => column)));
  const height = 24;
  for (const one of at)
    [one[0], one[1]] = [left + one[0] * width, panel.margin.top + one[1] * height];
  panel.svg.attr("height", (line + 1) * height + 4);
  const cells = layer(panel.svg, "text").selectAll("g.character").data(places);
  const made = cells.enter().append("g").attr("class", "character");
  made.append("rect").attr("class", "cell");
  made.append("text").attr("text-anchor", "middle").style("font", "15px monospace");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${at[i]})`);
  all
    .select("rect")
    .attr("width", width)
    .attr("height", height - 2)
    .style("fill", (_, i) => {
      if (i > place) return "var(--ex-panel)";
      const share = Math.round(TINT * Math.min(1, Math.sqrt(2.5 * weights[i])));
      return `color-mix(in srgb, ${colour("weights")} ${share}%, var(--ex-ground))`;
    })
    .style("stroke", (_, i) => (i === place ? colour("query") : "none"))
    .style("stroke-width", 2.5);
  all
    .select("text")
    .attr("x", width / 2)
    .attr("y", height / 2 + 4)
    .style("fill", (_, i) => `var(--ex-${i > place ? "muted" : "ink"})`)
    .text((_, i) => seen(i));
  return at.map(([x, y]) => [x + width / 2, y + height / 2]);
}

/** A character is chosen by pressing it, or the nearest that may look; or by keys. */
function makeChoice(app, at, weights) {
  const { place } = app.state;
  const panel = app.panels.text;
  const named = (i) => `${seen(i)} at ${i + 1}`;
  const told = weights.flatMap((w, i) => (w >= 0.1 ? [`${named(i)}: ${show(w)}`] : []));
  const range = { min: FIRST, max: places.length - 1, step: 1 };
  panel.describe("the character that looks", "slider");
  panel.svg
    .style("cursor", "pointer")
    .attr("tabindex", 0)
    .attr("aria-valuemin", range.min + 1)
    .attr("aria-valuemax", range.max + 1)
    .attr("aria-valuenow", place + 1)
    .attr(
      "aria-valuetext",
      `${named(place)}; weights of a tenth or more: ${told.join(", ") || "none"}`,
    )
    .on("keydown", (event) => {
      app.settle();
      const next = fromKey(event, app.state.place, range);
      if (next === null) return;
      event.preventDefault();
      app.set({ place: next });
    })
    .on("pointerdown pointermove", (event) => {
      if (!event.isPrimary || !(event.buttons & 1)) return;
      const [px, py] = d3.pointer(event);
      const far = (i) => Math.abs(at[i][0] - px) + 100 * Math.abs(at[i][1] - py); // its own line first
      const may = places.map((_, i) => i).slice(FIRST);
      app.set({ place: may.reduce((best, i) => (far(i) < far(best) ? i : best)) });
    });
}

/** A column for each head: a bar from the least to the most by chance, and a dot, filled above it. Arrow keys choose one, as in a list. */
function drawHeads(app, measured) {
  const panel = app.panels.heads;
  const x = d3.scaleBand(Array.from(names.keys()), panel.xRange);
  const y = d3.scaleLog([1, places.length], panel.yRange);
  const [bottom, top] = panel.yRange;
  const scale = fresh(panel.svg, "scale");
  for (const keys of [1, 3, 10, 30]) {
    rule(scale, [panel.xRange[0], y(keys)], [panel.xRange[1], y(keys)], "var(--ex-grid)");
    say(scale, keys, panel.xRange[0] - 5, y(keys) + 4, "end");
  }
  for (let i = 0; i < layers; i += 1)
    say(scale, `layer ${i + 1}`, x(i * count) + (count * x.bandwidth()) / 2, bottom + 18, "middle");
  const list = layer(panel.svg, "tiles").attr("role", "radiogroup").attr("aria-label", "head");
  const tiles = list.selectAll("g.head").data(measured);
  const made = tiles.enter().append("g").attr("class", "head glides").attr("role", "radio");
  made.style("cursor", "pointer");
  made.append("rect").attr("rx", 3);
  made.append("path");
  made.append("circle").attr("r", 5.5);
  const all = made.merge(tiles);
  const chosen = (i) => names[i][0] === app.state.head;
  all
    .attr("transform", (_, i) => `translate(${x(i)})`)
    .attr("tabindex", (_, i) => (chosen(i) ? 0 : -1))
    .attr("aria-checked", (_, i) => String(chosen(i)))
    .attr(
      "aria-label",
      ({ keys, low, high }, i) =>
        `${names[i][1]}: ${show2(keys)} characters, by chance ${show2(low)} to ${show2(high)}`,
    )
    .on("click", function () {
      app.set({ head: names[all.nodes().indexOf(this)][0] });
    })
    .on("keydown", function (event) {
      const at = all.nodes().indexOf(this);
      const [Home, End] = [-at, names.length - 1 - at];
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home, End };
      const to = all.nodes()[at + moves[event.key]];
      if (!to) return;
      event.preventDefault();
      to.focus();
      app.set({ head: names[all.nodes().indexOf(to)][0] });
    });
  const middle = x.bandwidth() / 2;
  all
    .select("rect")
    .attr("y", top - 8)
    .attr("width", x.bandwidth())
    .attr("height", bottom - top + 12)
    .style("fill", "transparent")
    .style("stroke", (_, i) => (chosen(i) ? "var(--ex-ink)" : "none"))
    .style("stroke-width", 2);
  all
    .select("path")
    .attr("d", ({ low, high }) => `M${middle},${y(low)}V${y(high)}`)
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", 16)
    .style("opacity", 0.45);
  all
    .select("circle")
    .attr("cx", middle)
    .attr("cy", ({ keys }) => y(keys))
    .style("fill", (one) => (isMore(one) ? colour("weights") : "var(--ex-ground)"))
    .style("stroke", colour("weights"))
    .style("stroke-width", 2);
  panel.describe("How many characters each head looks at, and how many by chance.", "group");
}
