// A network without a tree of prototypes: what it answers after each prefix, and the first at which it and the automaton part.

// After each prefix what network and automaton answer; the automaton's null is no answer.
const answersOf = (prefixes, states, outputs) => prefixes.map(({ state, answer }, i) => {
  const truth = outputs[states[i + 1]];
  const verdict = truth === null || !answer ? "unknown" : answer.name === truth ? "right" : "wrong";
  return { length: i + 1, vector: state, said: answer?.name ?? null, truth, reached: states[i + 1], verdict };
});

// A prefix in words.
function describePrefix({ length, said, truth, reached, verdict }, word, run) {
  const sub = short(write(word.slice(0, length), run.alphabet), 40);
  const network = said === null ? "the network's numbers overflow" : `the network says ${said}`;
  const automaton = truth === null ? "has no answer" : `says ${truth}`;
  return `Prefix of ${length} ${length === 1 ? "symbol" : "symbols"}, ${sub}: the automaton is in state ${run.states[reached]} and ${automaton}, ${network}. ${MARKS[verdict]}`;
}

// Where they part first, in words, with a button that reads up to there.
function sayFirstWrong(prefixes, word, run, onShow) {
  const first = prefixes.find(({ verdict }) => verdict === "wrong");
  const asked = prefixes.filter(({ verdict }) => verdict !== "unknown").length;
  const all = prefixes.length === word.length ? "" : ` Only the first ${prefixes.length.toLocaleString("en")} of ${word.length.toLocaleString("en")} prefixes were computed.`;
  const own = " Each prefix was asked as a word of its own.";
  if (!first) {
    return [asked ? `They part nowhere: they agree on each of the ${asked.toLocaleString("en")} prefixes with an answer.${all}${own}` : `No prefix has an answer to compare.${all}`];
  }
  const button = html("button", { type: "button" }, "Read to there");
  button.addEventListener("click", () => onShow(first.length));
  const sub = short(write(word.slice(0, first.length), run.alphabet), 24);
  const place = first.length === 1 ? "1 symbol" : `${first.length} symbols`;
  return [`Here they part: after ${place}, the prefix `, html("code", {}, sub), `. The automaton says ${first.truth}, the network ${first.said}.${all}${own} `, button];
}
