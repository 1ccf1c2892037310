/** The first question: a token's weights on eight words as its head grows wider, undivided or divided. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { divisorControl, layer, show, showCount, wantsCalm } from "./shared.js";

const { words, d_k: widths, weights } = data.start;
const ASKS = words.indexOf("it");

/** From which weight on a word is heard: it is bold, and named. */
const HEARD = 0.05;

export const start = {
  title: "Does “it” still listen to the whole sentence?",
  prompt: "Make the head wider; then divide.",
  hint: { target: "input", by: [170, 0] },
  controls: [
    {
      name: "d_k",
      label: "width of the head, d_k",
      values: widths,
      value: widths[0],
      text: (dK) => `${showCount(dK)} numbers`,
    },
    divisorControl,
  ],
  panelWidth: "100%",
  panels: [["words", "", 226, { left: 4, right: 4, top: 20, bottom: 90 }]],
  update(app) {
    const { d_k: dK, divisor } = app.state;
    const p = weights[divisor][widths.indexOf(dK)];
    drawWords(app.panels.words, p, divisor);
    return { said: answer(p, dK, divisor) };
  },
};

function answer(p, dK, divisor) {
  const best = p.indexOf(Math.max(...p));
  const share = `${Math.round(100 * p[best])} %`;
  const wide = showCount(dK);
  if (divisor === "sqrt_d_k")
    return `Divided by √${wide} = ${Math.sqrt(dK)}, “${words[best]}” gets ${share} of the weight, and so it does at any width.`;
  const others = words.filter((_, j) => j !== best && p[j] >= HEARD).map((word) => `“${word}”`);
  if (!others.length)
    return `With ${wide} numbers “${words[best]}” gets ${share} of the weight. The other words are lost.`;
  return `With ${wide} numbers “${words[best]}” gets ${share} of the weight, and ${others.join(", ")} can be heard, too.`;
}

/** A weight with two digits, or 0 where they would show none of it. */
const brief = (w) => (w < 0.005 ? "0" : show(w));

/** A bar of weight over each word, and under the words lines from the one that asks, as strong as its weights. */
function drawWords(panel, p, divisor) {
  const x = d3
    .scaleBand(
      words.map((_, j) => j),
      panel.xRange,
    )
    .padding(0.25);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  const [ground] = panel.yRange;
  const ink = colour(divisor);
  const middle = (j) => x(j) + x.bandwidth() / 2;
  const asks = [middle(ASKS), ground + 76];
  const threads = layer(panel.svg, "threads").classed("glides", true);
  const bars = layer(panel.svg, "bars");
  const names = layer(panel.svg, "names");
  const each = (group, tag) => group.selectAll(tag).data(p).join(tag);
  each(threads, "path")
    .attr("d", (_, j) => {
      const [to, level] = [middle(j), ground + 28];
      return `M${asks[0]},${asks[1] - 16}C${asks[0]},${level + 16},${to},${level + 20},${to},${level}`;
    })
    .style("fill", "none")
    .style("stroke", ink)
    .style("stroke-linecap", "round")
    .style("stroke-width", (w) => 1 + 11 * w)
    .style("opacity", (w) => 0.08 + 0.75 * w);
  each(bars, "rect")
    .attr("x", (_, j) => x(j))
    .attr("width", x.bandwidth())
    .style("fill", ink)
    .style("transition", wantsCalm() ? null : "y 0.4s, height 0.4s")
    .attr("y", (w) => y(w))
    .attr("height", (w) => ground - y(w));
  each(bars, "text")
    .attr("x", (_, j) => middle(j))
    .attr("y", (w) => y(w) - 6)
    .attr("text-anchor", "middle")
    .style("font-weight", 700)
    .text(brief);
  each(names, "text")
    .attr("x", (_, j) => middle(j))
    .attr("y", ground + 19)
    .attr("text-anchor", "middle")
    .style("font-size", "14px")
    .style("font-weight", (w) => (w < HEARD ? 400 : 700))
    .text((_, j) => words[j]);
  const asking = layer(panel.svg, "asking");
  layer(asking, "what", "text")
    .attr("x", asks[0])
    .attr("y", asks[1])
    .attr("text-anchor", "middle")
    .style("font-size", "15px")
    .style("font-weight", 700)
    .text("it");
  panel.describe(
    `Weights that “it” gives: ${words.map((word, j) => `${word} ${brief(p[j])}`).join(", ")}.`,
  );
}
