// What a drawn machine is: its language, its smallest machine, its elements; or what it lacks.

import { placed } from "./arranged.js";
import { distance } from "./arrows.js";
import { drawnOf, picture } from "./drawing.js";
import { elementsOfStates, isAcceptor } from "./machine.js";

const APART = 120; // between the nearest states of the smallest machine
const CLOSE = 80; // so close they are in the drawing of a person who wants them elsewhere
const MOST_CHIPS = 16; // elements that are listed
const MOST_SAID = 3; // of groups of states

// Colours and frames of the drawn states: equivalent ones look the same, and stand in one frame.
export function lookOf(drawn, { language, classes }) {
  if (!language) return { tints: [], groups: [] };
  const first = elementsOfStates(language);
  const elements = isDeterministic(drawn) ? classes.map((state) => (state === null ? null : first[state])) : leastElements(drawn, language);
  return { tints: elements.map((element) => (element === null ? null : language.colours[element])), groups: groupsOf(classes) };
}

// What to do next on the plane, where a drawing has only begun.
function remedy({ states, initial, arrows }) {
  if (!states.length) return "Nothing is drawn yet. Click on the plane: a state.";
  if (initial === null) return "No state is the start. Click one, then press Start.";
  return arrows.length ? null : "There is no arrow yet. Drag from a state to a state.";
}

// Whether no two arrows with one symbol leave a state.
function isDeterministic({ arrows }) {
  const moves = arrows.flatMap(({ from, symbols }) => symbols.map((symbol) => `${from} ${symbol}`));
  return new Set(moves).size === moves.length;
}

// By state, the element of the first word that may lead there.
function leastElements({ states, initial, arrows }, { elements }) {
  const [found, met, queue] = [states.map(() => null), new Set(), [[initial, 0]]];
  for (const [q, element] of queue) {
    found[q] ??= element;
    for (const { from, to, symbols } of arrows) {
      for (const symbol of from === q ? symbols : []) {
        const next = [to, elements.right[element][symbol]];
        if (!met.has(String(next))) queue.push(next);
        met.add(String(next));
      }
    }
  }
  return found;
}

// The drawn states that are one state of the smallest machine, where there is more than one.
function groupsOf(classes) {
  const groups = new Map();
  classes.forEach((state, q) => state !== null && groups.set(state, [...(groups.get(state) ?? []), q]));
  return [...groups.values()].filter((group) => group.length > 1);
}

// Whether every symbol has an arrow from every state.
function isComplete({ states, alphabet, arrows }) {
  return arrows.reduce((sum, { symbols }) => sum + symbols.length, 0) === states.length * alphabet.length;
}

// The smallest machine, its states in the middle of the drawn ones that they stand for, if that leaves them apart.
function arranged(drawn, language, classes) {
  const smallest = drawnOf(language);
  const middle = (q, axis) => {
    const members = drawn.states.filter((_, i) => classes[i] === q);
    return members.reduce((sum, state) => sum + state[axis], 0) / members.length; // NaN: it has no place yet
  };
  const found = smallest.states.map((_, q) => [middle(q, "x"), middle(q, "y")]);
  const gaps = found.flatMap((a, p) => found.slice(0, p).map((b) => distance(a, b))).filter((gap) => gap >= 0);
  const gap = Math.min(...gaps, Infinity);
  const scale = gap > CLOSE && gap < Infinity ? APART / gap : 1;
  const place = ([x, y]) => (gap > CLOSE ? { x: scale * x, y: scale * y } : {});
  return placed({ ...smallest, states: smallest.states.map((state, q) => ({ ...state, ...place(found[q]) })) });
}

const counted = (n, noun) => [html("b", {}, String(n)), ` ${noun}${n === 1 ? "" : "s"}`];

export class Findings {
  constructor() {
    this.said = html("div", { class: "said", role: "status" });
    this.notes = html("div", { class: "notes" });
    this.smallest = html("div", { class: "smallest" });
    this.elements = html("div", { class: "elements-of" });
    this.place = html("div", { class: "found" }, this.said, this.smallest, this.elements, this.notes);
  }

  // A sentence that stands until the next edit.
  say(sentence) {
    this.said.append(html("p", { class: "note" }, sentence));
  }

  show(drawn, found) {
    const { language, problem } = found;
    this.said.replaceChildren(language ? this.counts(language) : html("p", { class: "problem" }, remedy(drawn) ?? problem));
    this.smallest.replaceChildren(...(language ? this.drawSmallest(drawn, found) : []));
    this.elements.replaceChildren(...(language ? this.listElements(language) : []));
    this.notes.replaceChildren(...(language ? notesOn(drawn, found) : []).map((words) => html("p", { class: "note" }, words)));
  }

  counts({ states, elements }) {
    return html("p", { class: "counts" }, "A language: ", ...counted(states.length, "state"), ", ", ...counted(elements.words.length, "element"));
  }

  // The smallest machine, if it is not the one that is drawn.
  drawSmallest(drawn, { language, classes }) {
    const isDrawn = classes.every((state) => state !== null) && classes.length === language.states.length && isComplete(drawn);
    if (isDrawn) return [html("p", { class: "note" }, "No smaller machine gives the same answers.")];
    const first = elementsOfStates(language);
    const tints = language.states.map((_, q) => language.colours[first[q]]);
    return [html("h3", {}, "The smallest machine"), picture(arranged(drawn, language, classes), `The smallest machine: ${language.states.length} states`, tints)];
  }

  listElements(language) {
    const { words } = language.elements;
    const more = words.length - MOST_CHIPS;
    const chips = words.slice(0, MOST_CHIPS).map((_, element) => chip(element, language));
    const caption = html("p", { class: "caption" }, "An element is what a word does to every state. A state has the colour of the shortest word that leads there.");
    return [html("h3", {}, "Elements"), html("p", { class: "chips" }, ...chips, ...(more > 0 ? [` and ${more} more`] : [])), caption];
  }
}

// What else is to say of a drawn machine that is a language.
function notesOn(drawn, { classes }) {
  const name = (q) => drawn.states[q].name;
  const groups = groupsOf(classes).map((group) => `${group.map(name).join(" and ")} are framed: no word tells them apart, so they are one state of the smallest machine.`);
  if (!isDeterministic(drawn)) return ["It is nondeterministic: a symbol has two arrows from one state. A word is accepted if one way along the arrows accepts it."];
  const lost = drawn.states.flatMap((_, q) => (classes[q] === null ? [name(q)] : []));
  return [
    ...groups.slice(0, MOST_SAID),
    ...(lost.length ? [`No word leads to ${lost.slice(0, 5).join(", ")}${lost.length > 5 ? " and others" : ""}.`] : []),
    ...(!isComplete(drawn) ? [`Where an arrow is missing, the word is ${isAcceptor(drawn) ? "rejected" : "without an answer"}, whatever follows.`] : []),
  ];
}
