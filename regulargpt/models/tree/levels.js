// The nodes of a word's tree, from the leaves up: each distinct window of nodes is computed once.

// Levels of {node, states, children}: node i is row node[i] of states, row 0 stands for what is absent, and children[i]
// are its rows in the level below, by offset. The last node of the last level is the answer's. Where the network attends,
// shares(i) is what node i pays to its children, by offset. Nodes are "level,index", the level above the leaves being 1:
// `patches` gives some of them other states, `cuts` lists the offsets of children that they do not see.
export function* treeLevels(model, word, { patches = new Map(), cuts = new Map() } = {}) {
  let node = word.map((symbol) => 1 + symbol);
  let states = model.leaves();
  yield { node, states, children: node.map(() => []) };
  for (const [number, { over, last, shares }] of model.treeLayers(word.length).entries()) {
    const children = windowsOf(node, model.chunk_size, model.aligned, last);
    const cut = (i) => cuts.get(`${number + 1},${i}`);
    const below = states;
    ({ node, states } = computed(children, over(below), model.absent, cut));
    node = node.map((row, i) => (patches.has(`${number + 1},${i}`) ? states.push(patches.get(`${number + 1},${i}`)) - 1 : row));
    yield { node, states, children, shares: shares && ((i) => shares(below)(children[i], cut(i))) };
  }
}

// The states over windows, equal windows sharing one.
function computed(children, merge, absent, cut) {
  const rows = new Map();
  const states = [absent];
  const node = children.map((window, i) => {
    const key = `${window.join()};${cut(i) ?? ""}`;
    if (!rows.has(key)) {
      rows.set(key, states.length);
      states.push(merge(window, cut(i)));
    }
    return rows.get(key);
  });
  return { node, states };
}

// Windows of C nodes by offset, from the side `aligned` on. Only the last of a level's layers thins the nodes out.
function windowsOf(node, C, aligned, last) {
  const stride = last ? C : 1;
  const count = Math.ceil(node.length / stride);
  const offsets = Array.from({ length: C }, (_, j) => j);
  return Array.from({ length: count }, (_, i) => {
    if (aligned === "left") return offsets.map((j) => node[i * C + j] ?? 0);
    const own = node.length - 1 - (count - 1 - i) * stride;
    return offsets.map((j) => node[own - j] ?? 0);
  });
}

// max(1, ceil(log_C T)), from whole numbers.
export function depth(length, C) {
  let levels = 1;
  for (let reach = C; reach < length; reach *= C) levels += 1;
  return levels;
}

// At most so many nodes are computed for a word of this length over so many symbols: those of a level that differ.
export function nodesOf(length, n_symbols, C) {
  let [found, nodes, distinct] = [0, length, n_symbols];
  for (let level = depth(length, C); level > 0; level -= 1) {
    nodes = Math.ceil(nodes / C);
    distinct = Math.min(nodes, (1 + distinct) ** C);
    found += distinct;
  }
  return found;
}
