/** Softmax saturates: the reader raises one key's score by as much undivided as divided, and sees how far the weights move. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { softmax } from "./math.js";
import { fresh, layer, say, show, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const KEYS = pattern.map((_, j) => j);
const LEADER = 0; // the first key has the largest score
const SIDES = ["none", "sqrt_d_k"];
const GAP = 12; // px, between the sides
const RIM = 4; // px, from numbers to the outline of their line
const LETTERS = 17; // px, above a key's bar, for its numbers

export const saturation = {
  title: "Do the weights of a wide head still move?",
  prompt: `Press a key: its score gets + ${nudge}, after any dividing. Then make the head narrower.`,
  hint: { target: ".explorable-key:nth-child(3) circle" },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: 64,
      text: String,
      marks: widths.map(String),
    },
    { name: "key", values: [0, ...KEYS.map((j) => j + 1)], value: 0, drawn: true }, // 0: none
  ],
  panelWidth: "100%",
  panels: [["keys", "", 314, { left: 0, right: 0, top: 26, bottom: 0 }]],
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

/** The same in a sentence. */
const spelled = (w) => brief(w).replace("<", "below ");

function answer([undivided, divided], dK, key) {
  const [all, less] = [undivided, divided].map(({ before }) => spelled(Math.max(...before)));
  if (!key)
    return `Undivided, one key has ${all} of the weight; divided, it has ${less}. What does a push change?`;
  const [[was, now], [from, to]] = [undivided, divided].map((side) =>
    [side.before, side.after].map((weights) => weights[key - 1]),
  );
  const way = (...ends) => `from ${ends.map(spelled).join(" to ")}`;
  const gain = now - was;
  const narrow = dK === widths[0];
  const rises = gain > (to - from) / 4;
  const wide = rises ? "Yes" : gain < 0.01 ? "No" : "Hardly";
  const close = rises && dK > 16 ? ", close to the leader," : "";
  const stays = brief(was) === brief(now);
  const moves = stays ? `stays ${spelled(now)}` : `rises ${rises ? "" : "only "}${way(was, now)}`;
  return `${narrow ? "A narrow head’s do" : wide}: undivided, the weight of key ${key}${close} ${moves}; divided, ${stays ? "it rises " : ""}${way(from, to)}.`;
}

/** A line for each key: a button that raises its score, and on both sides a bar, its weight. */
function drawKeys(app, sides) {
  const panel = app.panels.keys;
  const [left, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  const y = d3.scaleBand(KEYS, [top, bottom]);
  const raised = app.state.key - 1;
  const middle = (j) => y(j) + y.bandwidth() / 2;
  const from = left + 32;
  const width = (right - RIM + GAP - from) / 2;
  const root = Math.sqrt(app.state.d_k);
  const described = sides.map((side, i) => {
    const [start, end] = [from + i * width, from + (i + 1) * width];
    const name = i ? `divided by √${app.state.d_k} = ${root}` : looks.none.label;
    const where = { y, high: y.bandwidth() - LETTERS - RIM, start, end: end - GAP };
    drawSide(panel, { ...side, ...where, name, raised }, SIDES[i]);
    const told = (values) => values.map((w) => w.toFixed(3)).join("; ");
    return `${i ? "Divided" : "Undivided"}: scores ${side.scores.map(decimal).join("; ")}; weights before ${told(side.before)}; now ${told(side.after)}`;
  });
  say(fresh(panel.svg, "words"), "key", left, 12, "start");
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

/** One divisor's side: each key's weight as a bar; when a score is raised, paler what its key gains, outlined what others lose. */
function drawSide(panel, side, divisor) {
  const { scores, before, after, name, raised, y, high, start, end } = side;
  const x = d3.scaleLinear([0, 1], [start, end]);
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
      .attr("y", (j) => y(j) + LETTERS)
      .attr("height", high);
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
  say(words, name, start, 12, "start")
    .style("fill", lettersColour(divisor))
    .style("font-weight", 700);
  const number = (j, text, at, anchor) =>
    say(words, text, at, y(j) + LETTERS - 4, anchor)
      .attr("class", null) // no rim, which would reach into bars
      .style("fill", j === raised ? null : "var(--ex-muted)");
  if (raised !== LEADER) {
    number(LEADER, `score ${decimal(scores[LEADER])}`, start, "start");
    number(LEADER, `weight ${brief(after[LEADER])}`, end, "end");
  }
  if (raised < 0) return;
  const [from, to] = [before, after].map((weights) => brief(weights[raised]));
  number(raised, `${decimal(scores[raised])} + ${nudge}`, start, "start");
  number(raised, from === to ? `still ${to}` : `${from} → ${to}`, end, "end");
  /** Beside a bar, what became of its weight, where that shows and there is room. */
  const note = (j, text) => {
    const at = x(Math.max(before[j], after[j])) + 5;
    if (Math.abs(after[j] - before[j]) > 0.01 && at < end - 40)
      say(words, text, at, y(j) + LETTERS + high / 2 + 4, "start").attr("class", null);
  };
  note(raised, "gained");
  note(raised === LEADER ? 1 : LEADER, "lost");
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
    .attr("height", y.bandwidth())
    .attr("stroke", (j) => (j === raised ? "var(--ex-muted)" : "none"));
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
