// The words whose nodes are on the map: the same for the whole training, with each element about as often as the others.

import { Random } from "./random.js";

const LENGTHS = [2, 3, 5, 8, 12, 16];
const MOST_WORDS = 60;

// As many words, for each of the elements as many of each length at which it has any.
export function mapWords(language, elements) {
  const random = new Random(0, "map");
  const found = new Map();
  for (let turn = 0; turn * elements.length < MOST_WORDS; turn += 1) {
    elements.forEach((element, k) => {
      const length = LENGTHS[(turn + k) % LENGTHS.length];
      const word = wordOf(language, element, length, (i) => random.uniform((turn * elements.length + k) * 64 + i));
      if (word) found.set(word.join(), word);
    });
  }
  return [...found.values()];
}

// A word of so many symbols with this element; null where there is none. `uniform(i)` draws its symbol i.
function wordOf({ alphabet, elements: { right } }, element, length, uniform) {
  const hopeful = [right.map((_, e) => e === element)];
  while (hopeful.length <= length) hopeful.push(right.map((row) => row.some((e) => hopeful[hopeful.length - 1][e])));
  if (!hopeful[length][0]) return null;
  let now = 0;
  return Array.from({ length }, (_, i) => {
    const fitting = alphabet.map((_, symbol) => symbol).filter((symbol) => hopeful[length - 1 - i][right[now][symbol]]);
    const symbol = fitting[Math.floor(uniform(i) * fitting.length)];
    now = right[now][symbol];
    return symbol;
  });
}
