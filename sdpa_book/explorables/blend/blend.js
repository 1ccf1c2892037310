/** Weights times V: three values to drag, and the output, which stays in their hull. */
import * as d3 from "../_shared/d3.js";
import { colour, lettersColour } from "../_shared/data.js";
import { drawHandles, fromKey, listen } from "../_shared/handles.js";
import * as math from "../_shared/math.js";
import { arrow, element, fresh, layer, point, rich, rule, say, show } from "../_shared/shared.js";

const VALUES = [
  [0.9, 0.1],
  [0.2, 0.8],
  [0.4, -0.2],
];
const pointRange = { min: -0.36, max: 1.04, step: 0.02 };
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
  panels: [["plane", "", 340, { left: 8, top: 8, bottom: 8, right: 8 }]],
  forget({ memory }) {
    for (const name of ["moved", "from", "beyond"]) delete memory[name];
  },
  /** Keep what the reader moves, and a value's way from where it began: of a score one number changes, of a value two, of o three. */
  also(asked, { memory }) {
    const [name, ...more] = Object.keys(asked);
    const moved = [`z`, `v${name[1]}`, "o"][more.length];
    if (moved !== "o") delete memory.beyond;
    if (moved !== memory.moved || !memory.from) memory.from = memory.drawn;
    memory.moved = moved;
    memory.held = true;
  },
  update(app) {
    const scores = [1, 2, 3].map((j) => app.state[`z${j}`]);
    const values = [1, 2, 3].map((j) => [app.state[`x${j}`], app.state[`y${j}`]]);
    const p = math.softmax(scores);
    const output = math.blend(p, values);
    app.memory.drawn = [...values, output];
    const shares = percents(p);
    drawShares(app, p, shares);
    drawPlane(app, values, p, shares, output);
    return { sentence: flat(values) ?? answer(app, p, shares) };
  },
};

const RING = 14; // px, around a value

/** Weights for reading, in whole percents that sum to 100: those that lack most are rounded up; with a digit more where that would part equal ones. One that is small is not 0, nor is one that is large 100. */
function percents(p) {
  const whole = p.map((w) => Math.floor(100 * w));
  const lacking = p.map((w, j) => 100 * w - whole[j]);
  const left = 100 - whole.reduce((sum, n) => sum + n);
  const first = [0, 1, 2].sort((i, j) => lacking[j] - lacking[i]);
  for (const j of first.slice(0, left)) whole[j] += 1;
  if (p.some((w, i) => p.some((other, j) => w === other && whole[i] !== whole[j])))
    return p.map((w) => `${show(100 * w, 1)}\u00a0%`);
  return whole.map((n) => `${n === 0 ? "<\u00a01" : n === 100 ? ">\u00a099" : n}\u00a0%`);
}

/** What the output is, what stops it, and how far it goes with a value. */
function answer({ memory: { beyond, moved } }, p, shares) {
  if (beyond)
    return `At the dashed ring p_${beyond.j + 1} would have to be ${needed(beyond)}, but no weight is negative: o stays inside.`;
  const value = /v(.)/.exec(moved)?.[1];
  const percentage = shares[value - 1]?.replace("<", "less than").replace(">", "over");
  if (p[value - 1] < 0.05)
    return `The weights stay, and o hardly moves: v_${value} has ${percentage} of the weight.`;
  if (value) return `The weights stay, and o goes ${percentage} of the way that v_${value} goes.`;
  const most = p.findIndex((w) => w > 0.95) + 1;
  if (most) return `Here o is almost all v_${most}, and never quite: every weight stays above 0.`;
  const [first, second, third] = shares.map((share, j) => `${share}\u00a0v_${j + 1}`);
  const stays = moved
    ? "o stays inside the triangle: it is an average,"
    : "So far o is inside the triangle:";
  return `${stays} ${first}, ${second} and ${third}.`;
}

/** The weight that a place outside the triangle would need. */
const needed = ({ needs }) => `−${Math.round(-100 * needs)}\u00a0%`;

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

/** Under each score its weight, as a bar and in percent. */
function drawShares(app, p, shares) {
  app.memory.shares ??= [...app.controls.children].slice(0, p.length).map((control, j) => {
    const parts = [rich(`weight p_${j + 1}`), "", ""].map((text) => element("span", {}, text));
    return control.appendChild(element("div", { class: "explorable-share" }, ...parts));
  });
  app.memory.shares.forEach((share, j) => {
    share.style.setProperty("--ex-share", `${100 * p[j]}%`);
    share.lastChild.textContent = shares[j];
  });
}

/** The weights, of which some may be negative, whose average is a place. */
function weightsAt([[ax, ay], [bx, by], [cx, cy]], [x, y]) {
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
  const second = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area;
  const third = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
  return [1 - second - third, second, third];
}

/** The weights whose average lies nearest to a place: inside the triangle it is the place itself, else a point of an edge. */
function nearestWeights(values, [x, y]) {
  const inside = weightsAt(values, [x, y]);
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

/** Scores that have these weights, or nearly: only their differences count, and that of the largest weight stays if the others have room. */
function scoresFor(weights, scores) {
  const largest = Math.max(...weights);
  const gaps = weights.map((p) => Math.max(-6.2, Math.log(p / largest))); // 0.2 % for none
  const least = scoreRange.min - Math.min(...gaps);
  const most = Math.max(least, scores[weights.indexOf(largest)]);
  return Object.fromEntries(gaps.map((gap, j) => [`z${j + 1}`, most + gap]));
}

/** What the output would need at a place outside the triangle: the weight that would have to be negative most. */
function beyondAt(values, place) {
  const weights = weightsAt(values, place);
  const needs = Math.min(...weights);
  if (flat(values) || needs > -0.01) return;
  return { place, needs, j: weights.indexOf(needs) };
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

function drawPlane(app, values, p, shares, output) {
  const panel = app.panels.plane;
  const { x, y } = planeOf(panel);
  const at = ([a, b]) => [x(a), y(b)];
  const { beyond, from, moved, held } = app.memory;
  const group = fresh(panel.svg, "vectors");
  group
    .append("path")
    .attr("d", `M${values.map(at).join("L")}Z`)
    .style("fill", colour("value"))
    .style("fill-opacity", 0.14)
    .style("stroke", colour("value"));
  const centre = [0, 1].map((c) => values.reduce((sum, value) => sum + at(value)[c] / 3, 0));
  const names = values.map((value, j) => {
    const [left, level] = at(value);
    const [right, down] = [left - centre[0], level - centre[1]]; // out of the triangle
    return {
      text: `v${"₁₂₃"[j]}`,
      share: shares[j],
      at: [left, level],
      towards: Math.hypot(right, down) < 1 ? -Math.PI / 2 : Math.atan2(down, right),
      gap: RING + 6,
      width: /[<>.]/.test(shares[j]) ? 71 : 64,
    };
  });
  const ends = [...values, output];
  const ways =
    held && /v/.test(moved) ? [moved[1] - 1, 3].map((j) => upTo(at(from[j]), at(ends[j]))) : [];
  const lines = [...values.map((value, j) => [at(value), at(values[(j + 1) % 3])]), ...ways];
  const { newHandles, all } = drawHandles(panel, ends, pointRange, "value");
  const [ofValues, ofOutput] = [
    newHandles.filter((_, j) => j < 3),
    newHandles.filter((_, j) => j === 3),
  ];
  const keys = "left and right arrows move x, up and down move y";
  ofValues.attr("aria-label", (_, j) => `value ${j + 1}, a point: ${keys}`);
  ofValues.select("circle:not(.ring)").attr("r", 8);
  ofOutput.attr("aria-label", `output, a point in the triangle: ${keys}`);
  ofOutput
    .select("circle:not(.ring)")
    .attr("r", 5.5) // a value is seen around it
    .style("fill", "var(--ex-ink)");
  const [left, level] = at(output);
  // Where it is pulled to, the output is held: the ring there is its handle.
  const grip = beyond ? at(beyond.place) : [left, level];
  const nearest = ([a, b]) => Math.min(...values.map(at).map(([c, d]) => Math.hypot(a - c, b - d)));
  const off = nearest(grip);
  const room = off < 12 ? 16 : off < 36 ? 24 : 44; // beside the output its neighbour can be taken, too
  const size = (j) => (j === 3 ? room : 44);
  const corner = (j, c) => (j === 3 ? grip[c] - [left, level][c] : 0) - size(j) / 2;
  // An output that scores have brought onto a value leaves the next press to the value.
  const onValue = nearest([left, level]) < 12 && !/[ov]/.test(moved);
  all.style("pointer-events", (_, j) => (j === 3 && onValue ? "none" : null));
  all
    .select("rect.touch")
    .attr("x", (_, j) => corner(j, 0))
    .attr("y", (_, j) => corner(j, 1))
    .style("pointer-events", (_, j) => (j === 3 && beyond ? "all" : null))
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
  all.select("circle.ring").attr("r", (_, j) => (j === 3 ? 11 : RING + 4));
  all
    .attr("aria-valuenow", (place) => place[0])
    .attr("aria-valuetext", (place) => `x ${show(place[0])}, y ${show(place[1])}`);
  const bring = (number, [a, b]) => {
    if (number < 4) return { [`x${number}`]: a, [`y${number}`]: b };
    const [place, scores] = [[a, b], [1, 2, 3].map((j) => app.state[`z${j}`])];
    app.memory.beyond = beyondAt(values, place);
    return scoresFor(nearestWeights(values, place), scores);
  };
  const byKey = (event, place, number) => {
    const axis = /Up|Down/.test(event.key) ? 1 : 0;
    const next = fromKey(event, place[axis], pointRange);
    return next === null ? null : bring(number, place.with(axis, next));
  };
  const places = ends.map(at);
  panel.svg.on(
    "pointerdown.off",
    (event) => {
      const j = all.nodes().indexOf(event.target.closest(".explorable-handle"));
      const [left, level] = d3.pointer(event, panel.svg.node());
      if (j < 0) return;
      const held = j === 3 && event.target.matches("rect") ? grip : places[j];
      app.memory.off = [held[0] - left, held[1] - level]; // of what is held
      delete app.memory.from;
    },
    true,
  );
  d3.select(window).on("pointerup.way pointercancel.way keyup.way", () => {
    if (!app.memory.held) return;
    app.memory.held = false;
    app.redraw();
  });
  const [[first, last], [bottom, top]] = [panel.xRange, panel.yRange];
  listen(app, panel, all, byKey, (event, number) => {
    const [right, down] = app.memory.off;
    return bring(number, [
      x.invert(Math.min(last, Math.max(first, event.x + right))),
      y.invert(Math.min(bottom, Math.max(top, event.y + down))),
    ]);
  });
  const above = fresh(panel.svg, "output").style("pointer-events", "none"); // of the handles, which may lie below
  for (const way of ways) arrow(above, ...way, "var(--ex-ink)", 1);
  const labels = [{ text: "o", at: [left, level], towards: 0, gap: 14, width: 11 }, ...names];
  const taken = [...values.map((value) => [at(value), RING + 1]), [[left, level], 7]];
  if (beyond) {
    const there = at(beyond.place);
    rule(above, [left, level], there, "var(--ex-ink)").style("stroke-dasharray", "4 4");
    point(above, ...there, 7, "var(--ex-ground)")
      .style("stroke", "var(--ex-ink)")
      .style("stroke-dasharray", "3 2");
    lines.push([[left, level], there]);
    taken.push([there, 9]);
    const text = `p${"₁₂₃"[beyond.j]} = ${needed(beyond)}?`;
    labels.unshift({
      text,
      at: there,
      towards: 0,
      gap: 11,
      width: 10 * text.length,
    });
  }
  drawLabels(panel, above, labels, [...taken, ...lines.flatMap(along)]);
  panel.describe(
    `Values at ${values.map(([a, b]) => `(${show(a)}, ${show(b)})`).join(", ")}; output at (${show(output[0])}, ${show(output[1])}).`,
    "group",
  );
}

/** The way from a place to the rim of the point at another. */
function upTo([x1, y1], [x2, y2]) {
  const share = Math.max(0, 1 - 8 / Math.hypot(x2 - x1, y2 - y1));
  return [
    [x1, y1],
    [x1 + share * (x2 - x1), y1 + share * (y2 - y1)],
  ];
}

/** A line as small discs [place, radius]. */
function along([[x1, y1], [x2, y2]]) {
  const steps = Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 4) + 1;
  return Array.from({ length: steps + 1 }, (_, i) => {
    const share = i / steps;
    return [[x1 + share * (x2 - x1), y1 + share * (y2 - y1)], 1];
  });
}

const HEIGHT = 17; // of a label

/** Where the middle of a label may stand: beside its place, the side that it likes best first, then farther away. */
function* placesFor({ at: [x, y], towards, gap, width }) {
  for (const farther of [0, 7, 15, 25, 40, 60])
    for (const turn of [0, 0.5, -0.5, 1, -1, 1.6, -1.6, 2.3, -2.3, Math.PI])
      yield [
        x + Math.cos(towards + turn) * (gap + farther + width / 2),
        y + Math.sin(towards + turn) * (gap + farther + HEIGHT / 2),
      ];
}

/** Labels one after the other, each at the first place where nothing is drawn; one that finds none is left out. */
function drawLabels(panel, group, labels, taken) {
  const [[left, right], [bottom, top]] = [panel.xRange, panel.yRange];
  const set = [];
  for (const label of labels) {
    const { text, share, width } = label;
    const within = ([x, y]) => [
      Math.min(right - width / 2, Math.max(left + width / 2, x)),
      Math.min(bottom - HEIGHT / 2, Math.max(top + HEIGHT / 2, y)),
    ];
    const free = ([x, y]) =>
      taken.every(([[a, b], radius]) => {
        const [dx, dy] = [Math.abs(a - x) - width / 2, Math.abs(b - y) - HEIGHT / 2];
        return Math.hypot(Math.max(0, dx), Math.max(0, dy)) > radius;
      }) &&
      set.every(
        (other) =>
          Math.abs(other.x - x) > (other.width + width) / 2 || Math.abs(other.y - y) > HEIGHT,
      );
    const place = [...placesFor(label)].map(within).find(free);
    if (!place) continue;
    const [x, y] = place;
    set.push({ x, y, width });
    const words = say(group, `${text} `, x, y + 5, "middle").style(
      "font",
      "700 16px system-ui, sans-serif",
    );
    if (share)
      words
        .append("tspan")
        .text(share)
        .style("font", "600 13px system-ui, sans-serif")
        .style("fill", lettersColour("weights"));
  }
}
