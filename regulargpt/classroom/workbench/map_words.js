// The words whose nodes are on the map: the same for the whole training, with each element about as often as the others.

import { Random } from "./random.js";
import { wordWith } from "./word_draws.js";

const LENGTHS = [2, 3, 5, 8, 12, 16];
const MOST_WORDS = 60;

// As many words, or fewer where some are equal: of each element of each length at which it has any.
export function mapWords(language, elements) {
  const random = new Random(0, "map");
  const found = new Map();
  let drawn = 0;
  for (let turn = 0; turn * elements.length < MOST_WORDS; turn += 1) {
    elements.forEach((element, k) => {
      const word = wordWith(language, [element], LENGTHS[(turn + k) % LENGTHS.length], () => random.uniform((drawn += 1)));
      if (word) found.set(word.join(), word);
    });
  }
  return [...found.values()];
}
