/**
 * A layer that learns to look something up, and how it is trained: what sdpa_book/studies/lookup does with PyTorch, by hand.
 *
 * A query's input x is a noisy copy of the first of KEYS inputs k_j, each of which has a value v_j, and the layer should put out v_0:
 *
 *     scores   s_j = (x W_Q) · (k_j W_K) / c = x T · k_j,  with the table T = W_Q W_Kᵀ / c
 *     weights  p = softmax(s)
 *     output   o = Σ p_j v_j
 *     loss     the mean of (o − v_0)², over a batch's queries and the WIDTH components
 *
 * The table takes a query back to the space of the inputs, so that no key is ever projected: a step costs the same at every d_k, but for
 * T itself. Matrices are arrays of numbers, row after row: W_Q and W_K (WIDTH, d_k), T (WIDTH, WIDTH), a batch's keys (n, KEYS, WIDTH).
 */
import { makeGenerator } from "../_shared/math.js";

export const WIDTH = 24;
export const KEYS = 16;
export const HELD_OUT = 512;
export const RATE = 0.003;
export const LEVEL = 0.3; // the held-out loss to which steps are counted
export const MOST_STEPS = 480;
const NOISE = 0.3;

/** A function that fills an array with normal numbers of this size, by Marsaglia's polar method, which makes them in pairs. */
export const makeNormal = (uniform) => (array, size) => {
  for (let i = 0; i < array.length; i += 2) {
    let a, b, square;
    do {
      a = 2 * uniform() - 1;
      b = 2 * uniform() - 1;
      square = a * a + b * b;
    } while (square >= 1 || square === 0);
    const stretch = size * Math.sqrt((-2 * Math.log(square)) / square);
    array[i] = a * stretch;
    array[i + 1] = b * stretch;
  }
  return array;
};

/** Room for so many queries, each with keys and values of its own. */
const makeBatch = (n) => ({
  n,
  queries: new Float32Array(n * WIDTH),
  keys: new Float32Array(n * KEYS * WIDTH),
  values: new Float32Array(n * KEYS * WIDTH),
});

/** Fill a batch anew. */
function drawBatch(batch, normal) {
  const { n, queries, keys, values } = batch;
  normal(keys, 1);
  normal(values, 1);
  normal(queries, NOISE);
  for (let i = 0; i < n; i++)
    for (let a = 0; a < WIDTH; a++) queries[i * WIDTH + a] += keys[i * KEYS * WIDTH + a];
  return batch;
}

/** T = W_Q W_Kᵀ / c, (WIDTH, WIDTH). */
function tableOf({ WQ, WK, dK, c }) {
  const table = new Float64Array(WIDTH * WIDTH);
  for (let a = 0; a < WIDTH; a++)
    for (let b = 0; b < WIDTH; b++) {
      let sum = 0;
      for (let i = 0; i < dK; i++) sum += WQ[a * dK + i] * WK[b * dK + i];
      table[a * WIDTH + b] = sum / c;
    }
  return table;
}

/** The weights that query i of a batch gives to its keys, (KEYS,), written into `weights`; `back` is room for x T, the query in the space of the inputs. */
function weigh(table, { queries, keys }, i, weights, back) {
  back.fill(0);
  for (let a = 0; a < WIDTH; a++) {
    const x = queries[i * WIDTH + a];
    for (let b = 0; b < WIDTH; b++) back[b] += x * table[a * WIDTH + b];
  }
  let largest = -Infinity;
  for (let j = 0; j < KEYS; j++) {
    const key = (i * KEYS + j) * WIDTH;
    let score = 0;
    for (let b = 0; b < WIDTH; b++) score += back[b] * keys[key + b];
    weights[j] = score;
    largest = Math.max(largest, score);
  }
  let total = 0;
  for (let j = 0; j < KEYS; j++) total += weights[j] = Math.exp(weights[j] - largest);
  for (let j = 0; j < KEYS; j++) weights[j] /= total;
}

/** The output's error o − v_0 of query i, (WIDTH,), written into `error`; its sum of squares. */
function miss({ values }, i, weights, error) {
  const first = i * KEYS * WIDTH;
  let squares = 0;
  error.fill(0);
  for (let j = 0; j < KEYS; j++)
    for (let b = 0; b < WIDTH; b++) error[b] += weights[j] * values[first + j * WIDTH + b];
  for (let b = 0; b < WIDTH; b++) {
    error[b] -= values[first + b];
    squares += error[b] * error[b];
  }
  return squares;
}

/** The loss of a layer {WQ, WK, dK, c} on a batch. */
export function lossOf(layer, batch) {
  const table = tableOf(layer);
  const weights = new Float64Array(KEYS);
  const [back, error] = [new Float64Array(WIDTH), new Float64Array(WIDTH)];
  let squares = 0;
  for (let i = 0; i < batch.n; i++) {
    weigh(table, batch, i, weights, back);
    squares += miss(batch, i, weights, error);
  }
  return squares / (batch.n * WIDTH);
}

/** The gradient of that loss: at the table first, a query after the other, and from there at both matrices by the product rule. */
export function gradientOf(layer, batch) {
  const { WQ, WK, dK, c } = layer;
  const { n, queries, keys, values } = batch;
  const table = tableOf(layer);
  const atTable = new Float64Array(WIDTH * WIDTH);
  const weights = new Float64Array(KEYS);
  const atWeights = new Float64Array(KEYS);
  const [back, error, atBack] = [0, 0, 0].map(() => new Float64Array(WIDTH));
  for (let i = 0; i < n; i++) {
    weigh(table, batch, i, weights, back);
    miss(batch, i, weights, error);
    // At p_j it is 2 error · v_j / (n WIDTH), and `mean` what all weights would receive alike, which softmax ignores.
    let mean = 0;
    for (let j = 0; j < KEYS; j++) {
      const value = (i * KEYS + j) * WIDTH;
      let along = 0;
      for (let b = 0; b < WIDTH; b++) along += error[b] * values[value + b];
      atWeights[j] = (2 * along) / (n * WIDTH);
      mean += weights[j] * atWeights[j];
    }
    // At s_j it is p_j (atWeights_j − mean), and s_j = x T · k_j.
    atBack.fill(0);
    for (let j = 0; j < KEYS; j++) {
      const atScore = weights[j] * (atWeights[j] - mean);
      const key = (i * KEYS + j) * WIDTH;
      for (let b = 0; b < WIDTH; b++) atBack[b] += atScore * keys[key + b];
    }
    for (let a = 0; a < WIDTH; a++) {
      const x = queries[i * WIDTH + a];
      for (let b = 0; b < WIDTH; b++) atTable[a * WIDTH + b] += x * atBack[b];
    }
  }
  // T = W_Q W_Kᵀ / c: at W_Q it is atTable W_K / c, and at W_K atTableᵀ W_Q / c.
  const atWQ = new Float64Array(WIDTH * dK);
  const atWK = new Float64Array(WIDTH * dK);
  for (let a = 0; a < WIDTH; a++)
    for (let b = 0; b < WIDTH; b++) {
      const at = atTable[a * WIDTH + b] / c;
      for (let i = 0; i < dK; i++) {
        atWQ[a * dK + i] += at * WK[b * dK + i];
        atWK[b * dK + i] += at * WQ[a * dK + i];
      }
    }
  return { atWQ, atWK };
}

/** Adam for one array of parameters, as in PyTorch: a function that moves them by a gradient. */
export function makeAdam(parameters, rate, betas = [0.9, 0.999], eps = 1e-8) {
  const means = new Float64Array(parameters.length);
  const squares = new Float64Array(parameters.length);
  let step = 0;
  return (gradient) => {
    step++;
    const [first, second] = betas.map((beta) => 1 - beta ** step);
    for (let i = 0; i < parameters.length; i++) {
      const g = gradient[i];
      means[i] = betas[0] * means[i] + (1 - betas[0]) * g;
      squares[i] = betas[1] * squares[i] + (1 - betas[1]) * g * g;
      parameters[i] -= (rate * means[i]) / first / (Math.sqrt(squares[i] / second) + eps);
    }
  };
}

/** The query of a batch in the middle, if they stand in the order of the weight that each gives to its right key. */
function middleOf(layer, batch) {
  const table = tableOf(layer);
  const weights = new Float64Array(KEYS);
  const back = new Float64Array(WIDTH);
  const right = Array.from({ length: batch.n }, (_, i) => {
    weigh(table, batch, i, weights, back);
    return [weights[0], i];
  });
  right.sort(([a], [b]) => a - b);
  return right[batch.n >> 1][1];
}

/**
 * Layers that begin alike and see the same batches, and differ in their divisor only.
 * @param {{dK: number, divisors: number[], spread: number, batch: number, seed: number, rate: number}} setting `spread` is that of q·k at the start, in units of √d_k, and `batch` the queries in one.
 * @returns {{losses: function, weights: function, step: function}} of each layer the loss on HELD_OUT queries on which none is trained; the weights that one of those queries gives to its keys, which is no better and no worse than most at the start; and a step of Adam on a fresh batch.
 */
export function beginTraining({ dK, divisors, spread, batch: n, seed, rate = RATE }) {
  const normal = makeNormal(makeGenerator(seed));
  const heldOut = drawBatch(makeBatch(HELD_OUT), normal);
  const size = 1 / Math.sqrt(WIDTH);
  const [startQ, startK] = [spread, 1].map((times) =>
    normal(new Float64Array(WIDTH * dK), times * size),
  );
  const layers = divisors.map((c) => ({ WQ: startQ.slice(), WK: startK.slice(), dK, c }));
  const moves = layers.map(({ WQ, WK }) => [makeAdam(WQ, rate), makeAdam(WK, rate)]);
  const batch = makeBatch(n);
  const shown = middleOf({ WQ: startQ, WK: startK, dK, c: 1 }, heldOut);
  return {
    losses: () => layers.map((layer) => lossOf(layer, heldOut)),
    weights: () =>
      layers.map((layer) => {
        const weights = new Float64Array(KEYS);
        weigh(tableOf(layer), heldOut, shown, weights, new Float64Array(WIDTH));
        return weights;
      }),
    step() {
      drawBatch(batch, normal);
      layers.forEach((layer, i) => {
        const { atWQ, atWK } = gradientOf(layer, batch);
        moves[i][0](atWQ);
        moves[i][1](atWK);
      });
    },
  };
}

/** How many steps each layer of a training needs to a held-out loss of LEVEL: null where MOST_STEPS are not enough. */
export function stepsToLearn(setting) {
  const training = beginTraining(setting);
  const steps = setting.divisors.map(() => null);
  for (let step = 0; step <= MOST_STEPS; step++) {
    training.losses().forEach((loss, i) => {
      if (loss < LEVEL) steps[i] ??= step;
    });
    if (!steps.includes(null)) break;
    training.step();
  }
  return steps;
}
