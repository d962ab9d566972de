// The tree that follows the brackets: what stands in a pair is computed first, as a word of its own. Without recursion.

import { treeLevels } from "./levels.js";

// The position of each bracket's partner, -1 of a symbol without: a return closes the nearest open call.
export function partners(word, direction) {
  const [found, open] = [Array(word.length).fill(-1), []];
  word.forEach((symbol, i) => {
    if (direction[symbol] > 0) open.push(i);
    if (direction[symbol] < 0 && open.length) {
      found[i] = open.pop();
      found[found[i]] = i;
    }
  });
  return found;
}

// The nodes of a word's tree by level, from the left: {level, index, from, to, children, isOpen}. A level is one more than
// the highest among the children. These are, from left to right, nodes, positions of symbols, or null where the inside
// of a pair is empty. A node that isOpen holds the call and the inside of a pair; its sibling is the return.
export function nestedNodes(word, direction, C, aligned) {
  const [levels, rows, partner] = [[], [[]], partners(word, direction)];
  const add = (children, from, to, isOpen = false) => {
    const level = 1 + Math.max(...children.map((child) => child?.level ?? 0));
    while (levels.length < level) levels.push([]);
    levels[level - 1].push({ level, from, to, children, isOpen });
    return levels[level - 1][levels[level - 1].length - 1];
  };
  const [start, end] = [(item) => item.from ?? item, (item) => item.to ?? item + 1];
  const forest = (items) => {
    if (!items.length) return null;
    do {
      const next = [];
      for (let at = 0, to = aligned === "right" ? items.length % C || C : C; at < items.length; at = to, to += C) {
        const children = items.slice(at, to);
        next.push(add(children, start(children[0]), end(children[children.length - 1])));
      }
      items = next;
    } while (items.length > 1);
    return items[0];
  };
  const pair = (a, inside, b) => (C > 2 ? add([a, inside, b], a, b + 1) : add([add([a, inside], a, b, true), b], a, b + 1));
  word.forEach((symbol, i) => {
    if (partner[i] < 0) rows[rows.length - 1].push(i);
    else if (direction[symbol] > 0) rows.push([]);
    else {
      const inside = forest(rows.pop());
      rows[rows.length - 1].push(pair(partner[i], inside, i));
    }
  });
  forest(rows[0]);
  for (const level of levels) level.sort((a, b) => a.from - b.from).forEach((node, index) => { node.index = index; });
  return levels;
}

// The levels of a word along its brackets, as treeLevels has them; all share one array of states, in which equal nodes are
// computed once. `nodes` are those of nestedNodes.
function* nestedLevels(model, word, { patches = new Map(), cuts = new Map() } = {}) {
  const states = model.leaves();
  yield { node: word.map((symbol) => 1 + symbol), states, children: word.map(() => []) };
  const [{ over, shares }] = model.treeLayers(1);
  const [merge, paid, rows, made] = [over(states), shares?.(states), new Map(), new Map()];
  const rowOf = (child) => (child === null ? 0 : (rows.get(child) ?? 1 + word[child]));
  for (const nodes of nestedNodes(word, model.direction, model.chunk_size, model.aligned)) {
    const cut = (i) => cuts.get(`${nodes[i].level},${i}`);
    const children = nodes.map((node) => {
      const found = node.children.map(rowOf);
      return [...(model.aligned === "right" ? found.reverse() : found), ...Array(model.chunk_size - found.length).fill(0)];
    });
    const node = children.map((window, i) => {
      const patch = patches.get(`${nodes[i].level},${i}`);
      if (patch) return states.push(patch) - 1;
      const key = `${window.join()};${cut(i) ?? ""}`;
      if (!made.has(key)) made.set(key, states.push(merge(window, cut(i))) - 1);
      return made.get(key);
    });
    node.forEach((row, i) => rows.set(nodes[i], row));
    yield { node, states, children, nodes, shares: paid && ((i) => paid(children[i], cut(i))) };
  }
}

// The levels of a word's tree: along its brackets, where the network's tree follows them.
export const levelsOver = (model, word, changes) => (model.direction ? nestedLevels : treeLevels)(model, word, changes);
