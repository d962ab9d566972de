// A test: words of 1,000 symbols, and how many of them a network answers as the machine does. In a worker of its own.

import { struck } from "./hits.js";
import { answerOf } from "./machine.js";
import { elementsByAnswer } from "./nested_machine.js";
import { drawsOf, wordAlong } from "./nested_words.js";
import { networkOf } from "./networks.js";
import { Random } from "./random.js";
import { nameOf } from "./wall.js";

export const LONG = 1000;
const WORDS = 20;

// Words of a length, or of the next one that has any, whose answers are all equally likely. Every second one is another
// word with one symbol exchanged, if that has an answer: of some languages only words that are nearly members are hard.
class LongWords {
  constructor(language, seed, length = LONG) {
    Object.assign(this, { language, length, random: new Random(seed, "long words"), drawn: 0 });
    const most = length + language.states.length;
    this.count(most);
    this.answers = [...language.output_names.keys()].filter((answer) => this.lengthOf(answer) > 0);
  }

  // What there is of each length up to the longest.
  count(most) {
    this.shares = this.language.output_names.map((name) => sharesOf(this.language, name, most));
  }

  draw() {
    this.drawn += 1;
    return this.random.uniform(this.drawn);
  }

  // The first length from the wanted one on that has words of this answer; -1 where none has.
  lengthOf(answer) {
    return this.shares[answer].findIndex((row, n) => n >= this.length && row[this.language.initial] > 0);
  }

  word(i) {
    const { language } = this;
    const found = this.uniform(this.answers[i % this.answers.length]);
    if (i % 4 < 2) return found;
    const other = found.with(Math.floor(this.draw() * found.length), Math.floor(this.draw() * language.alphabet.length));
    return answerOf(language, other) === null ? found : other;
  }

  // Each word of this answer and length is as likely as any other.
  uniform(answer) {
    let state = this.language.initial;
    const length = this.lengthOf(answer);
    return Array.from({ length }, (_, i) => {
      const weights = this.language.delta[state].map((next) => this.shares[answer][length - 1 - i][next]);
      let left = this.draw() * weights.reduce((a, b) => a + b, 0);
      const symbol = weights.findIndex((weight) => (left -= weight) < 0);
      state = this.language.delta[state][symbol];
      return symbol;
    });
  }
}

// Words with brackets, by the elements that have an answer.
class LongWordsAlong extends LongWords {
  count(most) {
    const { language } = this;
    this.elements = elementsByAnswer(language);
    Object.assign(this, { most, rows: drawsOf(language, most).rows });
  }

  lengthOf(answer) {
    return this.rows.findIndex((row, n) => n >= this.length && this.elements[answer].some((e) => row[e] > 0));
  }

  uniform(answer) {
    return wordAlong(this.language, this.elements[answer], this.length, () => this.draw(), this.most - this.length);
  }
}

// The long words of a language.
export function longWords(language, seed, length = LONG) {
  return new (language.nesting ? LongWordsAlong : LongWords)(language, seed, length);
}

// By length and state: the words from there to this answer, as a share of the most from any state.
function sharesOf({ delta, outputs }, answer, longest) {
  const found = [outputs.map((name) => Number(name === answer))];
  while (found.length <= longest) {
    const counts = delta.map((row) => row.reduce((sum, next) => sum + found[found.length - 1][next], 0));
    const most = Math.max(...counts) || 1;
    found.push(counts.map((count) => count / most));
  }
  return found;
}

// Ask a network, and say how it went after each word; lengths: of the shortest and the longest, for a language may have
// no words of just so many symbols.
export function ask(given, said) {
  const { language, seed, lane } = given;
  const [network, words] = [networkOf(given, language), longWords(language, seed)];
  let [right, lengths] = [0, [Infinity, 0]];
  for (let i = 0; i < WORDS; i += 1) {
    const word = words.word(i);
    lengths = [Math.min(lengths[0], word.length), Math.max(lengths[1], word.length)];
    right += nameOf(network.logits(word), language.output_names) === answerOf(language, word) ? 1 : 0;
    said({ lane, right, tried: i + 1, of: WORDS, lengths });
  }
}

// What a network answers to words of a person's own, null where there is no word.
function answers({ lane, words, hits = [], prototypes, language, ...given }) {
  const network = hits.length ? struck(given, hits, prototypes, language.nesting?.direction) : networkOf(given, language);
  return { lane, answers: words.map((word) => word && nameOf(network.logits(word), language.output_names)) };
}

// What a worker does with each message.
export function begin(scope) {
  const said = (found) => scope.postMessage(found);
  scope.onmessage = ({ data }) => (data.words ? said(answers(data)) : ask(data, said));
}
