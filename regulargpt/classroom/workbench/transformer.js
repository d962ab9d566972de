// A small Transformer, to be trained: sinusoidal positions, pre-LN blocks; the interface of TreeNetwork.

import { sinusoid } from "../../encodings/sinusoidal.js";
import { attend } from "./attention.js";
import { linearPlaces, normPlaces, Parameters, refuseOthers } from "./parameters.js";
import { Matrix } from "./tape.js";

// The options that it has no other way for; d_model, d_ff, n_heads, n_layers and causal are free.
export const TRANSFORMER_ONLY = { norm: "pre", activation: "gelu", dropout: 0, tied: false, scale_embedding: true, random_positions: 0 };

// The names and shapes of the weights, as the Python class has them.
function places({ d_model, d_ff, n_layers }, n_symbols, n_outputs) {
  const block = (name) => [
    ...normPlaces(`${name}.ln1`, d_model),
    linearPlaces(`${name}.attn.qkv`, d_model, 3 * d_model)[0],
    linearPlaces(`${name}.attn.out`, d_model, d_model)[0],
    ...normPlaces(`${name}.ln2`, d_model),
    ...linearPlaces(`${name}.mlp.ff_in`, d_model, d_ff),
    ...linearPlaces(`${name}.mlp.ff_out`, d_ff, d_model),
  ];
  const blocks = Array.from({ length: n_layers }, (_, i) => block(`blocks.${i}`)).flat();
  return [{ name: "embedding.weight", shape: [n_symbols, d_model], std: 0.02 }, ...blocks, ...normPlaces("ln_final", d_model), ...linearPlaces("readout", d_model, n_outputs)];
}

export class TransformerNetwork {
  constructor({ options, n_symbols, n_outputs, seed = 0 }) {
    refuseOthers(options, TRANSFORMER_ONLY);
    Object.assign(this, { options, n_symbols, n_outputs });
    this.parameters = new Parameters(places(options, n_symbols, n_outputs), seed);
    this.embedding = this.parameters.matrix("embedding.weight");
    this.blocks = Array.from({ length: options.n_layers }, (_, i) => {
      const [ln1, ln2, ff_in, ff_out] = ["ln1", "ln2", "mlp.ff_in", "mlp.ff_out"].map((name) => this.parameters.layer(`blocks.${i}.${name}`));
      const [qkv, out] = ["qkv", "out"].map((name) => this.parameters.matrix(`blocks.${i}.attn.${name}.weight`));
      return { ln1, ln2, ff_in, ff_out, qkv, out };
    });
    [this.ln_final, this.readout] = ["ln_final", "readout"].map((name) => this.parameters.layer(name));
  }

  weights() {
    return this.parameters.weights();
  }

  // The words' symbols lie one after the other, a row each. Of the last block only a word's last symbol is read.
  logits(tape, words) {
    const spans = spansOf(words, this.options.causal);
    let x = this.embedded(tape, words);
    this.blocks.forEach((block, i) => {
      x = this.through(tape, block, x, i === this.blocks.length - 1 ? spans.lasts : spans.all);
    });
    return tape.linear(tape.layerNorm(x, ...this.ln_final), ...this.readout);
  }

  // The embeddings times sqrt(d_model), and the positions.
  embedded(tape, words) {
    const d = this.options.d_model;
    const x = tape.scale(tape.gather(this.embedding, words.flat()), Math.sqrt(d));
    const longest = words.reduce((most, word) => Math.max(most, word.length), 0);
    const rows = Array.from({ length: longest }, (_, m) => sinusoid(m, d));
    const positions = new Matrix(x.rows, d, tape.numbers(x.rows * d));
    words.flatMap((word) => rows.slice(0, word.length)).forEach((row, i) => positions.value.set(row, i * d));
    return tape.add(x, positions);
  }

  // A block at the rows `own`.
  through(tape, { ln1, ln2, ff_in, ff_out, qkv, out }, x, { own, ...seen }) {
    const { d_model, n_heads } = this.options;
    const of = tape.linear(tape.layerNorm(x, ...ln1), qkv);
    const [query, key, value] = [0, 1, 2].map((i) => ({ of, at: i * d_model }));
    const attended = tape.linear(attend(tape, d_model, n_heads, { query, key, value, own, ...seen }), out);
    const y = tape.add(own.length < x.rows ? tape.gather(x, own) : x, attended);
    return tape.add(y, tape.linear(tape.gelu(tape.linear(tape.layerNorm(y, ...ln2), ...ff_in)), ...ff_out));
  }
}

// Which rows each row attends to: those of its word, up to itself where it is causal. Of all rows, and of the last ones.
function spansOf(words, causal) {
  const starts = [];
  const lasts = [];
  for (const { length } of words) {
    const start = lasts.length ? lasts[lasts.length - 1] + 1 : 0;
    for (let i = 0; i < length; i += 1) starts.push(start);
    lasts.push(start + length - 1);
  }
  const seen = Int32Array.from(starts, (_, i) => i);
  const ends = causal ? seen.map((i) => i + 1) : Int32Array.from(words.flatMap((word, i) => word.map(() => lasts[i] + 1)));
  const at = (own) => ({ own, seen, from: own.map((i) => starts[i]), to: own.map((i) => ends[i]) });
  return { all: at(seen), lasts: at(Int32Array.from(lasts)) };
}
