// The protocol of positional encodings: hooks that do nothing unless an encoding says otherwise.
//
//   embed(x, n)              the vectors that the first block reads, at the positions n
//   prepare(x, layer)        a state, made from what attention reads
//   rotate(q, k, {n, layer}) the queries and keys of all positions, (position, head)
//   score(products, q, h, at)  q k / sqrt(d_head) of one query with its keys, changed
//   bias(q, h, at)           what is added to these, or null
//
// `at` is where the query stands: m its position, index its place in the word, n the positions of its keys; with the
// layer, and what `prepare` made.

export class Encoding {
  longest = Infinity;

  constructor({ options, weights, sizes }) {
    Object.assign(this, { options, weights, ...sizes });
  }

  embed(x) {
    return x;
  }

  prepare() {
    return null;
  }

  rotate(q, k) {
    return [q, k];
  }

  score(products) {
    return products;
  }

  bias() {
    return null;
  }
}
