/** A trained head: whom a character looks at, and its row of scores, from which what place decides can be taken away. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import * as math from "./math.js";
import { fromKey } from "./handles.js";
import { axes, element, fresh, layer, point, show, show2, show3, showCount } from "./shared.js";

const { text, moments, heads: count, layers, unit, reach, first: FIRST } = data.heads;
const places = [...text];
const shown = { " ": "·", "\n": "⏎" };
const here = document.currentScript.src;
const names = Array.from({ length: layers * count }, (_, i) => [
  String(i),
  `layer ${Math.floor(i / count) + 1}, head ${(i % count) + 1}`,
]);

const MOVES = 800; // milliseconds, in which what place decides is taken away

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

/** What a character of a head sees: a score for each one before it and itself, with what place decides or without it. */
function rowOf(levels, away, head, place) {
  const all = places.length;
  const heads = Number(head) + (away ? names.length : 0);
  const from = (heads * all * (all + 1)) / 2 + (place * (place + 1)) / 2;
  return Array.from(levels.subarray(from, from + place + 1), (level) => -((level / unit) ** 2));
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

/** Σp² of normal rows with as many keys and the same spread, mean over some of them. */
function normalSquares(n, sigma) {
  const rows = 400;
  const drawn = math.sample(rows * n, "normal", math.makeGenerator(0));
  let sum = 0;
  for (let i = 0; i < rows; i++) {
    const row = drawn.slice(i * n, (i + 1) * n);
    const own = spread(Array.from(row));
    sum += 1 / math.effectiveKeys(math.softmax(Array.from(row, (z) => (z / own) * sigma)));
  }
  return sum / rows;
}

export const heads = {
  title: "A trained head: whom does a character look at?",
  controls: [
    {
      name: "part",
      label: "take away what place decides",
      options: { all: "in the scores", read: "taken away" },
      check: true,
      value: "all",
    },
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
  readouts: [
    ["ratio", "σ/σ_c of the row", show2],
    ["keys", "effective keys, 1/Σp²", show2],
    ["normal", "those of a normal row", show2],
  ],
  panels: [
    [
      "text",
      "who looks, and its weights: click, or arrow keys",
      128,
      { left: 4, right: 4, top: 6, bottom: 4 },
    ],
    ["back", "its scores; the line is what place decides", 210, { left: 34 }],
    ["heads", "σ/σ_c in each head: choose one", 210, { left: 46, right: 4, top: 22, bottom: 6 }],
  ],
  update(app) {
    const { step, place, head } = app.state;
    const away = app.state.part === "read";
    load(step, app.redraw);
    const levels = scores.get(step) ?? app.memory.levels;
    if (!levels) return { values: {}, spoken: "" };
    app.memory.levels = levels;
    const row = rowOf(levels, away, head, place);
    const weights = math.softmax(row);
    const sigma = spread(row);
    const critical = math.criticalSigma(row.length);
    const whole = rowOf(levels, false, head, place);
    drawText(app, weights);
    drawBack(app, centred(whole), centred(rowOf(levels, true, head, place)), weights);
    drawHeads(
      app,
      names.map(([one]) => spread(rowOf(levels, away, one, place)) / critical),
    );
    const values = {
      ratio: sigma / critical,
      keys: math.effectiveKeys(weights),
      normal: 1 / normalSquares(row.length, sigma),
    };
    const called = names[head][1];
    const side = sigma > critical ? "past" : "below";
    const ratio = values.keys / values.normal;
    const compared =
      ratio > 1.15 ? "more even than" : ratio < 1 / 1.15 ? "sharper than" : "about as even as";
    const [other, others] = away ? ["With", whole] : ["Without", rowOf(levels, true, head, place)];
    const said = [
      `${called[0].toUpperCase()}${called.slice(1)}: a row ${side} the border, and ${compared} a normal one of its spread.`,
      `${other} what place decides its spread is ${show2(spread(others) / critical)} times the border.`,
    ];
    app.formula.replaceChildren(
      ...said.map((text) => element("span", { class: "explorable-line" }, text)),
    );
    return { values, spoken: said.join(" ") };
  },
};

/** The passage, line by line as it was written; a click on a character looks from there. */
function drawText(app, weights) {
  const panel = app.panels.text;
  const lines = text.split("\n");
  const [left, right] = panel.xRange;
  const width = Math.min(17, (right - left) / (1 + Math.max(...lines.map((l) => l.length))));
  const height = Math.min(30, (panel.height - 10) / lines.length);
  const group = fresh(panel.svg, "text");
  let line = 0;
  let column = 0;
  places.forEach((character, place) => {
    const cell = group
      .append("g")
      .attr("class", "character")
      .attr("transform", `translate(${left + column * width},${panel.margin.top + line * height})`);
    const weight = weights[place] ?? 0;
    const share = Math.round(100 * Math.sqrt(weight));
    cell
      .append("rect")
      .attr("width", width)
      .attr("height", height - 2)
      .style("fill", `color-mix(in srgb, ${colour("weights")} ${share}%, var(--ex-ground))`)
      .style("stroke", place === app.state.place ? colour("query") : "none")
      .style("stroke-width", 2);
    cell
      .append("text")
      .attr("x", width / 2)
      .attr("y", height / 2 + 3)
      .attr("text-anchor", "middle")
      .style("font-family", "monospace")
      .style("opacity", place > app.state.place ? 0.45 : 1)
      .style("fill", share > 60 ? "var(--ex-ground)" : "var(--ex-ink)")
      .text(shown[character] ?? character);
    if (place >= FIRST) cell.style("cursor", "pointer").on("click", () => app.set({ place }));
    column += 1;
    if (character === "\n") [line, column] = [line + 1, 0];
  });
  const marked = weights.map((w, i) => [w, i]).filter(([w]) => w >= 0.1);
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
      const place = fromKey(event, app.state.place, range);
      if (place === null) return;
      event.preventDefault();
      app.set({ place });
    });
}

/** How much of what place decides is taken away by now, from 0 to 1: the answer of the box, unless it has just changed. */
function taken(app) {
  const { memory, state } = app;
  const aim = state.part === "read" ? 1 : 0;
  const now = performance.now();
  const setting = [state.head, state.step, state.place].join();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (calm || memory.setting !== setting) memory.taken = aim;
  memory.setting = setting;
  if (memory.taken === aim) {
    memory.at = undefined;
    return aim;
  }
  const moved = (now - (memory.at ?? now)) / MOVES;
  memory.at = now;
  memory.taken += Math.sign(aim - memory.taken) * Math.min(moved, Math.abs(aim - memory.taken));
  app.redraw();
  return memory.taken;
}

/** The row's scores against the distance of their keys, and what place decides as a line; the larger the dot, the more weight. */
function drawBack(app, whole, read, weights) {
  const panel = app.panels.back;
  const away = taken(app);
  const ramp = whole.map((s, place) => s - read[place]);
  const row = whole.map((s, place) => s - away * ramp[place]);
  const last = row.length - 1;
  const x = d3.scaleLinear([last, 0], panel.xRange);
  const y = d3.scaleLinear(reach, panel.yRange); // of all rows: it stands still
  axes(panel, { x, y, xLabel: "characters back", yTicks: 5, yLabel: "score" });
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
  line(ramp, colour("key"), 0.35, 2);
  line(
    ramp.map((s) => (1 - away) * s),
    colour("key"),
    1,
    2,
  );
  at(row).forEach(([cx, cy], place) => {
    point(group, cx, cy, 2 + 5 * Math.sqrt(weights[place]), colour("weights"));
  });
  const best = weights.indexOf(Math.max(...weights));
  panel.describe(
    `${row.length} scores from the first character to the one that looks, ${away ? "without" : "with"} what place decides, from ${show(Math.min(...row))} to ${show(Math.max(...row))} about their mean; the largest is ${last - best} characters back. What place decides goes from ${show(ramp[0])} at the first to ${show(ramp.at(-1))} at the last.`,
  );
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
