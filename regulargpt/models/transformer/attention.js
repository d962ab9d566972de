// Multi-head attention without biases; the encoding turns queries and keys and changes the logits.

import { joined, linear, parts, softmax } from "../layers.js";

// About how many multiplications a query and a key take as long as: a logit's bias and power beside its product.
export const pairCost = (d_model, n_heads) => 2 * d_model + 30 * n_heads;

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

  // The values in the shares of a head's pattern, for the heads one after the other; `logits(h)` makes the pattern.
  mixed(values, logits) {
    return this.out(joined(...values.map((of, h) => mixture(softmax(logits(h)), of))));
  }
}

// Of vectors (position, head), those of each head one after the other, so that no time is lost in looking them up.
function byHead(vectors) {
  return vectors[0].map((first, h) => {
    const numbers = new Float64Array(vectors.length * first.length);
    vectors.forEach((heads, n) => numbers.set(heads[h], n * first.length));
    return { numbers, width: first.length };
  });
}

// q k / sqrt(d_head), for the first `count` keys of a head.
function scaledProducts(q, { numbers, width }, count) {
  const [products, scale] = [new Float64Array(count), 1 / Math.sqrt(width)];
  for (let n = 0, at = 0; n < count; n += 1) {
    let sum = 0;
    for (let j = 0; j < width; j += 1, at += 1) sum += q[j] * numbers[at];
    products[n] = sum * scale;
  }
  return products;
}

function mixture(pattern, { numbers, width }) {
  const z = new Float64Array(width);
  for (let n = 0, at = 0; n < pattern.length; n += 1) {
    for (let j = 0; j < width; j += 1, at += 1) z[j] += pattern[n] * numbers[at];
  }
  return z;
}

// Attention to the text itself.
export class Attention extends MultiHead {
  constructor(weights, options, encoding) {
    super(weights, options);
    Object.assign(this, { encoding, causal: encoding.causal });
  }

  // For vectors x at the positions n: what each position attends to, or the last alone.
  over(x, n, layer, last = false) {
    const state = this.encoding.prepare(x, layer);
    const [queries, turned] = this.encoding.rotate(x.map(this.query), x.map(this.key), { n, layer });
    const [keys, values] = [turned, x.map(this.value)].map(byHead);
    const asked = last ? [x.length - 1] : x.keys();
    return Array.from(asked, (m) => {
      const count = this.causal ? m + 1 : x.length;
      const at = { m: n[m], index: m, n: n.slice(0, count), layer, state };
      return this.mixed(values, (h) => this.logits(queries[m][h], scaledProducts(queries[m][h], keys[h], count), h, at));
    });
  }

  // score(q k / sqrt(d_head)) + bias, of the query q in head h.
  logits(q, products, h, at) {
    const scored = this.encoding.score(products, q, h, at);
    const bias = this.encoding.bias(q, h, at);
    if (bias) for (let n = 0; n < scored.length; n += 1) scored[n] += bias[n];
    return scored;
  }
}

// Attention to all of another text, without positions; 0 where that is empty.
export class CrossAttention extends MultiHead {
  over(x, memory) {
    if (!memory.length) return x.map((row) => row.map(() => 0));
    const [keys, values] = [memory.map(this.key), memory.map(this.value)].map(byHead);
    return x.map((row) => {
      const q = this.query(row);
      return this.mixed(values, (h) => scaledProducts(q[h], keys[h], memory.length));
    });
  }
}
