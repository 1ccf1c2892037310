/** Weights times V: three values to drag, and the output, which stays in their hull. */
import * as d3 from "./d3.js";
import { colour, lettersColour } from "./data.js";
import { drawHandles, fromKey, listen } from "./handles.js";
import * as math from "./math.js";
import { arrow, element, fresh, layer, point, rich, rule, say, show } from "./shared.js";

const VALUES = [
  [0.9, 0.1],
  [0.2, 0.8],
  [0.4, -0.2],
];
const pointRange = { min: -0.4, max: 1.1, step: 0.02 };
const scoreRange = { min: -5, max: 5, step: 0.01 };

export const blend = {
  title: "Where can the output o go?",
  prompt: "Drag o out of the triangle, if you can; then move a score, or drag a value v.",
  hint: { target: ".explorable-handle:last-child" },
  beside: true,
  controls: [
    ...[1.25, 0.8, -0.2].map((value, i) => ({
      name: `z${i + 1}`,
      ...scoreRange,
      value,
      label: `score z_${i + 1}`,
      text: (z) => show(z, 2),
    })),
    ...VALUES.flatMap((v, i) =>
      ["x", "y"].map((axis, c) => ({
        name: `${axis}${i + 1}`,
        ...pointRange,
        value: v[c],
        drawn: true,
      })),
    ),
  ],
  panels: [
    ["plane", "purple on each ring: the weight p", 340, { left: 8, top: 8, bottom: 8, right: 8 }],
  ],
  forget({ memory }) {
    delete memory.visited;
  },
  /** Keep what the reader has moved: of a score one number changes, of a value two, of the output three, and with Reset all. */
  also(asked, { memory }) {
    const changed = Object.keys(asked);
    memory.moved = [null, changed[0], changed[0], "o"][changed.length];
  },
  update(app) {
    const scores = [1, 2, 3].map((j) => app.state[`z${j}`]);
    const values = [1, 2, 3].map((j) => [app.state[`x${j}`], app.state[`y${j}`]]);
    const p = math.softmax(scores);
    drawShares(app, p);
    drawPlane(app, values, p, math.blend(p, values));
    return { said: flat(values) ?? answer(app, p) };
  },
};

const RING = 13; // px, around a value
const LEAST = 0.0005; // of the weights that are written in numbers

/** A weight for reading: one that is small is not 0, nor is one that is large 1. */
function showWeight(w) {
  if (w < LEAST) return " < 0.001";
  return w > 1 - LEAST ? " > 0.999" : ` = ${w.toFixed(3)}`;
}

/** What the output is, what stops it, and how far it goes with a value. */
function answer({ memory: { moved } }, p) {
  const percent = p.map((w) => `${Math.round(100 * w)} %`);
  const [, value] = moved?.match(/[xy](.)/) ?? [];
  if (value)
    return `The weights stay, and o goes ${percent[value - 1]} of the way that v_${value} goes.`;
  const most = p.findIndex((w) => w > 0.95) + 1;
  if (most) return `Here o is almost all v_${most}, and never quite: every weight stays above 0.`;
  const none = p.findIndex((w) => w < LEAST) + 1;
  const left = [1, 2, 3].filter((j) => j !== none).map((j) => `v_${j}`);
  if (none)
    return `Here o stops, on the edge from ${left.join(" to ")}: no weight can be negative, and p_${none} is below 0.001.`;
  const [first, second, third] = percent.map((share, j) => `${share} v_${j + 1}`);
  return `The output o is ${first}, ${second} and ${third}${moved ? ": an average, and so inside the triangle" : ""}.`;
}

/** What is left of a triangle without an inside. */
function flat([[ax, ay], [bx, by], [cx, cy]]) {
  const area = Math.abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay));
  const longest = Math.max(
    Math.hypot(bx - ax, by - ay),
    Math.hypot(cx - bx, cy - by),
    Math.hypot(ax - cx, ay - cy),
  );
  if (longest < 0.04) return "The values are one point, and so is every average of theirs.";
  if (area / longest < 0.02)
    return "The values lie on a line, and so does every average of theirs.";
}

/** The weights that the reader has seen, the oldest first. */
function visited({ memory }, p) {
  const before = memory.visited ?? [];
  const moved = String(before.at(-1)) !== String(p);
  return (memory.visited = moved ? [...before.slice(-300), p] : before);
}

/** Under each score a bar, as long as the weight. */
function drawShares(app, p) {
  app.memory.shares ??= [...app.controls.children]
    .slice(0, p.length)
    .map((control) => control.appendChild(element("div", { class: "explorable-share" })));
  app.memory.shares.forEach((share, j) => {
    share.style.setProperty("--ex-share", `${100 * p[j]}%`);
    share.replaceChildren(rich(`p_${j + 1}${showWeight(p[j])}`));
  });
}

/** The weights whose average lies nearest to a place: inside the triangle it is the place itself, else a point of an edge. */
function nearestWeights(values, [x, y]) {
  const [[ax, ay], [bx, by], [cx, cy]] = values;
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  const second = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area;
  const third = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
  const inside = [1 - second - third, second, third];
  if (inside.every((p) => p >= 0)) return inside;
  const onEdges = [0, 1, 2].map((i) => {
    const j = (i + 1) % 3;
    const [dx, dy] = [values[j][0] - values[i][0], values[j][1] - values[i][1]];
    const along = (x - values[i][0]) * dx + (y - values[i][1]) * dy;
    const share = Math.min(1, Math.max(0, along / (dx * dx + dy * dy || 1)));
    return [0, 0, 0].with(i, 1 - share).with(j, share);
  });
  const distance = (p) => {
    const [left, level] = math.blend(p, values);
    return Math.hypot(left - x, level - y);
  };
  return onEdges.reduce((best, p) => (distance(p) < distance(best) ? p : best));
}

/** Scores that have these weights, or nearly, around 0: only their differences count. */
function scoresFor(weights) {
  const largest = Math.max(...weights);
  const gaps = weights.map((p) => Math.max(-8, Math.log(p / largest))); // a weight below LEAST
  const middle = Math.min(...gaps) / 2;
  return Object.fromEntries(gaps.map((gap, j) => [`z${j + 1}`, gap - middle]));
}

/** Scales with equal units along both axes, which show all places that values can have. */
function planeOf(panel) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const reach = pointRange.max - pointRange.min + 0.1; // room for a handle at the ends, and its label
  const unit = Math.min(right - left, bottom - top) / reach;
  const middle = (pointRange.min + pointRange.max) / 2;
  const domain = (length) => [middle - length / unit / 2, middle + length / unit / 2];
  return {
    x: d3.scaleLinear(domain(right - left), [left, right]),
    y: d3.scaleLinear(domain(bottom - top), [bottom, top]),
  };
}

function drawPlane(app, values, p, output) {
  const panel = app.panels.plane;
  const { x, y } = planeOf(panel);
  const at = ([a, b]) => [x(a), y(b)];
  const group = fresh(panel.svg, "vectors");
  group
    .append("path")
    .attr("d", `M${values.map(at).join("L")}Z`)
    .style("fill", colour("value"))
    .style("fill-opacity", 0.14)
    .style("stroke", colour("value"));
  const been = group.append("g").attr("class", "been").style("opacity", 0.55);
  for (const weights of visited(app, p)) {
    const [left, level] = at(math.blend(weights, values));
    point(been, left, level, 1.8, colour("weights"));
  }
  const summed = /z/.test(app.memory.moved); // a score has moved, and arrows say how its weight counts
  const centre = [0, 1].map((c) => values.reduce((sum, value) => sum + at(value)[c] / 3, 0));
  const names = values.map((value, j) => {
    const [left, level] = at(value);
    const [right, down] = [left - centre[0], level - centre[1]]; // out of the triangle
    const towards = Math.hypot(right, down) < 1 ? -Math.PI / 2 : Math.atan2(down, right);
    return {
      text: `v${"₁₂₃"[j]}`,
      at: [[left, level]],
      towards,
      gap: RING + 8,
      width: 20,
      bold: true,
    };
  });
  const lines = values.map((value, j) => [at(value), at(values[(j + 1) % 3])]);
  const terms = [];
  const arrows = [];
  let end = [0, 0];
  (summed ? values : []).forEach((value, j) => {
    const next = [end[0] + p[j] * value[0], end[1] + p[j] * value[1]];
    const [from, to] = [at(end), at(next)];
    arrows.push([from, to]);
    const [right, down] = [to[0] - from[0], to[1] - from[1]];
    lines.push([from, to]);
    if (Math.hypot(right, down) > 5)
      terms.push({
        text: `p${"₁₂₃"[j]}v${"₁₂₃"[j]}`,
        at: [0.5, 0.3, 0.7].map((share) => [from[0] + share * right, from[1] + share * down]),
        towards: Math.atan2(down, right) + (Math.PI / 2) * (j < 2 ? 1 : -1), // aside
        gap: 4,
        width: 27,
        role: "weights",
      });
    end = next;
  });
  const { made, all } = drawHandles(panel, [...values, output], pointRange, "value");
  const [ofValues, ofOutput] = [made.filter((_, j) => j < 3), made.filter((_, j) => j === 3)];
  const keys = "left and right arrows move x, up and down move y";
  ofValues.attr("aria-label", (_, j) => `value ${j + 1}, a point: ${keys}`);
  ofOutput.attr("aria-label", `output, a point in the triangle: ${keys}`);
  ofOutput
    .select("circle:not(.ring)")
    .style("fill", "var(--ex-ground)")
    .style("fill-opacity", 0.5)
    .style("stroke", "var(--ex-ink)") // the last arrow is seen through it
    .style("stroke-width", 2);
  const [left, level] = at(output);
  const close = values.some((value) => Math.hypot(x(value[0]) - left, y(value[1]) - level) < 36);
  const size = (j) => (j === 3 && close ? 24 : 44); // beside the output its neighbour can be taken, too
  all
    .select("rect.touch")
    .attr("x", (_, j) => -size(j) / 2)
    .attr("y", (_, j) => -size(j) / 2)
    .attr("width", (_, j) => size(j))
    .attr("height", (_, j) => size(j));
  all
    .filter((_, j) => j < 3)
    .each(function (_, j) {
      for (const [name, ink, share] of [
        ["whole", "var(--ex-grid)", 1],
        ["part", colour("weights"), p[j]],
      ])
        layer(d3.select(this), name, "circle")
          .attr("r", RING - 2)
          .attr("pathLength", 1)
          .attr("transform", "rotate(-90)")
          .style("fill", "none")
          .style("stroke", ink)
          .style("stroke-width", 4)
          .style("stroke-dasharray", `${share} 1`);
    });
  all.attr("transform", (place) => `translate(${at(place)})`);
  all.select("circle.ring").attr("r", RING + 4);
  all
    .attr("aria-valuenow", (place) => place[0])
    .attr("aria-valuetext", (place) => `x ${show(place[0])}, y ${show(place[1])}`);
  const bring = (number, place) =>
    number === 4
      ? scoresFor(nearestWeights(values, place))
      : { [`x${number}`]: place[0], [`y${number}`]: place[1] };
  const byKey = (event, place, number) => {
    const axis = /Up|Down/.test(event.key) ? 1 : 0;
    const next = fromKey(event, place[axis], pointRange);
    return next === null ? null : bring(number, place.with(axis, next));
  };
  const places = [...values, output].map(at);
  panel.svg.on(
    "pointerdown.off",
    (event) => {
      const j = all.nodes().indexOf(event.target.closest(".explorable-handle"));
      const [left, level] = d3.pointer(event, panel.svg.node());
      if (j >= 0) app.memory.off = [places[j][0] - left, places[j][1] - level]; // of what is held
    },
    true,
  );
  listen(app, panel, all, byKey, (event, number) => {
    const [right, down] = app.memory.off;
    return bring(number, [x.invert(event.x + right), y.invert(event.y + down)]);
  });
  const above = fresh(panel.svg, "output").style("pointer-events", "none"); // of the handles, which may lie below
  const drawn = above.append("g").attr("class", "arrows");
  for (const [from, to] of arrows) arrow(drawn, from, to, colour("weights"), 1.8);
  const taken = [
    ...lines.flatMap(along),
    ...values.map((value) => [at(value), RING + 4]), // with the ring of the focus
    [[left, level], RING + 4],
  ];
  if (summed) {
    point(drawn, x(0), y(0), 4, "var(--ex-ink)");
    taken.push([at([0, 0]), 4]);
    names.push({ text: "0", at: [at([0, 0])], towards: Math.PI / 2, gap: 6, width: 9 });
  }
  const middle = {
    text: "o",
    at: [[left, level]],
    towards: 0,
    gap: RING + 3,
    width: 11,
    bold: true,
  };
  drawLabels(panel, above, [middle, ...names, ...terms], taken);
  panel.describe(
    `Values at ${values.map(([a, b]) => `(${show(a)}, ${show(b)})`).join(", ")}; output at (${show(output[0])}, ${show(output[1])}). Small dots: where the weights so far have put it.`,
    "group",
  );
}

/** A line as small discs [place, radius]. */
function along([[x1, y1], [x2, y2]]) {
  const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 4) + 1;
  return Array.from({ length: steps + 1 }, (_, i) => {
    const share = i / steps;
    return [[x1 + share * (x2 - x1), y1 + share * (y2 - y1)], 1];
  });
}

const HEIGHT = 15; // of a label

/** Where the middle of a label may stand: beside the places it belongs to, the side that it likes best first, then farther away. */
function* placesFor({ at, towards, gap, width }) {
  for (const farther of [0, 7, 15, 25])
    for (const [x, y] of at)
      for (const turn of [0, 0.5, -0.5, 1, -1, 1.6, -1.6, 2.3, -2.3, Math.PI])
        yield [
          x + Math.cos(towards + turn) * (gap + farther + width / 2),
          y + Math.sin(towards + turn) * (gap + farther + HEIGHT / 2),
          farther > 0 && [x, y],
        ];
}

/** Labels one after the other, each at the first place where nothing is drawn; one that finds none is left out. */
function drawLabels(panel, group, labels, taken) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const set = [];
  for (const label of labels) {
    const { text, width, role, bold } = label;
    const leader = ([x, y, [left, level]]) => [
      [left, level],
      [
        Math.min(x + width / 2, Math.max(x - width / 2, left)),
        Math.min(y + HEIGHT / 2, Math.max(y - HEIGHT / 2, level)),
      ],
    ];
    const free = ([x, y, far]) =>
      x - width / 2 > left + 2 &&
      x + width / 2 < right &&
      y - HEIGHT / 2 > top &&
      y + HEIGHT / 2 < bottom - 2 &&
      taken.every(([[a, b], radius]) => {
        const [dx, dy] = [Math.abs(a - x) - width / 2, Math.abs(b - y) - HEIGHT / 2];
        return Math.hypot(Math.max(0, dx), Math.max(0, dy)) > radius;
      }) &&
      set.every(
        (other) =>
          Math.abs(other.x - x) > (other.width + width) / 2 || Math.abs(other.y - y) > HEIGHT,
      ) &&
      (!role ||
        !far ||
        along(leader([x, y, far])).every(([[a, b]]) =>
          set.every(
            (other) =>
              Math.abs(other.x - a) > other.width / 2 || Math.abs(other.y - b) > HEIGHT / 2,
          ),
        ));
    const place = [...placesFor(label)].find(free);
    if (!place) continue;
    set.push({ x: place[0], y: place[1], width });
    if (role && place[2]) {
      const line = leader(place);
      rule(group, ...line, "var(--ex-muted)");
      taken.push(...along(line));
    }
    const words = say(group, text, place[0], place[1] + 4, "middle");
    if (role) words.style("fill", lettersColour(role));
    if (bold) words.style("font", "700 17px system-ui, sans-serif");
  }
}
