// Words that a network answers wrongly: what is tried, in which order, and what may be said then.
//
//   search({ network, hits, prototypes, language, seed, longest, most })   a generator, so that a worker stays awake: it yields
//     { tried } every few milliseconds, and returns { word, length, answer, truth, tried, ended, isShortest, drawn, quantised }.
//
// word       the wrong word, null if none came up, or one of `length` symbols that are too many to write; answer, truth: the
//            network's answer to it (null where logits tie or overflow) and the right one
// tried      all words of up to so many symbols were tried, one by one or as alike to one that was
// isShortest no wrong word is shorter; and none of this length comes before it in the alphabet, but in trees along brackets
// ended      no word of any length is wrong, as this page calculates (of a tree whose states repeat, bit for bit)
// drawn      so many longer words were drawn at random, after all words of up to `tried` symbols
// quantised  of the quantised network, exactly and at any length: { word, answer, truth, tried, ended, length }; null where
//            there are no prototypes

import { Draws } from "./draws.js";
import { struck } from "./hits.js";
import { answerOf } from "./machine.js";
import { shortestAlong } from "./nested_search.js";
import { answersOfElements } from "./nested_machine.js";
import { networkOf } from "./networks.js";
import { AsItIs, end, Quantised, shortestWrong, truthsOf } from "./shortlex.js";
import { nameOf } from "./wall.js";
import { wordWith } from "./word_draws.js";

const MOST = 1 << 16; // windows or symbols that the network computes
const MOST_LOOKED_AT = 1 << 26; // windows of kinds, of the quantised network
const LONG = [12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
const DRAWN = 8; // of each of these lengths
const LONGEST_TRIED = 10000; // symbols of a word that the quantised network gets wrong, and this one is tried on

export function* search({ network, hits = [], prototypes = null, language, seed = 0, longest = Infinity, most = MOST }) {
  const isRival = !network.options.chunk_size;
  const twin = isRival ? networkOf(network, language) : struck(network, hits, prototypes, language.nesting?.direction);
  const exactly = !isRival && prototypes ? yield* ofQuantised(twin, prototypes, language) : null;
  const first = yield* isRival ? oneByOne(twin, language, { longest, most }) : shortest(twin, language, new AsItIs(twin, language.output_names), { longest, most });
  const found = { ...first, isShortest: Boolean(first.length), drawn: 0, quantised: exactly };
  if (found.length || found.ended) return found;
  return { ...found, ...(yield* longer(twin, language, { seed, from: found.tried, first: exactly?.word })) };
}

// The quantised network's shortest wrong word.
function* ofQuantised(twin, prototypes, language, options = {}) {
  const space = new Quantised(twin, prototypes, language.output_names);
  return yield* shortest(twin, language, space, { looks: MOST_LOOKED_AT, isFinite: true, ...options });
}

const shortest = (twin, ...given) => (twin.direction ? shortestAlong : shortestWrong)(...given);

// All words in length-lexicographic order, each by itself; a network that carries a state goes on from the last word's.
function* oneByOne(network, language, { longest, most }) {
  const reader = network.next ? new Carried(network) : { answer: (word) => network.logits(word), cost: (word) => word.length };
  const n_symbols = language.alphabet.length;
  let made = 0;
  for (let length = 1; length <= longest; length += 1) {
    const word = Array(length).fill(0);
    for (let from = 0; from >= 0; from = increased(word, n_symbols)) {
      made += reader.cost(word, from);
      if (made > most) return end(length - 1);
      if (made % 64 < reader.cost(word, from)) yield { tried: length - 1 };
      const truth = answerOf(language, word);
      const answer = nameOf(reader.answer(word, from), language.output_names);
      if (truth !== null && answer !== truth) return { word: [...word], answer, truth, length, tried: length - 1, ended: false };
    }
  }
  return end(longest);
}

// Makes it the next word of its length, and gives the first place that changed; -1 after the last word.
function increased(word, n_symbols) {
  let at = word.length - 1;
  for (; at >= 0 && word[at] === n_symbols - 1; at -= 1) word[at] = 0;
  if (at >= 0) word[at] += 1;
  return at;
}

// A network that carries a state, with its states after each prefix of the last word.
class Carried {
  constructor(network) {
    this.network = network;
    this.states = [network.begin()];
  }

  cost(word, from) {
    return word.length - from;
  }

  answer(word, from) {
    for (let i = from; i < word.length; i += 1) this.states[i + 1] = this.network.next(this.states[i], word[i]);
    return this.network.read(this.states[word.length]);
  }
}

// Longer words than those that were all tried: first one that is known to be wrong of the quantised network, then some at
// random.
function* longer(network, language, { seed, from, first }) {
  const wrong = (word) => {
    const truth = answerOf(language, word);
    const answer = nameOf(network.logits(word), language.output_names);
    return truth !== null && answer !== truth ? { word, answer, truth, length: word.length } : null;
  };
  const known = first && first.length <= LONGEST_TRIED ? wrong(first) : null;
  if (known) return known;
  let drawn = 0;
  const truths = language.nesting ? answersOfElements(language) : truthsOf(language);
  const answered = [...truths.keys()].filter((element) => truths[element] !== null);
  for (const length of LONG.filter((length) => length > from)) {
    for (let i = 0; i < DRAWN; i += 1) {
      const random = new Draws(seed, `searched word ${length} ${i}`);
      const word = wordWith(language, answered, length, () => random.uniform());
      if (!word) break;
      drawn += 1;
      const found = wrong(word);
      if (found) return { ...found, drawn };
      yield { tried: from };
    }
  }
  return { drawn };
}
