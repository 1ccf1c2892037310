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
  const powers = Array.from(scores, (z) => Math.exp((z - largest) / temperature));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((x) => x / total);
}

/**
 * Entropy in nats: ln n for even weights, 0 for a one-hot row.
 * @param {Array} weights (n,).
 * @returns {number}
 */
export function entropy(weights) {
  let sum = 0;
  for (const p of weights) if (p > 0) sum -= p * Math.log(p);
  return sum + 0; // -0 becomes 0
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

// Samples, and what attention does with them

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
  return Float64Array.from({ length: count }, draws[distribution]);
}

/**
 * Queries, keys and, for each query, what the upstream gradient says about each value (its dot product with it).
 * @param {{queries: number, n: number, dK: number, dV: number, distribution: string, seed: number}} setting
 * @returns {{n: number, dK: number, query: Float64Array, key: Float64Array, value: Float64Array, upstream: Float64Array,
 *   scores: Float64Array, products: Float64Array}} query (queries, dK), key (n, dK), value (n, dV), upstream (queries, dV),
 *   undivided scores (queries, n), upstream times value (queries, n). The keys come first: explorable_data.py draws them, too.
 */
export function sampleAttention({ queries, n, dK, dV, distribution, seed }) {
  const uniform = makeGenerator(seed);
  const key = sample(n * dK, distribution, uniform);
  const query = sample(queries * dK, distribution, uniform);
  const value = sample(n * dV, distribution, uniform);
  const upstream = sample(queries * dV, "normal", uniform);
  return {
    n,
    dK,
    query,
    key,
    value,
    upstream,
    scores: table(query, key, dK),
    products: table(upstream, value, dV),
  };
}

/** Dot product of two stretches of `size` numbers. */
function dot(a, i, b, j, size) {
  let sum = 0;
  for (let c = 0; c < size; c++) sum += a[i + c] * b[j + c];
  return sum;
}

/** All dot products of rows of a (rows, size) with rows of b (n, size): (rows, n), flat. */
function table(a, b, size) {
  const n = b.length / size;
  return Float64Array.from({ length: (a.length / size) * n }, (_, at) =>
    dot(a, Math.floor(at / n) * size, b, (at % n) * size, size),
  );
}

/**
 * The length of the gradient that reaches a query: (1 / c) |sum_j g_j k_j| with g = (diag(p) - p p^T) u.
 * @param {Array} weights p, (n,).
 * @param {Array} products u, (n,): the upstream gradient times each value.
 * @param {Array} key (n, dK), flat.
 * @param {number} c the divisor.
 * @returns {number}
 */
export function gradientAtQuery(weights, products, key, c) {
  const n = weights.length;
  const dK = key.length / n;
  // Less the product at the largest weight: it changes no g, and nothing cancels near a one-hot row.
  const base = products[weights.indexOf(largestWeight(weights))];
  let mean = 0;
  for (let j = 0; j < n; j++) mean += weights[j] * (products[j] - base);
  const gradient = new Float64Array(dK);
  for (let j = 0; j < n; j++) {
    const g = weights[j] * (products[j] - base - mean);
    for (let i = 0; i < dK; i++) gradient[i] += g * key[j * dK + i];
  }
  return Math.sqrt(dot(gradient, 0, gradient, 0, dK)) / c;
}

/**
 * Median of some numbers: the lower of the two in the middle, as torch.median has it.
 * @param {Array} values (count,), at least one.
 * @returns {number}
 */
export function median(values) {
  return Float64Array.from(values).sort()[Math.floor((values.length - 1) / 2)];
}

/** Values less their mean, over their standard deviation. */
export function standardise(values) {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const std = Math.sqrt(values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length);
  return Float64Array.from(values, (x) => (x - mean) / std);
}

/**
 * How far two samples differ in shape: the Wasserstein-1 distance after each is given mean 0 and variance 1.
 * @param {Array} first (count,).
 * @param {Array} second (count,).
 * @returns {number}
 */
export function shapeDistance(first, second) {
  const [a, b] = [standardise(first).sort(), standardise(second).sort()];
  return a.reduce((sum, x, i) => sum + Math.abs(x - b[i]), 0) / a.length;
}

/**
 * What one rescaling does with a sample: chapter 7's report, for one set of keys.
 * @param {object} drawn from sampleAttention.
 * @param {number} c what the rescaling divides by, for these keys.
 * @returns {{raw: number[], first: number[], shapeDistance: number, entropyShare: number,
 *   effectiveKeys: number, largestTimesN: number, gradients: number[]}} `raw` and `first` are each query's undivided score and
 *   weight of the first key, (queries,); all but `gradients` (queries,) are means.
 */
export function report(drawn, c) {
  const { n, key, scores, products } = drawn;
  const rows = scores.length / n;
  const [raw, first, gradients] = [[], [], []];
  let [shares, effective, largest] = [0, 0, 0];
  for (let row = 0; row < rows; row++) {
    const z = scores.subarray(row * n, (row + 1) * n);
    const p = softmax(z, c);
    raw.push(z[0]);
    first.push(p[0]);
    shares += entropy(p) / Math.log(n) / rows;
    effective += effectiveKeys(p) / rows;
    largest += (largestWeight(p) * n) / rows;
    gradients.push(gradientAtQuery(p, products.subarray(row * n, (row + 1) * n), key, c));
  }
  const distance = shapeDistance(raw, first);
  return {
    raw,
    first,
    shapeDistance: distance,
    entropyShare: shares,
    effectiveKeys: effective,
    largestTimesN: largest,
    gradients,
  };
}

/**
 * A Gaussian kernel density estimate with Silverman's rule of thumb.
 * @param {Array} values (count,), at least two different numbers.
 * @param {Array} at (points,), where to evaluate.
 * @returns {number[]} (points,).
 */
export function kernelDensity(values, at) {
  const sorted = Float64Array.from(values).sort();
  const count = sorted.length;
  const quantile = (share) => {
    const place = share * (count - 1);
    const below = Math.floor(place);
    return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
  };
  const mean = sorted.reduce((a, b) => a + b, 0) / count;
  const std = Math.sqrt(sorted.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (count - 1));
  const spread = Math.min(std, (quantile(0.75) - quantile(0.25)) / 1.34) || std;
  const bandwidth = 0.9 * spread * count ** -0.2;
  const scale = count * bandwidth * Math.sqrt(2 * Math.PI);
  return Array.from(
    at,
    (x) =>
      sorted.reduce((sum, value) => sum + Math.exp(-(((x - value) / bandwidth) ** 2) / 2), 0) /
      scale,
  );
}
