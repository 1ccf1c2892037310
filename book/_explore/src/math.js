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
 * The largest weight of a row.
 * @param {Array} weights (n,).
 * @returns {number}
 */
export function largestWeight(weights) {
  let largest = 0;
  for (const p of weights) largest = Math.max(largest, p);
  return largest;
}

/** For each entry the sum of all others, by additions alone, (n,): nothing cancels near a one-hot row. */
function sumOfOthers(x) {
  const others = new Array(x.length).fill(0);
  for (let i = 1, before = 0; i < x.length; i++) others[i] += before += x[i - 1];
  for (let i = x.length - 2, after = 0; i >= 0; i--) others[i] += after += x[i + 1];
  return others;
}

/**
 * The Jacobian of softmax, diag(p) - p p^T: how weight i moves with score j at temperature 1.
 * @param {Array} weights (n,), summing to 1.
 * @returns {number[][]} (n, n), symmetric, rows summing to 0.
 */
export function jacobian(weights) {
  const others = sumOfOthers(weights);
  return Array.from(weights, (p, i) =>
    Array.from(weights, (other, j) => (i === j ? p * others[i] : -p * other)),
  );
}

/**
 * The Frobenius norm of the Jacobian.
 * @param {Array} weights (n,), summing to 1.
 * @returns {number} sqrt(n - 1) / n for even weights, 0 for a one-hot row.
 */
export function jacobianNorm(weights) {
  const squares = Array.from(weights, (p) => p * p);
  const others = sumOfOthers(weights);
  const otherSquares = sumOfOthers(squares);
  return Math.sqrt(
    squares.reduce((sum, square, i) => sum + square * (others[i] ** 2 + otherSquares[i]), 0),
  );
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

/**
 * The standard deviation of scores at which softmax over n keys freezes.
 * @param {number} n keys, at least 2.
 * @returns {number}
 */
export function criticalSigma(n) {
  return Math.sqrt(2 * Math.log(n));
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
 * Independent components with a named distribution.
 * @param {number} count how many.
 * @param {string} distribution a name in data.distributions.
 * @param {function(): number} uniform as from makeGenerator.
 * @returns {Float64Array} (count,).
 */
export function sample(count, distribution, uniform) {
  const angle = () => Math.cos(2 * Math.PI * uniform());
  const draws = {
    normal: () => Math.sqrt(-2 * Math.log(1 - uniform())) * angle(),
    uniform: () => Math.sqrt(3) * (2 * uniform() - 1),
    rademacher: () => (uniform() < 0.5 ? -1 : 1),
    laplace: () => (Math.log(1 - uniform()) * (uniform() < 0.5 ? -1 : 1)) / Math.SQRT2,
    student_t: () => Math.sqrt(8 * ((1 - uniform()) ** -0.2 - 1)) * angle(), // the polar method, scaled to variance 1
  };
  const draw = draws[distribution];
  const drawn = new Float64Array(count);
  for (let i = 0; i < count; i++) drawn[i] = draw();
  return drawn;
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

/**
 * Pairs of a query and a key as far as `dotProducts` needs them, for several d_k at once: a pair has a number that its query shares,
 * one that its key shares, and components of their own, all with one distribution.
 * @param {{pairs: number, dims: number[], distribution: string, seed: number}} setting dims ascend.
 * @returns {{query: Float64Array, key: Float64Array, sums: {query: Float64Array, key: Float64Array, product: Float64Array}[]}}
 *   what is shared, (pairs,), and for each of dims the sums over that many own components, (pairs,).
 */
export function samplePairs({ pairs, dims, distribution, seed }) {
  const uniform = makeGenerator(seed);
  const most = dims.at(-1);
  const [query, key] = [0, 1].map(() => sample(pairs, distribution, uniform));
  const own = [0, 1].map(() => sample(pairs * most, distribution, uniform));
  const sums = dims.map(() => {
    const [query, key, product] = [0, 1, 2].map(() => new Float64Array(pairs));
    return { query, key, product };
  });
  for (let pair = 0; pair < pairs; pair++) {
    let [q, k, product] = [0, 0, 0];
    for (let i = 0, d = 0; i < most; i++) {
      const x = own[0][pair * most + i];
      const y = own[1][pair * most + i];
      q += x;
      k += y;
      product += x * y;
      if (i + 1 < dims[d]) continue;
      sums[d].query[pair] = q;
      sums[d].key[pair] = k;
      sums[d++].product[pair] = product;
    }
  }
  return { query, key, sums };
}

/**
 * The dot products of such pairs: with mean mu and correlation rho a component is mu + sqrt(rho) times what its vector shares +
 * sqrt(1 - rho) times its own number.
 * @param {object} drawn from samplePairs.
 * @param {number} at which of its dims.
 * @param {number} dK that many components.
 * @param {{muQ: number, muK: number, rhoQ: number, rhoK: number}} setting means and correlations.
 * @returns {Float64Array} (pairs,).
 */
export function dotProducts({ query, key, sums }, at, dK, { muQ, muK, rhoQ, rhoK }) {
  const [ownQ, ownK] = [Math.sqrt(1 - rhoQ), Math.sqrt(1 - rhoK)];
  return sums[at].product.map((product, pair) => {
    const q = muQ + Math.sqrt(rhoQ) * query[pair];
    const k = muK + Math.sqrt(rhoK) * key[pair];
    const mixed = q * ownK * sums[at].key[pair] + k * ownQ * sums[at].query[pair];
    return dK * q * k + mixed + ownQ * ownK * product;
  });
}

/**
 * The variance of a sample, unbiased, and its standard error.
 * @param {Array} values (count,), at least two different numbers.
 * @returns {{variance: number, error: number}}
 */
export function measureVariance(values) {
  const count = values.length;
  const mean = values.reduce((a, b) => a + b, 0) / count;
  const moment = (power) => values.reduce((sum, x) => sum + (x - mean) ** power, 0) / count;
  const second = moment(2);
  return {
    variance: (second * count) / (count - 1),
    error: Math.sqrt(Math.max(0, moment(4) - second ** 2) / count),
  };
}
