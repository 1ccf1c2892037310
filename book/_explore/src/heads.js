/** A trained head: whom a character looks at, its row of scores, and the two parts of it, of place and of what is read. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import * as math from "./math.js";
import { fromKey } from "./handles.js";
import {
  addButtons,
  axes,
  fresh,
  layer,
  point,
  rule,
  say,
  show,
  show2,
  show3,
  showCount,
  textLine,
  wantsCalm,
} from "./shared.js";

const { text, moments, heads: count, layers, unit, reach, first: FIRST } = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from({ length: layers * count }, (_, i) => [
  String(i),
  `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
]);
const parts = { all: "as it is", place: "only place", read: "without place" };

/** How much of what place decides a part has. */
const shares = { all: 1, place: 1, read: 0 };

const MOVES = 800; // milliseconds, in which a row becomes another

/** So many times as many keys as a normal row has, or as few, no row has by chance: of the untrained ones 99 in 100 lie closer. */
const APART = 2;

const LETTERS = 40; // pixels below the scores, for the axis and the letters
const LETTER = 8; // between letters that stand clear of each other
const MUCH = 0.03; // a weight whose letter is shown where there is no room for all

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
    const levels = Uint8Array.from(atob(window.explorableHeads[moment]), (c) => c.charCodeAt(0));
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

const normals = new Map();

/** Some normal rows of so many keys, each with mean 0 and a spread of 1; drawn once. */
function normalRows(n) {
  if (!normals.has(n)) {
    const drawn = math.sample(400 * n, "normal", math.makeGenerator(0));
    const rows = Array.from({ length: 400 }, (_, i) => {
      const row = centred(Array.from(drawn.slice(i * n, (i + 1) * n)));
      const own = spread(row);
      return row.map((z) => z / own);
    });
    normals.set(n, rows);
  }
  return normals.get(n);
}

/** Effective keys of normal rows with as many keys and the same spread: 1 over the mean of Σp² over some of them. */
const normalKeys = (n, sigma) =>
  1 / average(normalRows(n).map((row) => 1 / math.effectiveKeys(math.softmax(row, 1 / sigma))));

export const heads = {
  title: "Does place make a row even?",
  controls: [
    { name: "part", options: parts, value: "all", drawn: true },
    { name: "head", options: Object.fromEntries(names), value: "4", drawn: true },
    {
      name: "step",
      label: "after training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
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
      "keys",
      "effective keys: how many share the weight",
      106,
      { left: 100, right: 62, top: 18, bottom: 22 },
    ],
    ["back", "its scores, by characters back (size: weight)", 158, { left: 34, bottom: LETTERS }],
    [
      "text",
      `who looks: press another (${FIRST + 1}th or later)`,
      112,
      { left: 4, right: 4, top: 6, bottom: 4 },
    ],
    [
      "heads",
      "choose a head (its row’s spread; border: 1)",
      136,
      { left: 46, right: 4, top: 20, bottom: 4 },
    ],
  ],
  forget({ memory }) {
    delete memory.tried;
  },
  update(app) {
    const { step, place, head, part } = app.state;
    const { memory } = app;
    chooseParts(app);
    load(step, app.redraw);
    const levels = scores.get(step) ?? memory.levels;
    if (!levels) return { values: {}, spoken: "" };
    memory.levels = levels;
    const tried = ((memory.tried ??= {})[head] ??= new Set(["all"])).add(part);
    const rows = rowsOf(levels, head, place);
    const critical = math.criticalSigma(place + 1);
    const drawn = moving(app, rows);
    const weights = math.softmax(drawn.row);
    drawText(app, weights, math.softmax(rows[part]));
    drawHeads(
      app,
      names.map(([one]) => spread(rowsOf(levels, one, place)[part]) / critical),
    );
    drawBack(app, rows, drawn, weights);
    const measured = {};
    for (const name of tried) {
      const own = spread(rows[name]);
      const keys = math.effectiveKeys(math.softmax(rows[name]));
      const normal = normalKeys(place + 1, own);
      measured[name] = {
        keys,
        normal,
        ratio: shownAs(keys / normal),
        sigma: shownAs(own / critical),
      };
    }
    drawKeys(app, measured);
    const said = verdict(part, measured);
    app.formula.replaceChildren(...said.map(textLine));
    return { values: {}, spoken: `${names[head][1]}, ${parts[part]}. ${said.join(" ")}` };
  },
};

/** Buttons for the parts, made once, and under them what is said of a part. */
function chooseParts(app) {
  const { memory, state } = app;
  if (!memory.buttons) {
    memory.buttons = addButtons(
      app.controls,
      "scores",
      Object.entries(parts).map(([part, label]) => [label, () => app.set({ part })]),
    );
    app.controls.after(app.formula);
  }
  Object.keys(parts).forEach((part, i) =>
    memory.buttons[i].setAttribute("aria-pressed", part === state.part),
  );
}

/** A number as it is shown, so that what is said of it follows from what stands there. */
const shownAs = (x) => Number(x.toPrecision(2));

/** What more or fewer keys than chance gives a normal row make of a row; nothing where it may be chance. */
const kind = ({ ratio }) => (ratio > APART ? "even" : ratio < 1 / APART ? "sharp" : "");

/** The keys of the part that is shown and of a normal row; then its spread, or once all were looked at, which part makes the row what it is. */
function verdict(part, measured) {
  const { keys, normal, sigma } = measured[part];
  const { all, place, read } = measured;
  const label = parts[part][0].toUpperCase() + parts[part].slice(1);
  const first = `${label}: ${show2(keys)} effective keys; a normal row of its spread: ${show2(normal)}.`;
  if (part === "all" || (place && read)) return [first, answer(all, place, read)];
  return [first, `Its spread is ${show2(sigma)} times the border’s, as it is ${show2(all.sigma)}.`];
}

/** Which part alone is more even or sharper than chance makes a normal row, as the whole is, or what is asked before both were looked at. */
function answer(all, place, read) {
  const like = kind(all);
  const so = `${like} for its spread`;
  if (!like)
    return `As it is, ${show2(all.ratio)} times normal: within a factor of 2 it may be chance. Try another head.`;
  if (!place || !read) return `That is ${so}. Does place make it so, or what is read?`;
  const [byPlace, byRead] = [place, read].map((part) => kind(part) === like);
  if (byPlace && byRead) return `So either part alone makes the row ${so}.`;
  if (!byPlace && !byRead) return `So only both together make the row ${so}.`;
  const [named, without] = byPlace ? ["place", read] : ["what is read", place];
  const sharpens = like === "even" && without.keys > all.keys;
  const how = sharpens ? ": it sharpens, but less than normal scores would" : "";
  return `So ${named} alone makes the row ${so}${how}.`;
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

/** The row's scores against the distance of their keys, and what place decides as a line; the larger the dot, the more weight. */
function drawBack(app, rows, { shareOfPlace, most, ramp, row }, weights) {
  const panel = app.panels.back;
  const { part } = app.state;
  const last = row.length - 1;
  const [left, right] = panel.xRange;
  const x = d3.scaleLinear([last, 0], [left, right]);
  const y = d3.scaleLinear([-most, most], panel.yRange);
  const [bottom, top] = y.range();
  const around = axes(panel, { x, y, yTicks: 5 });
  for (const place of spelt(rows[part], (right - left) / last))
    around
      .append("text")
      .attr("class", "axis-label")
      .attr("x", x(last - place))
      .attr("y", bottom + LETTERS - 6)
      .attr("text-anchor", "middle")
      .style("font-family", "monospace")
      .text(shown[places[place]] ?? places[place]);
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

/** Whose letters stand under the axis: all if there is room, else those with much weight that stand clear of each other, and the one that looks. */
function spelt(row, gap) {
  const all = row.map((_, place) => place);
  if (gap >= LETTER) return all;
  const weights = math.softmax(row);
  const order = all.filter((place) => weights[place] >= MUCH);
  order.sort((a, b) => weights[b] - weights[a]);
  const kept = [];
  for (const place of [all.at(-1), ...order])
    if (kept.every((other) => Math.abs(place - other) * gap >= LETTER)) kept.push(place);
  return kept;
}

/** For each part that was looked at its effective keys, and those of a normal row of its spread. */
function drawKeys(app, measured) {
  const panel = app.panels.keys;
  const x = d3.scaleLog([1, places.length], panel.xRange);
  const y = d3.scaleBand(Object.keys(parts), panel.yRange.reverse());
  const [left, right] = panel.xRange;
  const { top } = panel.margin;
  axes(panel, {
    x,
    y: d3.scaleLinear([0, 1], panel.yRange),
    xTicks: [1, 2, 5, 10, 20, 50],
    xFormat: String,
    yTicks: 0,
  });
  const group = fresh(panel.svg, "parts");
  const said = [];
  for (const name of Object.keys(parts)) {
    const level = y(name) + y.bandwidth() / 2;
    const words = (text, at, anchor) =>
      group
        .append("text")
        .attr("x", at)
        .attr("y", level + 4)
        .attr("text-anchor", anchor)
        .style("font-weight", name === app.state.part ? 700 : 400)
        .text(text);
    words(parts[name], left - 8, "end");
    rule(group, [left, level], [right, level], "var(--ex-grid)");
    const found = measured[name];
    words(found ? show2(found.ratio) : "?", right + 10, "start").attr("data-ratio", name);
    if (!found) continue;
    const { keys, normal } = found;
    rule(group, [x(normal), level], [x(keys), level], colour("weights")).style("stroke-width", 2);
    rule(group, [x(normal), level - 7], [x(normal), level + 7], "var(--ex-ink)").style(
      "stroke-width",
      2,
    );
    point(group, x(keys), level, 5, colour("weights"))
      .attr("data-part", name)
      .attr("data-keys", keys)
      .attr("data-normal", normal);
    said.push(`${parts[name]} ${show2(keys)}, of a normal row ${show2(normal)}`);
  }
  const tick = x(measured.all.normal);
  say(group, "× normal", panel.width, top - 4, "end");
  say(group, "normal row", tick, top - 4, tick > (left + right) / 2 ? "end" : "start");
  panel.describe(`Effective keys: ${said.join("; ")}.`);
}

/** A tile for each head, a row for each layer, the redder the farther past the border: arrow keys choose a head, as in a list. */
function drawHeads(app, ratios) {
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
  const tiles = list.selectAll("g.head").data(ratios);
  const made = tiles.enter().append("g").attr("class", "head").attr("role", "radio");
  made.style("cursor", "pointer");
  made.append("rect").attr("rx", 3);
  made.append("text").attr("text-anchor", "middle");
  const all = made.merge(tiles);
  const chosen = (i) => names[i][0] === app.state.head;
  all
    .attr("transform", (_, i) => `translate(${x(i % count)},${y(Math.floor(i / count))})`)
    .attr("tabindex", (_, i) => (chosen(i) ? 0 : -1))
    .attr("aria-checked", (_, i) => String(chosen(i)))
    .attr("aria-label", (ratio, i) => `${names[i][1]}: ${show3(ratio)} times the border`)
    .on("click", function () {
      app.set({ head: names[all.nodes().indexOf(this)][0] });
    })
    .on("keydown", function (event) {
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -count, ArrowDown: count };
      const to = all.nodes()[all.nodes().indexOf(this) + moves[event.key]];
      if (!to) return;
      event.preventDefault();
      to.focus();
      app.set({ head: names[all.nodes().indexOf(to)][0] });
    });
  const share = (ratio) => Math.round(65 * Math.max(0, 1 - 1 / ratio));
  all
    .select("rect")
    .attr("width", x.bandwidth())
    .attr("height", y.bandwidth())
    .style(
      "fill",
      (ratio) => `color-mix(in srgb, ${colour("none")} ${share(ratio)}%, var(--ex-panel))`,
    )
    .style("stroke", (_, i) => (chosen(i) ? "var(--ex-ink)" : "none"))
    .style("stroke-width", 2.5);
  all
    .select("text")
    .attr("x", x.bandwidth() / 2)
    .attr("y", y.bandwidth() / 2 + 4)
    .style("font-weight", (_, i) => (chosen(i) ? 700 : 400))
    .text((ratio) => show(ratio));
  panel.describe(
    `Spread of each head's row over the border's, from ${show3(Math.min(...ratios))} to ${show3(Math.max(...ratios))}`,
    "group",
  );
}
