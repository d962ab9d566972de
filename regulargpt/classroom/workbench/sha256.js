// SHA-256 (FIPS 180-4). A browser's own is not there for a page that is opened from disk or over plain http.

// The first 32 bits of the fractional parts of the square and cube roots of the first primes.
const PRIMES = firstPrimes(64);
const fraction = (root) => (prime) => Math.floor((root(prime) % 1) * 2 ** 32);
const START = PRIMES.slice(0, 8).map(fraction(Math.sqrt));
const ROUND = PRIMES.map(fraction(Math.cbrt));

function firstPrimes(count) {
  const found = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime)) found.push(n);
  return found;
}

const rotated = (word, by) => (word >>> by) | (word << (32 - by));

// The digest of bytes as 64 hexadecimal digits.
export function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(bytes.length));
  const hash = Int32Array.from(START, (word) => word | 0);
  const w = new Int32Array(64);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i += 1) w[i] = view.getInt32(at + 4 * i);
    mixed(hash, w);
  }
  return [...hash].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

// One block of sixteen words.
function mixed(hash, w) {
  for (let i = 16; i < 64; i += 1) {
    const [x, y] = [w[i - 15], w[i - 2]];
    w[i] = w[i - 16] + (rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3)) + w[i - 7] + (rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = hash;
  for (let i = 0; i < 64; i += 1) {
    const t = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
    const u = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t) | 0, c, b, a, (t + u) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
}
