/** A layer that is trained in the page, with the chosen divisor and with another, to see how much later it learns without the root. */
import * as d3 from "../_shared/d3.js";
import { colour, lettersColour } from "../_shared/data.js";
import {
  COMMON,
  addButtons,
  axes,
  commonControls,
  comparedWith,
  divisorName,
  element,
  fresh,
  layer,
  point,
  rule,
  say,
  show,
  showCount,
  wantsCalm,
} from "../_shared/shared.js";
import { KEYS, LEVEL, MOST_STEPS } from "./layer.js";
/* global WORKER */

const SPREADS = new Map([
  [0.25, "¼"],
  [0.5, "½"],
  [1, "1"],
  [2, "2"],
]);
const BATCHES = [32, 256, 2048];
/** The seed to begin with: the first of the study's, whose steps at every batch are within a standard error of the means over eight. */
const TYPICAL = 3;
const HIGHEST = 2.4; // of the loss's axis: a query that is sure of a wrong key has 2
const SHORTEST = 40; // steps, of its other axis
const BETWEEN = 26; // px, from the first row of bars to the second
const SEEN = 0.25; // the share of the drawings that has to be in view
const READ = 250; // ms, for which a sentence stands at least
const NO_LONGER_LATER = 1.1; // so many times the steps of the root
const FEW = 4; // components, to which 16 keys look too much alike for the level
const DELAYED_AT = 32; // from this d_k on, and from a spread of 1, the layer is later on small batches without the division

const DIVISORS = {
  none: { of: () => 1, short: () => divisorName("none"), long: () => "without the division" },
  sqrt_d_k: {
    of: Math.sqrt,
    short: (dK) => `÷ √${dK}`,
    long: (dK) => `divided by √${dK}\u00a0${equals(Math.sqrt(dK))}`,
  },
  d_k: { of: (dK) => dK, short: (dK) => `÷ ${dK}`, long: (dK) => `divided by ${dK}` },
};

/** A root as it is, or about. */
const equals = (root) => (Number.isInteger(root) ? `=\u00a0${root}` : `≈\u00a0${show(root, 1)}`);

/** A weight with two digits, or about 0 or 1 where they would show none of it. */
const brief = (weight) => (weight < 0.005 ? "≈ 0" : weight > 0.995 ? "≈ 1" : show(weight));

/** The divisors of both layers: the chosen one, and what it is compared with. */
const pairOf = ({ divisor: chosen }) => [chosen, comparedWith(chosen)];

const [width, divisor] = commonControls;

export const train = {
  title: "Does dividing help a layer to learn?",
  prompt: "Two layers differ in their divisor only. What does a larger batch change?",
  hint: { target: "#explorable-train-batch" },
  shares: COMMON,
  controls: [
    { ...width, label: "width, d_k" }, // in half of a phone
    {
      name: "batch",
      label: "batch size",
      values: BATCHES,
      value: BATCHES[0],
      text: showCount,
    },
    {
      name: "spread",
      label: "spread of q·k at the start, in units of √d_k",
      values: [...SPREADS.keys()],
      value: 1,
      text: (spread) => SPREADS.get(spread),
    },
    divisor,
    { name: "seed", label: "seed", min: 1, max: 999, step: 1, value: TYPICAL, drawn: true },
  ],
  panels: [
    [
      "losses",
      "Loss on 512 queries that are kept aside",
      200,
      { left: 30, top: 26, right: 14, bottom: 38 },
    ],
    [
      "weights",
      "The weights of one of them on its 16 keys",
      200,
      { left: 2, right: 2, top: 22, bottom: 24 },
    ],
  ],
  forget({ memory }) {
    memory.begun = false;
    memory.worker.postMessage({ going: false });
  },
  update(app) {
    const { memory, panels, state } = app;
    if (!memory.ready) prepare(app);
    const setting = JSON.stringify(state);
    if (setting !== memory.setting || (!memory.begun && memory.records.length)) {
      memory.setting = setting;
      memory.records = [];
      if (memory.begun) begin(app);
    }
    memory.button.textContent = memory.begun ? "Train again" : "Train";
    memory.seed.textContent = `seed ${state.seed}`;
    const pair = pairOf(state);
    drawLosses(panels.losses, memory.records, pair, state.d_k);
    drawWeights(panels.weights, memory.records.at(-1), pair, state.d_k);
    memory.drawn = performance.now();
    const waiting = memory.begun
      ? "The layers are being trained."
      : "Train the layers to see how many steps each of them needs.";
    return {
      sentence: memory.records.length ? answer(memory.records.at(-1), pair, state) : waiting,
    };
  },
};

/** The worker, which a page in a folder makes of a text only; a button; and when to begin, to wait and to go on. */
function prepare(app) {
  const { controls, memory, state } = app;
  const figure = controls.closest("figure");
  const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  Object.assign(memory, { ready: true, run: 0, records: [], worker: new Worker(url) });
  memory.worker.onmessage = ({ data }) => receive(app, data);
  memory.worker.onerror = () => {
    const still = figure.querySelector(".explorable-static");
    if (!still) return; // a notebook shows the figure alone
    still.hidden = false; // where no worker may start, the picture stays
    figure.querySelector(".explorable-app").remove();
  };

  const [button] = addButtons(controls, "training", [
    [
      "Train",
      () => {
        if (memory.begun) return app.set({ seed: (state.seed % 999) + 1 });
        memory.setting = "";
        return app.set({});
      },
    ],
  ]);
  memory.button = button;
  memory.seed = element("span", { class: "train-seed" });
  button.after(memory.seed);
  // What a reader changes is trained; and what another figure or the address brings, once a training has begun.
  for (const event of ["input", "click"])
    controls.addEventListener(event, () => {
      memory.begun = memory.asked = true;
    });

  const go = () => {
    const going = memory.seen && !document.hidden;
    const untouched = ["batch", "spread", "seed"].every(
      (name) => state[name] === train.controls.find((control) => control.name === name).value,
    );
    const asked = figure.classList.contains("in-slide"); // there the presenter begins it
    if (going && !memory.begun && !memory.offered && untouched && !asked && !wantsCalm()) {
      memory.begun = true;
      memory.setting = "";
      app.redraw();
    }
    memory.offered ||= going; // it begins by itself at the first sight, or not at all
    memory.worker.postMessage({ going });
  };
  const panels = figure.querySelector(".explorable-panels");
  const watch = new IntersectionObserver(
    (entries) => {
      memory.seen = entries.at(-1).isIntersecting;
      go();
    },
    { threshold: SEEN },
  );
  watch.observe(panels);
  document.addEventListener("visibilitychange", go);
}

/** Train two layers at the setting of now, in place of those before. */
function begin({ memory, state }) {
  const { d_k: dK, batch, spread, seed } = state;
  const divisors = pairOf(state).map((name) => DIVISORS[name].of(dK));
  memory.worker.postMessage({
    run: ++memory.run,
    calm: wantsCalm(),
    setting: { dK, divisors, batch, spread, seed },
    going: Boolean(memory.seen) && !document.hidden,
  });
}

/**
 * Keep what is of this training, and draw it with the next frame: all of it where more than curves and bars is new, and a few times a
 * second for the sentence. At the end of a training that a reader asked for its sentence is spoken.
 */
function receive(app, records) {
  const { memory, panels, redraw, set } = app;
  if (!memory.begun || records[0].run !== memory.run) return;
  const before = memory.records.at(-1);
  const now = records.at(-1);
  memory.records.push(...records);
  const news = ["end", "reached", "done"].some((name) => `${now[name]}` !== `${before?.[name]}`);
  if (news || performance.now() - memory.drawn > READ) redraw();
  else
    memory.frame ||= requestAnimationFrame(() => {
      memory.frame = 0;
      if (!memory.records.length) return;
      moveCurves(panels.losses, memory.records);
      moveBars(panels.weights, memory.records.at(-1));
    });
  if (now.done && memory.asked) set({});
}

/** What the last record of a training says of both layers. */
export function answer(record, pair, { d_k: dK, batch, spread }) {
  const [chosen, other] = pair.map((name) => DIVISORS[name].long(dK));
  const { losses, reached, done, step } = record;
  if (!done)
    return `After ${step === 1 ? "1 step" : `${step} steps`} the loss is ${show(losses[0])} ${chosen}, and ${show(losses[1])} ${other}.`;
  const needed = reached.map((steps) => steps !== null);
  if (!needed[0] && !needed[1])
    return `Neither layer came down to a loss of ${LEVEL} within ${MOST_STEPS} steps, where these trainings end${dK === FEW ? `: with ${FEW} components keys look too much alike` : ""}.`;
  const first = needed[0]
    ? `${chosen}, the layer needed ${reached[0]} steps to a loss of ${LEVEL}`
    : `${chosen}, the layer was not at a loss of ${LEVEL} after ${MOST_STEPS} steps, where the training ends`;
  const second = needed[1]
    ? `${other} it needed ${reached[1]}`
    : `${other} it was not there after ${MOST_STEPS}, where the training ends`;
  const gone =
    pair.includes("sqrt_d_k") &&
    dK >= DELAYED_AT &&
    spread >= 1 &&
    batch > BATCHES[0] &&
    needed[0] &&
    needed[1] &&
    reached[pair.indexOf("none")] <= NO_LONGER_LATER * reached[pair.indexOf("sqrt_d_k")];
  return gone
    ? `On batches of ${showCount(batch)} the delay is gone: ${first}; ${second}.`
    : `${first[0].toUpperCase()}${first.slice(1)}; ${second}.`;
}

/** The chosen divisor in its own colour, and what it is compared with in grey; for lines and for letters. */
const inks = ([chosen]) => [colour(chosen), "var(--ex-muted)"];
const letters = ([chosen]) => [lettersColour(chosen), "var(--ex-muted)"];

/** What comes below the level stands in the colour of its curve: the earlier one to the left below, and the later one to the right above. */
function markSteps(panel, reached, pair) {
  const { x, y } = panel.scales;
  const marks = fresh(panel.svg, "ends");
  const there = reached.every((steps) => steps !== null);
  const earlier = there && reached[1] < reached[0] ? 1 : 0;
  for (const i of [1, 0]) {
    if (reached[i] === null) continue;
    const left = there && i === earlier;
    const [across, up] = [x(reached[i]), y(LEVEL)];
    point(marks, across, up, 4.5, inks(pair)[i]);
    say(marks, reached[i], across + (left ? -7 : 6), up + (left ? 14 : -7), left ? "end" : "start")
      .style("fill", letters(pair)[i])
      .style("font-weight", 700)
      .style("font-size", "13px");
  }
}

/** Both losses step by step, and where each comes below the level. */
function drawLosses(panel, records, pair, dK) {
  const last = records.at(-1);
  const end = last?.end ?? SHORTEST;
  const x = d3.scaleLinear([0, end], panel.xRange);
  const y = d3.scaleLinear([0, HIGHEST], panel.yRange);
  panel.scales = { x, y };
  const [left, right] = panel.xRange;
  const ground = [end, left, right, panel.height, ...pair, dK].join();
  if (panel.ground !== ground) {
    panel.ground = ground; // what only these change is drawn anew with them: it takes longest
    axes(panel, {
      x,
      y,
      xLabel: "steps of Adam",
      xTicks: 4,
      yTicks: [0, LEVEL, 1, 2],
      yFormat: String,
    });
    const fixed = fresh(panel.svg, "fixed");
    rule(fixed, [left, y(LEVEL)], [right, y(LEVEL)], "var(--ex-ink)").style(
      "stroke-dasharray",
      "5 4",
    );
    let edge = right;
    for (const i of [1, 0]) {
      const words = say(fixed, DIVISORS[pair[i]].short(dK), edge, 13, "end");
      words.style("fill", letters(pair)[i]).style("font-weight", 600);
      edge -= words.node().getComputedTextLength() + 6;
      rule(fixed, [edge - 18, 9], [edge, 9], inks(pair)[i]).style("stroke-width", 2.5);
      edge -= 32;
    }
  }
  layer(panel.svg, "curves")
    .selectAll("path")
    .data([1, 0])
    .join("path")
    .style("fill", "none")
    .style("stroke", (i) => inks(pair)[i])
    .style("stroke-width", 2.5);
  layer(panel.svg, "now")
    .selectAll("circle")
    .data(last ? [1, 0] : [])
    .join("circle")
    .attr("r", 3.5)
    .style("fill", (i) => inks(pair)[i]);
  markSteps(panel, last?.reached ?? [null, null], pair);
  moveCurves(panel, records);
  const tell = (name, i) => {
    const level =
      last.reached[i] === null ? `not yet at ${LEVEL}` : `at ${LEVEL} from step ${last.reached[i]}`;
    return `${DIVISORS[name].short(dK)} ${show(records[0].losses[i])} at first, ${show(last.losses[i])} after ${last.step} steps, ${level}`;
  };
  panel.describe(
    last
      ? `Held-out loss against steps of Adam: ${pair.map(tell).join("; ")}.`
      : "Held-out loss against steps of Adam: nothing is trained yet.",
  );
}

/** Both curves as far as they are now. */
function moveCurves({ svg, scales }, records) {
  const { x, y } = scales;
  const up = ({ losses }, i) => y(Math.min(HIGHEST, losses[i]));
  const curve = (i) =>
    d3.line(
      ({ step }) => x(step),
      (record) => up(record, i),
    )(records);
  svg.select(".curves").selectAll("path").attr("d", curve);
  const last = records.at(-1);
  svg
    .select(".now")
    .selectAll("circle")
    .attr("cx", () => x(last.step))
    .attr("cy", (i) => up(last, i));
}

/** A row of 16 bars for each layer; the first key is the right one. */
function drawWeights(panel, record, pair, dK) {
  const keys = [...Array(KEYS).keys()];
  const x = d3.scaleBand(keys, panel.xRange).padding(0.12);
  const [floor, top] = panel.yRange;
  const high = (floor - top - BETWEEN) / 2;
  const floors = [top + high, floor];
  panel.rows = { high, floors };
  const ground = [...panel.xRange, floor, Boolean(record), ...pair, dK].join();
  if (panel.ground !== ground) {
    panel.ground = ground;
    const fixed = fresh(panel.svg, "fixed");
    const bars = fresh(panel.svg, "bars");
    const column = (parent, j, height, level, fill) =>
      parent
        .append("rect")
        .attr("x", x(j))
        .attr("width", x.bandwidth())
        .attr("y", level - height)
        .attr("height", height)
        .style("fill", fill);
    const numbers = fresh(panel.svg, "numbers");
    for (const i of [0, 1]) {
      const above = floors[i] - high - 7;
      for (const j of keys) column(fixed, j, high, floors[i], "var(--ex-panel)");
      say(fixed, DIVISORS[pair[i]].short(dK), x(0), above, "start")
        .style("fill", letters(pair)[i])
        .style("font-weight", 600);
      column(fixed, 0, high, floors[i], "none").style("stroke", "var(--ex-ink)");
      if (!record) continue;
      for (const j of keys) column(bars, j, 0, floors[i], inks(pair)[i]);
      say(numbers, "", x(KEYS - 1) + x.bandwidth(), above, "end");
    }
    say(fixed, "↑ the right key", x(0) + x.bandwidth() / 2 - 4, floor + 17, "start");
  }
  if (record) moveBars(panel, record);
  const tell = (name, i) => `${DIVISORS[name].short(dK)} ${brief(record.weights[i][0])}`;
  panel.describe(
    record
      ? `One held-out query's weights on 16 keys, after ${record.step} steps; on the right key: ${pair.map(tell).join(", ")}.`
      : "One held-out query's weights on 16 keys: nothing is trained yet.",
  );
}

/** All bars as high as they are now, and the right key's as a number. */
function moveBars({ svg, rows }, { weights }) {
  const { high, floors } = rows;
  const place = (k) => [Math.floor(k / KEYS), k % KEYS];
  const height = (_, k) => {
    const [i, j] = place(k);
    return high * weights[i][j];
  };
  svg
    .select(".bars")
    .selectAll("rect")
    .attr("height", height)
    .attr("y", (_, k) => floors[place(k)[0]] - height(_, k));
  svg
    .select(".numbers")
    .selectAll("text")
    .text((_, i) => `${brief(weights[i][0])} on the right key`);
}
