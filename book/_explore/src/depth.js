/** Through many layers: the first gradient's norm against the number of blocks, undivided and with the root. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawCursor, drawHandles, listen, nearest, valueFromKey } from "./handles.js";
import {
  apart,
  axes,
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

/** Norms to guess, by tenths of a decade; one beside the last line that is drawn at first stands for none yet. */
const GUESSES = Array.from({ length: 51 }, (_, i) => Number((10 ** (i / 10)).toPrecision(2)));
const NONE_YET = 40;

export const depth = {
  title: "How much larger is the first gradient of a deeper model?",
  prompt:
    "Drag the ring to where you expect undivided models of 48 blocks; then drag the line there.",
  hint: { target: ".guess .explorable-handle" },
  controls: [
    {
      name: "d_k",
      label: "width of a head, d_k",
      values: widths,
      value: widths.at(-1),
      text: String,
    },
    blocksControl,
    { name: "guess", label: "guess", values: GUESSES, value: NONE_YET, drawn: true },
  ],
  panelWidth: "100%",
  panels: [
    [
      "norms",
      "norm of the first gradient: each grey line is ten times the one below; a dot is a model",
      306,
      { top: 40, left: 58 },
    ],
  ],
  update(app) {
    const { d_k: dK, blocks, guess } = app.state;
    const passed = depths.indexOf(blocks) + 1;
    const width = widths.indexOf(dK);
    drawNorms(app, width, passed);
    drawGuess(app, guess);
    return { said: verdict(width, passed, guess) };
  },
};

/** Two digits, and commas. */
const brief = (x) => (x < 100 ? show2(x) : showCount(Number(x.toPrecision(2))));

/** How many times as large as with the fewest blocks the median is. */
const growth = (name, width, passed) =>
  brief(norms[name][width][passed - 1].median / norms[name][width][0].median);

function verdict(width, passed, guess) {
  const blocks = depths[passed - 1];
  if (blocks === first) {
    const [undivided, root] = names.map((name) => norms[name][width][0].median.toFixed(1));
    return `With ${first} blocks the norm is ${undivided} undivided and ${root} with the root. And with more?`;
  }
  const [undivided, root] = names.map((name) => growth(name, width, passed));
  const guessed =
    passed === depths.length && guess !== NONE_YET
      ? ` where you guessed ${brief(guess / norms.none[width][0].median)},`
      : "";
  return `From ${first} to ${blocks} blocks it grows ${undivided} times undivided,${guessed} and ${root} times with the root.`;
}

const isNarrow = (panel) => panel.width < 450;

function scales(panel) {
  panel.margin.right = isNarrow(panel) ? 42 : 98;
  const inner = d3.scaleLog([first, depths.at(-1)], panel.xRange);
  const [left, right] = panel.xRange;
  return [
    d3.scaleLog([left - 25, right + 22].map(inner.invert), [left, right]),
    d3.scaleLog([0.5, 10 ** Math.ceil(Math.log10(most))], panel.yRange),
  ];
}

/** Medians and models up to a depth, each line with its name at its end. */
function drawNorms(app, width, passed) {
  const panel = app.panels.norms;
  const [x, y] = scales(panel);
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
  const right = passed === 1 || (passed === 2 && isNarrow(panel)); // no room to the left
  const levels = [undivided[1] - 8, root[1] + (right ? 4 : 22), ...(ghost ? [ghost[1] - 8] : [])];
  const [top, bottom, other] = apart(levels, 17, 0, panel.height, ghost ? [2, 0, 1] : [0, 1]);
  const label = (text, level, ink) =>
    say(group, text, undivided[0] + (right ? 24 : -20), level, right ? "start" : "end")
      .style("font-weight", 700)
      .style("fill", lettersColour(ink));
  const grown = (name) => (right ? "" : ` × ${growth(name, width, passed)}`);
  label(labels.none + grown("none"), top, "none");
  label(labels.sqrt_d_k + grown("sqrt_d_k"), bottom, "sqrt_d_k");
  if (ghost) label(`width ${widths[widest]}`, other, "none").style("font-weight", 400);
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

/** A ring at the greatest depth, which readers drag up and down to where they expect undivided models. */
function drawGuess(app, guess) {
  const panel = app.panels.norms;
  const [x, y] = scales(panel);
  panel.guess ??= { svg: layer(panel.svg, "guess") };
  const range = { min: 0, max: GUESSES.length - 1, step: 1 };
  const { made, all } = drawHandles(panel.guess, [GUESSES.indexOf(guess)], range, "query");
  made.attr("aria-label", `your guess for ${depths.at(-1)} undivided blocks`);
  made
    .select("circle:not(.ring)")
    .attr("r", 9)
    .style("fill", "var(--ex-ground)")
    .style("stroke", colour("none"))
    .style("stroke-width", 3);
  made.select("rect.touch").style("cursor", "ns-resize");
  made
    .append("path")
    .attr("d", "M-4,-13L0,-17L4,-13M-4,13L0,17L4,13")
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  const words = isNarrow(panel) ? ["your", "guess"] : ["your guess"];
  all.selectAll("text").remove();
  words.forEach((word, i) =>
    say(all, word, 20, 4 + 15 * i - 7 * (words.length - 1), "start").style("font-weight", 700),
  );
  all
    .attr("transform", `translate(${x(depths.at(-1))},${y(guess)})`)
    .attr("aria-valuenow", (place) => place)
    .attr("aria-valuetext", `a norm of ${brief(guess)}`);
  const byKey = (event, place) => {
    const next = valueFromKey(event, place, GUESSES);
    return next === null ? null : { guess: next };
  };
  listen(app, panel.guess, all, byKey, (event) => ({ guess: nearest(GUESSES, y, event.y) }));
}
