// A word to type: with keys, or by a button for each symbol.

const MOST_BUTTONS = 12; // symbols
const MOST_TYPED = 500;

class WordField {
  static count = 0;

  // `most` symbols are read.
  constructor(lesson, label, onChange = () => {}, most = MOST_TYPED) {
    Object.assign(this, { lesson, onChange, most, word: [] });
    WordField.count += 1;
    const [id, problem] = [`word-${WordField.count}`, `problem-${WordField.count}`];
    const plain = { type: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
    this.input = html("input", { id, ...plain, "aria-describedby": problem });
    this.problem = html("p", { id: problem, class: "problem", role: "alert" });
    this.input.addEventListener("input", () => this.read());
    const symbols = lesson.alphabet.length > MOST_BUTTONS ? [] : lesson.alphabet.map((symbol, a) => this.button(symbol, `add ${symbol}`, () => this.set([...this.word, a])));
    const back = this.button("⌫", "take the last symbol away", () => this.set(this.word.slice(0, -1)));
    const keys = html("span", { class: "keys" }, ...symbols, back);
    this.place = html("div", { class: "field" }, html("label", { for: id }, label), this.input, keys, this.problem);
  }

  button(shown, name, act) {
    const made = html("button", { type: "button", class: "symbol", "aria-label": name }, shown);
    made.addEventListener("click", act);
    return made;
  }

  set(word) {
    this.input.value = write(word.slice(0, this.most), this.lesson.alphabet);
    this.read();
  }

  read() {
    const { word, unknown } = read(this.input.value, this.lesson.alphabet);
    const tooLong = word.length > this.most;
    const known = this.lesson.alphabet.join(" ");
    this.problem.textContent = unknown.length ? `Not a symbol of this language: ${unknown.join(" ")}. Its symbols: ${known}` : tooLong ? `Here a word has at most ${this.most.toLocaleString("en")} symbols.` : "";
    this.word = tooLong ? [] : word;
    this.onChange(this.word);
  }
}

// What the automaton answers.
const NO_ANSWER = "no answer";
function answerOf(word, lesson) {
  const states = passed(word, lesson);
  return lesson.outputs[states[states.length - 1]] ?? NO_ANSWER;
}

// A state's name, which may look like a symbol.
const stateName = (state, lesson) => (lesson.alphabet.some((symbol) => lesson.states.includes(symbol)) ? `state ${lesson.states[state]}` : lesson.states[state]);

// The answers that there are, each once.
const answersOf = (lesson) => [...new Set(lesson.outputs.filter((output) => output !== null))];

// A random word of n symbols or a few more with this answer, if there is one.
function wordWith(answer, n, lesson) {
  const wanted = { ...lesson, outputs: lesson.outputs.map((output) => (output === answer ? output : null)) };
  return randomWord(wanted, n);
}

// A random word of about n symbols, each answer as likely as the others.
function anyWord(n, lesson) {
  const answers = answersOf(lesson);
  return wordWith(answers[Math.floor(Math.random() * answers.length)], n, lesson);
}

// A button with words on it.
function action(words, act, attributes = {}) {
  const made = html("button", { type: "button", ...attributes }, words);
  made.addEventListener("click", act);
  return made;
}
