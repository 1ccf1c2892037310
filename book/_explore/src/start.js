/** The first question: a token's weights on eight words as its head grows wider, undivided or divided. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { divisorControl, fresh, layer, rule, say, show, showCount, wantsCalm } from "./shared.js";

const { words, d_k: widths, weights, reach } = data.start;
const ASKS = words.indexOf("it");

/** From which weight on a word is listened to. */
const HEARD = 0.05;

export const start = {
  title: "Does “it” still listen to the whole sentence?",
  prompt: "“it” compares its query with each word’s key: make these lists longer, then divide.",
  hint: { target: "input" },
  controls: [
    {
      name: "d_k",
      label: "numbers in each list, d_k",
      values: widths,
      value: widths[0],
      text: showCount,
      marks: widths.map(showCount),
    },
    divisorControl,
  ],
  panelWidth: "100%",
  panels: [["words", "", 306, { left: 4, right: 4, top: 22, bottom: 143 }]],
  update(app) {
    const { d_k: dK, divisor } = app.state;
    const [p, undivided] = [divisor, "none"].map((name) => weights[name][widths.indexOf(dK)]);
    drawWords(app.panels.words, p, dK, divisor, undivided);
    return { said: answer(p, dK, divisor) };
  },
};

/** A weight with two digits, or about 0 where they would show none of it: it is never 0, or 1. */
const brief = (w) => (w < 0.005 ? "≈ 0" : w > 0.995 ? "≈ 1" : show(w));

function answer(p, dK, divisor) {
  const heard = p.filter((w) => w >= HEARD).length;
  const least = `at least ${100 * HEARD}\u00a0% of the weight`;
  if (divisor === "sqrt_d_k")
    return `Yes: divided by √${showCount(dK)}\u00a0=\u00a0${Math.sqrt(dK)}, ${heard} of the ${words.length} words get ${least}, however long the lists.`;
  const best = p.indexOf(Math.max(...p));
  const all = p[best] > 0.995;
  const most = `“${words[best]}” gets ${all ? "more than 99" : Math.round(100 * p[best])}\u00a0%`;
  const long = `with ${showCount(dK)} numbers`;
  if (heard === 1)
    return `No: ${long} ${most} of the weight, and no other word gets ${100 * HEARD}\u00a0%.`;
  return `In part: ${long}, ${heard} of the ${words.length} words get ${least}, and ${most}.`;
}

/** A bar of weight over each word, an outline where it was undivided, and below lines from the word that asks, as strong as its weights. */
function drawWords(panel, p, dK, divisor, undivided) {
  const x = d3
    .scaleBand(
      words.map((_, j) => j),
      panel.xRange,
    )
    .padding(0.25);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  const [ground, top] = panel.yRange;
  const ink = colour(divisor);
  const middle = (j) => x(j) + x.bandwidth() / 2;
  const asks = [middle(ASKS), ground + 131];
  const each = (name, tag, values = p) =>
    layer(panel.svg, name).selectAll(tag).data(values).join(tag);
  const bars = (name, values) =>
    each(name, "rect", values)
      .attr("x", (_, j) => x(j))
      .attr("width", x.bandwidth())
      .style("transition", wantsCalm() ? null : "y 0.4s, height 0.4s")
      .attr("y", (w) => y(w))
      .attr("height", (w) => ground - y(w));
  const write = (name, level) =>
    each(name, "text")
      .attr("x", (_, j) => middle(j))
      .attr("y", level)
      .attr("text-anchor", "middle");
  each("threads", "path")
    .attr("d", (_, j) => {
      const [to, level] = [middle(j), ground + 84];
      return `M${asks[0]},${asks[1] - 16}C${asks[0]},${level + 16},${to},${level + 20},${to},${level}`;
    })
    .style("fill", "none")
    .style("stroke", ink)
    .style("stroke-linecap", "round")
    .style("stroke-width", (w) => 1 + 11 * w)
    .style("opacity", (w) => 0.08 + 0.75 * w);
  bars(
    "all",
    p.map(() => 1),
  ).style("fill", "var(--ex-panel)");
  bars("bars", p).style("fill", ink);
  bars("before", divisor === "none" ? [] : undivided)
    .style("fill", "none")
    .style("stroke", colour("none"))
    .style("stroke-width", 2);
  write("weights", ground + 17)
    .style("font-weight", 700)
    .style("font-size", "13px")
    .text(brief);
  write("names", ground + 36)
    .style("font-size", "14px")
    .text((_, j) => words[j]);
  const length = Math.sqrt(dK);
  const fits = reach.map((far) => show(far * (divisor === "none" ? length : 1), 1));
  write("fits", ground + 72)
    .style("fill", lettersColour(divisor))
    .text((_, j) => fits[j]);
  const notes = fresh(panel.svg, "notes");
  const [, right] = panel.xRange;
  say(notes, "1: all of the weight", right, top - 8, "end");
  rule(notes, [panel.xRange[0], top], [right, top], "var(--ex-muted)").style(
    "stroke-dasharray",
    "2 4",
  );
  rule(notes, [panel.xRange[0], ground], [right, ground], "var(--ex-muted)");
  const divided = divisor === "none" ? "" : `, divided by ${length}`;
  say(notes, `how well each word’s key fits${divided}:`, panel.xRange[0], ground + 56, "start");
  say(notes, "it listens", ...asks, "middle")
    .style("font-size", "15px")
    .style("font-weight", 700);
  if (divisor !== "none") {
    const best = undivided.indexOf(Math.max(...undivided));
    say(
      notes,
      `undivided: ${brief(undivided[best])}`,
      x(best) + x.bandwidth() + 6,
      y(undivided[best]) + 13,
      "start",
    ).style("fill", lettersColour("none"));
  }
  panel.describe(
    `Weights that “it” gives: ${words.map((word, j) => `${word} ${brief(p[j])}, fit ${fits[j]}`).join("; ")}.`,
  );
}
