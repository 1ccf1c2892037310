/** Stop the study: which of ten models a divisor have learned by then, and what nobody has seen yet. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawCursor } from "./handles.js";
import { axes, fresh, point, richText, rule, say } from "./shared.js";

const { labels, learned, steps } = data.budget;
/** The divisors: those that a slide names in its address, or all. */
const names = new URLSearchParams(location.search).get("only")?.split(",") ?? Object.keys(labels);
const rowLabel = (name) => (name === "none" ? labels[name] : `÷ ${labels[name]}`);
const end = steps.at(-1);
const PILE = 6; // px from a dot to the next one on it

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
  panels: [["models", "", 318, { left: 90, right: 66, top: 34 }]],
  forget({ memory }) {
    delete memory.furthest;
  },
  update(app) {
    const { stop } = app.state;
    app.memory.furthest = Math.max(stop, app.memory.furthest ?? 0);
    drawModels(app, stop);
    return { said: verdict(stop, app.memory.furthest) };
  },
};

const median = (times) => (times[times.length / 2 - 1] + times[times.length / 2]) / 2;

/** What a study that stops can say of those that have not all learned, the undivided last; and what one knows who has seen a longer study. */
function verdict(stop, furthest) {
  const [undivided, ...others] = names.flatMap((name) => {
    const [many, all] = [seen(learned[name], stop), learned[name].length];
    if (many === all) return [];
    if (name === "none")
      return `${many || "none"} of ${all} undivided models ${many === 1 ? "has" : "have"} learned`;
    return `${many || "none"} with ${name === "sqrt_d_k" ? "the root" : labels[name]}`;
  });
  if (!undivided)
    return `By step ${stop} all have learned: undivided in ${median(learned.none)} steps (the median), with the root in ${median(learned.sqrt_d_k)}. Late is not never.`;
  if (!names.some((name) => seen(learned[name], stop)))
    return `By step ${stop} no model has learned: a study that stops here sees no difference.`;
  const left = learned.none.length - seen(learned.none, stop);
  if (seen(learned.none, furthest) === learned.none.length)
    return `By step ${stop}, ${undivided}. The others are late: a study that stops here cannot know.`;
  if (left < 3)
    return `By step ${stop}, ${undivided}. ${left === 1 ? "One is" : "Two are"} left: late, or never?`;
  const listed = [undivided, ...others].join(", ").replace(/, ([^,]*)$/, " and $1");
  return `By step ${stop}, ${listed}. Late, or never? Such a study cannot tell.`;
}

/** A row for each divisor with a dot at each model's step: none behind the stop, but hollow ones where the reader has been. */
function drawModels(app, stop) {
  const panel = app.panels.models;
  const x = d3.scaleLinear([0, end], panel.xRange);
  // Dots are piled up on their row's line: the highest pile takes the most room.
  const piles = names.map((name) =>
    Math.max(...learned[name].map((at) => learned[name].filter((other) => other === at).length)),
  );
  const [bottom, top] = panel.yRange;
  const dots = piles.reduce((sum, pile) => sum + pile);
  const gap = (bottom - top - 8 - PILE * dots) / names.length;
  let line = top;
  const y = d3.scaleLinear([0, 1], panel.yRange);
  axes(panel, { x, y, xLabel: `step; models are tested every ${steps[0]}`, yTicks: 0 });
  const ahead = fresh(panel.svg, "ahead");
  const cursor = fresh(panel.svg, "cursor");
  const group = fresh(panel.svg, "rows");
  const [left, right] = x.range();
  const later = names.some((name) =>
    learned[name].some((at) => at > stop && at <= app.memory.furthest),
  );
  panel.heading.textContent = later
    ? "filled: seen by this study; hollow: learned later"
    : "each dot is a model that has learned";
  ahead
    .append("rect")
    .attr("x", x(stop))
    .attr("width", right - x(stop))
    .attr("y", top)
    .attr("height", bottom - top)
    .style("fill", "var(--ex-panel)");
  names.forEach((name, row) => {
    line += PILE * piles[row] + gap;
    rule(ahead, [left, line], [right, line], "var(--ex-grid)");
    const count = seen(learned[name], stop);
    learned[name].slice(0, seen(learned[name], app.memory.furthest)).forEach((at, i) => {
      const alike = learned[name].slice(0, i).filter((other) => other === at).length;
      point(
        group,
        x(at),
        line - 4 - PILE * alike,
        3,
        at <= stop ? colour(name) : "var(--ex-ground)",
      )
        .attr("class", at <= stop ? "seen" : "unseen")
        .style("stroke", at <= stop ? "var(--ex-ground)" : colour(name));
    });
    richText(say(group, "", left - 8, line, "end").style("font-weight", 700), rowLabel(name));
    say(group, `${count} of ${learned[name].length}`, right + 8, line, "start").attr(
      "data-rescaling",
      name,
    );
  });
  if (!later && right - x(stop) > 90)
    say(ahead, "not seen yet", right - 6, top + 16, "end").style("fill", "var(--ex-muted)");
  drawCursor(app, panel, cursor, stopControl, x);
  panel.describe(
    `The study stops at step ${stop}. Learned: ${names.map((name) => `${labels[name]} ${seen(learned[name], stop)} of ${learned[name].length}`).join("; ")}.`,
    "group",
  );
}
