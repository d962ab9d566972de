// Five levels of "break it so that no short word notices". Each brings a machine and a network for it that is made, not
// trained: all its cases are right.
//
//   LEVELS: [{ title, less, hint, drawn }]: no word of less than `less` symbols may notice
//   made(level) -> { language, cases, snapshot, proven }
//   verdict(level, found, red) -> { passed, words }: what is decided by a search of its network with hits, of which some cases
//                                 are red

import { placed } from "./arranged.js";
import { casesOf } from "./cases.js";
import { languageOf } from "./machine.js";
import { oneHot } from "./one_hot.js";
import { STARTERS } from "./starters.js";
import { ROUNDED } from "./wall.js";

const starter = (name) => STARTERS.find(({ title }) => title === name).drawn;

export const LEVELS = [
  { title: "Even number of a", less: 3, hint: "Words of one or two symbols have a tree of one level.", drawn: starter("Even number of a") },
  { title: "Even number of a", less: 5, hint: "From which length on is a node above the first level alone, with nothing to its left?", drawn: starter("Even number of a") },
  { title: "Contains abb", less: 11, hint: "Which nodes need three symbols under them? When does such a node stand alone?", drawn: starter("Contains abb") },
  { title: "At least 20 a", less: 20, hint: "All short words are rejected here. What does a test of short words see of the rest?", drawn: counting(20) },
  { title: "At least 5 a", less: 20, hint: "Which monoid element takes the longest word, and when does its node stand alone?", drawn: counting(5) },
];

// A machine that accepts words with so many a or more.
function counting(count) {
  const states = Array.from({ length: count + 1 }, (_, i) => ({ name: String(i), x: NaN, y: NaN, output: Number(i === count) }));
  const arrows = states.flatMap((_, i) => (i < count ? [{ from: i, to: i + 1, symbols: [0] }, { from: i, to: i, symbols: [1] }] : [{ from: i, to: i, symbols: [0, 1] }]));
  return { alphabet: ["a", "b"], outputs: ["reject", "accept"], states, initial: 0, arrows };
}

// Its places are found when they are needed: that takes a moment.
export function made(level) {
  const drawn = placed(level.drawn);
  const { language } = languageOf(drawn);
  const cases = casesOf(language);
  const count = cases.leaves.length + cases.nodes.length + cases.answers.filter((answer) => answer !== null).length;
  const snapshot = { lane: "regulargpt", step: 0, phase: "done", loss: 0, accuracy: 1, seconds: 0, point: null, note: "", ...oneHot(language, cases) };
  const sentence = `This network is made, not trained, from the products of the machine's elements. All its ${count} cases are right, so, rounded to its prototypes, it is right on words of every length.`;
  return { ...level, drawn, language, cases, snapshot, proven: { snapshot, cases, sentence } };
}

// Passed: some word is wrong, all words of less than `less` symbols are right, and so many cases are `red`.
export function verdict({ less }, { length, tried, ended, answer, truth }, red) {
  const no = (words) => ({ passed: false, words });
  if (answer === truth && ended) return no(`It is not broken: it is still right on every word${ROUNDED}.`);
  if (answer !== truth && length < less) return no(`A word of ${length} ${length === 1 ? "symbol" : "symbols"} notices. That is less than ${less}.`);
  if (tried < less - 1) return no(`All words of up to ${tried} symbols are right. The page did not come to those of ${less - 1}: that decides nothing.`);
  if (answer === truth) return no(`All words of up to ${tried} symbols are right, and no wrong word came up: perhaps it is not broken.`);
  if (!red) return no("No short word notices, but no case is red either. Strike so that the proof sees it.");
  return { passed: true, words: `No word of less than ${less} symbols notices: a test of all of them passes. The proof does not.` };
}
