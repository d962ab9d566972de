// Attention that stays as sharp in longer words: queries times a logarithm, with any encoding of positions.

import { Encoding } from "./base.js";

const PUBLISHED = 512;

// Another encoding, whose queries are multiplied before it sees them.
class Scaled extends Encoding {
  constructor(given) {
    super(given);
    this.inner = given.build({ ...given, options: this.options.inner, weights: this.weights.of("inner") });
    this.longest = this.inner.longest;
    this.train_len = this.options.train_len || PUBLISHED;
  }

  embed(x, n) {
    return this.inner.embed(x, n);
  }

  prepare(x, layer) {
    return this.inner.prepare(x, layer);
  }

  // The query at m sees m + 1 keys; in a model that is not causal, all of them.
  rotate(q, k, at) {
    const scaled = q.map((heads, i) => {
      const seen = this.causal ? at.n[i] + 1 : at.n.length;
      return heads.map((x, h) => x.map((value) => value * this.scale(seen, at.layer, h)));
    });
    return this.inner.rotate(scaled, k, at);
  }

  score(products, q, h, at) {
    return this.inner.score(products, q, h, at);
  }

  bias(q, h, at) {
    return this.inner.bias(q, h, at);
  }
}

// Queries times ln n / ln L for n > L visible keys.
export class LogN extends Scaled {
  scale(n) {
    return Math.max(1, Math.log(n) / Math.log(Math.max(this.train_len, 2)));
  }
}

// Queries times s ln n, s learned in each head and layer.
export class SSMax extends Scaled {
  scale(n, layer, h) {
    return this.weights.rows("s")[layer][h] * Math.log(n);
  }
}
