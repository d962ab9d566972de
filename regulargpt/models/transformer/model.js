// The Transformer (Vaswani et al. 2017): embedding, encoding, blocks, a linear readout at the last symbol.

import { layerNorm, readout } from "../layers.js";
import { pairCost } from "./attention.js";
import { Block } from "./block.js";
import { randomPositions } from "./random_positions.js";

export class Transformer {
  constructor({ options, weights, build }) {
    const { d_model, n_heads, n_layers, causal, norm } = options;
    const sizes = { d_model, n_heads, n_layers, causal, d_head: d_model / n_heads };
    this.options = options;
    this.encoding = build({ options: options.encoding, weights: weights.of("encoding"), sizes, build });
    this.embedding = weights.rows("embedding.weight");
    this.scale = options.scale_embedding ? Math.sqrt(d_model) : 1;
    this.blocks = Array.from({ length: n_layers }, (_, i) => new Block(weights.of(`blocks.${i}`), { ...options, ...sizes }, this.encoding));
    this.ln_final = norm === "pre" ? layerNorm(weights.of("ln_final")) : (x) => x;
    this.readout = readout(weights, options.tied);
  }

  // The longest word that the positions allow.
  get longest() {
    return Math.min(this.encoding.longest, this.options.random_positions || Infinity);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  // The logits that are read from a state.
  read(x) {
    return this.readout(this.ln_final(x));
  }

  // The residual stream after the last block, at the last symbol.
  state(word) {
    const n = this.positions(word.length);
    let x = this.encoding.embed(word.map((symbol) => this.embedding[symbol].map((value) => value * this.scale)), n);
    this.blocks.forEach((block, layer) => {
      x = block.over(x, n, layer, layer === this.blocks.length - 1);
    });
    return x[x.length - 1];
  }

  positions(length) {
    const among = this.options.random_positions;
    return among ? randomPositions(among, length) : Array.from({ length }, (_, i) => i);
  }

  cost(length) {
    const { d_model: d, d_ff, n_layers, n_heads } = this.options;
    return n_layers * length * (4 * d * d + 2 * d * d_ff + pairCost(d, n_heads) * length);
  }
}
