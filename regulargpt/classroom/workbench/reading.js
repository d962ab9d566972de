// A word as the scripts of the report read it: the bench's language as their `run`, and the nodes of a word's tree.

const UNTRIED = "There are no prototypes yet.";

// The language with what the prototypes stand for.
export function runOf({ language, cases }) {
  const standsFor = cases.stands ?? cases.elements.map((element) => [element]);
  const none = { base: 1, found: new Map() };
  return { ...language, standsFor, chunk_size: 2, unknown: UNTRIED, network: { chunk_size: 2, aligned: "right", leaves: none, nodes: none, elements: standsFor } };
}

// The levels of a word's tree above the symbols, as the network makes them; without a network, as they will be.
export function levelsOf(word, run, network, prototypes) {
  if (!word.length) return [];
  return network ? new Nearest(prototypes ?? [], run.standsFor).tree(word, run, network) : tree(word, run);
}
