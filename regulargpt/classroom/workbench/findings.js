// What a drawn machine is: its language, its smallest machine, its elements; or what it lacks.

import { placed } from "./arranged.js";
import { drawnOf, picture } from "./drawing.js";
import { isAcceptor, lettersOf } from "./drawn.js";
import { elementsOfStates } from "./machine.js";
import { hasStack } from "./nested_machine.js";

const MOST_CHIPS = 16; // elements that are listed
const MOST_SAID = 3; // of groups of states

// Colours and frames of the drawn states: equivalent ones look the same, and stand in one frame.
export function lookOf(drawn, { language, classes }) {
  if (!language) return { tints: [], groups: [] };
  const first = elementsOfStates(language);
  const elements = isDeterministic(drawn) ? classes.map((state) => first[state] ?? null) : leastElements(drawn, language);
  return { tints: elements.map((element) => (element === null ? null : language.colours[element])), groups: groupsOf(classes) };
}

// What to do next on the plane, where a drawing has only begun.
function remedy({ states, initial, arrows }) {
  if (!states.length) return "Nothing is drawn yet. Click on the plane: a state.";
  if (initial === null) return "No state is the start. Click one, then press Start.";
  return arrows.length ? null : "There is no arrow yet. Drag from a state to a state.";
}

// Whether each arrow reads a symbol, and no two with one symbol leave a state. With a stack they may: what is on it parts them.
export function isDeterministic(drawn) {
  if (hasStack(drawn)) return true;
  const moves = drawn.arrows.flatMap(({ from, symbols }) => symbols.map((symbol) => `${from} ${symbol}`));
  return lettersOf(drawn).length === drawn.alphabet.length && new Set(moves).size === moves.length;
}

// By state, the element of the first word that may lead there.
function leastElements({ states, alphabet, initial, arrows }, language) {
  const after = (element, name) => language.elements.right[element][language.alphabet.indexOf(name)] ?? element;
  const [found, met, queue] = [states.map(() => null), new Set(), [[initial, 0]]];
  for (const [q, element] of queue) {
    found[q] ??= element;
    for (const { from, to, symbols } of arrows) {
      for (const symbol of from === q ? symbols : []) {
        const next = [to, after(element, alphabet[symbol])];
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

// Whether the drawn machine has a state for each of the smallest one, and all arrows.
export function isSmallest(drawn, { language, classes }) {
  return classes.every((state) => state !== null) && classes.length === language.states.length && isComplete(drawn);
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
    this.said.querySelector(".note")?.remove();
    this.said.append(html("p", { class: "note" }, sentence));
  }

  show(drawn, found) {
    const { language, problem } = found;
    this.said.replaceChildren(language ? this.counts(language) : html("p", { class: "problem" }, remedy(drawn) ?? problem));
    this.smallest.replaceChildren(...(language ? this.drawSmallest(drawn, found) : []));
    this.elements.replaceChildren(...(language ? this.listElements(language) : []));
    this.notes.replaceChildren(...(language ? notesOn(drawn, found) : []).map((words) => html("p", { class: "note" }, words)));
  }

  counts({ states, table }) {
    return html("p", { class: "counts" }, "A language: ", ...counted(states.length, "state"), ", ", ...counted(table.length, "element"));
  }

  // The smallest machine, if it is not the one that is drawn.
  drawSmallest(drawn, found) {
    const { language } = found;
    if (language.nesting) return [];
    if (isSmallest(drawn, found)) return [html("p", { class: "note" }, "No smaller machine gives the same answers.")];
    const first = elementsOfStates(language);
    const tints = language.states.map((_, q) => language.colours[first[q]]);
    return [html("h3", {}, "The smallest machine"), picture(placed(drawnOf(language)), `The smallest machine: ${language.states.length} states`, tints)];
  }

  listElements(language) {
    const more = language.table.length - MOST_CHIPS;
    const chips = language.table.slice(0, MOST_CHIPS).map((_, element) => chip(element, language));
    const caption = html("p", { class: "caption" }, "An element is what a word does to every state; ε is no symbol at all, which moves nothing. A state has the colour of the shortest word that leads there.");
    return [html("h3", {}, "Elements"), html("p", { class: "chips" }, ...chips, ...(more > 0 ? [` and ${more} more`] : [])), caption];
  }
}

// What else is to say of a drawn machine that is a language.
function notesOn(drawn, { classes }) {
  const name = (q) => drawn.states[q].name;
  if (hasStack(drawn)) return [];
  if (!isDeterministic(drawn)) return ["It is nondeterministic: a symbol has two arrows from one state, or an arrow reads nothing. A word is accepted if one way along the arrows accepts it."];
  const groups = groupsOf(classes).map((group) => `${group.map(name).join(" and ")} are framed: no word tells them apart, so they are one state of the smallest machine.`);
  const lost = drawn.states.flatMap((_, q) => (classes[q] === null ? [name(q)] : []));
  return [
    ...groups.slice(0, MOST_SAID),
    ...(lost.length ? [`No word leads to ${lost.slice(0, 5).join(", ")}${lost.length > 5 ? " and others" : ""}.`] : []),
    ...(!isComplete(drawn) ? [`Where an arrow is missing, the word is ${isAcceptor(drawn) ? "rejected" : "without an answer"}, whatever follows.`] : []),
  ];
}
