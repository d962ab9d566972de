// CoPE: contextual positions (Golovneva et al. 2024, section 4).

import { dot, sigmoid } from "../models/layers.js";
import { Encoding } from "./base.js";

// q_m e[p_mn] added to the logits, p_mn = sum_{k=n..m} sigmoid(logit_mk), e interpolated between whole numbers.
export class Cope extends Encoding {
  score(products, q, h, { layer }) {
    const { p_max } = this.options;
    const whole = this.weights.rows("weight").slice(layer * p_max, (layer + 1) * p_max).map((e) => dot(q, e));
    const scored = Float64Array.from(products);
    for (let n = products.length - 1, count = 0; n >= 0; n -= 1) {
      count += sigmoid(products[n]);
      const p = Math.min(count, p_max - 1);
      const low = Math.min(Math.floor(p), p_max - 2);
      scored[n] += whole[low] + (p - low) * (whole[low + 1] - whole[low]);
    }
    return scored;
  }
}
