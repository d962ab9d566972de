// A block of the Transformer: attention and MLP with residuals, pre- or post-LN.

import { ACTIVATIONS, layerNorm, linear, plus } from "../layers.js";
import { Attention } from "./attention.js";

export class Block {
  constructor(weights, options, encoding) {
    this.pre = options.norm === "pre";
    this.attn = new Attention(weights.of("attn"), options, encoding);
    [this.ln1, this.ln2] = ["ln1", "ln2"].map((name) => layerNorm(weights.of(name)));
    const [ff_in, ff_out] = ["ff_in", "ff_out"].map((name) => linear(weights.of(`mlp.${name}`)));
    this.mlp = (x) => ff_out(ff_in(x).map(ACTIVATIONS[options.activation]));
  }

  // The residual stream after this block, at every position or the last alone.
  over(x, n, layer, last) {
    const kept = last ? x.slice(-1) : x;
    const attended = this.attn.over(this.pre ? x.map(this.ln1) : x, n, layer, last);
    return kept.map((own, i) => {
      const y = plus(own, attended[i]);
      if (this.pre) return plus(y, this.mlp(this.ln2(y)));
      const z = this.ln1(y);
      return this.ln2(plus(z, this.mlp(z)));
    });
  }
}
