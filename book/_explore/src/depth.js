/** Through many layers: a guess, and then the first gradient's norm against the number of blocks, model by model. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, looks } from "./data.js";
import { drawCursor, drawGuesses, fromKey, listen } from "./handles.js";
import {
  apart,
  axes,
  fresh,
  layer,
  marker,
  point,
  rich,
  richLabel,
  rule,
  say,
  show,
  show2,
  show3,
  showCount,
  spread,
  superscript,
  wantsCalm,
} from "./shared.js";

const { depth: stored } = data;
const names = Object.keys(stored.labels);
const everyNorm = Object.values(stored.kinds).flatMap(({ norms }) =>
  names.flatMap((name) => norms[name].flatMap((ofWidth) => ofWidth.flatMap(({ all }) => all))),
);
const extent = [Math.min(...everyNorm) / 2, 1.2 * Math.max(...everyNorm)];
const [first, last] = [stored.blocks[0], stored.blocks.at(-1)];

const blocksControl = {
  name: "blocks",
  label: "L, blocks",
  spoken: "blocks of the model",
  values: stored.blocks,
  value: first,
  text: (blocks) => `${blocks} blocks`,
  drawn: true,
};

/** Marks for a guess of the norm at the last number of blocks, as powers of ten; they stand level at first, above every answer, which is no guess. */
const guess = { min: 0, max: 6.5, step: 0.1 };
const guessControls = names.map((name) => ({
  name: `guess_${name}`,
  label: `guess, ${stored.labels[name]}`,
  ...guess,
  value: 5.5,
  drawn: true,
}));

const unset = Object.fromEntries(guessControls.map(({ name, value }) => [name, value]));

/** Each width and kind of model has a question and guesses of its own. */
const settingOf = ({ kind, d_k }) => `${kind} ${d_k}`;

/** A norm for reading: so many digits, and commas. */
const norm = (x, digits = 3) =>
  x < 10 ** digits ? (digits === 3 ? show3 : show2)(x) : showCount(Number(x.toPrecision(digits)));

export const depth = {
  title: "", // what it asks; update() says whether that is still to be guessed
  controls: [
    {
      name: "d_k",
      label: "d_k, components of a head",
      values: stored.d_k,
      value: 256,
      text: String,
    },
    blocksControl,
    ...guessControls,
    {
      name: "kind",
      label: "kind of model",
      options: Object.fromEntries(
        Object.entries(stored.kinds).map(([name, { label }]) => [name, label]),
      ),
      value: "linear", // of the others the chapter has told the norms
      below: true,
    },
  ],
  readouts: names.map((name) => [name, `median, ${richLabel(stored.labels[name])}`]),
  panels: [["norms", "norm of all gradients; a dot is a model", 320, { top: 32 }]],
  forget({ memory }) {
    delete memory.depth;
    delete memory.drawn;
    delete memory.guesses;
  },
  /** Another width or kind of model brings its own guesses; the line goes back for those who guess, and to the answer where they have guessed. */
  also(changes, { state, memory }) {
    const next = settingOf({ ...state, ...changes });
    if (next === settingOf(state)) return {};
    const guesses = memory.guesses?.[next] ?? unset;
    const drawn = memory.drawn?.has(next);
    if (!guessed(drawn ? guesses : state).length) return guesses;
    const blocks = drawn ? last : first;
    memory.depth = Math.log(blocks / first); // there at once, so that no line tells what is asked
    return { ...guesses, blocks };
  },
  update(app) {
    const { d_k: dK, blocks, kind } = app.state;
    const { memory } = app;
    const { norms, brake } = stored.kinds[kind];
    const setting = settingOf(app.state);
    const width = stored.d_k.indexOf(dK);
    const medians = names.map((name) => norms[name][width].map(({ median }) => median));
    (memory.guesses ??= {})[setting] = Object.fromEntries(
      guessControls.map(({ name }) => [name, app.state[name]]),
    );
    const depth = comesTo(app, blocks);
    const now = reachedBy(depth) - 1;
    const drawn = (memory.drawn ??= new Set()); // which settings the reader has seen to their end
    if (depth === last) drawn.add(setting);
    const answered = drawn.has(setting);
    app.title.textContent = `${answered ? "How" : "Guess: how"} large is the first gradient of a model of ${last} blocks?`;
    const scales = drawNorms(app, norms, medians, width, depth);
    drawMarks(app, scales, answered, depth === last && medians);
    const sentence =
      depth !== blocks
        ? `Drawn as far as ${stored.blocks[now]} blocks.`
        : now
          ? verdict(app.state, medians, now, brake)
          : question(app.state, answered);
    app.formula.replaceChildren(rich(sentence));
    const said = medians.map((ofName) => norm(ofName[now]));
    return {
      values: Object.fromEntries(names.map((name, i) => [name, said[i]])),
      spoken: `${names.map((name, i) => `${stored.labels[name]} ${said[i]}`).join(", ")} with ${stored.blocks[now]} blocks. ${sentence}`,
    };
  },
};

const called = ["undivided", "with the root"];

/** Which of the marks the reader has moved, by their places among `names`, and to which norm. */
const guessed = (state) =>
  guessControls
    .map(({ name, value }, i) => ({
      i,
      mark: norm(10 ** state[name], 2),
      set: state[name] !== value,
    }))
    .filter(({ set }) => set);

/** Stands in the place of the answer until the reader has gone on from the first number of blocks. */
function question(state, answered) {
  const little = `With ${first} blocks division makes little difference.`;
  if (answered) return little;
  const marks = guessed(state);
  const where = marks.map(({ i, mark }) => `${mark} ${called[i]}`).join(", ");
  if (marks.length === names.length)
    return `Your marks: ${where}. Now drag the upright line to ${last} blocks.`;
  return marks.length
    ? `Your mark: ${where}. Set the other one too, or drag the upright line to ${last} blocks.`
    : `${little} With ${last}? Set the red circle and the blue square at the right, then drag the upright line there.`;
}

/** How many times as large the median is as with the fewest blocks: like which power of the depth where the stream brakes, else by how much a block on each stretch; and at the end the answer to each mark. */
function verdict(state, medians, now, brake) {
  const blocks = stored.blocks[now];
  const times = medians.map((ofName) => ofName[now] / ofName[0]);
  const power = (x) => (brake ? ` (like L^{${show(Math.log(x) / Math.log(blocks / first))}})` : "");
  const said = times.map((x, i) => `×${norm(x, 2)} ${called[i]}${power(x)}`);
  const grown = `From ${first} to ${blocks} blocks the median grows ${said.join(", ")}.`;
  const stretches = stored.blocks.slice(1, now + 1).map((upTo, i) => {
    const each = (medians[0][i + 1] / medians[0][i]) ** (1 / (upTo - stored.blocks[i]));
    return `×${show(each)} up to ${upTo}`;
  });
  const marks = blocks === last ? guessed(state) : [];
  return [
    grown,
    brake ? "" : `Undivided a block gives ${stretches.join(", ")}.`,
    ...marks.map(({ i, mark }) => `You said ${mark} ${called[i]}; it is ${norm(medians[i][now])}.`),
  ]
    .filter(Boolean)
    .join(" ");
}

/** How deep the lines are drawn now, on their way to where the reader has put the upright line: from end to end in less than a second. */
function comesTo(app, blocks) {
  const { memory } = app;
  const calm = wantsCalm();
  const [target, now] = [Math.log(blocks / first), performance.now()];
  const reach = (Math.log(last / first) / 900) * Math.min(40, now - (memory.when ?? now));
  const before = memory.depth ?? 0;
  const way = target - before;
  memory.when = now;
  memory.depth = calm || Math.abs(way) <= reach ? target : before + Math.sign(way) * reach;
  if (memory.depth === target) return blocks;
  app.redraw();
  return first * Math.exp(memory.depth);
}

/** How many of the stored numbers of blocks a depth has come to. */
const reachedBy = (depth) => stored.blocks.filter((blocks) => blocks <= depth * 1.0001).length;

/** Medians and models up to a depth, each line with its name at its level in the right margin; where that begins, and the scale of norms. */
function drawNorms(app, norms, medians, width, depth) {
  const panel = app.panels.norms;
  const narrow = panel.width < 450;
  Object.assign(panel.margin, { left: narrow ? 32 : 40, right: narrow ? 88 : 144 });
  const [left, right] = panel.xRange;
  const inner = d3.scaleLog([first, last], [left + 20, right - 42]);
  const x = d3.scaleLog([left, right].map(inner.invert), [left, right]);
  const y = d3.scaleLog(extent, panel.yRange);
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
  const reached = reachedBy(depth);
  const passed = (name, place) => {
    const all = norms[name][place].map(({ median }, i) => [x(stored.blocks[i]), y(median)]);
    if (reached === all.length) return all;
    const [[x1, y1], [x2, y2]] = all.slice(reached - 1);
    const end = x(depth);
    return [...all.slice(0, reached), [end, y1 + ((end - x1) / (x2 - x1)) * (y2 - y1)]];
  };
  const ends = [];
  names.forEach((name, side) => {
    stored.d_k.forEach((dK, place) => {
      const chosen = place === width;
      const been =
        name === "none" &&
        app.memory.drawn.has(settingOf({ kind: app.state.kind, d_k: dK })) &&
        depth > first;
      if (!chosen && !been) return; // the root's lie on each other
      const points = passed(name, place);
      group
        .append("path")
        .attr("d", d3.line()(points))
        .style("fill", "none")
        .style("stroke", colour(name))
        .style("stroke-width", chosen ? 3 : 1.5)
        .style("stroke-dasharray", looks[name].dashes)
        .style("opacity", chosen ? 1 : 0.75);
      const said = chosen ? [stored.labels[name]] : [narrow ? `heads ${dK}` : `heads of ${dK}`];
      if (chosen && reached > 1)
        said.push(`×${norm(medians[side][reached - 1] / medians[side][0], 2)}`);
      const rows = narrow ? said : [said.join(" ")];
      rows.forEach((text, row) => ends.push({ end: points.at(-1), name, text, chosen, row }));
    });
    norms[name][width].slice(0, reached).forEach(({ all, median }, i) => {
      const models = under.append("g").style("fill", colour(name)).style("fill-opacity", 0.35);
      all.forEach((value, model) =>
        point(
          models,
          x(stored.blocks[i]) + (side ? 1 : -1) * (4 + 11 * spread(model)),
          y(value),
          2,
        ).attr("class", "model"),
      );
      marker(group, name, x(stored.blocks[i]), y(median)).style("stroke", "var(--ex-ground)");
    });
  });
  const heights = apart(
    ends.map(({ end }) => end[1]),
    15,
    top + 8,
    bottom - 8,
  );
  ends.forEach(({ end: [from, level], name, text, chosen, row }, i) => {
    if (!row)
      under
        .append("path")
        .attr("d", `M${from + 5},${level}H${right}L${right + 12},${heights[i]}`)
        .style("fill", "none")
        .style("stroke", chosen ? colour(name) : "var(--ex-muted)")
        .style("stroke-dasharray", "1 4");
    say(group, text, right + 14, heights[i] + 4, "start")
      .classed("end", true)
      .style("fill", chosen ? lettersColour(name) : "var(--ex-muted)")
      .style("font-weight", chosen ? 700 : 400);
  });
  drawCursor(app, panel, under, blocksControl, x);
  const seen = stored.blocks.slice(0, reached);
  panel.describe(
    `With heads of ${stored.d_k[width]}, the median norm against ${seen.join(", ")} blocks, both axes logarithmic: ${names
      .map((name, i) => {
        const said = medians[i].slice(0, reached).map((median) => norm(median));
        return `${stored.labels[name]} ${said.join(", ")}`;
      })
      .join("; ")}.`,
    "group",
  );
  return { right, y };
}

/**
 * Two marks before the right edge, side by side, hollow with a question mark until they are moved, and gone once there is nothing
 * left to guess; a line from each that was moved to its answer, when there is one.
 */
function drawMarks(app, { right, y }, answered, medians) {
  const { panels, state } = app;
  const { svg } = panels.norms;
  const misses = fresh(svg, "misses");
  const marks = (app.memory.marks ??= { svg: layer(svg, "guesses") });
  const places = [right - 18, right];
  const set = guessControls.map(({ name, value }) => state[name] !== value);
  const inks = names.map(colour);
  const { made, all } = drawGuesses(
    marks,
    guessControls.map(({ name }) => state[name]),
    guess,
    inks,
    set,
    names.map((name) => looks[name].marker),
  );
  made.attr("aria-label", (_, i) => `your guess, ${stored.labels[names[i]]}, with ${last} blocks`);
  made.select("rect.touch").attr("x", (_, i) => (i ? -9 : -23));
  all.attr("display", (_, i) => (answered && !set[i] ? "none" : null));
  all.each((value, i) => {
    if (medians && set[i])
      rule(misses, [places[i], y(10 ** value)], [places[i], y(medians[i].at(-1))], inks[i]);
  });
  all
    .attr("transform", (value, i) => `translate(${places[i]},${y(10 ** value)})`)
    .attr("aria-valuenow", (value) => value)
    .attr("aria-valuetext", (value, i) => (set[i] ? norm(10 ** value, 2) : "not set"));
  const byKey = (event, value, number) => {
    const next = fromKey(event, value, guess);
    return next === null ? null : { [guessControls[number - 1].name]: next };
  };
  const byDrag = (event, number) => ({
    [guessControls[number - 1].name]: Math.log10(y.invert(event.y)),
  });
  listen(app, marks, all, byKey, byDrag);
}
