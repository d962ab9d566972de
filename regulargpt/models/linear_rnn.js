// The linear RNN of section 6.3: x_k = A x_{k-1} + B u_k, A diagonal and complex (the LRU of Orvieto et al. 2023).

import { ACTIVATIONS, layerNorm, linear, parts, plus, readout, sigmoid } from "./layers.js";

// x_k = a x_{k-1} + gamma B u_k, y_k = Re(C x_k) + D u_k; complex numbers are pairs, one after the other.
function lru(weights) {
  const [b, c] = ["b", "c"].map((name) => linear(weights.of(name)));
  const [d, nu, theta] = ["d", "nu", "theta"].map((name) => weights.numbers(name));
  const radius = nu.map((value) => Math.exp(-Math.exp(value)));
  const gamma = nu.map((value) => Math.sqrt(-Math.expm1(-2 * Math.exp(value))));
  return (sequence) => {
    let x = new Float64Array(2 * nu.length);
    return sequence.map((u) => {
      const v = b(u);
      x = x.map((_, at) => {
        const [i, re, im] = [at >> 1, x[at & ~1], x[at | 1]];
        const [cos, sin] = [Math.cos(theta[i]), Math.sin(theta[i])];
        return radius[i] * (at & 1 ? re * sin + im * cos : re * cos - im * sin) + gamma[i] * v[at];
      });
      return c(x).map((y, i) => y + d[i] * u[i]);
    });
  };
}

// h + GLU(GELU(LRU(LN(h)))).
function block(weights) {
  const [ln, recurrence, glu] = [layerNorm(weights.of("ln")), lru(weights.of("lru")), linear(weights.of("glu"))];
  return (sequence) => {
    const y = recurrence(sequence.map(ln));
    return sequence.map((h, n) => {
      const [value, gate] = parts(glu(y[n].map(ACTIVATIONS.gelu)), 2);
      return plus(h, value.map((x, i) => x * sigmoid(gate[i])));
    });
  };
}

export class LinearRnn {
  constructor({ options, weights }) {
    this.options = options;
    this.embedding = weights.rows("embedding.weight");
    this.blocks = Array.from({ length: options.n_layers }, (_, i) => block(weights.of(`blocks.${i}`)));
    this.ln_final = layerNorm(weights.of("ln_final"));
    this.readout = readout(weights);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  // The residual stream after the last block, at the last symbol.
  state(word) {
    const states = this.states(word);
    return states[states.length - 1];
  }

  // The logits that are read from a state.
  read(h) {
    return this.readout(this.ln_final(h));
  }

  // The residual stream after the last block, at each symbol: each sees the symbols up to its own.
  states(word) {
    return this.blocks.reduce((h, block) => block(h), word.map((symbol) => this.embedding[symbol]));
  }

  cost(length) {
    return length * this.options.n_layers * 8 * this.options.d_model ** 2;
  }
}
