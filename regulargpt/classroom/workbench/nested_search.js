// The shortest word with a wrong answer in trees that follow brackets, exactly: as shortlex.js goes through words without
// brackets, from the shortest on.
//
// A row of items is merged as a word of symbols is, and a pair is an item. So items of one element and one state are alike, and
// full nodes of a level, and leftmost nodes of a level: of each such kind only a shortest word is kept. Insides of pairs are
// roots of rows, shorter by two symbols than the pair.

import { answersOfElements } from "./nested_machine.js";
import { end, windows, written } from "./shortlex.js";

// Yields and returns as shortestWrong of shortlex.js does. `isFinite` says that there are finitely many states, so that it is
// decided first whether any word is wrong.
export function* shortestAlong(language, space, { longest = Infinity, most = Infinity, looks = Infinity, isFinite = false } = {}) {
  if (isFinite && !(yield* isAnyWrong(language, space))) return end(Infinity, true);
  const rows = new Rows(language, space);
  for (let length = 1; length <= longest; length += 1) {
    for (const wrong of rows.ofLength(length)) {
      if (wrong) return { ...end(length - 1), ...wrong, length, word: written(wrong) };
      if (space.made >= most || rows.visits >= looks) return end(length - 1);
      if (rows.visits % space.every === 0) yield { tried: length - 1 };
    }
    if (rows.isPart) return end(length);
  }
  return end(longest);
}

// Kinds by length, each pair of element and state once. State 0 is one that was not kept.
class Kinds {
  constructor() {
    Object.assign(this, { by: [], known: new Set() });
  }

  // Whether it is new and was kept.
  put(kind) {
    const key = `${kind.element} ${kind.state}`;
    if (!kind.state || this.known.has(key)) return false;
    this.known.add(key);
    (this.by[kind.length] ??= []).push(kind);
    return true;
  }

  of(length) {
    return this.by[length] ?? [];
  }
}

// What pairs and windows of kinds make.
class Merging {
  constructor({ alphabet, table, elements, nesting, ...language }, space) {
    Object.assign(this, { space, table, wrap: elements.wrap, truths: answersOfElements({ alphabet, table, elements, nesting, ...language }) });
    this.symbols = [...alphabet.keys()].map((symbol) => ({ element: elements.letter[symbol], state: space.leaf(symbol), length: 1, symbol }));
    [this.calls, this.returns] = [1, -1].map((kind) => this.symbols.filter(({ symbol }) => nesting.direction[symbol] === kind));
  }

  // The kind over a window, null where a call stands left of a return that would close it. `vector` is what was not kept.
  over(near, far) {
    const element = far ? this.table[far.element][near.element] : near.element;
    if (element < 0) return null;
    return { ...this.space.over(near.state, far ? far.state : 0, false), element, length: near.length + (far ? far.length : 0), near, far };
  }

  // The pairs round a root, or round nothing.
  *pairsOf(inside) {
    for (const [i, call] of this.calls.entries()) {
      const open = inside ? { near: inside, far: call } : { near: call, far: null };
      const { state } = this.space.over(inside ? inside.state : 0, call.state, false);
      for (const [j, back] of this.returns.entries()) {
        const element = this.wrap[inside ? inside.element : 0][i][j];
        const found = state ? this.space.over(back.state, state, false) : { state: 0 };
        yield { ...found, element, length: 2 + (inside ? inside.length : 0), near: back, far: open };
      }
    }
  }

  isWhole({ element }) {
    return this.wrap[element][0]?.[0] >= 0;
  }

  // The answer to a root and the right one, if it is wrong; else null.
  wrong(root) {
    const truth = this.truths[root.element];
    if (truth === null) return null;
    const answer = this.space.answer(root);
    return answer === truth ? null : { answer, truth };
  }
}

// The nodes of all rows, from the shortest on: level 0 are the items.
class Rows extends Merging {
  constructor(language, space) {
    super(language, space);
    Object.assign(this, { levels: [this.level()], roots: new Kinds(), visits: 0, isPart: false });
  }

  level() {
    return { full: new Kinds(), left: new Kinds() };
  }

  // Everything of so many symbols. Yields null after each window, and a root that is wrong.
  *ofLength(length) {
    for (const item of length === 1 ? this.symbols : this.newPairs(length)) this.keep(this.levels[0].full, item);
    for (let h = 0; this.levels[h].full.known.size; h += 1) {
      // What is alone on a level is there once there is something to stand behind it.
      const isNew = h + 1 === this.levels.length;
      if (isNew) this.levels.push(this.level());
      for (let n = isNew ? 1 : length; n <= length; n += 1) yield* this.above(h, n);
    }
  }

  *newPairs(length) {
    if (length === 2) yield* this.pairsOf(null);
    for (const inside of this.roots.of(length - 2)) if (this.isWhole(inside)) yield* this.pairsOf(inside);
  }

  // The windows of a level that are so long.
  *above(h, length) {
    for (const [near, far, isFull] of this.windows(this.levels[h], length)) {
      this.visits += 1;
      const node = this.over(near, far);
      if (!node) continue;
      this.keep(this.levels[h + 1][isFull ? "full" : "left"], node);
      const isRoot = far || h === 0;
      const wrong = isRoot && this.wrong(node);
      if (isRoot) this.roots.put(node);
      yield wrong ? { ...node, ...wrong } : null;
    }
  }

  *windows({ full, left }, length) {
    for (const kinds of [left, full]) for (const near of kinds.of(length)) yield [near, null, false];
    for (const kinds of [left, full]) {
      for (let n = 1; n < length; n += 1) for (const far of kinds.of(n)) for (const near of full.of(length - n)) yield [near, far, kinds === full];
    }
  }

  keep(kinds, kind) {
    if (!kind.state) this.isPart = true;
    kinds.put(kind);
  }
}

// Whether some word of any length is wrong: all kinds, whatever their lengths, until no item is new.
function* isAnyWrong(language, space) {
  const merging = new Merging(language, space);
  const items = new Kinds();
  let fresh = [...merging.symbols, ...merging.pairsOf(null)];
  while (fresh.filter((item) => items.put({ ...item, length: 0 })).length) {
    const inside = new Kinds();
    for (const root of rootsOver(merging, items.of(0))) {
      if (root && merging.wrong(root)) return true;
      if (root && merging.isWhole(root)) inside.put({ ...root, length: 0 });
      yield { tried: 0 };
    }
    fresh = inside.of(0).flatMap((root) => [...merging.pairsOf(root)]);
  }
  return false;
}

// The roots over rows of items, level by level until the levels repeat; null for other windows.
function* rootsOver(merging, items) {
  const seen = new Set();
  let level = { full: items, rest: [] };
  for (let key = "items"; !seen.has(key); ) {
    const isFirst = !seen.size;
    seen.add(key);
    const [full, rest] = [new Kinds(), new Kinds()];
    for (const [near, far, isFull] of windows(level)) {
      const node = merging.over(near, far);
      if (node) (isFull ? full : rest).put({ ...node, length: 0 });
      yield node && (far || isFirst) ? node : null;
    }
    level = { full: full.of(0), rest: rest.of(0) };
    key = [full, rest].map(({ known }) => [...known].sort().join()).join(";");
  }
}
