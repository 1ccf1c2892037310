/**
 * The mathematics of the explorables: what sdpa_lib computes, in plain JavaScript, for one row of scores at a time.
 *
 * A classic script: it sets `window.AttentionMath`, and `module.exports` under node, where the tests compare every function with
 * sdpa_lib. No function changes its arguments. "Array" below means an array of numbers, plain or typed.
 */
(function (root) {
  "use strict";

  const LOG_2 = Math.log(2);

  /** The components' distributions, by name: mean 0, variance 1, and this excess kurtosis; student_t has 10 degrees of freedom. */
  const DISTRIBUTIONS = { normal: 0, uniform: -1.2, rademacher: -2, laplace: 3, student_t: 1 };

  /** The rescalings of the book, in its order. */
  const RESCALINGS = ["none", "sqrt_d_k", "d_k", "k_total", "k_mean", "k_rss", "k_norm_4", "n_sqrt_d_k"];

  // ---------------------------------------------------------------- one row of weights

  /**
   * Softmax of scores divided by a temperature.
   * @param {Array} scores (n,), finite.
   * @param {number} [temperature] greater than 0.
   * @returns {number[]} (n,), weights that sum to 1.
   */
  function softmax(scores, temperature = 1) {
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
  function entropy(weights) {
    let sum = 0;
    for (const p of weights) if (p > 0) sum -= p * Math.log(p);
    return sum + 0; // -0 becomes 0
  }

  /**
   * The effective number of keys: order 1 is the exponential of the entropy, order 2 is 1 over the sum of squared weights.
   * @param {Array} weights (n,), summing to 1.
   * @param {number} [order] 1 or 2.
   * @returns {number} from 1 to n.
   */
  function effectiveKeys(weights, order = 1) {
    if (order === 1) return Math.exp(entropy(weights));
    let squares = 0;
    for (const p of weights) squares += p * p;
    return 1 / squares;
  }

  /**
   * The largest weight of a row.
   * @param {Array} weights (n,).
   * @returns {number}
   */
  function largestWeight(weights) {
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
  function jacobian(weights) {
    const others = sumOfOthers(weights);
    return Array.from(weights, (p, i) => Array.from(weights, (other, j) => (i === j ? p * others[i] : -p * other)));
  }

  /**
   * The Frobenius norm of the Jacobian.
   * @param {Array} weights (n,), summing to 1.
   * @returns {number} sqrt(n - 1) / n for even weights, 0 for a one-hot row.
   */
  function jacobianNorm(weights) {
    const squares = Array.from(weights, (p) => p * p);
    const others = sumOfOthers(weights);
    const otherSquares = sumOfOthers(squares);
    return Math.sqrt(squares.reduce((sum, square, i) => sum + square * (others[i] ** 2 + otherSquares[i]), 0));
  }

  /**
   * The output of one query: the weighted average of the values.
   * @param {Array} weights (n,).
   * @param {Array[]} values (n, d_v).
   * @returns {number[]} (d_v,).
   */
  function blend(weights, values) {
    const output = new Array(values[0].length).fill(0);
    values.forEach((value, j) => {
      for (let c = 0; c < output.length; c++) output[c] += weights[j] * value[c];
    });
    return output;
  }

  // ---------------------------------------------------------------- divisors and phases

  /**
   * What a rescaling divides by, for keys of known lengths.
   * @param {string} name one of RESCALINGS.
   * @param {Array} lengths (n,), the Euclidean lengths of the keys.
   * @param {number} dK components of a key.
   * @returns {number}
   */
  function divisor(name, lengths, dK) {
    const norm = (p) => {
      const largest = largestWeight(lengths) || 1;
      return largest * Array.from(lengths, (x) => (x / largest) ** p).reduce((a, b) => a + b, 0) ** (1 / p);
    };
    const divisors = {
      none: () => 1,
      sqrt_d_k: () => Math.sqrt(dK),
      d_k: () => dK,
      k_total: () => norm(1),
      k_mean: () => norm(1) / lengths.length,
      k_rss: () => norm(2),
      k_norm_4: () => norm(4),
      n_sqrt_d_k: () => lengths.length * Math.sqrt(dK),
    };
    if (!(name in divisors)) throw new Error(`unknown rescaling ${name}`);
    return divisors[name]();
  }

  /**
   * What a rescaling divides by when every one of n keys has its typical length, the root of d_k.
   * @param {string} name one of RESCALINGS.
   * @param {number} n keys.
   * @param {number} dK components of a key.
   * @returns {number}
   */
  function typicalDivisor(name, n, dK) {
    const root = Math.sqrt(dK);
    const divisors = {
      none: 1,
      sqrt_d_k: root,
      d_k: dK,
      k_total: n * root,
      k_mean: root,
      k_rss: Math.sqrt(n) * root,
      k_norm_4: n ** 0.25 * root,
      n_sqrt_d_k: n * root,
    };
    if (!(name in divisors)) throw new Error(`unknown rescaling ${name}`);
    return divisors[name];
  }

  /**
   * The standard deviation of scores at which softmax over n keys freezes.
   * @param {number} n keys, at least 2.
   * @returns {number}
   */
  function criticalSigma(n) {
    return Math.sqrt(2 * Math.log(n));
  }

  /**
   * The share of the keys' entropy that is left in the limit of many keys, H / ln n: 1 - (sigma / sigma_c)^2, or 0 above the border.
   * @param {number} n keys, at least 2.
   * @param {number} sigma standard deviation of the scores.
   * @returns {number} from 0 to 1.
   */
  function limitEntropyShare(n, sigma) {
    return Math.max(0, 1 - (sigma / criticalSigma(n)) ** 2);
  }

  /**
   * The sum of squared weights in the limit of many keys: 0 below the border, 1 - sigma_c / sigma above it.
   * @param {number} n keys, at least 2.
   * @param {number} sigma standard deviation of the scores.
   * @returns {number} from 0 to 1.
   */
  function limitSquares(n, sigma) {
    return Math.max(0, 1 - criticalSigma(n) / sigma);
  }

  // ---------------------------------------------------------------- dot products: moments and densities

  /**
   * Variance and excess kurtosis of q·k / d_k^p for independent components of mean 0 and variance 1.
   * @param {number} dK components, at least 1.
   * @param {number} [power] p.
   * @param {string} [distribution] a name in DISTRIBUTIONS.
   * @returns {{variance: number, std: number, excessKurtosis: number}}
   */
  function dotProductMoments(dK, power = 0, distribution = "normal") {
    const variance = dK ** (1 - 2 * power);
    return { variance, std: Math.sqrt(variance), excessKurtosis: ((DISTRIBUTIONS[distribution] + 3) ** 2 - 3) / dK };
  }

  /**
   * ln Gamma(x), by Stirling's series after a shift to x >= 10.
   * @param {number} x greater than 0.
   * @returns {number}
   */
  function logGamma(x) {
    let shift = 0;
    for (; x < 10; x++) shift -= Math.log(x);
    const y = 1 / (x * x);
    const series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x;
    return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series;
  }

  /**
   * ln K_nu(x), the modified Bessel function of the second kind, from its integral of exp(-x cosh t) cosh(nu t) over t > 0.
   * The trapezoidal rule converges exponentially here; the step follows the width of the integrand's peak.
   * @param {number} nu 0 or more.
   * @param {number} x greater than 0.
   * @returns {number}
   */
  function logBesselK(nu, x) {
    const exponent = (t) => nu * t + Math.log1p(Math.exp(-2 * nu * t)) - LOG_2 - x * Math.cosh(t);
    const peak = Math.asinh(nu / x);
    const top = exponent(peak);
    const step = Math.min(0.15, 0.4 / Math.sqrt(Math.hypot(nu, x)));
    let sum = Math.exp(exponent(0) - top) / 2;
    for (let i = 1, now = 0; i * step < peak || now > -40; i++) sum += Math.exp((now = exponent(i * step) - top));
    return top + Math.log(sum * step);
  }

  /** Density of q·k for normal components, at one x: |x|^nu K_nu(|x|) / (sqrt(pi) 2^nu Gamma(d_k / 2)), nu = (d_k - 1) / 2. */
  function normalDensity(x, dK) {
    const nu = (dK - 1) / 2;
    const size = Math.abs(x);
    const constant = -Math.log(Math.PI) / 2 - nu * LOG_2 - logGamma(dK / 2);
    if (size < 1e-12) return nu === 0 ? Infinity : Math.exp(constant + logGamma(nu) + (nu - 1) * LOG_2);
    return Math.exp(constant + nu * Math.log(size) + logBesselK(nu, size));
  }

  /**
   * A product of two components as a normal product of random size: x y = sqrt(s) * (normal * normal), s with these weights.
   * Laplace is sqrt(E) * normal with E exponential, Student's t is sqrt(8 / chi^2_10) * normal; products of two exponential or
   * gamma variables have the density 2 z^(a-1) K_0(2 sqrt(z)) / Gamma(a)^2. Returns [size s, weight] pairs.
   */
  function mixture(distribution) {
    const shape = distribution === "laplace" ? 1 : 5;
    const pairs = [];
    for (let u = -70; u < 9; u += 0.5) {
      const z = Math.exp(u);
      const weight = Math.exp(LOG_2 + shape * u + logBesselK(0, 2 * Math.sqrt(z)) - 2 * logGamma(shape)) / 2;
      if (weight > 1e-40) pairs.push([shape === 1 ? z : 16 / z, weight]);
    }
    return pairs;
  }

  /** The sine integral Si(x) over x, for x > 0: the characteristic function of a product of two uniform components at x = 3 t. */
  function sineIntegralOver(x) {
    if (x < 12) {
      let sum = 0;
      for (let k = 0, term = 1; Math.abs(term) > 1e-18; k++, term *= -(x * x) / (2 * k * (2 * k + 1))) sum += term / (2 * k + 1);
      return sum;
    }
    // The auxiliary functions f and g, integrals of exp(-x t) / (1 + t^2) and t exp(-x t) / (1 + t^2), in u = ln t.
    let f = 0;
    let g = 0;
    for (let u = -40; u < 4; u += 0.25) {
      const t = Math.exp(u);
      const part = (0.25 * t * Math.exp(-x * t)) / (1 + t * t);
      f += part;
      g += part * t;
    }
    return (Math.PI / 2 - f * Math.cos(x) - g * Math.sin(x)) / x;
  }

  const mixtures = {};

  /** The characteristic function of one product of two components, at t > 0. */
  function characteristic(distribution, t) {
    if (distribution === "uniform") return sineIntegralOver(3 * t);
    const pairs = (mixtures[distribution] ??= mixture(distribution));
    let sum = 0;
    for (const [size, weight] of pairs) sum += weight / Math.sqrt(1 + t * t * size);
    return sum;
  }

  const transforms = {};

  /** Nodes t and slopes of the characteristic function of q·k between them: fine near 0, ever coarser outwards. */
  function transform(distribution, dK) {
    const key = `${distribution} ${dK}`;
    if (!(key in transforms)) {
      const t = [0];
      const value = [1];
      for (let k = 1; Math.abs(value[k - 1]) * Math.max(1, t[k - 1]) > 1e-8; k++) {
        t.push((2 / Math.sqrt(dK)) * Math.sinh((dK > 2 ? 0.001 : 0.002) * k));
        value.push(characteristic(distribution, t[k]) ** dK);
      }
      transforms[key] = { t, value };
    }
    return transforms[key];
  }

  /** Density of q·k at x by Fourier inversion: the characteristic function is linear between nodes, its cosine integral exact. */
  function invertedDensity(x, dK, distribution) {
    const { t, value } = transform(distribution, dK);
    let sum = 0;
    if (Math.abs(x) < 1e-3) {
      for (let k = 1; k < t.length; k++) sum += ((value[k] + value[k - 1]) / 2) * (t[k] - t[k - 1]);
      return sum / Math.PI;
    }
    for (let k = 1, before = 1; k < t.length; k++) {
      const now = Math.cos(t[k] * x);
      sum += ((value[k] - value[k - 1]) / (t[k] - t[k - 1])) * (now - before);
      before = now;
    }
    const end = t.length - 1;
    return Math.max(0, (sum / x + value[end] * Math.sin(t[end] * x)) / x / Math.PI);
  }

  /**
   * Density of q·k for independent components with one of the named distributions.
   *
   * Normal: closed form. Rademacher: probabilities of the lattice -d_k, -d_k + 2, ..., d_k over its spacing 2, at the nearest
   * lattice point. One component: closed form or mixture. Otherwise Fourier inversion, good to about 1e-6 of the peak.
   * @param {number} x where.
   * @param {number} dK components, at least 1.
   * @param {string} [distribution] a name in DISTRIBUTIONS.
   * @returns {number} infinite at x = 0 for a single component with a density.
   */
  function dotProductDensity(x, dK, distribution = "normal") {
    if (distribution === "normal") return normalDensity(x, dK);
    if (distribution === "rademacher") {
      const heads = Math.round((x + dK) / 2);
      if (heads < 0 || heads > dK) return 0;
      return Math.exp(logGamma(dK + 1) - logGamma(heads + 1) - logGamma(dK - heads + 1) - (dK + 1) * LOG_2);
    }
    if (!(distribution in DISTRIBUTIONS)) throw new Error(`unknown distribution ${distribution}`);
    if (dK > 1) return invertedDensity(x, dK, distribution);
    if (distribution === "uniform") return Math.abs(x) < 3 ? Math.log(3 / Math.abs(x)) / 6 : 0;
    const pairs = (mixtures[distribution] ??= mixture(distribution));
    return pairs.reduce((sum, [size, weight]) => sum + (weight * normalDensity(x / Math.sqrt(size), 1)) / Math.sqrt(size), 0);
  }

  // ---------------------------------------------------------------- samples, and what attention does with them

  /**
   * A generator of uniform numbers in [0, 1): Mulberry32, a 32-bit counter with a mixing function, period 2^32.
   * @param {number} seed a 32-bit integer.
   * @returns {function(): number}
   */
  function makeGenerator(seed) {
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
   * @param {string} distribution a name in DISTRIBUTIONS.
   * @param {function(): number} uniform as from makeGenerator.
   * @returns {Float64Array} (count,).
   */
  function sample(count, distribution, uniform) {
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
   *   scores: Float64Array, lengths: Float64Array, products: Float64Array}} query (queries, dK), key (n, dK), value (n, dV),
   *   upstream (queries, dV), undivided scores (queries, n), lengths of the keys (n,), upstream times value (queries, n).
   */
  function sampleAttention({ queries, n, dK, dV, distribution, seed }) {
    const uniform = makeGenerator(seed);
    const key = sample(n * dK, distribution, uniform);
    const query = sample(queries * dK, distribution, uniform);
    const value = sample(n * dV, distribution, uniform);
    const upstream = sample(queries * dV, "normal", uniform);
    const lengths = Float64Array.from({ length: n }, (_, j) => Math.sqrt(dot(key, j * dK, key, j * dK, dK)));
    return { n, dK, query, key, value, upstream, lengths, scores: table(query, key, dK), products: table(upstream, value, dV) };
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
    return Float64Array.from({ length: (a.length / size) * n }, (_, at) => dot(a, Math.floor(at / n) * size, b, (at % n) * size, size));
  }

  /**
   * The length of the gradient that reaches a query: (1 / c) |sum_j g_j k_j| with g = (diag(p) - p p^T) u.
   * @param {Array} weights p, (n,).
   * @param {Array} products u, (n,): the upstream gradient times each value.
   * @param {Array} key (n, dK), flat.
   * @param {number} c the divisor.
   * @returns {number}
   */
  function gradientAtQuery(weights, products, key, c) {
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
  function median(values) {
    return Float64Array.from(values).sort()[Math.floor((values.length - 1) / 2)];
  }

  /** Values less their mean, over their standard deviation. */
  function standardise(values) {
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
  function shapeDistance(first, second) {
    const [a, b] = [standardise(first).sort(), standardise(second).sort()];
    return a.reduce((sum, x, i) => sum + Math.abs(x - b[i]), 0) / a.length;
  }

  /**
   * What one rescaling does with a sample: chapter 7's report, for one set of keys.
   * @param {object} drawn from sampleAttention.
   * @param {string} name one of RESCALINGS.
   * @returns {{divisor: number, raw: number[], first: number[], shapeDistance: number, entropyShare: number,
   *   effectiveKeys: number, largestTimesN: number, gradients: number[]}} `raw` and `first` are each query's undivided score and
   *   weight of the first key, (queries,); the effective number of keys is of order 2; all but `gradients` (queries,) are means.
   */
  function report(drawn, name) {
    const { n, dK, key, lengths, scores, products } = drawn;
    const c = divisor(name, lengths, dK);
    const rows = scores.length / n;
    const [raw, first, gradients] = [[], [], []];
    let [shares, effective, largest] = [0, 0, 0];
    for (let row = 0; row < rows; row++) {
      const z = scores.subarray(row * n, (row + 1) * n);
      const p = softmax(z, c);
      raw.push(z[0]);
      first.push(p[0]);
      shares += entropy(p) / Math.log(n) / rows;
      effective += effectiveKeys(p, 2) / rows;
      largest += (largestWeight(p) * n) / rows;
      gradients.push(gradientAtQuery(p, products.subarray(row * n, (row + 1) * n), key, c));
    }
    const distance = shapeDistance(raw, first);
    return { divisor: c, raw, first, shapeDistance: distance, entropyShare: shares, effectiveKeys: effective, largestTimesN: largest, gradients };
  }

  /**
   * A Gaussian kernel density estimate with Silverman's rule of thumb.
   * @param {Array} values (count,), at least two different numbers.
   * @param {Array} at (points,), where to evaluate.
   * @returns {number[]} (points,).
   */
  function kernelDensity(values, at) {
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
    return Array.from(at, (x) => sorted.reduce((sum, value) => sum + Math.exp(-(((x - value) / bandwidth) ** 2) / 2), 0) / scale);
  }

  const AttentionMath = {
    DISTRIBUTIONS,
    RESCALINGS,
    blend,
    criticalSigma,
    divisor,
    dotProductDensity,
    dotProductMoments,
    effectiveKeys,
    entropy,
    gradientAtQuery,
    jacobian,
    jacobianNorm,
    kernelDensity,
    largestWeight,
    limitEntropyShare,
    limitSquares,
    logBesselK,
    logGamma,
    makeGenerator,
    median,
    report,
    sample,
    sampleAttention,
    shapeDistance,
    softmax,
    standardise,
    typicalDivisor,
  };

  if (typeof module === "object" && module.exports) module.exports = AttentionMath;
  else root.AttentionMath = AttentionMath;
})(typeof window === "undefined" ? globalThis : window);
