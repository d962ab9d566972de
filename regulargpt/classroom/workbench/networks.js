// The networks of the three lanes as the page computes words with them. Only RegularGPT has a twin here.

import { RegularGPT } from "../../models/regulargpt/model.js";
import { Weights } from "../../models/weights.js";
import { LstmNetwork } from "./lstm.js";
import { Tape } from "./tape.js";
import { TransformerNetwork } from "./transformer.js";

// A snapshot's network, as its options have it.
export function networkOf({ options, weights }, language) {
  const { alphabet, output_names, nesting } = language;
  const given = { options, n_symbols: alphabet.length, n_outputs: output_names.length, seed: null };
  if (options.chunk_size) return new RegularGPT({ ...given, weights: new Weights(new Map(Object.entries(weights))), direction: nesting?.direction ?? null });
  return options.encoding ? new Reading(new TransformerNetwork(given), weights) : new Carrying(new LstmNetwork(given), weights);
}

// A network that learns, as it answers a word.
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

// One that carries a state along the word, { h, c } with a row each: what stands there is no tape's.
class Carrying extends Reading {
  begin() {
    return this.network.begin(1);
  }

  next(state, symbol) {
    const { network, tape } = this;
    tape.clear();
    const { h, c } = network.next(tape, state, tape.gather(network.symbols(tape), [symbol]));
    return { h: h.copy(), c: c.copy() };
  }

  read({ h }) {
    return this.network.read(this.tape, h).row(0);
  }
}
