/** What several explorables let readers set: scores. */
import { drawHandles, fromKey, listen } from "./handles.js";
import { show } from "./shared.js";

export const scoreRange = { min: -10, max: 10, step: 0.1 };

export const scoreControl = (j, value) => ({
  name: `z${j}`,
  label: `score of key ${j}`,
  ...scoreRange,
  value,
});

/** A handle for each score, up and down at its key's place on the scale x, with its number at `below(z)`; all of them. */
export function drawScoreHandles(app, panel, { x, y }, scores, range, below) {
  const { made, all } = drawHandles(panel, scores, range, "weights");
  made.attr("aria-label", (_, j) => `score of key ${j + 1}`).attr("aria-orientation", "vertical");
  made.append("text").attr("class", "rim").attr("text-anchor", "middle");
  all.attr("transform", (z, j) => `translate(${x(j) + x.bandwidth() / 2},${y(z)})`);
  all.attr("aria-valuenow", (z) => z).attr("aria-valuetext", (z) => show(z, 1));
  all
    .select("rect.touch")
    .attr("x", -x.step() / 2)
    .attr("width", x.step());
  all
    .select("text")
    .attr("y", below)
    .text((z) => show(z, 1));
  const byKey = (event, z, number) => {
    const next = fromKey(event, z, range);
    return next === null ? null : { [`z${number}`]: next };
  };
  listen(app, panel, all, byKey, (event, number) => ({ [`z${number}`]: y.invert(event.y) }));
  return all;
}
