// A run on a language whose words are answered by a row of symbols: machine, network and their stacks, step by step.

// A machine that is a table of moves, run on a word: the state before and after each symbol, and what each did. A state is
// null where no move led.
class Pushdown {
  constructor({ states, initial, stack, outputs, moves }) {
    Object.assign(this, { states, initial, stack, outputs });
    this.moves = new Map(moves.map(([q, a, top, to, action]) => [[q, a, top].join(), { to, action }]));
  }

  // `actions` are -2 of a pop, -1 of neither, else the stack symbol that is pushed; as the stack's after each symbol.
  run(word) {
    const [states, actions, tops] = [[this.initial], [], [0]];
    for (const a of word) {
      const q = states[states.length - 1];
      const { to, action } = this.moves.get([q, a, tops[tops.length - 1]].join()) ?? { to: null, action: -1 };
      if (action >= 0) tops.push(1 + action);
      else if (action === -2) tops.pop();
      states.push(to);
      actions.push(action);
    }
    return { states, actions };
  }
}

// What stands on a stack after each step: the steps at which it was pushed, from the bottom up. An action is "push", "pop"
// or "none"; a pop at the bottom does nothing.
function heights(actions) {
  let stack = [];
  return actions.map((action, i) => {
    if (action === "push") stack = [...stack, i];
    if (action === "pop") stack = stack.slice(0, -1);
    return stack;
  });
}

const LIKELIEST = ["push", "pop", "none"];

class RowsRun {
  constructor(article, { rows, live }) {
    Object.assign(this, { article, run: rows, word: [], unknown: [] });
    this.part = (name) => article.querySelector(`[data-part="${name}"]`);
    this.machine = rows.machine && new Pushdown(rows.machine);
    this.network = live && new Live(live);
    this.stacks = this.part("stack") && new StackView(this.part("stack"), this.part("stack-detail"), rows.machine?.stack ?? []);
  }

  // How a word is answered is asked for by the page, so the empty symbols behind it are not typed.
  show(text) {
    const { run } = this;
    const { word, unknown } = read(text, run.alphabet);
    const typed = run.empty === null ? word : word.filter((symbol) => symbol !== run.empty);
    this.unknown = unknown;
    this.tooLong = typed.length >= run.asked.length;
    this.length = this.tooLong ? 0 : typed.length;
    this.word = this.tooLong ? [] : [...typed, ...Array(run.asked[typed.length]).fill(run.empty)];
    this.compute();
    this.say();
    this.part("row").replaceChildren(...(this.word.length ? [this.table()] : []));
    this.stacks?.show(this);
    this.article.dispatchEvent(new Event("shown", { bubbles: true }));
  }

  // The places that are asked at, what is right there, and what the network says.
  compute() {
    const { word, run, machine, network } = this;
    const isAsked = (i) => (run.empty === null ? i === word.length - 1 : i >= this.length);
    this.trace = machine?.run(word) ?? null;
    this.right = word.map((_, i) => {
      const state = isAsked(i) && this.trace ? this.trace.states[i + 1] : null;
      return state === null || machine.outputs[state] < 0 ? null : run.outputs[machine.outputs[state]];
    });
    const asked = word.map((_, i) => i).filter((i) => (machine ? this.right[i] !== null : isAsked(i)));
    // Without an answer at the first place the word is no question; behind the last one, as END, nothing is asked.
    this.asked = asked.includes(run.empty === null ? word.length - 1 : this.length) ? asked : [];
    this.said = network && word.length ? this.answers(network, word) : null;
    const steps = network?.model.steps && this.said && this.stacks;
    this.steps = steps ? Array.from(network.model.steps(word)) : null;
  }

  // The network's answer at each place that is asked at; null where that takes too long. One that reads a word whole is
  // asked each time with the word up to there.
  answers({ model }, word) {
    const { run, asked, network } = this;
    const along = model.along ?? model.states;
    if (along ? model.cost(word.length) > MOST_MULTIPLICATIONS : run.apart || asked.reduce((sum, i) => sum + model.cost(i + 1), 0) > MOST_MULTIPLICATIONS) return null;
    const said = Array(word.length).fill(null);
    if (!along) asked.forEach((i) => { said[i] = network.answer(word.slice(0, i + 1)); });
    else [...along.call(model, word)].forEach((h, i) => { if (asked.includes(i)) said[i] = network.answered(Array.from(model.read(h))); });
    return said;
  }

  get verdicts() {
    return this.asked.map((i) => (this.right[i] === null ? "unknown" : this.said?.[i]?.name === this.right[i] ? "right" : "wrong"));
  }

  say() {
    const line = this.article.querySelector(".answer");
    const { run, asked, said, verdicts } = this;
    const wrong = this.unknown.length ? [`Not in this alphabet: ${this.unknown.join(" ")}. `] : [];
    const symbols = run.alphabet.filter((_, a) => a !== run.empty).join(" ");
    if (this.tooLong) return line.replaceChildren(`Here a word has at most ${run.asked.length - 1} symbols.`);
    if (!this.word.length) return line.replaceChildren(...wrong, `Type a word over ${symbols}`);
    if (!asked.length) return line.replaceChildren(...wrong, "The language does not ask for an answer to this word.");
    const written = (names) => html("code", {}, short(names.join(run.outputs.every((name) => name.length === 1) ? "" : " "), 60));
    const right = this.machine ? ["Automaton: ", written(asked.map((i) => this.right[i])), ". "] : [];
    line.replaceChildren(...wrong, ...right);
    if (!this.network) return undefined;
    if (!said) return line.append(run.apart ?? "The network is not computed here for a word as long as this.");
    const missed = verdicts.filter((verdict) => verdict === "wrong").length;
    const verdict = missed ? "wrong" : this.machine ? "right" : "unknown";
    const all = run.empty === null ? "They agree." : asked.length === 1 ? "The answer is right." : `All ${asked.length} answers are right.`;
    const sentence = { right: all, wrong: `${missed} of ${asked.length} ${asked.length === 1 ? "answer" : "answers"} wrong.`, unknown: "The page does not know what is right." }[verdict];
    return line.append("Network: ", html("span", { class: verdict, "data-live": missed }, `${MARKS[verdict]} `, written(asked.map((i) => said[i]?.name ?? "?"))), ` ${sentence}`);
  }

  // What is read, what is right and what the network says, place by place.
  table() {
    const { word, run, said } = this;
    const verdict = new Map(this.asked.map((i, n) => [i, this.verdicts[n]]));
    const cells = (of) => word.map((_, i) => of(i));
    const named = (words) => html("th", { scope: "row" }, words);
    const rows = [
      html("tr", {}, named("reads"), ...cells((i) => html("td", { "data-step": i + 1 }, run.alphabet[word[i]]))),
      ...(this.machine ? [html("tr", {}, named("right"), ...cells((i) => html("td", { "data-step": i + 1 }, this.right[i] ?? "")))] : []),
      ...(said ? [html("tr", {}, named("network"), ...cells((i) => this.answerCell(i, said[i], verdict.get(i))))] : []),
    ];
    return html("table", { class: "row" }, html("tbody", {}, ...rows));
  }

  answerCell(i, answer, verdict) {
    if (!verdict) return html("td", { "data-step": i + 1 });
    const sure = answer && this.network.sure(answer);
    return html("td", { "data-step": i + 1, class: verdict, "data-verdict": verdict, title: sure ? `${sure} sure` : "" }, `${answer?.name ?? "?"}${verdict === "wrong" ? " ✗" : ""}`);
  }

  // Light all that belongs to the first `step` symbols: the state after them, the move to it, the place in the row.
  step(step) {
    const at = Math.min(step, this.word.length);
    this.article.querySelectorAll("td[data-step], text[data-step]").forEach((place) => place.classList.toggle("lit", at > 0 && Number(place.dataset.step) === at));
    follow(this.part("row"), this.part("row").querySelector(".lit")?.offsetLeft ?? 0);
    this.stacks?.step(at);
    if (!this.trace) return;
    const { states } = this.trace;
    showPath(this.article, this.word, states, at, this.run, (state) => (state === null ? "no move" : this.machine.states[state]));
    lightTransition(this.article, at > 0 ? states[at - 1] : null, this.word[at - 1]);
    const light = (selector, test) => this.article.querySelectorAll(selector).forEach((place) => place.classList.toggle("lit", test(place.dataset)));
    const is = (text, state) => state !== null && Number(text) === state;
    light(".state", ({ state }) => is(state, states[at]));
    light(".edge[data-from]", ({ from, to }) => at > 0 && is(from, states[at - 1]) && is(to, states[at]));
    light("table.machine tr[data-state]", ({ state }) => is(state, states[at]));
  }
}

// Scroll to the place where the slider is, from the left.
function follow(scrolling, x) {
  scrolling.scrollLeft = x - scrolling.clientWidth / 2;
}

// A word with an answer that came with the page: of the first length from n on, else of the longest.
function offeredOf({ offered, alphabet }, n) {
  const entry = offered.find(({ length }) => length >= n) ?? offered[offered.length - 1];
  return entry ? read(anyOf(entry.words), alphabet).word : [];
}
