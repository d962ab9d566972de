// Sandwich (Chi et al. 2023; sections 4.6 and 4.9.5 of the thesis), and its smooth form.

import { memo } from "../models/layers.js";
import { DistanceEncoding } from "./distance.js";
import { BASE } from "./sinusoidal.js";

const FITS = { figure: 0.825, nearest: 1.024 };
const exponent = (h, H) => (8 / H) * (h + 1);

// (sum_i cos(x / 10000^(2i/d_bar)) - d_bar/2) / h_n
export class Sandwich extends DistanceEncoding {
  constructor(given) {
    super(given);
    const { d_bar, first_index } = this.options;
    const frequencies = Array.from({ length: d_bar / 2 }, (_, i) => BASE ** ((-2 * (i + first_index)) / d_bar));
    this.table = memo((x) => frequencies.reduce((sum, w) => sum + Math.cos(x * w) - 1, 0));
  }

  biasAt(x, h) {
    return this.table(x) / exponent(h, this.n_heads);
  }
}

// -8 a ln(1 + x) / h_n
export class SandwichSmooth extends DistanceEncoding {
  biasAt(x, h) {
    return ((-8 * FITS[this.options.fit]) / exponent(h, this.n_heads)) * Math.log1p(x);
  }
}
