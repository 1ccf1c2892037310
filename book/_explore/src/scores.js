/** What several explorables let readers set: scores, a temperature, the power that divides. */

export const scoreRange = { min: -10, max: 10, step: 0.1 };

export const scoreControl = (j, value) => ({
  name: `z${j}`,
  label: `score of key ${j}`,
  ...scoreRange,
  value,
});

const TEMPERATURES = [
  0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.63, 0.8, 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8,
  10,
];

export const temperatureControl = {
  name: "T",
  label: "temperature T",
  values: TEMPERATURES,
  value: 1,
  text: String,
};

export const powerControl = {
  name: "p",
  label: "p, the power of d_k that divides",
  min: 0,
  max: 1,
  step: 0.05,
  value: 0,
  text: (p) => p.toFixed(2),
};
