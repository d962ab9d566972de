"use strict";
// What is computed of a typed word: the automaton's run, and the quantised network's tree from the certificate's table.

const MOST = 100000; // symbols in a word

// The numbers of the symbols that the alphabet has, all that was typed, and what is unknown of it. As on the command
// line: characters, or what spaces separate.
function read(text, alphabet) {
  const number = new Map(alphabet.map((symbol, i) => [symbol, i]));
  const single = alphabet.every((symbol) => [...symbol].length === 1);
  const symbols = single
    ? [...text].filter((c) => number.has(c) || !/\s/u.test(c))
    : text.split(/\s+/u).filter((symbol) => symbol);
  const unknown = [...new Set(symbols.filter((symbol) => !number.has(symbol)))];
  const word = symbols.filter((symbol) => number.has(symbol)).map((symbol) => number.get(symbol));
  return { word, unknown, symbols, single };
}

// The whole number from 1 to `most` that was typed; null if it is none.
function wholeNumber(text, most) {
  const number = text.trim() ? Number(text) : NaN;
  return Number.isInteger(number) && number >= 1 && number <= most ? number : null;
}

// Symbols as text.
function write(word, alphabet) {
  const single = alphabet.every((symbol) => [...symbol].length === 1);
  return word.map((a) => alphabet[a]).join(single ? "" : " ");
}

// What stands on the stack after a word, from the bottom up, as numbers of stack symbols.
function stackAfter(word, run) {
  const [states, tops] = [passed(word, run), []];
  word.forEach((a, i) => {
    if (run.nesting.direction[a] > 0) tops.push(run.nesting.pushed[states[i]][run.nesting.place[a]]);
    else if (run.nesting.direction[a] < 0) tops.pop();
  });
  return tops;
}

// The states before and after each symbol. Where there are brackets, a call pushes and a return pops.
function passed(word, run) {
  const [states, tops] = [[run.initial], []];
  for (const a of word) {
    const q = states[states.length - 1];
    if (run.nesting?.direction[a] < 0) states.push(run.nesting.close[q][tops.pop() ?? 0][run.nesting.place[a]]);
    else states.push(run.delta[q][a]);
    if (run.nesting?.direction[a] > 0) tops.push(1 + run.nesting.pushed[q][run.nesting.place[a]]);
  }
  return states;
}

// The element of the transition monoid that is symbols from..to of the word; along its brackets, where there are any.
function element(word, run, from = 0, to = word.length) {
  if (run.nesting) return nestedElement(word, run, from, to);
  let e = 0;
  for (let i = from; i < to; i += 1) e = run.elements.right[e][word[i]];
  return e;
}

// The element of a part of the word in which each bracket stands with its partner, or has none in the whole word.
function nestedElement(word, { elements, nesting }, from, to) {
  const { partners } = modules["regulargpt/models/tree/nested.js"];
  const part = word.slice(from, to);
  const [partner, outer] = [partners(part, nesting.direction), []];
  const times = (e, item) => elements.right[e][elements.column[item]];
  return part.reduce((e, a, i) => {
    if (partner[i] < 0) return times(e, elements.letter[a]);
    if (nesting.direction[a] < 0) return times(outer.pop(), elements.wrap[e][nesting.place[part[partner[i]]]][nesting.place[a]]);
    outer.push(e);
    return 0;
  }, 0);
}

// The element of a node. One that holds a call and what is behind it, the return being its sibling, has its own: those of
// the first call come behind the elements of words, then those of the next.
function elementOf({ from, to, isOpen }, word, run) {
  if (!isOpen) return element(word, run, from, to);
  return (1 + run.nesting.place[word[from]]) * run.elements.right.length + element(word, run, from + 1, to);
}

// A part of the table as a map from windows, as numbers, to prototypes.
function lookup(part) {
  const found = new Map();
  let key = 0;
  part.steps.forEach((step, i) => {
    key += step;
    found.set(key, part.images[i]);
  });
  return { base: part.base, found };
}

// The image of a window of nodes, the rightmost first; 0 is the pad, null a node that is not known.
function image(table, window) {
  let key = 0;
  for (const node of window) {
    if (node === null) return null;
    key = key * table.base + node;
  }
  return table.found.get(key) ?? null;
}

// The tree's levels above the symbols: windows of C from the right end, the pad only on the left, until one is left.
// A node covers the symbols from..to; state is its prototype, from 1; verdict whether that stands for its element.
function tree(word, run) {
  if (run.nesting) return nestedTree(word, run);
  const { chunk_size: C, aligned, leaves, nodes, elements } = run.network;
  const levels = [];
  let states = word.map((a) => 1 + a);
  while (word.length && (states.length > 1 || !levels.length)) {
    const n = Math.ceil(states.length / C);
    const level = [];
    for (let i = 0; i < n; i += 1) {
      const children = places(i, n, states.length, run.network);
      // Windows are by offset: from the right end on, or from the left where words are cut from there.
      const found = children.map((place) => states[place]);
      const window = [...(aligned === "right" ? found.reverse() : found), ...Array(C - found.length).fill(0)];
      const [first, last] = [children[0], children[children.length - 1]];
      const below = levels[levels.length - 1];
      const [from, to] = below ? [below[first].from, below[last].to] : [first, last + 1];
      const state = image(levels.length ? nodes : leaves, window);
      const e = element(word, run, from, to);
      const right = state === null ? "unknown" : elements[state - 1].includes(e) ? "right" : "wrong";
      const kids = below ? children.map((place) => below[place]) : children;
      level.push({ level: levels.length + 1, index: i, from, to, element: e, state, verdict: right, window, children: kids });
    }
    levels.push(level);
    states = level.map((node) => node.state);
  }
  return levels;
}

// The same along brackets. In a window symbols may stand beside nodes: they are numbered behind the prototypes, and from 1
// where there are symbols alone.
function nestedTree(word, run) {
  const { nestedNodes } = modules["regulargpt/models/tree/nested.js"];
  const { chunk_size: C, aligned, leaves, nodes, elements } = run.network;
  const K = elements.length;
  const levels = [];
  for (const level of nestedNodes(word, run.nesting.direction, C, aligned)) {
    levels.push(level.map((node) => {
      const children = node.children.map((child) => (child?.level ? levels[child.level - 1][child.index] : child));
      const rows = children.map((child) => (child === null ? 0 : child.level ? child.state : K + 1 + word[child]));
      const window = [...(aligned === "right" ? rows.reverse() : rows), ...Array(C - rows.length).fill(0)];
      const ofSymbols = children.every((child) => !child?.level);
      const state = ofSymbols ? image(leaves, window.map((row) => Math.max(0, row - K))) : image(nodes, window);
      const e = elementOf(node, word, run);
      const verdict = state === null ? "unknown" : elements[state - 1].includes(e) ? "right" : "wrong";
      return { ...node, children, element: e, state, verdict, window };
    }));
  }
  return levels;
}

// The children of node i of n, from left to right, as indices of the level below.
function places(i, n, below, { chunk_size: C, aligned }) {
  const first = i * C - (aligned === "right" ? n * C - below : 0);
  return Array.from({ length: C }, (_, j) => first + j).filter((place) => place >= 0 && place < below);
}

const anyOf = (words) => words[Math.floor(Math.random() * words.length)] ?? [];

// The words that came with the page after which the automaton has an answer: those of the first length from n on that has
// any, else of the last one.
function samplesOf(run, n) {
  const { samples } = run.nesting;
  const fitting = ({ words }) => words.map((text) => read(text, run.alphabet).word).filter((word) => {
    const states = passed(word, run);
    return run.outputs[states[states.length - 1]] !== null;
  });
  const longer = samples.filter(({ length }) => length >= n);
  for (const entry of [...longer, ...samples.filter(({ length }) => length < n).reverse()]) {
    const found = fitting(entry);
    if (found.length) return found;
  }
  return [];
}

// A random word of n symbols, or the next length there is, after which the automaton has an answer. Where there are
// brackets, it is one of those that came with the page.
function randomWord(run, n) {
  if (run.offered) return offeredOf(run, n);
  if (run.nesting) return anyOf(samplesOf(run, n));
  const hopeful = [run.outputs.map((output) => output !== null)];
  const some = (row) => run.delta.map((targets) => targets.some((q) => row[q]));
  while (hopeful.length <= n || (!hopeful[hopeful.length - 1][run.initial] && hopeful.length <= n + run.states.length)) {
    hopeful.push(some(hopeful[hopeful.length - 1]));
  }
  const word = [];
  let state = run.initial;
  for (let left = hopeful.length - 2; left >= 0; left -= 1) {
    const all = run.delta[state].map((_, a) => a);
    const legal = all.filter((a) => hopeful[left][run.delta[state][a]]);
    const from = legal.length ? legal : all;
    word.push(from[Math.floor(Math.random() * from.length)]);
    state = run.delta[state][word[word.length - 1]];
  }
  return word;
}

// An element or a prototype as people read it.
const named = (word) => `[${word || "ε"}]`;
const short = (text, most) => ([...text].length <= most ? text : `${[...text].slice(0, most - 4).join("")}…${[...text].slice(-3).join("")}`);
function stands(run, state) {
  if (state === null) return "?";
  const words = run.standsFor[state - 1].map((e) => run.elements.words[e] || "ε");
  return words.length ? `[${words.join("|")}]` : `#${state}`;
}
