// Random bracketings (regulargpt/models/tree/bracketings.py): a word through a tree of another shape must give the same
// answer. Random trees are deeper than the usual ones: the block learns to be used often.

import { Forest } from "./forest.js";

// The trees over words, every second word's a random one: the forest, and the row of each word's root. `coin()` is true or
// false. Along brackets the rows in pairs are cut at random, and the pairs stay.
export function bracketed(words, n_symbols, direction, coin) {
  const forest = new Forest(n_symbols, direction);
  const random = (row) => randomRoot(forest, row, coin);
  return { forest, roots: Int32Array.from(words, (word, i) => (i % 2 ? forest.root(word, random) : forest.root(word))) };
}

// The first level is the usual one; above it about half of the neighbours are merged at a time, while the others wait.
function randomRoot(forest, items, coin) {
  let row = [];
  for (let i = items.length - 1; i >= 0; i -= 2) row.unshift(forest.node(items[i], i ? items[i - 1] : 0));
  while (row.length > 1) row = merged(forest, row, row.length === 2 ? () => true : coin);
  return row[0];
}

function merged(forest, row, coin) {
  const found = [];
  for (let i = 0; i < row.length; i += 1) {
    if (i + 1 < row.length && coin()) found.push(forest.node(row[i + 1], row[i++]));
    else found.push(row[i]);
  }
  return found;
}
