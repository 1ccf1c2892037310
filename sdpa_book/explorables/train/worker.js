/**
 * The training away from the page, which stays free to draw. The page posts {setting, run} to begin, with `calm` where it wants the end
 * only, and {going} to let it go on or wait; what comes back is a list of records, one after each step.
 */
import { beginTraining, LEVEL, MOST_STEPS } from "./layer.js";

const ENDS = [40, 80, 160, 320, MOST_STEPS]; // of the axis of steps, and so of a training
const PACE = [50, 2400]; // ms a step takes at least: at first, and over the steps so far, so that a long training goes faster

let training;
let state; // what is posted of it, and how far it is
let going = false;
let timer;

function look() {
  const losses = training.losses();
  losses.forEach((loss, i) => {
    if (loss < LEVEL) state.reached[i] ??= state.step;
  });
  const end = ENDS.find((at) => at >= state.step);
  state.done = state.step === end && (end === MOST_STEPS || !state.reached.includes(null));
  const { run, step, done } = state;
  const weights = training.weights();
  state.records.push({ run, step, losses, weights, reached: [...state.reached], end, done });
  if (done || !state.calm) postMessage(state.records.splice(0));
}

function advance() {
  const began = performance.now();
  training.step();
  state.step++;
  look();
  const least = state.calm ? 0 : Math.min(PACE[0], PACE[1] / state.step);
  if (!state.done) timer = setTimeout(advance, began + least - performance.now());
}

onmessage = ({ data }) => {
  clearTimeout(timer);
  if (data.setting) {
    training = beginTraining(data.setting);
    state = { run: data.run, calm: data.calm, step: 0, reached: [null, null], records: [] };
    look();
  }
  going = data.going ?? going;
  if (going && training && !state.done) timer = setTimeout(advance);
};
