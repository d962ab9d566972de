// The tree over a word along its brackets, as regulargpt/models/tree/nested.py has it (C = 2, counted from the right): what
// stands in a pair is a row of its own, and the pair is a node over its call and its inside, and one over this and the return.

import { partners } from "../../models/tree/nested.js";

// The row of a word's root in a forest; `over(row)` gives the root over a row of items.
export function rootAlong(forest, word, direction, over) {
  const [partner, rows] = [partners(word, direction), [[]]];
  word.forEach((symbol, i) => {
    if (partner[i] >= 0 && direction[symbol] > 0) return rows.push([]);
    const inside = partner[i] >= 0 ? rows.pop() : null;
    return rows[rows.length - 1].push(inside ? pair(1 + word[partner[i]], inside.length ? over(inside) : 0, 1 + symbol) : 1 + symbol);
  });
  return over(rows[0]);

  function pair(call, inside, back) {
    return forest.node(back, forest.node(inside, call));
  }
}
