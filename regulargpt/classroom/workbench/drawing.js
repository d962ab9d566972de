// A machine as parts of an SVG: its states in their colours, its arrows with their symbols.

import { LINE, RADIUS, lines } from "./arrows.js";
import { isAcceptor } from "./drawn.js";
import { arrowsOf, doneBy, endsOf, keysOf, textOf } from "./edits.js";

const MOST_SYMBOLS = 4; // at an arrow
const MOST_LINES = 3;
const MOST_DONE = 18; // letters on what the stack does
const ROOM = RADIUS + 8; // round a state
const BRACKETS = "()[]{}<>";

// The nodes of a drawing and the box they need. `tints`: [fill, ink] or null by state. `groups`: states that are framed
// together. `isActive`: one can go to each part with the keyboard.
export function drawing(drawn, { tints = [], groups = [], isActive = false } = {}) {
  const edges = keysOf(drawn).map((key) => ({ key, from: endsOf(key)[0], to: endsOf(key)[1], label: labelOf(drawn, key) }));
  const sizes = edges.map(({ label }) => [Math.max(...label.map(({ length }) => length)), label.length]);
  const { arrows, start } = lines({ ...drawn, arrows: edges }, sizes);
  const frames = groups.flatMap((group) => frame(group.map((q) => drawn.states[q])));
  const parts = drawn.states.flatMap((_, q) => {
    const leaving = edges.flatMap((edge, i) => (edge.from === q ? [arrowShape(drawn, edge, arrows[i], isActive)] : []));
    return [stateShape(drawn, q, tints[q], isActive), ...leaving];
  });
  const points = [...drawn.states.map(({ x, y }) => [x, y, ROOM, ROOM]), ...arrows.map(({ label }, i) => [...label, 8 + 5 * sizes[i][0], 3 + 9 * sizes[i][1]])];
  if (start) points.push([...start.tail, 6, 6]);
  return { nodes: [...frames, ...(start ? [startShape(start)] : []), ...parts], box: boxOf(points) };
}

// A machine as one picture with a name.
export function picture(drawn, name, tints) {
  const { nodes, box } = drawing(drawn, { tints });
  return svg("svg", { class: "automaton machine", viewBox: box.join(" "), style: `width: ${Math.round(box[2])}px`, role: "img", "aria-label": name }, ...nodes);
}

// A language's machine, as one draws it, without places.
export function drawnOf({ alphabet, states, initial, delta, outputs, output_names }) {
  const arrows = delta.flatMap((row, from) => [...new Set(row)].map((to) => ({ from, to, symbols: row.flatMap((next, a) => (next === to ? [a] : [])) })));
  const named = states.map((name, q) => ({ name, output: outputs[q] === null ? null : output_names.indexOf(outputs[q]) }));
  return { alphabet, outputs: output_names, states: named, initial, arrows };
}

// A state in words.
function stateWords(drawn, q) {
  const { name, output } = drawn.states[q];
  return [`State ${name}`, ...(q === drawn.initial ? ["start"] : []), drawn.outputs[output] ?? "no answer"].join(", ");
}

// An arrow in words.
function arrowWords(drawn, { key, from, to }) {
  return `Arrow from ${drawn.states[from].name} to ${drawn.states[to].name}: ${textOf(drawn, key)}`;
}

// Left, top, width and height of what needs room: [x, y, half its width, half its height].
function boxOf(points) {
  if (!points.length) return [0, 0, 2 * ROOM, 2 * ROOM];
  const edge = (axis, side) => points.map((point) => point[axis] + side * point[axis + 2]);
  const [left, top] = [0, 1].map((axis) => Math.min(...edge(axis, -1)));
  return [left, top, Math.max(...edge(0, 1)) - left, Math.max(...edge(1, 1)) - top];
}

// What an arrow does to the stack; many symbols are in its title.
const shortly = (arrow) => (arrow.pop?.length > 1 ? ` / pop one of ${arrow.pop.length}` : doneBy(arrow));

// The lines at an arrow, each a list of texts; and how long it is.
function labelOf(drawn, key) {
  const found = arrowsOf(drawn, key).map((arrow) => {
    const names = arrow.symbols.map((symbol) => drawn.alphabet[symbol]);
    const shown = names.length > MOST_SYMBOLS ? [...names.slice(0, MOST_SYMBOLS), "…"] : names;
    const texts = [...shown.flatMap((name, i) => (i ? [",", name] : [name])), short(shortly(arrow), MOST_DONE)];
    return { texts, length: [...texts.join("")].length };
  });
  if (found.length <= MOST_LINES) return found;
  const more = `… ${found.length - MOST_LINES + 1} more`;
  return [...found.slice(0, MOST_LINES - 1), { texts: [more], length: more.length }];
}

const button = (isActive, key, words) => (isActive ? { "data-key": key, tabindex: 0, role: "button", "aria-label": words } : {});

function stateShape(drawn, q, tint, isActive) {
  const { x, y, name, output } = drawn.states[q];
  const answer = drawn.outputs[output] ?? "–";
  const isAnswer = !isAcceptor(drawn) || output === null;
  const style = tint ? `--fill: ${tint[0]}; --on: ${tint[1]}` : "";
  const made = svg("g", { class: `state${tint ? "" : " plain"}`, transform: `translate(${x} ${y})`, style, ...button(isActive, q, stateWords(drawn, q)) });
  made.append(svg("title", {}, stateWords(drawn, q)), svg("circle", { r: RADIUS }));
  if (answer === "accept") made.append(svg("circle", { class: "inner", r: RADIUS - 4 }));
  made.append(...nameOf(name, isAnswer ? -2 : 5));
  if (isAnswer) made.append(svg("text", { y: 17, class: "answer" }, short(answer, 7)));
  if (isActive) made.append(svg("circle", { class: "rim", r: RADIUS - 1 }), svg("circle", { class: "core", r: RADIUS - 9 }));
  return made;
}

// A state's name round a height: one that is long is small, in two lines if it has two words.
function nameOf(name, y) {
  if ([...name].length <= 5) return [svg("text", { y }, name)];
  const [, first, second] = /^(.+?) (.+)$/u.exec(name) ?? [null, name, ""];
  const small = (words, at) => svg("text", { class: "answer", y: at }, short(words, 8));
  return second ? [small(first, y - 8), small(second, y + 5)] : [small(first, y)];
}

function arrowShape(drawn, edge, line, isActive) {
  const words = arrowWords(drawn, edge);
  const made = svg("g", { class: "edge", ...button(isActive, edge.key, words) }, svg("title", {}, words));
  if (isActive) made.append(svg("path", { class: "near", d: line.path }));
  const [x, y] = [line.label[0], line.label[1] + 5 - (LINE * (edge.label.length - 1)) / 2];
  const texts = edge.label.map(({ texts }, i) => svg("text", { x, y: y + LINE * i }, ...texts.map(inked)));
  made.append(svg("path", { d: line.path }), svg("polygon", { points: line.head }), ...texts);
  return made;
}

// A symbol as it stands at an arrow.
const inked = (text) => (text && BRACKETS.includes(text) ? svg("tspan", { class: "bracket" }, text) : text);

function startShape({ path, head }) {
  return svg("g", { class: "edge start" }, svg("title", {}, "The start"), svg("path", { class: "near", d: path }), svg("path", { d: path }), svg("polygon", { points: head }));
}

// A frame round states: a broad line from each to the next, and a narrower line of the paper's colour on it.
function frame(states) {
  const d = `M${states.map(({ x, y }) => [x, y].join()).join("L")}`;
  return ["frame", "frame within"].map((name) => svg("path", { class: name, d }));
}
