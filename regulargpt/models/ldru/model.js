// LDRU (Pert et al. 2026): a binary tree of one operator, aligned on the left and read at its root.

import { layerNorm, linear, plus, readout, relu } from "../layers.js";
import { depth, nodesOf } from "../tree/levels.js";
import { levelsOver } from "../tree/nested.js";
import { OPERATORS } from "./operators.js";

// x + W_2 relu(W_1 x + b_1) + b_2.
function feedForward(weights) {
  const [ff_in, ff_out] = ["ff_in", "ff_out"].map((name) => linear(weights.of(name)));
  return (x) => plus(x, ff_out(ff_in(x).map(relu)));
}

export class Ldru {
  chunk_size = 2;
  aligned = "left";
  edges = "This network has no attention: an operator makes one state of two, and the edges are all alike.";

  constructor({ options, weights, direction }) {
    this.direction = options.tree === "nested" ? direction : null;
    const [embedding_norm, state_norm] = ["embedding_norm", "state_norm"].map((name) => layerNorm(weights.of(name)));
    const [embedding_ffn, ffn] = ["embedding_ffn", "ffn"].map((name) => feedForward(weights.of(name)));
    this.absent = new Float64Array(options.d_model);
    this.symbols = weights.rows("embedding.weight").map((row) => embedding_ffn(embedding_norm(row)));
    this.operator = OPERATORS[options.operator](weights.of("operator"));
    this.settle = (z) => state_norm(ffn(z));
    this.readout = readout(weights);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  // The state of the root.
  state(word) {
    const { node, states } = [...this.levelsOf(word)].pop();
    return states[node[node.length - 1]];
  }

  // The logits that are read from a state.
  read(state) {
    return this.readout(state);
  }

  levelsOf(word, changes) {
    return levelsOver(this, word, changes);
  }

  leaves() {
    return [this.absent, ...this.symbols];
  }

  treeLayers(length) {
    // A node without a neighbour passes the level alone.
    const over = (states) => ([x, y]) => this.settle(y ? this.operator(states[x], states[y]) : states[x]);
    return Array(depth(length, 2)).fill({ over, last: true });
  }

  cost(length) {
    const nodes = this.direction ? 2 * length : nodesOf(length, this.symbols.length, 2);
    return nodes * 31 * this.absent.length ** 2;
  }
}
