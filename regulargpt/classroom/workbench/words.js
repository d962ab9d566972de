// The words of a training and their right answers, a pure function of (language, seed, step): all networks of a page see
// the same words at the same steps.

import { Draws } from "./draws.js";
import { answerOf } from "./machine.js";

export const LONGEST = 40;
// How long words are by the step: short ones first, for they say most.
const STAGES = [
  [0, 10],
  [400, 20],
  [800, LONGEST],
];
// About as many symbols in every step: so many words of up to ten.
const BATCH = 128;
// Of non-members so many are members with one or two symbols changed: a sparse language is learned at its edge.
const NEAR_MISSES = 0.5;
const MOST_EDITS = 2;
const TRIES = 8;

// The longest training word of a step.
const longestAt = (step) => STAGES.reduce((found, [from, longest]) => (step >= from ? longest : found), 0);

// The number of the right answer in `output_names`, -1 where there is none.
export function answerTo(language, word) {
  return language.output_names.indexOf(answerOf(language, word));
}

// Words of a language by their answers: all answers are equally likely, then all lengths that have some, then all words.
export class TrainingWords {
  constructor(language, seed) {
    Object.assign(this, { language, seed });
    this.lengths = this.lengthsOf(language);
    this.given = [...this.lengths.keys()].filter((answer) => this.lengths[answer].length);
    this.shortest = Math.min(...this.given.map((answer) => this.lengths[answer][0]));
    this.rejects = language.kind === "accepts" ? language.output_names.indexOf("reject") : -1;
  }

  // By answer, the lengths that have words. No network answers the empty word.
  lengthsOf(language) {
    this.counts = language.output_names.map((name) => pathCounts(language, name));
    return this.counts.map((count) => [...count.keys()].filter((length) => length && count[length][language.initial] > 0));
  }

  // The words (lists of symbol numbers) of a step, and the numbers of their answers in `output_names`.
  batch(step) {
    const random = new Draws(this.seed, `words ${step}`);
    const longest = Math.max(this.shortest, longestAt(step));
    const count = Math.ceil((BATCH * STAGES[0][1]) / longest);
    const answers = Array.from({ length: count }, () => chosen(this.answersUpTo(longest), random));
    return { words: answers.map((answer) => this.word(answer, longest, random)), answers };
  }

  answersUpTo(longest) {
    return this.given.filter((answer) => this.lengths[answer][0] <= longest);
  }

  word(answer, longest, random) {
    const near = answer === this.rejects && random.uniform() < NEAR_MISSES ? this.nearMiss(longest, random) : null;
    return near ?? this.uniform(answer, chosen(this.lengths[answer].filter((length) => length <= longest), random), random);
  }

  // A word of this answer and length, each as likely as any other.
  uniform(answer, length, random) {
    let state = this.language.initial;
    return Array.from({ length }, (_, i) => {
      const next = this.language.delta[state];
      const symbol = weighted(next.map((q) => this.counts[answer][length - 1 - i][q]), random);
      state = next[symbol];
      return symbol;
    });
  }

  edited(word, random) {
    return edited(word, this.language.alphabet.length, random);
  }

  // A member with an edit or two that is no member any more; null where a few tries bring none.
  nearMiss(longest, random) {
    const members = this.given.filter((answer) => answer !== this.rejects && this.lengths[answer][0] <= longest);
    for (let turn = 0; turn < TRIES && members.length; turn += 1) {
      let word = this.word(chosen(members, random), longest, random);
      for (let left = 1 + random.below(MOST_EDITS); left; left -= 1) word = this.edited(word, random);
      if (word.length && word.length <= longest && answerTo(this.language, word) === this.rejects) return word;
    }
    return null;
  }
}

// How many words of each length lead from each state to one with this answer.
function pathCounts({ delta, outputs }, answer) {
  const found = [outputs.map((name) => Number(name === answer))];
  while (found.length <= LONGEST) {
    const shorter = found[found.length - 1];
    found.push(delta.map((row) => row.reduce((sum, q) => sum + shorter[q], 0)));
  }
  return found;
}

// A word with one symbol exchanged, added or left out, or two neighbours swapped.
function edited(word, symbols, random) {
  const [at, kind, symbol] = [random.below(word.length), random.below(4), random.below(symbols)];
  const [before, after] = [word.slice(0, at), word.slice(at + 1)];
  if (kind === 0) return [...before, symbol, ...after];
  if (kind === 1) return [...before, symbol, ...word.slice(at)];
  if (kind === 2) return [...before, ...after];
  return after.length ? [...before, after[0], word[at], ...after.slice(1)] : word;
}

const chosen = (list, random) => list[random.below(list.length)];

// A place in a list, as likely as its weight.
function weighted(weights, random) {
  let left = random.uniform() * weights.reduce((a, b) => a + b, 0);
  const found = weights.findIndex((weight) => (left -= weight) < 0);
  return found >= 0 ? found : weights.findLastIndex((weight) => weight > 0);
}
