// Attention on a tape, with its way back: over windows of C rows, or over the words of a batch.

// Result i is what the row own[i] mixes of the rows that `seen` lists from from[i] to to[i]. Queries, keys and values are
// the columns of matrices from a number on, { of, at }; the rows of values may be listed apart, in `valued`. Head h has
// the logits q k / sqrt(d_head) + bias[h][offset].
export function attend(tape, d_model, n_heads, { query, key, value, own, seen, valued = seen, from, to, bias = null }) {
  const z = tape.matrix(own.length, d_model);
  const begins = new Int32Array(own.length + 1); // of the patterns of each result, head by head
  for (let i = 0; i < own.length; i += 1) begins[i + 1] = begins[i] + n_heads * (to[i] - from[i]);
  const patterns = tape.numbers(begins[own.length]);
  const width = d_model / n_heads;
  const each = (f) => {
    for (let i = 0; i < own.length; i += 1) {
      const count = to[i] - from[i];
      for (let h = 0; h < n_heads; h += 1) {
        const q = own[i] * query.of.columns + query.at + h * width;
        f({ q, h: h * width, first: from[i], count, p: begins[i] + h * count, z: i * d_model + h * width, r: h * (bias ? bias.columns : 0) });
      }
    }
  };
  const sides = { query, key, value, seen, valued, bias, patterns, z, width, slopes: new Float64Array(to.reduce((most, end, i) => Math.max(most, end - from[i]), 0)) };
  each((one) => mix(one, sides));
  tape.then(() => each((one) => mixSlopes(one, sides)));
  return z;
}

// One head of one result.
function mix({ q, h, first, count, p, z, r }, { query, key, value, seen, valued, bias, patterns, z: result, width }) {
  const { value: queries } = query.of;
  const { value: keys } = key.of;
  const { value: values } = value.of;
  const { value: mixed } = result;
  const scale = 1 / Math.sqrt(width);
  let highest = -Infinity;
  for (let n = 0; n < count; n += 1) {
    const k = seen[first + n] * key.of.columns + key.at + h;
    let sum = 0;
    for (let j = 0; j < width; j += 1) sum += queries[q + j] * keys[k + j];
    patterns[p + n] = sum * scale + (bias ? bias.value[r + n] : 0);
    highest = Math.max(highest, patterns[p + n]);
  }
  let total = 0;
  for (let n = 0; n < count; n += 1) total += patterns[p + n] = Math.exp(patterns[p + n] - highest);
  for (let n = 0; n < count; n += 1) {
    const v = valued[first + n] * value.of.columns + value.at + h;
    const share = (patterns[p + n] /= total);
    for (let j = 0; j < width; j += 1) mixed[z + j] += share * values[v + j];
  }
}

// Its way back: to the values by their shares, and to queries and keys by how the shares should change.
function mixSlopes({ q, h, first, count, p, z, r }, { query, key, value, seen, valued, bias, patterns, z: result, width, slopes }) {
  const { value: queries, grad: dq } = query.of;
  const { value: keys, grad: dk } = key.of;
  const { value: values, grad: dv } = value.of;
  const { grad: dz } = result;
  const scale = 1 / Math.sqrt(width);
  let mean = 0;
  for (let n = 0; n < count; n += 1) {
    const v = valued[first + n] * value.of.columns + value.at + h;
    const share = patterns[p + n];
    let slope = 0;
    for (let j = 0; j < width; j += 1) {
      slope += dz[z + j] * values[v + j];
      dv[v + j] += share * dz[z + j];
    }
    slopes[n] = slope;
    mean += share * slope;
  }
  for (let n = 0; n < count; n += 1) {
    const k = seen[first + n] * key.of.columns + key.at + h;
    const slope = patterns[p + n] * (slopes[n] - mean);
    if (bias) bias.grad[r + n] += slope;
    for (let j = 0; j < width; j += 1) {
      dq[q + j] += scale * slope * keys[k + j];
      dk[k + j] += scale * slope * queries[q + j];
    }
  }
}
