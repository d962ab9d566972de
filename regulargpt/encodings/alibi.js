// Attention with linear biases (Press et al. 2022, section 3; Eq. 4.3 of the thesis).

import { DistanceEncoding } from "./distance.js";

const geometric = (H) => Array.from({ length: H }, (_, h) => 2 ** ((-8 / H) * (h + 1)));

// As the published code: those of the largest power of two, then every second one of twice as many.
function press(H) {
  const P = 2 ** Math.floor(Math.log2(H));
  return [...geometric(P), ...geometric(2 * P).filter((_, h) => h % 2 === 0)].slice(0, H);
}

const SLOPES = { geometric, press, equal: (H) => Array(H).fill(1) };

export class Alibi extends DistanceEncoding {
  biasAt(x, h) {
    const { slopes, shift } = this.options;
    return -SLOPES[slopes](this.n_heads)[h] * 2 ** -shift * x;
  }
}
