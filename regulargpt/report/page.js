// One typed word for all runs.

const data = JSON.parse(byId("data").textContent);
const runs = data.map((run, i) => new Run(document.querySelector(`[data-run="${i}"]`), run));
const known = runs.filter((run) => run.run.states);

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
  byId("problem").textContent = tooLong ? `The word is too long: at most ${MOST} symbols.` : unknown.length ? `Not in the alphabet: ${unknown.join(" ")}` : "";
  byId("step").max = Math.max(0, ...runs.map((run) => run.word.length));
  byId("step").value = byId("step").max;
  step();
  try {
    history.replaceState(null, "", text ? `#word=${encodeURIComponent(text)}` : location.pathname + location.search);
  } catch {
    // Some browsers refuse this for files: the page works without.
  }
}

function type(word, alphabet) {
  byId("word").value = write(word, alphabet);
  show();
}

function fromAddress() {
  const found = /[#&]word=([^&]*)/u.exec(location.hash);
  if (!found) return false;
  try {
    byId("word").value = decodeURIComponent(found[1]);
  } catch {
    byId("word").value = found[1];
  }
  show();
  return true;
}

const wanted = () => Math.min(5000, Math.max(1, Math.floor(Number(byId("length").value)) || 1));

byId("word").addEventListener("input", show);
byId("word-form").addEventListener("submit", (event) => event.preventDefault());
byId("clear").addEventListener("click", () => {
  byId("word").value = "";
  show();
  byId("word").focus();
});
byId("step").addEventListener("input", step);
for (const [id, by] of [["back", -1], ["forth", 1]]) {
  byId(id).addEventListener("click", () => {
    byId("step").value = Number(byId("step").value) + by;
    step();
  });
}
window.addEventListener("hashchange", fromAddress);

// The words that a network answers wrongly.
document.querySelectorAll(".wrong-words button").forEach((button) => {
  button.addEventListener("click", () => {
    byId("word").value = button.dataset.word;
    show();
    button.closest(".run").querySelector(".answer").scrollIntoView({ block: "nearest" });
  });
});

if (known.length) {
  const { run } = known[0];
  byId("random").addEventListener("click", () => type(randomWord(run, wanted()), run.alphabet));
  run.alphabet.slice(0, 4).forEach((symbol, a) => {
    const button = html("button", { type: "button", "data-repeat": a }, `${symbol}${symbol}${symbol}…`);
    button.addEventListener("click", () => type(Array(wanted()).fill(a), run.alphabet));
    byId("repeats").append(button, " ");
  });
  if (!fromAddress()) type(randomWord(run, 8), run.alphabet);
} else if (!fromAddress()) {
  show();
}
