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
    this.parts = lesson.nesting ? this.nestedParts(word) : word.map((a) => ({ element: lesson.elements.right[0][a], text: lesson.alphabet[a], shape: lesson.alphabet[a] }));
    this.draw(null);
    this.said.textContent = lesson.nesting ? `${word.length} symbols.` : `${word.length} symbols, ${word.length - 1} merges.`;
  }

  // A bracket with a partner is no element yet: it waits until one is left inside.
  nestedParts(word) {
    const { alphabet, elements, nesting } = this.lesson;
    const partner = modules["regulargpt/models/tree/nested.js"].partners(word, nesting.direction);
    return word.map((a, i) => ({ element: partner[i] < 0 ? elements.letter[a] : null, symbol: a, text: alphabet[a], shape: alphabet[a] }));
  }

  // How many parts the gap behind part i brings together: two neighbours, a pair with one element inside or with none.
  mergedAt(i, parts = this.parts) {
    if (!this.lesson.nesting) return 2;
    if (i + 1 >= parts.length) return 0;
    const isBracket = (at, kind) => parts[at]?.element === null && this.lesson.nesting.direction[parts[at].symbol] === kind;
    if (!isBracket(i, 1)) return parts[i].element !== null && parts[i + 1].element !== null ? 2 : 0;
    if (isBracket(i + 1, -1)) return 2;
    return parts[i + 1].element !== null && isBracket(i + 2, -1) ? 3 : 0;
  }

  // A call, what is inside, and the return as one.
  closed(call, inside, close) {
    const { elements, nesting } = this.lesson;
    const parts = inside ? [call, inside, close] : [call, close];
    const element = elements.wrap[inside?.element ?? 0][nesting.place[call.symbol]][nesting.place[close.symbol]];
    const space = this.lesson.alphabet.every((symbol) => [...symbol].length === 1) ? "" : " ";
    return { element, text: parts.map(({ text }) => text).join(space), shape: parts.map(({ shape }) => shape).join(space) };
  }

  // Parts that are merged, as one.
  made(parts) {
    return parts[0].element === null ? this.closed(parts[0], parts.length === 3 ? parts[1] : null, parts[parts.length - 1]) : this.together(...parts);
  }

  // Brackets say what was merged; where they are symbols, others do.
  together(left, right) {
    const [open, close] = this.lesson.alphabet.includes("(") ? "⟨⟩" : "()";
    const space = this.lesson.alphabet.every((symbol) => [...symbol].length === 1) ? "" : " ";
    return { element: this.lesson.table[left.element][right.element], text: left.text + space + right.text, shape: open + left.shape + space + right.shape + close };
  }

  merge(i) {
    const merged = this.parts.slice(i, i + this.mergedAt(i));
    const made = this.made(merged);
    this.parts.splice(i, merged.length, made);
    this.merges.push(made);
    this.draw(Math.min(i, this.parts.length - 2));
    this.say([...merged, made]);
  }

  // As the network does: groups of C from the right end.
  level() {
    if (this.parts.length < 2) return;
    const { chunk_size: C } = this.lesson.network;
    if (this.lesson.nesting) return this.nestedLevel(C);
    const made = [];
    for (let end = this.parts.length; end > 0; end -= C) made.unshift(this.parts.slice(Math.max(0, end - C), end).reduce((left, right) => this.together(left, right)));
    return this.after(made);
  }

  after(made) {
    this.parts = made;
    this.levels += 1;
    this.draw(null);
    this.say(null);
  }

  // The same in each row between brackets; where one element or none is left inside, the pair becomes one.
  nestedLevel(C) {
    const made = [];
    for (let i = 0; i < this.parts.length; ) {
      const count = this.mergedAt(i, this.parts);
      if (this.parts[i].element === null) {
        made.push(count ? this.made(this.parts.slice(i, i + count)) : this.parts[i]);
        i += count || 1;
        continue;
      }
      const row = this.parts.slice(i).findIndex(({ element }) => element === null);
      const items = this.parts.slice(i, row < 0 ? undefined : i + row);
      for (let from = 0, to = items.length % C || C; from < items.length; from = to, to += C) made.push(items.slice(from, to).reduce((left, right) => this.together(left, right)));
      i += items.length;
    }
    return this.after(made);
  }

  say(merge) {
    const { lesson } = this;
    const step = merge ? `${merge.slice(0, -1).map(({ text }) => text).join(" and ")} make ${elementName(merge[merge.length - 1].element, lesson)}. ` : `Level ${this.levels}: ${this.parts.length} ${this.parts.length === 1 ? "part is" : "parts are"} left. `;
    this.said.textContent = step + (this.parts.length > 1 ? "" : this.end());
  }

  end() {
    const { lesson, before } = this;
    const [{ element, shape }] = this.parts;
    const state = passed(this.word, lesson).pop();
    const again = before && before !== shape ? " In another order it was the same." : "";
    this.before = shape;
    this.done();
    return `The ${lesson.elements.noun ?? "monoid element"} of the whole word is ${elementName(element, lesson)}, merged as ${short(shape, 60)}.${again} Its answer: ${lesson.outputs[state] ?? NO_ANSWER}.`;
  }

  // The chips, with a gap to press between neighbours; `at` is the gap that gets the focus.
  draw(at) {
    const { lesson, parts } = this;
    const shown = parts.flatMap((part, i) => {
      const made = part.element === null ? html("span", { class: "chip waiting" }, html("b", {}, part.text)) : chip(part.element, lesson, part.text);
      if (i === 0 || !this.mergedAt(i - 1)) return [made];
      const gap = action("⋈", () => this.merge(i - 1), { class: "gap", "aria-label": `merge ${parts[i - 1].text} and ${part.text}` });
      return [gap, made];
    });
    this.row.replaceChildren(...shown);
    if (at !== null) this.row.querySelectorAll(".gap")[at]?.focus();
  }
}
