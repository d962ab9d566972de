// Words that are drawn by their element: of the monoid, or along brackets of the algebra.

const PIECE = 12; // symbols of a word along brackets; a longer one is made of several
const LONGER = 60; // symbols: an element may have words of some lengths only

// A word of so many symbols, or a few more, whose element is one of these; null where there is none. `draw()` gives a
// number at least 0 and below 1.
export function wordWith(language, elements, length, draw) {
  const wanted = new Set(elements);
  for (let n = length; wanted.size && n <= length + LONGER; n += 1) {
    const word = language.nesting ? alongBrackets(language, wanted, n, draw) : ofSymbols(language, wanted, n, draw);
    if (word) return word;
  }
  return null;
}

const chosen = (list, draw) => list[Math.floor(draw() * list.length)];

// Symbol by symbol: those from which a wanted element can still be reached.
function ofSymbols({ alphabet, elements: { right } }, wanted, length, draw) {
  const hopeful = [right.map((_, e) => wanted.has(e))];
  while (hopeful.length <= length) hopeful.push(right.map((row) => row.some((e) => hopeful[hopeful.length - 1][e])));
  if (!hopeful[length][0]) return null;
  let now = 0;
  return Array.from({ length }, (_, i) => {
    const symbol = chosen([...alphabet.keys()].filter((a) => hopeful[length - 1 - i][right[now][a]]), draw);
    now = right[now][symbol];
    return symbol;
  });
}

// In pieces in which every bracket has its partner.
function alongBrackets(language, wanted, length, draw) {
  const pieces = piecesOf(language);
  const word = [];
  const count = Math.ceil(length / PIECE);
  let now = 0;
  for (let left = count; left; left -= 1) {
    const size = left > 1 ? PIECE : length - PIECE * (count - 1);
    const isHopeful = (e) => (left > 1 ? pieces.lead(e, wanted) : wanted.has(e));
    const fitting = [...pieces.rows[size].keys()].filter((e) => isHopeful(language.table[now][e]));
    if (!fitting.length) return null;
    const piece = chosen(fitting, draw);
    pieces.write(pieces.rows[size].get(piece), draw, word);
    now = language.table[now][piece];
  }
  return word;
}

const known = new WeakMap();

function piecesOf(language) {
  if (!known.has(language)) known.set(language, new Pieces(language));
  return known.get(language);
}

// All ways to make an element of so many symbols: rows are items side by side, an item is a symbol or a pair with a row
// inside. A way is a list of what stands side by side: symbols, and lists of ways.
class Pieces {
  constructor(language) {
    Object.assign(this, { language, items: [new Map()], rows: [new Map([[0, [[]]]])] });
    for (let n = 1; n <= PIECE; n += 1) {
      this.items.push(this.itemsOf(n));
      this.rows.push(this.rowsOf(n));
    }
  }

  itemsOf(n) {
    const { alphabet, elements, nesting } = this.language;
    const of = (kind) => [...alphabet.keys()].filter((symbol) => nesting.direction[symbol] === kind);
    const found = new Map();
    if (n === 1) for (const symbol of of(0)) add(found, elements.letter[symbol], [symbol]);
    for (const [inside, ways] of n > 1 ? this.rows[n - 2] : []) {
      for (const a of of(1)) for (const b of of(-1)) add(found, elements.wrap[inside][nesting.place[a]][nesting.place[b]], [a, ways, b]);
    }
    return found;
  }

  rowsOf(n) {
    const found = new Map();
    for (let k = 1; k <= n; k += 1) {
      for (const [before, first] of this.rows[n - k]) {
        for (const [item, last] of this.items[k]) add(found, this.language.table[before][item], [first, last]);
      }
    }
    return found;
  }

  // Whether one piece more leads from an element to one of these.
  lead(element, wanted) {
    return element >= 0 && this.rows.some((row) => [...row.keys()].some((piece) => wanted.has(this.language.table[element][piece])));
  }

  write(ways, draw, word) {
    for (const part of chosen(ways, draw)) {
      if (Array.isArray(part)) this.write(part, draw, word);
      else word.push(part);
    }
  }
}

function add(found, element, way) {
  if (element < 0) return;
  if (!found.has(element)) found.set(element, []);
  found.get(element).push(way);
}
