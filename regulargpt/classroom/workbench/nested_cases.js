// The cases of trees that follow brackets ("Trees that follow brackets" in docs/certificate.md; C = 2, counted from the
// right): which windows occur in words with an answer.
//
//   nestedCases(language) -> Cases of a Language with nesting, and `stands`: all elements of each prototype, numbered as
//                            in the lesson. Windows of symbols alone are in leaves, symbols counted from 1, all others
//                            in nodes, where symbol s has the number K + 1 + s behind the K prototypes.
//
// A pair is a node over its call and its inside, and a node over this and the return. The first is no element but what
// each return makes of it: prototypes with the same results are one.
import { byWindow, MOST_WINDOWS, TooMany } from "./cases.js";
import { answerOf } from "./machine.js";
import { numbersOf } from "./symbols.js";

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

// The kinds of node {state, element, length, children}, each pair of state and element once, with its shortest sub-word.
class Kinds extends Map {
  put(state, element, length, children) {
    const key = `${state},${element}`;
    if (!this.has(key) || length < this.get(key).length) this.set(key, { state, element, length, children });
  }
}

// The levels {full, left, roots} of kinds of rows of these items, up to the first that repeats an earlier one.
function* levelsOver(language, items, used, image) {
  let uses = used;
  let [full, left] = [items.filter(({ element }) => uses.inside[element]), []];
  const seen = new Set();
  for (let height = 1, key = ""; !seen.has(key); height += 1) {
    if (height > 1) seen.add(key);
    uses = uses.doubled();
    const found = nextLevel(language, uses, full, left, height, image);
    yield found;
    [full, left] = [[...found.full.values()], [...found.left.values()]];
    key = [found.full, found.left].map((kinds) => [...kinds.keys()].sort().join(" ")).join(";");
  }
}

// One level: a full node behind any node, or a node alone.
function nextLevel({ elements, table }, { inside, leftmost }, full, left, height, image) {
  const found = { full: new Kinds(), left: new Kinds(), roots: new Kinds() };
  const add = (near, far, element, isFull) => {
    const state = image(height, near.state, far ? far.state : 0);
    const kind = [state, element, near.length + (far ? far.length : 0), far ? [near, far] : [near]];
    (isFull ? found.full : found.left).put(...kind);
    if ((far || height === 1) && leftmost[element]) found.roots.put(...kind);
  };
  if (full.length * (full.length + left.length + 1) > MOST_WINDOWS) throw new TooMany(elements.words.length);
  for (const near of [...full, ...left]) if (leftmost[near.element]) add(near, null, near.element, false);
  for (const near of full) {
    for (const [nodes, isFull, kept] of [[full, true, inside], [left, false, leftmost]]) {
      for (const far of nodes) {
        const element = table[far.element][near.element];
        if (kept[element]) add(near, far, element, isFull);
      }
    }
  }
  return found;
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

// The items that there are so far, and the windows that have occurred.
class Walk {
  constructor(language) {
    const { alphabet, elements, table, nesting } = language;
    Object.assign(this, { language, nesting, table, wrap: elements.wrap, labels: new Labels(language) });
    this.right = table.map((_, e) => answerOf(language, numbersOf(alphabet, elements.words[e])));
    this.items = new Map();
    this.seen = new Map(); // by window: it, and its label
    const every = Object.keys(elements.column).map(Number);
    const isWhole = (e) => elements.wrap[e].flat().some((pair) => pair >= 0);
    this.whole = ForestUses.of(table, every, this.right.map((answer) => answer !== null));
    this.setInner(every.filter(isWhole));
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
    this.addSymbols([0]);
    for (let before = -1; this.items.size > before; ) {
      before = this.items.size;
      this.addPairs(this.levels(this.inner));
    }
  }

  // The states of the roots of words, each with the answer.
  top() {
    this.addSymbols([1, -1]);
    const roots = this.levels(this.whole).flatMap((level) => [...level.roots.values()]);
    const answers = roots.map(({ state, element }) => [state, this.right[element]]);
    return new Map(answers.filter(([, answer]) => answer !== null));
  }

  addSymbols(directions) {
    this.nesting.direction.forEach((direction, symbol) => {
      if (directions.includes(direction)) this.add(1 + this.labels.count + symbol, this.labels.letter[symbol]);
    });
  }

  add(state, element) {
    this.items.set(`${state},${element}`, { state, element, length: 1, children: [] });
  }

  // The levels of rows of the items that there are.
  levels(uses) {
    return [...levelsOver(this.language, [...this.items.values()], uses, (_, near, far) => this.image(near, far))];
  }

  // The row of what stands over a window.
  image(near, far) {
    const label = this.labels.image(near, far);
    this.seen.set(`${near},${far}`, [[near, far], label]);
    return 1 + label;
  }

  // The items that are a pair of brackets round the root of one of these rows, or round nothing.
  addPairs(levels) {
    const { direction } = this.nesting;
    const symbols = (kind) => [...direction.keys()].filter((symbol) => direction[symbol] === kind);
    const [calls, returns] = [1, -1].map((kind) => symbols(kind).map((symbol) => 1 + this.labels.count + symbol));
    const insides = [{ state: 0, element: 0 }, ...levels.flatMap((level) => [...level.roots.values()])];
    for (const { state, element } of insides) {
      this.useful[element].forEach((flags, i) => {
        flags.forEach((isUseful, j) => {
          if (isUseful) this.add(this.image(returns[j], this.image(state, calls[i])), this.wrap[element][i][j]);
        });
      });
    }
  }
}
