// The cases of trees that follow brackets ("Trees that follow brackets" in docs/certificate.md; C = 2, counted from the
// right): which windows occur in words with an answer.
//
//   nestedCases(language) -> Cases of a Language with nesting, and `stands`: all elements of each prototype, numbered as
//                            in the lesson. Windows of symbols alone are in leaves, symbols counted from 1, all others
//                            in nodes, where symbol s has the number K + 1 + s behind the K prototypes.
//
// A pair is a node over its call and its inside, and a node over this and the return. The first is no element but what
// each return makes of it: prototypes with the same results are one.
import { byWindow, casesOf, MOST_WINDOWS, TooMany, windowsOver } from "./cases.js";
import { answerOf } from "./machine.js";
import { numbersOf } from "./symbols.js";

// The cases of any language.
export const allCases = (language) => (language.nesting ? nestedCases(language) : casesOf(language));

// The windows that occur, each with the element that it gives, and which answers are asked for.
export function nestedCases(language) {
  const walk = new Walk(language);
  walk.close();
  const roots = walk.top();
  const used = [...new Set([...walk.seen.values()].map(([, image]) => image))].sort((a, b) => a - b);
  const number = new Map(used.map((label, k) => [label, 1 + k]));
  const row = (at) => (at > walk.labels.count ? used.length + at - walk.labels.count : (number.get(at - 1) ?? 0));
  const entries = [...walk.seen.values()].map(([window, image]) => ({ window, image: number.get(image) }));
  const isOfSymbols = ({ window }) => window.every((at) => at === 0 || at > walk.labels.count);
  const symbol = (at) => Math.max(0, at - walk.labels.count);
  const stands = used.map((label) => walk.labels.elementsOf(label));
  return {
    elements: stands.map(([first]) => first),
    stands,
    answers: used.map((label) => roots.get(1 + label) ?? null),
    leaves: entries.filter(isOfSymbols).map(({ window, image }) => [window.map(symbol), image]).sort(byWindow),
    nodes: entries.filter((entry) => !isOfSymbols(entry)).map(({ window, image }) => [window.map(row), image]).sort(byWindow),
  };
}

// What nodes of a network that makes no mistake stand for: the elements 0 .. M - 1, then calls with an inside, those with
// the same results as one. Rows are counted as in the cases: 0 is the pad, then the labels, then the symbols.
class Labels {
  constructor({ alphabet, elements, table, nesting }) {
    const size = table.length;
    const calls = [...alphabet.keys()].filter((symbol) => nesting.direction[symbol] > 0);
    Object.assign(this, { table, size, place: nesting.place, direction: nesting.direction, letter: elements.letter });
    // By call and inside: what it is at the top level, where the call may be pending, and what returns make of it.
    const resultsOf = (a, i, inside) => [table[elements.letter[a]][inside], ...elements.wrap[inside][i]];
    this.does = calls.map((a, i) => table.map((_, inside) => resultsOf(a, i, inside)));
    const keys = [...new Set(this.does.flat().map((results) => results.join()))];
    this.opened = keys.map((key) => key.split(",").map(Number));
    this.label = this.does.map((row) => row.map((results) => size + keys.indexOf(results.join())));
    this.count = size + keys.length;
  }

  // The elements of a label, as the lesson numbers them: those of the first call come behind those of words.
  elementsOf(label) {
    if (label < this.size) return [label];
    const numbered = this.label.flat().map((other, i) => [other, this.size + i]);
    return numbered.filter(([other]) => other === label).map(([, element]) => element);
  }

  // What a row is in a word.
  elementAt(row) {
    if (row === 0) return 0;
    if (row > this.count) return this.letter[row - this.count - 1];
    return row <= this.size ? row - 1 : this.opened[row - 1 - this.size][0];
  }

  // The symbol of a row, if it is one of this direction; else -1.
  symbolAt(row, direction) {
    const symbol = row - this.count - 1;
    return symbol >= 0 && this.direction[symbol] === direction ? symbol : -1;
  }

  // The label of a window of rows.
  image(near, far) {
    const [call, back] = [this.symbolAt(far, 1), this.symbolAt(near, -1)];
    if (call >= 0 && near <= this.size) return this.label[this.place[call]][Math.max(0, near - 1)];
    const isOpen = far > this.size && far <= this.count;
    if (isOpen && back >= 0) return this.opened[far - 1 - this.size][1 + this.place[back]];
    return this.table[this.elementAt(far)][this.elementAt(near)];
  }
}

// Which elements occur in rows of items of which the whole is one of the `useful` elements: inside and leftmost, as `Uses`
// in cases.js has them. `step` is what one item more leads to from each element, `jump` what a span of items more.
class ForestUses {
  constructor(table, useful, step, jump = step) {
    Object.assign(this, { table, useful, step, jump });
    const [before, behind] = [closure(step), closure(jump)];
    this.leftmost = table.map((row) => behind.some((rest) => useful[row[rest]]));
    this.inside = table.map((_, e) => before.some((ahead) => this.leftmost[table[ahead][e]]));
  }

  static of(table, items, useful) {
    const step = table.map((row) => [...new Set(items.map((item) => row[item]))].filter((e) => e >= 0));
    return new ForestUses(table, useful, step);
  }

  doubled() {
    const twice = this.jump.map((targets) => [...new Set(targets.flatMap((e) => this.jump[e]))]);
    return new ForestUses(this.table, this.useful, this.step, twice);
  }
}

// The elements to which steps lead from the identity, and itself.
function closure(steps) {
  const found = new Set([0]);
  for (const element of found) for (const next of steps[element]) found.add(next);
  return [...found];
}

// The items that there are so far, and the windows that have occurred. A node is a row: it says which element it is.
class Walk {
  constructor(language) {
    const { alphabet, elements, table, nesting } = language;
    Object.assign(this, { table, wrap: elements.wrap, labels: new Labels(language), items: new Set() });
    this.seen = new Map(); // by window: it, and its label
    this.right = table.map((_, e) => answerOf(language, numbersOf(alphabet, elements.words[e])));
    this.rows = [1, 0, -1].map((kind) => {
      const symbols = [...alphabet.keys()].filter((symbol) => nesting.direction[symbol] === kind);
      return symbols.map((symbol) => 1 + this.labels.count + symbol);
    });
    const every = Object.keys(elements.column).map(Number);
    this.whole = ForestUses.of(table, every, this.right.map((answer) => answer !== null));
    this.setInner(every.filter((e) => elements.wrap[e].flat().some((pair) => pair >= 0)));
  }

  // The rows in pairs: useful is what some pair round it makes an item of a useful row, of a pair or of the word.
  setInner(items) {
    let [useful, before] = [this.table.map(() => false), ""];
    while (useful.join() !== before) {
      before = useful.join();
      this.inner = ForestUses.of(this.table, items, useful);
      const isUseful = (e) => this.whole.inside[e] || this.inner.inside[e];
      this.useful = this.wrap.map((pairs) => pairs.map((row) => row.map((pair) => pair >= 0 && isUseful(pair))));
      useful = this.useful.map((pairs) => pairs.flat().some((flag) => flag));
    }
  }

  // Add pairs until none is new.
  close() {
    const [, internals] = this.rows;
    for (const row of internals) this.items.add(row);
    for (let before = -1; this.items.size > before; ) {
      before = this.items.size;
      this.addPairs(this.roots(this.inner));
    }
  }

  // The roots of words, each with its answer.
  top() {
    for (const row of this.rows.flat()) this.items.add(row);
    const answers = [...this.roots(this.whole)].map((row) => [row, this.right[this.labels.elementAt(row)]]);
    return new Map(answers.filter(([, answer]) => answer !== null));
  }

  // The roots of rows of the items that there are, level by level until the levels repeat.
  roots(used) {
    const [found, seen] = [new Set(), new Set()];
    const nodes = (rows) => [...rows].sort((a, b) => a - b).map((row) => [row, this.labels.elementAt(row)]);
    let [uses, level] = [used, { full: nodes(this.items).filter(([, element]) => used.inside[element]), left: [] }];
    for (let height = 1, key = "items"; !seen.has(key); height += 1) {
      seen.add(key);
      if (level.full.length * (level.full.length + level.left.length + 1) > MOST_WINDOWS) throw new TooMany(this.table.length);
      uses = uses.doubled();
      const [full, left] = [new Set(), new Set()];
      for (const [near, far, element, isFull] of windowsOver(level, uses, this.table)) {
        const row = this.image(near, far);
        (isFull ? full : left).add(row);
        if ((far || height === 1) && uses.leftmost[element]) found.add(row);
      }
      level = { full: nodes(full), left: nodes(left) };
      key = `${level.full};${level.left}`;
    }
    return found;
  }

  // The row of what stands over a window.
  image(near, far) {
    const label = this.labels.image(near, far);
    this.seen.set(`${near},${far}`, [[near, far], label]);
    return 1 + label;
  }

  // The items that are a pair of brackets round one of these roots, or round nothing.
  addPairs(roots) {
    const [calls, , returns] = this.rows;
    for (const inside of [0, ...roots]) {
      this.useful[this.labels.elementAt(inside)].forEach((flags, i) => {
        flags.forEach((isUseful, j) => {
          if (isUseful) this.items.add(this.image(returns[j], this.image(inside, calls[i])));
        });
      });
    }
  }
}
