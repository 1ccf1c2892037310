/** Divide by a power of d_k: which line is flat, the start's, gradient descent's or Adam's? */
import * as d3 from "./d3.js";
import { colour, data, lettersColour } from "./data.js";
import { drawCursor, drawGuesses, listen, nearest, takeFocus, valueFromKey } from "./handles.js";
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

/** In this order their names stand under each other where lines end at the same height, as below that power. */
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
  name: "p",
  value: 0,
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

const LANE = 34; // the height that a line has in the drawing along p
const TOUCH = 30; // and that of it which a finger can press
const [ABOVE, BELOW] = [36, 38]; // the handle of the upright line, and the axis

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
    ["lines", "", 270, { left: 44, right: 96, top: 10 }],
    ["p", "", ABOVE + 3 * LANE + BELOW, { left: 90, right: 18, top: ABOVE, bottom: BELOW }],
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
        `size over that at d_k = ${least}; ${query === "random" ? "points: measured" : "the theorem alone"}`,
      ),
    );
    const ends = [Math.min(...visited), Math.max(...visited)]; // what lies between was passed over, and is drawn
    const passed = pControl.values.filter((at) => ends[0] <= at && at <= ends[1]);
    const flat = Object.fromEntries(
      names.map((name) => [name, passed.find((at) => isFlat(name, at))]),
    );
    drawLines(panels.lines, state);
    drawAlongP(app, panels.p, ends, flat);
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
  const all = zero
    ? "Only the step is left to keep now, and under either optimiser one p keeps it."
    : "No p keeps all three.";
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
  axes(panel, {
    x,
    y,
    xLabel: "d_k",
    xTicks: panel.width < 420 ? [16, 256, 4096] : [16, 64, 256, 1024, 4096],
    xFormat: showCount,
    yTicks: [0.01, 0.1, 1, 10, 100],
    yFormat: decade,
  });
  const [under, group] = ["under", "curves"].map((name) => fresh(panel.svg, name));
  rule(under, [x.range()[0], y(1)], [right, y(1)], "var(--ex-muted)");
  const here = layers.filter((name) => isDrawn(state, name));
  const levels = here.map((name) => y(change(name, p)));
  const order = labels
    .map((name) => here.indexOf(name))
    .filter((place) => place >= 0)
    .sort((a, b) => levels[a] - levels[b]);
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
    rule(under, [right, levels[place]], [right + 12, heights[place]], looks[name].stroke);
    const label = say(group, "", right + 15, heights[place] + 4, "start").style(
      "fill",
      written(name),
    );
    [steps.lines[name].short, times(change(name, p))].forEach((text, row) =>
      label
        .append("tspan")
        .attr("x", right + 15)
        .attr("dy", 15 * row)
        .style("font-weight", row && flat ? 700 : 400)
        .text(text),
    );
  });
  panel.describe(
    `From ${least} to ${most} components, both axes logarithmic, so many times as large: ${told(state)}.`,
  );
}

/** For each line a lane along p: the mark of the reader's guess, where the line was found flat, and how its end rose or fell where the reader has been. The upright line runs through all. */
function drawAlongP(app, panel, ends, flat) {
  const { state, memory } = app;
  const someFound = Object.values(flat).some((p) => p !== undefined);
  panel.heading.textContent = someFound
    ? "dot: your guess; bar: where the line is flat"
    : "your guess: at which p is each line flat?";
  const x = d3.scaleLinear([BESIDE - 0.03, 1.03], panel.xRange);
  const level = (i) => ABOVE + LANE * (i + 0.5);
  axes(panel, {
    x,
    y: d3.scaleLinear([0, 1], panel.yRange),
    xLabel: "p",
    xTicks: [0, 0.25, 0.5, 0.75, 1],
    xFormat: plain,
    yTicks: 0,
  });
  const [lanes, upright] = ["lanes", "upright"].map((name) => fresh(panel.svg, name));
  drawCursor(app, panel, upright, pControl, x);
  // The marks have a layer of their own, behind that of its handle.
  const marks = (memory.marks ??= Object.create(panel, {
    svg: { value: layer(panel.svg, "guesses") },
  }));
  const byDrag = (event, number) => ({
    [guessControls[number - 1].name]: nearest(guessValues, x, event.x),
  });
  names.forEach((name, i) => {
    const drawn = isDrawn(state, name);
    const label = drawn ? steps.lines[name].short : "no start";
    say(lanes, label, x(BESIDE) - 18, level(i) + 4, "end").style(
      "fill",
      drawn ? written(name) : "var(--ex-muted)",
    );
    if (!drawn) return;
    rule(lanes, [x(0), level(i)], [x(1), level(i)], "var(--ex-muted)");
    const height = (p) => level(i) - 13 * exponent(name, p);
    line(lanes, name, ...ends.map((p) => [x(p), height(p)])) // straight between them
      .attr("class", "been")
      .style("stroke-width", 2);
    const found = flat[name];
    if (found !== undefined) {
      rule(lanes, [x(found), level(i) - 11], [x(found), level(i) + 11], looks[name].stroke)
        .attr("class", "found")
        .style("stroke-width", 5);
      return;
    }
    lanes
      .append("rect")
      .attr("class", "touch")
      .attr("x", x(BESIDE))
      .attr("width", x(1.03) - x(BESIDE))
      .attr("y", level(i) - TOUCH / 2)
      .attr("height", TOUCH)
      .style("fill", "transparent")
      .on("pointerdown", (event) => event.stopPropagation()) // or the upright line would come, too
      .on("click", (event) => {
        const [at] = d3.pointer(event, panel.svg.node());
        takeFocus(marks.svg.selectAll(".explorable-handle").nodes()[i]);
        app.set(byDrag({ x: at }, i + 1));
      });
  });
  const guesses = names.map((name) => guessOf(state, name));
  const { made, all } = drawGuesses(
    marks,
    guesses.map((p) => guessValues.indexOf(p ?? BESIDE)),
    { min: 0, max: guessValues.length - 1 },
    names.map((name) => looks[name].stroke),
    guesses.map((p) => p !== undefined),
  );
  made.attr("aria-label", (_, i) => `your guess, ${steps.lines[names[i]].short}`);
  made
    .select("rect.touch")
    .attr("y", -TOUCH / 2)
    .attr("height", TOUCH)
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
  listen(app, marks, all, byKey, byDrag);
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
