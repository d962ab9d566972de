// One typed word for all runs.

// A new word ends what plays.
const players = [];
function playing(range, button) {
  players.push(new Player(range, button, byId("speed")));
}
byId("word").addEventListener("input", () => players.filter(({ timer }) => timer !== null).forEach((player) => player.pause()));
playing(byId("step"), byId("play"));

const data = JSON.parse(byId("data").textContent);
const runs = data.map((run, i) => new (run.rows ? RowsRun : Run)(document.querySelector(`[data-run="${i}"]`), run));
const known = runs.filter((run) => run.run.states || run.run.offered);

function step() {
  const at = Number(byId("step").value);
  const length = Number(byId("step").max);
  byId("read").textContent = `${at} of ${length} symbols`;
  runs.forEach((run) => run.step(at));
}

function show() {
  const text = byId("word").value;
  const tooLong = [...text].length > 2 * MOST;
  runs.forEach((run) => run.show(tooLong ? "" : text));
  const unknown = known.length && known.every((run) => run.unknown.length) ? [...new Set(known.flatMap((run) => run.unknown))] : [];
  byId("problem").textContent = tooLong ? `The word is too long: at most ${MOST.toLocaleString("en")} symbols.` : unknown.length ? `Not in the alphabet: ${unknown.join(" ")}` : "";
  byId("step").max = Math.max(0, ...runs.map((run) => run.word.length));
  byId("step").value = byId("step").max;
  step();
}

// A word that was chosen, not typed: "back" leads to the one before.
function turnTo(text) {
  byId("word").value = text;
  typing = false;
  show();
  address.say(true);
}

const MOST_MADE = 10000; // symbols, which take a second

// Type the word that is made of so many symbols, or say why there is none.
function make(word, { alphabet }) {
  const length = wholeNumber(byId("length").value, MOST_MADE);
  if (length === null) byId("problem").textContent = `Here a length is a whole number from 1 to ${MOST_MADE.toLocaleString("en")}.`;
  else turnTo(write(word(length), alphabet));
}

// Of a word that is being typed, the address keeps the last letter only.
let typing = false;
byId("word").addEventListener("input", () => {
  show();
  address.say(!typing);
  typing = true;
});
byId("word").addEventListener("blur", () => { typing = false; });
byId("word-form").addEventListener("submit", (event) => event.preventDefault());
byId("clear").addEventListener("click", () => {
  turnTo("");
  byId("word").focus();
});
byId("step").addEventListener("input", step);
byId("step").addEventListener("change", () => address.say());
for (const [id, by] of [["back", -1], ["forth", 1]]) {
  byId(id).addEventListener("click", () => {
    byId("step").value = Number(byId("step").value) + by;
    step();
    address.say();
  });
}

// The words that a network answers wrongly.
document.querySelectorAll(".wrong-words button").forEach((button) => {
  button.addEventListener("click", () => {
    turnTo(button.dataset.word);
    button.closest(".run").querySelector(".answer").scrollIntoView({ block: "nearest" });
  });
});

if (known.length) {
  const { run } = known[0];
  byId("length").max = MOST_MADE;
  byId("random").addEventListener("click", () => make((length) => randomWord(run, length), run));
  run.alphabet.slice(0, 4).forEach((symbol, a) => {
    if (a === run.empty) return; // the page adds those
    const button = html("button", { type: "button", "data-repeat": a }, `${symbol}${symbol}${symbol}…`);
    button.addEventListener("click", () => make((length) => Array(length).fill(a), run));
    byId("repeats").append(button, " ");
  });
}

// What the address keeps: the word, the symbols read, and the node that was chosen in the tree of the run looked at.
const treeInUse = () => runs[Number(figures.at.run ?? 0)]?.tree;
address.add("word", () => byId("word").value, (text) => {
  if (text !== null) byId("word").value = text;
  show();
});
address.add("step", () => (byId("step").value === byId("step").max ? null : byId("step").value), (text) => {
  byId("step").value = /^\d+$/u.test(text) ? text : byId("step").max;
  step();
});
address.add("node", () => treeInUse()?.chosenPlace ?? null, (text) => treeInUse()?.open(text));

if (!address.said().has("word")) {
  if (known.length) byId("word").value = write(randomWord(known[0].run, 8), known[0].run.alphabet);
  show();
}
