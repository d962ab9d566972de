// How a network learns in the page: words and answers first, then its table of cases, until every case is right; then it
// is rounded to float32 and looked at once more. A generator: the worker takes step after step.

import { Adam } from "./adam.js";
import { bracketed } from "./bracketings.js";
import { Draws } from "./draws.js";
import { centred, meansOf, standing } from "./prototypes.js";
import { Table } from "./table.js";
import { Tape } from "./tape.js";
import { TreeNetwork } from "./tree_network.js";
import { answerTo, TrainingWords } from "./words.js";

export const OPTIONS = {
  chunk_size: 2,
  gates: false,
  thickness: 1,
  d_model: 16,
  n_heads: 4,
  d_ff: 64,
  norm: "pre",
  activation: "gelu",
  attention_bias: true,
  embedding_scale: 1,
  state_norm: true,
  distinct_levels: 1,
  levels: 0,
  pad: "learned",
  attention: "dilated",
  tied: false,
  tree: "flat",
};
const ADAM = { betas: [0.9, 0.98], clip: 1 };
const [WORD_RATE, TABLE_RATE, WARMUP] = [3e-3, 1e-2, 50];
// So often it is asked whether the words are learned; where they are not after so many steps, another seed is tried.
const [EVERY, MOST_WORD_STEPS] = [25, 2000];
// The rate of a round on the table falls to 0 over this share of it. Further rounds are twice as long.
const [ROUND, FALL, ROUNDS] = [400, 0.6, 3];
// All words of so many lengths are asked for, while a length has no more than this.
const MOST_SHORT = 256;
// A case counts as right in float32 if it is decided by this much.
const MARGIN = 1e-2;

// The steps of a training: {phase, loss, accuracy, network, prototypes()} after each, and in the end {proven} or {failed}.
export function* learning({ language, cases, seed, options = OPTIONS }) {
  for (let attempt = 0; ; attempt += 1) {
    const network = new TreeNetwork({ options, n_symbols: language.alphabet.length, n_outputs: language.output_names.length, seed: attempt ? `${seed}, again ${attempt}` : seed });
    const learner = { language, cases, seed: `${seed} ${attempt}`, network, tape: new Tape() };
    if (!(yield* words(learner, new TrainingWords(language, seed)))) continue;
    const proven = yield* table(learner);
    if (proven) return proven;
  }
}

// Until the network has all short words right; whether it has.
function* words({ language, cases, seed, network, tape }, source) {
  const adam = new Adam([network.parameters], { ...ADAM, rate: WORD_RATE });
  const short = shortWords(language);
  let accuracy = 0;
  for (let step = 0; step < MOST_WORD_STEPS; step += 1) {
    const { words, answers } = source.batch(step);
    const random = new Draws(seed, `bracketings ${step}`);
    tape.clear();
    const { forest, roots } = bracketed(words, language.alphabet.length, () => random.uniform() < 0.5);
    const logits = network.read(tape, tape.gather(network.states(tape, forest), roots));
    const loss = tape.crossEntropy(logits, answers);
    accuracy += (shareOf(logits, answers) - accuracy) * (step ? 0.1 : 1);
    const report = { phase: "words", loss: loss.value[0], accuracy, network, prototypes: () => meansOf(network, cases) };
    tape.backward(loss);
    adam.step(WORD_RATE * Math.min(1, (step + 1) / WARMUP));
    yield report;
    if (step % EVERY === EVERY - 1 && shareOf(network.logits(new Tape({ learning: false }), short.words), short.answers) === 1) return true;
  }
  return false;
}

const shareOf = (logits, answers) => logits.best().reduce((sum, best, i) => sum + Number(best === answers[i]), 0) / answers.length;

// All words that have an answer, from the shortest on.
export function shortWords(language) {
  const symbols = language.alphabet.map((_, symbol) => symbol);
  const found = [];
  for (let row = symbols.map((symbol) => [symbol]); row.length <= MOST_SHORT || row[0].length === 1; row = row.flatMap((word) => symbols.map((symbol) => [...word, symbol]))) found.push(...row);
  const words = found.filter((word) => answerTo(language, word) >= 0);
  return { words, answers: words.map((word) => answerTo(language, word)) };
}

// Rounds on the table, until every case is right; what is proven, null if nothing is.
function* table({ language, cases, seed, network, tape }) {
  const tuned = new Table(network, cases, language.output_names, meansOf(network, cases), seed);
  let step = 0;
  for (let round = 0, steps = ROUND; round < ROUNDS; round += 1, steps *= 2) {
    const adam = new Adam([network.parameters, tuned.free], { ...ADAM, rate: TABLE_RATE });
    for (let i = 0; i < steps; i += 1, step += 1) {
      const left = Math.min(1, (steps - i) / (FALL * steps));
      tape.clear();
      const { loss, near } = tuned.loss(tape, step, left);
      const report = { phase: "table", loss: loss.value[0], accuracy: near, network, prototypes: () => tuned.prototypes(new Tape({ learning: false })) };
      tape.backward(loss);
      adam.step(TABLE_RATE * left * Math.min(1, (i + 1) / WARMUP));
      yield report;
    }
    const proven = rounded(network, tuned.prototypes(new Tape({ learning: false })), cases, language.output_names);
    if (proven) return proven;
  }
  return null;
}

// The network in float32, if every case is right there: its weights and its prototypes.
export function rounded(network, prototypes, cases, output_names) {
  network.parameters.value.forEach((value, i, all) => (all[i] = Math.fround(value)));
  const found = centred(network, prototypes, cases);
  const { wrong, margin } = standing(network, found, cases, output_names);
  return !wrong && margin > MARGIN ? { network, weights: network.weights(), prototypes: found, margin } : null;
}
