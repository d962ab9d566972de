// Step 1: ask about words, guess the rule, answer in its place.

const IN_A_ROW = 5;
const LONGEST_ASKED = 6;

class LanguageStep {
  constructor(place, lesson, done) {
    Object.assign(this, { place, lesson, done, row: 0 });
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
    this.next();
  }

  // A pile for each answer.
  pile() {
    const answers = [...answersOf(this.lesson), ...(this.lesson.outputs.includes(null) ? [NO_ANSWER] : [])];
    this.lists = new Map(answers.map((answer) => [answer, html("ul", {})]));
    for (const [answer, list] of this.lists) this.piles.append(html("div", { class: "pile", "data-answer": answer }, html("h4", {}, answer), list));
  }

  keep(word) {
    const shown = short(write(word, this.lesson.alphabet), 16) || "ε";
    const list = this.lists.get(answerOf(word, this.lesson));
    if (![...list.children].some((item) => item.textContent === shown)) list.append(html("li", {}, html("code", {}, shown)));
  }

  ask(word) {
    if (this.field.problem.textContent) return;
    const shown = short(write(word, this.lesson.alphabet), 40);
    this.said.textContent = word.length ? `${shown}: ${answerOf(word, this.lesson)}.` : "Type a word first.";
    if (word.length) this.keep(word);
  }

  next() {
    this.asked = anyWord(2 + Math.floor(Math.random() * (LONGEST_ASKED - 1)), this.lesson);
    this.question.replaceChildren("What is the answer to ", html("code", {}, write(this.asked, this.lesson.alphabet)), "?");
  }

  guess(answer) {
    const truth = answerOf(this.asked, this.lesson);
    const right = answer === truth;
    this.row = right ? this.row + 1 : 0;
    const shown = write(this.asked, this.lesson.alphabet);
    this.verdict.textContent = `${right ? "✓ Right" : "✗ No"}: ${shown} is ${truth}. ${this.row} right in a row${this.row < IN_A_ROW ? `, of ${IN_A_ROW}` : ". You know the rule"}.`;
    this.keep(this.asked);
    if (this.row >= IN_A_ROW) {
      this.rule.open = true;
      this.done();
    }
    this.next();
  }
}
