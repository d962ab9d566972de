// Attention at a temperature: everything was computed before, and is looked up here.

const data = JSON.parse(byId("data").textContent);
const LEVELS = data.levels;
const rows = { short: bytes(data.short.rows), long: bytes(data.long.rows) };
const boxes = { short: [...document.querySelectorAll(".short .boxes span")], long: [...document.querySelectorAll(".long .boxes span")] };

function bytes(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

// What is chosen now. The short word is shown as trained.
const chosen = (part) => ({
  question: Number(byId("question").value),
  view: Number(byId("view").value),
  stop: part === "short" ? 0 : Number(byId("temperature").value),
});

// A row of attention: a byte is 255 times the root of a probability.
function row(part, { question, view, stop }) {
  const { length, stops } = data[part];
  const begin = ((question * data.views + view) * stops + stop) * length;
  return Array.from(rows[part].subarray(begin, begin + length), (byte) => (byte / 255) ** 2);
}

const level = (p) => LEVELS.filter((least) => p >= least).length;
const percent = (p) => `${(100 * p).toFixed(p < 0.0995 ? 1 : 0)} %`;
const fixed = (value, digits) => (value === null ? "–" : value.toFixed(digits));

function paint(part) {
  const at = chosen(part);
  const { asked, needle } = data[part].questions[at.question];
  const p = row(part, at);
  boxes[part].forEach((box, i) => {
    const classes = [`a${level(p[i])}`];
    if (i === needle) classes.push("needle");
    if (i === asked) classes.push("asks");
    if (data.causal && i > asked) classes.push("unseen");
    box.className = classes.join(" ");
  });
  const first = [...p.keys()].sort((i, j) => p[j] - p[i] || i - j).slice(0, 3);
  const most = first.map((i) => `${boxes[part][i].textContent} at ${i + 1} (${percent(p[i])})`).join(", ");
  document.querySelector(`.${part} .most`).textContent = `Most attention: ${most}.`;
  document.querySelector(`.${part} .asked`).textContent = data[part].questions[at.question].text;
}

// The numbers of a word at a temperature, and whether the network is right.
function numbers(part, stop) {
  const { question, view } = chosen(part);
  const found = data[part];
  const answer = found.answers[question][stop];
  const { right } = found.questions[question];
  const mark = right === null ? "" : answer === right ? " ✓" : " ✗";
  return {
    p_max: fixed(found.p_max[question][view][stop], 3),
    entropy: fixed(found.entropy[question][view][stop], 2),
    needle: fixed(found.needle[question][view][stop], 3),
    answer: `${answer}${mark}`,
    p: fixed(found.p[question][stop], 3),
  };
}

function fill(column, found) {
  for (const [name, value] of Object.entries(found)) {
    const cell = document.querySelector(`[data-row="${name}"] [data-column="${column}"]`);
    if (cell) cell.textContent = value;
  }
}

function show() {
  const stop = chosen("long").stop;
  const { label, names } = data.stops[stop];
  const now = numbers("long", stop);
  paint("short");
  paint("long");
  fill("short", numbers("short", 0));
  fill("before", numbers("long", data.trained));
  fill("now", now);
  const name = stop === data.trained ? "as trained" : `temperature ${label}`;
  document.querySelector('[data-column="now"][scope]').textContent = `${data.long.length}, ${name}`;
  document.querySelector(".long h2").textContent = `${data.long.length} symbols, ${name}`;
  byId("temperature").setAttribute("aria-valuetext", [`temperature ${label}`, ...names].join(", "));
  document.querySelectorAll(".jumps button").forEach((button) => {
    button.setAttribute("aria-pressed", String(Number(button.value) === stop));
  });
  const answer = now.p === "–" ? `answer ${now.answer}` : `answer ${now.answer}, probability of the right one ${now.p}`;
  byId("now").textContent = `Temperature ${label}: P_max ${now.p_max}, H ${now.entropy}, ${answer}.`;
}

// What a box holds, for those who point at it.
for (const part of ["short", "long"]) {
  document.querySelector(`.${part} .boxes`).addEventListener("pointerover", ({ target }) => {
    const i = boxes[part].indexOf(target);
    if (i >= 0) target.title = `${target.textContent} at ${i + 1}: ${percent(row(part, chosen(part))[i])}`;
  });
}

for (const id of ["question", "view", "temperature"]) {
  byId(id).addEventListener("input", show);
  byId(id).addEventListener("change", () => address.say());
}
document.querySelectorAll(".jumps button").forEach((button) => {
  button.addEventListener("click", () => {
    byId("temperature").value = button.value;
    show();
    address.say(true);
  });
});
document.querySelector(".choices").addEventListener("submit", (event) => event.preventDefault());

// What the address keeps: the question and the head, counted from 1, and the temperature. Not what they are at first.
function keep(name, id, texts) {
  const first = byId(id).value;
  address.add(name, () => (byId(id).value === first ? null : texts[Number(byId(id).value)]), (text) => {
    byId(id).value = texts.includes(text) ? texts.indexOf(text) : first;
    show();
  });
}

const counted = (id) => [...byId(id).options].map((_, i) => String(i + 1));
keep("question", "question", counted("question"));
keep("head", "view", counted("view"));
keep("temperature", "temperature", data.stops.map(({ label }) => label));
show();
