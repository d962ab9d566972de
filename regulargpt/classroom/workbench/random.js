// Random numbers that are a pure function of (seed, purpose, counter): Philox 2x32-10 (Salmon et al. 2011).

const [MULTIPLIER, WEYL, ROUNDS] = [0xd256d193, 0x9e3779b9, 10];

// The upper 32 bits of the product of two whole numbers below 2^32.
function high(a, b) {
  const [a1, a0, b1, b0] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const middle = a1 * b0 + Math.floor((a0 * b0) / 65536);
  return (a1 * b1 + Math.floor(middle / 65536) + Math.floor(((middle % 65536) + a0 * b1) / 65536)) >>> 0;
}

// Two words of 32 bits from a counter of two words and a key of one.
export function philox(counter, key) {
  let [a, b] = counter;
  for (let round = 0; round < ROUNDS; round += 1) {
    [a, b] = [(high(MULTIPLIER, a) ^ key ^ b) >>> 0, Math.imul(MULTIPLIER, a) >>> 0];
    key = (key + WEYL) >>> 0;
  }
  return [a, b];
}

// A word of 32 bits that stands for a text (FNV-1a, then the finish of MurmurHash3).
function digest(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

// What is drawn for one purpose, as "words 17": the n-th number, n < 2^32, is the same whoever asks, and in whatever order.
export class Random {
  constructor(seed, purpose) {
    this.key = digest(`${seed} ${purpose}`);
    this.second = digest(`${purpose} of ${seed}`);
  }

  words(n) {
    return philox([n >>> 0, this.second], this.key);
  }

  // At least 0 and below 1.
  uniform(n) {
    const [a, b] = this.words(n);
    return ((a >>> 5) * 67108864 + (b >>> 6)) / 9007199254740992;
  }

  // A whole number at least 0 and below `below`.
  integer(n, below) {
    return Math.floor(this.uniform(n) * below);
  }

  // Of mean 0 and deviation 1 (Box and Muller 1958).
  normal(n) {
    const [a, b] = this.words(n);
    return Math.sqrt(-2 * Math.log((a + 0.5) / 4294967296)) * Math.cos((2 * Math.PI * b) / 4294967296);
  }
}
