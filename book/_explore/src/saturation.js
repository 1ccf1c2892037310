/** Softmax saturates: the reader raises one key's score by as much undivided as divided, and sees how far the weights move. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { softmax } from "./math.js";
import { fresh, layer, rule, say, show, show2, wantsCalm } from "./shared.js";

const { d_k: widths, nudge, pattern } = data.saturation;
const KEYS = pattern.map((_, j) => j);
const SIDES = ["none", "sqrt_d_k"];

export const saturation = {
  title: "Do the weights of a wide head still move?",
  prompt: `Press a key to add ${nudge} to the score that softmax sees; then make the head narrower.`,
  hint: { target: ".explorable-key:nth-child(6) circle" },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: 64,
      text: String,
    },
    { name: "key", values: KEYS.map((j) => j + 1), value: 3, drawn: true },
  ],
  panelWidth: "100%",
  panels: [["keys", "", 308, { left: 0, right: 0, top: 46, bottom: 0 }]],
  update(app) {
    const { d_k: dK, key } = app.state;
    const sides = SIDES.map((divisor) => sideOf(dK, divisor, key - 1));
    drawKeys(app, sides);
    return { said: answer(sides, key) };
  },
};

/** Scores of eight keys, their weights before and after one score is raised, and what that key gains. */
function sideOf(dK, divisor, raised) {
  const scores = pattern.map((z) => (divisor === "none" ? Math.sqrt(dK) * z : z));
  const before = softmax(scores);
  const after = softmax(scores.with(raised, scores[raised] + nudge));
  return { scores, before, after, gain: after[raised] - before[raised] };
}

/** A part of the weight in words. */
const share = (w) => (w < 0.001 ? "less than 0.1\u00a0%" : `${show2(100 * w)}\u00a0%`);

function answer([undivided, divided], key) {
  const far = undivided.gain / divided.gain;
  const verdict =
    far < 0.1
      ? "Undivided, weights hardly move"
      : far < 0.5
        ? "Undivided, weights move less"
        : "Here weights move undivided, too";
  return `${verdict}: with +${nudge} key ${key} gains ${share(undivided.gain)} of the weight, divided ${share(divided.gain)}.`;
}

/** A weight with two decimals, or 0 where they would show none of it. */
const brief = (w) => (w < 0.005 ? "0" : show(w));

/** A line for each key: a button that raises its score, and on both sides the score and the weight. */
function drawKeys(app, sides) {
  const panel = app.panels.keys;
  const [left, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  const y = d3.scaleBand(KEYS, [top, bottom]);
  const raised = app.state.key - 1;
  const middle = (j) => y(j) + y.bandwidth() / 2;
  layer(panel.svg, "band", "rect")
    .attr("x", left)
    .attr("width", right - left)
    .attr("y", y(raised))
    .attr("height", y.bandwidth())
    .attr("rx", 6)
    .style("fill", "var(--ex-panel)");
  const from = left + 24;
  const width = (right - from) / 2;
  const words = fresh(panel.svg, "words");
  say(words, "key", left + 11, top - 8, "middle");
  const described = sides.map((side, i) => {
    const [start, end] = [from + i * width, from + (i + 1) * width - 8];
    const name = i
      ? `divided by √${app.state.d_k} = ${Math.sqrt(app.state.d_k)}`
      : looks.none.label;
    const last = i && width < 200;
    say(words, name, last ? right : start + 20, top - 28, last ? "end" : "start")
      .style("fill", lettersColour(SIDES[i]))
      .style("font-weight", 700)
      .style("font-size", "13px");
    drawSide(panel, words, { side, divisor: SIDES[i], start, end, raised, middle });
    const told = (values) => values.map((w) => w.toFixed(3)).join("; ");
    return `${i ? "Divided" : "Undivided"}: scores ${side.scores.map(decimal).join("; ")}; weights before ${told(side.before)}; now ${told(side.after)}`;
  });
  drawButtons(app, panel, { y, middle, right, left, raised });
  panel.describe(`Key ${raised + 1} is raised by ${nudge}. ${described.join(". ")}.`, "group");
}

/** A score with one decimal. */
const decimal = (z) =>
  z
    .toFixed(1)
    .replace(/^-0\.0$/, "0.0")
    .replace("-", "−");

/** One divisor's side: a score, and pale its weight, in full colour what the raised key gains. */
function drawSide(panel, words, { side, divisor, start, end, raised, middle }) {
  const { scores, before, after, gain } = side;
  const top = panel.margin.top;
  const wide = end - start > 200;
  const [scoreEnd, ground] = wide ? [start + 68, start + 80] : [start + 53, start + 58];
  const x = d3.scaleLinear([0, 1], [ground, end - 34]);
  const bars = (name, from, to) =>
    layer(panel.svg, `${name}-${divisor}`)
      .style("fill", colour(divisor))
      .selectAll("rect")
      .data(KEYS)
      .join("rect")
      .style("transition", wantsCalm() ? null : "x 0.4s, width 0.4s")
      .attr("x", (j) => x(from(j)))
      .attr("width", (j) => x(to(j)) - x(from(j)))
      .attr("y", (j) => middle(j) - 10)
      .attr("height", 20);
  const kept = (j) => Math.min(before[j], after[j]);
  bars("kept", () => 0, kept).style("opacity", 0.4);
  bars("gained", kept, (j) => after[j]);
  rule(words, [ground, top], [ground, middle(7) + 14], "var(--ex-muted)");
  const plus = wide ? " + " : "+";
  const write = (text, at, level, anchor) =>
    say(words, text, at, level, anchor).attr("class", null);
  for (const j of KEYS) {
    const level = middle(j) + 4;
    const tip = x(after[j]) + 5;
    const chosen = j === raised;
    const score = write(decimal(scores[j]), scoreEnd, level, "end");
    const sum = brief(before[j]) + plus + brief(gain);
    const fits = tip + 7 * sum.length < end;
    const text = !chosen ? brief(after[j]) : fits ? brief(before[j]) : "";
    const weight = write(text, tip, level, "start");
    if (!chosen) continue;
    for (const [words, more] of [
      [score, plus + nudge],
      [weight, (fits ? plus : "+") + brief(gain)],
    ])
      words.append("tspan").style("font-weight", 700).text(more);
    weight.select("tspan").style("fill", lettersColour(divisor));
  }
  write("score", scoreEnd, top - 8, "end");
  write("weight", ground, top - 8, "start");
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
    .attr("tabindex", (j) => (j === raised ? 0 : -1))
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
