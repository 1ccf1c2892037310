/** Softmax in one pass, a block of keys at a time; a divisor is folded into the query, where the kernel does not see it. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { fromKey } from "./handles.js";
import * as math from "./math.js";
import { drawScoreHandles, scoreControl } from "./scores.js";
import { axes, element, fresh, rule, say, show, show3, textLine, wantsCalm } from "./shared.js";
import { keyScale } from "./weights.js";

const VALUES = [0.9, 0.2, 0.3, 0.1, 0.8, 1, 0.4, 0.3];
const SCORES = [1, 0.2, 2, 0.5, -0.5, 3.4, 0.8, 1.5];
const KEYS = SCORES.length;
const BLOCK = 2; // keys in one
const BLOCKS = KEYS / BLOCK;
const scoreRange = { min: -2, max: 6, step: 0.1 };
const sides = { left: 26, right: 48 };

export const online = {
  title: "Softmax, one block at a time",
  paired: true,
  controls: [
    { name: "c", label: "divisor c", values: [1, 1.4, 2, 2.8, 4, 5.6, 8], value: 1, text: String },
    { name: "read", min: 0, max: BLOCKS, step: 1, value: 1, drawn: true },
    ...SCORES.map((value, j) => ({ ...scoreControl(j + 1, value), ...scoreRange, drawn: true })),
  ],
  readouts: [],
  panelWidth: "max(18rem, 34%)", // two in a row, at most
  panels: [
    ["scores", "scores z = (q/c)·k: drag, or arrow keys", 146, { ...sides, top: 14, bottom: 38 }],
    ["terms", "kernel: terms e^{z−m}; green: times v", 146, { ...sides, top: 36, bottom: 38 }],
    ["kept", "kernel keeps: thin as it was, thick now", 96, { ...sides, top: 4, bottom: 24 }],
    ["output", "output o/ℓ", 96, { left: 68, right: 48, top: 20, bottom: 24 }],
  ],
  update(app) {
    const { c, read: asked } = app.state;
    const products = SCORES.map((_, j) => app.state[`z${j + 1}`]);
    const scores = products.map((z) => z / c);
    const steps = math.onlineSoftmax(scores, VALUES, BLOCK);
    drawStepper(app, asked);
    const come = progress(app, asked);
    const at = Math.ceil(come);
    const t = 1 - (at - come); // of the block that is being read
    const [now, before] = [steps[at], steps[at - 1]];
    const shown = between(now, before, t);
    drawScores(app, products, c, shown, before);
    drawTerms(app.panels.terms, scores, shown, before, now.factor);
    const [plain] = math.blend(
      math.softmax(scores),
      VALUES.map((v) => [v]),
    );
    const forgetting = math.onlineSoftmax(scores, VALUES, BLOCK, false);
    const forgotten = between(forgetting[at], forgetting[at - 1], t);
    drawKept(app.panels.kept, scores, shown, before);
    const ends = [shown, forgotten].map(quotient);
    drawOutput(app.panels.output, ends, plain);
    const result =
      at === BLOCKS && t === 1
        ? `o/ℓ = ${show(ends[0], 3)}, plain softmax’s; without the factors ${show(ends[1], 3)}.${c === 1 ? "" : ` With c = ${c} the factors are nearer 1.`}`
        : "Does o/ℓ reach plain softmax, though the kernel forgets its terms?";
    app.formula.replaceChildren(...explain(now, before, t, c), textLine(result));
    const told = steps[asked];
    const spoken = asked
      ? `${told.read} of ${KEYS} keys read. Maximum ${show(told.m, 1)}, earlier sums times ${show3(told.factor)}; sum ${show(told.l)}, output ${show(told.o / told.l, 3)}; plain softmax ${show(plain, 3)}. ${result}`
      : "No key is read yet.";
    return { values: {}, spoken };
  },
};

/** Of what is kept, where anything is. */
const quotient = ({ l, o }) => (l ? o / l : "–");

const BEAT = 400; // milliseconds: first m rises and what is kept shrinks, then the new terms come

/** How many blocks have come, of those that were asked for: only a way onwards takes time, less for each block the more of them are waiting, and none for those who want no motion. */
function progress(app, asked) {
  const { memory } = app;
  const time = performance.now();
  const calm = wantsCalm();
  if (!(memory.come < asked) || calm) memory.come = asked;
  else {
    const waiting = Math.ceil(asked - memory.come);
    const passed = memory.moving ? time - memory.time : 0;
    memory.come = Math.min(asked, memory.come + (waiting * passed) / (2 * BEAT));
  }
  const moving = memory.come < asked;
  Object.assign(memory, { time, moving });
  if (moving) app.redraw();
  return memory.come;
}

/** What is kept on the way from a step to the next; `grown` is the share of the new terms that has come. */
function between(now, before, t) {
  if (!before) return { ...now, grown: 1 };
  const [shrunk, grown] = [Math.min(1, 2 * t), Math.max(0, 2 * t - 1)];
  const factor = now.factor ** shrunk;
  const [newL, newO] = [grown * now.newL, grown * now.newO];
  const m = before.read ? before.m + shrunk * (now.m - before.m) : now.m;
  return { ...now, m, newL, newO, l: factor * before.l + newL, o: factor * before.o + newO, grown };
}

/** A slider over the blocks and a button that reads the next one, made once. */
function drawStepper(app, at) {
  if (!app.memory.stepper) {
    const id = "explorable-online-read";
    const range = element("input", { id, type: "range", min: 0, max: BLOCKS, step: 1 });
    const output = element("output", { for: id });
    const button = element("button", { type: "button", class: "explorable-step" });
    const go = (read) => app.set({ read });
    range.addEventListener("input", () => go(Number(range.value)));
    button.addEventListener("click", () => go((app.state.read + 1) % (BLOCKS + 1)));
    button.addEventListener("keydown", (event) => {
      const to = fromKey(event, app.state.read, { min: 0, max: BLOCKS, step: 1 });
      if (to === null) return;
      event.preventDefault();
      go(to);
    });
    const label = element("label", { for: id }, "blocks read");
    app.controls.prepend(
      button,
      element("div", { class: "explorable-control" }, label, output, range),
    );
    app.memory.stepper = { range, output, button };
  }
  const { range, output, button } = app.memory.stepper;
  range.value = at;
  range.setAttribute("aria-valuetext", `${at} of ${BLOCKS}`);
  output.textContent = `${at} of ${BLOCKS}`;
  button.textContent = at < BLOCKS ? "Read the next block" : "Start again";
}

const middle = (x, j) => x(j) + x.bandwidth() / 2;

/** From the left end of a key's place to the right end of another's. */
const span = (x, from, to) => [
  middle(x, from) - x.step() / 2 + 1,
  middle(x, to - 1) + x.step() / 2 - 1,
];

function keyAxes(panel, y, yTicks) {
  const x = keyScale(panel, KEYS);
  axes(panel, {
    x,
    y,
    yTicks,
    xTicks: x.domain(),
    xFormat: (j) => show(VALUES[j], 1),
    yFormat: (at) => String(at).replace("-", "−"),
    xLabel: "value v of each key",
  });
  return x;
}

/** A largest score for reading: a divided one has more decimals. */
const showMaximum = (m, c) => show(m, c === 1 ? 1 : 2);

/** Handles at the scores, z = (q·k)/c, on a scale where the products of the undivided query are marked by dashes. */
function drawScores(app, products, c, now, before) {
  const panel = app.panels.scores;
  const y = d3.scaleLinear([scoreRange.min - 1.2, scoreRange.max], panel.yRange); // numbers below
  const ground = fresh(panel.svg, "ground");
  const x = keyAxes(panel, y, [-2, 0, 2, 4, 6]);
  const [bottom, top] = y.range();
  for (let from = 0; from < KEYS; from += BLOCK) {
    const [left, right] = span(x, from, from + BLOCK);
    const current = from + BLOCK === now.read;
    ground
      .append("rect")
      .attr("x", left)
      .attr("width", right - left)
      .attr("y", top - 12)
      .attr("height", bottom - top + 12)
      .attr("rx", 3)
      .style("fill", current ? colour("weights") : "var(--ex-panel)")
      .style("fill-opacity", current ? 0.16 : from < now.read ? 1 : 0)
      .style("stroke", "var(--ex-grid)");
  }
  const bars = fresh(panel.svg, "bars");
  const maximum = (m, role, dashes, text, level) => {
    rule(bars, [x.range()[0], y(m)], [x.range()[1], y(m)], role)
      .style("stroke-width", 1.5)
      .style("stroke-dasharray", dashes);
    bars
      .append("text")
      .attr("x", x.range()[1] + 4)
      .attr("y", level + 4)
      .attr("font-size", 11)
      .style("fill", role)
      .text(text);
  };
  if (now.read) {
    if (before.m < now.m && before.read)
      maximum(
        before.m,
        "var(--ex-muted)",
        "3 3",
        `was ${showMaximum(before.m, c)}`,
        Math.max(y(before.m), y(now.m) + 14),
      );
    maximum(now.m, colour("weights"), "none", `m ${showMaximum(now.m, c)}`, y(now.m));
  }
  if (c !== 1) {
    say(bars, "– q·k", x.range()[1] + 4, y(scoreRange.max) + 4, "start").style(
      "fill",
      "var(--ex-muted)",
    );
    products.forEach((z, j) => {
      const [from, to] = [x(j), x(j) + x.bandwidth()];
      rule(bars, [from, y(z)], [to, y(z)], "var(--ex-muted)").style("stroke-width", 2);
    });
  }
  const lines = now.read ? [now.m, before.m].filter(Number.isFinite).map(y) : [];
  const below = (z) => {
    const taken = c === 1 ? lines : [...lines, y(z)];
    const free = (level) => level < bottom - 5 && taken.every((at) => Math.abs(at - level) > 8);
    return [21, -12, -26, -40].find((at) => free(y(z / c) + at - 4)) ?? -54;
  };
  const divided = y.copy().domain(y.domain().map((z) => z * c)); // from a product to its score's place
  const all = drawScoreHandles(app, panel, { x, y: divided }, products, scoreRange, below);
  const scores = products.map((z) => show(Math.round((10 * z) / c) / 10, 1));
  all.attr("aria-valuetext", (_, j) => scores[j]);
  all.select("circle:not(.ring)").style("opacity", (_, j) => (j < now.read ? 1 : 0.5));
  all
    .select("text")
    .attr("font-size", 11)
    .text((_, j) => scores[j]);
  panel.describe(
    `Scores ${scores.join(", ")}; ${now.read} are read${now.read ? `, the largest of them is ${show(now.m, 1)}` : ""}.`,
    "group",
  );
}

/** The terms of what was read, those of the last block as far as they have come. */
const termsOf = (scores, now, before) =>
  scores
    .slice(0, now.read)
    .map((z, j) => Math.exp(z - now.m) * (before && j >= before.read ? now.grown : 1));

/** The terms that the sums hold, and within each what it adds to o. The kernel forgets them; dashed, what those of earlier blocks were before m rose. */
function drawTerms(panel, scores, now, before, factor) {
  const y = d3.scaleLinear([0, 1], panel.yRange);
  const x = keyAxes(panel, y, [0, 0.5, 1]);
  const group = fresh(panel.svg, "bars");
  const terms = termsOf(scores, now, before);
  terms.forEach((term, j) => {
    const earlier = j < before.read;
    const bar = (height, share = 1) =>
      group
        .append("rect")
        .attr("x", middle(x, j) - (share * x.bandwidth()) / 2)
        .attr("width", share * x.bandwidth())
        .attr("y", y(height))
        .attr("height", y(0) - y(height));
    bar(term)
      .style("fill", colour("weights"))
      .style("fill-opacity", earlier ? 0.45 : 1);
    bar(term * VALUES[j], 0.5).style("fill", colour("value"));
    const was = earlier ? Math.exp(scores[j] - before.m) : term;
    if (was > 1.001 * term)
      bar(was)
        .style("fill", "none")
        .style("stroke", "var(--ex-muted)")
        .style("stroke-dasharray", "3 3");
    if (!earlier && term >= 0.005) say(group, show(term), middle(x, j), y(term) - 4, "middle");
  });
  if (factor < 1) {
    const level = panel.margin.top - 20;
    const [from, to] = span(x, 0, before.read);
    group
      .append("path")
      .attr("d", `M${from},${level + 5}v-5H${to}v5`)
      .style("stroke", "var(--ex-ink)")
      .style("fill", "none");
    group
      .append("text")
      .attr("class", "rim")
      .attr("x", (from + to) / 2)
      .attr("y", level - 4)
      .attr("text-anchor", "middle")
      .text(`× ${show3(factor)}`);
  }
  panel.describe(
    now.read
      ? `Terms ${terms.map((term) => show(term, 3)).join(", ")}; those of earlier blocks have been multiplied by ${show3(factor)}.`
      : "No terms yet.",
  );
}

/** Rows of bars with their names at the left and numbers at the right: a function that adds a bar to a row, and one that labels it. */
function drawRows(panel, names, end, ticks) {
  const x = d3.scaleLinear([0, end], panel.xRange);
  const y = d3.scaleBand(names, [panel.yRange[1], panel.yRange[0]]).padding(0.22);
  axes(panel, { x, y: d3.scaleLinear([0, 1], panel.yRange), xTicks: ticks, yTicks: 0 });
  const group = fresh(panel.svg, "bars");
  const [left, right] = x.range();
  const bar = (name, from, to) =>
    group
      .append("rect")
      .attr("x", x(from))
      .attr("width", Math.max(0, x(to) - x(from)))
      .attr("y", y(name))
      .attr("height", y.bandwidth());
  const label = (name, number) => {
    const level = y(name) + y.bandwidth() / 2 + 4;
    group
      .append("text")
      .attr("x", left - 6)
      .attr("y", level)
      .attr("text-anchor", "end")
      .text(name);
    group
      .append("text")
      .attr("x", right + 6)
      .attr("y", level)
      .style("font-weight", 600)
      .text(number);
  };
  for (const name of names) bar(name, 0, end).style("fill", "var(--ex-panel)");
  return { x, group, bar, label };
}

/** Bars of the two sums: pale what was kept from before, dark the terms of the block one after the other; above, thin, the sum before the step. */
function drawKept(panel, scores, now, before) {
  const { bar, label } = drawRows(panel, ["ℓ", "o"], KEYS, [0, 2, 4, 6, 8]);
  const added = termsOf(scores, now, before).slice(before?.read ?? 0);
  for (const [name, role, total, fresh, was, share] of [
    ["ℓ", "weights", now.l, now.newL, before?.l, () => 1],
    ["o", "value", now.o, now.newO, before?.o, (j) => VALUES[before.read + j]],
  ]) {
    const below = (from, to) => {
      const made = bar(name, from, to).style("fill", colour(role));
      const height = made.attr("height");
      return made.attr("y", Number(made.attr("y")) + 0.3 * height).attr("height", 0.7 * height);
    };
    let end = total - fresh;
    below(0, end).style("fill-opacity", 0.45);
    added.forEach((term, j) => {
      below(end, end + term * share(j))
        .style("stroke", "var(--ex-ground)")
        .style("stroke-width", 0.7);
      end += term * share(j);
    });
    if (was) bar(name, 0, was).style("fill", "var(--ex-muted)").attr("height", 4);
    label(name, show(total));
  }
  panel.describe(
    `Running sum ${show(now.l)}, of which the last block added ${show(now.newL)}; running output ${show(now.o)}, of which ${show(now.newO)}.`,
  );
}

/** The quotient of the sums, with the factors and without, beside that of plain softmax. */
function drawOutput(panel, outputs, plain) {
  const names = ["rescaled", "no factors"];
  const { x, group, bar, label } = drawRows(panel, names, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]);
  names.forEach((name, i) => {
    if (outputs[i] !== "–")
      bar(name, 0, outputs[i]).style("fill", i ? "var(--ex-muted)" : colour("value"));
    label(name, outputs[i] === "–" ? "–" : show(outputs[i], 3));
  });
  const [bottom, top] = panel.yRange;
  rule(group, [x(plain), bottom], [x(plain), top], "var(--ex-ink)").style("stroke-width", 2);
  group
    .append("text")
    .attr("class", "rim")
    .attr("x", Math.max(x(plain), x(0) + 34)) // it never reaches 1
    .attr("y", top - 5)
    .attr("text-anchor", "middle")
    .text("plain softmax");
  panel.describe(
    `Output ${names.map((name, i) => `${name} ${outputs[i] === "–" ? "none yet" : show(outputs[i], 3)}`).join(", ")}; plain softmax of all keys ${show(plain, 3)}.`,
  );
}

/** The step in numbers, each from when it is drawn: first the factor and what it leaves, then the new terms and the sums. */
function explain(now, before, t, c) {
  if (!now.read) return ["no key is read yet", "ℓ = 0", "o = 0"].map(textLine);
  if (!before.read)
    return [
      textLine(`m = ${showMaximum(now.m, c)}, the largest score of the block`),
      textLine(t < 1 ? "ℓ" : `ℓ = ${show(now.l, 3)}, the sum of its terms`),
      textLine(t < 1 ? "o" : `o = ${show(now.o, 3)}, of terms times v`),
    ];
  const [was, m] = [before.m, now.m].map((m) => showMaximum(m, c));
  const factor = now.factor < 1 ? show3(now.factor) : "1";
  const sum = (name, old, added, total) => {
    const left = `${name} = ${factor} · ${show(old, 3)}`;
    if (t < 0.5) return left;
    return t < 1
      ? `${left} + ${show(added, 3)}`
      : `${left} + ${show(added, 3)} = ${show(total, 3)}`;
  };
  return [
    textLine(
      now.factor < 1
        ? `m rises: factor e^{${was} − ${m}} = ${factor}`
        : `m stays: factor e^{${was} − ${m}} = 1`,
    ),
    textLine(sum("ℓ", before.l, now.newL, now.l)),
    textLine(sum("o", before.o, now.newO, now.o)),
  ];
}
