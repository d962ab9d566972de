// What must hold of every drawing, with a stack or without, and what its parts say.

import { Refusal, short } from "./refusal.js";
import { areLetters } from "./symbols.js";

export const NO_ANSWER = -1;
// What stands at an arrow that reads nothing.
export const NO_SYMBOL = "ε";
const MOST_SYMBOLS = 64;
const MOST_MOVES = 2 ** 18; // states times symbols

// Whether a machine says which words are in, and nothing else.
export function isAcceptor(drawn) {
  return [...drawn.outputs].sort().join() === "accept,reject";
}

// The symbols that words have.
export function lettersOf({ alphabet }) {
  return alphabet.filter((name) => name !== NO_SYMBOL);
}

// These states, and those to which arrows lead on that read nothing: ascending.
export function onward({ alphabet, arrows }, states) {
  const [found, empty] = [new Set(states), alphabet.indexOf(NO_SYMBOL)];
  for (const q of found) for (const { from, to, symbols } of arrows) if (from === q && symbols.includes(empty)) found.add(to);
  return [...found].sort((p, q) => p - q);
}

// What a missing arrow leads to.
export function sinkAnswer(drawn) {
  return isAcceptor(drawn) ? drawn.outputs.indexOf("reject") : NO_ANSWER;
}

export function sinkName({ states }) {
  return free("sink", states);
}

// The name, with underscores until no state has it.
export function free(name, states) {
  return states.some((state) => state.name === name) ? free(`${name}_`, states) : name;
}

// Half a character: no file can have it.
const isHalf = (name) => /\p{Surrogate}/u.test(name);

// The names, or numbers where one is missing, there twice, or half a character.
export function distinct(names) {
  return names.every((name) => name && !isHalf(name)) && new Set(names).size === names.length ? names : names.map((_, i) => `q${i}`);
}

// Refuses a drawing of which no machine can be made.
export function checkDrawn({ alphabet, outputs, states, initial, arrows }) {
  if (!states.length) throw new Refusal("There is no state yet. Add one.");
  checkAlphabet(alphabet);
  const twice = outputs.find((name, i) => outputs.indexOf(name) < i);
  if (twice !== undefined) throw new Refusal(`The answer ${short(twice)} is there twice. Take one away.`);
  if (outputs.includes("")) throw new Refusal("An answer has no name. Name it, or take it away.");
  if ([...alphabet, ...outputs, ...arrows.flatMap(({ push }) => push ?? [])].some(isHalf)) throw new Refusal("A symbol or an answer has half a character in its name. Rename it.");
  if (states.length * alphabet.length > MOST_MOVES) {
    throw new Refusal(`${states.length} states are too many for this page. Draw a smaller machine.`);
  }
  if (initial === null || !states[initial]) throw new Refusal("No state is the start. Mark one.");
  if (arrows.every(({ symbols }) => !symbols.length)) {
    throw new Refusal("There is no arrow yet. Draw one from a state to a state.");
  }
}

// Refuses symbols of which no words can be written.
function checkAlphabet(alphabet) {
  if (!alphabet.length) throw new Refusal("There is no symbol yet. Add one to the alphabet.");
  if (alphabet.length > MOST_SYMBOLS) {
    throw new Refusal(`There are ${alphabet.length} symbols. Take at most ${MOST_SYMBOLS}.`);
  }
  alphabet.forEach((symbol, i) => {
    if (!symbol) throw new Refusal("A symbol has no name. Name it, or take it away.");
    if (alphabet.indexOf(symbol) < i) throw new Refusal(`The symbol ${short(symbol)} is there twice. Take one away.`);
    if (/\s/.test(symbol) && !areLetters(alphabet)) {
      throw new Refusal(`The symbol "${short(symbol)}" has a blank, and blanks part the symbols of a word. Rename it.`);
    }
  });
}

// Refuses a machine that answers all words alike, or only finitely many: a proof would say nothing. `answers` are those
// of states, or of elements; `longer` says to which of them each leads with one symbol or more.
export function checkAnswers({ outputs }, answers, longer) {
  const given = new Set(longer.flat().map((to) => answers[to]).filter((output) => output !== NO_ANSWER));
  if (given.size > 1 && isEndless(answers, longer)) return;
  if (given.size > 1) throw new Refusal("Only finitely many words have an answer. Give one to a state that words of any length lead to.");
  if (!given.size) throw new Refusal("No word has an answer. Give an answer to a state that an arrow leads to.");
  const remedy = "Double-click a state that an arrow leads to: its answer changes.";
  const name = short(outputs[[...given][0]]);
  throw new Refusal(`Every word is answered with ${name}, so there is nothing to learn. ${remedy}`);
}

// Whether words of any length have an answer: some cycle leads to one.
function isEndless(answers, longer) {
  const leading = (found) => longer.map((row) => row.some((to) => found[to]));
  let hopeful = answers.map((answer) => answer !== NO_ANSWER);
  for (const _ of longer) hopeful = leading(hopeful).map((leads, i) => leads || hopeful[i]);
  // Without a cycle all ways have ended after so many steps.
  let onward = hopeful;
  for (const _ of longer) onward = leading(onward).map((leads, i) => leads && hopeful[i]);
  return onward.includes(true);
}

export function tooManyElements(most) {
  return `This machine has more than ${most} elements, too many for this page. Draw one with fewer states.`;
}
