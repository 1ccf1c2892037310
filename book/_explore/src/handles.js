/** Handles within a drawing, moved by mouse, finger or keyboard. */
import * as d3 from "./d3.js";
import { colour } from "./data.js";
import { layer } from "./shared.js";

/**
 * One handle for each value, in the colour of a role: those that are new, and all. `range` is what a number of theirs may be.
 */
export function drawHandles(panel, values, range, role) {
  const handles = layer(panel.svg, "handles").selectAll("g.explorable-handle").data(values);
  const made = handles
    .enter()
    .append("g")
    .attr("class", "explorable-handle")
    .attr("role", "slider")
    .attr("tabindex", 0)
    .attr("aria-valuemin", range.min)
    .attr("aria-valuemax", range.max);
  made
    .append("rect")
    .attr("class", "touch")
    .attr("x", -16)
    .attr("y", -16)
    .attr("width", 32)
    .attr("height", 32)
    .style("fill", "transparent");
  made.append("circle").attr("class", "ring").attr("r", 12);
  made
    .append("circle")
    .attr("r", 7)
    .style("fill", colour(role))
    .style("stroke", "var(--ex-ground)")
    .style("stroke-width", 1.5);
  return { made, all: made.merge(handles) };
}

/**
 * Let readers move handles, numbered from 1: `byKey(event, value, number)` and `byDrag(event, number)` give the changes of the state;
 * null leaves the key to the page.
 */
export function listen(app, panel, handles, byKey, byDrag) {
  const number = (node) => handles.nodes().indexOf(node) + 1;
  handles.on("keydown", function (event, value) {
    const changes = byKey(event, value, number(this));
    if (!changes) return;
    event.preventDefault();
    app.set(changes);
  });
  const dragged = d3
    .drag()
    .container(panel.svg.node())
    .subject((event) => ({ x: event.x, y: event.y }))
    .on("start", function () {
      this.focus({ preventScroll: true });
    })
    .on("drag", function (event) {
      app.set(byDrag(event, number(this)));
    });
  handles.call(dragged);
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
