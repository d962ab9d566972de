// The Forgetting Transformer (Lin et al. 2025, section 3).

import { dot } from "../models/layers.js";
import { Encoding } from "./base.js";

const logSigmoid = (x) => (x < 0 ? x - Math.log1p(Math.exp(x)) : -Math.log1p(Math.exp(-x)));

// sum_{l=n+1..m} ln f_l added to the logits, f_l = sigmoid(w x_l + b) in each head.
export class Forgetting extends Encoding {
  // For each head, the sums of ln f up to each symbol.
  prepare(x, layer) {
    const [weight, offset] = [this.weights.rows("weight"), this.weights.rows("offset")[layer]];
    return Array.from({ length: this.n_heads }, (_, h) => {
      let sum = 0;
      return x.map((row) => (sum += logSigmoid(dot(weight[layer * this.n_heads + h], row) + offset[h])));
    });
  }

  bias(q, h, { index, n, state }) {
    return n.map((_, key) => state[h][index] - state[h][key]);
  }
}
