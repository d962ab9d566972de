// The bench: what the panels share. A panel reads its fields, changes them by `set`, and listens. It never talks to
// another panel. All values are plain (those that go to a worker and back), but for `network`.
//
// Fields
//   drawn      Drawn: what the editor edits
//   language   Language, complete and minimal; null while what is drawn is none
//   problem    why it is none, as a sentence; else ""
//   classes    the language's state of each drawn state, null of one that is none of its; null with it
//   cases      Cases of the language; null with it
//   word       numbers of symbols: the word that is shown
//   lanes      ["regulargpt", "lstm", "transformer"]
//   snapshots  by lane: the last Snapshot; null before the first
//   network    what the page computes words with: the twin RegularGPT of snapshots.regulargpt with the hits; null before
//   prototypes [Float64Array], one for each of cases.elements; null before they are known
//   hits       [Hit], in the order in which they fell
//   seed       whole number: the same seed, the same training
//   speed      of SPEEDS: "slow" (one sees each step), "fast" (as fast as it goes)
//   training   "none", "going", "paused", "ended"
//   proven     { snapshot, cases, sentence } once every case of the network without hits is right; else null
//   failed     the sentence of a training that came to its end without a proof; else ""
//   wrong      by lane: { lane, word | null, answer, truth, tried }: the shortest wrong word of the network as it is now, or
//              null and that all words of up to `tried` symbols are right; null before the first search
//   wagers     by lane: true, false, null: "right on every word of 1,000 symbols?", said before training
//   tested     by lane: { right, tried, of, lengths: [least, most] }: answers to words of 1,000 symbols, or of the next
//              lengths that have any, after the training; null before
//   isCompared whether training came to its end once: the others have taken as many steps as RegularGPT
//   isKept     whether what ended was brought back from before a level: nothing is there that could go on
//   step       1 to 7: the caption that is read
//   aim        what a panel points at for the hammer: a Hit without image or by; null before
//
// Kinds, for `on(kind, listener)`: the listener is called with the bench after each change. `tell(kind)` calls them.
//   "language"  another machine: everything learned is forgotten (snapshots, network, hits, proven, wrong, wagers, training)
//   "word" "snapshot" "proven" "wrong" "hits" "training" "wager" "tested" "step" "aim"
//   A hit changes `network`: who draws it listens to "snapshot" and "hits". "begin again" and another seed forget as a
//   new machine does, but keep language and wagers: they tell "snapshot", "hits", "proven", "wrong", "tested", "training".
//
// Changes, each of which tells its kind
//   set.language(drawn)   set.word(symbols)   set.hits(hits)   set.wager(lane, answer)   set.step(number)   set.aim(target)
//   set.seed(number)   set.speed(speed)
//   set.training("going" | "paused")   set.one()  one step, then paused   set.again()   as if nothing had been learned
// Of the workers only: set.snapshot(snapshot)   set.proven(found)   set.wrong(found)   set.failed(sentence)   set.tested(lane, found)
//   set.training("ended")

import { allCases } from "./nested_cases.js";
import { struck } from "./hits.js";
import { languageOf } from "./machine.js";

export const LANES = ["regulargpt", "lstm", "transformer"];
export const SPEEDS = ["slow", "fast"];
// The running share of right answers from which on it is said as 100 %.
export const LEARNED = 0.995;

const each = (value) => Object.fromEntries(LANES.map((lane) => [lane, value]));

export class Bench {
  constructor() {
    Object.assign(this, { lanes: LANES, listeners: new Map() });
    Object.assign(this, { drawn: null, language: null, problem: "", classes: null, cases: null, word: [], seed: 0, speed: "fast", wagers: each(null), step: 1, aim: null });
    this.forget();
    this.set = this.changes();
  }

  // Returns what ends it.
  on(kind, listener) {
    if (!this.listeners.has(kind)) this.listeners.set(kind, new Set());
    this.listeners.get(kind).add(listener);
    return () => this.listeners.get(kind).delete(listener);
  }

  tell(kind) {
    for (const listener of [...(this.listeners.get(kind) ?? [])]) listener(this);
  }

  // Nothing is learned yet.
  forget() {
    Object.assign(this, { snapshots: each(null), network: null, prototypes: null, hits: [], training: "none", proven: null, failed: "", wrong: each(null), tested: each(null), isCompared: false, isKept: false, onlyOne: false });
  }

  changes() {
    const told = (kind, change) => (...given) => {
      change(...given);
      this.tell(kind);
    };
    return {
      language: told("language", (drawn) => this.draw(drawn)),
      word: told("word", (word) => { this.word = word; }),
      hits: told("hits", (hits) => this.strike(hits)),
      wager: told("wager", (lane, answer) => { this.wagers[lane] = answer; }),
      step: told("step", (step) => { this.step = step; }),
      aim: told("aim", (aim) => { this.aim = aim; }),
      seed: (seed) => {
        this.seed = seed;
        this.again();
      },
      speed: told("training", (speed) => { this.speed = speed; }),
      training: told("training", (training) => Object.assign(this, { training, onlyOne: false, isCompared: this.isCompared || training === "ended", isKept: training === "ended" && this.training === "none" })),
      one: told("training", () => Object.assign(this, { training: "paused", onlyOne: true })),
      again: () => this.again(),
      snapshot: told("snapshot", (snapshot) => this.take(snapshot)),
      proven: told("proven", (found) => { this.proven = found; }),
      wrong: told("wrong", (found) => { this.wrong[found.lane] = found; }),
      tested: told("tested", (lane, found) => { this.tested[lane] = found; }),
      failed: told("proven", (sentence) => { this.failed = sentence; }),
    };
  }

  draw(drawn) {
    const { language, problem, classes = null } = languageOf(drawn);
    Object.assign(this, { drawn, language, problem, classes, cases: null, wagers: each(null) });
    try {
      this.cases = language && allCases(language);
    } catch ({ message }) {
      Object.assign(this, { language: null, problem: message, classes: null });
    }
    const known = this.language?.alphabet.length ?? 0;
    this.word = this.word.filter((symbol) => symbol < known);
    this.forget();
  }

  again() {
    this.forget();
    for (const kind of ["snapshot", "hits", "proven", "wrong", "tested", "training"]) this.tell(kind);
  }

  take(snapshot) {
    this.snapshots[snapshot.lane] = snapshot;
    if (snapshot.lane !== "regulargpt") return;
    this.prototypes = snapshot.prototypes;
    this.calculate();
  }

  strike(hits) {
    this.hits = hits;
    this.wrong.regulargpt = null;
    this.calculate();
  }

  calculate() {
    const { regulargpt } = this.snapshots;
    this.network = regulargpt && struck(regulargpt, this.hits, this.prototypes, this.language.nesting?.direction);
  }
}
