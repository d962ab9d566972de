// RegularGPT, to be trained: the thesis's block over windows of two nodes, one state norm, a learned pad.
//
//   network = new TreeNetwork({ options, n_symbols, n_outputs, seed, direction })   options: those of config.json's `model`;
//     direction: of each symbol 1, -1 or 0 where trees follow brackets, else null
//   network.parameters      Parameters: value and grad of all weights in a row each, zero(), weights(), load(weights)
//   network.weights()       the record { name: { shape, data } } that RegularGPT of model.js reads, as copies
//   network.logits(tape, words)           a row of logits for each word; words are lists of symbol numbers, of any lengths >= 1
//   network.leaves(tape)                  states: row 0 the pad, row 1 + s the symbol s
//   network.withPad(tape, states)         the same states with the pad in front, as row 0
//   network.beside(tape, states)          the same, and along brackets the symbols behind them
//   network.merge(tape, states, windows)  the state over each window of rows; windows is flat, [near, far, near, far, ...]
//   network.read(tape, states)            the logits at states, a row each
//   network.states(tape, forest)          the states of a Forest's nodes, a row for each of its rows
//
// A step: tape.clear(), loss = tape.crossEntropy(network.logits(tape, words), answers), tape.backward(loss), adam.step().
// Of loss, logits and states copy what must outlive the next tape.clear(). Adam sets the gradients back to zero.

import { attend } from "./attention.js";
import { Forest } from "./forest.js";
import { linearPlaces, normPlaces, Parameters, refuseOthers } from "./parameters.js";

// The options that it has no other way for; d_model, d_ff, n_heads and gates are free.
export const TREE_ONLY = { chunk_size: 2, thickness: 1, norm: "pre", activation: "gelu", attention_bias: true, embedding_scale: 1, state_norm: true, pad: "learned", attention: "dilated", tied: false, distinct_levels: 1, levels: 0 };

// The names and shapes of the weights, as the Python class has them. Queries, keys and values lie side by side.
function places({ d_model, d_ff, n_heads, gates }, n_symbols, n_outputs) {
  const three = ["query", "key", "value"].map((name) => linearPlaces(`blocks.0.attn.${name}`, d_model, d_model));
  const gate = (name, n_in, n_out) => linearPlaces(`blocks.0.attn.gates.${name}`, n_in * d_model, n_out * d_model);
  return [
    { name: "pad", shape: [1, d_model], std: 0.02 },
    { name: "embedding.weight", shape: [n_symbols, d_model], std: 1 },
    ...normPlaces("blocks.0.ln1", d_model),
    ...[0, 1].flatMap((kind) => three.map((layer) => layer[kind])),
    ...linearPlaces("blocks.0.attn.out", d_model, d_model),
    { name: "blocks.0.attn.r", shape: [n_heads, 2], std: 0.02 },
    ...(gates ? [gate("wide", 2, 2), gate("wider", 2, 4), gate("gate", 4, 2)].flat() : []),
    ...normPlaces("blocks.0.ln2", d_model),
    ...linearPlaces("blocks.0.ff_in", d_model, d_ff),
    ...linearPlaces("blocks.0.ff_out", d_ff, d_model),
    ...normPlaces("state_norm", d_model),
    ...linearPlaces("readout", d_model, n_outputs),
  ];
}

export class TreeNetwork {
  constructor({ options, n_symbols, n_outputs, seed = 0, direction = null }) {
    refuseOthers(options, TREE_ONLY);
    Object.assign(this, { options, n_symbols, n_outputs, direction });
    this.parameters = new Parameters(places(options, n_symbols, n_outputs), seed);
    const attn = (...names) => this.parameters.layer(...names.map((name) => `blocks.0.attn.${name}`));
    [this.pad, this.embedding, this.r] = ["pad", "embedding.weight", "blocks.0.attn.r"].map((name) => this.parameters.matrix(name));
    [this.ln1, this.ln2, this.ff_in, this.ff_out] = ["ln1", "ln2", "ff_in", "ff_out"].map((name) => this.parameters.layer(`blocks.0.${name}`));
    [this.state_norm, this.readout] = ["state_norm", "readout"].map((name) => this.parameters.layer(name));
    this.gates = options.gates ? ["wide", "wider", "gate"].map((name) => attn(`gates.${name}`)) : null;
    this.projected = attn("query", "key", ...(this.gates ? [] : ["value"]));
    [this.value, this.out] = [attn("value"), attn("out")];
  }

  weights() {
    return this.parameters.weights();
  }

  logits(tape, words) {
    const forest = new Forest(this.n_symbols, this.direction);
    const roots = words.map((word) => forest.root(word));
    return this.read(tape, tape.gather(this.states(tape, forest), roots));
  }

  read(tape, states) {
    return tape.linear(states, ...this.readout);
  }

  leaves(tape) {
    return this.withPad(tape, tape.layerNorm(this.embedding, ...this.state_norm));
  }

  withPad(tape, states) {
    return tape.stack(this.pad, states);
  }

  // The rows of windows above the leaves: the pad, prototypes, and along brackets the symbols.
  beside(tape, prototypes) {
    return this.direction ? tape.stack(this.pad, prototypes, this.leaves(tape).part(1, 1 + this.n_symbols)) : this.withPad(tape, prototypes);
  }

  // Each node is normed and projected once, however many windows it is in.
  states(tape, { rows, levels }) {
    const leaves = this.seen(tape, this.leaves(tape));
    const pools = leaves.map(({ columns }) => tape.matrix(rows, columns));
    const keep = (parts, at) => parts.forEach((part, i) => tape.scatter(part, pools[i], at));
    keep(leaves, Int32Array.from({ length: 1 + this.n_symbols }, (_, row) => row));
    for (const level of levels) keep(this.seen(tape, this.over(tape, pools, level.windows)), level.rows);
    return pools[0];
  }

  merge(tape, states, windows) {
    return this.over(tape, this.seen(tape, states), windows);
  }

  // States, with what others see of them: normed, and as queries, keys and values side by side; with gates no values.
  seen(tape, states) {
    const normed = tape.layerNorm(states, ...this.ln1);
    return [states, normed, tape.linear(normed, ...this.projected)];
  }

  // The thesis's block at each window's near node, and the state norm.
  over(tape, [states, normed, of], windows) {
    const near = Int32Array.from({ length: windows.length / 2 }, (_, i) => windows[2 * i]);
    const x = tape.add(tape.gather(states, near), this.attended(tape, normed, of, windows, near));
    const hidden = tape.gelu(tape.linear(tape.layerNorm(x, ...this.ln2), ...this.ff_in));
    return tape.layerNorm(tape.add(x, tape.linear(hidden, ...this.ff_out)), ...this.state_norm);
  }

  // What the near node of each window attends to in it.
  attended(tape, normed, of, windows, near) {
    const { d_model, n_heads } = this.options;
    const from = near.map((_, i) => 2 * i);
    const sides = { query: { of, at: 0 }, key: { of, at: d_model }, own: near, seen: windows, from, to: from.map((i) => i + 2), bias: this.r };
    const values = this.gates ? { value: { of: this.gated(tape, normed, windows), at: 0 }, valued: windows.map((_, i) => i) } : { value: { of, at: 2 * d_model } };
    return tape.linear(attend(tape, d_model, n_heads, { ...sides, ...values }), ...this.out);
  }

  // The values of all windows' nodes, times the gates computed from both of a window (gated.js).
  gated(tape, normed, windows) {
    const [wide, wider, gate] = this.gates;
    const rows = tape.gather(normed, windows);
    const hidden = tape.relu(tape.linear(tape.relu(tape.linear(rows.wide(2 * rows.columns), ...wide)), ...wider));
    return tape.linear(tape.times(tape.linear(hidden, ...gate).wide(rows.columns), rows), ...this.value);
  }
}
