// The editor: a machine is drawn, and what it is stands beside it.

import { Canvas } from "./canvas.js";
import { EMPTY, History, answered, changed, endsOf, has, partsOf, same, textOf, tidy, withParts, without } from "./edits.js";
import { Exchange } from "./exchange.js";
import { Field } from "./field.js";
import { Findings, lookOf } from "./findings.js";
import { Listing } from "./listing.js";
import { languageOf } from "./machine.js";
import { StepsPanel } from "./steps_panel.js";

const HOW = "Click: a state. Drag from a state: an arrow. Drag its rim, or with Shift: it moves. Double click: it accepts. Click an arrow: its symbols. Orange: where the word leads.";
const KEYS = "Tab leads to each state and arrow. N adds a state. A begins an arrow, Enter on a state ends it there, N at a new one. Enter edits a name or symbols. Space gives the next answer. S marks the start. Arrow keys move a state. Delete deletes. An arrow with ε, or \\e, reads nothing. An arrow may use a stack: ( / push x; ) / pop x.";

const sign = (shown, name, act) => action(shown, act, { "aria-label": name, title: name });

export class EditorPanel {
  constructor(place, bench) {
    Object.assign(this, { place, bench, heard: bench.drawn, history: new History(tidy(bench.drawn ?? EMPTY)), chosen: null, origin: null, look: {} });
    place.classList.add("editor");
    this.canvas = new Canvas(this, "editor-keys");
    this.field = new Field(this.canvas.place);
    this.findings = new Findings();
    this.listing = new Listing(this);
    this.steps = new StepsPanel(this);
    this.exchange = new Exchange(this);
    const keys = html("details", {}, html("summary", {}, "Keys, ε, and a stack"), html("p", { id: "editor-keys" }, KEYS));
    const how = html("div", { class: "how" }, html("p", {}, HOW), keys);
    const desk = html("div", { class: "desk" }, html("div", {}, this.tools(), this.canvas.place, this.steps.place), this.findings.place, how);
    place.append(this.exchange.start, desk, this.listing.place, this.exchange.files);
    place.addEventListener("keydown", (event) => this.type(event));
    bench.on("language", () => this.hear());
    bench.on("word", () => this.canvas.drag || this.canvas.draw());
    this.show();
    if (!bench.drawn) this.tell();
  }

  get drawn() {
    return this.history.now;
  }

  get isMoving() {
    return this.buttons.Move.getAttribute("aria-pressed") === "true";
  }

  // The buttons above the plane; the last ones are for the part that is chosen.
  tools() {
    const act = (edit, isKept = true) => () => this.do(edit(this.chosen), isKept ? this.chosen : null);
    this.buttons = {
      Undo: sign("↶", "Undo", () => this.step("undo")),
      Redo: sign("↷", "Redo", () => this.step("redo")),
      Move: action("Move", () => this.buttons.Move.setAttribute("aria-pressed", String(!this.isMoving)), { "aria-pressed": "false" }),
      Answer: action("Accept", act((key) => answered(this.drawn, Number(key)))),
      Start: action("Start", act((key) => ({ ...this.drawn, initial: Number(key) }))),
      Edit: sign("✎", "Edit the name or the symbols", () => this.edit(this.chosen)),
      Delete: sign("✕", "Delete", act((key) => without(this.drawn, key), false)),
    };
    return html("div", { class: "tools", role: "group", "aria-label": "Tools" }, ...Object.values(this.buttons));
  }

  // An edit, and what is chosen then.
  do(next, chosen) {
    this.history.do(next);
    this.after(chosen);
  }

  step(way) {
    this.field.close();
    this.history[way]();
    this.after(this.chosen);
  }

  // Another machine, from a file or an expression.
  load(drawn) {
    this.field.close();
    this.history.do(tidy(drawn));
    this.after(null, true);
  }

  after(chosen, isFitted = false) {
    const isInside = this.canvas.svg.contains(document.activeElement);
    this.chosen = chosen !== null && has(this.drawn, chosen) ? chosen : null;
    this.origin = null;
    this.show(isFitted);
    if (isInside || document.activeElement.disabled) this.canvas.focus(this.chosen);
    this.tell();
  }

  choose(key) {
    this.chosen = key;
    this.canvas.draw();
    this.enable();
    this.canvas.focus(key);
  }

  // An arrow begins at a state, for the keyboard; null ends that.
  begin(key) {
    this.origin = key;
    this.canvas.draw();
    if (key !== null) this.findings.say(`An arrow begins at ${this.drawn.states[key].name}: Enter on a state ends it there, N at a new one, Escape drops it.`);
  }

  // Ask for an arrow's symbols or a state's name. An arrow that `isNew` goes if they are not wanted.
  edit(key, isNew = false) {
    this.choose(key);
    const ends = endsOf(key);
    const named = (q) => this.drawn.states[q].name;
    const box = this.canvas.at(key).querySelector("text").getBoundingClientRect();
    const name = ends ? `Symbols of the arrow from ${named(ends[0])} to ${named(ends[1])}` : `Name of the state ${named(key)}`;
    const value = ends ? textOf(this.drawn, key) : named(key);
    this.field.open({ x: box.x + box.width / 2, y: box.y + box.height / 2 }, name, value, (text, isByKey) => {
      const { history, drawn } = this;
      const before = isNew ? history.past.at(-1) : drawn;
      if (text === null && isNew) history.undo();
      else if (text !== null && text !== value) history[isNew ? "amend" : "do"](ends ? withParts(drawn, ends, partsOf(text, drawn.alphabet), before) : this.named(key, text));
      this.after(key);
      if (isByKey) this.canvas.focus(this.chosen);
    });
  }

  // A state with another name, unless that is another state's.
  named(key, text) {
    const name = text.trim();
    const isTaken = this.drawn.states.some((state, q) => state.name === name && q !== Number(key));
    if (name && !isTaken) return changed(this.drawn, Number(key), { name });
    this.findings.say(name ? `There is a state ${name} already. Choose another name.` : "A state needs a name. It keeps the one it had.");
    return this.drawn;
  }

  show(isFitted = false) {
    this.canvas.drag = null;
    const isOther = this.examined !== this.drawn;
    if (isOther) this.examine();
    if (isOther) this.steps.show();
    this.canvas.draw(isFitted);
    this.listing.show();
    this.exchange.show();
    this.enable();
  }

  examine() {
    this.examined = this.drawn;
    this.found = languageOf(this.drawn);
    this.look = lookOf(this.drawn, this.found);
    this.findings.show(this.drawn, this.found);
  }

  enable() {
    const { buttons, history, chosen } = this;
    buttons.Undo.disabled = !history.past.length;
    buttons.Redo.disabled = !history.future.length;
    for (const name of ["Edit", "Delete"]) buttons[name].disabled = chosen === null;
    for (const name of ["Answer", "Start"]) buttons[name].disabled = chosen === null || Boolean(endsOf(chosen));
    buttons.Answer.textContent = this.drawn.outputs.includes("accept") ? "Accept" : "Answer";
  }

  // Only another language is news: who moves a state does not lose what is learned.
  tell() {
    const { bench, drawn, found: { language, problem } } = this;
    const unnamed = (found) => found && { ...found, states: null };
    this.heard = drawn;
    if (bench.drawn && problem === bench.problem && same(unnamed(language), unnamed(bench.language))) bench.drawn = drawn;
    else bench.set.language(drawn);
  }

  // Someone else has set a machine.
  hear() {
    if (this.bench.drawn === this.heard || !this.bench.drawn) return;
    this.field.drop();
    this.heard = this.bench.drawn;
    this.history.do(tidy(this.bench.drawn));
    Object.assign(this, { chosen: null, origin: null });
    this.show(true);
  }

  type(event) {
    if (!(event.ctrlKey || event.metaKey) || event.target.matches("input, textarea")) return;
    const way = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
    if (!way) return;
    event.preventDefault();
    this.step(way);
  }
}
