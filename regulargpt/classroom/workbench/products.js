// Products of matrices, fast: eight sums at a time stay in the processor's registers.

// Adds to c, a matrix of `rows` times `columns`, the products of a's rows with b's: sum_n a(i, n) b(k, n), n < depth.
// A matrix is { of, row, step }: its number (i, n) is of[i * row + n * step], so that one may be read by columns.
export function addProducts(a, b, c, rows, columns, depth) {
  const [pairs, fours] = [rows - (rows % 2), columns - (columns % 4)];
  for (let i = 0; i < pairs; i += 2) addPair(a, b, c, i, fours, columns, depth);
  addRest(a, b, c, { first: 0, end: pairs }, fours, columns, depth);
  addRest(a, b, c, { first: pairs, end: rows }, 0, columns, depth);
}

// Two rows of c, up to the last whole four columns.
function addPair({ of: a, row: below, step: right }, { of: b, row: down, step: on }, c, i, fours, columns, depth) {
  for (let k = 0; k < fours; k += 4) {
    let s0 = 0;
    let s1 = 0;
    let s2 = 0;
    let s3 = 0;
    let t0 = 0;
    let t1 = 0;
    let t2 = 0;
    let t3 = 0;
    for (let n = 0, p = i * below, q = k * down; n < depth; n += 1, p += right, q += on) {
      const x = a[p];
      const y = a[p + below];
      const b0 = b[q];
      const b1 = b[q + down];
      const b2 = b[q + 2 * down];
      const b3 = b[q + 3 * down];
      s0 += x * b0;
      s1 += x * b1;
      s2 += x * b2;
      s3 += x * b3;
      t0 += y * b0;
      t1 += y * b1;
      t2 += y * b2;
      t3 += y * b3;
    }
    const to = i * columns + k;
    const next = to + columns;
    c[to] += s0;
    c[to + 1] += s1;
    c[to + 2] += s2;
    c[to + 3] += s3;
    c[next] += t0;
    c[next + 1] += t1;
    c[next + 2] += t2;
    c[next + 3] += t3;
  }
}

// Some rows of c, from a column on.
function addRest({ of: a, row: below, step: right }, { of: b, row: down, step: on }, c, { first, end }, left, columns, depth) {
  for (let i = first; i < end; i += 1) {
    for (let k = left; k < columns; k += 1) {
      let sum = 0;
      for (let n = 0, p = i * below, q = k * down; n < depth; n += 1, p += right, q += on) sum += a[p] * b[q];
      c[i * columns + k] += sum;
    }
  }
}
