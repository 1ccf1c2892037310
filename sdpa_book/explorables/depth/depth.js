/** Through many layers: the first gradient's norm against the number of blocks, undivided and with the root. */
import * as d3 from "../_shared/d3.js";
import { colour, data, lettersColour } from "../_shared/data.js";
import { drawCursor, drawHandles, listen, nearest, valueFromKey } from "../_shared/handles.js";
import {
  apart,
  axes,
  fresh,
  layer,
  marker,
  point,
  rule,
  say,
  show2,
  showCount,
  spread,
} from "../_shared/shared.js";

const { blocks: depths, d_k: widths, labels, norms } = data.depth;
const names = Object.keys(labels);
const first = depths[0];
const most = Math.max(...names.flatMap((name) => norms[name].flat().flatMap(({ all }) => all)));

const blocksControl = {
  name: "blocks",
  label: "blocks",
  spoken: "blocks of the model",
  values: depths,
  value: first,
  text: (blocks) => `${blocks} blocks`,
  drawn: true,
};

/** Norms to guess, by tenths of a decade; NONE_YET is no guess, and the ring waits at WAITS, half-way up. */
const GUESSES = Array.from({ length: 71 }, (_, i) => Number((10 ** (i / 10 - 2)).toPrecision(2)));
const [NONE_YET, WAITS] = [0, GUESSES[35]];

export const depth = {
  title: "Does the first gradient vanish in deeper models, or explode?",
  prompt: `Drag the ring to your guess for undivided models of ${depths.at(-1)} blocks; then drag the line there.`,
  hint: { target: ".guess .explorable-handle" },
  controls: [
    {
      name: "d_k",
      label: "width of a head, d_k",
      values: widths,
      value: widths.at(-1),
      text: String,
      marks: widths.map(String),
    },
    blocksControl,
    {
      name: "guess",
      label: "guess",
      values: [NONE_YET, ...GUESSES],
      value: NONE_YET,
      drawn: true,
    },
    {
      name: "of",
      label: "width of the guess",
      values: widths,
      value: widths.at(-1),
      drawn: true,
    },
  ],
  panelWidth: "100%",
  panels: [
    [
      "norms",
      "gradient’s norm at the first step: a grey line is ten times the one below; a dot is a model",
      289,
      { top: 40, left: 58 },
    ],
  ],
  below: true, // the ring comes first
  also: ({ guess }, app) => (guess === undefined ? {} : { of: app.state.d_k }),
  forget({ memory }) {
    delete memory.revealed;
  },
  update(app) {
    const { memory } = app;
    const { d_k: dK, blocks, guess, of } = app.state;
    const panel = app.panels.norms;
    const passed = depths.indexOf(blocks) + 1;
    const width = widths.indexOf(dK);
    memory.revealed ||= passed === depths.length && guess !== NONE_YET;
    const revealed = memory.revealed || passed === depths.length; // until a guess the ring comes back
    const mine = of === dK ? guess : NONE_YET;
    const aims = fresh(panel.svg, "aims"); // under the names, which interrupt it
    drawNorms(app, width, passed);
    drawRing(app, revealed ? null : guess || WAITS, guess !== NONE_YET, guess && !mine && of);
    if (guess !== NONE_YET && revealed) drawMiss(panel, aims, width, passed, guess, !mine && of);
    else if (mine !== NONE_YET) drawAim(panel, aims, width, passed, guess);
    return {
      sentence: verdict(width, passed, mine, revealed),
      prompt: revealed
        ? "Try another width of a head, or drag the line to fewer blocks."
        : undefined,
    };
  },
};

/** Two digits, and commas. */
const brief = (x) => (x < 100 ? show2(x) : showCount(Number(x.toPrecision(2))));

const median = (name, width, passed) => norms[name][width][passed - 1].median;

/** How many times as large as with the fewest blocks the median is. */
const growth = (name, width, passed) => brief(median(name, width, passed) / median(name, width, 1));

function verdict(width, passed, guess, revealed) {
  const [blocks, last] = [depths[passed - 1], passed === depths.length];
  if (guess !== NONE_YET && passed === 1 && !revealed)
    return `You guess ${brief(guess)}; now drag the line to ${depths.at(-1)}.`;
  const [undivided, root] = names.map((name) => brief(median(name, width, passed)));
  const norm = `the norm is ${undivided} undivided and ${root} with the root`;
  const times = median("none", width, passed) / median("none", width, 1);
  const fate = !last ? "So far" : times > EXPLODES ? "It explodes" : "Neither";
  if (guess !== NONE_YET && last)
    return `${fate}. You guessed ${brief(guess)}, ${miss(guess, median("none", width, passed))}: with ${blocks} blocks ${norm}.`;
  if (passed === 1) return `With ${first} blocks ${norm}. And with more?`;
  const grown = names.map((name) => `${growth(name, width, passed)} times`);
  const next = revealed ? "" : ` And with ${depths.at(-1)}?`;
  return `${fate}: from ${first} to ${blocks} blocks it grows ${grown[0]} undivided, ${grown[1]} with the root.${next}`;
}

/** By what factor a guess was off. */
function miss(guess, norm) {
  const factor = Math.max(guess / norm, norm / guess);
  return factor < 1.15
    ? "almost right"
    : `${brief(factor)} times too ${guess < norm ? "low" : "high"}`;
}

const EXPLODES = 10; // times as large as with the fewest blocks
const FAINT = 0.5; // a guess for another width

const isNarrow = (panel) => panel.width < 450;

function scales(panel) {
  panel.margin.right = isNarrow(panel) ? 74 : 98;
  const inner = d3.scaleLog([first, depths.at(-1)], panel.xRange);
  const [left, right] = panel.xRange;
  return [
    d3.scaleLog([left - 25, right + 22].map(inner.invert), [left, right]),
    d3.scaleLog([0.005, 10 ** Math.ceil(Math.log10(most))], panel.yRange),
  ];
}

/** Medians and models up to a depth, each line with its name at its end. */
function drawNorms(app, width, passed) {
  const panel = app.panels.norms;
  const [x, y] = scales(panel);
  axes(panel, {
    x,
    y,
    xLabel: "blocks (logarithmic)",
    xTicks: depths,
    xFormat: String,
    yTicks: [0.01, 0.1, 1, 10, 100, 1000, 1e4, 1e5].filter((at) => at <= y.domain()[1]),
    yFormat: showCount,
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  const draw = (name, wide) => {
    const line = norms[name][width]
      .slice(0, passed)
      .map(({ median: m }, i) => [x(depths[i]), y(m)]);
    group
      .append("path")
      .attr("d", d3.line()(line))
      .style("fill", "none")
      .style("stroke", colour(name))
      .style("stroke-width", wide);
    return line;
  };
  const lines = names.map((name, i) => draw(name, i ? 2 : 4)); // together, both are seen
  names.toReversed().forEach((name) => {
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
          .style("fill-opacity", 0.75),
      ),
    );
    for (const at of lines[names.indexOf(name)])
      marker(group, name, ...at).style("stroke", "var(--ex-ground)");
  });
  const [[at, undivided], [, root]] = lines.map((line) => line.at(-1));
  const right = passed === 1; // later on the left, where nothing leads to the ring
  const wanted = [undivided + (right ? 18 : -12), root + (right ? 6 : 32)];
  const levels = apart(wanted, 17, 0, panel.yRange[0] - 8, [0, 1]);
  const withGrowth = !isNarrow(panel) && passed > 1;
  names.forEach((name, i) => {
    const grown = withGrowth ? `: × ${growth(name, width, passed)}` : "";
    const [by, anchor] = right ? [20, "start"] : [-20, "end"];
    say(group, labels[name] + grown, at + by, levels[i], anchor)
      .style("font-weight", 700)
      .style("fill", lettersColour(name));
  });
  drawCursor(app, panel, under, blocksControl, x);
  const medians = (name) =>
    norms[name][width]
      .slice(0, passed)
      .map(({ median: m }) => brief(m))
      .join(", ");
  panel.describe(
    `With heads of ${widths[width]}, the median norm against ${depths.slice(0, passed).join(", ")} blocks, both axes logarithmic: ${names.map((name) => `${labels[name]} ${medians(name)}`).join("; ")}.`,
    "group",
  );
}

/** What leads from the last undivided median to the ring. */
function drawAim(panel, group, width, passed, guess) {
  const [x, y] = scales(panel);
  const from = [x(depths[passed - 1]), y(median("none", width, passed))];
  const to = [x(depths.at(-1)), y(guess)];
  const part = (by) => from.map((start, i) => start + by * (to[i] - start));
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  rule(group, part(8 / length), part(1 - 18 / length), colour("none"))
    .style("stroke-width", 2)
    .style("stroke-dasharray", "3 5");
}

/** The guess once the line was there; while it is, how far off it was if it was for this width. */
function drawMiss(panel, group, width, passed, guess, of) {
  const [x, y] = scales(panel);
  const at = x(depths.at(-1));
  const [mine, theirs] = [guess, median("none", width, depths.length)].map(y);
  point(group, at, mine, 11, "none")
    .style("stroke", colour("none"))
    .style("stroke-width", of ? 2 : 3)
    .style("opacity", of ? FAINT : 1);
  if (!of && passed === depths.length && Math.abs(mine - theirs) > 14)
    group
      .append("path")
      .attr("d", `M${at + 13},${mine}H${at + 16}V${theirs}H${at + 11}`)
      .style("fill", "none")
      .style("stroke", "var(--ex-ink)")
      .style("stroke-width", 1.5);
  sayGuess(group, at, mine, brief(guess), of);
}

/** Beside a ring: the guess, or the width that it was for, where that is another. */
const sayGuess = (parent, x, y, guess, of) => {
  say(parent, of ? "your guess" : "your guess:", x + 20, y - 3, "start");
  say(parent, of ? `for ${of}` : guess, x + 20, y + 12, "start").style("font-weight", 700);
};

/** A ring at the greatest depth, which readers drag up and down to where they expect undivided models, faint where the guess is `of` another width; none once the line is there. */
function drawRing(app, guess, moved, of) {
  const panel = app.panels.norms;
  const [x, y] = scales(panel);
  panel.guess ??= { svg: layer(panel.svg, "guess") };
  panel.guess.svg.style("display", guess === null ? "none" : null);
  if (guess === null) return;
  const range = { min: 0, max: GUESSES.length - 1, step: 1 };
  const { newHandles, all } = drawHandles(panel.guess, [GUESSES.indexOf(guess)], range, "query");
  newHandles.attr("aria-label", `your guess for ${depths.at(-1)} undivided blocks`);
  all
    .select("circle:not(.ring)")
    .attr("r", 11)
    .style("fill", moved ? colour("none") : "var(--ex-ground)")
    .style("fill-opacity", moved ? 0.3 : 1)
    .style("stroke", moved ? colour("none") : "var(--ex-ink)")
    .style("stroke-width", moved && !of ? 3 : 2)
    .style("opacity", of ? FAINT : 1);
  newHandles
    .append("path")
    .attr("d", "M-4,-15L0,-19L4,-15M-4,15L0,19L4,15")
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  newHandles.append("g").attr("class", "words").style("pointer-events", "none");
  // Its whole column is the ring's: a press beside the ring is not one for the line, which would tell.
  newHandles
    .append("rect")
    .attr("class", "column")
    .attr("x", -22)
    .attr("width", 44)
    .attr("fill", "none");
  newHandles
    .select("rect.column")
    .style("pointer-events", "all")
    .style("touch-action", "none")
    .lower();
  const [bottom, top] = panel.yRange;
  all
    .select("rect.column")
    .attr("y", top - y(guess))
    .attr("height", bottom - top);
  // Over the words, where a finger would else scroll the page.
  newHandles
    .select("rect.touch")
    .style("cursor", "ns-resize")
    .style("touch-action", "none")
    .raise();
  all
    .select("rect.touch")
    .attr("x", -22)
    .attr("y", -22)
    .attr("width", panel.width - x(depths.at(-1)) + 22)
    .attr("height", 44);
  const words = fresh(all, "words");
  sayGuess(words, 0, 0, moved ? brief(guess) : "drag me", of);
  if (!moved) say(words, "?", 0, 5, "middle").style("font-weight", 700);
  all
    .attr("transform", `translate(${x(depths.at(-1))},${y(guess)})`)
    .attr("aria-valuenow", (place) => place)
    .attr(
      "aria-valuetext",
      moved ? `a norm of ${brief(guess)}${of ? ` with heads of ${of}` : ""}` : "none yet",
    );
  const byKey = (event, place) => {
    const next = valueFromKey(event, place, GUESSES);
    return next === null ? null : { guess: next };
  };
  listen(app, panel.guess, all, byKey, (event) => ({
    guess: nearest(GUESSES, y, event.y),
  }));
}
