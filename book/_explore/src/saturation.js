/** Softmax saturates: the reader raises one key's score by as much undivided as divided, and sees how far the weights move. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { softmax } from "./math.js";
import { fresh, layer, rule, say, show, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const KEYS = pattern.map((_, j) => j);
const SIDES = ["none", "sqrt_d_k"];

export const saturation = {
  title: "Do the weights of a wide head still move?",
  prompt: `Press a key: its score gets ${nudge} more on both sides.`,
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
  panels: [["keys", "", 302, { left: 0, right: 0, top: 38, bottom: 0 }]],
  update(app) {
    const { d_k: dK, key } = app.state;
    const sides = SIDES.map((divisor) => sideOf(dK, divisor, key - 1));
    drawKeys(app, sides);
    return { said: answer(sides, key) };
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
const brief = (w) => (tiny(w) ? "< 0.01" : show(w));

function answer([undivided, divided], key) {
  const [all, less] = [undivided, divided].map(({ before }) => brief(Math.max(...before)));
  if (!key) return `Undivided, one key has ${all} of the weight; divided, it has ${less}.`;
  const [[was, now], [from, to]] = [undivided, divided].map((side) =>
    [side.before, side.after].map((weights) => weights[key - 1]),
  );
  const only = now - was < 0.5 * (to - from) ? "only" : "too,";
  const words = [was, now].map((w) => brief(w).replace("<", "below"));
  const moves = tiny(now)
    ? "stays below 0.01 of the weight"
    : `rises ${only} from ${words[0]} to ${words[1]}`;
  return `Undivided, key ${key} ${moves}. Divided, it rises from ${brief(from)} to ${brief(to)}.`;
}

/** A line for each key: a button that raises its score, and on both sides a bar, its weight. */
function drawKeys(app, sides) {
  const panel = app.panels.keys;
  const [left, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  const y = d3.scaleBand(KEYS, [top, bottom]);
  const raised = app.state.key - 1;
  const middle = (j) => y(j) + y.bandwidth() / 2;
  const from = left + 28;
  const width = (right - from) / 2;
  const described = sides.map((side, i) => {
    const divisor = SIDES[i];
    const start = from + i * width;
    const name = i
      ? `divided by √${app.state.d_k} = ${Math.sqrt(app.state.d_k)}`
      : looks.none.label;
    drawSide(panel, {
      ...side,
      name,
      divisor,
      raised,
      middle,
      start,
      end: start + width - (i ? 0 : 8),
    });
    const told = (values) => values.map((w) => w.toFixed(3)).join("; ");
    return `${i ? "Divided" : "Undivided"}: scores ${side.scores.map(decimal).join("; ")}; weights before ${told(side.before)}; now ${told(side.after)}`;
  });
  say(fresh(panel.svg, "words"), "key", left + 11, top - 8, "middle");
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

/** One divisor's side: a bar is the weight now, an outline what it was before a score was raised. */
function drawSide(panel, { scores, before, after, name, divisor, raised, middle, start, end }) {
  const x = d3.scaleLinear([0, 1], [start, end - (divisor === "none" ? 28 : 36)]);
  const moved = (j) => Math.abs(after[j] - before[j]) >= 0.005;
  const bars = (name, weights, keys = KEYS) =>
    layer(panel.svg, `${name}-${divisor}`)
      .selectAll("rect")
      .data(keys)
      .join("rect")
      .style("transition", wantsCalm() ? null : "width 0.4s")
      .attr("x", start)
      .attr("width", (j) => x(weights(j)) - start)
      .attr("y", (j) => middle(j) - 14)
      .attr("height", 28);
  bars("all", () => 1).style("fill", "var(--ex-panel)");
  bars("now", (j) => after[j]).style("fill", colour(divisor));
  bars("before", (j) => before[j], KEYS.filter(moved))
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)");
  const words = fresh(panel.svg, `words-${divisor}`);
  const top = panel.margin.top;
  rule(words, [start, top], [start, middle(7) + 14], "var(--ex-muted)");
  const head = say(words, name, start, top - 24, "start");
  head.style("fill", lettersColour(divisor)).style("font-weight", 700).style("font-size", "13px");
  head.attr("x", Math.min(start, end + 4 - head.node().getComputedTextLength()));
  say(words, "weight", start, top - 7, "start");
  say(words, "1", x(1), top - 7, "end");
  const loss = (j) => before[j] - after[j];
  const loser = KEYS.filter(moved).sort((i, j) => loss(j) - loss(i))[0];
  for (const j of KEYS) {
    const [was, now] = [before, after].map((weights) => brief(weights[j]));
    const reach = x(Math.max(after[j], before[j])) + 5;
    const write = (text, by) => say(words, text, reach, middle(j) + 4.5 + by, "start");
    const fits = (text) => reach + text.node().getComputedTextLength() <= end + 4;
    if (j !== raised) {
      const text = write(j === loser ? `${now}, was ${was}` : now, 0);
      if (!fits(text)) text.text(now);
      continue;
    }
    const texts = [
      write(was === now ? `still ${now}` : `${was} → ${now}`, -7)
        .style("font-weight", 700)
        .style("font-size", end - start > 200 ? "14px" : "12px"),
      write(`score ${decimal(scores[j])} + ${nudge}`, 7),
    ];
    if (texts.every(fits)) continue;
    const box = texts.map((text) =>
      text
        .attr("x", start + 8)
        .node()
        .getComputedTextLength(),
    );
    words
      .insert("rect", "text") // on the bar, and under its words
      .attr("x", start + 4)
      .attr("width", Math.max(...box) + 8)
      .attr("y", middle(j) - 14)
      .attr("height", 28)
      .style("fill", "var(--ex-ground)")
      .style("opacity", 0.7);
    texts.forEach((text) => text.attr("class", null));
  }
}

/** The keys' buttons: of these one is pressed, and a press anywhere in a key's line is one. */
function drawButtons(app, panel, { y, middle, left, right, raised }) {
  const list = layer(panel.svg, "list").attr("role", "radiogroup").attr("aria-label", "key");
  const keys = list.selectAll("g").data(KEYS);
  const made = keys.enter().append("g").attr("class", "explorable-key").attr("role", "radio");
  made.append("rect").style("fill", "transparent");
  made.append("circle").attr("r", 10).style("stroke", "var(--ex-ink)");
  made.append("text").attr("text-anchor", "middle").style("font-weight", 700);
  const all = made.merge(keys);
  const choose = (j) => app.set({ key: j + 1 });
  all
    .attr("tabindex", (j) => (j === Math.max(raised, 0) ? 0 : -1))
    .attr("aria-checked", (j) => String(j === raised))
    .attr("aria-label", (j) => `key ${j + 1}: add ${nudge} to its score`)
    .on("click", (_, j) => choose(j))
    .on("keydown", (event, j) => {
      const moves = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
      const to = { Home: 0, End: KEYS.length - 1 }[event.key] ?? j + moves[event.key];
      const node = all.nodes()[to];
      if (!node) return;
      event.preventDefault();
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
    .attr("cy", middle)
    .style("fill", (j) => (j === raised ? "var(--ex-ink)" : "var(--ex-ground)"));
  all
    .select("text")
    .attr("x", left + 11)
    .attr("y", (j) => middle(j) + 4)
    .text((j) => j + 1)
    .style("fill", (j) => (j === raised ? "var(--ex-ground)" : "var(--ex-ink)"));
}
