/** Through many layers: the first gradient's norm against the number of blocks, model by model. */
import * as d3 from "./d3.js";
import { colour, data, looks } from "./data.js";
import { drawCursor } from "./handles.js";
import {
  apart,
  axes,
  fresh,
  point,
  rich,
  richLabel,
  richText,
  show,
  show3,
  showCount,
  spread,
  superscript,
} from "./shared.js";

const { depth: stored } = data;
const names = Object.keys(stored.labels);
const everyNorm = Object.values(stored.kinds).flatMap(({ norms }) =>
  names.flatMap((name) => norms[name].flatMap((ofWidth) => ofWidth.flatMap(({ all }) => all))),
);
const extent = [Math.min(...everyNorm) / 4, 1.2 * Math.max(...everyNorm)];

const blocksControl = {
  name: "blocks",
  label: "L, blocks",
  spoken: "blocks of the model",
  values: stored.blocks,
  value: stored.blocks[0],
  text: (blocks) => `${blocks} blocks`,
  drawn: true,
};

/** Stands in the place of the answer until the reader has gone on from the first number of blocks. */
const QUESTION = `Thirty models of ${stored.blocks[0]} blocks either way. How large will the gradient be with ${stored.blocks.at(-1)}, undivided and with the root?`;

/** A norm for reading: three digits, and commas. */
const norm = (x) => (x < 1000 ? show3(x) : showCount(Number(x.toPrecision(3))));

export const depth = {
  title: "How does the first gradient grow with L blocks?",
  controls: [
    {
      name: "d_k",
      label: "d_k, components of a head",
      values: stored.d_k,
      value: 64,
      text: String,
    },
    blocksControl,
    {
      name: "kind",
      label: "kind of model",
      options: Object.fromEntries(
        Object.entries(stored.kinds).map(([name, { label }]) => [name, label]),
      ),
      value: Object.keys(stored.kinds)[0],
    },
  ],
  readouts: names.map((name) => [name, `median, ${richLabel(stored.labels[name])}`]),
  panels: [
    [
      "norms",
      "norm of the gradient of all parameters; a dot is a model",
      320,
      { left: 40, right: 112, top: 32 },
    ],
  ],
  update(app) {
    const { d_k: dK, blocks, kind } = app.state;
    const { norms, brake } = stored.kinds[kind];
    const width = stored.d_k.indexOf(dK);
    const now = stored.blocks.indexOf(blocks);
    const grown = now ? growths(norms, width, now, brake) : undefined;
    drawNorms(app, norms, width, now, grown);
    const sentence = grown ? verdict(now, grown, brake) : QUESTION;
    app.formula.replaceChildren(rich(sentence));
    const medians = names.map((name) => norm(norms[name][width][now].median));
    return {
      values: Object.fromEntries(names.map((name, i) => [name, medians[i]])),
      spoken: `${names.map((name, i) => `${stored.labels[name]} ${medians[i]}`).join(", ")} with ${blocks} blocks. ${sentence}`,
    };
  },
};

/** How much larger the median is than at the depth before, undivided and with the root: as a factor, and as a power of the depth where the stream brakes, else block by block. */
function growths(norms, width, now, brake) {
  const [before, blocks] = [stored.blocks[now - 1], stored.blocks[now]];
  return names.map((name) => {
    const times = norms[name][width][now].median / norms[name][width][now - 1].median;
    const rate = brake
      ? `L^{${show(Math.log(times) / Math.log(blocks / before), 1)}}`
      : `${show(times ** (1 / (blocks - before)))} a block`;
    return { times: show(times, times < 10 ? 1 : 0), rate };
  });
}

/** What the last stretch multiplies. */
function verdict(now, grown, brake) {
  const said = grown.map(({ times, rate }) => `${times} (${brake ? "like " : ""}${rate})`);
  return `From ${stored.blocks[now - 1]} to ${stored.blocks[now]} blocks the median is multiplied by ${said[0]} undivided, by ${said[1]} with the root.`;
}

/** Medians and models up to the number of blocks that is chosen, each line with its name at its end. */
function drawNorms(app, norms, width, now, grown) {
  const panel = app.panels.norms;
  const x = d3.scaleLog([stored.blocks[0] / 1.7, stored.blocks.at(-1) * 1.25], panel.xRange);
  const y = d3.scaleLog(extent, panel.yRange);
  const end = x(stored.blocks[now]);
  const [bottom, top] = y.range();
  axes(panel, {
    x,
    y,
    xLabel: "L, blocks",
    xTicks: stored.blocks,
    xFormat: String,
    yTicks: [1, 100, 1e4, 1e6],
    yFormat: (v) => (v < 1000 ? String(v) : `10${superscript(Math.round(Math.log10(v)))}`),
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  const medians = (name, place) =>
    norms[name][place].slice(0, now + 1).map(({ median }, i) => [x(stored.blocks[i]), y(median)]);
  const ends = [];
  names.forEach((name, side) => {
    stored.d_k.forEach((dK, place) => {
      const chosen = place === width;
      if (!chosen && (name !== "none" || !grown)) return; // the root's lie on each other
      group
        .append("path")
        .attr("d", d3.line()(medians(name, place)))
        .style("fill", "none")
        .style("stroke", colour(name))
        .style("stroke-width", chosen ? 2.5 : 1.5)
        .style("stroke-dasharray", looks[name].dashes)
        .style("opacity", chosen ? 1 : 0.5);
      const times = grown ? ` ×${grown[side].times}` : "";
      const text = chosen ? `${stored.labels[name]}${times}` : `undivided, ${dK}`;
      ends.push({ level: medians(name, place).at(-1)[1], name, text, chosen });
    });
    // The stretch of which the sentence speaks.
    group
      .append("path")
      .attr("class", "stretch")
      .attr("d", d3.line()(medians(name, width).slice(-2)))
      .style("fill", "none")
      .style("stroke", colour(name))
      .style("stroke-width", 9)
      .style("opacity", 0.3);
    norms[name][width].slice(0, now + 1).forEach(({ all, median }, i) => {
      const models = under.append("g").style("fill", colour(name)).style("fill-opacity", 0.35);
      all.forEach((value, model) =>
        models
          .append("circle")
          .attr("class", "model")
          .attr("cx", x(stored.blocks[i]) + (side ? 1 : -1) * (4 + 11 * spread(model)))
          .attr("cy", y(value))
          .attr("r", 2),
      );
      point(group, x(stored.blocks[i]), y(median), 4, colour(name)).style(
        "stroke",
        "var(--ex-ground)",
      );
    });
  });
  const heights = apart(
    ends.map(({ level }) => level),
    15,
    top,
    bottom - 8,
  );
  ends.forEach(({ level, name, text, chosen }, i) => {
    under
      .append("path")
      .attr("d", `M${end + 4},${level}L${end + 22},${heights[i]}`)
      .style("fill", "none")
      .style("stroke", "var(--ex-muted)");
    richText(
      group
        .append("text")
        .attr("class", "rim end")
        .attr("x", end + 24)
        .attr("y", heights[i] + 4)
        .style("fill", chosen ? colour(name) : "var(--ex-muted)")
        .style("font-weight", chosen ? 700 : 400),
      text,
    );
  });
  drawCursor(app, panel, under, blocksControl, x);
  panel.describe(
    `With heads of ${stored.d_k[width]}, the median norm against ${stored.blocks.slice(0, now + 1).join(", ")} blocks, both axes logarithmic: ${names
      .map(
        (name) =>
          `${stored.labels[name]} ${norms[name][width]
            .slice(0, now + 1)
            .map(({ median }) => norm(median))
            .join(", ")}`,
      )
      .join("; ")}.`,
    "group",
  );
}
