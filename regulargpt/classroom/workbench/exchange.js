// Machines from elsewhere: one to start from, a regular expression, the project's JSON; and the JSON to take along.

import { EMPTY } from "./edits.js";
import { fromExpression } from "./expression.js";
import { fromJson, toJson } from "./machine_json.js";
import { hasStack } from "./nested_machine.js";
import { STARTERS } from "./starters.js";

// A machine with a stack has long labels: its states stand twice as far apart.
function spread({ drawn, problem }) {
  if (!drawn || !hasStack(drawn)) return { drawn, problem };
  return { problem, drawn: { ...drawn, states: drawn.states.map((state) => ({ ...state, x: 2 * state.x, y: 2 * state.y })) } };
}

const EMPTY_PLANE = { title: "An empty plane", says: "", drawn: EMPTY };

export class Exchange {
  constructor(editor) {
    this.editor = editor;
    this.problem = html("p", { class: "problem", role: "alert" });
    this.start = html("div", { class: "begin" }, this.starters(), this.expression());
    this.files = this.texts();
  }

  // What was read, or why it is no machine, beside what was read.
  take({ drawn, problem }, place, says = "") {
    this.problem.textContent = problem;
    place.after(this.problem);
    if (!drawn) return;
    this.editor.load(drawn);
    if (says) this.editor.findings.say(says);
  }

  starters() {
    const all = [EMPTY_PLANE, ...STARTERS];
    const options = [html("option", { value: "" }, "Start from …"), ...all.map(({ title }, i) => html("option", { value: i }, title))];
    this.chosen = html("select", { "aria-label": "Start from" }, ...options);
    this.chosen.addEventListener("change", () => {
      if (this.chosen.value === "") return;
      const at = this.chosen.value;
      this.take({ drawn: all[at].drawn, problem: "" }, this.chosen, all[at].says);
      this.begun = this.editor.drawn;
      this.chosen.value = at;
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
    const file = html("input", { type: "file", accept: ".json,application/json", "aria-label": "Open a file", hidden: "" });
    file.addEventListener("change", async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      this.take(spread(fromJson(await chosen.text())), tools);
      file.value = "";
    });
    const tools = html("div", { class: "tools" },
      action("Draw this text", () => this.take(spread(fromJson(this.text.value)), tools)),
      action("Open a file", () => file.click()),
      action("Save as a file", () => save(new Blob([this.text.value], { type: "application/json" }), "automaton.json")), file);
    const made = html("details", { class: "files" }, html("summary", {}, "As a file"), this.text, tools);
    made.addEventListener("toggle", () => this.show());
    return made;
  }

  // The text is that of the machine, unless someone writes in it.
  show() {
    if (this.editor.drawn !== this.begun) this.chosen.value = "";
    if (!this.files?.open || document.activeElement === this.text) return;
    const { text, problem } = toJson(this.editor.drawn);
    this.text.value = text ?? "";
    this.text.placeholder = problem;
  }
}
