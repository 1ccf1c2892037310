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
} from "./shared.js";

const DIMS = [1, 2, 4, 8, 16, 32, 64, 128];
// With seed 1 the variance for d_k = 1 and Laplace components is seven of its own standard errors off: 400 pairs may miss the tails.
const [PAIRS, SEED] = [400, 2];
const REACH = 12; // of the dots' axis, in roots of d_k: it holds any bar, and is the same for all, or a wider cloud could look narrower
const HIGHEST = 400; // variance over d_k on its axis, on which all that can be chosen stands

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
  label: "minus the row’s mean",
  options: { all: "all", row: "row" },
  value: "all",
  check: true,
  group: "pairs",
};

/** Of the panel of dots, which lie around `centre`. */
const titleOf = (centre) => `(q·k − ${centre}) / √d_k of 400 pairs`;

/** What is asked before it is drawn, one after the other: the boxes that would be ticked. */
const QUESTIONS = [["muQ", "muK"], ["rhoQ"], ["rhoQ", "rhoK"], ["muQ", "rhoK"]];

/** What the line can do. */
const answers = { stays: "stays at 1", lifted: "lifted, but flat", rises: "rises with d_k" };

/** Stands in the place of the next question when all were seen. */
const RULE = "A μ lifts the line. It rises where one side has a ρ, and the other a ρ or a μ.";

/** What is said while all assumptions hold. */
const HOLD = "All assumptions of the proof hold: the line is level at 1. Each box drops one.";

/** The same where the components are not normal. */
const SHAPE =
  "Another distribution with the same mean and variance leaves the line where it is: the proof used no shape.";

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
    ["dots", titleOf("mean"), 96, { left: 14, right: 14, top: 28, bottom: 20 }],
    [
      "line",
      "variance over d_k, derived and measured",
      170,
      { left: 34, right: 108, top: 30, bottom: 36 },
    ],
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
    const visited = remember(app.memory, setting);
    const drawn = pairs(components, app.memory);
    const derived = math.dotProductVariance(dK, setting);
    const samples = DIMS.map((dims, at) => math.dotProducts(drawn, at, dims, setting));
    const measured = samples.map((sample, at) => {
      const { variance, error } = math.measureVariance(sample);
      return { variance: variance / DIMS[at], error: error / DIMS[at] };
    });
    const chosen = DIMS.indexOf(dK);
    const ratio = derived.variance / dK;
    const places = Array.from(samples[chosen], (s) => (s - dK * muQ * setting.muK) / Math.sqrt(dK));
    drawDots(app.panels.dots, places, Math.sqrt(ratio), within === "row" ? "row’s mean" : "mean");
    drawLine(app, setting, measured, chosen, ratio, visited);
    const what = within === "row" ? "q·k − row’s mean" : "q·k";
    const asked = askReader(app, visited);
    const said = app.memory.guess?.key === keyOf(setting) ? comment(setting, app.memory.guess) : "";
    const verdict = said + judge(setting, derived, app.state);
    app.formula.replaceChildren(
      ...[terms(setting, what), numbers(dK, derived), verdict]
        .filter(Boolean)
        .map((text) => element("span", { class: "explorable-line" }, ...unbroken(text))),
    );
    const { variance: found, error } = measured[chosen];
    const values = { derived: ratio, measured: withError(found, error) };
    return {
      values,
      spoken: `Variance over d_k derived ${show3(ratio)}, measured ${values.measured.replace("±", "plus or minus")}. ${`${verdict} ${asked}`.replaceAll("_", " ")}`,
    };
  },
};

/** A number with its error, to the error's first digit. */
function withError(x, error) {
  const digits = Math.min(3, Math.max(0, -Math.floor(Math.log10(error))));
  return `${show(x, digits)} ± ${show(error, digits)}`;
}

const keyOf = (setting) => JSON.stringify(setting);

/** The settings that the reader has seen, and this one, which is the last. */
function remember(memory, setting) {
  const before = (memory.visited ?? []).filter((one) => keyOf(one) !== keyOf(setting));
  return (memory.visited = [...before, setting]);
}

/** What a line does in a setting. */
function way(setting) {
  const { constant, excess } = math.dotProductVariance(1, setting);
  return excess > 0 ? "rises" : constant > 1 ? "lifted" : "stays";
}

/** How the reader's answer fared. */
function comment(setting, { answer }) {
  const right = way(setting);
  return `${answer === right ? "Yes" : "No"}: ${answers[right]}. `;
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

/** The first question whose answer has not been drawn yet, with a button for each answer, which draws it; what is asked. */
function askReader(app, visited) {
  const { memory, extra } = app;
  const seen = visited.map(keyOf);
  const next = QUESTIONS.find((names) => !seen.includes(keyOf(dropping(names).setting)));
  if (!memory.buttons) {
    memory.asked = element("p", { class: "explorable-asked" });
    extra.append(memory.asked);
    app.controls.before(app.formula, extra);
    const choices = Object.entries(answers).map(([answer, label]) => [
      label,
      () => {
        const { setting, changes } = dropping(memory.next);
        memory.guess = { key: keyOf(setting), answer };
        app.set(changes);
      },
    ]);
    memory.buttons = addButtons(extra, "what the line does", choices)[0].parentNode;
  }
  memory.next = next;
  memory.buttons.style.visibility = next ? "" : "hidden"; // its place stays
  const asked = next
    ? `Guess before it is drawn: the line with ${next.map((name) => symbols[name]).join(" and ")}${next.length > 1 ? "" : " alone"} …`
    : RULE;
  memory.asked.replaceChildren(rich(asked));
  return asked;
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
  return `= ${brief(constant)}${risen}`;
}

/** What the assumptions that are left say; the state has the μ_k of the box, which a row does not see. */
function judge(setting, { constant, excess, variance }, { d_k: dK, mu_k: muK, ...state }) {
  if (excess > 0) {
    const near = variance < 1.25 * dK ** 2 * excess;
    return near
      ? "The power breaks: this ratio grows like d_k, the variance like d_k^2."
      : "The power will break: at larger d_k this ratio grows like d_k.";
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

/** Beside each line's right end what was dropped there, bold for the line of now, which is the last; of lines that are the same the last two. */
function nameLines(group, visited, levelOf, panel) {
  const [, right] = panel.xRange;
  const [bottom, top] = panel.yRange;
  const lines = new Map();
  visited.forEach((setting) => {
    const level = levelOf(setting).toFixed(3);
    lines.set(level, [...(lines.get(level) ?? []), setting]);
  });
  const levels = [...lines.keys()].map(Number);
  const heights = apart(levels, 15, top - 14, bottom - 4);
  [...lines.values()].forEach((alike, i) => {
    const ink = alike.includes(visited.at(-1)) ? "var(--ex-ink)" : "var(--ex-muted)";
    rule(group, [right, levels[i]], [right + 8, heights[i]], ink);
    const label = say(group, "", right + 11, heights[i] + 4, "start").style("fill", ink);
    let lowered = false;
    const write = (text, bold, low) => {
      label
        .append("tspan")
        .attr("dy", 3 * (low - lowered))
        .attr("font-size", low ? "75%" : null)
        .style("font-weight", bold ? 700 : 400)
        .text(text);
      lowered = low;
    };
    alike.slice(-2).forEach((setting, place) => {
      const now = setting === visited.at(-1);
      const dropped = Object.keys(symbols).filter((name) => setting[name] > 0);
      if (place) write(" = ", false, false);
      if (!dropped.length) write("none", now, false);
      dropped.forEach((name) => {
        const [letter, side] = symbols[name].split("_");
        write(letter, now, false);
        write(side, now, true);
      });
    });
  });
}

/** The derived variance over d_k against d_k, pale where one has been, and what was measured, with bars of one standard error. */
function drawLine(app, setting, measured, chosen, ratio, visited) {
  const panel = app.panels.line;
  const x = d3.scaleLog([1, DIMS.at(-1)], panel.xRange);
  const y = d3.scaleLog([0.5, HIGHEST], panel.yRange);
  axes(panel, {
    x,
    y,
    xTicks: [1, 4, 16, 64, 128],
    yTicks: [1, 10, 100],
    xFormat: String,
    yFormat: String,
    xLabel: "d_k",
  });
  const cursor = fresh(panel.svg, "cursor");
  const been = fresh(panel.svg, "been");
  const group = fresh(panel.svg, "curves");
  const [left, right] = x.range();
  rule(group, [left, y(1)], [right, y(1)], "var(--ex-muted)").style("stroke-dasharray", "4 3");
  const grid = Array.from({ length: 65 }, (_, i) => DIMS.at(-1) ** (i / 64));
  const curve = (path, of) =>
    path
      .attr(
        "d",
        d3.line()(grid.map((dK) => [x(dK), y(math.dotProductVariance(dK, of).variance / dK)])),
      )
      .style("fill", "none")
      .style("stroke", colour("weights"))
      .style("stroke-width", 2);
  for (const other of visited) curve(been.append("path"), other).style("opacity", 0.3);
  nameLines(
    been,
    visited,
    (of) => y(math.dotProductVariance(DIMS.at(-1), of).variance / DIMS.at(-1)),
    panel,
  );
  const now = gliding(panel.svg, "now");
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
