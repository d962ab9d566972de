// FIRE: functional interpolation for relative positions (Li et al. 2024, section 3).

import { relu } from "../models/layers.js";
import { Encoding } from "./base.js";

const [EPSILON, PUBLISHED] = [1e-6, 512];

// f(psi(|m-n|) / psi(max(m, L))), psi(x) = ln(|c x| + 1), f a ReLU network of one hidden layer.
export class Fire extends Encoding {
  constructor(given) {
    super(given);
    const [c, L, w1, b1, b2] = ["c", "L", "w1", "b1", "b2"].map((name) => this.weights.numbers(name));
    const least = Math.abs(L[0] * (this.options.train_len || PUBLISHED));
    Object.assign(this, { c: c[0], least, w1, b1, w2: this.weights.rows("w2"), b2 });
  }

  bias(q, h, { m, n }) {
    return n.map((key) => {
      const longest = Math.max(this.least, this.causal ? m : Math.max(m, key));
      return this.f(this.psi(Math.abs(m - key)) / (this.psi(longest) + EPSILON), h);
    });
  }

  psi(x) {
    return Math.log1p(Math.abs(this.c * x));
  }

  f(x, h) {
    let sum = this.b2[h];
    for (let i = 0; i < this.w1.length; i += 1) sum += this.w2[h][i] * relu(this.w1[i] * x + this.b1[i]);
    return sum;
  }
}
