/** How wide are dot products? */
import * as d3 from "../_shared/d3.js";
import { colour, data } from "../_shared/data.js";
import { axes, fresh, point, show } from "../_shared/shared.js";

const { d_k: widths, std } = data.template;

export const template = {
  title: "How wide are dot products?",
  prompt: "Move the slider: how fast does the width grow?",
  hint: { target: "input" },
  controls: [
    {
      name: "d_k",
      label: "components, d_k",
      values: widths,
      value: widths[0],
      text: String,
    },
  ],
  panels: [["line", "standard deviation of q·k", 200, {}]],
  update({ state, panels: { line } }) {
    const here = std[widths.indexOf(state.d_k)];
    const x = d3.scaleLinear([0, widths.at(-1)], line.xRange);
    const y = d3.scaleLinear([0, 1.1 * Math.max(...std)], line.yRange);
    axes(line, { x, y, xLabel: "d_k" });
    const group = fresh(line.svg, "points");
    widths.forEach((dK, i) =>
      point(group, x(dK), y(std[i]), dK === state.d_k ? 7 : 4, colour("key")),
    );
    const sentence = `With ${state.d_k} components the standard deviation of q·k is ${show(here, 1)}.`;
    line.describe(sentence);
    return { sentence };
  },
};
