// Machines from elsewhere: one to start from, a regular expression, the project's JSON, a file of JFLAP's; and both kinds
// of files to take along.

import { EMPTY } from "./edits.js";
import { fromExpression } from "./expression.js";
import { fromJflap, toJflap } from "./jflap.js";
import { fromJson, toJson } from "./machine_json.js";
import { hasStack } from "./nested_machine.js";
import { STARTERS } from "./starters.js";

// A machine with a stack has long labels: its states stand twice as far apart.
function spread({ drawn, problem }) {
  if (!drawn || !hasStack(drawn)) return { drawn, problem };
  return { problem, drawn: { ...drawn, states: drawn.states.map((state) => ({ ...state, x: 2 * state.x, y: 2 * state.y })) } };
}

// What a file says, in either form.
const fromFile = (text) => (text.trimStart().startsWith("<") ? fromJflap(text) : spread(fromJson(text)));

const EMPTY_PLANE = { title: "An empty plane", says: "", drawn: EMPTY };

export class Exchange {
  constructor(editor) {
    this.editor = editor;
    this.problem = html("p", { class: "problem", role: "alert" });
    this.start = html("div", { class: "begin" }, this.starters(), this.expression());
    this.files = this.texts();
  }

  // What was read, or why it is no machine, beside what was read.
  take({ drawn, problem }, place, says = "", at = "") {
    this.problem.textContent = problem;
    place.after(this.problem);
    const draw = () => {
      this.problem.textContent = "";
      this.editor.load(drawn);
      if (says) this.editor.findings.say(says);
      Object.assign(this, { begun: this.editor.drawn, at });
      this.show();
    };
    if (drawn && this.isLearned) this.ask(draw);
    else if (drawn) draw();
  }

  get isLearned() {
    return !["none", undefined].includes(this.editor.bench.training);
  }

  // Whoever has trained a network is asked first.
  ask(draw) {
    const stay = () => {
      this.problem.textContent = "";
      this.show();
    };
    this.problem.append("The networks of this machine stay behind. ↶ brings them back. ", action("Draw the other machine", draw), " ", action("Stay here", stay));
  }

  starters() {
    const all = [EMPTY_PLANE, ...STARTERS];
    const options = [html("option", { value: "" }, "Start from …"), ...all.map(({ title, seconds }, i) => html("option", { value: i }, seconds ? `${title} (about ${seconds} s)` : title))];
    this.chosen = html("select", { "aria-label": "Start from" }, ...options);
    this.chosen.addEventListener("change", () => {
      if (this.chosen.value === "") return;
      const at = this.chosen.value;
      this.take({ drawn: all[at].drawn, problem: "" }, this.chosen, all[at].says, at);
    });
    return this.chosen;
  }

  expression() {
    const input = html("input", { type: "text", placeholder: "or write (ab)*", "aria-label": "Regular expression", autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
    const form = html("form", {}, input, html("button", { type: "submit" }, "Draw it"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.take(fromExpression(input.value), form);
    });
    return form;
  }

  texts() {
    this.text = html("textarea", { "aria-label": "The machine as JSON", rows: 8, spellcheck: "false" });
    const file = html("input", { type: "file", accept: ".json,.jff", "aria-label": "Open a file", hidden: "" });
    file.addEventListener("change", async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      this.take(fromFile(await chosen.text()), tools);
      file.value = "";
    });
    const tools = html("div", { class: "tools" },
      action("Draw this text", () => this.take(fromFile(this.text.value), tools)),
      action("Open a file", () => file.click()),
      action("Save as a file", () => save(new Blob([this.text.value], { type: "application/json" }), "automaton.json")),
      action("Save for JFLAP", () => this.jflap(tools)), file);
    const made = html("details", { class: "files" }, html("summary", {}, "As a file"), this.text, tools);
    made.addEventListener("toggle", () => this.show());
    return made;
  }

  jflap(place) {
    const { text, problem } = toJflap(this.editor.drawn);
    this.take({ problem }, place);
    if (text) save(new Blob([text]), "automaton.jff");
  }

  // The text is that of the machine, unless someone writes in it.
  show() {
    this.chosen.value = this.editor.drawn === this.begun ? this.at : "";
    if (!this.files?.open || document.activeElement === this.text) return;
    const { text, problem } = toJson(this.editor.drawn);
    this.text.value = text ?? "";
    this.text.placeholder = problem;
  }
}
