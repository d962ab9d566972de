// The cases of a proof: which windows of symbols and of prototypes occur in words with an answer, level by level until
// the levels repeat ("Which windows occur" in docs/certificate.md; C = 2, counted from the right).

// A proof looks at no more windows than this: its wall would have no end.
export const MOST_WINDOWS = 1 << 16;

// What each element does: the state to which it leads from each state.
export function functionsOf({ delta, states, elements }) {
  const found = [states.map((_, q) => q)];
  elements.right.forEach((row, e) => row.forEach((next, a) => (found[next] ??= found[e].map((q) => delta[q][a]))));
  return found;
}

// Which elements a full node, and the leftmost node, can have where nodes behind them are `span` symbols wide: as `span`
// doubles from level to level, `doubled` gives the next of these.
class Uses {
  constructor(language, functions, jump) {
    Object.assign(this, { language, functions, jump });
    const { states, initial, outputs } = language;
    const answered = backwards(jump, outputs.map((answer) => answer !== null));
    const reached = forwards(stepsOf(language), initial);
    this.inside = functions.map((f) => states.some((_, q) => reached[q] && answered[f[q]]));
    this.leftmost = functions.map((f) => answered[f[initial]]);
  }

  static of(language) {
    return new Uses(language, functionsOf(language), stepsOf(language));
  }

  doubled() {
    return new Uses(this.language, this.functions, this.jump.map((targets) => [...new Set(targets.flatMap((q) => this.jump[q]))]));
  }
}

// The states to which one symbol leads from each state.
const stepsOf = ({ delta }) => delta.map((row) => [...new Set(row)]);

// The states from which steps lead to one of these, or that are one.
function backwards(steps, flags) {
  const found = [...flags];
  for (let more = true; more; ) {
    more = false;
    steps.forEach((targets, q) => {
      if (!found[q] && targets.some((target) => found[target])) more = found[q] = true;
    });
  }
  return found;
}

// The states to which steps lead from one, and itself.
function forwards(steps, from) {
  const found = steps.map((_, q) => q === from);
  for (const queue = [from]; queue.length; ) {
    for (const q of steps[queue.pop()]) if (!found[q]) queue.push(q), (found[q] = true);
  }
  return found;
}

// The kinds of node {state, element, length, children}, each pair of state and element once, with its shortest sub-word.
class Kinds extends Map {
  put(state, element, length, children) {
    const key = `${state},${element}`;
    if (!this.has(key) || length < this.get(key).length) this.set(key, { state, element, length, children });
  }
}

// The levels of words. `image(height, near, far)` is the state over a window of symbols (height 1) or of states, all
// counted from 1, 0 being the pad.
export function levels(language, image) {
  const leaves = language.letter.map((element, symbol) => ({ state: 1 + symbol, element, length: 1, children: [] }));
  return levelsOver(language, leaves, Uses.of(language), image);
}

// The levels {full, left, roots} of kinds of rows of these items, up to the first that repeats an earlier one.
export function* levelsOver(language, items, used, image) {
  let uses = used;
  let [full, left] = [items.filter(({ element }) => uses.inside[element]), []];
  const seen = new Set();
  for (let height = 1, key = ""; !seen.has(key); height += 1) {
    if (height > 1) seen.add(key);
    uses = uses.doubled();
    const found = nextLevel(language, uses, full, left, height, image);
    yield found;
    [full, left] = [[...found.full.values()], [...found.left.values()]];
    key = [found.full, found.left].map((kinds) => [...kinds.keys()].sort().join(" ")).join(";");
  }
}

// One level: a full node behind any node, or a node alone.
function nextLevel({ elements, table }, { inside, leftmost }, full, left, height, image) {
  const found = { full: new Kinds(), left: new Kinds(), roots: new Kinds() };
  const add = (near, far, element, isFull) => {
    const state = image(height, near.state, far ? far.state : 0);
    const kind = [state, element, near.length + (far ? far.length : 0), far ? [near, far] : [near]];
    (isFull ? found.full : found.left).put(...kind);
    if ((far || height === 1) && leftmost[element]) found.roots.put(...kind);
  };
  if (full.length * (full.length + left.length + 1) > MOST_WINDOWS) throw new TooMany(elements.words.length);
  for (const near of [...full, ...left]) if (leftmost[near.element]) add(near, null, near.element, false);
  for (const near of full) {
    for (const [nodes, isFull, kept] of [[full, true, inside], [left, false, leftmost]]) {
      for (const far of nodes) {
        const element = table[far.element][near.element];
        if (kept[element]) add(near, far, element, isFull);
      }
    }
  }
  return found;
}

// A language of more elements than a page can look at.
export class TooMany extends Error {
  constructor(count) {
    super(`This machine has ${count} elements: too many cases to look at here.`);
  }
}

// A language with a stack: networks of the page learn none (its cases are in nested_cases.js).
export class HasStack extends Error {
  constructor() {
    super("Networks of this page learn machines without a stack. Save the file, and train with regulargpt run pushdown:FILE.");
  }
}

// The windows that occur, each with the element that it gives, and which answers are asked for.
export function casesOf(language) {
  if (language.nesting) throw new HasStack();
  const { table, letter, outputs, initial } = language;
  const functions = functionsOf(language);
  const parts = { leaves: new Map(), nodes: new Map() };
  const roots = new Set();
  // A network that makes no mistake: states are elements, counted from 1.
  const image = (height, near, far) => {
    const value = height === 1 ? (symbol) => letter[symbol - 1] : (state) => state - 1;
    const element = far ? table[value(far)][value(near)] : value(near);
    (height === 1 ? parts.leaves : parts.nodes).set(`${near},${far}`, [[near, far], 1 + element]);
    return 1 + element;
  };
  for (const level of levels(language, image)) for (const { element } of level.roots.values()) roots.add(element);
  const [leaves, nodes] = [parts.leaves, parts.nodes].map((part) => [...part.values()]);
  const elements = [...new Set([...leaves, ...nodes].map(([, state]) => state - 1))].sort((a, b) => a - b);
  const number = new Map(elements.map((element, k) => [1 + element, 1 + k])).set(0, 0);
  const answers = elements.map((element) => (roots.has(element) ? outputs[functions[element][initial]] : null));
  const numbered = nodes.map(([window, state]) => [window.map((at) => number.get(at)), number.get(state)]);
  return { elements, answers, leaves: inOrder(leaves.map(([window, state]) => [window, number.get(state)])), nodes: inOrder(numbered) };
}

export const inOrder = (entries) => entries.sort(([[near, far]], [[close, wide]]) => near - close || far - wide);

// Whether a network whose states are replaced answers as the machine does, at every length: the shortest word that it
// answers wrongly, null if there is none. `image(height, near, far)` is its table, `answer(state)` the name of its answer.
export function shortestWrong(language, image, answer) {
  const { outputs, initial } = language;
  const functions = functionsOf(language);
  let height = 0;
  for (const { roots } of levels(language, image)) {
    height += 1;
    const right = ({ element }) => outputs[functions[element][initial]];
    const wrong = [...roots.values()].filter((root) => right(root) !== null && right(root) !== answer(root.state));
    if (wrong.length) return wordOf(wrong.reduce((best, root) => (root.length < best.length ? root : best)));
  }
  return null;
}

// The symbols under a kind of node, from left to right.
export function wordOf({ state, children: [near, far] }) {
  if (!near) return [state - 1];
  return [...(far ? wordOf(far) : []), ...wordOf(near)];
}
