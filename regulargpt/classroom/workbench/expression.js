// A regular expression as a machine to draw. The syntax is that of the languages `regex:...`:
//
// expression    = intersection ("|" intersection)*      an intersection may be empty here: the empty word
// intersection  = shuffle ("&" shuffle)*
// shuffle       = concatenation ("^" concatenation)*
// concatenation = repetition*
// repetition    = item ("*" | "+" | "?" | "{n}" | "{n,}" | "{,n}" | "{n,m}")?
// item          = symbol | "." | "[" "^"? (symbol | symbol "-" symbol)+ "]" | "(" expression ")"
//
// What textbooks write otherwise (`languages.regex.textbook`) is answered with what to write here.
//
//   fromExpression(pattern, alphabet = null) -> { drawn, problem }; alphabet: its symbols in order, by default those of
//                                               the pattern, sorted
//
// A word's symbols are taken off from the left. What may follow them is again an expression, and those are the states
// (Antimirov, Partial derivatives of regular expressions and finite automaton constructions, 1996).
import { placed } from "./arranged.js";
import { complete, minimised } from "./machine.js";
import { Refusal, listed, tried } from "./refusal.js";

const OPERATORS = "*|()?&+.^{}[]";
const OURS = {
  ...{ "∪": "|", "∩": "&", "∗": "*", Σ: ".", "∅": "a&b", "·": "ab", "⋅": "ab", "∘": "ab" },
  ...{ ε: "()", ϵ: "()", ɛ: "()", λ: "()" },
};
const INFIX = /\+(?=[^*+?{|&^)])/;
const PROGRAMS = /\+(?:$|[|&^)])|[|&^?{\[.]/; // a plus that is no union, and what only programs write
const QUANTIFIERS = "*+?{";
const SIMPLE = { "*": [0, null], "+": [1, null], "?": [0, 1] };
const BLANK = /^[\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/; // what Python calls a space
const MOST_WRITTEN = 2 ** 16; // symbols, with all quantifiers written out
const MOST_SPANNED = 2 ** 18; // by all ranges together
const MOST_NESTED = 64;
const SHOWN = 30; // characters of the pattern on each side of an error
const MOST_SYMBOLS = 64;
const MOST_STEPS = 2 ** 14; // pairs of all linear forms
const MOST_STATES = 60;
const ALWAYS = -1; // the most repetitions where there is no most
const [NOTHING, EMPTY] = [0, 1]; // the terms without words and with the empty word only

// The machine of an expression, minimal and with a place for each state, without that from which nothing is accepted.
export function fromExpression(pattern, alphabet = null) {
  return tried("drawn", () => {
    const tree = new Parser(pattern).whole();
    const symbols = symbolsOf(pattern, tree, alphabet);
    const problem = "The machine of this expression is too large for this page. Take a shorter expression.";
    const least = minimised(complete(nondeterministic(symbols, tree), problem), MOST_STATES, problem);
    return placed(withoutSink(symbols, least));
  });
}

// A text in quotes, as Python shows it.
function quoted(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [mark]: `\\${mark}` };
  const hex = (c) => `\\x${c.codePointAt(0).toString(16).padStart(2, "0")}`;
  const shown = [...text].map((c) => escaped[c] ?? (/[\x00-\x1f\x7f-\xa0\xad]/.test(c) ? hex(c) : c));
  return mark + shown.join("") + mark;
}

// A number with commas.
function comma(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

// Refuses more than `most` of something.
function check(count, most, what) {
  if (count > most) throw new Refusal(`${what}; at most ${comma(most)} are allowed`);
}

// Each method that reads a part gives its tree and how many symbols it has with all quantifiers written out.
class Parser {
  constructor(text) {
    this.pattern = [...text];
    check(this.pattern.length, MOST_WRITTEN, `the regular expression has ${comma(this.pattern.length)} characters`);
    Object.assign(this, { at: 0, open: [], spanned: 0 });
  }

  get next() {
    return this.pattern[this.at] ?? "";
  }

  // Whether a character, or one of several, is next.
  isNext(characters) {
    return this.next !== "" && characters.includes(this.next);
  }

  take(character) {
    const matches = this.next === character;
    this.at += matches;
    return matches;
  }

  // A part of the pattern.
  text(start, end) {
    return this.pattern.slice(start, end).join("");
  }

  // Refuses with the place, by default the next character.
  refuse(problem, at = this.at) {
    const [start, end] = [Math.max(0, at - SHOWN), at + SHOWN];
    const dots = [start ? "..." : "", end < this.pattern.length ? "..." : ""];
    throw new Refusal(`${quoted(dots[0] + this.text(start, end) + dots[1])}, position ${at + 1}: ${problem}`);
  }

  whole() {
    const [tree, size] = this.expression();
    if (this.next) this.refuse("this ')' closes no bracket; remove it, or add '(' before");
    check(size, MOST_WRITTEN, `with its quantifiers written out the regular expression has ${comma(size)} symbols`);
    this.refuseOpen(this.text(0));
    return tree;
  }

  // Refuses what may mean two things.
  refuseOpen(text) {
    const open = /epsilon|lambda/.exec(text) ?? (!PROGRAMS.test(text) && INFIX.exec(text));
    if (!open) return;
    const [what] = open;
    const question = what === "+"
      ? "'+' may repeat what is before it, or be a union; write (a+)b or a|b"
      : `'${what}' are ${what.length} symbols here; write () for the empty word`;
    this.refuse(question, [...text.slice(0, open.index)].length);
  }

  expression() {
    return this.joined("|", "union", () => this.intersection());
  }

  intersection() {
    return this.joined("&", "both", () => this.shuffle());
  }

  shuffle() {
    return this.joined("^", "shuffled", () => this.concatenation());
  }

  // Parts with an operator between them; only `|` may have nothing beside it.
  joined(operator, kind, part) {
    const parts = [this.operand(operator, part)];
    while (this.take(operator)) parts.push(this.operand(operator, part));
    return together(kind, parts);
  }

  operand(operator, part) {
    const start = this.at;
    const operand = part();
    const before = this.pattern[start - 1];
    if (operator !== "|" && start === this.at && [before, this.next].includes(operator)) {
      const name = { "&": "the intersection", "^": "the shuffle" }[operator];
      const remedy = "write () for the empty word";
      const where = before === operator ? start - 1 : start;
      this.refuse(`'${operator}' is ${name} of what stands on both sides; ${remedy}`, where);
    }
    return operand;
  }

  concatenation() {
    const parts = [];
    while (this.next && !this.isNext("|&^)")) parts.push(this.repetition());
    return together("then", parts);
  }

  repetition() {
    const start = this.at;
    const [part, size] = this.item();
    if (!this.isNext(QUANTIFIERS)) return [part, size];
    const first = this.at;
    const [low, high] = this.bounds();
    if (this.isNext(QUANTIFIERS)) this.refuseSecond(start);
    // Before it is written out: a{9}{9}{9}... is short as text and as a tree.
    const times = Math.max(low, high ?? 0, 1);
    if (size * times > MOST_WRITTEN) {
      const what = `${this.text(first, this.at)} makes ${comma(size * times)} symbols of ${comma(size)}`;
      this.refuse(`${what}; at most ${comma(MOST_WRITTEN)} are allowed`, first);
    }
    return [{ kind: "repeat", part, low, high }, size * times];
  }

  refuseSecond(start) {
    const outer = this.next === "{" ? "{...}" : this.next;
    const part = this.at - start <= SHOWN ? `(${this.text(start, this.at)})${outer}` : `(...)${outer}`;
    this.refuse(`a second quantifier, and there are no lazy ones; to repeat what is repeated write ${part}`);
  }

  bounds() {
    if (this.next !== "{") {
      this.at += 1;
      return SIMPLE[this.pattern[this.at - 1]];
    }
    const match = /^\{([0-9]*)(,?)([0-9]*)\}/.exec(this.text(this.at, this.braceEnd()));
    if (!match || match[0] === "{}") this.refuse("after '{' stands how often: write {n}, {n,}, {,n} or {n,m}");
    const [found, least, hasComma, most] = match;
    if (Math.max(least.length, most.length) > 9) {
      this.refuse("the number in {...} has more than 9 digits; choose a smaller one");
    }
    const low = Number(least);
    const high = !hasComma ? low : most ? Number(most) : null;
    if (high !== null && high < low) {
      this.refuse(`${found} is at least ${low} and at most ${high} times; write {${high},${low}}`);
    }
    this.at += found.length;
    return [low, high];
  }

  // Behind the next '}'.
  braceEnd() {
    const end = this.pattern.indexOf("}", this.at);
    return end < 0 ? this.at : end + 1;
  }

  // A symbol, any symbol, a class or a group.
  item() {
    if (this.take(".")) return [{ kind: "letters", symbols: new Set(), negated: true }, 1];
    if (this.next === "(") return this.group();
    if (this.next === "[") return [this.letters(), 1];
    if (this.isNext(QUANTIFIERS)) {
      const isGroup = this.text(this.at - 1, this.at + 1) === "(?";
      const remedy = isGroup ? "a group is written (...)" : "write it after a symbol or a group";
      this.refuse(`'${this.next}' has nothing before it to repeat; ${remedy}`);
    }
    if (this.isNext("]}")) this.refuse(`this '${this.next}' closes no bracket; remove it`);
    return [{ kind: "letters", symbols: new Set([this.symbol()]), negated: false }, 1];
  }

  group() {
    this.open.push(this.at);
    // Each bracket is a few calls deep.
    if (this.open.length > MOST_NESTED) this.refuse(`brackets are nested more than ${MOST_NESTED} deep; use fewer`);
    this.at += 1;
    const inside = this.expression();
    if (!this.take(")")) this.refuse("this bracket is never closed; add ')'", this.open.at(-1));
    this.open.pop();
    return inside;
  }

  symbol() {
    const character = this.next;
    if (BLANK.test(character) || character === "\\") {
      this.refuse(`contains ${quoted(character)}; here are no blanks and no escapes`);
    }
    if (OPERATORS.includes(character)) {
      this.refuse(`${quoted(character)} is an operator and no symbol; use other characters as symbols`);
    }
    if (character in OURS) this.refuse(`'${character}' is no symbol here; write ${OURS[character]}`);
    this.at += 1;
    return character;
  }

  letters() {
    const start = this.at;
    if (this.pattern.indexOf("]", start) < 0) this.refuse("this bracket is never closed; add ']'");
    this.at += 1;
    const negated = this.take("^");
    const symbols = new Set();
    while (!this.take("]")) for (const symbol of this.span()) symbols.add(symbol);
    if (!symbols.size) this.refuse("a class in [...] has at least one symbol; write . for any symbol", start);
    return { kind: "letters", symbols, negated };
  }

  // A symbol or a range of symbols of a class. A hyphen first or last is a symbol.
  span() {
    const at = this.at;
    const first = this.symbol();
    if (this.next !== "-" || ["]", undefined].includes(this.pattern[this.at + 1])) return [first];
    this.at += 1;
    const last = this.symbol();
    const [low, high] = [first.codePointAt(0), last.codePointAt(0)];
    if (high < low) this.refuse(`the range ${first}-${last} runs backwards; write ${last}-${first}`, at);
    this.spanned += high - low + 1;
    check(this.spanned, MOST_SPANNED, `the ranges up to ${first}-${last} span ${comma(this.spanned)} symbols`);
    const symbols = Array.from({ length: high - low + 1 }, (_, i) => String.fromCodePoint(low + i));
    const wrong = symbols.find((c) => BLANK.test(c) || OPERATORS.includes(c) || c === "\\");
    if (wrong !== undefined) {
      this.refuse(`the range ${first}-${last} contains ${quoted(wrong)}, which is no symbol; use smaller ranges`, at);
    }
    return symbols;
  }
}

// Several parts as one, and their size.
function together(kind, parts) {
  const trees = parts.map(([tree]) => tree);
  return [trees.length === 1 ? trees[0] : { kind, parts: trees }, parts.reduce((sum, [, size]) => sum + size, 0)];
}

// The alphabet, checked against the characters that stand for themselves in the pattern.
function symbolsOf(pattern, tree, alphabet) {
  const used = literals(tree);
  const byCode = (a, b) => a.codePointAt(0) - b.codePointAt(0);
  const symbols = alphabet ?? [...used].sort(byCode);
  if (!symbols.length) throw new Refusal(`${quoted(pattern)} contains no symbol; give the alphabet too`);
  for (const symbol of symbols) {
    if ([...symbol].length !== 1 || OPERATORS.includes(symbol) || BLANK.test(symbol)) {
      const remedy = `use single characters other than blanks and ${OPERATORS}`;
      throw new Refusal(`symbol ${quoted(symbol)} cannot stand in a regular expression; ${remedy}`);
    }
  }
  const unknown = [...used].filter((symbol) => !symbols.includes(symbol)).sort(byCode);
  if (unknown.length) {
    const known = listed(symbols.map(quoted));
    throw new Refusal(`${quoted(pattern)} contains ${quoted(unknown[0])}; the alphabet is ${known}`);
  }
  check(symbols.length, MOST_SYMBOLS, `the regular expression has ${comma(symbols.length)} symbols`);
  return symbols;
}

// The symbols of a tree.
function literals(tree, found = new Set()) {
  if (tree.kind === "letters") for (const symbol of tree.symbols) found.add(symbol);
  else for (const part of tree.parts ?? [tree.part]) literals(part, found);
  return found;
}

// The machine whose states are the terms that linear forms lead to, as a drawing without places.
function nondeterministic(alphabet, tree) {
  const terms = new Terms(alphabet);
  const order = [terms.of(tree)];
  const number = new Map([[order[0], 0]]);
  const arrows = [];
  for (const term of order) {
    for (const [mask, target] of terms.form(term)) {
      if (!number.has(target)) number.set(target, order.push(target) - 1);
      const symbols = [...alphabet.keys()].filter((i) => (mask >> BigInt(i)) & 1n);
      arrows.push({ from: number.get(term), to: number.get(target), symbols });
    }
  }
  const states = order.map((term) => ({ name: "", output: Number(terms.nullable[term]) }));
  return { alphabet, outputs: ["reject", "accept"], states, initial: 0, arrows };
}

// A machine as a drawing without places, and without the state from which nothing is accepted.
function withoutSink(alphabet, { delta, outputs }) {
  const isDrawn = delta.map((row, q) => q === 0 || outputs[q] === 1 || row.some((next) => next !== q));
  const drawn = delta.map((_, q) => q).filter((q) => isDrawn[q]);
  const arrows = drawn.flatMap((q, from) => {
    const targets = [...new Set(delta[q])].filter((next) => isDrawn[next]);
    const symbolsTo = (next) => alphabet.map((_, a) => a).filter((a) => delta[q][a] === next);
    return targets.map((next) => ({ from, to: drawn.indexOf(next), symbols: symbolsTo(next) }));
  });
  const states = drawn.map((q, i) => ({ name: `q${i}`, output: outputs[q] }));
  return { alphabet, outputs: ["reject", "accept"], states, initial: 0, arrows };
}

// Expressions as terms, each a number; equal terms have equal numbers. The linear form of a term is the list of pairs
// [S, p] for which: where a word of the term begins with a symbol of the set S, what follows it is a word of p.
class Terms {
  constructor(alphabet) {
    this.bit = new Map(alphabet.map((symbol, i) => [symbol, 1n << BigInt(i)]));
    this.every = (1n << BigInt(alphabet.length)) - 1n;
    this.nodes = [["nothing"], ["empty"]];
    this.number = new Map();
    this.nullable = [false, true]; // whether the empty word is a word of each term
    this.forms = new Map([[NOTHING, []], [EMPTY, []]]);
    this.steps = 0;
  }

  // The term of a tree.
  of(tree) {
    if (tree.kind === "letters") {
      const mask = [...tree.symbols].reduce((sum, symbol) => sum | this.bit.get(symbol), 0n);
      return this.letters(tree.negated ? this.every ^ mask : mask);
    }
    if (tree.kind === "repeat") return this.repeat(this.of(tree.part), tree.low, tree.high ?? ALWAYS);
    const parts = tree.parts.map((part) => this.of(part));
    if (tree.kind === "union") return this.union(parts);
    // To the right, so that of a long chain each step takes one part off.
    if (tree.kind === "then") return parts.reduceRight((whole, part) => this.then(part, whole), EMPTY);
    return halves(parts, (r, s) => (tree.kind === "both" ? this.both(r, s) : this.sideBySide("shuffled", r, s)));
  }

  make(node, nullable) {
    const key = node.join();
    if (!this.number.has(key)) {
      this.number.set(key, this.nodes.push(node) - 1);
      this.nullable.push(nullable);
    }
    return this.number.get(key);
  }

  letters(mask) {
    return mask ? this.make(["letters", mask], false) : NOTHING;
  }

  then(r, s) {
    return this.sideBySide("then", r, s);
  }

  // A word of r and one of s, in one way or another: each word has the symbols of both.
  sideBySide(kind, r, s) {
    if (r === NOTHING || s === NOTHING) return NOTHING;
    if (r === EMPTY || s === EMPTY) return r === EMPTY ? s : r;
    return this.make([kind, r, s], this.nullable[r] && this.nullable[s]);
  }

  union(parts) {
    // Equal terms once, in order: without such identities there would be infinitely many.
    const different = [...new Set(parts)].filter((part) => part !== NOTHING);
    if (different.length <= 1) return different[0] ?? NOTHING;
    return this.make(["union", ...different], different.some((part) => this.nullable[part]));
  }

  // The words of r that are words of s too.
  both(r, s) {
    if (r === NOTHING || s === NOTHING) return NOTHING;
    return r === s ? r : this.make(["both", r, s], this.nullable[r] && this.nullable[s]);
  }

  repeat(r, least, high) {
    // Where r has the empty word, fewer repetitions are among more: r{2,5} is r{0,5}.
    const low = this.nullable[r] ? 0 : least;
    if (high === 0 || r === EMPTY || (r === NOTHING && low === 0)) return EMPTY;
    if (r === NOTHING || (low === 1 && high === 1)) return r;
    return this.make(["repeat", r, low, high], low === 0);
  }

  form(term) {
    if (!this.forms.has(term)) {
      const pairs = new Map(this.pairs(this.nodes[term]).map((pair) => [pair.join(), pair]));
      this.forms.set(term, [...pairs.values()]);
    }
    return this.forms.get(term);
  }

  pairs([kind, ...parts]) {
    if (kind === "letters") return this.counted([[parts[0], EMPTY]]);
    if (kind === "union") return this.counted(parts.flatMap((part) => this.form(part)));
    if (kind === "repeat") return this.ofRepeat(...parts);
    return { then: this.ofThen, both: this.ofBoth, shuffled: this.ofShuffled }[kind].call(this, ...parts);
  }

  ofRepeat(r, low, high) {
    const rest = this.repeat(r, Math.max(0, low - 1), high === ALWAYS ? high : high - 1);
    return this.followed(r, (p) => this.then(p, rest));
  }

  ofThen(r, s) {
    // A loop, not a recursion: of a?b?c?... every part may begin the word.
    const pairs = this.followed(r, (p) => this.then(p, s));
    while (this.nullable[r]) {
      const [kind, ...parts] = this.nodes[s];
      if (kind !== "then") return [...pairs, ...this.counted(this.form(s))];
      [r, s] = parts;
      const behind = s;
      pairs.push(...this.followed(r, (p) => this.then(p, behind)));
    }
    return pairs;
  }

  ofBoth(r, s) {
    const [left, right] = [this.form(r), this.form(s)];
    this.count(left.length * right.length);
    const pairs = left.flatMap(([m, p]) => right.filter(([n]) => m & n).map(([n, q]) => [m & n, this.both(p, q)]));
    return pairs.filter(([, p]) => p !== NOTHING);
  }

  ofShuffled(r, s) {
    const left = this.followed(r, (p) => this.sideBySide("shuffled", p, s));
    return [...left, ...this.followed(s, (q) => this.sideBySide("shuffled", r, q))];
  }

  // The form of r with something else behind each symbol.
  followed(r, change) {
    return this.counted(this.form(r)).map(([mask, p]) => [mask, change(p)]);
  }

  counted(pairs) {
    this.count(pairs.length);
    return pairs;
  }

  count(pairs) {
    this.steps += pairs;
    if (this.steps > MOST_STEPS) throw new Refusal("This expression is too large for this page. Take a shorter one.");
  }
}

// The parts joined by an associative operation, halves first, so that terms nest only a little.
function halves(parts, join) {
  if (parts.length === 1) return parts[0];
  const half = parts.length >> 1;
  return join(halves(parts.slice(0, half), join), halves(parts.slice(half), join));
}
