// GELU and its derivative, from the distribution of N(0, 1): Taylor's formula at the nearest of many points.

import { erf } from "../../models/layers.js";

const [STEPS, FARTHEST, TERMS] = [32, 8.5, 9]; // points a unit; beyond, float64 has nothing but 0 and 1

// Taylor's coefficients of the distribution at each point. Those of the density are a_n, (n + 1) a_(n+1) = -x a_n - a_(n-1),
// as it is -x times itself that is its derivative.
const COEFFICIENTS = new Float64Array((2 * FARTHEST * STEPS + 1) * TERMS);
for (let at = 0; at < COEFFICIENTS.length; at += TERMS) {
  const x = at / TERMS / STEPS - FARTHEST;
  let [before, a] = [0, Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI)];
  COEFFICIENTS[at] = 0.5 * (1 + erf(x / Math.SQRT2));
  for (let n = 0; n + 1 < TERMS; n += 1) {
    COEFFICIENTS[at + n + 1] = a / (n + 1);
    [before, a] = [a, -(x * a + before) / (n + 1)];
  }
}

// x times the share of N(0, 1) below x, into y; the derivative, into slopes.
export function gelu(x, y, slopes) {
  const c = COEFFICIENTS;
  for (let i = 0; i < x.length; i += 1) {
    const value = x[i];
    if (!(Math.abs(value) < FARTHEST)) {
      slopes[i] = value > 0 ? 1 : 0;
      y[i] = value * slopes[i];
      continue;
    }
    const point = Math.round(value * STEPS);
    const h = value - point / STEPS;
    const at = (point + FARTHEST * STEPS) * TERMS;
    const share = c[at] + h * (c[at + 1] + h * (c[at + 2] + h * (c[at + 3] + h * (c[at + 4] + h * (c[at + 5] + h * (c[at + 6] + h * (c[at + 7] + h * c[at + 8])))))));
    const density = c[at + 1] + h * (2 * c[at + 2] + h * (3 * c[at + 3] + h * (4 * c[at + 4] + h * (5 * c[at + 5] + h * (6 * c[at + 6] + h * (7 * c[at + 7] + h * 8 * c[at + 8]))))));
    y[i] = value * share;
    slopes[i] = share + value * density;
  }
}
