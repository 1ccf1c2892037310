/** Stop the study: which of ten models a divisor have learned by then, and what nobody has seen yet. */
import * as d3 from "../_shared/d3.js";
import { colour, data } from "../_shared/data.js";
import { drawCursor } from "../_shared/handles.js";
import { axes, fresh, point, richText, rule, say } from "../_shared/shared.js";

const { labels, learned, steps } = data.budget;
const names = Object.keys(labels);
const rowLabel = (name) => (name === "none" ? labels[name] : `÷ ${labels[name]}`);
const end = steps.at(-1);
/** The step at which the last one learns, an undivided one. */
const last = learned.none.at(-1);

const stopControl = {
  name: "stop",
  label: "the study stops at",
  spoken: "the study stops here",
  values: steps,
  value: 200,
  text: (stop) => `stop at step ${stop}`,
  drawn: true,
};

/** Of the sorted steps at which models learn, how many are seen by a study that stops then. */
const seen = (times, stop) => times.filter((at) => at <= stop).length;

export const budget = {
  title: "Did the undivided models fail, or was the study too short?",
  prompt: "Drag the line: it is where the study stops.",
  hint: { target: ".explorable-handle" },
  controls: [stopControl],
  panelWidth: "100%",
  panels: [
    [
      "models",
      "A dot is a model, at the step it learns: from then on it answers nine of ten questions.",
      380,
      { left: 90, right: 66, top: 34 },
    ],
  ],
  forget({ memory }) {
    delete memory.furthest;
  },
  update(app) {
    const { stop } = app.state;
    app.memory.furthest = Math.max(stop, app.memory.furthest ?? 0);
    drawModels(app, stop);
    return { sentence: verdict(stop, app.memory.furthest) };
  },
};

const called = (name) =>
  name === "none" ? labels[name] : `with ${name === "sqrt_d_k" ? "the root" : labels[name]}`;
const lists = new Intl.ListFormat("en-GB");
const median = (times) => (times[times.length / 2 - 1] + times[times.length / 2]) / 2;

/** What a study that stops can say of those that have not all learned, the undivided last; and what one knows who has seen a longer study. */
function verdict(stop, furthest) {
  const [undivided, ...others] = names.flatMap((name) => {
    const [many, all] = [seen(learned[name], stop), learned[name].length];
    if (many === all) return [];
    if (name !== "none") return `${many ? `only ${many} of ${all}` : "none"} ${called(name)}`;
    if (!many) return "no undivided model has learned";
    return `${many} of ${all} undivided models ${many === 1 ? "has" : "have"} learned`;
  });
  if (!undivided)
    return `By step ${stop} all have learned. The median step is ${lists.format(names.map((name) => `${median(learned[name])} ${called(name)}`))}: late is not never.`;
  if (!names.some((name) => seen(learned[name], stop)))
    return `By step ${stop} no model has learned: a study that stops here sees no difference.`;
  const later = seen(learned.none, furthest) - seen(learned.none, stop);
  if (later)
    return `By step ${stop}, ${undivided}; ${later === 1 ? "1 learns" : `${later} learn`} later, which a study that stops here cannot know.`;
  const left = learned.none.length - seen(learned.none, stop);
  if (left < 3)
    return `By step ${stop}, ${undivided}. ${left === 1 ? "One is" : "Two are"} left: late, or never?`;
  return `By step ${stop}, ${lists.format([undivided, ...others])}. Late, or never? Such a study cannot tell.`;
}

/** A row for each divisor with a dot at each model's step: none behind the stop, but hollow ones where the reader has been. */
function drawModels(app, stop) {
  const panel = app.panels.models;
  const { furthest } = app.memory;
  const x = d3.scaleLinear([0, end], panel.xRange);
  const y = d3.scaleLinear([names.length, 0], panel.yRange);
  const pile = (y(1) - y(0)) / 14; // px from a dot to the next one on it: ten keep well below the next row
  const [bottom, top] = panel.yRange;
  axes(panel, {
    x,
    y,
    xLabel: `step; models are tested every ${steps[0]}`,
    yTicks: 0,
  });
  const ahead = fresh(panel.svg, "ahead");
  const cursor = fresh(panel.svg, "cursor");
  const group = fresh(panel.svg, "rows");
  const [left, right] = x.range();
  const known = furthest >= last;
  const unseen = x(known ? stop : furthest);
  ahead
    .append("rect")
    .attr("x", unseen)
    .attr("width", right - unseen)
    .attr("y", top)
    .attr("height", bottom - top)
    .style("fill", "var(--ex-panel)");
  names.forEach((name, row) => {
    const line = y(row + 1) - 6;
    rule(ahead, [left, line], [right, line], "var(--ex-grid)");
    const count = seen(learned[name], stop);
    learned[name].slice(0, seen(learned[name], furthest)).forEach((at, i) => {
      const alike = learned[name].slice(0, i).filter((other) => other === at).length;
      const [look, fill, stroke] =
        at <= stop
          ? ["seen", colour(name), "var(--ex-ground)"]
          : ["unseen", "var(--ex-ground)", colour(name)];
      point(group, x(at), line - 5 - pile * alike, 2.8, fill)
        .attr("class", look)
        .style("stroke", stroke);
    });
    richText(say(group, "", left - 8, line, "end").style("font-weight", 700), rowLabel(name));
    say(group, `${count} of ${learned[name].length}`, right + 8, line, "start").attr(
      "data-rescaling",
      name,
    );
  });
  say(group, "learned:", right + 8, y(1) - 24, "start");
  // What is ahead of the stop, above the first row's dots, where there is room: what was seen, and what no one has seen yet.
  const words = (to, ...rows) =>
    rows.forEach((text, i) =>
      say(ahead, text, to - 6, top + 14 + 14 * i, "end").attr("class", null),
    );
  const fits = (from, to) => to - from > 90;
  const rim = known ? right : unseen;
  const later = names.some((name) => seen(learned[name], furthest) > seen(learned[name], stop));
  const beside = fits(x(stop), rim) ? rim : known && x(stop);
  if (later && beside) words(beside, "hollow dots:", "learned later");
  if (!known && fits(unseen, right)) words(right, "not seen yet");
  drawCursor(app, panel, cursor, stopControl, x);
  panel.describe(
    `The study stops at step ${stop}. Learned: ${names.map((name) => `${labels[name]} ${seen(learned[name], stop)} of ${learned[name].length}`).join("; ")}.`,
    "group",
  );
}
