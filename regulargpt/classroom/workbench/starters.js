// Twelve machines to start from, two of them with a stack, the quickest to prove first.
//
//   STARTERS: [{ title, seconds, says, language, drawn }]: what it is called, how long it takes, what it answers in one
//             sentence, the language of the project that it is (its brackets are 0 and 1 there), and the drawing
//
// Seconds: what the worker of RegularGPT alone calculated until the proof, seed 0, in a headless Chromium on two shared
// cores, rounded. The other two networks beside it take as many cores.
const ACCEPTOR = ["reject", "accept"];

export const STARTERS = [
  {
    title: "Even number of a",
    seconds: 2,
    says: "Accepts words in which a occurs an even number of times.",
    language: "regex:(b*ab*a)*b*",
    drawn: drawing("ab", ACCEPTOR, "even 180,160 1; odd 400,160 0", "0 0 b; 0 1 a; 1 0 a; 1 1 b"),
  },
  {
    title: "(ab)*",
    seconds: 2,
    says: "Accepts ab, abab, ababab and so on.",
    language: "regex:(ab)*",
    drawn: drawing("ab", ACCEPTOR, "start 180,160 1; after a 400,160 0", "0 1 a; 1 0 b"),
  },
  {
    title: "Even 0s and even 1s",
    seconds: 3,
    says: "Tomita's fifth language: an even number of 0s and an even number of 1s.",
    language: "tomita-5",
    drawn: drawing(
      "01",
      ACCEPTOR,
      "even even 180,90 1; odd even 400,90 0; even odd 180,290 0; odd odd 400,290 0",
      "0 1 0; 1 0 0; 2 3 0; 3 2 0; 0 2 1; 2 0 1; 1 3 1; 3 1 1",
    ),
  },
  {
    title: "Brackets of any depth",
    seconds: 3,
    says: "Accepts brackets that are balanced, however deep: the machine has a stack.",
    language: "brackets-1",
    drawn: drawing(
      "()",
      ACCEPTOR,
      "balanced 130,180 1; open 430,180 0",
      "0 1 ( +first; 1 1 ( +deeper; 1 1 ) -deeper; 1 0 ) -first",
    ),
  },
  {
    title: "Even pairs",
    seconds: 4,
    says: "Answers whether neighbours differ an even number of times: then the first and the last symbol are equal.",
    language: "even-pairs",
    drawn: drawing(
      "01",
      ["even", "odd"],
      "start 90,190 0; 0..0 270,90 0; 0..1 470,90 1; 1..0 470,290 1; 1..1 270,290 0",
      "0 1 0; 0 4 1; 1 1 0; 1 2 1; 2 2 1; 2 1 0; 3 3 0; 3 4 1; 4 4 1; 4 3 0",
    ),
  },
  {
    title: "Multiples of 3",
    seconds: 7,
    says: "Reads a number in binary and accepts it if 3 divides it.",
    language: "regex:(0|1(01*0)*1)*",
    drawn: drawing("01", ACCEPTOR, "0 110,160 1; 1 290,160 0; 2 470,160 0", "0 0 0; 0 1 1; 1 0 1; 1 2 0; 2 1 0; 2 2 1"),
  },
  {
    title: "Two kinds of brackets",
    seconds: 8,
    says: "Accepts balanced brackets of two kinds, each closed by its own.",
    language: "brackets-2",
    drawn: drawing(
      "()[]",
      ACCEPTOR,
      "balanced 130,180 1; open 530,180 0",
      "0 1 ( +first(; 0 1 [ +first[; 1 1 ( +(; 1 1 [ +[; 1 1 ) -(; 1 1 ] -[; 1 0 ) -first(; 1 0 ] -first[",
    ),
  },
  {
    title: "Third symbol from the end",
    seconds: 8,
    says: "Guesses where the end is: accepts words whose third symbol from the end is a. How many states does it take?",
    language: "regex:[ab]*a[ab]{2}",
    drawn: drawing(
      "ab",
      ACCEPTOR,
      "wait 80,160 0; 3 left 230,160 0; 2 left 380,160 0; end 530,160 1",
      "0 0 ab; 0 1 a; 1 2 ab; 2 3 ab",
    ),
  },
  {
    title: "Cycle navigation",
    seconds: 10,
    says: "Walks on five places in a circle: 0 stays, 1 goes one forward, 2 goes one back. Where does the walk end?",
    language: "cycle-navigation",
    drawn: drawing(
      "012",
      ["0", "1", "2", "3", "4"],
      "0 290,90 0; 1 433,194 1; 2 378,361 2; 3 202,361 3; 4 147,194 4",
      [0, 1, 2, 3, 4].map((p) => `${p} ${p} 0; ${p} ${(p + 1) % 5} 1; ${p} ${(p + 4) % 5} 2`).join("; "),
    ),
  },
  {
    title: "Contains abb",
    seconds: 20,
    says: "Accepts words in which abb occurs somewhere.",
    language: "regex:[ab]*abb[ab]*",
    drawn: drawing(
      "ab",
      ACCEPTOR,
      "nothing 80,160 0; a 230,160 0; ab 380,160 0; abb 530,160 1",
      "0 0 b; 0 1 a; 1 1 a; 1 2 b; 2 1 a; 2 3 b; 3 3 ab",
    ),
  },
  {
    title: "Brackets, two deep",
    seconds: 50,
    says: "Accepts brackets that are balanced and never more than two deep.",
    language: "dyck-2",
    drawn: drawing("()", ACCEPTOR, "0 110,160 1; 1 290,160 0; 2 470,160 0", "0 1 (; 1 0 ); 1 2 (; 2 1 )"),
  },
  {
    title: "No odd run of 1 before an odd run of 0",
    seconds: 60,
    says: "Tomita's third language: no odd run of 1s is followed at once by an odd run of 0s.",
    language: "tomita-3",
    drawn: drawing(
      "01",
      ACCEPTOR,
      "ok 110,110 1; odd 1s 310,110 1; odd 0s 510,110 0; even 0s 510,310 1",
      "0 0 0; 0 1 1; 1 0 1; 1 2 0; 2 3 0; 3 2 0; 3 1 1",
    ),
  },
];

// A drawing from short texts: states "name x,y output; ..." and arrows "from to symbols; ...", behind the symbols +g where
// they push g, and -g where they pop it.
function drawing(letters, outputs, states, arrows) {
  const alphabet = [...letters];
  const stateOf = (text) => {
    const [, name, x, y, output] = /^(.*) (\d+),(\d+) (\d+)$/.exec(text).map((part, i) => (i > 1 ? Number(part) : part));
    return { name, x, y, output };
  };
  const arrowOf = (text) => {
    const [from, to, symbols, done = ""] = text.split(" ");
    const stack = done && (done[0] === "+" ? { push: done.slice(1) } : { pop: [done.slice(1)] });
    return { from: Number(from), to: Number(to), symbols: [...symbols].map((symbol) => alphabet.indexOf(symbol)), ...stack };
  };
  return { alphabet, outputs, states: states.split("; ").map(stateOf), initial: 0, arrows: arrows.split("; ").map(arrowOf) };
}
