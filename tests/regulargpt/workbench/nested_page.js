// What test_nested_page.py asks of the workbench's scripts where there are brackets.

import { longWords } from "regulargpt/classroom/workbench/asking.js";
import { learning } from "regulargpt/classroom/workbench/learning.js";
import { answerOf, languageOf } from "regulargpt/classroom/workbench/machine.js";
import { fromJson } from "regulargpt/classroom/workbench/machine_json.js";
import { nestedCases } from "regulargpt/classroom/workbench/nested_cases.js";
import { shortestAlong } from "regulargpt/classroom/workbench/nested_search.js";
import { drawsOf, trainingWords } from "regulargpt/classroom/workbench/nested_words.js";
import { folderOf } from "regulargpt/classroom/workbench/saving.js";
import { search } from "regulargpt/classroom/workbench/search.js";
import { struck } from "regulargpt/classroom/workbench/hits.js";
import { nameOf } from "regulargpt/classroom/workbench/wall.js";
import { wordWith } from "regulargpt/classroom/workbench/word_draws.js";

const read = (text) => languageOf(fromJson(text).drawn).language;

function ended(steps) {
  let last = steps.next();
  while (!last.done) last = steps.next();
  return last.value;
}

// Batches of training words by step, a long word of each answer, and how many words of each length have each element.
export function drawn({ text, steps, lengths }) {
  const language = read(text);
  const [source, again] = [trainingWords(language, 3), trainingWords(read(text), 3)];
  const long = longWords(language, 0, 200);
  const { rows, base, hopeful } = drawsOf(language, 40);
  const counts = lengths.map((length) => rows[length].map((share) => share * base ** length));
  const of = language.table.map((_, e) => wordWith(language, [e], 12, () => 0.5));
  const batches = steps.map((step) => source.batch(step));
  return { batches, again: steps.map((step) => again.batch(step)), names: language.output_names, long: [0, 1, 2, 3, 4, 5].map((i) => long.word(i)), counts, of, hopeful };
}

// The first wrong word of a table in which some entries are others, and whether any word of any length is wrong. Windows that
// occur in no word with an answer lead to the first prototype.
export function spoilt({ text, changes }) {
  const language = read(text);
  if (!language) return null;
  const cases = nestedCases(language);
  const [K, symbols] = [cases.elements.length, language.alphabet.length];
  const size = 1 + K + symbols;
  const table = Array.from({ length: size }, () => Array(size).fill(1));
  const all = [...cases.leaves.map(([window, image]) => [window.map((row) => row && K + row), image]), ...cases.nodes];
  for (const [[near, far], image] of all) table[near][far] = image;
  for (const [place, image] of changes) {
    const [near, far] = all[place % all.length][0];
    table[near][far] = 1 + (image % K);
  }
  const answers = cases.answers.map((answer) => answer ?? language.output_names[0]);
  const space = { every: 64, made: 0, leaf: (symbol) => 1 + K + symbol, over: (near, far) => ({ state: table[near][far] }), answer: ({ state }) => answers[state - 1] };
  return { table, answers, found: ended(shortestAlong(language, space, { isFinite: true, looks: 1 << 20 })) };
}

// A training to its end: its folder, file by file, and what it said.
let kept = null;
export function trained({ text, seed }) {
  const language = read(text);
  const cases = nestedCases(language);
  const steps = learning({ language, cases, seed });
  const notes = new Set();
  let [last, next] = [null, steps.next()];
  for (; !next.done; next = steps.next()) {
    last = next.value ?? last;
    notes.add(last.note);
  }
  const { proven } = next.value;
  if (!proven) return { notes: [...notes], files: null };
  const network = { options: last.learner.options, weights: proven.weights, prototypes: proven.prototypes };
  kept = { language, cases, network };
  const files = Object.entries(folderOf({ ...network, language, cases, balls: proven.balls }));
  return { notes: [...notes], sentence: proven.sentence, files: Object.fromEntries(files.map(([name, bytes]) => [name, btoa(String.fromCharCode(...bytes))])) };
}

// Of the trained network with a hit on a case: what the search finds, and the first wrong word of all up to a length.
export function broken({ at, image, longest }) {
  const { language, cases, network: { prototypes, ...network } } = kept;
  const hits = image ? [{ kind: "case", part: "nodes", window: cases.nodes[at % cases.nodes.length][0], image: 1 + (image % prototypes.length) }] : [];
  const found = ended(search({ network, hits, prototypes, language, longest, most: 1 << 12 }));
  const twin = struck(network, hits, prototypes, language.nesting.direction);
  const isWrong = (word) => nameOf(twin.logits(word), language.output_names) !== answerOf(language, word);
  const first = allWords(language.alphabet.length, longest).find(isWrong) ?? null;
  return { found, first, isWrong: found.word && isWrong(found.word) };
}

function allWords(symbols, longest) {
  const found = [];
  for (let [words, length] = [[[]], 1]; length <= longest; length += 1) {
    words = words.flatMap((word) => Array.from({ length: symbols }, (_, symbol) => [...word, symbol]));
    found.push(...words);
  }
  return found;
}
