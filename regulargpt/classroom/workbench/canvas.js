// The plane on which a machine is drawn, with a pointer or with keys.

import { RADIUS, distance, moved, towards } from "./arrows.js";
import { drawing } from "./drawing.js";
import { lettersOf, onward } from "./drawn.js";
import { answered, changed, endsOf, has, keyOf, likely, withParts, withState, without } from "./edits.js";
import { hasStack, statesAfter } from "./nested_machine.js";

const STILL = 6; // pixels that a click may move
const LOOP = 14; // that one may move in a state without beginning an arrow
const TWICE = 400; // milliseconds between two clicks that are one double click
const CORE = RADIUS - 9; // who presses a state farther out moves it
const APART = 135; // from a state to the next one that the keyboard adds
const STEP = 10; // of a state that the keyboard moves
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const CLEAR = 2 * RADIUS + 8; // between two states
const EDGE = RADIUS + 12; // from a new state to the border

export class Canvas {
  // `editor` has the machine, does edits, and says what there is to say.
  constructor(editor, keys) {
    this.editor = editor;
    this.svg = svg("svg", { class: "plane machine", tabindex: 0, role: "group", "aria-label": "The machine", "aria-describedby": keys });
    this.place = html("div", { class: "canvas" }, this.svg);
    this.view = null;
    this.last = { key: null, time: 0 };
    const on = (kind, act, how = {}) => this.svg.addEventListener(kind, act, how);
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.drag && event.isPrimary && this.pull(event));
    on("pointerup", (event) => this.drag && event.isPrimary && this.release(event));
    on("pointercancel", () => this.drop());
    on("mousedown", (event) => event.preventDefault()); // the focus goes where `choose` puts it
    on("touchstart", (event) => this.drag?.key && event.preventDefault(), { passive: false }); // the page does not scroll away
    on("keydown", (event) => this.type(event));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  get drawn() {
    return this.editor.drawn;
  }

  // The machine as it is now, or as it would be while a state is moved.
  draw(isFitted = false, machine = this.drawn) {
    const focused = this.svg.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const { nodes, box } = drawing(machine, { ...this.editor.look, isActive: true });
    if (!this.drag) this.fit(this.drawn.states.length ? box : [...(this.view ?? [0, 0]).slice(0, 2), 0, 0], isFitted);
    this.svg.replaceChildren(...nodes);
    this.at(this.editor.chosen)?.classList.add("chosen");
    this.at(this.editor.origin)?.classList.add("origin");
    for (const key of this.reading(machine)) this.at(key)?.classList.add("read");
    if (focused !== undefined) this.focus(focused);
  }

  // Where the word on the bench may have led, and by which arrows.
  reading(machine) {
    const [{ initial, arrows }, { word }] = [machine, this.editor.bench];
    if (this.editor.steps.keys) return this.editor.steps.keys;
    if (hasStack(machine)) return this.nestedReading(word);
    let [states, last] = [onward(machine, [initial]), []];
    for (const letter of (word ?? []).map((i) => lettersOf(machine)[i])) {
      last = arrows.filter(({ from, symbols }) => states.includes(from) && symbols.includes(machine.alphabet.indexOf(letter)));
      states = onward(machine, last.map(({ to }) => to));
    }
    return last.length ? [...states.map(String), ...last.map(keyOf)] : [];
  }

  // The same of a machine with a stack, whose states are those of its language.
  nestedReading(word) {
    const { language } = this.editor.found;
    if (!language || !word?.length || word.some((symbol) => symbol >= language.alphabet.length)) return [];
    const [before, after] = statesAfter(language, word).slice(-2);
    return [String(after), `${before}-${after}`];
  }

  at(key) {
    return key === null ? null : this.svg.querySelector(`[data-key="${key}"]`);
  }

  focus(key) {
    (this.at(key ?? null) ?? this.svg).focus({ preventScroll: true });
  }

  // The part of the plane that is shown: in another window, or of another machine, the middle; else it moves and grows
  // no more than it must.
  fit([x, y, width, height], isFitted) {
    const [across, down] = [this.svg.clientWidth || 640, this.svg.clientHeight || 400];
    const isNew = isFitted || this.shown !== `${across} ${down}`;
    const scale = Math.max(isNew ? 1 : this.view[2] / across, width / across, height / down);
    const [w, h] = [across * scale, down * scale];
    const shifted = (from, low, high) => Math.min(high, Math.max(low, from));
    const middle = this.drawn.states.length ? [x + (width - w) / 2, y + (height - h) / 2] : [0, 0];
    const [left, top] = isNew ? middle : [shifted(this.view[0], x + width - w, x), shifted(this.view[1], y + height - h, y)];
    this.shown = `${across} ${down}`;
    this.view = [left, top, w, h];
    this.svg.setAttribute("viewBox", this.view.join(" "));
  }

  // Where an event is, in the plane.
  point({ clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [x, y];
  }

  // The nearest place that is not at the border.
  inside([x, y]) {
    const [left, top, width, height] = this.view;
    return [Math.min(Math.max(x, left + EDGE), left + width - EDGE), Math.min(Math.max(y, top + EDGE), top + height - EDGE)];
  }

  // The state whose middle is that near to a point, if there is one; else null.
  stateAt(point, reach = RADIUS + 4) {
    const off = this.drawn.states.map(({ x, y }) => distance([x, y], point));
    const q = off.indexOf(Math.min(...off));
    return off[q] <= reach ? q : null;
  }

  // Where a new state may stand: not at the border, and on no other state.
  free(point) {
    const q = this.stateAt(point, CLEAR);
    const { x, y } = this.drawn.states[q] ?? {};
    return this.inside(q === null ? point : moved([x, y], towards([x, y], point), CLEAR + 2));
  }

  // Where a drawn arrow ends: at a state, or where a new one may stand.
  end(point) {
    return this.stateAt(point, CLEAR) ?? this.free(point);
  }

  press(event) {
    if (this.drag || !event.isPrimary || event.button) return;
    const wasOpen = this.editor.field.close();
    const [at, part] = [this.point(event), event.target.closest("[data-key], .start")];
    const q = this.stateAt(at);
    const key = q === null ? (part?.dataset.key ?? null) : String(q);
    const { x, y } = this.drawn.states[q] ?? {};
    const isMove = event.shiftKey || this.editor.isMoving || distance([x, y], at) > CORE;
    const kind = q !== null ? (isMove ? "move" : "arrow") : part?.matches(".start") ? "start" : key === null ? "plane" : "label";
    this.drag = { kind, key, q, at, pressed: [event.clientX, event.clientY], isStill: true, wasOpen };
    this.svg.setPointerCapture(event.pointerId);
  }

  pull(event) {
    const { drag } = this;
    const most = drag.kind === "arrow" ? LOOP : STILL;
    if (drag.isStill && distance(drag.pressed, [event.clientX, event.clientY]) < most) return;
    drag.isStill = false;
    this.draw(false, this.would(this.point(event)));
  }

  // The machine as it would be if the pointer were let go at a point.
  would(point) {
    const { kind, q, at } = this.drag;
    const target = this.stateAt(point);
    if (kind === "arrow") return this.joined(q, this.end(point));
    if (kind === "start" && target !== null) return { ...this.drawn, initial: target };
    if (kind !== "move") return this.drawn;
    const { x, y } = this.drawn.states[q];
    return changed(this.drawn, q, { x: Math.round(x + point[0] - at[0]), y: Math.round(y + point[1] - at[1]) });
  }

  drop() {
    if (!this.drag) return;
    this.drag = null;
    this.draw();
  }

  release(event) {
    const [{ drag }, point] = [this, this.point(event)];
    const next = this.would(point);
    this.drag = null;
    if (drag.isStill) this.click(drag);
    else if (drag.kind === "arrow") this.connect(drag.q, this.end(point));
    else this.editor.do(next, drag.key ?? this.editor.chosen);
  }

  click({ kind, key, at, wasOpen }) {
    const now = performance.now();
    const isDouble = key !== null && key === this.last.key && now - this.last.time < TWICE;
    this.last = { key: isDouble ? null : key, time: now };
    if (kind === "plane") return wasOpen ? this.editor.choose(null) : this.add(this.free(at));
    if (kind === "label") return this.editor.edit(key);
    if (kind === "start") return undefined;
    if (isDouble) return this.editor.do(answered(this.drawn, Number(key)), key);
    return this.editor.origin === null ? this.editor.choose(key) : this.arrive(key);
  }

  // A new state, which a second click at the same place makes accept.
  add(point) {
    const key = String(this.drawn.states.length);
    this.last = { key, time: performance.now() };
    this.editor.do(withState(this.drawn, point), key);
  }

  // The machine with an arrow to a state, or to a new one at a point.
  joined(from, to) {
    const [whole, ends] = Array.isArray(to) ? [withState(this.drawn, to), [from, this.drawn.states.length]] : [this.drawn, [from, to]];
    return has(whole, ends.join("-")) ? whole : withParts(whole, ends, [likely(whole, from)]);
  }

  // Such an arrow; then its symbols are asked for.
  connect(from, to) {
    const [{ drawn }, next] = [this, this.joined(from, to)];
    const key = `${from}-${Array.isArray(to) ? drawn.states.length : to}`;
    this.editor.do(next, key);
    this.editor.edit(key, next !== drawn);
  }

  // The arrow that the keyboard began ends here.
  arrive(to) {
    const from = this.editor.origin;
    this.editor.begin(null);
    this.connect(Number(from), Number(to));
  }

  // A place for a state that the keyboard adds: in the middle row, else from the top on, where there is room.
  room() {
    const [left, top, width, height] = this.view;
    const isFree = (point) => this.drawn.states.every(({ x, y }) => distance([x, y], point) > APART - 25);
    for (let row = 0; ; row += 1) {
      const y = row ? top + EDGE + (row - 1) * (APART / 2) : top + height / 2;
      for (let x = left + APART / 2; x < left + width - EDGE; x += APART / 2) if (isFree([x, y])) return [x, y];
    }
  }

  type(event) {
    const key = event.target.closest("[data-key]")?.dataset.key ?? null;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key !== null) this.editor.choose(key);
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = name in WAYS ? () => this.nudge(key, WAYS[name], event.shiftKey) : this.acts(key)[name];
    if (!act || act() === false) return;
    event.preventDefault();
  }

  // What each key does to a part; null is the plane.
  acts(key) {
    const { editor } = this;
    const everywhere = { n: () => this.another(), Escape: () => editor.begin(null) };
    if (key === null) return { ...everywhere, Enter: everywhere.n };
    const removed = () => editor.do(without(this.drawn, key), null);
    const both = { ...everywhere, Enter: () => editor.edit(key), Delete: removed, Backspace: removed };
    if (endsOf(key)) return both;
    const q = Number(key);
    return {
      ...both,
      Enter: () => (editor.origin === null ? editor.edit(key) : this.arrive(key)),
      " ": () => editor.do(answered(this.drawn, q), key),
      s: () => editor.do({ ...this.drawn, initial: q }, key),
      a: () => editor.begin(key),
    };
  }

  // A new state, to which an arrow that was begun leads.
  another() {
    const { origin } = this.editor;
    if (origin === null) return this.add(this.room());
    this.editor.begin(null);
    return this.connect(Number(origin), this.room());
  }

  // A state moves by a step; anything else lets the page scroll.
  nudge(key, [dx, dy], isSmall) {
    if (key === null || endsOf(key)) return false;
    const { x, y } = this.drawn.states[key];
    const by = isSmall ? 1 : STEP;
    return this.editor.do(changed(this.drawn, Number(key), { x: x + by * dx, y: y + by * dy }), key);
  }
}
