// A trained RegularGPT as a part of an address: its weights in float32, in the order of their places, and behind them a
// checksum; a letter says whether they are packed. What is proven of it is no part: who opens the link tries all cases.

import { crc32 } from "./zip.js";

export const MOST = 60_000; // characters of a link
const [PACKED, PLAIN] = ["p", "n"];

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

export const networkAsText = async (weights) => {
  const numbers = Object.values(weights).flatMap(({ data }) => [...data]);
  const whole = new Uint8Array(4 * numbers.length + 4);
  const view = new DataView(whole.buffer);
  numbers.forEach((value, i) => view.setFloat32(4 * i, value));
  view.setInt32(4 * numbers.length, crc32(whole.subarray(0, -4)));
  const isPacked = "CompressionStream" in globalThis;
  const bytes = isPacked ? await through(whole, new CompressionStream("deflate-raw")) : whole;
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return (isPacked ? PACKED : PLAIN) + btoa(text).replace(/[+/=]/gu, (sign) => ({ "+": "-", "/": "_", "=": "" })[sign]);
};

// The weights, one after the other; null where the text is damaged.
export const networkFromText = async (text) => {
  try {
    if (text.length > MOST) return null;
    const bytes = Uint8Array.from(atob(text.slice(1).replace(/-/gu, "+").replace(/_/gu, "/")), (character) => character.charCodeAt(0));
    const whole = text[0] === PACKED ? await through(bytes, new DecompressionStream("deflate-raw")) : bytes;
    const view = new DataView(whole.buffer);
    const numbers = Float64Array.from({ length: whole.length / 4 - 1 }, (_, i) => view.getFloat32(4 * i));
    return view.getInt32(4 * numbers.length) === crc32(whole.subarray(0, -4)) && numbers.every(Number.isFinite) ? numbers : null;
  } catch {
    return null;
  }
};
