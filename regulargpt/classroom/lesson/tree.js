// Step 4: merge neighbours, in any order.

const FIRST_LENGTH = 6;

class TreeStep {
  constructor(place, lesson, done) {
    Object.assign(this, { lesson, done, before: null });
    this.row = html("div", { class: "merging" });
    this.said = html("p", { class: "said", "aria-live": "polite" });
    const tools = html(
      "div",
      { class: "tools" },
      action("Merge a level", () => this.level()),
      action("Begin again", () => this.begin(this.word)),
      action("Another word", () => this.another()),
    );
    place.append(this.row, tools, this.said);
    this.another();
  }

  another() {
    this.before = null;
    this.begin(anyWord(FIRST_LENGTH, this.lesson));
  }

  begin(word) {
    const { lesson } = this;
    Object.assign(this, { word, merges: [], levels: 0 });
    this.parts = word.map((a) => ({ element: lesson.elements.right[0][a], text: lesson.alphabet[a], shape: lesson.alphabet[a] }));
    this.draw(null);
    this.said.textContent = `${word.length} symbols, ${word.length - 1} merges.`;
  }

  // Brackets say what was merged; where they are symbols, others do.
  together(left, right) {
    const [open, close] = this.lesson.alphabet.includes("(") ? "⟨⟩" : "()";
    const space = this.lesson.alphabet.every((symbol) => [...symbol].length === 1) ? "" : " ";
    return { element: this.lesson.table[left.element][right.element], text: left.text + space + right.text, shape: open + left.shape + space + right.shape + close };
  }

  merge(i) {
    const [left, right] = this.parts.slice(i, i + 2);
    const made = this.together(left, right);
    this.parts.splice(i, 2, made);
    this.merges.push(made);
    this.draw(Math.min(i, this.parts.length - 2));
    this.say([left, right, made]);
  }

  // As the network does: groups of C from the right end.
  level() {
    if (this.parts.length < 2) return;
    const { chunk_size: C } = this.lesson.network;
    const made = [];
    for (let end = this.parts.length; end > 0; end -= C) made.unshift(this.parts.slice(Math.max(0, end - C), end).reduce((left, right) => this.together(left, right)));
    this.parts = made;
    this.levels += 1;
    this.draw(null);
    this.say(null);
  }

  say(merge) {
    const { lesson } = this;
    const step = merge ? `${merge[0].text} and ${merge[1].text} make ${elementName(merge[2].element, lesson)}. ` : `Level ${this.levels}: ${this.parts.length} ${this.parts.length === 1 ? "part is" : "parts are"} left. `;
    this.said.textContent = step + (this.parts.length > 1 ? "" : this.end());
  }

  end() {
    const { lesson, before } = this;
    const [{ element, shape }] = this.parts;
    const state = this.word.reduce((q, a) => lesson.delta[q][a], lesson.initial);
    const again = before && before !== shape ? " In another order it was the same." : "";
    this.before = shape;
    this.done();
    return `The monoid element of the whole word is ${elementName(element, lesson)}, merged as ${short(shape, 60)}.${again} Its answer: ${lesson.outputs[state] ?? NO_ANSWER}.`;
  }

  // The chips, with a gap to press between neighbours; `at` is the gap that gets the focus.
  draw(at) {
    const { lesson, parts } = this;
    const shown = parts.flatMap((part, i) => {
      const made = chip(part.element, lesson, part.text);
      if (i === 0) return [made];
      const gap = action("⋈", () => this.merge(i - 1), { class: "gap", "aria-label": `merge ${parts[i - 1].text} and ${part.text}` });
      return [gap, made];
    });
    this.row.replaceChildren(...shown);
    if (at !== null) this.row.querySelectorAll(".gap")[at]?.focus();
  }
}
