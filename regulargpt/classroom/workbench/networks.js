// The networks of the three lanes as the page computes words with them.

import { Lstm } from "../../models/lstm.js";
import { RegularGPT } from "../../models/regulargpt/model.js";
import { Weights } from "../../models/weights.js";
import { Tape } from "./tape.js";
import { TransformerNetwork } from "./transformer.js";

// A snapshot's network, as its options have it.
export function networkOf({ options, weights }, language) {
  const { alphabet, output_names, nesting } = language;
  const given = { options, weights: new Weights(new Map(Object.entries(weights))), direction: nesting?.direction ?? null, n_symbols: alphabet.length };
  if (options.chunk_size) return new RegularGPT(given);
  return options.encoding ? new Reading(new TransformerNetwork({ ...given, n_outputs: output_names.length }), weights) : new Lstm(given);
}

// A network that learns, as it answers a word: it has no twin here.
class Reading {
  constructor(network, weights) {
    network.parameters.load(weights);
    Object.assign(this, { network, tape: new Tape({ learning: false }) });
  }

  logits(word) {
    this.tape.clear();
    return this.network.logits(this.tape, [word]).row(0);
  }
}
