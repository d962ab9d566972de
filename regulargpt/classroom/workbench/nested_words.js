// Words with brackets, drawn by what they do: a word is a row of items, symbols and pairs, and it is one such row only. So
// the words of each length and element are counted by their last items, as shares of all words of that length.

import { answersOfElements, elementsByAnswer } from "./nested_machine.js";
import { LONGEST, TrainingWords } from "./words.js";

const DEEP = 0.5; // of the words: a long pair is more likely in them
const STEEPEST = 1; // each symbol of a pair makes it likelier by e to this, at most
const SHORT = 64; // symbols, of words by which it is seen how fast they grow
const LARGEST = 250; // decimal digits of a number of words
const OTHER_KIND = 0.5; // of the edits of a bracket that has others of its direction: its kind changes, not its depth

// Words of a language by their elements, up to a length; those that stand in no word with an answer are left out.
class NestedDraws {
  // A symbol counts as one over `base`, so that the words of all lengths are numbers that a computer has.
  constructor(language, longest, base = longest > SHORT ? baseOf(language, longest) : language.alphabet.length) {
    const { table, elements, alphabet, nesting } = language;
    const kinds = [1, -1].map((kind) => [...alphabet.keys()].filter((symbol) => nesting.direction[symbol] === kind));
    Object.assign(this, { table, wrap: elements.wrap, letter: elements.letter, kinds, base, longest, hopeful: hopefulIn(language) });
    this.rows = [table.map((_, e) => Number(e === 0))]; // by length and element
    this.items = [[], this.joined(this.letter.map((e) => [e, 1 / base]))]; // by length, [element, share]: symbols, then pairs
    for (let length = 1; length <= longest; length += 1) {
      if (length > 1) this.items.push(this.pairs(length));
      this.rows.push(this.row(length));
    }
  }

  joined(items) {
    const found = new Map();
    for (const [element, share] of items) if (this.hopeful[element]) found.set(element, (found.get(element) ?? 0) + share);
    return [...found];
  }

  pairs(length) {
    const round = (share, inside) => (share ? this.wrap[inside].flat().map((element) => [element, share / this.base ** 2]) : []);
    return this.joined(this.rows[length - 2].flatMap(round));
  }

  row(length) {
    const found = this.table.map(() => 0);
    this.eachEnd(length, (before, item, rest, share) => {
      const element = this.table[before][item];
      if (this.hopeful[element]) found[element] += share;
    });
    return found;
  }

  // Calls with each element before a last item, its element, the length before it, and the share of such words.
  eachEnd(length, f) {
    for (let rest = 0; rest < length; rest += 1) {
      const row = this.rows[rest];
      for (const [element, share] of this.items[length - rest]) for (let e = 0; e < row.length; e += 1) if (row[e]) f(e, element, rest, row[e] * share);
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

// By about this factor there are more words with each symbol, or by less: rare ones among the longest must not vanish.
function baseOf(language, longest) {
  const { rows, base } = new NestedDraws(language, SHORT);
  const sum = (length) => rows[length].reduce((a, b) => a + b, 0) + rows[length - 1].reduce((a, b) => a + b, 0);
  return (base * (sum(SHORT) / sum(SHORT / 2)) ** (2 / SHORT) || base) / 10 ** (LARGEST / longest);
}

// Which elements stand in words with an answer.
function hopefulIn(language) {
  const { table, elements: { wrap } } = language;
  const found = answersOfElements(language).map((answer) => answer !== null);
  for (let more = true; more; ) {
    more = false;
    found.forEach((isHopeful, e) => {
      const next = [...table[e], ...table.map((row) => row[e]), ...wrap[e].flat()];
      if (!isHopeful && next.some((other) => found[other])) more = found[e] = true;
    });
  }
  return found;
}

// The draws of a language up to a length, made once.
const made = new WeakMap();
export function drawsOf(language, longest) {
  if (!(made.get(language)?.longest >= longest)) made.set(language, new NestedDraws(language, longest));
  return made.get(language);
}

// A word of so many symbols, or of the next length that has any, whose element is one of these; null where there is none.
// `draw()` gives a number at least 0 and below 1.
export function wordAlong(language, wanted, length, draw, longer) {
  const random = { uniform: draw, below: (n) => Math.floor(n * draw()) };
  const draws = drawsOf(language, length + longer);
  const ways = (n) => wanted.flatMap((e) => (draws.rows[n][e] > 0 ? [[draws.rows[n][e], e]] : []));
  for (let n = length; n <= length + longer; n += 1) if (ways(n).length) return draws.word(n, chosenBy(ways(n), random)[1], random);
  return null;
}

// One of [weight, ...], as likely as its weight.
function chosenBy(ways, random) {
  let left = random.uniform() * ways.reduce((sum, [weight]) => sum + weight, 0);
  return ways.find(([weight]) => (left -= weight) < 0) ?? ways[ways.length - 1];
}

// Training words of a language with brackets: half of them are nested deeply.
class NestedTrainingWords extends TrainingWords {
  // By answer the lengths that have words.
  lengthsOf(language) {
    this.draws = drawsOf(language, LONGEST);
    this.elements = elementsByAnswer(language);
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
