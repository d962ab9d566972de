// Step 3: two words, and where each leads from every state.

class MonoidStep {
  constructor(place, lesson, done) {
    Object.assign(this, { lesson, done, met: new Set() });
    this.fields = ["First word", "Second word"].map((label) => new WordField(lesson, label, () => this.show()));
    this.table = html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Where both words lead" });
    this.verdict = html("p", { class: "said", "aria-live": "polite" });
    this.elements = html("p", { class: "elements" });
    place.append(...this.fields.map((field) => field.place), this.table, this.verdict, this.elements);
    const [one, other] = lesson.nesting ? this.different(samplesOf(lesson, 4)) : [[0], [lesson.alphabet.length - 1]];
    this.fields[0].set(one);
    this.fields[1].set(other);
    this.begun = true;
    this.show();
  }

  // The first of some words, and one that does something else.
  different([one, ...others]) {
    return [one, others.find((other) => element(other, this.lesson) !== element(one, this.lesson)) ?? []];
  }

  // Where a word leads from a state.
  end(state, word) {
    const states = passed(word, { ...this.lesson, initial: state });
    return states[states.length - 1];
  }

  show() {
    if (!this.begun) return; // one word is there before the other
    const { lesson } = this;
    const [u, v] = this.fields.map((field) => field.word);
    const heads = ["from", ...[u, v].map((word) => short(write(word, lesson.alphabet), 10) || "ε")].map((name) => html("th", { scope: "col" }, name));
    const ends = lesson.states.map((_, q) => [this.end(q, u), this.end(q, v)]);
    const rows = ends.map(([p, q], state) => html("tr", { class: p === q ? "same" : "other" }, html("th", { scope: "row" }, stateName(state, lesson)), html("td", {}, stateName(p, lesson)), html("td", {}, `${stateName(q, lesson)} ${p === q ? "=" : "≠"}`)));
    this.table.replaceChildren(html("table", { class: "ends" }, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows)));
    this.say(u, v, ends);
    this.count([u, v]);
  }

  say(u, v, ends) {
    const { lesson } = this;
    const apart = ends.findIndex(([p, q]) => p !== q);
    const alike = write(u, lesson.alphabet) === write(v, lesson.alphabet);
    const shown = `${short(write(u, lesson.alphabet), 12) || "ε"} and ${short(write(v, lesson.alphabet), 12) || "ε"}`;
    if (lesson.nesting && !alike) {
      this.sayNested(u, v, apart, shown);
    } else if (apart >= 0) {
      const [p, q] = ends[apart].map((state) => stateName(state, lesson));
      this.verdict.textContent = `✗ They differ: from ${stateName(apart, lesson)} one leads to ${p}, the other to ${q}.`;
    } else if (alike) {
      this.verdict.textContent = "This is one word twice: change one of them.";
    } else {
      this.verdict.textContent = `✓ ${shown} do the same: their monoid element is ${elementName(element(u, lesson), lesson)}.`;
      this.done();
    }
  }

  // Along brackets states may differ though no answer ever does, and be alike though what is open is not.
  sayNested(u, v, apart, shown) {
    const { lesson } = this;
    const same = element(u, lesson) === element(v, lesson);
    const states = apart >= 0 && same ? " That they lead to different states changes no answer." : "";
    this.verdict.textContent = same ? `✓ ${shown} do the same: their element is ${elementName(element(u, lesson), lesson)}.${states}` : `✗ They differ: one is ${elementName(element(u, lesson), lesson)}, the other ${elementName(element(v, lesson), lesson)}. Some longer word changes its answer.`;
    if (same) this.done();
  }

  count(words) {
    const { lesson, met } = this;
    words.forEach((word) => met.add(element(word, lesson)));
    const chips = [...met].sort((a, b) => a - b).map((e) => chip(e, lesson));
    const [names, size] = lesson.nesting ? ["Elements", lesson.elements.right.length] : ["Monoid elements", lesson.elements.words.length];
    this.elements.replaceChildren(`${names} that you have met: `, ...chips, ` ${met.size} of ${size}.`);
  }
}
