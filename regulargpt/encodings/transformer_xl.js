// Relative positions of Transformer-XL (Dai et al. 2019, section 3.3 and appendix B).

import { dot, memo, parts } from "../models/layers.js";
import { Encoding } from "./base.js";
import { sinusoid } from "./sinusoidal.js";

// The logits (q_m + u) k_n + (q_m + v) W_R R_{m-n}.
export class TransformerXL extends Encoding {
  constructor(given) {
    super(given);
    [this.u, this.v] = ["u", "v"].map((name) => this.weights.rows(name)); // (layer and head, d_head)
    this.rows = this.weights.rows("weight"); // (layer and number of R, head and number of a key)
    this.keys = memo((layer) => new Map());
  }

  rotate(q, k, { layer }) {
    const u = this.of(this.u, layer);
    return [q.map((heads) => heads.map((x, h) => x.map((value, j) => value + u[h][j]))), k];
  }

  // q comes with u in it, for the content's part; this part has v instead.
  bias(q, h, { m, n, layer }) {
    const [u, v] = [this.of(this.u, layer)[h], this.of(this.v, layer)[h]];
    const shifted = q.map((value, j) => value + v[j] - u[j]);
    return n.map((key) => dot(shifted, this.key(m - key, layer)[h]) / Math.sqrt(q.length));
  }

  of(rows, layer) {
    return rows.slice(layer * this.n_heads, (layer + 1) * this.n_heads);
  }

  // W_R R_d, for each head.
  key(distance, layer) {
    const { clamp } = this.options;
    const d = clamp ? Math.max(-clamp, Math.min(clamp, distance)) : distance;
    const kept = this.keys(layer);
    if (!kept.has(d)) {
      const sum = new Float64Array(this.n_heads * this.d_head);
      sinusoid(d, this.d_model).forEach((value, i) => {
        this.rows[layer * this.d_model + i].forEach((weight, j) => {
          sum[j] += value * weight;
        });
      });
      kept.set(d, parts(sum, this.n_heads));
    }
    return kept.get(d);
  }
}
