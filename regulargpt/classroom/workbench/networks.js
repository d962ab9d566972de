// The networks of the three lanes as the page computes words with them.

import { Sinusoidal } from "../../encodings/sinusoidal.js";
import { Lstm } from "../../models/lstm.js";
import { RegularGPT } from "../../models/regulargpt/model.js";
import { Transformer } from "../../models/transformer/model.js";
import { Weights } from "../../models/weights.js";

const build = ({ sizes, weights, options }) => new Sinusoidal({ sizes, weights, options });

// The twin of a snapshot's network: what its options have says which it is.
export function networkOf({ options, weights }, language) {
  const direction = language.nesting?.direction ?? null;
  const given = { options, weights: new Weights(new Map(Object.entries(weights))), direction, n_symbols: language.alphabet.length, build };
  if (options.chunk_size) return new RegularGPT(given);
  return options.encoding ? new Transformer(given) : new Lstm(given);
}

// The name of a network's answer to a word.
export function answerBy(network, word, language) {
  const logits = Array.from(network.logits(word));
  return language.output_names[logits.indexOf(Math.max(...logits))];
}
