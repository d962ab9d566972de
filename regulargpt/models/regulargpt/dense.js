// RegularGPT as Eq. (6.1) is written, for the ablation without its minus infinity: every position attends to every one.

import { memo, softmax } from "../layers.js";

// The state of the last position after all levels.
export function denseState(model, word) {
  const leaves = model.leaves();
  let x = word.map((symbol) => leaves[1 + symbol]);
  for (let level = 0; level < model.depth(word.length); level += 1) {
    const dilation = Math.min(model.chunk_size ** level, word.length);
    for (const block of model.layers(level)) x = denseLayer(block, x, model, dilation);
    x = x.map(model.settle);
  }
  return x[x.length - 1];
}

// softmax(Q K^T / sqrt(d) + M) V, then the FFN. M is r_i at the distance i * dilation, and 0 elsewhere in the word.
function denseLayer(block, x, model, dilation) {
  const { attn } = block;
  const before = model.masked ? 0 : (model.chunk_size - 1) * dilation;
  const normed = memo((n) => block.normed(n < before ? model.absent : x[n - before]));
  const k = memo((n) => attn.key(normed(n)));
  const v = memo((n) => attn.value(normed(n)));
  return x.map((own, m) => {
    const q = attn.query(normed(before + m));
    const keys = Array.from({ length: before + m + 1 }, (_, n) => n);
    const offset = keys.map((n) => (before + m - n) / dilation);
    const isOffset = offset.map((i) => Number.isInteger(i) && i < model.chunk_size);
    const seen = keys.filter((n) => isOffset[n] || n >= before);
    const z = new Float64Array(own.length);
    for (let h = 0; h < attn.n_heads; h += 1) {
      const logits = seen.map((n) => attn.logit(q, k(n), h, isOffset[n] ? offset[n] : null));
      attn.mix(softmax(logits), seen.map(v), h, z);
    }
    return block.finish(own, attn.out(z));
  });
}
