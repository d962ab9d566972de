// RegularGPT, to be trained: the thesis's block over windows of C nodes, one state norm, a learned pad.
//
//   network = new TreeNetwork({ options, n_symbols, n_outputs, seed })   options: those of config.json's `model`
//   network.parameters      Parameters: value and grad of all weights in a row each, zero(), weights(), load(weights)
//   network.weights()       the record { name: { shape, data } } that RegularGPT of model.js reads, as copies
//   network.logits(tape, words)           a row of logits for each word; words are lists of symbol numbers, of any lengths
//   network.leaves(tape)                  states: row 0 the pad, row 1 + s the symbol s
//   network.withPad(tape, states)         the same states with the pad in front, as row 0
//   network.merge(tape, states, windows)  the state over each window of rows; windows is flat, [near, far, near, far, ...]
//   network.read(tape, states)            the logits at states, a row each
//   network.levels(tape, forest)          the states of all nodes of a forest, a matrix a level, level 0 being the leaves;
//                                         above them row 0 is the pad, row 1 + n the n-th window of that level
//   forestOf(words, C)                    the trees over words, equal sub-words being one node (see there)
//
// A step: tape.clear(), loss = tape.crossEntropy(network.logits(tape, words), answers), tape.backward(loss), adam.step().
// Of loss, logits and states copy what must outlive the next tape.clear(). Adam sets the gradients back to zero.

import { attend } from "./attention.js";
import { linearPlaces, normPlaces, Parameters } from "./parameters.js";

// The trees over words: { levels, roots }. A level has its distinct windows, flat, of rows of the level below, and of each
// word the rows of its nodes, null where its root lies lower. `roots` are a { level, row } for each word. Rows begin at 1.
export function forestOf(words, C = 2) {
  const levels = [];
  const roots = words.map(() => null);
  let rows = words.map((word) => word.map((symbol) => 1 + symbol));
  while (roots.includes(null)) {
    const level = levelOver(rows, C);
    levels.push(level);
    rows = level.rows.map((row, i) => {
      if (row === null || row.length > 1) return row;
      roots[i] = { level: levels.length, row: row[0] };
      return null;
    });
  }
  return { levels, roots };
}

// The nodes over rows of nodes, in windows of C that begin at the right.
function levelOver(rows, C) {
  const [found, windows] = [new Map(), []];
  const base = 1 + rows.reduce((most, row) => (row || []).reduce((a, b) => Math.max(a, b), most), 0);
  const above = rows.map((row) => row && Array.from({ length: Math.ceil(row.length / C) }, (_, i, own = row.length - 1 - (Math.ceil(row.length / C) - 1 - i) * C) => {
    let key = 0;
    for (let j = 0; j < C; j += 1) key = key * base + (own >= j ? row[own - j] : 0);
    if (!found.has(key)) {
      found.set(key, 1 + found.size);
      for (let j = 0; j < C; j += 1) windows.push(own >= j ? row[own - j] : 0);
    }
    return found.get(key);
  }));
  return { windows: Int32Array.from(windows), rows: above };
}

// The names and shapes of the weights, as the Python class has them. Queries, keys and values lie side by side.
function places({ d_model, d_ff, n_heads, chunk_size, gates }, n_symbols, n_outputs) {
  const three = ["query", "key", "value"].map((name) => linearPlaces(`blocks.0.attn.${name}`, d_model, d_model));
  const gate = (name, n_in, n_out) => linearPlaces(`blocks.0.attn.gates.${name}`, n_in * d_model, n_out * d_model);
  return [
    { name: "pad", shape: [1, d_model], std: 0.02 },
    { name: "embedding.weight", shape: [n_symbols, d_model], std: 1 },
    ...normPlaces("blocks.0.ln1", d_model),
    ...[0, 1].flatMap((kind) => three.map((layer) => layer[kind])),
    ...linearPlaces("blocks.0.attn.out", d_model, d_model),
    { name: "blocks.0.attn.r", shape: [n_heads, chunk_size], std: 0.02 },
    ...(gates ? [gate("wide", chunk_size, 2), gate("wider", 2, 4), gate("gate", 4, chunk_size)].flat() : []),
    ...normPlaces("blocks.0.ln2", d_model),
    ...linearPlaces("blocks.0.ff_in", d_model, d_ff),
    ...linearPlaces("blocks.0.ff_out", d_ff, d_model),
    ...normPlaces("state_norm", d_model),
    ...linearPlaces("readout", d_model, n_outputs),
  ];
}

export class TreeNetwork {
  constructor({ options, n_symbols, n_outputs, seed = 0 }) {
    Object.assign(this, { options, n_symbols, n_outputs });
    this.parameters = new Parameters(places(options, n_symbols, n_outputs), seed);
    const attn = (...names) => this.parameters.layer(...names.map((name) => `blocks.0.attn.${name}`));
    [this.pad, this.embedding, this.r] = ["pad", "embedding.weight", "blocks.0.attn.r"].map((name) => this.parameters.matrix(name));
    [this.ln1, this.ln2, this.ff_in, this.ff_out] = ["ln1", "ln2", "ff_in", "ff_out"].map((name) => this.parameters.layer(`blocks.0.${name}`));
    [this.state_norm, this.readout] = ["state_norm", "readout"].map((name) => this.parameters.layer(name));
    [this.all, this.asked, this.value, this.out] = [attn("query", "key", "value"), attn("query", "key"), attn("value"), attn("out")];
    this.gates = options.gates && ["wide", "wider", "gate"].map((name) => attn(`gates.${name}`));
  }

  weights() {
    return this.parameters.weights();
  }

  logits(tape, words) {
    return this.read(tape, this.roots(tape, forestOf(words, this.options.chunk_size)));
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

  levels(tape, { levels }) {
    const states = [this.leaves(tape)];
    for (const { windows } of levels) states.push(this.withPad(tape, this.merge(tape, states[states.length - 1], windows)));
    return states;
  }

  // The state of each word's root.
  roots(tape, forest) {
    const order = forest.roots.map((_, i) => i).sort((a, b) => forest.roots[a].level - forest.roots[b].level);
    const parts = this.levels(tape, forest).map((states, level) => tape.gather(states, order.filter((i) => forest.roots[i].level === level).map((i) => forest.roots[i].row)));
    const places = new Int32Array(order.length);
    order.forEach((i, place) => (places[i] = place));
    return tape.gather(tape.stack(...parts), places);
  }

  merge(tape, states, windows) {
    const C = this.options.chunk_size;
    const own = Int32Array.from({ length: windows.length / C }, (_, i) => windows[i * C]);
    const attended = this.attention(tape, tape.layerNorm(states, ...this.ln1), windows, own);
    const x = tape.add(tape.gather(states, own), attended);
    const hidden = tape.gelu(tape.linear(tape.layerNorm(x, ...this.ln2), ...this.ff_in));
    return tape.layerNorm(tape.add(x, tape.linear(hidden, ...this.ff_out)), ...this.state_norm);
  }

  // What the first node of each window attends to in it.
  attention(tape, normed, windows, own) {
    const { chunk_size: C, d_model, n_heads, gates } = this.options;
    const of = tape.linear(normed, ...(gates ? this.asked : this.all));
    const from = own.map((_, i) => i * C);
    const sides = { query: { of, at: 0 }, key: { of, at: d_model }, own, seen: windows, from, to: from.map((first) => first + C), bias: this.r };
    const values = gates ? { value: { of: this.gated(tape, normed, windows), at: 0 }, valued: windows.map((_, i) => i) } : { value: { of, at: 2 * d_model } };
    return tape.linear(attend(tape, d_model, n_heads, { ...sides, ...values }), ...this.out);
  }

  // The values of a window's nodes, times the gates computed from all of them (gated.js).
  gated(tape, normed, windows) {
    const [wide, wider, gate] = this.gates;
    const rows = tape.gather(normed, windows);
    const joined = rows.wide(rows.columns * this.options.chunk_size);
    const hidden = tape.relu(tape.linear(tape.relu(tape.linear(joined, ...wide)), ...wider));
    return tape.linear(tape.times(tape.linear(hidden, ...gate).wide(rows.columns), rows), ...this.value);
  }
}
