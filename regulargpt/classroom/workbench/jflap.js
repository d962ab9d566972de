// JFLAP's files of finite automata, whose arrows read one letter each, or nothing.

import { placed } from "./arranged.js";
import { distinct, isAcceptor, NO_SYMBOL } from "./drawn.js";
import { hasStack } from "./nested_machine.js";
import { Refusal, tried } from "./refusal.js";

const MOST_STATES = 200; // of a drawing
const isLetter = (symbol) => [...symbol].length === 1 && !"ϵɛλ".includes(symbol); // those are no symbol at all

function check(isRight) {
  if (!isRight) throw new Refusal("Of JFLAP's machines only finite automata with one start are read and written, with at most one letter at each arrow.");
}

// As { drawn, problem }.
export function fromJflap(text) {
  return tried("drawn", () => {
    const file = new DOMParser().parseFromString(text, "text/xml");
    const said = (at, tag) => at.querySelector(tag)?.textContent.replace(/[\r\n\t]/gu, "") ?? "";
    const [states, moves, starts] = ["state", "transition", "initial"].map((tag) => [...file.querySelectorAll(tag)]);
    const [ids, names] = ["id", "name"].map((of) => states.map((state) => state.getAttribute(of)));
    const read = moves.map((move) => ["from", "to", "read"].map((part) => said(move, part)));
    const alphabet = [...new Set(read.map(([, , symbol]) => symbol || NO_SYMBOL))].sort();
    const arrows = read.map(([from, to, symbol]) => ({ from: ids.indexOf(from), to: ids.indexOf(to), symbols: [alphabet.indexOf(symbol || NO_SYMBOL)] }));
    check(said(file, "type") === "fa" && states.length <= MOST_STATES && starts.length === 1 && alphabet.every(isLetter) && arrows.every(({ from, to }) => from >= 0 && to >= 0));
    return placed({ alphabet, outputs: ["reject", "accept"], states: states.map((state, q) => ({ name: distinct(names)[q], output: state.querySelectorAll("final").length })), initial: states.indexOf(starts[0].parentNode), arrows });
  });
}

const escaped = (text) => text.replace(/[<&"]/gu, (sign) => `&#${sign.charCodeAt()};`);
const tag = (name, inner, about = "") => `<${name}${about}>${inner}</${name}>`;

// As { text, problem }.
export function toJflap({ alphabet, outputs, states, initial, arrows }) {
  return tried("text", () => {
    check(isAcceptor({ outputs }) && !hasStack({ arrows }) && states[initial] && alphabet.every(isLetter));
    const made = states.map(({ name, x, y, output }, q) => {
      const kind = (q === initial ? "<initial/>" : "") + (outputs[output] === "accept" ? "<final/>" : "");
      return tag("state", tag("x", x) + tag("y", y) + kind, ` id="${q}" name="${escaped(name)}"`);
    });
    const moves = arrows.flatMap(({ from, to, symbols }) => symbols.map((a) => tag("transition", tag("from", from) + tag("to", to) + tag("read", alphabet[a] === NO_SYMBOL ? "" : escaped(alphabet[a])))));
    return tag("structure", tag("type", "fa") + tag("automaton", [...made, ...moves].join("\n")));
  });
}
