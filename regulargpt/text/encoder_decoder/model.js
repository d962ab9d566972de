// The encoder-decoder of T5 (Raffel et al. 2020): the encoder reads all symbols but the last, the decoder answers there.

import { ACTIVATIONS, linear, plus, readout, rmsNorm, times } from "regulargpt/models/layers.js";
import { Attention, CrossAttention, pairCost } from "regulargpt/models/transformer/attention.js";

// W_out f(W_in x), or, gated, W_out (f(W_gate x) * W_in x).
function feedForward(weights, { gated, activation }) {
  const [ff_in, ff_out] = ["ff_in", "ff_out"].map((name) => linear(weights.of(name)));
  const f = ACTIVATIONS[activation];
  if (!gated) return (x) => ff_out(ff_in(x).map(f));
  const ff_gate = linear(weights.of("ff_gate"));
  return (x) => ff_out(times(ff_gate(x).map(f), ff_in(x)));
}

// x + f(RMSNorm(x)) for each part f: attention, in the decoder attention to what the encoder read, and the FFN.
function block(weights, options, encoding, inDecoder) {
  const norm = (name) => rmsNorm(weights.of(name), options.norm_epsilon);
  const [ln1, ln2] = ["ln1", "ln2"].map(norm);
  const attn = new Attention(weights.of("attn"), options, encoding);
  const mlp = feedForward(weights.of("mlp"), options);
  const cross = inDecoder && { ln: norm("ln_cross"), attn: new CrossAttention(weights.of("cross_attn"), options) };
  const added = (x, y) => x.map((row, i) => plus(row, y[i]));
  return (x, n, layer, memory) => {
    x = added(x, attn.over(x.map(ln1), n, layer));
    if (cross) x = added(x, cross.attn.over(x.map(cross.ln), memory));
    return added(x, x.map(ln2).map(mlp));
  };
}

// Blocks one after the other, and RMSNorm at the end.
function stack(weights, options, encoding, n_layers, inDecoder) {
  const blocks = Array.from({ length: n_layers }, (_, i) => block(weights.of(`blocks.${i}`), options, encoding, inDecoder));
  const ln_final = rmsNorm(weights.of("ln_final"), options.norm_epsilon);
  return (x, memory) => {
    const n = Array.from(x.keys());
    return blocks.reduce((y, each, layer) => each(y, n, layer, memory), encoding.embed(x, n)).map(ln_final);
  };
}

export class EncoderDecoder {
  constructor({ options, weights, build }) {
    const { d_model, n_heads, n_layers, tied } = options;
    const [d_head, layers] = [options.d_head || d_model / n_heads, options.decoder_layers || n_layers];
    const encodingOf = (name, n_layers, causal) =>
      build({ options: options.encoding, weights: weights.of(`${name}.encoding`), sizes: { d_model, n_heads, d_head, n_layers, causal }, build });
    const of = { ...options, d_head, scaled: options.scale_logits };
    const [reads, answers] = [encodingOf("encoder_stack", n_layers, false), encodingOf("decoder_stack", layers, true)];
    this.options = options;
    this.longest = reads.longest + 1; // the decoder reads one symbol
    this.embedding = weights.rows("embedding.weight");
    this.encoder = stack(weights.of("encoder_stack"), of, reads, n_layers, false);
    this.decoder = stack(weights.of("decoder_stack"), of, answers, layers, true);
    this.scale = tied && options.scale_readout ? d_model ** -0.5 : 1;
    this.readout = readout(weights, tied);
  }

  logits(word) {
    const x = word.map((symbol) => this.embedding[symbol]);
    const memory = x.length > 1 ? this.encoder(x.slice(0, -1)) : [];
    return this.readout(this.decoder(x.slice(-1), memory)[0].map((value) => value * this.scale));
  }

  cost(length) {
    const { d_model: d, d_ff, n_layers, n_heads } = this.options;
    return n_layers * length * (6 * d * d + 3 * d * d_ff + pairCost(d, n_heads) * length);
  }
}
