/** Divide by a power of d_k: which line is flat, the start's, gradient descent's or Adam's? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { drawCursor, drawGuesses, listen, nearest, takeFocus, valueFromKey } from "./handles.js";
import { powerControl } from "./scores.js";
import { apart, axes, fresh, layer, rich, rule, say, show, show2, showCount } from "./shared.js";

const { power: steps } = data;
const names = Object.keys(steps.lines);
const [least, most] = [steps.d_k[0], steps.d_k.at(-1)];

/** How a line and its points are drawn. */
const looks = {
  start: { stroke: "var(--ex-ink)", dashes: "0.1 8", outline: "M-3.2,-3.2H3.2V3.2H-3.2Z" },
  SGD: {
    stroke: colour("SGD"),
    dashes: "none",
    outline: "M-6.5,0A6.5,6.5,0,1,1,6.5,0A6.5,6.5,0,1,1,-6.5,0Z",
  },
  Adam: { stroke: colour("Adam"), dashes: "9 7", outline: "M0,-5.5L5,4H-5Z" },
};

/** In this order one that has gaps or is small lies above the others. */
const layers = ["SGD", "Adam", "start"];

/** In this order their names stand under each other at any power, as their ends do below p = 0.5. */
const labels = ["Adam", "SGD", "start"];

/** The power of d_k by which something grows when d_k^p divides. */
const exponent = (name, p) => {
  const [undivided, divided] = steps.lines[name].exponents;
  return undivided + p * (divided - undivided);
};

/** How many times as large it is at the most components as at the least. */
const change = (name, p) => (most / least) ** exponent(name, p);

const isFlat = (name, p) => Math.abs(exponent(name, p)) < 1e-9;

/** The upright line, and the marks above it, stand at these powers. */
const pControl = {
  ...powerControl,
  spoken: "p, where the line stands",
  values: Array.from({ length: 21 }, (_, i) => i / 20),
  text: (p) => `p = ${plain(p)}`,
  drawn: true,
};

/** A mark for each line, where the reader guesses it flat; at first it stands beside the powers. */
const BESIDE = -0.1;
const guessValues = [BESIDE, ...pControl.values];
const guessControls = names.map((name) => ({
  name: `guess_${name}`,
  values: guessValues,
  value: BESIDE,
  drawn: true,
}));

/** Where the reader guesses a line flat; undefined where its mark is not set. */
function guessOf(state, name) {
  const p = state[`guess_${name}`];
  return p === BESIDE ? undefined : p;
}

/** Where W_Q starts at 0, all scores do, and there is no start to keep. */
const isDrawn = (state, name) => name !== "start" || state.query === "random";

const LANE = 26; // the height that a guess has

/** The margins of the two drawings along p, which stand under each other, and their scale. */
const alongP = (top, bottom) => ({ left: 90, right: 36, top, bottom });
const pScale = (panel) => d3.scaleLinear([BESIDE - 0.03, 1.03], panel.xRange);
const pAxis = { xTicks: [0, 0.25, 0.5, 0.75, 1], xFormat: (p) => plain(p) };

export const power = {
  title: "Divide by d_k^p: guess where each line is flat",
  controls: [
    pControl,
    {
      name: "query",
      label: "W_Q starts at 0",
      options: { random: "at random", zero: "at 0" },
      check: true,
      value: "random",
      below: true,
    },
    ...guessControls,
  ],
  readouts: [],
  panelWidth: "100%",
  panels: [
    ["lines", "", 190, { left: 44, right: 92, top: 10 }],
    ["guesses", "", 3 * LANE + 18, alongP(0, 18)],
    ["visited", "the lines’ right ends, where you have been", 186, alongP(34, 36)],
  ],
  forget({ memory }) {
    delete memory.visited;
  },
  update(app) {
    const { state, panels, memory, formula } = app;
    const { p, query } = state;
    const visited = (memory.visited ??= new Set()).add(p);
    panels.lines.heading.replaceChildren(
      rich(
        `size over that at d_k = ${least}; ${query === "random" ? "points: measured" : "lines: the theorem"}`,
      ),
    );
    const ends = [Math.min(...visited), Math.max(...visited)]; // what lies between was passed over, and is drawn
    const passed = pControl.values.filter((at) => ends[0] <= at && at <= ends[1]);
    const flat = Object.fromEntries(
      names.map((name) => [name, passed.find((at) => isFlat(name, at))]),
    );
    drawLines(panels.lines, state);
    drawGuessed(app, panels.guesses, flat);
    drawVisited(app, panels.visited, ends);
    const sentence = verdict(state, flat);
    formula.replaceChildren(rich(sentence));
    return {
      values: {},
      spoken: `Divided by d_k to the power ${plain(p)}, from ${least} to ${most} components: ${told(state)}. ${sentence}`,
    };
  },
};

/** How each line goes, in words. */
const told = (state) =>
  names
    .filter((name) => isDrawn(state, name))
    .map((name) => `${steps.lines[name].label} ${times(change(name, state.p))}`)
    .join(", ");

/** What is flat, or nearly so, where the upright line stands, and what grows or shrinks there. */
function whereabouts({ p }, here) {
  const goes = (name) => {
    if (isFlat(name, p)) return "flat";
    const grows = exponent(name, p);
    if (Math.abs(grows) < 0.051) return "nearly flat";
    return grows > 0 ? "growing" : "shrinking";
  };
  const ways = [...new Set(here.map(goes))].map((way) => [
    way,
    here.filter((name) => goes(name) === way),
  ]);
  ways.sort(([, some], [, others]) => some.length - others.length);
  const parts = ways.map(([way, alike]) => {
    if (alike.length === 1) return `${steps.lines[alike[0]].short} ${way}`;
    if (alike.length < here.length) return `the others ${way}`;
    return `${here.length === 3 ? "all three" : "both"} ${way}`;
  });
  return `At p = ${plain(p)}: ${parts.join(", ")}. `;
}

/** What is flat where the reader has been, beside the guess, and what is left to find. */
function verdict(state, flat) {
  const kept = (name) => steps.lines[name].kept;
  const here = names.filter((name) => isDrawn(state, name));
  const zero = state.query === "zero";
  const start = zero ? "All scores start at 0. " : "";
  const now = whereabouts(state, here);
  const left = here.filter((name) => flat[name] === undefined);
  if (left.length === here.length) {
    const unset = here.filter((name) => guessOf(state, name) === undefined);
    const so = start + (state.p ? now : "");
    if (!unset.length)
      return `${so}Your marks are set. ${state.p ? "Drag on" : "Now drag the upright line to find out"}.`;
    return unset.length < here.length
      ? `${so}Set the other ${unset.length > 1 ? "marks" : "mark"} too, or drag the upright line to find out.`
      : `${so || "At p = 0 both steps grow alike. "}Which p makes each line flat? Set the ${here.length === 3 ? "three" : "two"} marks, then drag the upright line.`;
  }
  const said = (name) => {
    const guess = guessOf(state, name);
    const { short } = steps.lines[name];
    if (guess === undefined) return short;
    return `${short} (${guess === flat[name] ? "as you said" : `you said ${plain(guess)}`})`;
  };
  const places = [...new Set(here.map((name) => flat[name]))].filter((p) => p !== undefined).sort();
  const found = places.map(
    (p) =>
      `at p = ${plain(p)} ${here
        .filter((name) => flat[name] === p)
        .map(said)
        .join(" and ")}`,
  );
  const all = zero ? "With either, one p keeps all there is to keep." : "No p keeps all three.";
  const rest = left.length ? `Is ${left.map(kept).join(" or ")} flat anywhere?` : all;
  return `${start}${now}Flat: ${found.join(", ")}. ${rest}`;
}

/** A power without needless zeros. */
const plain = (x) => show(x).replace(/\.?0+$/, "");

/** How many times as large, in two digits; below 1 as a part. */
function times(x) {
  const brief = (y) => show2(y).replace(/\.0$/, "");
  return x > 0.95 ? `×${brief(x)}` : `×1/${brief(1 / x)}`;
}

/** The colour of a line's name. */
const written = (name) => (name === "start" ? looks.start.stroke : lettersColour(name));

/** Of an axis. */
const decade = (x) => (x < 1 ? `1/${Math.round(1 / x)}` : String(x));

/** A measured point, or where one has been: in the form and colour of its line. */
const mark = (group, name, x, y) =>
  group
    .append("path")
    .attr("data-line", name)
    .attr("d", looks[name].outline)
    .attr("transform", `translate(${x},${y})`)
    .style("stroke", looks[name].stroke)
    .style("stroke-width", 1.8);

/** Of a line's ends, and a little more for the measured ones. */
const reach = [least / most / 1.5, (1.5 * most) / least];

/** Axes, of which y is a size, with the level of 1, where a line is flat; groups below and for the lines. */
function drawFrame(panel, { x, y, ...options }) {
  axes(panel, { x, y, yTicks: [0.01, 0.1, 1, 10, 100], yFormat: decade, ...options });
  const [under, group] = ["under", "curves"].map((name) => fresh(panel.svg, name));
  const [left, right] = x.range();
  rule(under, [left, y(1)], [right, y(1)], "var(--ex-muted)");
  return { under, group };
}

/** A line from one place to another. */
const line = (group, name, from, to) =>
  group
    .append("path")
    .attr("data-line", name)
    .attr("d", `M${from}L${to}`)
    .style("stroke", looks[name].stroke)
    .style("stroke-linecap", name === "start" ? "round" : "butt")
    .style("stroke-dasharray", looks[name].dashes);

function drawLines(panel, state) {
  const { p, query } = state;
  const x = d3.scaleLog([least / 1.25, most], panel.xRange);
  const y = d3.scaleLog(reach, panel.yRange);
  const right = x(most);
  const [bottom, top] = y.range();
  const { under, group } = drawFrame(panel, {
    x,
    y,
    xLabel: "d_k",
    xTicks: panel.width < 420 ? [16, 256, 4096] : [16, 64, 256, 1024, 4096],
    xFormat: showCount,
  });
  const here = layers.filter((name) => isDrawn(state, name));
  const levels = here.map((name) => y(change(name, p)));
  const order = labels.map((name) => here.indexOf(name)).filter((place) => place >= 0);
  const heights = apart(levels, 34, top + 4, bottom - 15, order);
  here.forEach((name, place) => {
    const flat = isFlat(name, p);
    line(group, name, [x(least), y(1)], [right, levels[place]])
      .attr("class", "curve")
      .style("stroke-width", flat ? 4.5 : 3);
    // Measured from matrices that started at random.
    const points = query === "random" ? steps.lines[name].measured[p] : [];
    points.forEach((value, i) =>
      mark(group, name, x(steps.measured_at[i]), y(value))
        .attr("class", "measured")
        .style("fill", "var(--ex-ground)"),
    );
    rule(under, [right, levels[place]], [right + 8, heights[place]], looks[name].stroke);
    const label = say(group, "", right + 11, heights[place] + 4, "start").style(
      "fill",
      written(name),
    );
    [steps.lines[name].short, times(change(name, p))].forEach((text, row) =>
      label
        .append("tspan")
        .attr("x", right + 11)
        .attr("dy", 15 * row)
        .style("font-weight", row && flat ? 700 : 400)
        .text(text),
    );
  });
  panel.describe(
    `From ${least} to ${most} components, both axes logarithmic, so many times as large: ${told(state)}.`,
  );
}

/** The lines' right ends between the least p where the reader has been and the largest: a line is flat where its end crosses the level of 1. */
function drawVisited(app, panel, ends) {
  const { state } = app;
  const x = pScale(panel);
  const y = d3.scaleLog([reach[0], 2 * reach[1]], panel.yRange); // clear of the handle
  const { under, group } = drawFrame(panel, {
    x,
    y,
    xLabel: "p",
    ...pAxis,
  });
  say(under, "flat", x.range()[1] + 8, y(1) + 4, "start");
  const here = layers.filter((name) => isDrawn(state, name));
  for (const name of here)
    line(group, name, ...ends.map((p) => [x(p), y(change(name, p))])) // straight between them
      .attr("class", "been")
      .style("stroke-width", 2.5);
  for (const name of here)
    mark(group, name, x(state.p), y(change(name, state.p))).style("fill", looks[name].stroke);
  drawCursor(app, panel, under, pControl, x);
  panel.describe(
    `From p = ${plain(ends[0])} to ${plain(ends[1])}, where you have been, how many times as large each is at ${most} components as at ${least}; the level of 1 is where a line is flat.`,
    "group",
  );
}

/** For each line a lane along p with the mark of the reader's guess and, once found, a bar where the line is flat. */
function drawGuessed(app, panel, flat) {
  const { state } = app;
  panel.heading.textContent = Object.values(flat).some((p) => p !== undefined)
    ? "dot: your guess; bar: where the line is flat"
    : "your guess: at which p is each line flat?";
  const x = pScale(panel);
  const level = (i) => LANE * (i + 0.5);
  axes(panel, { x, y: d3.scaleLinear([0, 1], panel.yRange), yTicks: 0, ...pAxis });
  const lanes = fresh(panel.svg, "lanes");
  const handles = layer(panel.svg, "handles");
  const byDrag = (event, number) => ({
    [guessControls[number - 1].name]: nearest(guessValues, x, event.x),
  });
  names.forEach((name, i) => {
    const drawn = isDrawn(state, name);
    const label = drawn ? steps.lines[name].short : "no start";
    say(lanes, label, x(BESIDE) - 13, level(i) + 4, "end").style(
      "fill",
      drawn ? written(name) : "var(--ex-muted)",
    );
    if (!drawn) return;
    rule(lanes, [x(0), level(i)], [x(1), level(i)], "var(--ex-muted)");
    const [guess, found] = [guessOf(state, name), flat[name]];
    if (found !== undefined) {
      rule(lanes, [x(found), level(i) - 11], [x(found), level(i) + 11], looks[name].stroke)
        .attr("class", "found")
        .style("stroke-width", 4);
      rule(lanes, [x(guess ?? found), level(i)], [x(found), level(i)], looks[name].stroke).style(
        "stroke-width",
        3,
      );
    }
    // A press in a lane brings its mark.
    lanes
      .append("rect")
      .attr("class", "touch")
      .attr("x", x(BESIDE))
      .attr("width", x(1.03) - x(BESIDE))
      .attr("y", level(i) - LANE / 2)
      .attr("height", LANE)
      .style("fill", "transparent")
      .style("cursor", "pointer")
      .on("click", (event) => {
        const [at] = d3.pointer(event, panel.svg.node());
        takeFocus(handles.selectAll(".explorable-handle").nodes()[i]);
        app.set(byDrag({ x: at }, i + 1));
      });
  });
  const guesses = names.map((name) => guessOf(state, name));
  const { made, all } = drawGuesses(
    panel,
    guesses.map((p) => guessValues.indexOf(p ?? BESIDE)),
    { min: 0, max: guessValues.length - 1 },
    names.map((name) => looks[name].stroke),
    guesses.map((p) => p !== undefined),
  );
  made.attr("aria-label", (_, i) => `your guess, ${steps.lines[names[i]].short}`);
  made
    .select("rect.touch")
    .attr("y", -LANE / 2)
    .attr("height", LANE)
    .style("cursor", "ew-resize");
  all
    .style("display", (_, i) => (isDrawn(state, names[i]) ? null : "none"))
    .attr("transform", (place, i) => `translate(${x(guessValues[place])},${level(i)})`)
    .attr("aria-valuenow", (place) => place)
    .attr("aria-valuetext", (_, i) =>
      guesses[i] === undefined ? "not set" : pControl.text(guesses[i]),
    );
  const byKey = (event, place, number) => {
    const next = valueFromKey(event, place, guessValues);
    return next === null ? null : { [guessControls[number - 1].name]: next };
  };
  listen(app, panel, all, byKey, byDrag);
  const told = names
    .filter((name) => isDrawn(state, name))
    .map((name) => {
      const [guess, found] = [guessOf(state, name), flat[name]].map((p) =>
        p === undefined ? "not yet" : plain(p),
      );
      return `${steps.lines[name].kept}: guessed ${guess}, found ${found}`;
    });
  panel.describe(`Where along p each line is flat. ${told.join("; ")}.`, "group");
}
