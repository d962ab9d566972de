// The training: a wager, what starts and stops it, and three networks that learn from the same words.

import { LONG } from "./asking.js";
import { LANES, LEARNED } from "./bench.js";
import { Curve } from "./curve.js";
import { TrainButton } from "./train_button.js";
import { ROUNDED } from "./wall.js";
import { WordList } from "./word_list.js";

export const NAMES = { regulargpt: "RegularGPT", lstm: "LSTM", transformer: "Transformer" };

const KEY = "The line: right answers, and of RegularGPT then right cases. Dashed: the loss.";
const ASK = "Your wager: right on every word of 1,000 symbols?";

export class LanesPanel {
  constructor(place, bench) {
    this.bench = bench;
    this.lanes = LANES.map((lane) => new Lane(lane, bench));
    this.one = action("One step", () => bench.set.one());
    this.again = action("Begin again", () => bench.set.again());
    this.slow = action("Slowly", () => bench.set.speed(bench.speed === "slow" ? "fast" : "slow"));
    this.seed = html("input", { type: "number", min: 0, max: 9999, step: 1, id: "seed" });
    this.seed.addEventListener("change", () => this.sow());
    this.said = html("p", { class: "said", "aria-live": "polite" });
    const more = html("div", { class: "tools" }, this.one, this.slow, this.again, html("span", { class: "seed" }, html("label", { for: "seed" }, "Seed "), this.seed));
    place.append(html("div", { class: "tools" }, new TrainButton(bench).place, this.said), html("p", { class: "ask" }, ASK), ...this.lanes.map((lane) => lane.place), html("p", { class: "caption" }, KEY), more, new WordList(bench, NAMES).place);
    for (const kind of ["language", "training", "snapshot", "proven", "wager", "hits"]) bench.on(kind, () => this.say());
    this.say();
  }

  sow() {
    const { bench, seed } = this;
    if (/^\d{1,4}$/u.test(seed.value)) bench.set.seed(Number(seed.value));
    else seed.value = bench.seed;
    this.say();
    address.say();
  }

  say() {
    const { bench } = this;
    const { training } = bench;
    const none = bench.language === null;
    this.one.disabled = none || training === "ended";
    this.again.disabled = training === "none";
    this.slow.setAttribute("aria-pressed", String(bench.speed === "slow"));
    if (document.activeElement !== this.seed) this.seed.value = bench.seed;
    const words = this.words();
    if (this.said.textContent !== words) this.said.textContent = words;
  }

  words() {
    const { bench } = this;
    const snapshot = bench.snapshots.regulargpt;
    if (bench.language === null) return bench.problem || "There is no machine yet that gives the answers.";
    if (bench.proven && bench.isLevel) return "A level's network: made, not trained. The hammer leads back to your own.";
    if (bench.proven && bench.hits.length) return "RegularGPT has been struck: it is not proven any more.";
    if (bench.proven) return bench.training === "going" ? "RegularGPT is proven. The others still learn." : "RegularGPT is proven: the wall says of what.";
    if (bench.failed) return bench.failed;
    if (bench.training === "none") return snapshot?.note || "Nothing is learned yet: each answer is a guess.";
    if (!snapshot) return "They begin.";
    if (snapshot.note) return snapshot.note;
    return { words: "They learn from short words and their answers.", table: "RegularGPT now trains on its cases, too.", done: "" }[snapshot.phase];
  }
}

// One network: its wager, its course, its shortest wrong word, and in the end who was right.
class Lane {
  constructor(lane, bench) {
    Object.assign(this, { lane, bench, name: NAMES[lane] });
    this.buttons = [true, false].map((answer) => action(answer ? "yes" : "no", () => bench.set.wager(lane, answer)));
    this.wager = html("div", { class: "wager", role: "group", "aria-label": `${this.name}: right on every word of 1,000 symbols?` }, ...this.buttons);
    this.curve = new Curve(this.name);
    this.right = html("p", { class: "stands" });
    this.wrong = html("p", { class: "first-wrong" });
    this.end = html("p", { class: "end" });
    this.place = html("article", { class: "lane", "data-lane": lane }, html("h3", {}, this.name), this.wager, this.curve.place, this.right, this.wrong, this.end);
    bench.on("snapshot", () => this.step());
    for (const kind of ["wager", "training", "language"]) bench.on(kind, () => this.sayWager());
    for (const kind of ["wrong", "hits", "language", "proven"]) bench.on(kind, () => this.sayWrong());
    for (const kind of ["tested", "language", "wager", "hits", "proven"]) bench.on(kind, () => this.sayEnd());
    bench.on("language", () => {
      this.curve.clear();
      this.step();
    });
    this.sayWager();
    this.step();
    this.sayWrong();
  }

  sayWager() {
    const said = this.bench.wagers[this.lane];
    const isOver = this.bench.training !== "none";
    this.buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(said === (i === 0)));
      button.disabled = isOver;
    });
  }

  step() {
    const snapshot = this.bench.snapshots[this.lane];
    if (!snapshot) this.curve.clear();
    else if (snapshot !== this.last) this.curve.add(snapshot);
    this.last = snapshot;
    this.right.textContent = snapshot ? this.course(snapshot) : "";
  }

  // Of the network without hits.
  get isProven() {
    return this.lane === "regulargpt" && this.bench.proven && !this.bench.hits.length;
  }

  // Where it stands.
  course({ step, phase, accuracy, seconds, note }) {
    if (step === 0) return note || "It is made, not trained.";
    const steps = `${step.toLocaleString("en")} ${step === 1 ? "step" : "steps"}`;
    if (this.lane === "regulargpt" && phase === "done") return `${steps}, ${Math.ceil(seconds)} seconds of calculating.`;
    return `${percent(accuracy)} of its last ${phase === "table" ? "cases" : "answers"} right, ${steps}.`;
  }

  sayWrong() {
    const { bench, lane, isProven } = this;
    const found = bench.wrong[lane]?.isAsked ? null : bench.wrong[lane];
    const isWrong = !isProven && found && found.answer !== found.truth;
    this.wrong.className = `first-wrong ${isProven ? "right" : isWrong ? "wrong" : ""}`;
    if (isProven) this.wrong.replaceChildren(`✓ Proven: right on every word, ${bench.proven.snapshot.balls ? "as it is" : "each node at its prototype"}.`);
    else if (!found) this.wrong.replaceChildren(bench.snapshots[lane] ? "The page looks for a wrong word." : "");
    else if (!isWrong) this.wrong.replaceChildren("Right on ", found.ended ? "every word" : `all words of up to ${found.tried} symbols`, lane === LANES[0] ? ROUNDED : "", ".");
    else this.wrong.replaceChildren("✗ Wrong on ", found.word ? this.shown(found.word) : `a word of ${found.length.toLocaleString("en")} symbols`, `: it says ${found.answer ?? "nothing"}, not ${found.truth}.`);
  }

  // A word that can be put on the bench.
  shown(word) {
    const text = write(word, this.bench.language.alphabet);
    return action(short(text, 16), () => this.bench.set.word(word), { class: "word-button", "aria-label": `show ${text}` });
  }

  sayEnd() {
    const { bench, lane } = this;
    const { right, tried, of, lengths = [LONG] } = bench.tested[lane] ?? {};
    if (!tried) return this.end.replaceChildren();
    const long = [...new Set(lengths)].map((n) => n.toLocaleString("en")).join(" to ");
    if (lane === "regulargpt" && bench.hits.length) return this.end.replaceChildren(`Before it was struck: ${right} of ${tried} words of ${long} symbols right.`);
    const { accuracy, phase } = bench.snapshots[lane] ?? {};
    const isLearning = right < tried && accuracy < LEARNED && phase !== "done";
    const isRight = right < tried ? false : this.isProven && bench.proven.snapshot.balls ? true : null;
    const verdict = isRight === null ? (tried < of ? "" : " Another word may still be wrong: no test decides that.") : isLearning ? " It was still learning: let it go on." : sayWager(bench.wagers[lane], isRight);
    // A wager is about words of just so many symbols.
    return this.end.replaceChildren(html("b", {}, `Words of ${long} symbols: ${right} of ${tried} right.`), lengths[0] > LONG ? "" : verdict);
  }
}

// Who was right, where a wager was made and it is decided.
const sayWager = (said, isRight) => (said === null ? "" : said === isRight ? " You were right." : " You lost this wager.");
