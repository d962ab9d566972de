// Words that are drawn by their monoid element.

import { wordAlong } from "./nested_words.js";

const LONGER = 60; // symbols: an element may have words of some lengths only

// How long words may be that are drawn: with brackets all their splits are counted.
export const longestDrawn = ({ nesting }) => (nesting ? 1000 : 10000);

// A word of so many symbols, or a few more, whose element is one of these; null where there is none. `draw()` gives a
// number at least 0 and below 1.
export function wordWith(language, wanted, length, draw) {
  if (language.nesting) return wordAlong(language, wanted, length, draw, LONGER);
  const { alphabet, elements: { right } } = language;
  // By how many symbols are left, from which elements a wanted one can be reached.
  const hopeful = [right.map((_, e) => wanted.includes(e))];
  while (hopeful.length <= length || (!hopeful[hopeful.length - 1][0] && hopeful.length <= length + LONGER)) {
    const before = hopeful[hopeful.length - 1];
    hopeful.push(right.map((row) => row.some((e) => before[e])));
  }
  if (!hopeful[hopeful.length - 1][0]) return null;
  const word = [];
  let now = 0;
  for (let left = hopeful.length - 2; left >= 0; left -= 1) {
    const fitting = [...alphabet.keys()].filter((symbol) => hopeful[left][right[now][symbol]]);
    word.push(fitting[Math.floor(draw() * fitting.length)]);
    now = right[now][word[word.length - 1]];
  }
  return word;
}
