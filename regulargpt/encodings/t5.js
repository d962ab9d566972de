// The relative bias of T5 (Raffel et al. 2020, section 2.1; section 3.4 of the thesis).

import { DistanceEncoding } from "./distance.js";

const [FARTHEST, PUBLISHED] = [128, 512];

// The distances at which buckets 1, 2, ... begin: half of them one by one, then in equal steps of ln x.
function bucketStarts(buckets, max_distance) {
  const exact = Math.floor(buckets / 2);
  const ones = (end) => Array.from({ length: end - 1 }, (_, i) => i + 1);
  if (max_distance <= exact) return ones(Math.max(2, max_distance));
  const ratio = max_distance / exact;
  const wide = Array.from({ length: buckets - exact }, (_, k) => Math.ceil(exact * ratio ** (k / (buckets - exact)) - 1e-9));
  return [...ones(exact), ...wide];
}

// The largest max_distance up to `most` for which a word of this length reaches the last bucket.
function reached(buckets, most, length) {
  for (let m = Math.min(most, 2 * length); m > 1; m -= 1) {
    if (bucketStarts(buckets, m).pop() < length) return m;
  }
  return 1;
}

export class T5 extends DistanceEncoding {
  constructor(given) {
    super(given);
    const { buckets, max_distance, train_len, scale } = this.options;
    this.side = this.causal ? buckets : Math.floor(buckets / 2);
    this.starts = bucketStarts(this.side, max_distance || reached(this.side, FARTHEST, train_len || PUBLISHED));
    this.scale = scale === "neox" ? Math.sqrt(this.d_head) : 1;
    this.table = this.weights.rows("weight");
  }

  bias(q, h, at) {
    return this.distances(at).map((x, i) => this.table[this.bucket(x, at.m < at.n[i])][h] * this.scale);
  }

  // The bucket of a distance; the keys behind the query have their own, where it sees them.
  bucket(x, isBehind) {
    return this.starts.filter((start) => start <= x).length + (isBehind && !this.causal ? this.side : 0);
  }
}
