// The machine behind a network's answers to short words (Angluin's L*, counter-examples as Rivest and Schapire take
// them): no state of the network is looked at. As regulargpt/finite/from_answers.py does it.
//
//   learnedMachine({ language, ask, draw, longest, most = 60, budget = 20000 })
//     a generator, so that a worker can do other things between two batches: it gives { asked, states } after each, and
//     returns { language, proposed, asked, problem }
//
//   language   what the network was trained on: its symbols, and the right answers that proposals are held against
//   ask(words) the network's answers to words (lists of symbol numbers), as numbers of language.output_names
//   draw(n)    words like those of the training, for n = 0, 1, ... others
//   longest    symbols of a word that is asked for; budget: words in all; most: states and elements
//
// The `language` that it returns is right on all short words, on drawn ones, and on those that tell it from every other
// machine of so many states; it is null, with a `problem` in a line, where there is none. `proposed` is what L* came to
// last, right or wrong; null before the first.
import { NO_ANSWER } from "./drawn.js";
import { languageOfTable } from "./machine.js";
import { numbered } from "./partition.js";
import { Refusal } from "./refusal.js";

const AT_ONCE = 128; // words in a batch
const MOST_SHORT = 512; // all words of a length are compared while they are not more
const MOST_REFINEMENTS = 64;
const [USUAL, MOST_COMPARED] = [2 ** 12, 2 ** 15]; // words that tell a machine from others: see tellingWords

// The machine of a network's answers, if it is right on all words that it is held against.
export function* learnedMachine({ language, ask, draw, longest, most = 60, budget = 20000 }) {
  const learner = new Learner(language, ask, { longest, most, budget });
  let problem = "";
  try {
    yield* accepted(learner, language, draw, longest);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    problem = error.message;
  }
  const { proposed, asked } = learner;
  if (!problem && !proposed) problem = `The network's answers need more than ${most} elements. Draw a smaller machine.`;
  return { language: problem ? null : proposed, proposed, asked, problem };
}

// Proposals, until one is right everywhere. Refuses where the network does not know better either.
function* accepted(learner, language, draw, longest) {
  const known = [...shortWords(language.alphabet.length, longest), ...draw(0)];
  for (let number = 1; ; number += 1) {
    yield* refined(learner, language, known);
    const unlucky = draw(number).find((each) => learner.isWrong(each));
    if (unlucky) throw new Refusal(wrongOn(unlucky));
    const word = tellingWords(learner.machine, longest).find((each) => learner.isWrong(each));
    if (!word) return;
    if (!(yield* learner.parting([word]))) throw new Refusal(wrongOn(word));
    known.push(word);
  }
}

function wrongOn({ length }) {
  const symbols = length === 1 ? "one symbol" : `${length} symbols`;
  return `The machine of the network's answers is wrong on a word of ${symbols}. Train the network on.`;
}

// L* until no known word is wrong. Refuses where none is left on which the network knows better.
function* refined(learner, language, known) {
  for (let left = MOST_REFINEMENTS; left; left -= 1) {
    yield* learner.close();
    const wrong = known.filter((word) => learner.isWrong(word));
    if (!wrong.length) return;
    const better = yield* learner.parting(wrong);
    if (!better) throw new Refusal(wrongOn(wrong[0]));
    yield* learner.refine(better);
  }
  throw new Refusal("The network's answers need too many corrections to be a machine. Train the network on.");
}

// All words of 1, 2, ... symbols, lengths that have many left out.
function shortWords(n_symbols, longest) {
  const found = [];
  let words = [[]];
  for (let length = 1; length <= longest && words.length * n_symbols <= MOST_SHORT; length += 1) {
    words = words.flatMap((word) => Array.from({ length: n_symbols }, (_, symbol) => [...word, symbol]));
    found.push(...words);
  }
  return found;
}

// What is known of the answers: access words, one a state, and the suffixes that tell them apart.
class Learner {
  constructor(language, ask, limits) {
    Object.assign(this, { truth: language, ask, ...limits, asked: 0, machine: null });
    this.symbols = [...language.alphabet.keys()];
    [this.access, this.suffixes, this.known] = [[[]], [[]], new Map()];
    // No network answers the empty word.
    this.known.set("", this.right([]));
  }

  // The number of the right answer, -1 where there is none.
  right(word) {
    const state = word.reduce((q, symbol) => this.truth.delta[q][symbol], this.truth.initial);
    return this.truth.output_names.indexOf(this.truth.outputs[state]);
  }

  // What the machine so far answers.
  answer(word) {
    const { delta, outputs } = this.machine;
    return outputs[word.reduce((q, symbol) => delta[q][symbol], 0)];
  }

  isWrong(word) {
    return this.answer(word) !== this.right(word);
  }

  // The network's answers. Each word is asked once, and only if it is a question.
  *answers(words) {
    const wanted = new Map(words.map((word) => [word.join(), word]));
    const asked = [];
    for (const [key, word] of wanted) {
      if (this.known.has(key)) continue;
      if (this.right(word) === NO_ANSWER) this.known.set(key, NO_ANSWER);
      else asked.push([key, word]);
    }
    for (let at = 0; at < asked.length; at += AT_ONCE) yield* this.batch(asked.slice(at, at + AT_ONCE));
    return words.map((word) => this.known.get(word.join()));
  }

  *batch(asked) {
    if (asked.some(([, word]) => word.length > this.longest)) {
      const words = `words of more than ${this.longest} symbols`;
      throw new Refusal(`Only ${words} tell states of the network's machine apart. Train the network on.`);
    }
    this.asked += asked.length;
    if (this.asked > this.budget) {
      throw new Refusal(`The network's machine needs more than ${this.budget} words. Train the network on.`);
    }
    this.ask(asked.map(([, word]) => word)).forEach((answer, i) => this.known.set(asked[i][0], answer));
    yield { asked: this.asked, states: this.access.length };
  }

  // What follows each word by each suffix, as a key.
  *rowsOf(words) {
    const found = yield* this.answers(words.flatMap((word) => this.suffixes.map((suffix) => [...word, ...suffix])));
    const n = this.suffixes.length;
    return words.map((_, i) => found.slice(i * n, (i + 1) * n).join());
  }

  // The machine so far: rows that are new become states, whose successors are looked at in the next round.
  *close() {
    const state = new Map((yield* this.rowsOf(this.access)).map((row, q) => [row, q]));
    const delta = [];
    while (delta.length < this.access.length) {
      const after = this.access.slice(delta.length).flatMap((word) => this.symbols.map((symbol) => [...word, symbol]));
      const found = (yield* this.rowsOf(after)).map((row, i) => {
        if (!state.has(row)) state.set(row, this.access.push(after[i]) - 1);
        return state.get(row);
      });
      if (this.access.length > this.most) {
        throw new Refusal(`The network's answers need more than ${this.most} states. Train the network on.`);
      }
      const n = this.symbols.length;
      for (let at = 0; at < found.length; at += n) delta.push(found.slice(at, at + n));
    }
    const outputs = yield* this.answers(this.access);
    this.machine = { alphabet: this.truth.alphabet, initial: 0, delta, outputs };
  }

  // The language of the machine so far; null where it has too many elements.
  get proposed() {
    if (!this.machine) return null;
    const { alphabet, output_names } = this.truth;
    return languageOfTable({ alphabet, outputs: output_names }, this.machine, this.most).language;
  }

  // The first of these words that the network answers otherwise than the machine so far, null if none is.
  *parting(words) {
    for (let at = 0; at < words.length; at += AT_ONCE) {
      const some = words.slice(at, at + AT_ONCE);
      const answers = yield* this.answers(some);
      const i = some.findIndex((word, each) => answers[each] !== this.answer(word));
      if (i >= 0) return some[i];
    }
    return null;
  }

  // Take the suffix of a word at which the machine so far and the network part.
  *refine(word) {
    const path = [0];
    for (const symbol of word) path.push(this.machine.delta[path[path.length - 1]][symbol]);
    const after = (i) => this.answers([[...this.access[path[i]], ...word.slice(i)]]);
    // Bisection: on the way the answer to "access word, then rest of the word" changes; there is the suffix.
    let [low, high] = [0, word.length];
    const [start] = yield* after(low);
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((yield* after(middle))[0] === start) low = middle;
      else high = middle;
    }
    this.suffixes.push(word.slice(high));
  }
}

// Words of at most `longest` symbols that tell a machine from all others of some more states: the W-method (Vasilevskii
// 1973, Chow 1978), as regulargpt/finite/conformance.py explains it.
export function tellingWords(language, longest) {
  const symbols = [...language.alphabet.keys()].map((symbol) => [symbol]);
  const access = accessWords(language);
  const first = distinct([...symbols, ...access, ...access.flatMap((word) => symbols.map((a) => [...word, ...a]))]);
  let [suffixes, found] = [distinguishingWords(language), []];
  for (let most = MOST_COMPARED; first.length * suffixes.length <= most; most = USUAL) {
    const words = distinct(first.flatMap((word) => suffixes.map((suffix) => [...word, ...suffix])));
    if (words.some((word) => word.length > longest)) break;
    found = words;
    suffixes = distinct([...suffixes, ...symbols.flatMap((a) => suffixes.map((suffix) => [...a, ...suffix]))]);
  }
  return found.sort((u, v) => u.length - v.length);
}

function distinct(words) {
  return [...new Map(words.map((word) => [word.join(), word])).values()];
}

// A shortest word of one symbol or more to each state that such a word leads to.
function accessWords({ delta, initial }) {
  const words = new Map();
  const look = (state, word) => {
    delta[state].forEach((next, symbol) => {
      if (!words.has(next)) words.set(next, [...word, symbol]);
    });
  };
  look(initial, []);
  for (const [state, word] of words) look(state, word);
  return [...words.values()];
}

// Suffixes of which for any two states that words of one symbol or more lead to one leads to different answers.
function distinguishingWords({ delta, outputs }) {
  const found = [[]];
  const states = [...new Set(delta.flat())];
  let classes = numbered(states.map((q) => outputs[q]));
  for (const suffix of found) {
    for (const symbol of delta[0].keys()) {
      const word = [symbol, ...suffix];
      const ends = states.map((q) => outputs[word.reduce((state, a) => delta[state][a], q)]);
      const finer = numbered(classes.of.map((number, i) => `${number} ${ends[i]}`));
      if (finer.count > classes.count) {
        found.push(word);
        classes = finer;
      }
    }
  }
  return found;
}
