// Words that are drawn by their monoid element.

const LONGER = 60; // symbols: an element may have words of some lengths only

// A word of so many symbols, or a few more, whose element is one of these; null where there is none. `draw()` gives a
// number at least 0 and below 1.
export function wordWith(language, elements, length, draw) {
  const wanted = new Set(elements);
  for (let n = length; wanted.size && n <= length + LONGER; n += 1) {
    const word = wordOf(language, wanted, n, draw);
    if (word) return word;
  }
  return null;
}

// Symbol by symbol: those from which a wanted element can still be reached.
function wordOf({ alphabet, elements: { right } }, wanted, length, draw) {
  const hopeful = [right.map((_, e) => wanted.has(e))];
  while (hopeful.length <= length) hopeful.push(right.map((row) => row.some((e) => hopeful[hopeful.length - 1][e])));
  if (!hopeful[length][0]) return null;
  let now = 0;
  return Array.from({ length }, (_, i) => {
    const fitting = [...alphabet.keys()].filter((symbol) => hopeful[length - 1 - i][right[now][symbol]]);
    const symbol = fitting[Math.floor(draw() * fitting.length)];
    now = right[now][symbol];
    return symbol;
  });
}
