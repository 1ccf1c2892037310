/** Heads of a model in training: how many characters each looks at, and whether more than by chance. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { fromKey } from "./handles.js";
import * as math from "./math.js";
import { element, fresh, layer, say, show, showCount } from "./shared.js";

const {
  text,
  moments,
  heads: count,
  layers,
  unit,
  chance,
  alone,
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

/** By moment and by character that may look, how many heads look at more characters than by chance. */
const counts = new Map();

function countAll(moment) {
  if (!counts.has(moment)) {
    const more = (head, place) => measure(rowOf(scores.get(moment), head, place)).kind === 0;
    const from = (place) => names.filter((_, head) => more(head, place)).length;
    counts.set(
      moment,
      places
        .map((_, i) => i)
        .slice(FIRST)
        .map(from),
    );
  }
  return counts.get(moment);
}

/** How many characters a row looks at, between which numbers it would by chance, and its kind; all in whole characters. */
function measure(row) {
  const all = [math.effectiveKeys(math.softmax(row)), ...byChance(row)];
  const [keys, low, high] = all.map(Math.round);
  const kind = KINDS.findIndex(({ is }) => is(keys, low, high));
  return { keys, kind, chance: low === high ? low : `${low}–${high}` };
}

const PURPLE = colour("weights");

/** The kinds of heads: what they are called, which, and the ground, the letters and the rim of their tiles. */
const KINDS = [
  {
    name: "more than by chance",
    is: (keys, low, high) => keys > high,
    looks: [PURPLE, "var(--ex-ground)", PURPLE],
  },
  {
    name: "as by chance",
    is: (keys, low) => keys >= low,
    looks: ["var(--ex-grid)", "var(--ex-ink)", "var(--ex-grid)"],
  },
  {
    name: "fewer",
    is: () => true,
    looks: ["var(--ex-ground)", "var(--ex-ink)", "var(--ex-muted)"],
  },
];

const MOST = places.length - 1;

export const heads = {
  title: "How many of 16 heads look at more characters than by chance?",
  prompt: "Train the model; press a head or character.",
  hint: { target: "input" },
  controls: [
    {
      name: "step",
      label: "training steps",
      values: moments,
      value: moments[0],
      text: showCount,
      marks: moments.map(showCount),
    },
    { name: "head", options: Object.fromEntries(names), value: String(shownFirst), drawn: true },
    { name: "place", min: FIRST, max: MOST, step: 1, value: MOST, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    ["text", "", 39, { left: 2, right: 2, top: 2, bottom: 2 }],
    ["heads", "", 194, { left: 56, right: 2, top: 20, bottom: 2 }],
  ],
  update(app) {
    const { step, place, head } = app.state;
    const { memory, panels } = app;
    for (const one of [moments[0], step]) load(one, app.redraw);
    const levels = scores.get(step);
    if (!levels || !scores.get(moments[0])) return { said: memory.said };
    const measured = names.map(([one]) => measure(rowOf(levels, Number(one), place)));
    const { keys, kind, chance } = measured[head];
    const weights = math.softmax(rowOf(levels, head, place));
    const own = panels.text.width < ROOMY ? ":" : ` looks from “${seen(place)}” at`;
    const bars = `bars: heads with more than by chance, from each character (by chance: about ${alone})`;
    panels.text.heading.replaceChildren(
      `${names[head][1]}${own} ${counted(keys)}, chance ${chance}`,
      element("br"),
      bars,
    );
    const more = countAll(step);
    makeChoice(app, drawText(panels.text, weights, more, place, kind), weights, more);
    drawHeads(app, measured);
    return { said: (memory.said = answer(more, step, place)) };
  },
};

/** How many heads look at more than by chance from a character, and on average. */
function answer(more, step, place) {
  const here = more[place - FIRST];
  const when = step ? `After ${showCount(step)} steps` : "Before training";
  const look = here === 1 ? "looks" : "look";
  const before = step ? `, before training ${show(average(countAll(moments[0])), 1)}` : "";
  return `${when}, ${here || "none"} of 16 heads ${look} from “${seen(place)}” at more characters than by chance; on average over all ${more.length} bars ${show(average(more), 1)}${before}.`;
}

const counted = (keys) => `${keys} character${keys === 1 ? "" : "s"}`;
const seen = (place) => shown[places[place]] ?? places[place];

const TINT = 46; // percent of a colour, under which letters keep a contrast of 4.5
const BETWEEN = 4; // px, between tiles
const HEAD = 2; // px, of a bar, for each head
const BARS = 12; // px, for the highest bar
const ROOMY = 560; // px, from which the passage stands on one line, and not line by line as it was written

/** The passage, the stronger coloured the more weight goes there, in the colour of the head's kind, and pale where the character in the frame cannot look; over each character that may look a bar. */
function drawText(panel, weights, more, place, kind) {
  const tint = kind ? "var(--ex-muted)" : PURPLE;
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
  const height = BARS + 23;
  const most = Math.max(...weights);
  for (const one of at)
    [one[0], one[1]] = [left + one[0] * width, panel.margin.top + one[1] * height];
  panel.svg.attr("height", (line + 1) * height + 4);
  const cells = layer(panel.svg, "text").selectAll("g.character").data(places);
  const made = cells.enter().append("g").attr("class", "character");
  for (const name of ["cell", "many"]) made.append("rect").attr("class", name);
  made.append("text").attr("text-anchor", "middle").style("font", "15px monospace");
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${at[i]})`);
  all
    .select(".cell")
    .attr("y", BARS)
    .attr("width", width)
    .attr("height", height - BARS - 2)
    .style("fill", (_, i) => {
      if (i > place) return "var(--ex-panel)";
      const share = Math.round((TINT * weights[i]) / most);
      return `color-mix(in srgb, ${tint} ${share}%, var(--ex-ground))`;
    });
  const high = (i) => (i < FIRST ? 0 : Math.max(1, HEAD * more[i - FIRST]));
  all
    .select(".many")
    .attr("x", 1)
    .attr("y", (_, i) => BARS - 1 - high(i))
    .attr("width", width - 2)
    .attr("height", (_, i) => high(i))
    .style("fill", (_, i) => (more[i - FIRST] ? PURPLE : "var(--ex-muted)"));
  all
    .select("text")
    .attr("x", width / 2)
    .attr("y", BARS + 15)
    .style("fill", (_, i) => `var(--ex-${i > place ? "muted" : "ink"})`)
    .text((_, i) => seen(i));
  fresh(panel.svg, "frame")
    .append("rect")
    .attr("x", at[place][0])
    .attr("y", at[place][1] - 1)
    .attr("width", width)
    .attr("height", height - 1)
    .style("fill", "none")
    .style("stroke", colour("query"))
    .style("stroke-width", 2.5);
  return at.map(([x, y]) => [x + width / 2, y + height / 2]);
}

/** A character is chosen by pressing it, or the nearest that may look; or by keys. */
function makeChoice(app, at, weights, more) {
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
      `${named(place)}; ${more[place - FIRST]} heads look at more than by chance; weights of a tenth or more: ${told.join(", ") || "none"}`,
    )
    .on("keydown", (event) => {
      app.settle();
      const next = fromKey(event, app.state.place, range);
      if (next === null) return;
      event.preventDefault();
      app.set({ place: next });
    })
    .on("click pointerdown pointermove", (event) => {
      const taps = event.type === "click"; // what a finger does, that else scrolls
      if (!taps && (event.pointerType === "touch" || !event.isPrimary || !(event.buttons & 1)))
        return;
      const [px, py] = d3.pointer(event);
      const far = (i) => Math.abs(at[i][0] - px) + 100 * Math.abs(at[i][1] - py); // its own line first
      const may = places.map((_, i) => i).slice(FIRST);
      app.set({ place: may.reduce((best, i) => (far(i) < far(best) ? i : best)) });
    });
}

/** A row of tiles for each layer, one of which is chosen by pressing it, or by arrow keys. */
function drawHeads(app, measured) {
  const panel = app.panels.heads;
  const chosen = Number(app.state.head);
  const many = `how many of ${app.state.place + 1} characters each head looks at:`;
  const tally = KINDS.flatMap(({ name, looks: [ground, letters, rim] }, kind) => {
    const these = measured.filter((one) => one.kind === kind).length;
    const style = `background: ${ground}; color: ${letters}; border-color: ${rim}`;
    return these ? [" ", element("span", { style }, `${name}: ${these}`)] : [];
  });
  panel.heading.replaceChildren(many, ...tally);

  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const [across, down] = [(right + BETWEEN - left) / count, (bottom + BETWEEN - top) / layers];
  const [width, height] = [across - BETWEEN, down - BETWEEN];
  const roomy = width > 100 && height > 36; // for chance's numbers
  const corner = (i) => [left + (i % count) * across, top + Math.floor(i / count) * down];
  const notes = fresh(panel.svg, "notes");
  for (let i = 0; i < count; i++)
    say(notes, `head ${i + 1}`, corner(i)[0] + width / 2, top - 7, "middle");
  for (let i = 0; i < layers; i++)
    say(notes, `layer ${i + 1}`, 0, corner(i * count)[1] + height / 2 + 4, "start");

  const list = layer(panel.svg, "tiles").attr("role", "radiogroup").attr("aria-label", "head");
  const tiles = list.selectAll("g.head").data(measured);
  const made = tiles.enter().append("g").attr("class", "head").attr("role", "radio");
  made.style("cursor", "pointer");
  made.append("rect").attr("class", "cell").attr("rx", 4);
  for (const name of ["own", "chance"])
    made.append("text").attr("class", name).attr("text-anchor", "middle");
  const all = made.merge(tiles);
  const choose = (i) => app.set({ head: names[i][0] });
  all
    .attr("transform", (_, i) => `translate(${corner(i)})`)
    .attr("tabindex", (_, i) => (i === chosen ? 0 : -1))
    .attr("aria-checked", (_, i) => String(i === chosen))
    .attr(
      "aria-label",
      ({ keys, chance }, i) => `${names[i][1]}: ${counted(keys)}, by chance ${chance}`,
    )
    .on("click", function () {
      choose(all.nodes().indexOf(this));
    })
    .on("keydown", function (event) {
      const i = all.nodes().indexOf(this);
      const [Home, End] = [-i, names.length - 1 - i];
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -count, ArrowDown: count, Home, End };
      const to = all.nodes()[i + by[event.key]];
      if (!to) return;
      event.preventDefault();
      to.focus();
      choose(i + by[event.key]);
    });
  all
    .select("rect")
    .attr("width", width)
    .attr("height", height)
    .style("fill", ({ kind }) => KINDS[kind].looks[0])
    .style("stroke", ({ kind }, i) => (i === chosen ? "var(--ex-ink)" : KINDS[kind].looks[2]))
    .style("stroke-width", (_, i) => (i === chosen ? 4 : 1));
  const write = (name, below, words) =>
    all
      .select(`.${name}`)
      .attr("x", width / 2)
      .attr("y", height / 2 + below)
      .style("fill", ({ kind }) => KINDS[kind].looks[1])
      .text(words);
  write("own", roomy ? 1 : 7, ({ keys }) => keys).style("font", "bold 20px system-ui, sans-serif");
  write("chance", 16, ({ chance }) => (roomy ? `chance ${chance}` : ""));
  panel.describe("How many characters each head looks at, and how many by chance.", "group");
}
