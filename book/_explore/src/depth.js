/** Through many layers: the first gradient's norm against the number of blocks, undivided and with the root. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawCursor } from "./handles.js";
import {
  axes,
  fresh,
  marker,
  point,
  say,
  show2,
  showCount,
  spread,
  superscript,
} from "./shared.js";

const { blocks: depths, d_k: widths, labels, norms } = data.depth;
const names = Object.keys(labels);
const first = depths[0];
const most = Math.max(...names.flatMap((name) => norms[name].flat().flatMap(({ all }) => all)));

const blocksControl = {
  name: "blocks",
  label: "blocks",
  spoken: "blocks of the model",
  stops: depths,
  min: first,
  max: depths.at(-1),
  step: 0.01,
  value: depths[1],
  text: (blocks) => `${Math.floor(blocks)} blocks`,
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
  panels: [["norms", "norm of all gradients; a dot is a model", 310, { top: 40, right: 92 }]],
  update(app) {
    const { d_k: dK, blocks } = app.state;
    const passed = depths.filter((depth) => depth <= blocks).length;
    const width = widths.indexOf(dK);
    const times = names.map((name) => {
      const medians = norms[name][width].map(({ median }) => median);
      return medians[passed - 1] / medians[0];
    });
    drawNorms(app, width, passed);
    return { said: verdict(times, depths[passed - 1]) };
  },
};

/** Two digits, and commas. */
const brief = (x) => (x < 100 ? show2(x) : showCount(Number(x.toPrecision(2))));

function verdict(times, blocks) {
  if (blocks === first) return `With ${first} blocks both begin alike. What do more blocks do?`;
  const [undivided, root] = times.map((x) => `${brief(x)} times`);
  return `From ${first} to ${blocks} blocks the undivided gradient becomes ${undivided} as large, with the root ${root}.`;
}

/** Medians and models up to a depth, each line with its name at its end. */
function drawNorms(app, width, passed) {
  const panel = app.panels.norms;
  const inner = d3.scaleLog([first, depths.at(-1)], panel.xRange);
  const [left, right] = panel.xRange;
  const x = d3.scaleLog([left - 12, right + 12].map(inner.invert), [left, right]);
  const y = d3.scaleLog([0.5, 10 ** Math.ceil(Math.log10(most))], panel.yRange);
  axes(panel, {
    x,
    y,
    xLabel: "blocks",
    xTicks: depths,
    xFormat: String,
    yTicks: [1, 10, 100, 1000, 1e4, 1e5].filter((at) => at <= y.domain()[1]),
    yFormat: (at) => (at < 1000 ? String(at) : `10${superscript(Math.round(Math.log10(at)))}`),
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  const ends = names.map((name, side) => {
    const seen = norms[name][width].slice(0, passed);
    seen.forEach(({ all }, i) =>
      all.forEach((norm, model) =>
        point(
          under,
          x(depths[i]) + (side ? 1 : -1) * (4 + 9 * spread(model)),
          y(norm),
          2,
          colour(name),
        )
          .attr("class", "model")
          .style("fill-opacity", 0.35),
      ),
    );
    const line = seen.map(({ median }, i) => [x(depths[i]), y(median)]);
    group
      .append("path")
      .attr("d", d3.line()(line))
      .style("fill", "none")
      .style("stroke", colour(name))
      .style("stroke-width", 3)
      .style("stroke-dasharray", looks[name].dashes);
    for (const at of line) marker(group, name, ...at).style("stroke", "var(--ex-ground)");
    return line.at(-1);
  });
  const near = Math.abs(ends[0][1] - ends[1][1]) < 16;
  names.forEach((name, i) => {
    const level = near ? (ends[0][1] + ends[1][1]) / 2 + (i ? 9 : -9) : ends[i][1];
    say(group, labels[name], ends[i][0] + 20, level + 4, "start")
      .style("fill", lettersColour(name))
      .style("font-weight", 700);
  });
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
