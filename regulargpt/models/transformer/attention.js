// Multi-head attention without biases; the encoding turns queries and keys and changes the logits.

import { dot, joined, linear, parts, softmax } from "../layers.js";

export class MultiHead {
  constructor(weights, { n_heads, d_head, scaled = true }) {
    const inner = n_heads * d_head;
    const of = weights.of("qkv");
    // T5's logits are q k, not q k / sqrt(d_head): its queries are multiplied by what is divided by later.
    const scale = scaled ? 1 : Math.sqrt(d_head);
    const query = linear(of, 0, inner);
    this.query = (x) => parts(query(x).map((value) => value * scale), n_heads);
    [this.key, this.value] = [1, 2].map((i) => {
      const map = linear(of, i * inner, (i + 1) * inner);
      return (x) => parts(map(x), n_heads);
    });
    this.out = linear(weights.of("out"));
  }

  // The values (position, head) in the shares that `logits(head)` gives.
  mixed(values, logits) {
    const heads = values[0].map((_, h) => {
      const pattern = softmax(logits(h));
      const z = new Float64Array(values[0][h].length);
      pattern.forEach((p, n) => {
        if (p) for (let j = 0; j < z.length; j += 1) z[j] += p * values[n][h][j];
      });
      return z;
    });
    return this.out(joined(...heads));
  }
}

// q k / sqrt(d_head), for the first `count` keys.
const scaledProducts = (q, keys, h, count) => Float64Array.from({ length: count }, (_, n) => dot(q, keys[n][h]) / Math.sqrt(q.length));

// Attention to the text itself.
export class Attention extends MultiHead {
  constructor(weights, options, encoding) {
    super(weights, options);
    Object.assign(this, { encoding, causal: encoding.causal });
  }

  // For vectors x at the positions n: what each position attends to, or the last alone.
  over(x, n, layer, last = false) {
    const { encoding } = this;
    const state = encoding.prepare(x, layer);
    const [queries, keys] = encoding.rotate(x.map(this.query), x.map(this.key), { n, layer });
    const values = x.map(this.value);
    const asked = last ? [x.length - 1] : x.keys();
    return Array.from(asked, (m) => {
      const count = this.causal ? m + 1 : x.length;
      const at = { m: n[m], index: m, n: n.slice(0, count), layer, state };
      return this.mixed(values.slice(0, count), (h) => this.logits(queries[m][h], scaledProducts(queries[m][h], keys, h, count), h, at));
    });
  }

  // score(q k / sqrt(d_head)) + bias, of the query q in head h.
  logits(q, products, h, at) {
    const scored = this.encoding.score(products, q, h, at);
    const bias = this.encoding.bias(q, h, at);
    return bias ? scored.map((value, n) => value + bias[n]) : scored;
  }
}

// Attention to all of another text, without positions; 0 where that is empty.
export class CrossAttention extends MultiHead {
  over(x, memory) {
    if (!memory.length) return x.map((row) => row.map(() => 0));
    const [keys, values] = [memory.map(this.key), memory.map(this.value)];
    return x.map((row) => {
      const q = this.query(row);
      return this.mixed(values, (h) => scaledProducts(q[h], keys, h, keys.length));
    });
  }
}
