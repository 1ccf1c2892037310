/** What D3's scales need of d3-interpolate, in whose place the bundle takes this: theirs are between numbers, and colours come from the style sheet. */
export const interpolateNumber = (a, b) => (t) => a * (1 - t) + b * t;
export const interpolate = interpolateNumber;
export const interpolateRound = (a, b) => (t) => Math.round(a * (1 - t) + b * t);
export const piecewise = interpolate; // asked for by scales that the bundle leaves out
