/** Heads of a model in training: whom two of nearly the same spread look at, and at how many characters all do, beside random scores. */
import * as d3 from "./d3.js";
import { colour, data } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import { ROOMY, axes, fresh, layer, point, say, show, show2, showCount } from "./shared.js";

const {
  text,
  moments,
  layers,
  heads: perLayer,
  head: shownFirst,
  weights,
  found,
  spreads,
  band,
  beyond,
} = data.heads;
const characters = [...text];
const shown = { " ": "·", "\n": "⏎" };
const names = Array.from(
  { length: layers * perLayer },
  (_, i) => `layer ${Math.floor(i / perLayer) + 1}, head ${(i % perLayer) + 1}`,
);

const [BAR, LETTERS] = [ROOMY ? 47 : 31, 22]; // px, of a bar for all of the weight, and of a line between bars
const INKS = [colour("query"), "var(--ex-ink)"]; // of the ringed head, and of its neighbour

export const heads = {
  title: "Does an equal spread of scores make two heads equally sharp?",
  prompt: "Two heads look back from the framed space; bars: root of the weight. Press a dot.",
  hint: { target: ".explorable-handle" },
  controls: [
    {
      name: "step",
      label: "training steps",
      values: moments,
      value: moments.at(-1),
      text: showCount,
      marks: moments.map(showCount),
    },
    { name: "head", min: 0, max: names.length - 1, step: 1, value: shownFirst, drawn: true },
  ],
  below: true,
  panelWidth: "100%",
  panels: [
    ["pair", "", 0, { left: 2, right: 2 }],
    ["heads", "", ROOMY ? 243 : 195, { left: 32, right: 10, top: 26, bottom: 42 }],
  ],
  forget({ memory }) {
    delete memory.step;
    delete memory.moved;
  },
  update(app) {
    const { step, head } = app.state;
    const { memory } = app;
    memory.moved ||= step !== (memory.step ??= step); // the training: the ringed head's way is of interest
    const moment = moments.indexOf(step);
    const all = found[moment].map(([spread, keys, low, high]) => {
      return { spread, keys, low, high, side: keys > high ? 1 : keys < low ? -1 : 0 };
    });
    const pair = [head, neighbour(all, head)];
    const named = pair.map((i) => `${names[i]}, ${show2(all[i].keys)}`);
    const headings = wide(app.panels.pair)
      ? [
          `Bars up: the ringed head, ${named[0]} characters`,
          `Bars down: the head nearest in spread, ${named[1]}`,
        ]
      : [`Up, ringed: ${named[0]} characters`, `Down, nearest in spread: ${named[1]}`];
    const rows = pair.map((i) => weights[moment][i]);
    drawRows(app.panels.pair, rows, headings);
    drawHeads(app, all, pair, `${named[0]} characters`);
    return { said: answer(...pair.map((i) => all[i])) };
  },
};

/** Whether the passage has room on one line, and long words. */
const wide = (panel) => panel.width > 560;
/** How many times as large as the other the larger of two is. */
const times = (a, b) => Math.max(a / b, b / a);
/** Of these heads, by their numbers, the one for which something is least. */
const least = (heads, of) => heads.reduce((best, i) => (of(i) < of(best) ? i : best));

/** The head whose spread is nearest to that of another. */
const neighbour = (all, head) =>
  least(
    [...all.keys()].filter((i) => i !== head),
    (i) => times(all[i].spread, all[head].spread),
  );

const NEAR = 1.1; // times as large, at most, is nearly the same spread
const ALIKE = 4 / 3; // times as many characters, at most, are nearly as many

/** Whether two heads of nearly the same spread look at as many characters, and which of these chance would rarely give. */
function answer(...pair) {
  const keys = pair.map((one) => show2(one.keys));
  const spreads = pair.map(({ spread }) => show2(spread));
  const both = spreads.join(" and ");
  const rare = keys.filter((_, i) => pair[i].side);
  const chance = rare.length ? `chance rarely gives ${rare.join(" or ")}` : "chance may give both";
  const look = `${keys.join(" and ")} characters`;
  const [ringed, next] = pair;
  if (times(ringed.spread, next.spread) > NEAR)
    return `Spreads differ, ${both}: ${look}; ${chance}.`;
  const nearly = times(ringed.keys, next.keys) <= ALIKE ? "Nearly" : "No";
  const verdict = keys[0] === keys[1] ? "Yes" : nearly;
  const at = spreads[0] === spreads[1] ? `spread ${spreads[0]}` : `spreads ${both}`;
  return `${verdict}: ${look} at ${at}; ${chance}.`;
}

/** The passage up to the character that looks, and over and under each character a bar for the root of the weight that goes there from either head. */
function drawRows(panel, rows, headings) {
  const { svg, heading } = panel;
  heading.textContent = headings[0];
  const [left, right] = panel.xRange;
  const lines = wide(panel) ? [text] : text.split(/(?<=\n)/);
  const width = (right - left) / Math.max(...lines.map((line) => line.length));
  const height = LETTERS + 2 * BAR;
  svg.attr("height", lines.length * height + 19);
  const places = lines.flatMap((line, i) =>
    [...line].map((_, j) => [left + j * width, i * height + BAR]),
  );
  const cells = layer(svg, "text").selectAll("g.character").data(characters);
  const made = cells.enter().append("g").attr("class", "character");
  for (const y of [-BAR, LETTERS])
    made
      .append("rect")
      .attr("class", "whole")
      .attr("y", y)
      .attr("height", BAR)
      .style("fill", "var(--ex-panel)");
  const bars = made.append("g").attr("class", "glides");
  for (const name of ["up", "down"]) bars.append("rect").attr("class", name);
  made
    .append("text")
    .attr("y", LETTERS - 6)
    .attr("text-anchor", "middle")
    .style("font", "15px monospace")
    .text((one) => shown[one] ?? one);
  const all = made.merge(cells).attr("transform", (_, i) => `translate(${places[i]})`);
  all.select("text").attr("x", width / 2);
  all.selectAll(".whole").attr("width", width + 0.5);
  const tall = (weight) => BAR * Math.sqrt(weight); // small ones show, at one scale in all states
  const largest = layer(svg, "largest").classed("glides", true);
  rows.forEach((row, side) => {
    all
      .select(side ? ".down" : ".up")
      .style("fill", INKS[side])
      .attr("x", 1.5)
      .attr("width", width - 3)
      .attr("y", (_, i) => (side ? LETTERS : -tall(row[i])))
      .attr("height", (_, i) => tall(row[i]));
    const at = row.indexOf(Math.max(...row));
    const [x, y] = places[at];
    const beside = (way) => row.at(at + way) + row.at(at + 2 * way);
    const leftwards = x > right - 4 * width || (x > left + 4 * width && beside(-1) < beside(1));
    const end = tall(row[at]);
    const room = end < BAR - 12; // for the number beyond its bar, or it stands beside
    const across = x + (room ? width / 2 : leftwards ? -15 : width + 15);
    const level = side ? LETTERS + end + (room ? 11 : 0) : -end + (room ? -3 : 10);
    layer(largest, `of-${side}`, "text")
      .classed("rim", true)
      .attr("text-anchor", "middle")
      .style("transform", `translate(${across}px, ${y + level}px)`)
      .text(show(row[at]));
  });
  const under = say(
    fresh(svg, "under"),
    headings[1],
    left - 2,
    lines.length * height + 14,
    "start",
  );
  under.style("font-size", "0.85rem");
  const [x, y] = places.at(-1);
  fresh(svg, "frame")
    .append("rect")
    .attr("x", x)
    .attr("y", y + 1)
    .attr("width", width)
    .attr("height", LETTERS - 2)
    .style("fill", "none")
    .style("stroke", colour("query"))
    .style("stroke-width", 2.5);
  panel.describe(headings.join(". "));
}

const TICKS = [1, 2, 5, 10, 20, 50]; // characters
const SIDES = ["var(--ex-key)", "var(--ex-ink)", "var(--ex-value)"]; // below the band, in it, and above

/** Where numbers stand beside the ends of the line: where they hide the fewest dots, and not each other. */
function labels(panel, ends, dots) {
  const [left, right] = panel.xRange;
  const [, top] = panel.yRange;
  const placed = [];
  for (const [across, down] of ends) {
    const hidden = ([x, y]) => {
      const near = (others, wide) =>
        others.filter(([px, py]) => Math.abs(px - x) < wide && Math.abs(py - y) < 13).length;
      return (
        near(dots, 17) + 9 * near(placed, 30) + (x < left + 16 || x > right + 4 || y < top ? 9 : 0)
      );
    };
    const around = [
      [across + 26, down],
      [across - 26, down],
      [across, down - 20],
      [across, down + 20],
    ];
    placed.push(around.reduce((best, one) => (hidden(one) < hidden(best) ? one : best)));
  }
  return placed.map(([x, y]) => [x, y + 4]);
}

/** A dot for each head, by how far its scores spread and at how many characters it looks; a band, where random scores lie nine times in ten; a ring around the head that readers chose, and a line to its partner. */
function drawHeads(app, all, pair, named) {
  const panel = app.panels.heads;
  const x = d3.scaleLog([spreads[0], spreads.at(-1)], panel.xRange);
  const y = d3.scaleLog([0.9, 1.15 * characters.length], panel.yRange);
  const legend = "each dot is a head; grey holds 9 in 10 rows of random scores";
  const dotted = app.memory.moved && app.state.step ? "; dotted: the ringed head so far" : "";
  const short = "dot: a head; grey: 9 in 10 rows of random scores";
  panel.heading.textContent = ROOMY ? legend + dotted : short;
  const grey = layer(panel.svg, "band");
  axes(panel, {
    x,
    y,
    xLabel: "spread (standard deviation) of a head’s scores",
    yLabel: "characters that it looks at (effective keys)",
    xTicks: [0.5, 1, 2, 5],
    xFormat: String,
    yTicks: TICKS,
    yFormat: String,
  });
  const area = d3
    .area(
      (_, i) => x(spreads[i]),
      ([low]) => y(low),
      ([, high]) => y(high),
    )
    .curve(d3.curveMonotoneX);
  layer(grey, "random", "path")
    .attr("d", area(band))
    .style("fill", "color-mix(in srgb, var(--ex-muted) 25%, var(--ex-ground))");
  const notes = fresh(panel.svg, "notes");
  const aside = (text, ...at) => say(notes, text, ...at).style("font-weight", 700); // where no dots are
  const chance = ROOMY ? ` (by chance ${show(beyond * all.length, 1)})` : "";
  const count = (way) => all.filter(({ side }) => side === way).length + chance;
  aside(`more even: ${count(1)}`, x.range()[1], y(22), "end").style("fill", SIDES[2]);
  aside(`sharper: ${count(-1)}`, x(0.38), y(2), "start").style("fill", SIDES[0]);
  const at = all.map(({ spread, keys }) => [x(spread), y(keys)]);
  layer(panel.svg, "dots")
    .classed("glides", true)
    .selectAll("circle")
    .data(all)
    .join((entered) => entered.append("circle").call((dot) => dot.append("title")))
    .attr("r", 5)
    .attr("cx", (_, i) => at[i][0])
    .attr("cy", (_, i) => at[i][1])
    .style("fill", ({ side }) => SIDES[side + 1])
    .style("stroke", "var(--ex-ground)")
    .select("title")
    .text(
      ({ spread, keys }, i) => `${names[i]}: ${show2(keys)} characters at spread ${show2(spread)}`,
    );
  const until = app.memory.moved ? moments.indexOf(app.state.step) + 1 : 0;
  const way = found.slice(0, until).map((heads) => heads[pair[0]]);
  const stops = way.map(([spread, keys]) => [x(spread), y(keys)]);
  const drawn = fresh(panel.svg, "way");
  drawn
    .append("path")
    .attr("d", until ? `M${stops.join("L")}` : null)
    .style("fill", "none")
    .style("stroke", colour("query"))
    .style("stroke-width", 1.5)
    .style("stroke-dasharray", "2 4");
  for (const [across, down] of stops) point(drawn, across, down, 2.5, colour("query"));
  const ends = pair.map((i) => at[i]);
  layer(layer(panel.svg, "pair").classed("glides", true), "line", "path")
    .attr("d", `M${ends.join("L")}`)
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 2);
  const beside = labels(panel, ends, at);
  layer(panel.svg, "told")
    .classed("glides", true)
    .selectAll("text")
    .data(ends)
    .join("text")
    .attr("class", "rim")
    .attr("text-anchor", "middle")
    .style("transform", (_, i) => `translate(${beside[i].map((at) => `${at}px`)})`)
    .style("font-weight", 700)
    .style("fill", (_, i) => INKS[i])
    .text((_, i) => show2(all[pair[i]].keys));

  const ranks = [...all.keys()].sort((i, j) => all[i].spread - all[j].spread);
  const range = { min: 1, max: all.length, step: 1 };
  const [chosen] = pair;
  const { made: ring, all: handle } = drawHandles(
    panel,
    [ranks.indexOf(chosen) + 1],
    range,
    "query",
  );
  ring.attr("aria-label", "the head, by its spread").style("pointer-events", "none"); // a press is for the nearest dot
  ring.classed("glides", true).selectAll("*").remove();
  ring.append("circle").attr("class", "ring").attr("r", 9).style("stroke", colour("query"));
  handle
    .attr("aria-valuenow", (rank) => rank)
    .attr("aria-valuetext", named)
    .select("circle")
    .attr("cx", at[chosen][0])
    .attr("cy", at[chosen][1])
    .style("stroke-width", 2.5);
  const byKey = (event, rank) => {
    const next = fromKey(event, rank, range);
    return next === null ? null : { head: ranks[Math.min(Math.max(next, 1), ranks.length) - 1] };
  };
  const byDrag = (event) => ({
    head: least(ranks, (i) => Math.hypot(at[i][0] - event.x, at[i][1] - event.y)),
  });
  listen(app, panel, handle, byKey, byDrag);
  panel.describe("At how many characters each head looks, by the spread of its scores.", "group");
}
