// The words whose nodes are on the map: the same for the whole training, with each element about as often as the others.

import { Random } from "./random.js";

const LENGTHS = [2, 3, 5, 8, 12, 16];
const LONGER = 4; // an element may have words of some lengths only
const MOST_WORDS = 60;

// As many words, for each of the elements as many of each length at which it has any.
export function mapWords(language, elements) {
  const random = new Random(0, "map");
  const [found, least] = [new Map(), leastLengths(language)];
  for (let turn = 0; turn * elements.length < MOST_WORDS; turn += 1) {
    elements.forEach((element, k) => {
      const uniform = (i) => random.uniform((turn * elements.length + k) * 256 + i);
      const length = Math.max(least[element], LENGTHS[(turn + k) % LENGTHS.length]);
      for (let more = 0, word = null; !word && more < LONGER; more += 1) {
        word = wordOf(language, element, length + more, uniform);
        if (word) found.set(word.join(), word);
      }
    });
  }
  return [...found.values()];
}

// How long the shortest word of each element is.
function leastLengths({ elements: { right } }) {
  const found = [0];
  const queue = [0];
  for (const e of queue) {
    for (const next of right[e]) {
      if (found[next] !== undefined) continue;
      found[next] = found[e] + 1;
      queue.push(next);
    }
  }
  return found;
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
