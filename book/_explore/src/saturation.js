/** Softmax saturates: the reader raises one key's score by as much undivided as divided, and sees how far the weights move. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { softmax } from "./math.js";
import { fresh, layer, say, show, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const KEYS = pattern.map((_, j) => j);
const SIDES = ["none", "sqrt_d_k"];
const NARROW = 480; // px, below which a drawing is a phone's
const GAP = 12; // px, between the sides
const LOW = 30; // px, of a key's line, from which on its numbers stand over its bars; in a slide they stand beside them

export const saturation = {
  title: "Do the weights of a wide head still move?",
  prompt: `Press another key: ${nudge} is added to its score, after any dividing.`,
  hint: { target: ".explorable-key:nth-child(4) circle" },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: 64,
      text: String,
      marks: widths.map(String),
    },
    { name: "key", values: [0, ...KEYS.map((j) => j + 1)], value: 3, drawn: true }, // 0: none
  ],
  panelWidth: "100%",
  panels: [["keys", "", 350, { left: 0, right: 0, top: 54, bottom: 0 }]],
  update(app) {
    const { d_k: dK, key } = app.state;
    const sides = SIDES.map((divisor) => sideOf(dK, divisor, key - 1));
    drawKeys(app, sides);
    return { said: answer(sides, dK, key) };
  },
};

/** Scores of eight keys, and their weights before and after one score is raised, if any is. */
function sideOf(dK, divisor, raised) {
  const scores = pattern.map((z) => (divisor === "none" ? Math.sqrt(dK) * z : z));
  const before = softmax(scores);
  const after = softmax(scores.map((z, j) => (j === raised ? z + nudge : z)));
  return { scores, before, after };
}

/** Whether two decimals show nothing of a weight. */
const tiny = (w) => w < 0.005;

/** A weight with two decimals. */
const brief = (w) => (tiny(w) ? "<0.01" : show(w));

function answer([undivided, divided], dK, key) {
  const [all, less] = [undivided, divided].map(({ before }) => brief(Math.max(...before)));
  if (!key)
    return `Nothing is added: undivided, one key has ${all} of the weight; divided, it has ${less}.`;
  const [[was, now], [from, to]] = [undivided, divided].map((side) =>
    [side.before, side.after].map((weights) => weights[key - 1]),
  );
  const way = (...ends) => `from ${ends.map((w) => brief(w).replace("<", "below ")).join(" to ")}`;
  const gain = now - was;
  if (gain > (to - from) / 3) {
    const close = dK > 16 && key === 2;
    return close
      ? `Yes: undivided, key 2 is close to the leader and rises ${way(was, now)}; divided, ${way(from, to)}.`
      : `Yes: at d_k = ${dK} the weight of key ${key} rises: undivided ${way(was, now)}, divided ${way(from, to)}.`;
  }
  const moves =
    was > 0.8
      ? `key ${key} is nearly full, ${way(was, now)}`
      : `the weight of key ${key} ${tiny(now) ? "stays below 0.01" : `rises only ${way(was, now)}`}`;
  return `${gain < 0.01 ? "No" : "Hardly"}: undivided, ${moves}; divided, it rises ${way(from, to)}.`;
}

/** A line for each key: a button that raises its score, and on both sides a bar, its weight. */
function drawKeys(app, sides) {
  const panel = app.panels.keys;
  const phone = panel.width < NARROW && 406; // px, for keys of 44
  if (phone || panel.height > panel.natural)
    panel.svg.attr("height", (panel.height = phone || panel.natural));
  const [left, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  const y = d3.scaleBand(KEYS, [top, bottom]);
  const raised = app.state.key - 1;
  const middle = (j) => y(j) + y.bandwidth() / 2;
  const low = y.bandwidth() < LOW;
  const from = left + (low ? 36 : 28);
  const width = (right + GAP - from) / 2;
  const root = Math.sqrt(app.state.d_k);
  const described = sides.map((side, i) => {
    const [start, end] = [from + i * width, from + (i + 1) * width];
    const name = i ? `divided by √${app.state.d_k} = ${root}` : looks.none.label;
    const where = { middle, high: y.bandwidth(), low, start, end };
    drawSide(panel, { ...side, ...where, name, raised }, SIDES[i]);
    const told = (values) => values.map((w) => w.toFixed(3)).join("; ");
    return `${i ? "Divided" : "Undivided"}: scores ${side.scores.map(decimal).join("; ")}; weights before ${told(side.before)}; now ${told(side.after)}`;
  });
  const words = fresh(panel.svg, "words");
  say(words, "key", left + 11, top - 6, "middle");
  drawButtons(app, panel, { y, middle, right, left, raised });
  const which = raised < 0 ? "No key is raised" : `Key ${raised + 1} is raised by ${nudge}`;
  panel.describe(`${which}. ${described.join(". ")}.`, "group");
}

/** A score with one decimal. */
const decimal = (z) =>
  z
    .toFixed(1)
    .replace(/^-0\.0$/, "0.0")
    .replace("-", "−");

/** One divisor's side: each key's score, and as a bar its weight; when a score is raised, paler what its key gains, outlined what others lose. */
function drawSide(panel, side, divisor) {
  const { scores, before, after, name, raised, middle, high, low, start, end } = side;
  const x = d3.scaleLinear([0, 1], low ? [start + 86, end - GAP - 108] : [start, end - GAP]);
  const least = KEYS.map((j) => Math.min(before[j], after[j]));
  const ink = colour(divisor);
  const paler = `color-mix(in srgb, ${ink} 45%, var(--ex-ground))`;
  const bars = (name, from, to) =>
    layer(panel.svg, `${name}-${divisor}`)
      .selectAll("rect")
      .data(KEYS)
      .join("rect")
      .style("transition", wantsCalm() ? null : "width 0.4s, x 0.4s")
      .attr("x", (j) => x(from(j)))
      .attr("width", (j) => x(to(j)) - x(from(j)))
      .attr("y", (j) => middle(j) - (low ? high / 2 - 2 : 1))
      .attr("height", low ? high - 4 : high / 2 - 2);
  const none = () => 0;
  bars("all", none, () => 1).style("fill", "var(--ex-panel)");
  bars("lost", none, (j) => before[j])
    .style("fill", "none")
    .style("stroke", (j) => (tiny(before[j]) ? "none" : ink));
  bars("least", none, (j) => least[j]).style("fill", ink);
  bars(
    "gain",
    (j) => least[j],
    (j) => after[j],
  ).style("fill", paler);
  const words = fresh(panel.svg, `words-${divisor}`);
  const top = panel.margin.top;
  say(words, name, start, top - 38, "start")
    .style("fill", lettersColour(divisor))
    .style("font-weight", 700)
    .style("font-size", "13px");
  const swatch = (text, at, fill) => {
    const box = words
      .append("rect")
      .attr("x", at)
      .attr("y", top - 31)
      .attr("width", 10);
    box.attr("height", 10).style("fill", fill).style("stroke", ink);
    say(words, text, at + 15, top - 22, "start");
  };
  if (raised >= 0) {
    swatch("gained", start + 0.5, paler);
    swatch("lost", start + 76.5, "none");
  }
  say(words, "score", start, top - 6, "start");
  say(words, "weight", end - GAP, top - 6, "end");
  /** A number, and in the raised key's line in bold letters what becomes of it. */
  const write = (j, text, more, at, anchor) => {
    const number = say(words, text, at, middle(j) + (low ? 4 : -6), anchor);
    const rest = number.append("tspan").text(more);
    if (j === raised) rest.style("font-weight", 700);
    else number.style("fill", "var(--ex-muted)");
  };
  for (const j of KEYS) {
    const [from, to] = [before[j], after[j]].map(brief);
    write(j, decimal(scores[j]), j === raised ? ` + ${nudge}` : "", start, "start");
    write(j, from, from === to ? "" : ` → ${to}`, end - GAP, "end");
  }
}

/** The keys' buttons: of these one is pressed, and a press anywhere in a key's line is one. */
function drawButtons(app, panel, { y, middle, left, right, raised }) {
  const list = layer(panel.svg, "list").attr("role", "radiogroup").attr("aria-label", "key");
  const keys = list.selectAll("g").data(KEYS);
  const made = keys.enter().append("g").attr("class", "explorable-key").attr("role", "radio");
  made.append("rect").attr("fill", "transparent");
  made.append("circle").style("stroke", "var(--ex-ink)");
  made.append("text").attr("text-anchor", "middle").style("font-weight", 700);
  const all = made.merge(keys);
  const choose = (j) => app.set({ key: j + 1 });
  const press = (j) => choose(j === raised ? -1 : j); // again: nothing is added
  all
    .attr("tabindex", (j) => (j === Math.max(raised, 0) ? 0 : -1))
    .attr("aria-checked", (j) => String(j === raised))
    .attr("aria-label", (j) => `key ${j + 1}: add ${nudge} to its score`)
    .on("click", (_, j) => press(j))
    .on("keydown", (event, j) => {
      const moves = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
      const to = { Home: 0, End: KEYS.length - 1 }[event.key] ?? j + moves[event.key];
      const node = all.nodes()[to];
      if (node || event.key === " ") event.preventDefault();
      if (event.key === " ") press(j);
      if (!node) return;
      node.focus();
      choose(to);
    });
  all
    .select("rect")
    .attr("x", left)
    .attr("width", right - left)
    .attr("y", (j) => y(j))
    .attr("height", y.bandwidth());
  all
    .select("circle")
    .attr("cx", left + 11)
    .attr("r", Math.min(10, y.bandwidth() / 2))
    .attr("cy", middle)
    .style("fill", (j) => (j === raised ? "var(--ex-ink)" : "var(--ex-ground)"));
  all
    .select("text")
    .attr("x", left + 11)
    .attr("y", (j) => middle(j) + 4)
    .text((j) => j + 1)
    .style("fill", (j) => (j === raised ? "var(--ex-ground)" : "var(--ex-ink)"));
}
