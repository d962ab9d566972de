// The folder of a proven network, as `regulargpt check FOLDER` reads it: weights, config.json, the automaton and the
// certificate ("Write a checker of your own" in docs/certificate.md), in one archive.

import { languageJson } from "./machine_json.js";
import { answersOfElements } from "./nested_machine.js";
import { sha256 } from "./sha256.js";
import { zip } from "./zip.js";

const FORMAT = "regulargpt certificate 3";
const FILES = { weights: "model.safetensors", network: "config.json", automaton: "automaton.json" };
// How the weights were drawn and trained: the checker wants it stated, and does not read it.
const DRAWN = { embedding_std: 1, state_noise: 0, noise_loss: 0.2, noise_growth: 1.01 };
const utf8 = (text) => new TextEncoder().encode(text);

// The archive of {options, weights, language, cases, prototypes, balls}: bytes of a .zip with one folder of this name.
export function archive(proven, folder) {
  return zip(Object.entries(folderOf(proven)).map(([name, bytes]) => [`${folder}/${name}`, bytes]));
}

// The files by their names.
export function folderOf(proven) {
  const found = {
    [FILES.weights]: safetensors(proven.weights),
    [FILES.network]: utf8(lines(configOf(proven))),
    [FILES.automaton]: utf8(languageJson(proven.language)),
  };
  return { ...found, "certificate.json": utf8(lines(certificateOf(proven, found))) };
}

// Eight bytes of header length, a JSON header, and the numbers in float32.
export function safetensors(weights) {
  const header = {};
  let end = 0;
  for (const [name, { shape, data }] of Object.entries(weights)) {
    header[name] = { dtype: "F32", shape, data_offsets: [end, (end += 4 * data.length)] };
  }
  const text = JSON.stringify(header);
  const head = utf8(text + " ".repeat(-text.length & 7)); // the numbers begin at a multiple of eight
  const bytes = new Uint8Array(8 + head.length + end);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, 8);
  let at = 8 + head.length;
  for (const { data } of Object.values(weights)) for (const value of data) view.setFloat32((at += 4) - 4, value, true);
  return bytes;
}

// config.json.
export function configOf({ options, language: { alphabet, output_names, nesting } }) {
  const counts = { n_symbols: alphabet.length, n_outputs: output_names.length };
  const along = nesting ? { direction: nesting.direction } : {};
  return { model: { name: "regulargpt", ...options, ...DRAWN }, ...counts, alphabet, output_names, ...along, supervision: "last" };
}

// certificate.json; `balls` {slack, radii}, where there are some, are of the network as it is.
function certificateOf({ language, cases, prototypes, balls }, files) {
  const stated = Object.entries(FILES).map(([part, file]) => [part, { file, sha256: sha256(files[file]) }]);
  return {
    format: FORMAT,
    ...(language.nesting ? { tree: "nested" } : {}),
    claim: claimOf(language, prototypes.length),
    unquantised: balls ? { claim: unquantisedClaim(balls.slack, language.nesting), slack: balls.slack, radii: [...balls.radii] } : null,
    ...Object.fromEntries(stated),
    chunk_size: 2,
    prototypes: prototypes.map((prototype) => [...prototype]),
    answers: cases.answers.map((answer) => (answer === null ? null : language.output_names.indexOf(answer))),
    leaves: entries(cases.leaves),
    nodes: entries(cases.nodes),
  };
}

const entries = (part) => ({ windows: part.map(([window]) => window), images: part.map(([, image]) => image) });

// What is proven of the quantised network, word for word as the checker states it.
export function claimOf(language, n_prototypes) {
  const { alphabet, nesting } = language;
  const listed = (symbols) => `{${symbols.map(ascii).join(", ")}}`;
  const of = (kind) => listed(alphabet.filter((_, symbol) => nesting.direction[symbol] === kind));
  const condition = answersToWords(language).every((answer) => answer !== null) ? "" : " on which the automaton has an answer";
  const [deep, along] = nesting ? [", of whatever length and depth,", ` that follows the brackets (calls ${of(1)}, returns ${of(-1)})`] : ["", ""];
  return (
    `For every word over ${listed(alphabet)}${deep} of at least one symbol${condition}, the network answers as the ` +
    `automaton does, when it is computed as a tree${along} with chunks of 2 in real arithmetic and ` +
    `the state of every node above the symbols is replaced by the nearest of ${n_prototypes} prototypes.`
  );
}

// What words of one symbol or more are answered, null among it if some have no answer.
function answersToWords(language) {
  if (!language.nesting) return language.delta.flat().map((q) => language.outputs[q]);
  const answers = answersOfElements(language);
  return language.elements.right.flat().filter((element) => element >= 0).map((element) => answers[element]);
}

// The same of the network as it is; the slack is one that Python writes in the same digits (1e-4 or more, below 1).
export function unquantisedClaim(slack, nested) {
  const exact = nested ? "of symbols the exact states, of other nodes the states " : "at the first level of the exact states of the symbols, above it of the states ";
  return (
    "The same holds of the network as it is, without replacing any state, in real arithmetic. It holds too in any " +
    `arithmetic that moves the state of each node above the symbols by at most ${slack}, and changes no choice ` +
    `of the readout. A move is measured from the exact value of the network's function: ${exact}as they were computed.`
  );
}

// A text as JSON of ASCII characters alone.
const ascii = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

// A line for each key.
const line = ([key, item]) => `  ${JSON.stringify(key)}: ${JSON.stringify(item)}`;
const lines = (value) => `{\n${Object.entries(value).map(line).join(",\n")}\n}\n`;
