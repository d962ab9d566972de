// A drawing made deterministic, and a deterministic one made the smallest, as one does it on paper: step by step.
//
//   subsetSteps(drawn), mergeSteps(drawn)  yield { says, notes, table: { caption, heads, rows }, part, keys, drawn }
//
// `says` is a sentence, `notes` more of them; `part` the new machine as far as it is known, or null; `keys` what of the
// drawn one the step looks at; `drawn` the machine that stands on the plane from this step on, or null.

import { placed } from "./arranged.js";
import { drawnOf } from "./drawing.js";
import { distinct, lettersOf, onward } from "./drawn.js";
import { keyOf, tidy, without } from "./edits.js";
import { complete, deterministic } from "./machine.js";
import { Refusal } from "./refusal.js";

const MOST_SETS = 40;
const MOST_LETTERS = 8; // in a circle
const MOST_PAIRED = 20; // states
const PAIRS = "Pairs of states: the round that marked them, and the symbol";

const some = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

// A state for each set of states in which one may be after a word.
export function* subsetSteps(drawn) {
  const machine = complete(drawn);
  const { delta, outputs, sets } = machine;
  if (sets.length > MOST_SETS) throw new Refusal(`It has ${sets.length} sets of states, too many to be drawn one by one. Take away arrows that share a state and a symbol.`);
  const letters = lettersOf(drawn);
  const made = sets.map((set) => (set.length ? `{${set.map((q) => drawn.states[q].name)}}` : "∅"));
  const isShort = made.every((name) => [...name].length <= MOST_LETTERS);
  const whole = drawingOf(machine, drawn, isShort ? distinct(made) : made.map((_, i) => `S${i}`), []);
  const names = isShort ? made : made.map((name, i) => `S${i} = ${name}`);
  let known = 1;
  const at = (treated, says, keys) => {
    const rows = names.slice(0, known).map((name, i) => [name, ...letters.map((_, a) => (i < treated ? made[delta[i][a]] : "")), drawn.outputs[outputs[i]]]);
    const part = { ...whole, states: whole.states.slice(0, known), arrows: whole.arrows.filter(({ from }) => from < treated) };
    return { says, notes: [], table: { caption: "Sets of states", heads: ["set", ...letters, "answer"], rows }, part, keys, drawn: null };
  };
  const along = sets[0].length > 1 ? ", or where ε leads from there" : "";
  yield at(0, `The start is ${names[0]}: before the first symbol one is in ${drawn.states[drawn.initial].name}${along}.`, sets[0].map(String));
  for (const [i, row] of delta.entries()) {
    const isNew = (next, a) => next >= known && row.indexOf(next) === a;
    const moves = row.map((next, a) => `${letters[a]} leads to ${names[next]}${isNew(next, a) ? ", a new state" : ""}`);
    known = Math.max(known, ...row.map((next) => 1 + next));
    const from = drawn.arrows.filter((arrow) => sets[i].includes(arrow.from)).map(keyOf);
    yield at(i + 1, `From ${names[i]}: ${moves.join("; ")}.`, [...sets[i].map(String), ...from]);
  }
  yield { ...at(known, `No set is left: the machine is deterministic, with ${some(known, "state")}. ↶ brings the old one back.`, null), part: null, drawn: whole };
}

// The drawing of a complete machine, in which states that were drawn stand where they stood.
function drawingOf({ delta, outputs }, drawn, states, places) {
  const made = drawnOf({ alphabet: lettersOf(drawn), states, initial: 0, delta, outputs: outputs.map((output) => drawn.outputs[output] ?? null), output_names: drawn.outputs });
  const place = (q) => drawn.states[places.indexOf(q)] ?? {};
  return placed(tidy({ ...made, states: made.states.map((state, q) => ({ ...state, x: place(q).x, y: place(q).y })) }));
}

// Pairs of states that differ are marked round by round; what is not marked in the end is one state.
export function* mergeSteps(drawn) {
  const machine = deterministic(drawn);
  const { delta, names, places } = machine;
  const size = names.length;
  if (size > MOST_PAIRED) throw new Refusal(`It has ${size} states, too many for a table of pairs on this page. Draw at most ${MOST_PAIRED}.`);
  let now = drawingOf(machine, drawn, names, places);
  const marks = new Map(); // by pair: the round in which it was marked, and the symbol
  const cell = (q, p) => (p < q ? (marks.get(`${p} ${q}`) ?? "·") : "");
  const at = (says, notes = [], isOn = false) => {
    const rows = names.slice(1).map((name, i) => [name, ...names.slice(0, -1).map((_, p) => cell(i + 1, p))]);
    return { says, notes, table: { caption: PAIRS, heads: ["", ...names.slice(0, -1)], rows }, part: null, keys: null, drawn: isOn ? now : null };
  };
  const before = changesBefore(drawn, machine);
  if (before) yield at(before, [], true);
  const both = (pair) => pair.map((q) => names[q]).join(" and ");
  let round = 0;
  for (const found of rounds(machine)) {
    for (const [pair, symbol] of found) marks.set(pair.join(" "), [round, ...(symbol < 0 ? [] : [drawn.alphabet[symbol]])].join(" "));
    const notes = found.filter(([, symbol]) => symbol >= 0).map(([pair, symbol]) => `${both(pair)}: ${drawn.alphabet[symbol]} leads to ${both(pair.map((q) => delta[q][symbol]))}, which are marked.`);
    const why = round ? ": a symbol leads to a marked pair." : ": the answers differ.";
    const marked = found.length ? `${some(found.length, "pair")} marked${why}` : "no pair is marked any more. The two states of a pair that is left are one state.";
    yield at(`Round ${round}: ${marked}`, notes);
    round += 1;
  }
  for (let q = size - 1; q > 0; q -= 1) {
    const p = names.findIndex((_, other) => other < q && !marks.has(`${other} ${q}`));
    if (p < 0) continue;
    const arrows = now.arrows.filter(({ from }) => from !== q).map((arrow) => ({ ...arrow, to: arrow.to === q ? p : arrow.to }));
    now = tidy(without({ ...now, arrows }, String(q)));
    yield at(`${both([p, q])} are one state: what led to ${names[q]} leads to ${names[p]} now.`, [], true);
  }
  yield at(`This is the smallest machine, with ${some(now.states.length, "state")}. ↶ brings the old one back.`, [], true);
}

// What has no part in the table, and what is missing for it, in words; empty where there is neither.
function changesBefore({ states }, { names, places }) {
  const lost = states.filter((_, q) => places[q] === null).map(({ name }) => name);
  const sink = names.find((_, q) => !places.includes(q));
  return [...(lost.length ? [`No word leads to ${lost.join(", ")}: away with it.`] : []), ...(sink ? [`A missing arrow leads to ${sink} now.`] : [])].join(" ");
}

// The pairs that each round marks, each with the symbol that leads to a marked one, -1 in the first; the last marks none.
export function* rounds({ delta, outputs }) {
  let left = delta.flatMap((_, q) => outputs.slice(0, q).map((__, p) => [p, q]));
  const isLeft = (p, q) => p === q || left.some(([a, b]) => a === Math.min(p, q) && b === Math.max(p, q));
  for (let found = left.filter(([p, q]) => outputs[p] !== outputs[q]).map((pair) => [pair, -1]); ; ) {
    yield found;
    if (!found.length) return;
    left = left.filter((pair) => found.every(([other]) => other !== pair));
    found = left.map((pair) => [pair, delta[pair[0]].findIndex((next, symbol) => !isLeft(next, delta[pair[1]][symbol]))]).filter(([, symbol]) => symbol >= 0);
  }
}
