// A .zip archive of files as they are, without compression (APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16).

const VERSION = 20;
const UTF8 = 0x0800;
const MIDNIGHT_1980 = 0x00210000; // a date that is the same every time, and none of the reader's

// The bytes of the archive of [name, bytes].
export function zip(files) {
  const parts = [];
  const directory = [];
  let at = 0;
  for (const [name, bytes] of files) {
    const called = new TextEncoder().encode(name);
    const about = numbers([2, VERSION], [2, UTF8], [2, 0], [4, MIDNIGHT_1980], [4, crc32(bytes)], [4, bytes.length], [4, bytes.length], [2, called.length], [2, 0]);
    const local = [numbers([4, 0x04034b50]), about, called, bytes];
    directory.push(numbers([4, 0x02014b50], [2, VERSION]), about, numbers([2, 0], [2, 0], [2, 0], [4, 0], [4, at]), called);
    parts.push(...local);
    at += lengthOf(local);
  }
  const [count, size] = [files.length, lengthOf(directory)];
  const end = numbers([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, at], [2, 0]);
  return joined([...parts, ...directory, end]);
}

// Whole numbers of so many bytes, little-endian.
function numbers(...fields) {
  return Uint8Array.from(fields.flatMap(([width, value]) => Array.from({ length: width }, (_, i) => (value >>> (8 * i)) & 255)));
}

const lengthOf = (parts) => parts.reduce((sum, part) => sum + part.length, 0);

function joined(parts) {
  const found = new Uint8Array(lengthOf(parts));
  let at = 0;
  for (const part of parts) {
    found.set(part, at);
    at += part.length;
  }
  return found;
}

// The checksum of ISO 3309, bit by bit.
export function crc32(bytes) {
  let rest = -1;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit += 1) rest = (rest >>> 1) ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest;
}
