// Makes the panels, and lets the address say what is on the bench.

import { Bench } from "./bench.js";
import { BreakPanel } from "./break_panel.js";
import { Captions } from "./captions.js";
import { LanesPanel } from "./lanes_panel.js";
import { EditorPanel } from "./editor.js";
import { hitsAsText, hitsFromText } from "./hits.js";
import { fromJson } from "./machine_json.js";
import { asText, fromText } from "./machine_link.js";
import { MOST, networkAsText, networkFromText } from "./network_link.js";
import { MapPanel } from "./map_panel.js";
import { archive } from "./saving.js";
import { STARTERS } from "./starters.js";
import { Arrivals, LongWordsAsked, Searches, Training } from "./training.js";
import { TreePanel } from "./tree_panel.js";
import { WallPanel } from "./wall_panel.js";

const PANELS = { editor: EditorPanel, tree: TreePanel, lanes: LanesPanel, map: MapPanel, wall: WallPanel, break: BreakPanel };
const FIRST_WORD = 6; // symbols

const { machine } = JSON.parse(byId("data").textContent);
const first = machine ? fromJson(machine).drawn : STARTERS[0].drawn;
export const bench = new Bench();

// The word with which a machine begins: its symbols one after the other.
const wordOf = ({ language }) => (language ? Array.from({ length: FIRST_WORD }, (_, i) => i % language.alphabet.length) : []);

function draw(drawn) {
  bench.set.language(drawn);
  bench.set.word(wordOf(bench));
}

// The folder that `regulargpt check` reads, in a file to take along.
bench.save = () => {
  const { snapshot, cases } = bench.proven;
  const name = asText(bench.drawn).match(/^[a-z0-9-]+$/u)?.[0] ?? "machine";
  save(new Blob([archive({ ...snapshot, cases, language: bench.language }, name)], { type: "application/zip" }), `${name}.zip`);
};

// What copies a link with the network that is proven; null for a level's, and where the link would be too long.
bench.share = async () => {
  const net = bench.isLevel ? null : await networkAsText(bench.proven.snapshot.weights);
  return net && address.hash({ net }).length <= MOST ? (button) => copy(address.link({ net }), button) : null;
};

draw(first);
const panels = Object.fromEntries(Object.entries(PANELS).map(([name, Panel]) => [name, new Panel(document.querySelector(`.panel.${name} .place`), bench)]));
for (const Beside of [Training, Searches, LongWordsAsked]) new Beside(bench);
const arrivals = new Arrivals(bench);
const captions = new Captions(bench);
// What is hard to believe comes first for who wants it: level 4, broken.
const surprise = action("A wrong network that no short word shows", () => {
  panels.break.levels.play(4);
  bench.set.hits(hitsFromText("c!leaves!1.1!1"));
  captions.go(6);
});
panels.editor.exchange.start.after(html("p", { class: "note surprise" }, "Or first the surprise: ", surprise));
new Terms();

function complain(words) {
  panels.editor.findings.say(`The link is cut or damaged: ${words}`);
  setTimeout(() => address.say());
}

// Said where it is not what the page begins with. All of it is shown again by a link, but not what was learned.
const said = (text, usual) => (text === usual ? null : text);
const whole = (text, most) => (/^\d+$/u.test(text ?? "") && Number(text) <= most ? Number(text) : null);
address.add("machine", () => said(asText(bench.drawn), asText(first)), (text) => {
  const given = text === null ? first : fromText(text);
  const drawn = given ?? first;
  if (!panels.break.levels.takes(drawn) && asText(drawn) !== asText(bench.drawn)) draw(drawn);
  if (!given) complain("it names no machine that this page can draw. Here is the one that it begins with.");
});
address.add("seed", () => said(String(bench.seed), "0"), (text) => {
  const seed = whole(text, 9999) ?? 0;
  if (seed !== bench.seed) bench.set.seed(seed);
});
address.add("step", () => said(String(bench.step), "1"), (text) => {
  bench.set.step(whole(text, 7) || 1);
  if (text !== null) requestAnimationFrame(() => captions.scroll());
});
address.add("word", () => said(write(bench.word, bench.language?.alphabet ?? []), write(wordOf(bench), bench.language?.alphabet ?? [])), (text) => {
  if (bench.language) bench.set.word(text === null ? wordOf(bench) : read(text, bench.language.alphabet).word);
});
for (const kind of ["language", "word"]) bench.on(kind, () => address.say());
bench.on("language", () => !bench.word.length && bench.language && bench.set.word(wordOf(bench)));
panels.break.levels.inAddress();
// A network that was trained elsewhere. The address says it no more once it is on the bench.
address.add("net", () => null, async (text) => {
  if (text === null) return;
  const { language } = bench;
  const numbers = await networkFromText(text);
  if (bench.language !== language) return;
  if (numbers && language) arrivals.take(numbers, complain);
  else complain("its network cannot be read.");
});
// What is no part of an address, or not all of one, is what a cut has left.
address.add("cut", () => null, () => {
  const hits = address.said().get("hits");
  const isWhole = location.hash.slice(1).split("&").every((pair) => pair.includes("=") && address.parts.has(pair.split("=")[0]));
  if (!isWhole || (hits && hits !== hitsAsText(bench.hits))) complain("its end is not there.");
});
// Who leaves the page is asked only where something would be lost.
for (const kind of ["language", "training"]) bench.on(kind, () => { onbeforeunload = bench.training === "none" && !bench.kept.length ? null : (event) => event.preventDefault(); });
