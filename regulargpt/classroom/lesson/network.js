// Step 5: the network and the automaton answer the same words.

const LONG_WORDS = 100; // how many
const LONG_LENGTH = 100; // symbols in each
const AT_ONCE = 5; // words between two pictures

class NetworkStep {
  constructor(place, lesson, done, live) {
    Object.assign(this, { lesson, done });
    this.networks = [this.network(lesson, live), ...(lesson.rival ? [this.network(lesson.rival, new Live(lesson.rival.live))] : [])];
    this.field = new WordField(lesson, "Word", (word) => this.show(word));
    this.table = html("div", { class: "scroll" });
    this.strip = html("div", { class: "strip" });
    this.length = html("input", { type: "number", min: 1, max: MOST_TYPED, value: LONG_LENGTH, id: "long-length" });
    this.said = html("div", { class: "said", "aria-live": "polite" });
    const tools = html("div", { class: "tools" }, action(`Try ${LONG_WORDS} words`, () => this.long()), html("label", { for: "long-length" }, "of length"), this.length);
    place.append(this.field.place, this.table, this.strip, tools, this.said);
    this.field.set(anyWord(4, lesson));
  }

  network({ label }, live) {
    return { name: live.is_constructed ? `${label}, made by hand` : label, live };
  }

  show(word) {
    const truth = word.length ? answerOf(word, this.lesson) : "";
    const rows = [["Automaton", truth, ""]];
    for (const { name, live } of this.networks) rows.push([name, ...this.answer(word, truth, live)]);
    const columns = this.networks.every(({ live }) => live.is_constructed) ? 2 : 3;
    const body = rows.map(([name, answer, sure]) => html("tr", { "data-name": name }, ...[html("th", { scope: "row" }, name), html("td", { "data-answer": answer }, answer), html("td", {}, sure)].slice(0, columns)));
    const heads = ["network", "answer", "how sure"].slice(0, columns).map((name) => html("th", { scope: "col" }, name));
    this.table.replaceChildren(html("table", { class: "answers" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...body)));
    this.numbers(word);
  }

  answer(word, truth, live) {
    if (!word.length) return ["", ""];
    if (word.length > live.longest) return ["too long for it", ""];
    const found = live.answer(word);
    if (!found) return ["its numbers overflow", ""];
    const mark = truth === NO_ANSWER ? "" : found.name === truth ? "✓ " : "✗ ";
    return [`${mark}${found.name}`, live.sure(found) ?? "not trained"];
  }

  // The numbers of the last node, as a row of bars.
  numbers(word) {
    this.strip.replaceChildren();
    if (!word.length) return;
    const { states, node } = [...this.networks[0].live.model.levelsOf(word)].pop();
    const numbers = Array.from(states[node[node.length - 1]]);
    const most = Math.max(...numbers.map(Math.abs)) || 1;
    const [width, half] = [8, 30];
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)].map((number) => number.toFixed(2).replace("-0.00", "0.00"));
    const label = `The ${numbers.length} numbers of the last node, from ${low} to ${high}`;
    const bars = numbers.map((number, i) => {
      const height = (half * Math.abs(number)) / most;
      const bar = svg("rect", { class: number < 0 ? "minus" : "plus", x: i * width, y: number < 0 ? half : half - height, width: width - 1, height });
      bar.append(svg("title", {}, number.toFixed(3)));
      return bar;
    });
    const picture = svg("svg", { viewBox: `0 0 ${numbers.length * width} ${2 * half}`, role: "img", "aria-label": label, preserveAspectRatio: "none" });
    picture.append(svg("line", { x1: 0, x2: numbers.length * width, y1: half, y2: half }), ...bars);
    this.strip.append(picture, html("p", { class: "caption" }, `${label}.`));
  }

  // Many long words, a few at a time, so that the page stays alive.
  long() {
    const longest = Math.min(MOST_TYPED, ...this.networks.map(({ live }) => live.longest));
    const length = wholeNumber(this.length.value, longest);
    if (length === null) {
      this.running = null;
      this.said.replaceChildren(html("p", { class: "problem" }, `Here a length is a whole number from 1 to ${longest}.`));
      return;
    }
    const counts = this.networks.map(({ name, live }) => ({ name, live, right: 0, wrong: null }));
    // With brackets the words came with the page: each of them is tried once.
    const words = this.lesson.nesting ? samplesOf(this.lesson, length).slice(0, LONG_WORDS) : null;
    const most = words ? words.length : LONG_WORDS;
    const mine = Symbol("long");
    this.running = mine;
    const some = (tried) => {
      if (mine !== this.running) return;
      const next = Math.min(most, tried + AT_ONCE);
      for (let i = tried; i < next; i += 1) this.try(words ? words[i] : anyWord(length, this.lesson), counts);
      this.report(counts, next, words ? words[0].length : length);
      if (next < most) setTimeout(() => some(next));
      else this.done();
    };
    some(0);
  }

  try(word, counts) {
    const truth = answerOf(word, this.lesson);
    for (const count of counts) {
      if (count.live.answer(word)?.name === truth) count.right += 1;
      else count.wrong ??= word;
    }
  }

  report(counts, tried, length) {
    const lines = counts.map(({ name, right, wrong }) => {
      const line = html("p", { "data-name": name, "data-right": right, "data-tried": tried }, `${name}: right on ${right} of ${tried} words of length ${length}.`);
      if (wrong) line.append(" ", action("Show a wrong one", () => this.field.set(wrong)));
      return line;
    });
    this.said.replaceChildren(...lines);
  }
}
