// Words with brackets, drawn by what they do: a word is a row of items, symbols and pairs, and it is one such row only. So
// the words of each length and element are counted by their last items, as shares of all words of that length.

import { answersOfElements } from "./nested_machine.js";
import { LONGEST, TrainingWords } from "./words.js";

const DEEP = 0.5; // of the words: a long pair is more likely in them
const STEEPEST = 1; // each symbol of a pair makes it likelier by e to this, at most
const OTHER_KIND = 0.5; // of the edits of a bracket that has others of its direction: its kind changes, not its depth

// Words of a language by their elements, up to a length.
export class NestedDraws {
  constructor(language, longest) {
    const { table, elements, alphabet, nesting } = language;
    Object.assign(this, { table, wrap: elements.wrap, letter: elements.letter, alone: [], kinds: [1, -1].map((kind) => [...alphabet.keys()].filter((symbol) => nesting.direction[symbol] === kind)) });
    this.rows = [table.map((_, e) => Number(e === 0))];
    this.items = [[]]; // by length, { element, share } of pairs; of symbols by length 1
    const n = alphabet.length;
    const symbols = new Map();
    this.letter.forEach((e) => symbols.set(e, (symbols.get(e) ?? 0) + 1 / n));
    this.items.push([...symbols].map(([element, share]) => ({ element, share })));
    for (let length = 1; length <= longest; length += 1) {
      if (length > 1) this.items.push(this.pairs(length, n));
      this.rows.push(this.row(length));
    }
  }

  // The pairs of a length, by element.
  pairs(length, n) {
    const found = new Map();
    this.rows[length - 2].forEach((share, inside) => {
      for (const element of share ? this.wrap[inside].flat() : []) if (element >= 0) found.set(element, (found.get(element) ?? 0) + share / n / n);
    });
    return [...found].map(([element, share]) => ({ element, share }));
  }

  row(length) {
    const found = this.table.map(() => 0);
    this.eachEnd(length, (before, item, rest, share) => {
      const element = this.table[before][item];
      if (element >= 0) found[element] += share;
    });
    return found;
  }

  // Calls with each element before a last item, its element, the length before it, and the share of such words.
  eachEnd(length, f) {
    for (let rest = 0; rest < length; rest += 1) {
      const row = this.rows[rest];
      for (const { element, share } of this.items[length - rest]) for (let e = 0; e < row.length; e += 1) if (row[e]) f(e, element, rest, row[e] * share);
    }
  }

  // A word of this length and element; `steep` makes long pairs likelier.
  word(length, element, random, steep = 0) {
    const items = [];
    for (let [left, now] = [length, element]; left; ) {
      const ends = [];
      this.eachEnd(left, (before, item, rest, share) => {
        if (this.table[before][item] === now) ends.push([share * Math.exp(steep * (left - rest - length)), before, item, rest]);
      });
      const [, before, item, rest] = chosenBy(ends, random);
      items.unshift(left - rest > 1 ? this.pair(left - rest, item, random, steep) : [this.symbol(item, random)]);
      [left, now] = [rest, before];
    }
    return items.flat();
  }

  symbol(element, random) {
    const fitting = [...this.letter.keys()].filter((symbol) => this.letter[symbol] === element);
    return fitting[random.below(fitting.length)];
  }

  pair(length, element, random, steep) {
    const [calls, returns] = this.kinds;
    const ways = this.rows[length - 2].flatMap((share, inside) => (share ? calls.flatMap((a, i) => returns.flatMap((b, j) => (this.wrap[inside][i][j] === element ? [[share, inside, a, b]] : []))) : []));
    const [, inside, a, b] = chosenBy(ways, random);
    return [a, ...this.word(length - 2, inside, random, steep), b];
  }
}

// One of [weight, ...], as likely as its weight.
export function chosenBy(ways, random) {
  let left = random.uniform() * ways.reduce((sum, [weight]) => sum + weight, 0);
  return ways.find(([weight]) => (left -= weight) < 0) ?? ways[ways.length - 1];
}

// Training words of a language with brackets: half of them are nested deeply.
class NestedTrainingWords extends TrainingWords {
  // By answer the lengths that have words.
  lengthsOf(language) {
    this.draws = new NestedDraws(language, LONGEST);
    const answers = answersOfElements(language);
    this.elements = language.output_names.map((name) => [...answers.keys()].filter((e) => answers[e] === name));
    return this.elements.map((of) => [...this.draws.rows.keys()].filter((length) => length && of.some((e) => this.draws.rows[length][e])));
  }

  uniform(answer, length, random) {
    const ways = this.elements[answer].map((e) => [this.draws.rows[length][e], e]);
    const steep = random.uniform() < DEEP ? STEEPEST * random.uniform() : 0;
    return this.draws.word(length, chosenBy(ways, random)[1], random, steep);
  }

  // A bracket of another kind, or an edit as of any word.
  edited(word, random) {
    const at = random.below(word.length);
    const same = this.draws.kinds.find((kind) => kind.includes(word[at])) ?? [];
    if (same.length < 2 || random.uniform() >= OTHER_KIND) return super.edited(word, random);
    const others = same.filter((symbol) => symbol !== word[at]);
    return word.with(at, others[random.below(others.length)]);
  }
}

// The training words of a language.
export function trainingWords(language, seed) {
  return language.nesting ? new NestedTrainingWords(language, seed) : new TrainingWords(language, seed);
}
