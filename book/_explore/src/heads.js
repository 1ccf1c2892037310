/** A head that is trained: how many characters it looks at, and how many it would by chance. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { fromKey } from "./handles.js";
import * as math from "./math.js";
import { fresh, layer, rule, say, show, show2, showCount } from "./shared.js";

const {
  text,
  moments,
  heads: count,
  layers,
  unit,
  chance,
  gap,
  first: FIRST,
  head: shownFirst,
} = data.heads;
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

/** How many characters a row looks at, between which numbers it would by chance, and how far up from the first to the second of these it is. */
function measure(row) {
  const keys = math.effectiveKeys(math.softmax(row));
  const [low, high] = byChance(row);
  return { keys, low, high, up: Math.log(keys / low) / Math.log(high / low) };
}

/** The kinds of heads, from left to right: which, what they are called, and their mark. */
const KINDS = [
  [({ up }) => up < 0, "fewer", "M0,7L-7,-5H7Z", colour("weights")],
  [({ up }) => up >= 0 && up <= 1, "as by chance", "M-5,0a5,5 0 1 0 10,0a5,5 0 1 0 -10,0Z"],
  [({ up }) => up > 1, "more than by chance", "M0,-7L7,5H-7Z", colour("weights")],
];
const kindOf = (one) => KINDS.findIndex(([is]) => is(one));

const MOST = places.length - 1;

export const heads = {
  title: "How many of 16 heads look at more characters than by chance?",
  prompt: "Go back to before training, then press another head or character.",
  hint: { target: "input" },
  controls: [
    {
      name: "step",
      label: "training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
      marks: moments.map(showCount),
    },
    { name: "head", options: Object.fromEntries(names), value: String(shownFirst), drawn: true },
    { name: "place", min: FIRST, max: MOST, step: 1, value: MOST, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["heads", "", 212, { left: 22, right: 2, top: 32, bottom: 24 }],
    ["text", "", 30, { left: 2, right: 2, top: 2, bottom: 2 }],
  ],
  update(app) {
    const { step, place, head } = app.state;
    const { memory, panels } = app;
    load(step, app.redraw);
    const levels = scores.get(step);
    if (!levels) return { said: memory.said };
    const measured = names.map(([one]) => measure(rowOf(levels, Number(one), place)));
    const { keys, low, high } = measured[head];
    const weights = math.softmax(rowOf(levels, head, place));
    const looks = `${names[head][1]} looks from “${seen(place)}” at ${show2(keys)} characters`;
    panels.heads.heading.textContent = `how many of ${place + 1} characters each head looks at`;
    panels.text.heading.textContent = `${looks}, the stronger the colour the more`;
    drawHeads(app, measured);
    makeChoice(app, drawText(panels.text, weights, place), weights);
    const pressed = memory.at === `${step} ${place}` && (memory.pressed || memory.head !== head);
    const told = `${looks}; by chance it would be ${show2(low)} to ${show2(high)}.`;
    const said = pressed ? told[0].toUpperCase() + told.slice(1) : answer(measured, place);
    Object.assign(memory, { said, head, pressed, at: `${step} ${place}` });
    return { said };
  },
};

function answer(measured, place) {
  const [fewer, , more] = KINDS.map(([is]) => measured.filter(is).length);
  const look = more === 1 ? "looks" : "look";
  return `From this “${seen(place)}” ${more || "none"} of 16 heads ${look} at more characters than by chance, and ${fewer || "none"} at fewer; chance alone would give about 1 of each.`;
}

const seen = (place) => shown[places[place]] ?? places[place];

const ROOM = 46; // px, beside the mark of the chosen head, for its numbers
const BETWEEN = 8; // px, heads of two kinds
const TINT = 46; // percent of the weights' colour, under which letters keep a contrast of 4.5
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, the stronger coloured the more weight goes there, and grey where the character in the frame cannot look. */
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

/** A column for each head, in order of how far up it is: a bar from the least to the most by chance, and its mark. Arrow keys choose one, as in a list. */
function drawHeads(app, measured) {
  const panel = app.panels.heads;
  const chosen = Number(app.state.head);
  const order = names.map((_, i) => i).sort((i, j) => measured[i].up - measured[j].up);
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const y = d3.scaleLog([1, places.length], panel.yRange);
  const width = (right - left - ROOM - 2 * BETWEEN) / names.length;
  const starts = [];
  let free = left;
  order.forEach((i, rank) => {
    if (rank) free += BETWEEN * (kindOf(measured[i]) - kindOf(measured[order[rank - 1]]));
    starts[i] = free;
    free += width + (i === chosen ? ROOM : 0);
  });
  const middle = width / 2;

  const scale = fresh(panel.svg, "scale");
  const { keys, low, high } = measured[chosen];
  const at = starts[chosen];
  scale
    .append("rect")
    .attr("x", at)
    .attr("y", top)
    .attr("width", width + ROOM)
    .attr("height", bottom - top)
    .style("fill", "var(--ex-panel)");
  for (const many of [1, 3, 10, 30]) {
    rule(scale, [left, y(many)], [right, y(many)], "var(--ex-grid)");
    say(scale, many, left - 5, y(many) + 4, "end");
  }
  const tip = at + middle;
  const floor = bottom + 20;
  scale
    .append("path")
    .attr("d", `M2,${floor}H${tip - 9}L${tip},${bottom + 4}L${tip + 9},${floor}H${right}`)
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);

  const notes = fresh(panel.svg, "notes");
  const groups = KINDS.map(([is, name]) => [order.filter((i) => is(measured[i])), name]);
  let [from, to] = [left, right];
  const write = ([group, name], x, anchor) =>
    say(notes, `${group.length} ${name}`, x, top - 16, anchor);
  const ends = (group) => [
    starts[group[0]],
    starts[group.at(-1)] + width + (group.at(-1) === chosen ? ROOM : 0),
  ];
  groups.forEach((group, kind) => {
    if (!group[0].length) return;
    const [first, last] = ends(group[0]);
    rule(
      notes,
      [first + 1, top - 9],
      [last - 1, top - 9],
      KINDS[kind][3] ?? "var(--ex-muted)",
    ).style("stroke-width", 2);
    if (kind === 0) from = left + write(group, first, "start").node().getComputedTextLength();
    if (kind === 2)
      to =
        right - write(group, last, "end").style("font-weight", 700).node().getComputedTextLength();
  });
  write(groups[1], (from + to) / 2, "middle");
  const beside = at + width + 4;
  const [own, chance] = [y(keys), (y(low) + y(high)) / 2];
  const [over, under] = [own - 26, own + 32]; // above the number, below it
  const below = own < chance ? under < bottom : over < top + 14;
  const clear = Math.abs(own - chance) < 30 ? (below ? under : over) : chance;
  const level = Math.max(top + 14, Math.min(bottom - 2, clear));
  say(notes, show2(keys), beside, own + 5, "start").style("font-weight", 700);
  say(notes, "chance", beside, level - 2, "start");
  say(notes, `${show2(low)}–${show2(high)}`, beside, level + 11, "start");

  const list = layer(panel.svg, "tiles").attr("role", "radiogroup").attr("aria-label", "head");
  const tiles = list.selectAll("g.head").data(measured);
  const made = tiles.enter().append("g").attr("class", "head glides").attr("role", "radio");
  made.style("cursor", "pointer");
  made.append("rect").style("fill", "transparent");
  made.append("path").attr("class", "chance");
  made.append("path").attr("class", "own");
  const all = made.merge(tiles);
  all
    .attr("transform", (_, i) => `translate(${starts[i]})`)
    .attr("tabindex", (_, i) => (i === chosen ? 0 : -1))
    .attr("aria-checked", (_, i) => String(i === chosen))
    .attr(
      "aria-label",
      ({ keys, low, high }, i) =>
        `${names[i][1]}: ${show2(keys)} characters, by chance ${show2(low)} to ${show2(high)}`,
    )
    .on("click", function () {
      app.set({ head: names[all.nodes().indexOf(this)][0] });
    })
    .on("keydown", function (event) {
      const rank = order.indexOf(all.nodes().indexOf(this));
      const [Home, End] = [-rank, names.length - 1 - rank];
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home, End };
      const to = order[rank + moves[event.key]];
      if (to === undefined) return;
      event.preventDefault();
      all.nodes()[to].focus();
      app.set({ head: names[to][0] });
    });
  all
    .select("rect")
    .attr("y", top)
    .attr("width", (_, i) => width + (i === chosen ? ROOM : 0))
    .attr("height", bottom - top);
  all
    .select(".chance")
    .attr("d", ({ low, high }) => `M${middle},${y(low)}V${y(high)}`)
    .style("stroke", "var(--ex-muted)")
    .style("stroke-width", Math.min(22, width - 1))
    .style("opacity", 0.45);
  all
    .select(".own")
    .attr("d", (one) => KINDS[kindOf(one)][2])
    .attr("transform", ({ keys }) => `translate(${middle},${y(keys)})`)
    .style("fill", (one) => KINDS[kindOf(one)][3] ?? "var(--ex-ground)")
    .style("stroke", colour("weights"))
    .style("stroke-width", 2);
  panel.describe("How many characters each head looks at, and how many by chance.", "group");
}
