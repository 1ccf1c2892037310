/**
 * The mathematics that must follow a drag: what sdpa_lib computes, for one row of scores at a time. The tests compare every
 * function with the library. No function changes its arguments. "Array" below means an array of numbers, plain or typed.
 */

/**
 * Softmax of scores divided by a temperature.
 * @param {Array} scores (n,), finite.
 * @param {number} [temperature] greater than 0.
 * @returns {number[]} (n,), weights that sum to 1.
 */
export function softmax(scores, temperature = 1) {
  let largest = -Infinity;
  for (const z of scores) largest = Math.max(largest, z);
  const weights = new Array(scores.length); // loops: a row may have 131,072 scores, and follow a drag
  let total = 0;
  for (let j = 0; j < scores.length; j++)
    total += weights[j] = Math.exp((scores[j] - largest) / temperature);
  for (let j = 0; j < scores.length; j++) weights[j] /= total;
  return weights;
}

/**
 * The effective number of keys, 1 over the sum of squared weights.
 * @param {Array} weights (n,), summing to 1.
 * @returns {number} from 1 to n.
 */
export function effectiveKeys(weights) {
  let squares = 0;
  for (const p of weights) squares += p * p;
  return 1 / squares;
}

/**
 * The output of one query: the weighted average of the values.
 * @param {Array} weights (n,).
 * @param {Array[]} values (n, d_v).
 * @returns {number[]} (d_v,).
 */
export function blend(weights, values) {
  const output = new Array(values[0].length).fill(0);
  values.forEach((value, j) => {
    for (let c = 0; c < output.length; c++) output[c] += weights[j] * value[c];
  });
  return output;
}

// Samples

/**
 * A generator of uniform numbers in [0, 1): Mulberry32, a 32-bit counter with a mixing function, period 2^32.
 * @param {number} seed a 32-bit integer.
 * @returns {function(): number}
 */
export function makeGenerator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), state | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * Independent standard normal numbers, by the method of Box and Muller.
 * @param {number} count how many.
 * @param {function(): number} uniform as from makeGenerator.
 * @returns {Float64Array} (count,).
 */
export function sampleNormal(count, uniform) {
  const draw = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return Float64Array.from({ length: count }, draw);
}

// The variance of q·k, when its assumptions are dropped

/**
 * The derived variance of q·k where every component has variance 1, those of a vector share a mean and correlate with each other.
 * @param {number} dK components.
 * @param {{muQ: number, muK: number, rhoQ: number, rhoK: number}} setting means and correlations.
 * @returns {{variance: number, constant: number, excess: number}} `variance` is dK (constant + (dK - 1) excess).
 */
export function dotProductVariance(dK, { muQ, muK, rhoQ, rhoK }) {
  const constant = 1 + muQ ** 2 + muK ** 2;
  const excess = rhoQ * rhoK + muQ ** 2 * rhoK + muK ** 2 * rhoQ;
  return { variance: dK * (constant + (dK - 1) * excess), constant, excess };
}
