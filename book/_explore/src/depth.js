/** Through many layers: the first gradient's norm against the number of blocks, undivided and with the root. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawCursor } from "./handles.js";
import {
  apart,
  axes,
  bar,
  fresh,
  layer,
  marker,
  point,
  say,
  show2,
  showCount,
  spread,
} from "./shared.js";

const { blocks: depths, d_k: widths, labels, norms } = data.depth;
const names = Object.keys(labels);
const first = depths[0];
const most = Math.max(...names.flatMap((name) => norms[name].flat().flatMap(({ all }) => all)));

const blocksControl = {
  name: "blocks",
  label: "blocks",
  spoken: "blocks of the model",
  values: depths,
  value: depths[1],
  text: (blocks) => `${blocks} blocks`,
  drawn: true,
};

export const depth = {
  title: "How much larger is the first gradient of a deeper model?",
  prompt: "Drag the line to the right; then try narrower heads.",
  hint: { target: ".explorable-handle" },
  controls: [
    {
      name: "d_k",
      label: "width of a head, d_k",
      values: widths,
      value: widths.at(-1),
      text: String,
    },
    blocksControl,
  ],
  panelWidth: "100%",
  panels: [
    [
      "norms",
      "norm of the first gradient: each grey line is ten times the one below; a dot is a model",
      310,
      { top: 40, right: 98, left: 58 },
    ],
  ],
  update(app) {
    const { d_k: dK, blocks } = app.state;
    const passed = depths.indexOf(blocks) + 1;
    const width = widths.indexOf(dK);
    drawNorms(app, width, passed);
    return { said: verdict(width, passed) };
  },
};

/** Two digits, and commas. */
const brief = (x) => (x < 100 ? show2(x) : showCount(Number(x.toPrecision(2))));

function verdict(width, passed) {
  const medians = names.map((name) => norms[name][width].map(({ median }) => median));
  const blocks = depths[passed - 1];
  if (blocks === first) {
    const [undivided, root] = medians.map(([start]) => start.toFixed(1));
    return `With ${first} blocks the norm is ${undivided} undivided and ${root} with the root. And with more?`;
  }
  const [undivided, root] = medians.map((all) => `${brief(all[passed - 1] / all[0])} times`);
  return `From ${first} to ${blocks} blocks it grows ${undivided} undivided, and ${root} with the root.`;
}

/** Medians and models up to a depth, each line with its name at its end. */
function drawNorms(app, width, passed) {
  const panel = app.panels.norms;
  const inner = d3.scaleLog([first, depths.at(-1)], panel.xRange);
  const [left, right] = panel.xRange;
  const x = d3.scaleLog([left - 25, right + 22].map(inner.invert), [left, right]);
  const y = d3.scaleLog([0.5, 10 ** Math.ceil(Math.log10(most))], panel.yRange);
  axes(panel, {
    x,
    y,
    xLabel: "blocks",
    xTicks: depths,
    xFormat: String,
    yTicks: [1, 10, 100, 1000, 1e4, 1e5].filter((at) => at <= y.domain()[1]),
    yFormat: showCount,
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  const draw = (name, of, wide) => {
    const line = norms[name][of].slice(0, passed).map(({ median }, i) => [x(depths[i]), y(median)]);
    group
      .append("path")
      .attr("d", d3.line()(line))
      .style("fill", "none")
      .style("stroke", colour(name))
      .style("stroke-width", wide)
      .style("stroke-dasharray", looks[name].dashes);
    return line;
  };
  const widest = widths.length - 1;
  const ghost = width < widest && passed > 1 && draw("none", widest, 1.5).at(-1);
  const ends = names.toReversed().map((name) => {
    norms[name][width].slice(0, passed).forEach(({ all }, i) =>
      all.forEach((norm, model) =>
        point(
          under,
          x(depths[i]) + (name === "none" ? -1 : 1) * (5 + 9 * spread(model)),
          y(norm),
          2,
          colour(name),
        )
          .attr("class", "model")
          .style("fill-opacity", 0.35),
      ),
    );
    const line = draw(name, width, name === "none" ? 2.5 : 6); // where both lie together, both are seen
    for (const at of line) marker(group, name, ...at).style("stroke", "var(--ex-ground)");
    return line.at(-1);
  });
  const [root, undivided] = ends;
  const beside = undivided[0] + 22;
  const levels = [undivided[1], root[1], ...(ghost ? [ghost[1]] : [])];
  const [top, bottom, other] = apart(levels, 16, 0, panel.height, ghost ? [2, 0, 1] : [0, 1]);
  const label = (text, level) =>
    say(group, text, beside, level + 4, "start").style("font-weight", 700);
  label(labels.none, top).style("fill", lettersColour("none"));
  label(labels.sqrt_d_k, bottom).style("fill", lettersColour("sqrt_d_k"));
  if (ghost)
    label(`width ${widths[widest]}`, other)
      .style("fill", lettersColour("none"))
      .style("font-weight", 400);
  const [less, more] = names.toReversed().map((name) => norms[name][width][passed - 1].median);
  if (bottom - top > 40) {
    bar(layer(group, "times", "path"), top + 10, bottom - 10, 0).attr(
      "transform",
      `translate(${beside + 8},0) rotate(90)`,
    );
    label(`× ${brief(more / less)}`, (top + bottom) / 2)
      .attr("x", beside + 18)
      .style("font-size", "15px");
  }
  drawCursor(app, panel, under, blocksControl, x);
  const told = (name) =>
    norms[name][width]
      .slice(0, passed)
      .map(({ median }) => brief(median))
      .join(", ");
  panel.describe(
    `With heads of ${widths[width]}, the median norm against ${depths.slice(0, passed).join(", ")} blocks, both axes logarithmic: ${names.map((name) => `${labels[name]} ${told(name)}`).join("; ")}.`,
    "group",
  );
}
