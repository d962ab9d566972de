// The cases of a proof: which windows of symbols and of prototypes occur in words with an answer, level by level until
// the levels repeat ("Which windows occur" in docs/certificate.md; C = 2, counted from the right).

// A proof looks at no more windows than this: its wall would have no end.
export const MOST_WINDOWS = 1 << 16;

// What each element does: the state to which it leads from each state.
function functionsOf({ delta, states, elements }) {
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

// The windows of a level of nodes [number from 1, element], full ones and leftmost ones, that are part of words with an
// answer: [near, far, element, whether it is full]. A full node may stand behind any node; or a node stands alone.
export function* windowsOver({ full, left }, { inside, leftmost }, table) {
  for (const [near, element] of [...full, ...left]) if (leftmost[element]) yield [near, 0, element, false];
  for (const [near, behind] of full) {
    for (const [nodes, isFull, kept] of [[full, true, inside], [left, false, leftmost]]) {
      for (const [far, before] of nodes) if (kept[table[before][behind]]) yield [near, far, table[before][behind], isFull];
    }
  }
}

// A language of more elements than a page can look at.
export class TooMany extends Error {
  constructor(count) {
    super(`This machine has ${count} elements: too many cases to look at here.`);
  }
}

// The cases of a network that makes no mistake: the windows that occur, each with the prototype that it gives, and which
// answers are asked for. Prototypes are the elements that occur above the leaves, in their order. Those of a language with
// brackets are in nested_cases.js.
export function casesOf(language) {
  const { table, letter, outputs, initial, elements } = language;
  const [parts, roots, seen] = [[new Map(), new Map()], new Set(), new Set()];
  let uses = Uses.of(language);
  const { functions, inside } = uses;
  let level = { full: letter.map((element, symbol) => [1 + symbol, element]).filter(([, element]) => inside[element]), left: [] };
  // Levels follow from those before, so what comes after a repetition was there before.
  for (let height = 1, key = "leaves"; !seen.has(key); height += 1) {
    seen.add(key);
    if (level.full.length * (level.full.length + level.left.length + 1) > MOST_WINDOWS) throw new TooMany(elements.words.length);
    uses = uses.doubled();
    const [full, left, part] = [new Set(), new Set(), parts[Number(height > 1)]];
    for (const [near, far, element, isFull] of windowsOver(level, uses, table)) {
      part.set(`${near} ${far}`, [near, far, element]);
      (isFull ? full : left).add(element);
      if ((far || height === 1) && uses.leftmost[element]) roots.add(element);
    }
    const numbered = (set) => [...set].sort((a, b) => a - b).map((element) => [1 + element, element]);
    level = { full: numbered(full), left: numbered(left) };
    key = `${level.full};${level.left}`;
  }
  const occur = [...new Set(parts.flatMap((part) => [...part.values()].map(([, , element]) => element)))].sort((a, b) => a - b);
  const number = new Map(occur.map((element, k) => [element, 1 + k]));
  const answers = occur.map((element) => (roots.has(element) ? outputs[functions[element][initial]] : null));
  const [leaves, nodes] = parts.map((part, above) => {
    const of = (place) => (above && place ? number.get(place - 1) : place);
    return [...part.values()].map(([near, far, element]) => [[of(near), of(far)], number.get(element)]).sort(byWindow);
  });
  return { elements: occur, answers, leaves, nodes };
}

export const byWindow = ([[near, far]], [[close, wide]]) => near - close || far - wide;
