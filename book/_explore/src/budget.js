/** Stop the study: which of ten models have learned by then, and what nobody has seen yet. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawCursor } from "./handles.js";
import {
  addButtons,
  axes,
  fresh,
  rich,
  richLabel,
  richText,
  rule,
  say,
  wantsCalm,
} from "./shared.js";

const { budget: study } = data;
const names = Object.keys(study.labels);
const step = (stop) => `step ${stop}`;

const stopControl = {
  name: "stop",
  label: "the study stops at",
  spoken: "the study stops here",
  values: study.steps,
  value: 200,
  text: step,
};

/** Of the sorted steps at which models learn, how many are seen by a study that stops then. */
const seen = (learned, stop) => learned.filter((at) => at <= stop).length;

/** The median of the sorted steps at which ten models learn, or what is known of it. */
function median(learned, stop) {
  const [fifth, sixth] = learned.slice(4, 6);
  if (sixth <= stop) return String((fifth + sixth) / 2);
  return `later than ${fifth <= stop ? (fifth + stop) / 2 : stop}`;
}

/** What a reader can say of those that have not learned; either shows what came later. */
const answers = { never: "They don’t learn", waiting: "Not yet" };

export const budget = {
  title: "Stop the study: who has learned by then?",
  controls: [
    stopControl,
    {
      name: "cell",
      label: "what is trained",
      options: Object.fromEntries(
        Object.entries(study.cells).map(([name, { label }]) => [name, label]),
      ),
      value: study.start,
    },
    { name: "later", options: { hidden: "", ...answers }, value: "hidden", drawn: true },
  ],
  readouts: names.map((name) => [name, `median step, ${richLabel(study.labels[name])}`]),
  panels: [
    [
      "models",
      "not learned yet, of ten models; dot: one learns; bar: 95 % interval",
      370,
      { left: 116, right: 12, top: 32 },
    ],
  ],
  /** What came later was asked of the models that were trained. */
  also: (changes) => ("cell" in changes ? { later: "hidden" } : {}),
  update(app) {
    const { stop, cell } = app.state;
    const { learned, intervals } = study.cells[cell];
    const to = uncovered(app);
    askReader(app, seen(learned.none, stop) < learned.none.length);
    drawModels(app, learned, stop, to);
    drawIntervals(app.panels.models, learned, intervals, stop);
    const sentence = verdict(learned, stop, to === study.steps.at(-1) && app.state.later);
    app.formula.replaceChildren(rich(sentence));
    return {
      values: Object.fromEntries(names.map((name) => [name, median(learned[name], stop)])),
      spoken: `${names.map((name) => `${study.labels[name]}: ${counted(learned[name], stop)}`).join("; ")}. ${sentence}`,
    };
  },
};

/** Buttons for the answers under the question, made once, and away where nothing is left to ask; the one that was given hides again what came later. */
function askReader({ formula, memory, state, set }, left) {
  if (!memory.buttons) {
    const choices = Object.entries(answers).map(([later, label]) => [
      label,
      () => set({ later: state.later === later ? "hidden" : later }),
    ]);
    memory.buttons = addButtons(formula.parentNode, "those that have not learned", choices);
    formula.after(memory.buttons[0].parentNode);
  }
  memory.buttons[0].parentNode.style.visibility = left ? "" : "hidden"; // its place stays
  Object.keys(answers).forEach((later, i) =>
    memory.buttons[i].setAttribute("aria-pressed", later === state.later),
  );
}

const SWEEP = 1500; // milliseconds, to the end of the axis

/** To which step the drawing goes: the one at which the study stops or, when what came later is shown, on from there to the last one, at once for those who want no motion. */
function uncovered(app) {
  const { memory } = app;
  const { stop, later } = app.state;
  const time = performance.now();
  const calm = wantsCalm();
  const end = study.steps.at(-1);
  if (later === "hidden") memory.since = undefined;
  else memory.since ??= calm ? -Infinity : time;
  if (memory.since === undefined) return stop;
  const to = stop + (end * (time - memory.since)) / SWEEP;
  if (to >= end) return end;
  app.redraw();
  return to;
}

/** "3 of 10 learned, 7 not yet". */
function counted(learned, stop) {
  const count = seen(learned, stop);
  const left = learned.length - count;
  return `${count} of ${learned.length} learned${left ? `, ${left} not yet` : ""}`;
}

/** What a study that stops can say of the undivided models, what it can't, and, when it has been shown, how the reader's answer fared. */
function verdict({ none, ...others }, stop, later) {
  const count = seen(none, stop);
  const left = none.length - count;
  if (!left)
    return `By step ${stop} all ${none.length} undivided models have learned. What the missing division costs here is time.`;
  const any = count || Object.values(others).some((learned) => seen(learned, stop));
  const has = any
    ? `A study that stops at step ${stop} has seen ${count || "no"} undivided model${count > 1 ? "s" : ""} learn.`
    : `A study that stops at step ${stop} has seen no model learn, with a divisor or without.`;
  const last = none.at(-1);
  if (answers[later]) {
    const come =
      left === 1
        ? `the last one does at step ${last}`
        : count
          ? `the other ${left} do, the last of them at step ${last}`
          : `all ${left} undivided models do, the first at step ${none[0]}, the last at step ${last}`;
    return `${has} “${answers[later]}” is ${later === "never" ? "wrong" : "right"}: ${come}.`;
  }
  const asked =
    left > 1
      ? `Will the ${count ? `other ${left}` : left} never learn, or have they not learned yet?`
      : "Will the last one never learn, or has it not learned yet?";
  return any ? `${has} ${asked} The study can’t know.` : has;
}

/** A step curve from one step to another as points: how many are left waiting. */
function curve(learned, from, to) {
  const waiting = (at) => learned.length - seen(learned, at);
  const inside = learned.filter((at) => at > from && at <= to);
  return [
    [from, waiting(from)],
    ...inside.flatMap((at, i) => [
      [at, waiting(from) - i],
      [at, waiting(from) - i - 1],
    ]),
    [to, waiting(to)],
  ];
}

/** A row for each rescaling: its curve, and a dot at each model's step. What lies behind the stop is hidden, or pale up to a step; dotted, how it would go on if no other model ever learned. */
function drawModels(app, learned, stop, to) {
  const panel = app.panels.models;
  const end = study.steps.at(-1);
  const x = d3.scaleLinear([0, end], panel.xRange);
  const rows = d3.scaleBand(names, [panel.margin.top, panel.yRange[0]]);
  const frame = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, { x, y: frame, xLabel: "step", xTicks: 6, yTicks: 0 });
  const under = fresh(panel.svg, "under");
  const cursor = fresh(panel.svg, "cursor");
  const group = fresh(panel.svg, "rows");
  const [left, right] = x.range();
  const [bottom, top] = panel.yRange;
  if (to < end)
    under
      .append("rect")
      .attr("class", "future")
      .attr("x", x(to))
      .attr("width", right - x(to))
      .attr("y", top)
      .attr("height", bottom - top)
      .style("fill", "var(--ex-panel)");
  for (const name of names) {
    const times = learned[name];
    const floor = rows(name) + rows.bandwidth() - 2;
    const y = d3.scaleLinear([0, times.length], [floor, rows(name) + 10]);
    rule(under, [left, floor], [right, floor], "var(--ex-grid)");
    for (const count of [0, times.length])
      under
        .append("text")
        .attr("x", left - 5)
        .attr("y", y(count) + (count ? 8 : 0)) // within the row, clear of the next one's
        .attr("text-anchor", "end")
        .style("fill", "var(--ex-muted)")
        .style("font-size", "11px")
        .text(count);
    const parts = [[curve(times, 0, stop), 1, "none"]];
    if (to > stop) parts.push([curve(times, stop, to), 0.85, "none"]);
    for (const [points, opacity, dashes] of parts) {
      const at = points.map(([when, count]) => [x(when), y(count)]);
      under
        .append("path")
        .attr("d", `M${x(points[0][0])},${floor}L${at.join("L")}L${at.at(-1)[0]},${floor}Z`)
        .style("fill", colour(name))
        .style("opacity", opacity === 1 ? 0.22 : 0.12);
      under
        .append("path")
        .attr("d", d3.line()(at))
        .style("fill", "none")
        .style("stroke", colour(name))
        .style("stroke-width", 2)
        .style("stroke-dasharray", dashes)
        .style("opacity", opacity);
    }
    const waiting = times.length - seen(times, stop);
    if (waiting && stop < end) {
      rule(under, [x(stop), y(waiting)], [right, y(waiting)], "var(--ex-ink)")
        .attr("class", "never")
        .style("stroke-width", 1.5)
        .style("stroke-dasharray", "2 4");
      if (right - x(stop) > 50)
        say(under, "never?", right, y(waiting) + (waiting > 8 ? 15 : -5), "end").style(
          "fill",
          "var(--ex-muted)",
        );
    }
    times.slice(0, seen(times, to)).forEach((when, i) => {
      group
        .append("circle")
        .attr("class", when <= stop ? "seen" : "unseen")
        .attr("cx", x(when))
        .attr("cy", y(times.length - i - 0.5))
        .attr("r", 2.6)
        .style("fill", when <= stop ? colour(name) : "var(--ex-ground)")
        .style("stroke", colour(name));
    });
  }
  drawCursor(app, panel, cursor, stopControl, x);
  for (const name of names) {
    const middle = rows(name) + rows.bandwidth() / 2 + 4;
    const said = group
      .append("text")
      .attr("y", middle - 14)
      .style("font-weight", 700);
    richText(said, study.labels[name]);
    const count = group.append("text").attr("data-rescaling", name);
    counted(learned[name], stop)
      .split(", ")
      .forEach((part, i) =>
        count
          .append("tspan")
          .attr("x", 0)
          .attr("y", middle + 4 + 16 * i)
          .text(part),
      );
  }
  panel.describe(
    `The study stops at step ${stop}. ${names.map((name) => `${study.labels[name]}: ${counted(learned[name], stop)}`).join("; ")}.`,
    "group",
  );
}

/** At the stop, for each rescaling, between which shares of all models may not have learned by then, given those of the ten. */
function drawIntervals(panel, learned, intervals, stop) {
  const x = d3.scaleLinear([0, study.steps.at(-1)], panel.xRange);
  const rows = d3.scaleBand(names, [panel.margin.top, panel.yRange[0]]);
  const group = fresh(panel.svg, "intervals");
  for (const name of names) {
    const times = learned[name];
    const [low, high] = intervals[name][seen(times, stop)];
    const y = d3.scaleLinear([0, 1], [rows(name) + rows.bandwidth() - 2, rows(name) + 10]);
    group
      .append("rect")
      .attr("data-rescaling", name)
      .attr("x", x(stop) + 1)
      .attr("width", 7)
      .attr("y", y(high))
      .attr("height", y(low) - y(high))
      .style("fill", colour(name))
      .style("opacity", 0.5);
  }
}
