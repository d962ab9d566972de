// One Transformer layer of RegularGPT: attention of a node over its window of C nodes, then the FFN.

import { ACTIVATIONS, layerNorm, linear, memo, plus, softmax } from "../layers.js";

// The logits of attention carry one learned scalar r_i per head and offset i in [C] (Eq. 6.1).
export class Attention {
  constructor(weights, { n_heads, pad }) {
    Object.assign(this, { n_heads, masked: pad === "masked", r: weights.rows("r") });
    [this.query, this.key, this.value, this.out] = ["query", "key", "value", "out"].map((name) => linear(weights.of(name)));
  }

  // For normed nodes x(row): what each window of rows attends to, row 0 being the pad. What is `cut` is not seen.
  over(x) {
    const patterns = this.patternsOver(x);
    const values = this.valuesOver(x);
    return (window, cut) => {
      const v = values(window);
      const z = new Float64Array(v[0].length);
      patterns(window, cut).forEach((pattern, h) => this.mix(pattern, v, h, z));
      return this.out(z);
    };
  }

  // The pattern of each head over a window, without the offsets that are cut. Where nothing is left, it is zero.
  patternsOver(x) {
    const q = memo((row) => this.query(x(row)));
    const k = memo((row) => this.key(x(row)));
    return (window, cut = []) => {
      const seen = window.map((row, i) => !(this.masked && row === 0) && !cut.includes(i));
      if (!seen.some(Boolean)) return Array(this.n_heads).fill(new Float64Array(window.length));
      return Array.from({ length: this.n_heads }, (_, h) => softmax(window.map((row, i) => (seen[i] ? this.logit(q(window[0]), k(row), h, i) : -Infinity))));
    };
  }

  // q k / sqrt(d_head) + r_i in head h.
  logit(q, k, h, i) {
    const width = q.length / this.n_heads;
    let sum = 0;
    for (let j = h * width; j < (h + 1) * width; j += 1) sum += q[j] * k[j];
    return sum / Math.sqrt(width) + (i === null ? 0 : this.r[h][i]);
  }

  // The values in the shares of a pattern, into head h of z.
  mix(pattern, v, h, z) {
    const width = z.length / this.n_heads;
    pattern.forEach((p, i) => {
      for (let j = h * width; j < (h + 1) * width; j += 1) z[j] += p * v[i][j];
    });
  }

  // The values of a window's nodes.
  valuesOver(x) {
    const v = memo((row) => this.value(x(row)));
    return (window) => window.map(v);
  }
}

// Attention and FFN with residuals, pre- or post-LN.
export class Block {
  constructor(weights, options, attention) {
    this.pre = options.norm === "pre";
    this.attn = new attention(weights.of("attn"), options);
    [this.ln1, this.ln2] = ["ln1", "ln2"].map((name) => layerNorm(weights.of(name)));
    const [ff_in, ff_out] = ["ff_in", "ff_out"].map((name) => linear(weights.of(name)));
    this.ffn = (x) => ff_out(ff_in(x).map(ACTIVATIONS[options.activation]));
  }

  normed(x) {
    return this.pre ? this.ln1(x) : x;
  }

  // Residual around attention, then FFN with its residual.
  finish(own, attended) {
    if (this.pre) {
      const x = plus(own, attended);
      return plus(x, this.ffn(this.ln2(x)));
    }
    const x = this.ln1(plus(own, attended));
    return this.ln2(plus(x, this.ffn(x)));
  }

  // From a window of rows of these states to the new state of its own node, the one at offset 0.
  over(states) {
    const attended = this.attn.over(memo((row) => this.normed(states[row])));
    return (window, cut) => this.finish(states[window[0]], attended(window, cut));
  }

  // What a window of rows of these states pays to each of them, by offset: the mean over the heads.
  sharesOver(states) {
    const patterns = this.attn.patternsOver(memo((row) => this.normed(states[row])));
    return (window, cut) => patterns(window, cut).reduce(plus).map((sum) => sum / this.attn.n_heads);
  }
}
