// A network that is made, not trained: the elements of a machine's monoid as one-hot vectors, and a path through the block for
// each product of two. It is what `regulargpt construct --representation one-hot` writes (regulargpt/construct/one_hot.py and
// weights.py, whose numbers these are); C = 2.

import { truthsOf } from "./shortlex.js";

const EPSILON = 1e-5; // of LayerNorm
const C = 2;
// A path's two units rise from 0 to 1 between these distances below C and are flat outside.
const [RISES, SETTLES] = [0.75, 0.25];
const STEEP = 1 / (RISES - SETTLES);

// { options, weights, prototypes }; `cases` say which elements have a prototype.
export function oneHot(language, cases) {
  const size = language.table.length;
  const [d_model, paths] = [C * size, size ** C];
  const d_ff = 2 * paths + d_model;
  const options = {
    ...{ name: "regulargpt", chunk_size: C, gates: false, thickness: 1, d_model, n_heads: C, d_ff, norm: "post", activation: "relu" },
    ...{ attention_bias: false, embedding_scale: 1, state_norm: false, pad: "learned", attention: "dilated", tied: false },
    ...{ distinct_levels: 1, levels: 0, tree: "flat" },
  };
  const weights = {
    pad: matrix(1, d_model, (_, i) => Number(i === 0)),
    "embedding.weight": matrix(language.letter.length, d_model, (symbol, i) => Number(i === language.letter[symbol])),
    ...norm("ln1", d_model, 1 / size),
    ...attention(size, d_model),
    ...norm("ln2", d_model, 1 / d_model),
    ...ffn(language.table, size, d_model, d_ff),
    ...readout(language, size, d_model),
  };
  return { options, weights, prototypes: cases.elements.map((element) => Float64Array.from({ length: d_model }, (_, i) => Number(i === element))) };
}

// A tensor of rows, rounded to float32.
function matrix(rows, width, value) {
  const data = new Float64Array(rows * width);
  for (let i = 0, at = 0; i < rows; i += 1) for (let j = 0; j < width; j += 1, at += 1) data[at] = Math.fround(value(i, j));
  return { shape: [rows, width], data };
}

const vector = (width, value) => ({ shape: [width], data: matrix(1, width, (_, i) => value(i)).data });

// With these LayerNorm leaves all vectors of zeros and this share of ones as they are.
function norm(name, width, share) {
  const gain = Math.sqrt(share * (1 - share) + EPSILON);
  return { [`blocks.0.${name}.weight`]: vector(width, () => gain), [`blocks.0.${name}.bias`]: vector(width, () => share) };
}

// Head j sees offset j alone and copies slot 0 of that child into slot j; in slot 0 the node itself stands already.
function attention(size, d_model) {
  const none = () => matrix(d_model, d_model, () => 0);
  return {
    "blocks.0.attn.r": matrix(C, C, (head, offset) => (head === offset ? 0 : -Infinity)),
    "blocks.0.attn.query.weight": none(),
    "blocks.0.attn.key.weight": none(),
    "blocks.0.attn.value.weight": matrix(d_model, d_model, (i, j) => Number(i % size === j)),
    "blocks.0.attn.out.weight": matrix(d_model, d_model, (i, j) => Number(i === j && i >= size)),
  };
}

// Two units a path, whose difference is 1 if it is active and else 0, and a unit a number, which takes it away. Path p is
// that of the elements ⌊p / size⌋ at the left and p mod size at the right.
function ffn(table, size, d_model, d_ff) {
  const paths = size ** C;
  const [far, near] = [(p) => Math.floor((p % paths) / size), (p) => p % size];
  const reads = (p, j) => j === near(p) || j === size + far(p);
  const bias = (p) => -STEEP * (C - (p < paths ? RISES : SETTLES));
  const writes = (p) => table[far(p)][near(p)];
  return {
    "blocks.0.ff_in.weight": matrix(d_ff, d_model, (p, j) => (p < C * paths ? STEEP * reads(p, j) : Number(j === p - C * paths))),
    "blocks.0.ff_in.bias": vector(d_ff, (p) => (p < C * paths ? bias(p) : 1)),
    "blocks.0.ff_out.weight": matrix(d_model, d_ff, (i, p) => (p < C * paths ? Number(i === writes(p)) * (p < paths ? 1 : -1) : -Number(i === p - C * paths))),
    "blocks.0.ff_out.bias": vector(d_model, () => 1),
  };
}

// 1 at the answer of a word of this element, -1 at all others.
function readout(language, size, d_model) {
  const truths = truthsOf(language);
  const names = language.output_names;
  const value = (answer, element) => (element >= size ? 0 : truths[element] === names[answer] ? 1 : -1);
  return { "readout.weight": matrix(names.length, d_model, value), "readout.bias": vector(names.length, () => 0) };
}
