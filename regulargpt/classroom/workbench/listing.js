// The machine as a list: everything that can be done on the plane, by fields and buttons.

import { changed, endsOf, has, keysOf, likely, partsOf, textOf, withAlphabet, withOutputs, withParts, withState, without } from "./edits.js";

export class Listing {
  constructor(editor) {
    this.editor = editor;
    this.states = html("div", { class: "scroll" });
    this.arrows = html("div", { class: "scroll" });
    this.alphabet = this.names("Symbols", () => this.drawn.alphabet, (names) => withAlphabet(this.drawn, names));
    this.outputs = this.names("Answers", () => this.drawn.outputs, (names) => this.answers(names));
    this.adding = html("div", { class: "tools" });
    const all = html("div", { class: "tools" }, ...this.alphabet.parts, ...this.outputs.parts);
    this.place = html("details", { class: "listing" }, html("summary", {}, "The machine as a list"), all, this.adding, html("div", { class: "lists" }, this.states, this.arrows));
    this.place.addEventListener("toggle", () => this.show());
  }

  get drawn() {
    return this.editor.drawn;
  }

  do(next) {
    this.editor.do(next, this.editor.chosen);
  }

  // A field with all symbols or answers, in their order.
  names(label, get, edit) {
    const input = this.input(`All ${label.toLowerCase()}`, "", (text) => this.do(edit([...new Set(text.split(/[\s,]+/u).filter((name) => name))])));
    return { input, parts: [html("label", {}, `${label} `, input)], show: () => { input.value = get().join(" "); } };
  }

  answers(names) {
    if (names.length > 1) return withOutputs(this.drawn, names);
    this.editor.findings.say("A machine needs two answers at least. It keeps those it had.");
    return this.drawn;
  }

  input(name, value, done) {
    const made = html("input", { type: "text", "aria-label": name, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    made.value = value;
    made.addEventListener("change", () => {
      this.listed = null;
      done(made.value);
      this.show();
    });
    return made;
  }

  // A list of which one is chosen.
  select(name, names, chosen, done) {
    const made = html("select", { "aria-label": name }, ...names.map((words, i) => html("option", { value: i }, words)));
    made.value = String(chosen);
    made.addEventListener("change", () => done(Number(made.value)));
    return made;
  }

  // The rows are made again only if what they list is another: a field that has the focus keeps it.
  show() {
    if (!this.place.open) return;
    this.alphabet.show();
    this.outputs.show();
    const { states, arrows, outputs, alphabet, initial } = this.drawn;
    const listed = JSON.stringify([states.map(({ name, output }) => [name, output]), arrows, outputs, alphabet, initial]);
    if (listed === this.listed) return;
    this.listed = listed;
    requestAnimationFrame(() => this.list());
  }

  list() {
    const at = this.place.contains(document.activeElement) ? document.activeElement.dataset.at : undefined;
    this.adding.replaceChildren(...this.newParts());
    this.states.replaceChildren(table("States", ["name", "start", "answer", ""], this.drawn.states.map((_, q) => this.stateRow(q))));
    this.arrows.replaceChildren(table("Arrows", ["arrow", "symbols", ""], keysOf(this.drawn).map((key) => this.arrowRow(key))));
    if (at) (this.place.querySelector(`[data-at="${at}"]`) ?? this.place.querySelector("summary")).focus();
  }

  stateRow(q) {
    const { states, initial, outputs } = this.drawn;
    const { name, output } = states[q];
    const start = html("input", { type: "radio", name: "editor-start", "aria-label": `${name} is the start` });
    start.checked = q === initial;
    start.addEventListener("change", () => this.do({ ...this.drawn, initial: q }));
    return this.row(String(q), [
      this.input(`Name of ${name}`, name, (text) => this.do(this.editor.named(q, text))),
      start,
      this.select(`Answer at ${name}`, outputs, output, (next) => this.do(changed(this.drawn, q, { output: next }))),
      action("Delete", () => this.do(without(this.drawn, String(q))), { "aria-label": `Delete the state ${name}` }),
    ]);
  }

  arrowRow(key) {
    const [from, to] = endsOf(key).map((q) => this.drawn.states[q].name);
    const what = `the arrow from ${from} to ${to}`;
    const row = this.row(key, [
      this.input(`Symbols of ${what}`, textOf(this.drawn, key), (text) => this.do(withParts(this.drawn, endsOf(key), partsOf(text, this.drawn.alphabet)))),
      action("Delete", () => this.do(without(this.drawn, key)), { "aria-label": `Delete ${what}` }),
    ]);
    row.prepend(html("th", { scope: "row" }, `${from} → ${to}`));
    return row;
  }

  // Buttons for a new state, and for a new arrow between two states that are chosen.
  newParts() {
    const names = this.drawn.states.map(({ name }) => name);
    const [from, to] = ["From", "To"].map((name) => this.select(name, names, 0, () => {}));
    const add = () => {
      const ends = [from.value, to.value].map(Number);
      if (!has(this.drawn, ends.join("-"))) this.do(withParts(this.drawn, ends, [likely(this.drawn, ends[0])]));
      this.goTo(`${ends.join("-")}:0`);
    };
    const parts = [action("Add a state", () => this.addState()), ...(names.length ? [action("Add an arrow", add), from, to] : [])];
    return this.placed("new", parts);
  }

  row(key, controls) {
    return html("tr", {}, ...this.placed(key, controls).map((control) => html("td", {}, control)));
  }

  // Controls that are known again when they are made again.
  placed(key, controls) {
    controls.forEach((control, i) => { control.dataset.at = `${key}:${i}`; });
    return controls;
  }

  addState() {
    this.do(withState(this.drawn, this.editor.canvas.room()));
    this.goTo(`${this.drawn.states.length - 1}:0`);
  }

  // To a control, once the rows are there.
  goTo(at) {
    requestAnimationFrame(() => this.place.querySelector(`[data-at="${at}"]`)?.focus());
  }
}

// A table with a caption; a head without a name is no head.
export function table(caption, heads, rows) {
  const head = html("tr", {}, ...heads.map((name) => (name ? html("th", { scope: "col" }, name) : html("td", {}))));
  return html("table", {}, html("caption", {}, caption), html("thead", {}, head), html("tbody", {}, ...rows));
}
