/** The variance of q·k: which of its assumptions may be dropped. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawCursor } from "./handles.js";
import * as math from "./math.js";
import {
  addButtons,
  apart,
  axes,
  bar,
  element,
  fresh,
  layer,
  rich,
  rule,
  say,
  show,
  show3,
  spread,
  wantsCalm,
} from "./shared.js";

const DIMS = [1, 2, 4, 8, 16, 32, 64, 128];
// With seed 1 the variance for d_k = 1 and Laplace components is seven of its own standard errors off: 400 pairs may miss the tails.
const [PAIRS, SEED] = [400, 2];
const REACH = 12; // of the dots' axis, in roots of d_k: it holds any bar, and is the same for all, or a wider cloud could look narrower
const [LOWEST, HIGHEST] = [0.7, 140]; // variance over d_k on its axis, on which all that can be chosen stands, with its number
const DRAWING = 1200; // milliseconds, in which the line is drawn that was guessed

const dimsControl = {
  name: "d_k",
  label: "d_k",
  spoken: "components of a vector",
  values: DIMS,
  value: 64,
  text: (dK) => `${dK} component${dK > 1 ? "s" : ""}`,
  drawn: true,
};

/** What a setting can have that is 0 as long as its assumption holds. */
const symbols = { muQ: "μ_q", muK: "μ_k", rhoQ: "ρ_q", rhoK: "ρ_k" };

/** A box that drops an assumption: a mean or a correlation is 0, or this. */
const box = (name, label, dropped) => ({
  name,
  label,
  options: { 0: "0", [dropped]: String(dropped) },
  value: "0",
  check: true,
});

/** The pairs may be all, or those of a row: one query, whose keys have in common what their mean adds. Softmax does not see that. */
const rowControl = {
  name: "within",
  label: "subtract row means",
  options: { all: "all", row: "row" },
  value: "all",
  check: true,
  group: "pairs",
};

/** Of the panel of dots, which lie around `centre`. */
const titleOf = (centre) => `(q·k − ${centre}) / √d_k of 400 pairs`;

/** What is asked before it is drawn, one after the other: the boxes that would be ticked, in words. */
const QUESTIONS = [
  [["muQ", "muK"], "queries and keys get a mean μ of 1"],
  [["rhoQ"], "queries get a correlation ρ of 0.3"],
  [["rhoQ", "rhoK"], "queries and keys get a correlation ρ of 0.3"],
  [["muQ", "rhoK"], "queries get a mean μ of 1, keys a correlation ρ of 0.3"],
];

/** What the line can do, and a line that does so, to guess it by. */
const WAYS = {
  stays: { said: "stays at 1", sketch: dropping([]).setting },
  lifted: { said: "lifted, but flat", sketch: { ...dropping([]).setting, muQ: 1.2 } },
  rises: { said: "rises with d_k", sketch: dropping(["rhoQ", "rhoK"]).setting },
};

/** Stands in the place of the next question when all were seen. */
const RULE = [
  "A μ lifts the line. A ρ on one side alone leaves it flat.",
  "It rises if the other side has a ρ or a μ.",
];

/** What is said while all assumptions hold. */
const HOLD = "All assumptions of the proof hold: the line is level at 1. Each box drops one.";

/** The same where the components are not normal. */
const SHAPE = "Another shape of the same mean and variance moves nothing: the proof used none.";

export const variance = {
  title: "What moves the variance of q·k?",
  controls: [
    dimsControl,
    { ...box("mu_q", `queries ${symbols.muQ}`, 1), group: "mean 1" },
    box("mu_k", `keys ${symbols.muK}`, 1),
    { ...box("rho_q", `queries ${symbols.rhoQ}`, 0.3), group: "correlation 0.3" },
    box("rho_k", `keys ${symbols.rhoK}`, 0.3),
    {
      name: "components",
      label: "drawn from",
      options: data.distributions,
      value: "normal",
      group: "components",
    },
    rowControl,
  ],
  readouts: [
    ["derived", "derived"],
    ["measured", "measured, 400 pairs"],
  ],
  panelWidth: "100%",
  panels: [
    [
      "line",
      "variance over d_k (points: measured)",
      290,
      { left: 29, right: 70, top: 32, bottom: 36 },
    ],
    ["dots", titleOf("mean"), 96, { left: 14, right: 14, top: 28, bottom: 20 }],
  ],
  forget({ memory }) {
    delete memory.visited;
    delete memory.guess;
  },
  update(app) {
    const { d_k: dK, components, within } = app.state;
    const [muQ, muK, rhoQ, rhoK] = ["mu_q", "mu_k", "rho_q", "rho_k"].map((name) =>
      Number(app.state[name]),
    );
    // Less its row's mean, q·k is q·(k − μ_k): as if the keys had none.
    const setting = { muQ, muK: within === "row" ? 0 : muK, rhoQ, rhoK };
    const scene = sceneOf(app, setting);
    const { memory, panels } = app;
    const drawn = pairs(components, memory);
    const derived = math.dotProductVariance(dK, setting);
    const samples = DIMS.map((dims, at) => math.dotProducts(drawn, at, dims, setting));
    const measured = samples.map((sample, at) => {
      const { variance, error } = math.measureVariance(sample);
      return { variance: variance / DIMS[at], error: error / DIMS[at] };
    });
    const chosen = DIMS.indexOf(dK);
    const ratio = derived.variance / dK;
    const places = Array.from(samples[chosen], (s) => (s - dK * muQ * setting.muK) / Math.sqrt(dK));
    const slowly = memory.drawing && !wantsCalm();
    const dots = panels.dots.svg.selectAll(".glides *");
    dots.style("transition-duration", slowly ? `${DRAWING}ms` : null);
    drawDots(panels.dots, places, Math.sqrt(ratio), within === "row" ? "row’s mean" : "mean");
    drawLine(app, setting, measured, chosen, ratio, scene);
    const asked = askReader(app, setting, scene);
    const verdict = judge(setting, derived, app.state);
    const what = within === "row" ? "q·k − row’s mean" : "q·k";
    const lines = [[terms(setting, what), numbers(dK, derived)], [verdict]];
    app.formula.replaceChildren(
      ...lines.map((parts) =>
        element("span", { class: "explorable-line" }, ...parts.flatMap(unbroken)),
      ),
    );
    if (slowly) drawSlowly(app);
    memory.drawing = false;
    const { variance: found, error } = measured[chosen];
    const values = { derived: ratio, measured: withError(found, error) };
    return {
      values,
      spoken: `Variance over d_k derived ${show3(ratio)}, measured ${values.measured.replace("±", "plus or minus")}. ${`${asked} ${verdict}`.replaceAll("_", " ")}`,
    };
  },
};

/** A number with its error, to the error's first digit. */
function withError(x, error) {
  const digits = Math.min(3, Math.max(0, -Math.floor(Math.log10(error))));
  return `${show(x, digits)} ± ${show(error, digits)}`;
}

const keyOf = (setting) => JSON.stringify(setting);

/** The settings that the reader has seen, this one last; the question that is asked next, and whether it stands now; the guess for this setting. */
function sceneOf({ memory, state }, setting) {
  const key = keyOf(setting);
  const before = (memory.visited ?? []).filter((one) => keyOf(one) !== key);
  const visited = (memory.visited = [...before, setting]);
  const seen = visited.map(keyOf);
  const all = state.within === "all";
  memory.next = QUESTIONS.find(([names]) => !seen.includes(keyOf(dropping(names).setting)));
  return {
    visited,
    question: memory.next,
    asking: Boolean(memory.next) && all && key === keyOf(dropping([]).setting),
    guess: all && memory.guess?.key === key ? memory.guess : null,
  };
}

/** What a line does in a setting. */
function way(setting) {
  const { constant, excess } = math.dotProductVariance(1, setting);
  return excess > 0 ? "rises" : constant > 1 ? "lifted" : "stays";
}

/** The setting in which these boxes alone are ticked: as the formulas have it, and as the controls do. */
function dropping(names) {
  const values = { muQ: 1, muK: 1, rhoQ: 0.3, rhoK: 0.3 };
  const setting = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, names.includes(name) ? value : 0]),
  );
  const [mu_q, mu_k, rho_q, rho_k] = Object.values(setting).map(String);
  return { setting, changes: { mu_q, mu_k, rho_q, rho_k, within: "all" } };
}

/** What stands above the drawing: the question, then how the guess fared, or what was dropped, and at last the rule; with a button for the next question. */
function askReader(app, setting, { question, asking, guess }) {
  const { memory, extra } = app;
  if (!memory.asked) {
    memory.asked = element("p", { class: "explorable-asked" });
    extra.append(memory.asked);
    [memory.button] = addButtons(extra, "questions", [["", (event) => goOn(app, event)]]);
    memory.verdict = element("span");
    memory.button.before(memory.verdict);
    app.controls.before(extra);
    app.panels.dots.heading.parentNode.before(app.formula);
    app.panels.dots.heading.parentNode.parentNode.after(app.controls);
  }
  const texts = textsOf(setting, { question, asking, guess });
  memory.asked.replaceChildren(rich(texts[0]));
  memory.verdict.replaceChildren(rich(texts[1]));
  memory.verdict.hidden = !texts[1];
  memory.button.textContent = question ? "Next question" : "The rule";
  memory.button.hidden = asking || (!question && !guess);
  return texts.join(" ");
}

function textsOf(setting, { question, asking, guess }) {
  const asks = (one) => `Guess ${QUESTIONS.indexOf(one) + 1} of ${QUESTIONS.length}: ${one[1]}.`;
  if (guess) {
    const right = way(setting);
    const verdict = guess.answer === right ? "Yes" : "No";
    return [asks(guess.question), `${verdict}: ${WAYS[right].said}.`];
  }
  if (asking) return [asks(question), "Press the kind of line that you expect."];
  if (question) return [`Dropped: ${namesOf(setting).join(", ") || "none"}.`, ""];
  return RULE;
}

/** The symbols of what a setting drops. */
const namesOf = (setting) =>
  Object.keys(symbols)
    .filter((name) => setting[name] > 0)
    .map((name) => symbols[name]);

/** A guess: its line is drawn. A key's next press is for the button that comes. */
function choose(app, question, answer, byKey) {
  const { memory } = app;
  const { setting, changes } = dropping(question[0]);
  memory.guess = { key: keyOf(setting), answer, question };
  memory.drawing = true;
  app.set(changes);
  app.settle();
  if (byKey) memory.button.focus({ preventScroll: true });
}

/** To the next question, beside the textbook's line; after the last the rule takes the place of the guess. */
function goOn(app, event) {
  app.memory.guess = null;
  app.set(app.memory.next ? dropping([]).changes : {});
  app.settle();
  if (event.detail === 0)
    app.panels.line.svg.select(".pill").node()?.focus({ preventScroll: true });
}

/** The line and its points come from left to right, and at the end what is said of them. */
function drawSlowly({ panels, memory, formula }) {
  const [line, dots] = [panels.line.svg, panels.dots.svg];
  const come = { clipPath: ["inset(-10px 100% -10px -10px)", "inset(-10px)"] };
  line.select(".now").node().animate(come, DRAWING);
  const said = [line.select(".been"), line.select(".value"), dots.select(".bars")];
  const nodes = [...said.map((one) => one.node()), memory.button.parentNode, ...formula.children];
  for (const node of nodes) node.animate({ opacity: [0, 0, 1], offset: [0, 0.9, 1] }, DRAWING);
}

/** A line of text as nodes that are broken, where need be, before the term with d_k alone. */
const unbroken = (text) =>
  text
    .split(/(?= \+ \(d_k)/)
    .map((part) => element("span", { class: "explorable-term" }, rich(part)));

/** Three digits, without zeros at the end. */
const brief = (x) => show3(x).replace(/\.?0+$/, "");

/** The formula, with the terms that are not zero. */
function terms({ muQ, muK, rhoQ, rhoK }, what) {
  const present = (all) =>
    all.filter(([factors]) => factors.every((x) => x > 0)).map(([, text]) => text);
  const constant = present([
    [[1], "1"],
    [[muQ], "μ_q^2"],
    [[muK], "μ_k^2"],
  ]);
  const excess = present([
    [[rhoQ, rhoK], "ρ_qρ_k"],
    [[muQ, rhoK], "μ_q^2ρ_k"],
    [[muK, rhoQ], "μ_k^2ρ_q"],
  ]);
  const sum = excess.join(" + ");
  const grows = excess.length > 1 ? `(${sum})` : sum;
  return `Var(${what})/d_k = ${constant.join(" + ")}${grows && ` + (d_k − 1)${grows}`}`;
}

/** The same in numbers, where there is more than the 1. */
function numbers(dK, { constant, excess, variance }) {
  if (constant === 1 && excess === 0) return "";
  const risen = excess > 0 ? ` + ${dK - 1} · ${brief(excess)} = ${brief(variance / dK)}` : "";
  return ` = ${brief(constant)}${risen}`;
}

/** What the assumptions that are left say; the state has the μ_k of the box, which a row does not see. */
function judge(setting, { constant, excess, variance }, { d_k: dK, mu_k: muK, ...state }) {
  if (excess > 0) {
    const near = variance < 1.25 * dK ** 2 * excess;
    return near ? "The power breaks: d_k^2 in place of d_k." : "The power breaks at larger d_k.";
  }
  if (constant > 1)
    return `The constant is ${brief(constant)}; the power holds: the line is level.`;
  if (Number(muK) > setting.muK)
    return "Within a row, which is what softmax sees, μ_k moves nothing.";
  if (setting.rhoQ + setting.rhoK > 0) return "A correlation on one side alone moves nothing.";
  if (state.within === "row")
    return "Without μ_k the row’s mean is 0 already: to take it away changes nothing.";
  return state.components === "normal" ? HOLD : SHAPE;
}

/** The pairs of a distribution, drawn once; soon after, in a pause, those of the next. */
function pairs(distribution, memory) {
  memory.pairs ??= {};
  if (distribution in memory.pairs) return memory.pairs[distribution];
  const setting = { pairs: PAIRS, dims: DIMS, distribution, seed: SEED };
  const drawn = (memory.pairs[distribution] = math.samplePairs(setting));
  const next = Object.keys(data.distributions).find((name) => !(name in memory.pairs));
  if (next) setTimeout(() => pairs(next, memory), 200);
  return drawn;
}

/** A dot for each pair, at a height of its own, so that dots glide along the axis alone; a bar of one standard deviation to either side. Those beyond the axis are arrows at its ends. */
function drawDots(panel, places, std, centre) {
  panel.heading.replaceChildren(rich(titleOf(centre)));
  const x = d3.scaleLinear([-REACH, REACH], panel.xRange).clamp(true);
  const y = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: [-12, -8, -4, 0, 4, 8, 12],
    yTicks: 0,
    xFormat: (at) => String(at).replace("-", "−"),
  });
  const [bottom, top] = y.range();
  const [left, right] = x.range();
  const height = (i) => bottom - 4 - spread(i) * (bottom - top - 8);
  const circles = gliding(panel.svg, "dots").selectAll("circle").data(places);
  circles
    .enter()
    .append("circle")
    .attr("r", 2)
    .attr("cy", (_, i) => height(i))
    .style("fill", colour("key"))
    .style("fill-opacity", 0.55)
    .merge(circles)
    .attr("cx", (at) => x(at))
    .style("visibility", (at) => (Math.abs(at) > REACH ? "hidden" : null));
  const spans = gliding(panel.svg, "spans");
  layer(spans, "one", "path")
    .attr("d", `M${x(-1)},${bottom}V${top}M${x(1)},${bottom}V${top}`)
    .style("stroke", "var(--ex-muted)")
    .style("stroke-dasharray", "4 3");
  const level = top - 9;
  const [from, to] = [x(-std), x(std)];
  bar(layer(spans, "bar", "path"), from, to, level);
  const group = fresh(panel.svg, "bars");
  const beside = to + 50 < right;
  say(
    group,
    `±${show(std)}`,
    beside ? to + 6 : (from + to) / 2,
    beside ? level + 4 : level - 5,
    beside ? "start" : "middle",
  );
  places.forEach((at, i) => {
    if (Math.abs(at) <= REACH) return;
    const out = Math.sign(at);
    group
      .append("path")
      .attr("class", "beyond")
      .attr("d", `M${x(at) + 8 * out},${height(i)}l${-6 * out},-3v6Z`)
      .style("fill", colour("key"))
      .style("fill-opacity", 0.55);
  });
  const [less, more] = [-1, 1].map((side) => places.filter((at) => side * at > REACH).length);
  if (less) say(group, `← ${less} more`, left - 8, 10, "start");
  if (more) say(group, `${more} more →`, right + 8, 10, "end");
  panel.describe(
    `${places.length} dots on an axis from −${REACH} to ${REACH}; derived standard deviation ${show3(std)}; ${less + more} lie farther out.`,
  );
}

/** A layer whose dots and paths glide to their new places, by the style sheet. */
const gliding = (svg, name) => layer(svg, name).classed("glides", true);

/** Beside each line's right end what was dropped there, bold for the line of now, which is the last; and the guess, where another line came. */
function nameLines(group, { visited, guess }, levelOf, panel) {
  const [, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  const lines = new Map(visited.map((setting) => [levelOf(setting).toFixed(3), setting]));
  const labels = [...lines.values()].map((setting) => ({
    level: levelOf(setting),
    names: namesOf(setting),
    now: setting === visited.at(-1),
  }));
  const guessed = guess && levelOf(WAYS[guess.answer].sketch);
  if (guess && guessed !== levelOf(visited.at(-1)))
    labels.push({ level: guessed, names: ["guess"] });
  const heights = apart(
    labels.map(({ level }) => level),
    15,
    top - 4,
    bottom - 4,
  );
  labels.forEach(({ level, names, now }, i) => {
    const ink = now ? "var(--ex-ink)" : "var(--ex-muted)";
    rule(group, [right, level], [right + 6, heights[i]], ink);
    const label = say(group, "", right + 8, heights[i] + 4, "start")
      .style("fill", ink)
      .style("font-weight", now ? 700 : 400);
    let lowered = false;
    for (const name of names.length ? names : ["none"])
      name.split("_").forEach((part, low) => {
        label
          .append("tspan")
          .attr("dy", 3 * (low - lowered))
          .attr("font-size", low ? "75%" : null)
          .text(part);
        lowered = low;
      });
  });
}

/** The lines to guess by, each with its word for a button; of these the one that was chosen stays. */
function drawSketches(app, panel, curve, levelOf, { question, asking, guess }) {
  const group = layer(panel.svg, "sketches").style("pointer-events", asking ? null : "none");
  const [, right] = panel.xRange;
  for (const [answer, { said, sketch }] of Object.entries(WAYS)) {
    const one = layer(group, answer).classed("explorable-sketch", true);
    if (!asking) one.selectAll(".touch, .pill").remove();
    if (!asking && guess?.answer !== answer) {
      one.select(".dashes").remove();
      continue;
    }
    one
      .on("pointerdown", (event) => event.stopPropagation())
      .on("click", () => choose(app, question, answer, false));
    curve(layer(one, "dashes", "path"), sketch)
      .style("stroke", "var(--ex-ink)")
      .style("stroke-dasharray", "7 5");
    if (!asking) continue;
    curve(layer(one, "touch", "path"), sketch)
      .style("stroke", "transparent")
      .attr("stroke-width", 24);
    const pill = layer(one, "pill")
      .attr("role", "button")
      .attr("tabindex", 0)
      .attr("aria-label", said.replace("_", " "))
      .attr("transform", `translate(${right + 6},${levelOf(sketch)})`)
      .on("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(app, question, answer, true);
      });
    layer(pill, "ground", "rect").attr("y", -15).attr("width", 54).attr("height", 30).attr("rx", 4);
    layer(pill, "word", "text")
      .attr("x", 27)
      .attr("y", 4)
      .attr("text-anchor", "middle")
      .text(answer);
  }
}

/** The derived variance over d_k against d_k, pale where one has been, and what was measured, with bars of one standard error. */
function drawLine(app, setting, measured, chosen, ratio, scene) {
  const panel = app.panels.line;
  const x = d3.scaleLog([1, DIMS.at(-1)], panel.xRange);
  const y = d3.scaleLog([LOWEST, HIGHEST], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: [1, 4, 16, 64, 128],
    yTicks: [1, 2, 5, 10, 20, 50, 100],
    xFormat: String,
    yFormat: String,
    xLabel: "d_k",
  });
  const cursor = fresh(panel.svg, "cursor");
  const been = fresh(panel.svg, "been");
  const [left] = x.range();
  const grid = Array.from({ length: 65 }, (_, i) => DIMS.at(-1) ** (i / 64));
  const curve = (path, of) =>
    path
      .attr(
        "d",
        d3.line()(grid.map((dK) => [x(dK), y(math.dotProductVariance(dK, of).variance / dK)])),
      )
      .style("fill", "none")
      .style("stroke", colour("weights"))
      .attr("stroke-width", 2);
  const levelOf = (of) => y(math.dotProductVariance(DIMS.at(-1), of).variance / DIMS.at(-1));
  if (!scene.asking) {
    for (const other of scene.visited) curve(been.append("path"), other).style("opacity", 0.3);
    nameLines(been, scene, levelOf, panel);
  }
  const now = gliding(panel.svg, "now");
  if (app.memory.drawing) now.selectAll("*").remove(); // or it would glide there from the textbook's line
  curve(layer(now, "curve", "path"), setting);
  measured.forEach(({ variance, error }, at) => {
    const [across, low, high] = [x(DIMS[at]), y(variance - error), y(variance + error)];
    layer(now, `error-${at}`, "path")
      .attr("d", `M${across},${low}V${high}`)
      .style("stroke", colour("key"))
      .style("stroke-width", 1.5);
    layer(now, `point-${at}`, "circle")
      .attr("cx", across)
      .attr("cy", y(variance))
      .attr("r", at === chosen ? 6 : 3)
      .style("fill", colour("key"));
  });
  drawSketches(app, panel, curve, levelOf, scene);
  // Beside the line to drag, where the curve is lower.
  const [at, level] = [x(DIMS[chosen]), y(Math.max(ratio, measured[chosen].variance))];
  const atLeft = at < left + 44;
  layer(gliding(panel.svg, "value"), "rim", "text")
    .attr("x", at + (atLeft ? 9 : -9))
    .attr("text-anchor", atLeft ? "start" : "end")
    .style("transform", `translateY(${level - (atLeft ? 15 : 10)}px)`)
    .style("font-weight", 700)
    .text(show3(ratio));
  drawCursor(app, panel, cursor, dimsControl, x);
  panel.describe(
    `Variance over d_k, derived and measured: ${measured.map(({ variance, error }, i) => `at ${DIMS[i]} ${show3(math.dotProductVariance(DIMS[i], setting).variance / DIMS[i])}, measured ${show(variance)} ± ${show(error)}`).join("; ")}.`,
    "group",
  );
}
