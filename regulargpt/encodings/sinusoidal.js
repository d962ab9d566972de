// Sinusoidal absolute positions (Vaswani et al. 2017, section 3.5).

import { Encoding } from "./base.js";

export const BASE = 10000;

// PE(m, 2i) = sin(m / 10000^(2i/d)), PE(m, 2i+1) = cos(m / 10000^(2i/d)).
export function sinusoid(m, width) {
  return Float64Array.from({ length: width }, (_, j) => {
    const angle = m * BASE ** (-(j - (j % 2)) / width);
    return j % 2 ? Math.cos(angle) : Math.sin(angle);
  });
}

export class Sinusoidal extends Encoding {
  embed(x, n) {
    return x.map((row, i) => {
      const p = sinusoid(n[i], this.d_model);
      return row.map((value, j) => value + p[j]);
    });
  }
}
