// Random positions as torch draws them in evaluation: the first of a permutation, from its Mersenne twister with seed 0.

// The numbers of the Mersenne twister (Matsumoto and Nishimura 1998), 32 bits each.
function* twister(seed) {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let i = 1; i < 624; i += 1) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  for (;;) {
    for (let i = 0; i < 624; i += 1) {
      const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
      state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    for (let y of state) {
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      yield (y ^ (y >>> 18)) >>> 0;
    }
  }
}

// `length` positions among 0, 1, ..., among - 1, in order: the beginning of Fisher and Yates's permutation.
export function randomPositions(among, length) {
  const numbers = twister(0);
  const moved = new Map();
  const at = (i) => moved.get(i) ?? i;
  const drawn = Array.from({ length }, (_, i) => {
    // The last place is left as it is: torch draws no number for it.
    const other = i === among - 1 ? i : i + (numbers.next().value % (among - i));
    const found = at(other);
    moved.set(other, at(i));
    return found;
  });
  return drawn.sort((a, b) => a - b);
}
