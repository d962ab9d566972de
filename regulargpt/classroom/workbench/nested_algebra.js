// The elements of a machine with calls and returns, as languages/automata/algebra.py has them: what words do to its
// states, those that no context tells apart as one.
//
//   algebraOf(machine, most) -> { size, product, wrap, letter, answers, least, items }: product[i][j] is "word of i, then
//                               word of j" (-1: a call left of a return), wrap[i][a][b] is "call a, word of i, return b"
//                               (-1: it has pending brackets), letter by symbol, answers[i] of a word of i, least[i] a
//                               shortest word of it, items the elements of symbols and pairs
//
// A machine is what nested_machine.js makes. Elements are numbered by the length of their shortest words.
import { tooManyElements } from "./drawn.js";
import { alike } from "./partition.js";
import { Refusal } from "./refusal.js";

const [NONE, WELL_MATCHED] = [-1, 0]; // no such element; no flags
const [PENDING_RETURN, PENDING_CALL] = [1, 2]; // flags of an element
const FLAGS = { 1: PENDING_CALL, [-1]: PENDING_RETURN, 0: WELL_MATCHED }; // of a symbol alone
const MOST_FUNCTIONS = 600;
const MOST_PRODUCTS = 2 ** 16;

// The minimal algebra, of at most so many elements.
export function algebraOf(machine, most) {
  const found = minimal(new Closure(machine, most).algebra());
  if (found.size > most) throw new Refusal(tooManyElements(most));
  return found;
}

// The functions on the states that words induce, shortest words first.
class Closure {
  constructor(machine, most) {
    Object.assign(this, { machine, most, functions: [], flags: [], least: [], split: [] });
    this.number = new Map();
    this.items = new Map(); // the element of a single item: its place among the items
    this.right = new Map();
    [this.queue, this.length] = [[], 0]; // by the length of words, in the order in which they came
    this.close();
  }

  close() {
    const { machine } = this;
    this.reach(machine.delta.map((_, q) => q), WELL_MATCHED, []);
    for (const symbol of [...machine.internals, ...machine.returns, ...machine.calls]) {
      this.reach(this.alone(symbol), FLAGS[machine.direction[symbol]], [symbol], true);
    }
    for (let next = this.next(); next; next = this.next()) this.take(next);
  }

  // What a symbol does that has no partner.
  alone(symbol) {
    const { direction, delta, close, place } = this.machine;
    return direction[symbol] < 0 ? close.map(([bottom]) => bottom[place[symbol]]) : delta.map((row) => row[symbol]);
  }

  reach(states, flags, word, isItem = false, split = [0, NONE]) {
    (this.queue[word.length] ??= []).push({ states, flags, word, isItem, split });
    this.length = Math.min(this.length, word.length);
  }

  // The first of the shortest words that are waiting.
  next() {
    while (this.length < this.queue.length && !this.queue[this.length]?.length) this.length += 1;
    return this.queue[this.length]?.shift();
  }

  take({ states, flags, word, isItem, split }) {
    const key = keyOf(states, flags);
    const isNew = !this.number.has(key);
    if (isNew) this.add(key, states, flags, word, split);
    const element = this.number.get(key);
    if (isItem && !this.items.has(element)) {
      this.items.set(element, this.items.size);
      for (const before of [...this.functions.keys()]) this.multiply(before, element);
    }
    if (!isNew) return;
    for (const other of [...this.items.keys()]) if (other !== element) this.multiply(element, other);
    if (flags === WELL_MATCHED) this.wrap(states, word);
  }

  add(key, states, flags, word, split) {
    if (this.functions.length >= MOST_FUNCTIONS || this.right.size > MOST_PRODUCTS) {
      throw new Refusal(tooManyElements(this.most));
    }
    this.number.set(key, this.functions.push(states) - 1);
    this.flags.push(flags);
    this.least.push(word);
    this.split.push(split);
  }

  // An element, then an item; nothing where a call would stand left of a return.
  multiply(before, item) {
    if (this.flags[before] & PENDING_CALL && this.flags[item] & PENDING_RETURN) return;
    const states = this.functions[before].map((q) => this.functions[item][q]);
    const flags = this.flags[before] | this.flags[item];
    const key = keyOf(states, flags);
    const word = [...this.least[before], ...this.least[item]];
    if (!this.number.has(key)) this.reach(states, flags, word, false, [before, item]);
    this.right.set(`${before} ${item}`, key);
  }

  wrap(states, word) {
    const { calls, returns } = this.machine;
    calls.forEach((a, i) => {
      returns.forEach((b, j) => this.reach(this.wrapped(states, i, j), WELL_MATCHED, [a, ...word, b], true));
    });
  }

  // Where the i-th call, a word that does this, and the j-th return lead from every state.
  wrapped(states, i, j) {
    const { delta, pushed, close, calls } = this.machine;
    return delta.map((row, q) => close[states[row[calls[i]]]][1 + pushed[q][i]][j]);
  }

  // All elements, with their products.
  algebra() {
    const { machine, functions, flags, least } = this;
    const items = [...this.items.keys()];
    const times = (before, item) => this.number.get(this.right.get(`${before} ${item}`)) ?? NONE;
    const right = functions.map((_, before) => items.map((item) => times(before, item)));
    const product = functions.map((_, i) => [i]);
    // u (v i) = (u v) i: column by column, as every element but items and the identity is a shorter one and an item.
    for (let element = 1; element < functions.length; element += 1) {
      const [before, item] = this.items.has(element) ? [0, element] : this.split[element];
      for (const row of product) row.push(right[row[before]]?.[this.items.get(item)] ?? NONE);
    }
    return {
      product,
      wrap: functions.map((_, element) => this.pairsOf(element)),
      letter: machine.direction.map((kind, symbol) => this.number.get(keyOf(this.alone(symbol), FLAGS[kind]))),
      flags,
      answers: functions.map((states) => machine.outputs[states[machine.initial]]),
      least,
      items,
    };
  }

  // By call and return, the element of the pair around an element.
  pairsOf(element) {
    const { calls, returns } = this.machine;
    const [states, isWhole] = [this.functions[element], this.flags[element] === WELL_MATCHED];
    const around = (i, j) => (isWhole ? this.number.get(keyOf(this.wrapped(states, i, j), WELL_MATCHED)) : NONE);
    return calls.map((_, i) => returns.map((__, j) => around(i, j)));
  }
}

function keyOf(states, flags) {
  return `${states.join()} ${flags}`;
}

// Elements that no context tells apart as one: the coarsest congruence that keeps answers and what is pending.
function minimal({ product, wrap, letter, flags, answers, least, items }) {
  const size = product.length;
  const right = (i) => items.map((item) => product[i][item]);
  const left = (i) => items.map((item) => product[item][i]);
  // What there is none of is one more element, with a colour of its own.
  const table = product.map((_, i) => [...right(i), ...left(i), ...wrap[i].flat()].map((j) => (j === NONE ? size : j)));
  const shown = answers.map((answer, i) => `${answer} ${flags[i]}`);
  const classes = alike([...table, table[0].map(() => size)], [...shown, "none"]).of;
  const first = classes.slice(0, size).flatMap((number, i) => (classes.indexOf(number) === i ? [i] : []));
  const number = new Map(first.map((i, place) => [classes[i], place]));
  const to = (i) => (i === NONE ? NONE : number.get(classes[i]));
  return {
    size: first.length,
    product: first.map((i) => first.map((j) => to(product[i][j]))),
    wrap: first.map((i) => wrap[i].map((pairs) => pairs.map(to))),
    letter: letter.map(to),
    answers: first.map((i) => answers[i]),
    least: first.map((i) => least[i]),
    items: [...new Set(items.map(to))].sort((a, b) => a - b),
  };
}
