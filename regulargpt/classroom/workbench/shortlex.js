// The shortest word with a wrong answer, exactly: all words in length-lexicographic order, along their trees (C = 2,
// counted from the right), where words that nothing can tell apart are tried once.
//
// Words of one element of the monoid and one state of the network, both at full nodes of a level or both at leftmost ones,
// are alike: whatever stands beside them, the tree above is the same, and so is the right answer. So of each such kind only
// the least word is kept. A level follows from the kinds of the level below: where these repeat, nothing new comes at any
// length.

import { landing, nameOf, sure } from "./wall.js";

const MOST_WRITTEN = 100000; // symbols of a word that is written out
const MOST_STATES = 1 << 15; // of the network as it is, that are kept
const SHIFT = 2 ** 21;

// What a search says that found no wrong word.
export const end = (tried, ended = false) => ({ word: null, answer: null, truth: null, tried, ended });

// Yields how far it is, { tried }, and returns { word, answer, truth, tried, ended }: `tried` says up to which length all words
// were tried, `ended` that no longer word can be wrong either. Of a word too long to be written, `word` is null and `length`
// says how long it is. `space` computes the states, of `most` windows at most, and `looks` windows of kinds are looked at.
export function* shortestWrong(language, space, { longest = Infinity, most = Infinity, looks = Infinity } = {}) {
  const truths = truthsOf(language);
  const seen = new Set();
  let level = { full: language.letter.map((element, symbol) => ({ element, state: space.leaf(symbol), length: 1, symbol })), rest: [] };
  let [length, visits] = [1, 0];
  for (let isFirst = true; ; isFirst = false) {
    const [full, rest] = [new Kinds(), new Kinds()];
    for (const [near, far, isFull] of windows(level)) {
      const isRoot = far !== null || isFirst;
      if (isRoot) length = near.length + (far ? far.length : 0);
      if (length > longest) return end(longest);
      if (space.made >= most || visits >= looks) return end(length - 1);
      visits += 1;
      if (visits % space.every === 0) yield { tried: length - 1 };
      const element = far ? language.table[far.element][near.element] : near.element;
      const found = space.over(near.state, far ? far.state : 0, isFirst);
      if (isRoot && truths[element] !== null) {
        const answer = space.answer(found);
        if (answer !== truths[element]) return { ...end(length - 1), answer, truth: truths[element], length, word: written({ near, far, length }) };
      }
      (isFull ? full : rest).put({ element, state: found.state, length: near.length + (far ? far.length : 0), near, far });
    }
    // A state that was not kept: of longer words this one would be part.
    if (full.isPart || rest.isPart) return end(length);
    const key = `${full.key()};${rest.key()}`;
    if (seen.has(key)) return end(length, true);
    seen.add(key);
    level = { full: full.all, rest: rest.all };
  }
}

// The windows [near, far, whether the node is full] over a level, in length-lexicographic order of what stands under them.
// As the kinds of a level are in this order themselves, it is that of the left child, then of the right one.
export function* windows({ full, rest }) {
  for (const near of rest) yield [near, null, false];
  for (const near of full) yield [near, null, false];
  for (const far of rest) for (const near of full) yield [near, far, false];
  for (const far of full) for (const near of full) yield [near, far, true];
}

// Kinds of node in the order in which they come, each pair of element and state once. State 0 is one that was not kept.
class Kinds {
  constructor() {
    Object.assign(this, { all: [], known: new Set(), isPart: false });
  }

  put(kind) {
    const key = kind.element * SHIFT + kind.state;
    if (kind.state === 0) this.isPart = true;
    else if (!this.known.has(key)) {
      this.known.add(key);
      this.all.push(kind);
    }
  }

  key() {
    return [...this.known].sort((a, b) => a - b).join();
  }
}

// The symbols under a kind of node, from left to right; null where they are too many.
export function written(kind) {
  if (kind.length > MOST_WRITTEN) return null;
  const [word, rest] = [[], [kind]];
  while (rest.length) {
    const { near, far, symbol } = rest.pop();
    if (symbol !== undefined) word.push(symbol);
    else rest.push(near, ...(far ? [far] : []));
  }
  return word;
}

// The name of the right answer to words of each element; null where they have none.
export function truthsOf({ initial, delta, outputs, elements }) {
  const states = [initial];
  // Elements come breadth-first: that a symbol leads from an earlier to a later one is how it was reached.
  elements.right.forEach((row, element) => row.forEach((next, symbol) => (states[next] ??= delta[states[element]][symbol])));
  return states.map((state) => outputs[state]);
}

// The quantised network: each node above the leaves has the number, from 1, of the prototype nearest to its state. Along
// brackets symbols stand beside prototypes, and are numbered behind them. The last number is of what has no place: two
// prototypes are as near, or its numbers overflow.
export class Quantised {
  every = 2048;
  made = 0;

  // `network` is a twin, hits and all.
  constructor(network, prototypes, names) {
    const [{ over }] = network.treeLayers(2);
    const leaves = network.leaves();
    const beside = network.direction ? leaves.slice(1) : [];
    const rows = [network.absent, ...prototypes, ...beside, network.absent.map(() => NaN)];
    this.parts = { leaves: { merge: over(leaves), width: leaves.length, images: [] }, nodes: { merge: over(rows), width: rows.length, images: [] } };
    Object.assign(this, { prototypes, before: 1 + (beside.length && prototypes.length), nowhere: rows.length - 1 });
    this.answers = prototypes.map((point) => nameOf(network.read(point), names));
  }

  leaf(symbol) {
    return this.before + symbol;
  }

  over(near, far, isFirst) {
    const { merge, width, images } = this.parts[isFirst ? "leaves" : "nodes"];
    return { state: (images[near * width + far] ??= sure(landing(merge([near, far]), this.prototypes)) || this.nowhere) };
  }

  answer({ state }) {
    return this.answers[state - 1] ?? null;
  }
}

const GRID = 2 ** 24;
const rounded = (value) => Math.round(value * GRID) / GRID + 0; // -0 would be another state than 0

// The network as it is. Each state is rounded to a multiple of 2^-24, as fine as float32 is at 1: so the last bits of a sum do
// not tell states apart that are meant to be one.
export class AsItIs {
  every = 32;
  made = 0;

  constructor(network, names) {
    Object.assign(this, { network, names, numbers: new Map(), known: new Map(), answers: [] });
    this.vectors = network.leaves();
    this.merge = network.treeLayers(2)[0].over(this.vectors);
  }

  leaf(symbol) {
    return 1 + symbol;
  }

  over(near, far) {
    const key = near * SHIFT + far;
    if (!this.known.has(key)) {
      this.made += 1;
      const vector = this.merge([near, far]).map(rounded);
      const state = this.number(vector);
      if (!state) return { state, vector };
      this.known.set(key, state);
    }
    return { state: this.known.get(key) };
  }

  // The number of a state; 0 of a new one where there is no room.
  number(vector) {
    const bits = String.fromCharCode(...new Uint16Array(vector.buffer, vector.byteOffset, 4 * vector.length));
    if (!this.numbers.has(bits)) {
      if (this.vectors.length >= MOST_STATES) return 0;
      this.numbers.set(bits, this.vectors.push(vector) - 1);
    }
    return this.numbers.get(bits);
  }

  answer({ state, vector }) {
    if (!state) return nameOf(this.network.read(vector), this.names);
    return (this.answers[state] ??= nameOf(this.network.read(this.vectors[state]), this.names));
  }
}
