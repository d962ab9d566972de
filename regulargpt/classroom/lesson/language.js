// Step 1: ask about words, guess the rule, answer in its place.

const LONGEST_ASKED = 6;
const LISTS = 100; // of questions, of which the best is asked
const DRAWS = 40; // for a word that was not shown

const NOTHING = "nothing";

// Rules that look at one thing only, or give one answer always. Two words that are alike in it, with different answers,
// rule out all such rules.
const SIMPLE = {
  [NOTHING]: () => "",
  "the first symbol": (word) => word[0],
  "the last symbol": (word) => word[word.length - 1],
  "the length": (word) => word.length,
  "which symbols occur": (word) => [...new Set(word)].sort().join(" "),
};

// The simple rules that no answers to these words obey.
function ruledOut(words, lesson) {
  return Object.keys(SIMPLE).filter((name) => {
    const answers = new Map();
    return words.some((word) => {
      const [seen, answer] = [SIMPLE[name](word), answerOf(word, lesson)];
      const other = answers.has(seen) && answers.get(seen) !== answer;
      answers.set(seen, answer);
      return other;
    });
  });
}

// Words to answer in a row: each answer as likely as the others, none that was `shown` if there are others, and together
// they rule out as many simple rules as they can.
function questions(lesson, shown) {
  let best = { words: [], out: [] };
  for (let i = 0; i < LISTS && best.out.length < Object.keys(SIMPLE).length; i += 1) {
    const met = new Set(shown);
    const words = Array.from({ length: lesson.in_a_row }, () => unseen(lesson, met));
    const out = ruledOut(words, lesson);
    if (!best.words.length || out.length > best.out.length) best = { words, out };
  }
  return best;
}

// A word that was not met, with an answer drawn first; after many tries any one. It is met then.
function unseen(lesson, met) {
  const answers = answersOf(lesson);
  const answer = answers[Math.floor(Math.random() * answers.length)];
  let word;
  for (let i = 0; i < DRAWS; i += 1) {
    word = wordWith(answer, 1 + Math.floor(Math.random() * (LONGEST_ASKED + i / 4)), lesson);
    if (answerOf(word, lesson) === answer && !met.has(write(word, lesson.alphabet))) break;
  }
  met.add(write(word, lesson.alphabet));
  return word;
}

class LanguageStep {
  constructor(place, lesson, done) {
    Object.assign(this, { place, lesson, done, shown: new Set() });
    this.field = new WordField(lesson, "Your word");
    const form = html("form", { class: "ask" }, this.field.place, html("button", { type: "submit" }, "Ask"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(this.field.word);
    });
    this.said = html("p", { class: "said", "aria-live": "polite" });
    this.piles = html("div", { class: "piles" });
    this.question = html("p", { class: "question" });
    this.verdict = html("p", { class: "verdict", "aria-live": "polite" });
    const buttons = answersOf(lesson).map((answer) => action(answer, () => this.guess(answer), { "data-guess": answer }));
    const quiz = html("div", { class: "quiz" }, html("h4", {}, "In place of the rule"), this.question, html("div", { class: "tools" }, ...buttons), this.verdict);
    this.rule = place.querySelector(".rule");
    this.rule.before(form, this.said, this.piles, quiz);
    this.pile();
    [1, 2, 3].forEach((n) => this.keep(anyWord(n, lesson)));
    this.begin();
  }

  // A pile for each answer.
  pile() {
    const answers = [...answersOf(this.lesson), ...(this.lesson.outputs.includes(null) ? [NO_ANSWER] : [])];
    this.lists = new Map(answers.map((answer) => [answer, html("ul", {})]));
    for (const [answer, list] of this.lists) this.piles.append(html("div", { class: "pile", "data-answer": answer }, html("h4", {}, answer), list));
  }

  keep(word) {
    const text = write(word, this.lesson.alphabet);
    if (this.shown.has(text)) return;
    this.shown.add(text);
    this.lists.get(answerOf(word, this.lesson)).append(html("li", {}, html("code", {}, short(text, 16) || "ε")));
  }

  ask(word) {
    if (this.field.problem.textContent) return;
    const shown = short(write(word, this.lesson.alphabet), 40);
    this.said.textContent = word.length ? `${shown}: ${answerOf(word, this.lesson)}.` : "Type a word first.";
    if (word.length) this.keep(word);
  }

  begin() {
    this.row = 0;
    this.asked = questions(this.lesson, this.shown);
    this.next();
  }

  next() {
    this.question.replaceChildren("What is the answer to ", html("code", {}, write(this.asked.words[this.row], this.lesson.alphabet)), "?");
  }

  guess(answer) {
    const word = this.asked.words[this.row];
    const truth = answerOf(word, this.lesson);
    const right = answer === truth;
    this.row = right ? this.row + 1 : 0;
    const shown = write(word, this.lesson.alphabet);
    const ended = this.row === this.asked.words.length;
    const counted = ended ? this.end() : `${this.row} right in a row, of ${this.lesson.in_a_row}.`;
    this.verdict.textContent = `${right ? "✓ Right" : "✗ No"}: ${shown} is ${truth}. ${counted}`;
    this.keep(word);
    if (ended || !right) return this.begin();
    return this.next();
  }

  // What so many right answers show, and what they do not.
  end() {
    this.rule.open = true;
    this.done();
    const looks = this.asked.out.filter((name) => name !== NOTHING).join(", ").replace(/, ([^,]*)$/u, " or $1");
    const excluded = looks ? ` They fit no rule that looks only at ${looks}.` : "";
    return `${this.row} right answers in a row: guesses come so far less than once in 1,000 times.${excluded} They may fit others: compare your rule with the one below.`;
  }
}
