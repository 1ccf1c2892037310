/** A trained head: whom a character looks at, its row of scores and of weights, and the two parts of it, of place and of what is read. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import * as math from "./math.js";
import { fromKey } from "./handles.js";
import {
  addButtons,
  axes,
  element,
  fresh,
  layer,
  point,
  rule,
  say,
  show,
  show2,
  showCount,
  textLine,
  wantsCalm,
} from "./shared.js";

const { text, moments, heads: count, layers, unit, reach, normal, gap, first: FIRST } = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from({ length: layers * count }, (_, i) => [
  String(i),
  `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
]);
const parts = { all: "as it is", place: "only place", read: "what is read" };

/** How much of what place decides a part has. */
const shares = { all: 1, place: 1, read: 0 };

const MOVES = 800; // milliseconds, in which a row becomes another

/** A row with over so many times as many keys as normal rows have, or as few, has a kind. */
const APART = 2;

/** What far more or far fewer keys than normal rows have make of a row: its sign, colour and the rule that says so. */
const kinds = {
  even: { sign: "▲", tint: colour("value"), rule: "over 2×" },
  sharp: { sign: "▼", tint: colour("none"), rule: "under ½×" },
};

const RANKS = 20; // of the largest weights that are drawn
const DRAWN = 200; // normal rows whose weights are averaged

const scores = new Map();

/**
 * The scores of a moment, and the same without what place decides, each less its row's largest, head by head and row by row: in a
 * script of its own, read when needed.
 */
function load(moment, then) {
  if (scores.has(moment)) return;
  scores.set(moment, null);
  const script = document.createElement("script");
  script.src = new URL(`heads_${moment}.js`, here);
  script.onload = () => {
    const bytes = atob(window.explorableHeads[moment]);
    const levels = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i += 1) levels[i] = bytes.charCodeAt(i);
    scores.set(moment, levels);
    then();
  };
  script.onerror = () => scores.delete(moment);
  document.head.append(script);
}

/** What a character of a head sees: a score for each one before it and itself, less their mean, by part. */
function rowsOf(levels, head, place) {
  const all = places.length;
  const stored = (heads) => {
    const from = (heads * all * (all + 1)) / 2 + (place * (place + 1)) / 2;
    return centred(
      Array.from(levels.subarray(from, from + place + 1), (level) => -((level / unit) ** 2)),
    );
  };
  const whole = stored(Number(head));
  const read = stored(Number(head) + names.length);
  return { all: whole, place: whole.map((s, i) => s - read[i]), read };
}

const average = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

/** The standard deviation of a row. */
function spread(row) {
  const mean = average(row);
  return Math.sqrt(average(row.map((s) => (s - mean) ** 2)));
}

/** A row less its mean, which softmax does not see. */
function centred(row) {
  const mean = average(row);
  return row.map((s) => s - mean);
}

/** Effective keys of normal rows with as many keys and the same spread, between those that the build has drawn. */
function normalKeys(row) {
  const known = normal[row.length - 1 - FIRST];
  const at = Math.min(spread(row) / gap, known.length - 1.001);
  const [below, above] = [known[Math.floor(at)], known[Math.ceil(at)]].map(Math.log);
  return Math.exp(below + (at % 1) * (above - below));
}

const falling = (a, b) => b - a;

const drawnRows = new Map();

/** Some normal rows of so many keys, the largest first, each with mean 0 and a spread of 1; drawn once. */
function normalRows(n) {
  if (!drawnRows.has(n)) {
    const all = math.sample(DRAWN * n, "normal", math.makeGenerator(0));
    const rows = Array.from({ length: DRAWN }, (_, i) => {
      const row = centred(Array.from(all.slice(i * n, (i + 1) * n)).sort(falling));
      const own = spread(row);
      return row.map((z) => z / own);
    });
    drawnRows.set(n, rows);
  }
  return drawnRows.get(n);
}

/** The weights of normal rows with as many keys and the same spread, the largest first, in the mean. */
function normalWeights(row) {
  const of = normalRows(row.length).map((one) => math.softmax(one, 1 / spread(row)));
  return row.slice(0, RANKS).map((_, rank) => average(of.map((weights) => weights[rank])));
}

/** A number as it is shown, so that what is said of it follows from what stands there. */
const shownAs = (x) => Number(x.toPrecision(2));

/** A row's effective keys, those of a normal row, how many times as many, and what that makes of it; no kind within a factor of 2. */
function measure(row) {
  const keys = math.effectiveKeys(math.softmax(row));
  const usual = normalKeys(row);
  const ratio = shownAs(keys / usual);
  return { keys, usual, ratio, kind: ratio > APART ? "even" : ratio < 1 / APART ? "sharp" : "" };
}

/** How many times as many, after the sign of what that makes of a row. */
const times = ({ ratio, kind }) => `${kind ? `${kinds[kind].sign}\u2009` : ""}${show2(ratio)}×`;

export const heads = {
  title: "What makes a row even?",
  controls: [
    { name: "part", options: parts, value: "all", drawn: true },
    { name: "head", options: Object.fromEntries(names), value: "4", drawn: true },
    {
      name: "step",
      label: "after training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
      below: true,
    },
    {
      name: "place",
      min: FIRST,
      max: places.length - 1,
      step: 1,
      value: places.length - 1,
      drawn: true,
    },
  ],
  readouts: [],
  panels: [
    [
      "heads",
      "choose a head: its keys over a normal row’s",
      154,
      { left: 46, right: 4, top: 20, bottom: 26 },
    ],
    ["weights", "its weights, the largest first", 140, { left: 34, right: 4, top: 8, bottom: 22 }],
    [
      "text",
      `who looks: press another (${FIRST + 1}th or later)`,
      112,
      { left: 4, right: 4, top: 6, bottom: 4 },
    ],
    ["back", "its scores, by characters back (size: weight)", 132, { left: 34, right: 8, top: 18 }],
  ],
  forget({ memory }) {
    delete memory.tried;
    delete memory.guess;
  },
  update(app) {
    const { step, place, head, part } = app.state;
    const { memory } = app;
    chooseParts(app);
    load(step, app.redraw);
    const levels = scores.get(step) ?? memory.levels;
    if (!levels) return { values: {}, spoken: "" };
    memory.levels = levels;
    const tried = (memory.tried ??= new Set(["all"])).add(part);
    const rows = rowsOf(levels, head, place);
    const drawn = moving(app, rows);
    const weights = math.softmax(drawn.row);
    const ofHeads = names.map(([one]) => measure(rowsOf(levels, one, place)[part]));
    const measured = {};
    for (const name of tried) measured[name] = measure(rows[name]);
    Object.keys(parts).forEach((name, i) => {
      memory.results[i].textContent = name in measured ? `${times(measured[name])} normal` : "?";
    });
    drawHeads(app, ofHeads);
    drawWeights(app, rows[part], weights);
    drawText(app, weights, math.softmax(rows[part]));
    drawBack(app, rows, drawn, weights);
    const said = verdict(app, measured);
    app.formula.replaceChildren(...said.map(textLine));
    return { values: {}, spoken: `${names[head][1]}. ${said.join(" ")}` };
  },
};

/** Buttons for the parts, made once, each with room for what is found of its part, and under them what is said; a press while the reader is asked is a guess. */
function chooseParts(app) {
  const { memory, state } = app;
  if (!memory.buttons) {
    const guess = (part) => {
      if (memory.asked && part !== "all") memory.guess = { part, row: memory.asked };
      app.set({ part });
    };
    const choices = Object.entries(parts).map(([part, label]) => [label, () => guess(part)]);
    memory.buttons = addButtons(app.controls, "scores", choices);
    memory.results = memory.buttons.map((button) => button.appendChild(element("small")));
    app.controls.after(app.formula);
  }
  Object.keys(parts).forEach((part, i) =>
    memory.buttons[i].setAttribute("aria-pressed", part === state.part),
  );
}

const causes = { place: "place", read: "what is read" };
const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** The keys of the part that is shown, and of a normal row; then what is asked, or once both parts were looked at, which of them makes the row what it is. */
function verdict({ memory, state }, measured) {
  const { all, place, read } = measured;
  const { keys, usual } = measured[state.part];
  const first = `${capital(parts[state.part])}: ${show2(keys)} effective keys; a normal row of its spread: ${show2(usual)}.`;
  const row = String([state.head, state.step, state.place]);
  const guess = memory.guess?.row === row && memory.guess.part;
  memory.asked = all.kind && !place && !read && row;
  if (place && read) return [first, answer(measured, guess)];
  if (memory.asked)
    return [
      first,
      `The row is ${all.kind}. Which part alone is ${all.kind}, too? Press your guess.`,
    ];
  if (!place && !read)
    return [first, "That is within a factor of 2 of normal rows. Do its parts cancel? Press them."];
  const [tried, other] = place ? ["place", "read"] : ["read", "place"];
  const { kind } = measured[tried];
  const guessed = guess ? `, ${kind === all.kind ? "" : "not "}as you guessed` : "";
  return [
    first,
    `${capital(causes[tried])} alone is ${kind || "like a normal row"}${guessed}. Now press “${parts[other]}”.`,
  ];
}

/** Which part alone is even or sharp, as the whole is, and what is said of the reader's guess. */
function answer({ all, place, read }, guess) {
  const like = all.kind;
  if (!like) return together(place, read);
  const guessed = (right) =>
    guess ? ` You guessed ${guess === right ? "so" : causes[guess]}.` : "";
  const [byPlace, byRead] = [place, read].map(({ kind }) => kind === like);
  if (byPlace && byRead) return `Either part alone is ${like}, too.${guessed()}`;
  if (!byPlace && !byRead) return `Neither part alone is ${like}: only both together.${guessed()}`;
  const [named, other, kind] = byPlace
    ? ["place", "read", read.kind]
    : ["read", "place", place.kind];
  const is = kind ? `is ${kind}` : "is not";
  return `${capital(causes[named])} alone is ${like}, too; ${causes[other]} alone ${is}.${guessed(named)}`;
}

/** What becomes of the parts in a whole that is like a normal row. */
function together(place, read) {
  if (!place.kind && !read.kind) return "So it is like a normal row, whole and in parts.";
  if (place.kind && read.kind && place.kind !== read.kind)
    return `So the parts cancel: place alone is ${place.kind}, what is read alone ${read.kind}.`;
  const which = !read.kind ? "Place" : place.kind ? "Either part" : "What is read";
  return `${which} alone is ${place.kind || read.kind}; the whole is within a factor of 2 of a normal row.`;
}

const TINT = 46; // percent of the weights' colour, under which letters keep a contrast of 4.5
const BAR = 8; // pixels, for a weight of 1

/** The passage, line by line as it was written, with the weights on their way to those `aimed` at; of those that may, the character nearest to where one presses looks. */
function drawText(app, weights, aimed) {
  const panel = app.panels.text;
  const lines = text.split("\n");
  const [left, right] = panel.xRange;
  const width = Math.min(17, (right - left) / (1 + Math.max(...lines.map((l) => l.length))));
  const height = Math.min(30, (panel.height - 10) / lines.length);
  const group = fresh(panel.svg, "text");
  let line = 0;
  let column = 0;
  const centres = [];
  places.forEach((character, place) => {
    const cell = group
      .append("g")
      .attr("class", "character")
      .attr("transform", `translate(${left + column * width},${panel.margin.top + line * height})`);
    const weight = weights[place] ?? 0;
    const share = Math.round(TINT * Math.min(1, Math.sqrt(3 * weight)));
    cell
      .append("rect")
      .attr("width", width)
      .attr("height", height - 2)
      .style("fill", `color-mix(in srgb, ${colour("weights")} ${share}%, var(--ex-ground))`)
      .style("stroke", place === app.state.place ? colour("query") : "none")
      .style("stroke-width", 2);
    cell
      .append("rect")
      .attr("class", "weight")
      .attr("y", height - 2 - BAR * weight)
      .attr("width", width)
      .attr("height", BAR * weight)
      .style("fill", colour("weights"));
    cell
      .append("text")
      .attr("x", width / 2)
      .attr("y", height - BAR - 5)
      .attr("text-anchor", "middle")
      .style("font-family", "monospace")
      .style("fill", `var(--ex-${place > app.state.place ? "muted" : "ink"})`)
      .style("font-style", place < FIRST ? "italic" : "normal")
      .text(shown[character] ?? character);
    cell.style("cursor", "pointer");
    if (place >= FIRST)
      centres.push([
        left + (column + 0.5) * width,
        panel.margin.top + (line + 0.5) * height,
        place,
      ]);
    column += 1;
    if (character === "\n") [line, column] = [line + 1, 0];
  });
  const marked = aimed.map((w, i) => [w, i]).filter(([w]) => w >= 0.1);
  const named = (at) => `${shown[places[at]] ?? places[at]} at ${at + 1}`;
  const said = marked.map(([w, i]) => `${named(i)}: ${show(w)}`);
  panel.describe("the character that looks", "slider");
  const range = { min: FIRST, max: places.length - 1, step: 1 };
  panel.svg
    .attr("tabindex", 0)
    .attr("aria-valuemin", range.min + 1)
    .attr("aria-valuemax", range.max + 1)
    .attr("aria-valuenow", app.state.place + 1)
    .attr(
      "aria-valuetext",
      `${named(app.state.place)}; weights of a tenth or more: ${said.join(", ") || "none"}`,
    )
    .on("keydown", (event) => {
      app.settle();
      const place = fromKey(event, app.state.place, range);
      if (place === null) return;
      event.preventDefault();
      app.set({ place });
    })
    .on("pointerdown pointermove", (event) => {
      if (!event.isPrimary || !(event.buttons & 1)) return;
      const [px, py] = d3.pointer(event);
      const far = ([cx, cy]) => Math.abs(cx - px) + 100 * Math.abs(cy - py); // its own line first
      app.set({ place: centres.reduce((best, at) => (far(at) < far(best) ? at : best))[2] });
    });
}

/**
 * The drawing's numbers on their way from where they were when they were asked to change: the scores of the row, what place decides
 * of them, its share, and how far the axis goes, which has room for this row and its parts at all moments. At once for those who
 * want no motion, the first time, and where another character looks.
 */
function moving(app, rows) {
  const { memory } = app;
  const { head, part, place } = app.state;
  const ofPlace = shares[part];
  const aim = [
    ofPlace,
    reach[Number(head)][place - FIRST],
    ...rows.place.map((s) => ofPlace * s),
    ...rows[part],
  ];
  const now = performance.now();
  const calm = wantsCalm();
  if (String(aim) !== String(memory.aim)) {
    memory.from = memory.now?.length === aim.length ? memory.now : aim;
    memory.aim = aim;
    memory.since = calm ? -Infinity : now;
  }
  const share = Math.min(1, (now - memory.since) / MOVES);
  memory.now = aim.map((to, i) => memory.from[i] + share * (to - memory.from[i]));
  if (share < 1) app.redraw();
  const [shareOfPlace, most, ...scores] = memory.now;
  return { shareOfPlace, most, ramp: scores.slice(0, place + 1), row: scores.slice(place + 1) };
}

/** The row's weights, the largest first, as bars, and as steps those of normal rows of the spread that the row will have. */
function drawWeights(app, row, weights) {
  const panel = app.panels.weights;
  const { memory } = app;
  const largest = Array.from(weights).sort(falling).slice(0, RANKS);
  if (memory.normalOf !== String(row))
    [memory.normalOf, memory.normal] = [String(row), normalWeights(row)];
  const x = d3.scaleLinear([0, RANKS], panel.xRange);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, { x, y, xTicks: 0, yTicks: [0, 0.5, 1], yFormat: String });
  const group = fresh(panel.svg, "weights");
  const [bottom, top] = y.range();
  largest.forEach((weight, rank) =>
    group
      .append("rect")
      .attr("x", x(rank) + 1)
      .attr("width", x(1) - x(0) - 2)
      .attr("y", y(weight))
      .attr("height", bottom - y(weight))
      .style("fill", colour("weights")),
  );
  const steps = memory.normal.map((w, rank) => `H${x(rank)}V${y(w)}H${x(rank + 1)}`);
  group
    .append("path")
    .attr("class", "normal")
    .attr("d", `M${x(0)},${y(memory.normal[0])}${steps.join("")}`)
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  const right = x(RANKS);
  rule(group, [right - 188, top + 8], [right - 168, top + 8], "var(--ex-ink)").style(
    "stroke-width",
    1.5,
  );
  say(group, "normal rows of its spread", right, top + 12, "end");
  panel.describe(
    `Weights, the largest first: ${largest
      .slice(0, 6)
      .map((w) => show(w))
      .join(", ")}; of normal rows: ${memory.normal
      .slice(0, 6)
      .map((w) => show(w))
      .join(", ")}`,
  );
}

/** The row's scores against the distance of their keys, and what place decides as a line; the larger the dot, the more weight. */
function drawBack(app, rows, { shareOfPlace, most, ramp, row }, weights) {
  const panel = app.panels.back;
  const { part } = app.state;
  const last = row.length - 1;
  const [left, right] = panel.xRange;
  const x = d3.scaleLinear([last, 0], [left, right]);
  const y = d3.scaleLinear([-most, most], panel.yRange);
  const top = y.range()[1];
  axes(panel, { x, y, yTicks: 3 });
  const group = fresh(panel.svg, "points");
  const at = (values) => values.map((s, place) => [x(last - place), y(s)]);
  const line = (values, stroke, opacity, width) =>
    group
      .append("path")
      .attr("d", d3.line()(at(values)))
      .style("fill", "none")
      .style("stroke", stroke)
      .style("opacity", opacity)
      .style("stroke-width", width);
  line(row, colour("weights"), 0.35, 1);
  if (shareOfPlace) {
    line(ramp, colour("key"), shareOfPlace, 2).attr("class", "place");
    const name = group.append("g").attr("class", "place").style("opacity", shareOfPlace);
    rule(name, [right - 146, top - 12], [right - 126, top - 12], colour("key")).style(
      "stroke-width",
      2,
    );
    say(name, "what place decides", right, top - 8, "end");
  }
  at(row).forEach(([cx, cy], place) => {
    point(group, cx, cy, 2 + 5 * Math.sqrt(weights[place]), colour("weights"));
  });
  const own = rows[part];
  const best = own.indexOf(Math.max(...own));
  const decided =
    part === "read"
      ? ""
      : ` What place decides goes from ${show(rows.place[0])} at the first to ${show(rows.place.at(-1))} at the last.`;
  panel.describe(
    `${own.length} scores from the first character to the one that looks, ${parts[part]}, from ${show(Math.min(...own))} to ${show(Math.max(...own))} about their mean; the largest is ${last - best} characters back.${decided}`,
  );
}

/** A tile for each head, a row for each layer, and under them how many are of a kind: arrow keys choose a head, as in a list. */
function drawHeads(app, measured) {
  const panel = app.panels.heads;
  const scale = (many, range) =>
    d3
      .scaleBand(
        Array.from({ length: many }, (_, i) => i),
        range,
      )
      .padding(0.08);
  const x = scale(count, panel.xRange);
  const y = scale(layers, [panel.margin.top, panel.yRange[0]]);
  const around = fresh(panel.svg, "axes");
  const name = (text, x, y, anchor) =>
    around
      .append("text")
      .attr("class", "axis-label")
      .attr("x", x)
      .attr("y", y)
      .attr("text-anchor", anchor)
      .text(text);
  for (const i of x.domain())
    name(`head ${i + 1}`, x(i) + x.bandwidth() / 2, panel.margin.top - 6, "middle");
  for (const i of y.domain())
    name(`layer ${i + 1}`, panel.margin.left - 4, y(i) + y.bandwidth() / 2 + 4, "end");
  const list = layer(panel.svg, "tiles").attr("role", "radiogroup").attr("aria-label", "head");
  const tiles = list.selectAll("g.head").data(measured);
  const made = tiles.enter().append("g").attr("class", "head").attr("role", "radio");
  made.style("cursor", "pointer");
  made.append("rect").attr("class", "cell").attr("rx", 3);
  made.append("text").attr("text-anchor", "middle");
  const all = made.merge(tiles);
  const chosen = (i) => names[i][0] === app.state.head;
  all
    .attr("transform", (_, i) => `translate(${x(i % count)},${y(Math.floor(i / count))})`)
    .attr("tabindex", (_, i) => (chosen(i) ? 0 : -1))
    .attr("aria-checked", (_, i) => String(chosen(i)))
    .attr(
      "aria-label",
      (of, i) => `${names[i][1]}: ${show2(of.ratio)} times normal${of.kind && `, ${of.kind}`}`,
    )
    .on("click", function () {
      app.set({ head: names[all.nodes().indexOf(this)][0] });
    })
    .on("keydown", function (event) {
      const at = all.nodes().indexOf(this);
      const [Home, End] = [-at, names.length - 1 - at];
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -count, ArrowDown: count, Home, End };
      const to = all.nodes()[at + moves[event.key]];
      if (!to) return;
      event.preventDefault();
      to.focus();
      app.set({ head: names[all.nodes().indexOf(to)][0] });
    });
  all
    .select("rect")
    .attr("width", x.bandwidth())
    .attr("height", y.bandwidth())
    .style("fill", ({ kind }) => ground(kind))
    .style("stroke", (_, i) => (chosen(i) ? "var(--ex-ink)" : "none"))
    .style("stroke-width", 2.5);
  all
    .select("text")
    .attr("x", x.bandwidth() / 2)
    .attr("y", y.bandwidth() / 2 + 4)
    .style("font-weight", (_, i) => (chosen(i) ? 700 : 400))
    .text(times);
  const level = panel.height - 14;
  const counts = Object.entries(kinds).map(([kind, { sign, rule }], i) => {
    const start = (i * panel.width) / 2;
    const many = measured.filter((of) => of.kind === kind).length;
    around
      .append("rect")
      .attr("x", start)
      .attr("y", level)
      .attr("width", 14)
      .attr("height", 14)
      .attr("rx", 3)
      .style("fill", ground(kind));
    name(sign, start + 7, level + 11, "middle").attr("class", null);
    name(`${kind}, ${rule}: ${many}`, start + 20, level + 11, "start").attr("data-count", kind);
    return `${many} ${kind}`;
  });
  panel.describe(
    `Effective keys of each head’s row over a normal row’s, ${parts[app.state.part]}: of ${names.length} ${counts.join(", ")}`,
    "group",
  );
}

/** The ground of a tile, coloured where its row has a kind. */
const ground = (kind) =>
  kind ? `color-mix(in srgb, ${kinds[kind].tint} 40%, var(--ex-panel))` : "var(--ex-panel)";
