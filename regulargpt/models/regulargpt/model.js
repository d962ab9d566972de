// RegularGPT (section 6.2): one weight-shared thick layer, adaptive depth log_C T, Sliding-Dilated-Attention.

import { layerNorm, readout } from "../layers.js";
import { depth, nodesOf } from "../tree/levels.js";
import { levelsOver } from "../tree/nested.js";
import { Attention, Block } from "./block.js";
import { denseState } from "./dense.js";
import { GatedAttention } from "./gated.js";

export class RegularGPT {
  aligned = "right";

  constructor({ options, weights, direction }) {
    const { chunk_size, thickness, distinct_levels, levels, embedding_scale, d_model } = options;
    Object.assign(this, { options, chunk_size, thickness, distinct_levels, levels });
    this.direction = options.tree === "nested" ? direction : null;
    this.masked = options.pad === "masked";
    this.full = options.attention === "full";
    this.absent = this.masked ? new Float64Array(d_model) : weights.rows("pad")[0];
    this.settle = options.state_norm ? layerNorm(weights.of("state_norm")) : (x) => x;
    this.embedded = weights.rows("embedding.weight").map((row) => row.map((value) => value * embedding_scale));
    const attention = options.gates ? GatedAttention : Attention;
    this.blocks = Array.from({ length: thickness * distinct_levels }, (_, i) => new Block(weights.of(`blocks.${i}`), options, attention));
    this.edges = "The width of an edge is the attention that a node of the network as it is pays to that child, the mean over its heads.";
    if (options.gates) this.edges += " Its gates, which are not shown, multiply what is mixed besides.";
    this.readout = readout(weights, options.tied);
  }

  logits(word) {
    return this.read(this.state(word));
  }

  // The state of the root, or with full attention that of the last position.
  state(word) {
    return this.full ? denseState(this, word) : this.root(word);
  }

  // The logits that are read from a state.
  read(state) {
    return this.readout(state);
  }

  root(word) {
    const { node, states } = [...this.levelsOf(word)].pop();
    return states[node[node.length - 1]];
  }

  // The nodes of the word's tree, with changes to it.
  levelsOf(word, changes) {
    return levelsOver(this, word, changes);
  }

  // The states of the leaves: row 0 the pad, row 1 + s the symbol s.
  leaves() {
    return [this.absent, ...this.embedded.map(this.settle)];
  }

  depth(length) {
    return this.levels || depth(length, this.chunk_size);
  }

  // The K layers of one level.
  layers(level) {
    const first = Math.min(level, this.distinct_levels - 1) * this.thickness;
    return this.blocks.slice(first, first + this.thickness);
  }

  // All layers for words of this length, from the leaves up; the states settle after the last of a level.
  treeLayers(length) {
    const levels = Array.from({ length: this.depth(length) }, (_, level) => this.layers(level));
    return levels.flatMap((blocks) => blocks.map((block, k) => this.treeLayer(block, k === blocks.length - 1)));
  }

  treeLayer(block, last) {
    const over = (states) => {
      const merge = block.over(states);
      return last ? (window, cut) => this.settle(merge(window, cut)) : merge;
    };
    return { over, last, shares: (states) => block.sharesOver(states) };
  }

  // About how many multiplications a word of this length takes.
  cost(length) {
    const { d_model: d, d_ff, gates, n_symbols } = { ...this.options, n_symbols: this.embedded.length };
    const node = 4 * d * d + 2 * d * d_ff + (gates ? d * d * (5 * this.chunk_size + 8) : 0);
    if (this.full) return this.depth(length) * this.thickness * length * (node + length * d);
    if (this.direction) return 2 * length * node;
    // Of a thick level, all layers but the last keep every node.
    const nodes = this.thickness > 1 || this.levels ? this.depth(length) * this.thickness * length : nodesOf(length, n_symbols, this.chunk_size);
    return nodes * node;
  }
}
