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
  show2,
  show3,
  showCount,
  spread,
  superscript,
  wantsCalm,
} from "./shared.js";

const { depth: stored } = data;
const names = Object.keys(stored.labels);
const [first, last] = [stored.blocks[0], stored.blocks.at(-1)];

/** The axis of a kind of model ends at a power of ten above all of its norms, and there is room below them for who expects none. */
const ranges = Object.fromEntries(
  Object.entries(stored.kinds).map(([kind, { norms }]) => {
    const most = Math.max(...names.flatMap((name) => norms[name].flat().flatMap(({ all }) => all)));
    return [kind, { min: -1, max: Math.ceil(Math.log10(most)), step: 0.1 }];
  }),
);

const blocksControl = {
  name: "blocks",
  label: "L, blocks",
  spoken: "blocks of the model",
  stops: stored.blocks,
  min: first,
  max: last,
  step: 0.01,
  value: first,
  text: (blocks) => `${Math.floor(blocks)} blocks`,
  drawn: true,
};

/** Marks for a guess of the norm at the last number of blocks, as powers of ten; above the axis is none, and there they are at first. */
const guessControls = names.map((name) => ({
  name: `guess_${name}`,
  label: `guess, ${stored.labels[name]}`,
  min: -1,
  max: 9,
  step: 0.1,
  value: 9,
  drawn: true,
}));

/** The level at which they wait, above the axis. */
const tray = 14;

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
      value: "pre",
      below: true,
    },
  ],
  readouts: names.map((name) => [name, `median, ${richLabel(stored.labels[name])}`]),
  panels: [["norms", "norm of all gradients; a dot is a model", 340, { top: 58 }]],
  forget({ memory }) {
    memory.reached = {};
    memory.guesses = {};
  },
  /** Another width or kind of model brings its own guesses; the line goes back for those who guess, and to the answer where they have guessed. */
  also(changes, { state, memory }) {
    const asked = { ...state, ...changes };
    const next = settingOf(asked);
    if (next === settingOf(state)) return {};
    const guesses = memory.guesses[next] ?? unset;
    const answered = memory.reached[next] === last;
    if (guessed(answered ? { ...asked, ...guesses } : state).length)
      return { ...guesses, blocks: answered ? last : first };
    memory.reached[next] = Math.max(memory.reached[next] ?? first, asked.blocks); // there at once
    return guesses;
  },
  update(app) {
    const { d_k: dK, blocks, kind } = app.state;
    const { norms } = stored.kinds[kind];
    const setting = settingOf(app.state);
    const width = stored.d_k.indexOf(dK);
    const medians = names.map((name) => norms[name][width].map(({ median }) => median));
    (app.memory.guesses ??= {})[setting] = Object.fromEntries(
      guessControls.map(({ name }) => [name, app.state[name]]),
    );
    const reached = reaches(app, setting);
    const now = passedBy(Math.min(reached, blocks)) - 1;
    const answered = reached === last;
    app.title.textContent = `${answered ? "How" : "Guess: how"} large is the first gradient of a model of ${last} blocks?`;
    const scales = drawNorms(app, norms, medians, width, reached);
    drawMarks(app, scales, answered && medians);
    const sentence =
      answered && (blocks === last || !now)
        ? verdict(app.state, medians)
        : now
          ? growth(medians, now, answered)
          : question(app.state);
    app.formula.replaceChildren(rich(sentence));
    const said = medians.map((ofName) => `${norm(ofName[now])} at L = ${stored.blocks[now]}`);
    return {
      values: Object.fromEntries(names.map((name, i) => [name, said[i]])),
      spoken: `${names.map((name, i) => `${stored.labels[name]} ${said[i]}`).join(", ")}. ${sentence}`,
    };
  },
};

const called = [stored.labels.none, `with the ${stored.labels.sqrt_d_k}`];

/** Which of the marks the reader has set, by their places among `names`, and to which norm. */
const guessed = (state) =>
  guessControls
    .map(({ name }, i) => ({
      i,
      mark: 10 ** state[name],
      set: state[name] <= ranges[state.kind].max,
    }))
    .filter(({ set }) => set);

/** Stands in the place of the answer until the reader has gone on from the first number of blocks. */
function question(state) {
  const marks = guessed(state);
  const where = marks.map(({ i, mark }) => `${norm(mark, 2)} ${called[i]}`).join(", ");
  if (marks.length === names.length)
    return `Your guesses: ${where}. Now drag the upright line to ${last} blocks.`;
  return marks.length
    ? `Your guess: ${where}. Set the other one too, or drag the upright line to ${last} blocks.`
    : `Drag the red circle (${called[0]}) and the blue square (${called[1]}) down to your guess for ${last} blocks, then the upright line to ${last}.`;
}

/** How many times as large the medians are as with the fewest blocks. */
const grown = (medians, place) => medians.map((ofName) => ofName[place] / ofName[0]);

/** The same in words, on the way. */
function growth(medians, now, answered) {
  const times = grown(medians, now).map((x, i) => `×${norm(x, 2)} ${called[i]}`);
  const said = `From ${first} to ${stored.blocks[now]} blocks the median grows ${times.join(", ")}.`;
  return answered ? said : `${said} And to ${last}?`;
}

/** The answer, and how far from it each guess is. It explodes where it grows faster than the depth itself: number alone gives the root of it. */
function verdict(state, medians) {
  const deeper = last / first;
  const times = grown(medians, stored.blocks.length - 1);
  const [undivided, root] = times.map((x) => `×${norm(x, 2)}`);
  const more = times[0] > 1.25 * times[1] ? "more than" : "about as much as";
  const [before, end] = medians[0].slice(-2);
  const stops = end < 1.25 * before ? `, but hardly grows from ${stored.blocks.at(-2)} on` : "";
  const found =
    times[0] > deeper
      ? `it explodes${stops}. With the root ${root}; `
      : `it grows ${more} with the root, ${root}. `;
  const misses = guessed(state).map(({ i, mark }) => {
    const ratio = mark / medians[i].at(-1);
    const miss = Math.max(ratio, 1 / ratio);
    const said =
      miss < 1.5 ? "about right" : `${norm(miss, 2)} times too ${ratio < 1 ? "low" : "high"}`;
    return `${said} ${called[i]}`;
  });
  return [
    `Undivided ${undivided} from ${first} to ${last} blocks: ${found}${deeper} times as many parameters alone would make ×${show2(Math.sqrt(deeper))}.`,
    ...(misses.length ? [`You were ${misses.join(", ")}.`] : []),
  ].join(" ");
}

/** How deep a setting's lines are drawn: they follow the upright line, from end to end in less than a second, and stay when it goes back. */
function reaches(app, setting) {
  const { memory } = app;
  const reached = (memory.reached ??= {});
  const now = performance.now();
  const fastest = (last / first) ** (Math.min(40, now - (memory.when ?? now)) / 700);
  const [before, { blocks }] = [reached[setting] ?? first, app.state];
  memory.when = now;
  reached[setting] = Math.max(before, wantsCalm() ? blocks : Math.min(blocks, before * fastest));
  if (reached[setting] < blocks) app.redraw();
  return reached[setting];
}

/** How many of the stored numbers of blocks a depth has come to. */
const passedBy = (depth) => stored.blocks.filter((blocks) => blocks <= depth).length;

/** Medians and models up to a depth, each line with its name at its level in the right margin, or on a phone above; the scales. */
function drawNorms(app, norms, medians, width, reached) {
  const panel = app.panels.norms;
  const { min, max } = ranges[app.state.kind];
  const narrow = panel.width < 450;
  Object.assign(panel.margin, { left: narrow ? 32 : 40, right: narrow ? 28 : 144 });
  const [left, right] = panel.xRange;
  const inner = d3.scaleLog([first, last], [left + 20, right - 24]);
  const x = d3.scaleLog([left, right].map(inner.invert), [left, right]);
  const y = d3.scaleLog([10 ** min, 10 ** max], panel.yRange);
  const [bottom, top] = y.range();
  const powers = max < 6 ? [-1, 0, 1, 2, 3, 4, 5] : [0, 2, 4, 6];
  axes(panel, {
    x,
    y,
    xLabel: "L, blocks",
    xTicks: stored.blocks,
    xFormat: String,
    yTicks: powers.filter((power) => power <= max).map((power) => 10 ** power),
    yFormat: (v) => (v < 1000 ? String(v) : `10${superscript(Math.round(Math.log10(v)))}`),
  });
  const under = fresh(panel.svg, "under");
  const group = fresh(panel.svg, "curves");
  const passed = passedBy(reached);
  const drawn = (name, place) => {
    const all = norms[name][place].map(({ median }, i) => [x(stored.blocks[i]), y(median)]);
    if (passed === all.length) return all;
    const [[x1, y1], [x2, y2]] = all.slice(passed - 1);
    const end = x(reached);
    return [...all.slice(0, passed), [end, y1 + ((end - x1) / (x2 - x1)) * (y2 - y1)]];
  };
  const named = [];
  names.forEach((name, side) => {
    stored.d_k.forEach((dK, place) => {
      const chosen = place === width;
      const been =
        name === "none" &&
        app.memory.reached[settingOf({ kind: app.state.kind, d_k: dK })] === last &&
        reached > first;
      if (!chosen && !been) return; // the root's lie on each other
      const points = drawn(name, place);
      group
        .append("path")
        .attr("d", d3.line()(points))
        .style("fill", "none")
        .style("stroke", colour(name))
        .style("stroke-width", chosen ? 3 : 1.5)
        .style("stroke-dasharray", looks[name].dashes)
        .style("opacity", chosen ? 1 : 0.75);
      const grows = passed > 1 ? ` ×${norm(grown(medians, passed - 1)[side], 2)}` : "";
      const text = chosen ? stored.labels[name] + grows : narrow ? dK : `heads of ${dK}`;
      if (!chosen || !narrow) named.push({ end: points.at(-1), name, text, chosen });
      else {
        const at = side ? 152 : 5;
        marker(group, name, at, 14);
        label(say(group, text, at + 9, 18, "start"), name);
      }
    });
    norms[name][width].slice(0, passed).forEach(({ all, median }, i) => {
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
    named.map(({ end }) => end[1]),
    15,
    top + 8,
    bottom - 8,
  );
  named.forEach(({ end: [from, level], name, text, chosen }, i) => {
    under
      .append("path")
      .attr(
        "d",
        `M${from + 5},${level}H${right - (narrow ? 6 : 0)}L${right + (narrow ? 2 : 12)},${heights[i]}`,
      )
      .style("fill", "none")
      .style("stroke", chosen ? colour(name) : "var(--ex-muted)")
      .style("stroke-dasharray", "1 4");
    const written = say(group, text, right + (narrow ? 4 : 14), heights[i] + 4, "start");
    label(written.classed("end", true), chosen && name);
  });
  drawCursor(app, panel, under, blocksControl, x);
  const seen = stored.blocks.slice(0, passed);
  panel.describe(
    `With heads of ${stored.d_k[width]}, the median norm against ${seen.join(", ")} blocks, both axes logarithmic: ${names
      .map((name, i) => {
        const said = medians[i].slice(0, passed).map((median) => norm(median));
        return `${stored.labels[name]} ${said.join(", ")}`;
      })
      .join("; ")}.`,
    "group",
  );
  return { x, y };
}

/** The name of a line in its colour, or a muted one. */
const label = (text, name) =>
  text
    .style("fill", name ? lettersColour(name) : "var(--ex-muted)")
    .style("font-weight", name ? 700 : 400);

/**
 * Two marks at the last number of blocks, side by side. Until they are set they wait above the axis, hollow with a question mark;
 * once there is an answer those that were not set go, and the others are outlines; a line from each that was set to its answer, when there is one.
 */
function drawMarks(app, { x, y }, medians) {
  const { panels, state } = app;
  const { svg } = panels.norms;
  const misses = fresh(svg, "misses");
  const marks = (app.memory.marks ??= { svg: layer(svg, "guesses") });
  const range = ranges[state.kind];
  const set = names.map(() => false);
  guessed(state).forEach(({ i }) => (set[i] = true));
  const waits = !medians && set.includes(false);
  const places = [x(last) - 9, x(last) + 9];
  const inks = names.map(colour);
  const level = (value) => Math.max(tray, y(10 ** value));
  const { made, all } = drawGuesses(
    marks,
    guessControls.map(({ name }) => state[name]),
    range,
    inks,
    set,
    names.map((name) => looks[name].marker),
  );
  made.attr("aria-label", (_, i) => `your guess, ${stored.labels[names[i]]}, with ${last} blocks`);
  made.select("rect.touch").attr("x", (_, i) => (i ? -9 : -23));
  all.attr("display", (_, i) => (medians && !set[i] ? "none" : null));
  if (medians) all.select("path").style("fill", "none"); // the answer is seen through a guess
  all.each((value, i) => {
    if (medians && set[i])
      rule(misses, [places[i], level(value)], [places[i], y(medians[i].at(-1))], inks[i]);
  });
  if (waits && panels.norms.width >= 450)
    label(say(misses, `your guesses for ${last} blocks`, places[0] - 16, tray + 4, "end"));
  all
    .attr("transform", (value, i) => `translate(${places[i]},${level(value)})`)
    .attr("aria-valuemin", range.min)
    .attr("aria-valuemax", range.max)
    .attr("aria-valuenow", (value, i) => (set[i] ? value : range.max))
    .attr("aria-valuetext", (value, i) => (set[i] ? norm(10 ** value, 2) : "not set"));
  const byKey = (event, value, number) => {
    const next = fromKey(event, Math.min(value, range.max), range);
    return next === null ? null : { [guessControls[number - 1].name]: Math.min(next, range.max) };
  };
  const byDrag = (event, number) => ({
    [guessControls[number - 1].name]: Math.log10(y.invert(event.y)),
  });
  listen(app, marks, all, byKey, byDrag);
}
