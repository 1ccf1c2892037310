/** Handles within a drawing, moved by mouse, finger or keyboard. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { layer } from "./shared.js";

/**
 * One handle for each value, in the colour of a role: those that are new, and all. `range` is what a number of theirs may be.
 */
export function drawHandles(panel, values, range, role) {
  const handles = layer(panel.svg, "handles").selectAll("g.explorable-handle").data(values);
  const newHandles = handles
    .enter()
    .append("g")
    .attr("class", "explorable-handle")
    .attr("role", "slider")
    .attr("tabindex", 0)
    .attr("aria-valuemin", range.min)
    .attr("aria-valuemax", range.max);
  newHandles
    .append("rect")
    .attr("class", "touch")
    .attr("x", -16)
    .attr("y", -16)
    .attr("width", 32)
    .attr("height", 32)
    .style("fill", "transparent");
  newHandles.append("circle").attr("class", "ring").attr("r", 12);
  newHandles
    .append("circle")
    .attr("r", 7)
    .style("fill", colour(role))
    .style("stroke", "var(--ex-ground)")
    .style("stroke-width", 1.5);
  return { newHandles, all: newHandles.merge(handles) };
}

/** How each panel's handles follow a drag now. */
const byDragNow = new WeakMap();

/**
 * Let readers move handles, numbered from 1: `byKey(event, value, number)` and `byDrag(event, number)` give the changes of the state;
 * null leaves the key to the page. A drag is at (event.x, event.y), and began at event.subject, which is one object all the way.
 */
export function listen(app, panel, handles, byKey, byDrag) {
  const number = (node) => handles.nodes().indexOf(node) + 1;
  handles.on("keydown", function (event) {
    this.classList.remove("pressed");
    app.settle();
    const changes = byKey(event, d3.select(this).datum(), number(this));
    if (!changes) return;
    event.preventDefault();
    app.set(changes);
  });
  handles.on("blur", function () {
    this.classList.remove("pressed");
  });
  byDragNow.set(panel, (event, node) => byDrag(event, number(node)));
  // Once for each handle: another d3.drag would not know of the finger that is on it.
  const fresh = handles.filter(function () {
    return !d3.select(this).on("touchstart.drag");
  });
  const dragged = d3
    .drag()
    .container(panel.svg.node())
    .subject((event) => ({ x: event.x, y: event.y }))
    .on("start", function () {
      takeFocus(this);
    })
    .on("drag", function (event) {
      app.set(byDragNow.get(panel)(event, this));
    });
  fresh.call(dragged);
  if (handles.size() === 1) pressAnywhere(app, panel, handles.node());
}

/** What is pressed gets the focus, for the keys that may follow; its ring comes with the first of them. */
export function takeFocus(node) {
  node.focus({ preventScroll: true });
  node.classList.add("pressed");
}

/**
 * A press anywhere in a drawing with one handle brings the handle there, and it follows. A finger does so when it taps or moves
 * sideways; up and down it scrolls the page.
 */
function pressAnywhere(app, panel, handle) {
  if (panel.svg.classed("explorable-pressable")) return; // or a press would be forgotten when all is drawn again
  const svg = panel.svg.node();
  let from = null; // where the press began, and whether the handle follows it
  const place = (event) => {
    const [x, y] = d3.pointer(event, svg);
    return { x, y };
  };
  const bring = (event) => {
    takeFocus(handle);
    app.set(byDragNow.get(panel)({ ...place(event), subject: from.subject }, handle));
  };
  panel.svg
    .classed("explorable-pressable", true)
    .on("mousedown", (event) => event.preventDefault()) // or the press would take the focus away again
    .on("pointerdown", (event) => {
      if (event.button || !event.isPrimary || event.target.closest(".explorable-handle")) return;
      from = {
        x: event.clientX,
        y: event.clientY,
        subject: place(event),
        follows: event.pointerType === "mouse",
      };
      svg.setPointerCapture(event.pointerId);
      if (from.follows) bring(event);
    })
    .on("pointermove", (event) => {
      if (!from || !event.isPrimary) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y].map(Math.abs);
      from.follows ||= dx > 8 && dx > dy;
      if (from.follows) bring(event);
    })
    .on("pointerup", (event) => {
      if (from && event.isPrimary) bring(event);
      from = null;
    })
    .on("pointercancel", () => (from = null));
}

/** Which number a key on the keyboard asks for, or null: arrows one step, page keys ten, Home and End the ends. */
export function fromKey(event, value, { min, max, step }) {
  const moves = {
    ArrowUp: step,
    ArrowRight: step,
    ArrowDown: -step,
    ArrowLeft: -step,
    PageUp: 10 * step,
    PageDown: -10 * step,
  };
  if (event.key in moves) return value + moves[event.key];
  return { Home: min, End: max }[event.key] ?? null;
}

/** The same where keys go to `values`, of which it is the one at `place`, or between two of them. */
export function valueFromKey(event, place, values) {
  const last = values.length - 1;
  const next = fromKey(event, place, { min: 0, max: last, step: 1 });
  const whole = next > place ? Math.floor(next) : Math.ceil(next);
  return next === null ? null : values[Math.min(last, Math.max(0, whole))];
}

/** Which of them is drawn nearest to a place on the scale x. */
export const nearest = (values, x, at) =>
  values.reduce((best, v) => (Math.abs(x(v) - at) < Math.abs(x(best) - at) ? v : best));

/** A handle that moves a slider through its values: a point with an arrow to either side. */
export function drawSideways(app, panel, control, at, level, byDrag) {
  const { name, spoken, values, text } = control;
  const value = app.state[name];
  const now = values.indexOf(value);
  const range = { min: 0, max: values.length - 1, step: 1 };
  const { newHandles, all } = drawHandles(panel, [now], range, "query");
  newHandles.attr("aria-label", spoken);
  newHandles.selectAll("circle:not(.ring)").style("fill", "var(--ex-ink)");
  newHandles.select("circle.ring").attr("r", 18);
  newHandles
    .append("path")
    .attr("d", "M-10,-4L-14,0L-10,4M10,-4L14,0L10,4")
    .style("fill", "none")
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  newHandles
    .select("rect.touch")
    .attr("x", -22)
    .attr("y", -22)
    .attr("width", 44)
    .attr("height", 44)
    .style("cursor", "ew-resize");
  all
    .attr("transform", `translate(${at},${level})`)
    .attr("aria-valuenow", (place) => place)
    .attr("aria-valuetext", text(value));
  const byKey = (event, place) => {
    const next = valueFromKey(event, place, values);
    return next === null ? null : { [name]: next };
  };
  listen(app, panel, all, byKey, byDrag);
}

/**
 * A line across a drawing that readers move to one of a slider's values, by a handle at its top: `control` is the slider's, `x` the
 * scale, and `place` an empty group below what the line must not cross.
 */
export function drawCursor(app, panel, place, control, x) {
  const { name, values, text } = control;
  const value = app.state[name];
  const at = x(value);
  const [bottom, top] = panel.yRange;
  const level = top - 13;
  place
    .append("line")
    .attr("x1", at)
    .attr("x2", at)
    .attr("y1", level)
    .attr("y2", bottom)
    .style("stroke", "var(--ex-ink)")
    .style("stroke-width", 1.5);
  const left = at < (x.range()[0] + x.range()[1]) / 2;
  place
    .append("text")
    .attr("class", "rim")
    .attr("x", at + (left ? 25 : -25))
    .attr("y", level + 4)
    .attr("text-anchor", left ? "start" : "end")
    .style("font-weight", 700)
    .text(text(value));
  drawSideways(app, panel, control, at, level, (event) => ({
    [name]: nearest(values, x, event.x),
  }));
}
