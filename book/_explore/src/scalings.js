/** Alternative scalings: a guess which divisors go along with the curves when the keys change, and curves to drag. */
import * as d3 from "./d3.js";
import { colour, data, lettersColour, lookUp } from "./data.js";
import { drawSideways, nearest } from "./handles.js";
import {
  addButtons,
  arrow,
  axes,
  element,
  fresh,
  layer,
  marker,
  rich,
  richLabel,
  rule,
  say,
  show2,
  showCount,
  wantsCalm,
} from "./shared.js";

/** The divisors that are compared, and what they are called. */
const { labels, ratios } = data.scalings;
const NAMES = Object.keys(labels);

/** Those that do not know how long the keys are. */
const CONSTANT = ["none", "sqrt_d_k"];

const DIVISORS = [0.1, 5e4]; // that are drawn: every setting has the four of them between
const FLOOR = 0.001; // of the gradients that are drawn
const GRIP = 90; // where the curve is held, over a √d_k: far from every divisor in all questions
const NEXT = "\u00a0→\u00a0"; // no line breaks there
const GLIDE = 900; // milliseconds from a setting to the next

/** A size or a number of keys, for reading. */
const brief = (x) => (x < 1000 ? show2(x).replace(/\.0$/, "") : showCount(Math.round(x)));

/** The sliders, each with a question: what happens as it goes from a value to another, and which divisors move. */
const sliders = [
  {
    name: "a",
    label: "length of the keys, a",
    spoken: "the curve, moved by the length of the keys, a",
    values: Array.from({ length: 81 }, (_, i) => 10 ** (i / 40 - 1)),
    value: 1,
    text: (a) => `× ${brief(a)}`,
    from: 1,
    to: 10,
    question: "The keys become ten times as long. Which divisors move with the curves?",
    press: "Make them longer",
    moves: ["k_mean", "k_total"],
    answer: `Longer keys: ${labels.k_mean} and ${labels.k_total} move with the curves.`,
  },
  {
    name: "n",
    label: "keys, n",
    values: data.scalings.n,
    value: 32,
    text: String,
    from: 32,
    to: data.scalings.n.at(-1),
    question: `The row gets ${data.scalings.n.at(-1)} keys in place of 32. Which divisors move?`,
    press: "Add the keys",
    moves: ["k_total"],
    answer: `More keys: ${labels.k_total} alone moves.`,
  },
  {
    name: "d_k",
    label: "components, d_k",
    values: data.scalings.d_k,
    value: 64,
    text: String,
    from: data.scalings.d_k[0],
    to: data.scalings.d_k.at(-1),
    question: `d_k grows from ${data.scalings.d_k[0]} to ${data.scalings.d_k.at(-1)}. Which divisors move with the curves?`,
    press: "Make d_k larger",
    moves: ["sqrt_d_k", "k_mean", "k_total"],
    answer: `Larger d_k: all but ${labels.none} move. So ${labels.k_mean} alone moved with a and d_k, not with n.`,
  },
];

export const scalings = {
  title: "Which divisors follow the keys?",
  controls: sliders,
  readouts: [],
  panelWidth: "100%",
  panels: [
    ["evenness", "", 150, { left: 44, top: 18, bottom: 22 }],
    ["gradient", "gradient at the query, median", 190, { left: 44, top: 14 }],
  ],
  forget({ memory }) {
    memory.asking = undefined;
  },
  /** The setting at which the slider that is moved alone stood before stays in sight, and a verdict until any is moved by hand; a new number of keys or d_k is glided to. */
  also(asked, { state, memory }) {
    const { asking } = memory;
    const [name, ...others] = Object.keys(asked);
    const there = asking && sliders[asking.place];
    const away = there?.name !== name || asked[name] !== there.to;
    if (asking?.pressed && away && asked[name] !== state[name]) {
      asking.over = true;
      asking.picked.clear();
    }
    if (others.length) memory.moving = undefined;
    else if (asked[name] !== state[name] && memory.moving !== name)
      Object.assign(memory, { moving: name, start: state[name] });
    if (!("n" in asked || "d_k" in asked) || wantsCalm()) return;
    memory.from = memory.shown;
    memory.began = performance.now();
  },
  update(app) {
    const { state, memory, panels } = app;
    const { moving, start } = memory;
    const now = standing(state);
    const then =
      moving && state[moving] !== start ? standing({ ...state, [moving]: start }) : undefined;
    const target = [...now.shape, ...Object.values(now.sizes)];
    const drawn = glide(app, target);
    const arrived = drawn === target;
    const { place, picked, pressed } = (memory.asking ??= { place: 0, picked: new Set() });
    const [at, ofKeys, ofGradient, ...ofSizes] = drawn;
    const sizes = Object.fromEntries(NAMES.map((name, i) => [name, ofSizes[i]]));
    const shown = { at, sizes, ...measures(at, ofKeys, ofGradient) };
    const stayed = (name) => pressed && arrived && !sliders[place].moves.includes(name);
    const guess = [...picked].map((name) => [name, stayed(name)]);
    const { evenness, gradient } = panels;
    const began = then && `small, dotted: ${moving} = ${brief(start)}`;
    const note = began || (pressed ? "drag the curve" : "");
    evenness.heading.replaceChildren(rich(`effective keys, of n${note && ` (${note})`}`));
    drawAlong(app, evenness, shown, then, {
      guess,
      measure: "keys",
      y: d3.scaleLinear([0, 1], evenness.yRange),
      yTicks: [0, 0.5, 1],
      yFormat: (share) => ({ 0: "0", 0.5: "n/2", 1: "n" })[share],
    });
    drawAlong(app, gradient, shown, then, {
      guess: [],
      measure: "gradient",
      y: d3.scaleLog([FLOOR, 20], gradient.yRange),
      yTicks: [0.001, 0.01, 0.1, 1, 10],
      yFormat: String,
      xLabel: "divisor",
    });
    const told = (panel, text) =>
      panel.describe(
        `${panel.heading.textContent}, along the divisor: ${NAMES.map((name) => `${labels[name]} ${text(now.sizes[name])}`).join("; ")}`,
        "group",
      );
    told(evenness, (divisor) => `${show2(state.n * now.keys(divisor))} of ${state.n} keys`);
    told(gradient, (divisor) => gradientText(now, divisor));
    // What a slider does is told after the guess.
    if (arrived || !pressed) memory.said = speak(app, now, pressed && then, arrived);
    return { values: {}, spoken: memory.said };
  },
};

/** The divisors at a setting, and the curves there: their shapes, and what they have at a divisor. */
function standing({ a, n, d_k: dK }) {
  const { along, compared, n: ns, d_k: dKs } = data.scalings;
  const of = (table) => lookUp(table, ns, n, dKs, dK);
  const root = Math.sqrt(dK);
  const sizes = Object.fromEntries(
    NAMES.map((name) => [name, of(compared[name]) * root * (CONSTANT.includes(name) ? 1 : a)]),
  );
  // Keys a times as long are at a divisor a times as large what they were.
  const shape = [
    a * root,
    of(along).map(([effective]) => effective / n),
    of(along).map(([, gradient]) => Math.log(Math.max(1e-9, gradient))),
  ];
  return { sizes, shape, ...measures(...shape) };
}

/** What a curve of these shapes has at a divisor: the share of the keys, and the gradient; `at` is the root's divisor of such keys. */
function measures(at, keys, logarithms) {
  const curve = (ys) => {
    const smooth = between(ratios.map(Math.log), ys);
    return (divisor) => smooth(Math.log(divisor / at));
  };
  const logarithm = curve(logarithms);
  return { keys: curve(keys), gradient: (divisor) => Math.exp(logarithm(divisor)) };
}

/** What is drawn on the way to these numbers, and lists of them: those above 0 go by factors, as their axes do. */
function glide({ memory, redraw }, target) {
  const t = Math.min(1, (performance.now() - memory.began) / GLIDE);
  if (!(t < 1)) return (memory.shown = target);
  redraw();
  const on = (from, to) => {
    if (Array.isArray(to)) return to.map((x, i) => from[i] + t * (x - from[i]));
    return from * (to / from) ** t;
  };
  return (memory.shown = target.map((to, i) => on(memory.from[i], to)));
}

const gradientText = ({ gradient }, divisor) =>
  gradient(divisor) < FLOOR ? `< ${FLOOR}` : show2(gradient(divisor));

/** The question, or its answer until a slider is moved that it is not about, what is on every divisor's button, and what the slider that was moved last has done; all that is said. */
function speak(app, now, then, arrived) {
  const { memory, formula } = app;
  const { asked, buttons, next } = (memory.parts ??= addQuestion(app));
  const { place, picked, pressed, over } = memory.asking;
  const { question, press, moves, answer } = sliders[place];
  const answered = (memory.asking.answered = pressed && arrived);
  const judged = answered && !over;
  NAMES.forEach((name, i) => {
    const { button, size, verdict, sign } = buttons[i];
    const sizes = [then ?? now, now].map((at) => brief(at.sizes[name]));
    size.textContent = [...new Set(sizes)].join(NEXT);
    verdict.textContent = judged ? (moves.includes(name) ? "moved" : "stayed") : "";
    sign.textContent = judged && picked.has(name) ? (moves.includes(name) ? "✓" : "✗") : "";
    button.setAttribute("aria-pressed", picked.has(name));
    button.setAttribute("aria-disabled", Boolean(pressed));
  });
  const found = moves.filter((name) => picked.has(name)).length;
  const wrong = picked.size - found;
  const score = picked.size
    ? ` ${found} of ${moves.length} found${wrong ? `, ${wrong} wrong` : ""}.`
    : "";
  const free = "Try other settings, or go on:";
  const text = judged
    ? answer + score
    : answered
      ? free
      : `${question} Press them, then “${press}”.`;
  asked.replaceChildren(rich(text));
  next.replaceChildren(
    rich(!answered ? press : place < sliders.length - 1 ? "Next question" : "Start again"),
  );
  const sentence = tell(app.state, memory, now, then);
  formula.replaceChildren(rich(sentence));
  return `${text} ${sentence}`;
}

/** What the slider that was moved last has done, in numbers; where none has been moved, what is drawn. */
function tell(state, { moving, start }, now, then) {
  const { n } = state;
  const keys = (at, name) => brief(n * at.keys(at.sizes[name]));
  if (!then) {
    const [none, root, mean, total] = NAMES.map((name) => keys(now, name));
    return `Divided by ${labels.sqrt_d_k} a query attends to ${root} of ${n} keys, by ${labels.k_mean} to ${mean}; ${labels.none} to ${none}, by ${labels.k_total} to ${total}.`;
  }
  const change = (name, text = keys) => `${text(then, name)}${NEXT}${text(now, name)}`;
  const gradient = (at, name) => gradientText(at, at.sizes[name]);
  const times = (factor) =>
    factor < 1 ? `÷\u00a0${brief(1 / factor)}` : `×\u00a0${brief(factor)}`;
  /** A gradient's change less a factor that is known: what the weights, or their number, have done. */
  const rest = (name, known) => {
    const [before, after] = [then, now].map(({ sizes, gradient }) => gradient(sizes[name]));
    return times(after / before / known);
  };
  const longer = state.a / start;
  const larger = now.sizes.k_total / then.sizes.k_total;
  return {
    a: `By k_mean ${change("k_mean")} of ${n} keys, by √d_k ${change("sqrt_d_k")}. The root’s gradient ${change("sqrt_d_k", gradient)}: ${times(longer)} by length, ${rest("sqrt_d_k", longer)} by sharpness.`,
    n: `Only k_total is a sum over the keys. Its gradient ${change("k_total", gradient)}: size ${times(1 / larger)}, number of keys ${rest("k_total", 1 / larger)}. k_mean keeps its size, not its gradient: ${change("k_mean", gradient)}.`,
    d_k: `A random key is about √d_k long: k_mean ${change("k_mean")} of ${n} keys, √d_k ${change("sqrt_d_k")}. Undivided knows no d_k: ${change("none")}.`,
  }[moving];
}

/** Above the sliders the question, a button for each divisor with its marker and size, what it did and whether that was guessed, and one that answers or asks on. */
function addQuestion(app) {
  const { memory, extra } = app;
  const asked = element("p", { class: "explorable-asked" });
  extra.append(asked);
  const toggle = (name) => () => {
    const { picked, pressed } = memory.asking;
    if (pressed) return;
    if (!picked.delete(name)) picked.add(name);
    app.redraw();
  };
  const made = addButtons(
    extra,
    "divisors that move",
    NAMES.map((name) => ["", toggle(name)]),
  );
  made[0].parentNode.classList.add("explorable-picks");
  const buttons = made.map((button, i) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "-8 -8 16 16");
    svg.setAttribute("aria-hidden", "true");
    mark(d3.select(svg), NAMES[i], 0, 0);
    const verdict = element("span", { class: "explorable-verdict" });
    const size = element("span", { class: "explorable-size" });
    const sign = element("span");
    button.append(svg, element("span", {}, rich(richLabel(labels[NAMES[i]]))), verdict, sign, size);
    return { button, size, verdict, sign };
  });
  const [next] = addButtons(extra, "question", [["", () => goOn(app)]]);
  app.controls.before(extra);
  app.controls.after(app.formula);
  return { asked, buttons, next };
}

/** From a question to its answer, which begins where the question does, and from there to the next question. */
function goOn(app) {
  const { memory } = app;
  const { place, pressed, answered } = memory.asking;
  if (pressed && !answered) return;
  const next = pressed ? (place + 1) % sliders.length : place;
  const { name, from, to } = sliders[next];
  const defaults = Object.fromEntries(sliders.map(({ name, value }) => [name, value]));
  app.set({ ...defaults, [name]: from });
  if (pressed) memory.asking = { place: next, picked: new Set() };
  else {
    memory.asking.pressed = true;
    app.set({ [name]: to });
    const before = standing({ ...defaults, [name]: from });
    memory.from = [...before.shape, ...Object.values(before.sizes)];
  }
}

/** A smooth function through points, which rises and falls only where they do: cubics, with the harmonic mean of the slopes at each point. */
function between(xs, ys) {
  const slopes = xs.slice(1).map((x, i) => (ys[i + 1] - ys[i]) / (x - xs[i]));
  const tangents = xs.map((_, i) => {
    const [before, after] = [slopes[i - 1] ?? slopes[i], slopes[i] ?? slopes[i - 1]];
    return before * after > 0 ? (2 * before * after) / (before + after) : 0;
  });
  return (x) => {
    const i = Math.max(0, xs.findIndex((place) => place >= x) - 1);
    const width = xs[i + 1] - xs[i];
    const t = (x - xs[i]) / width;
    const [rise, first, second] = [slopes[i], tangents[i], tangents[i + 1]];
    const bend = 3 * rise - 2 * first - second + t * (first + second - 2 * rise);
    return ys[i] + t * width * (first + t * bend);
  };
}

/** A divisor's marker: the root's stands open and larger around that of the mean length, which has a rim to be seen. */
function mark(parent, name, x, y) {
  const drawn = marker(parent, name, x, y);
  if (name === "sqrt_d_k")
    drawn
      .attr("transform", `translate(${x},${y}) scale(1.5)`)
      .style("fill", "none")
      .style("stroke-width", 1.5);
  if (name === "k_mean") drawn.style("stroke", "var(--ex-ink)").style("stroke-width", 1.5);
}

/** A measure along the divisor: the curve with its handle, and each divisor at its size on the axis and at what it does on the curve; small and dotted what was there before, and from there an arrow for each that is guessed to move, faint once it has not. */
function drawAlong(app, panel, shown, then, { measure, guess, y, yTicks, yFormat, xLabel }) {
  const x = d3.scaleLog(DIVISORS, panel.xRange);
  const [bottom] = y.range();
  const [left, right] = x.range();
  const [least] = y.domain();
  axes(panel, {
    x,
    y,
    xTicks: [0.1, 1, 10, 100, 1000, 10000],
    xFormat: (divisor) => (divisor < 1 ? divisor : showCount(divisor)),
    xLabel,
    yTicks,
    yFormat,
  });
  const drawn = []; // of the curves
  const draw = (parent, of) => {
    const points = Array.from({ length: Math.round(right - left) + 1 }, (_, i) => left + i)
      .map((at) => [at, of(x.invert(at))])
      .filter(([, value]) => value >= least)
      .map(([at, value]) => [at, y(value)]);
    drawn.push(...points);
    return parent
      .append("path")
      .attr("class", "curve")
      .attr("d", d3.line()(points))
      .style("fill", "none")
      .style("stroke", "var(--ex-muted)")
      .style("stroke-width", 1.5);
  };
  const past = fresh(panel.svg, "before");
  const line = fresh(panel.svg, "line");
  layer(panel.svg, "handles"); // above the curve and under the markers, of which it hides none
  const group = fresh(panel.svg, "along");
  if (then) {
    draw(past, then[measure]).attr("class", "past").style("stroke-dasharray", "1.5 3");
    NAMES.forEach((name) => {
      const value = then[measure](then.sizes[name]);
      if (value < least) return;
      const place = `translate(${x(then.sizes[name])},${y(value)})`;
      marker(past, name, 0, 0)
        .attr("transform", `${place} scale(${name === "sqrt_d_k" ? 1.1 : 0.7})`)
        .style("fill", "none")
        .style("stroke-width", 1.5);
    });
  }
  const of = shown[measure];
  const at = NAMES.map((name) => x(shown.sizes[name]));
  const levels = NAMES.map((name) => y(of(shown.sizes[name])));
  const below = levels.map((level) => level > bottom);
  draw(line, of);
  NAMES.forEach((name, i) => {
    if (below[i]) {
      arrow(group, [at[i], bottom - 16], [at[i], bottom - 2], colour(name), 2);
      // The word stands beside it or above it, where it has most room, if it has any.
      const places = [-25, -5, 0, 5, 25].map((by) => {
        const level = bottom - (Math.abs(by) > 5 ? 4 : 20);
        const near = drawn.filter(([, y]) => Math.abs(y - level + 4) < 11).map(([x]) => x);
        const others = [...near, ...at.filter((_, j) => j !== i)];
        return [at[i] + by, level, Math.min(...others.map((x) => Math.abs(x - at[i] - by)))];
      });
      const [middle, level, room] = places.sort((a, b) => b[2] - a[2])[0];
      if (room > 18)
        say(group, "below", middle, level, "middle").style("fill", lettersColour(name));
      return;
    }
    const stem = rule(group, [at[i], levels[i]], [at[i], bottom], colour(name));
    if (name === "k_mean") stem.style("stroke-dasharray", "4 4"); // the root's is seen under it
  });
  NAMES.forEach((name, i) => below[i] || mark(group, name, at[i], levels[i]));
  for (const [name, stayed] of guess) {
    const { sizes, [measure]: at } = then ?? shown;
    const [middle, level] = [x(sizes[name]), y(at(sizes[name]))];
    const beside = level + (CONSTANT.includes(name) ? -13 : 13); // two that coincide have one each
    const guessed = group.append("g").style("opacity", stayed ? 0.25 : 1);
    arrow(guessed, [middle - 11, beside], [middle + 11, beside], colour(name), 2);
  }
  const held = GRIP * shown.at;
  drawSideways(app, panel, sliders[0], x(held), y(of(held)), (event) => ({
    a: nearest(
      sliders[0].values,
      x,
      x(heldAt(app, event) * (x.invert(event.x) / x.invert(event.subject.x))),
    ),
  }));
  const handle = panel.svg.select(".explorable-handle");
  handle.selectAll("circle:not(.ring), path").style("stroke", "var(--ex-muted)");
  handle.select("circle:not(.ring)").style("fill", "var(--ex-ground)");
  // Where the curve is level the word has room below the handle, and where it falls above.
  const free = y(of(held)) + (measure === "keys" ? 30 : -22);
  say(group, "drag", x(held), free, "middle").style("fill", "var(--ex-muted)");
}

/** The length of the keys when this drag began. */
function heldAt({ memory, state }, { subject }) {
  if (memory.subject !== subject) Object.assign(memory, { subject, held: state.a });
  return memory.held;
}
