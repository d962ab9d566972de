// Below the plane: a machine made deterministic, or the smallest, step by step; the plane shows what each step looks at.

import { picture } from "./drawing.js";
import { isDeterministic, isSmallest } from "./findings.js";
import { table } from "./listing.js";
import { tried } from "./refusal.js";
import { mergeSteps, subsetSteps } from "./steps.js";

const SUBSETS = [subsetSteps, "Make it deterministic, step by step"];
const MERGE = [mergeSteps, "Make it the smallest, step by step"];

export class StepsPanel {
  constructor(editor) {
    Object.assign(this, { editor, isOwn: false });
    this.tools = html("div", { class: "tools" });
    this.said = html("div", { role: "status" });
    this.shown = html("div", { class: "stepped", tabindex: 0, role: "group", "aria-label": "The step's table and machine" });
    this.place = html("section", { class: "steps", "aria-label": "Step by step" }, this.tools, this.said, this.shown);
    this.end();
  }

  // Another machine is on the plane: what may be done with it.
  show() {
    if (!this.isOwn) this.end();
  }

  end() {
    Object.assign(this, { left: [], keys: null, taken: false });
    for (const place of [this.said, this.shown]) place.replaceChildren();
    this.tools.replaceChildren(...this.offers());
  }

  // A button for what is not done yet.
  offers() {
    const { found, drawn } = this.editor;
    if (!found?.language || found.language.nesting || (isDeterministic(drawn) && isSmallest(drawn, found))) return [];
    const [make, words] = isDeterministic(drawn) ? MERGE : SUBSETS;
    return [action(words, () => this.begin(make))];
  }

  begin(make) {
    this.end();
    const { found, problem } = tried("found", () => [...make(this.editor.drawn)]);
    if (problem) return this.said.replaceChildren(html("p", { class: "problem" }, problem));
    this.left = found;
    this.tools.replaceChildren(action("Next step", () => this.step()), action("To the end", () => this.all()), action("Stop here", () => this.stop()));
    this.tools.querySelector("button").focus();
    return this.step();
  }

  stop() {
    this.end();
    this.editor.canvas.draw();
    this.editor.canvas.focus(null);
  }

  step() {
    this.take(this.left.shift());
    if (this.left.length) return;
    this.tools.replaceChildren(...this.offers(), action("Close", () => this.stop()));
    this.tools.querySelector("button").focus();
  }

  all() {
    while (this.left.length) this.step();
  }

  take({ says, notes, table: { caption, heads, rows }, part, keys, drawn }) {
    this.keys = keys;
    this.said.replaceChildren(html("p", {}, says), ...(notes.length ? [html("ul", {}, ...notes.map((words) => html("li", {}, words)))] : []));
    const made = ([name, ...cells]) => html("tr", {}, html("th", { scope: "row" }, name), ...cells.map((words) => html("td", {}, String(words))));
    this.shown.replaceChildren(table(caption, heads, rows.map(made)), ...(part ? [picture(part, "The new machine so far")] : []));
    if (drawn) this.put(drawn);
    else this.editor.canvas.draw();
    this.place.parentElement.scrollIntoView({ block: "nearest" });
  }

  // What is made stands on the plane: all of it is one edit.
  put(drawn) {
    const { editor } = this;
    this.isOwn = true;
    editor.history[this.taken ? "amend" : "do"](drawn);
    this.taken = true;
    editor.after(null, true);
    this.isOwn = false;
  }
}
