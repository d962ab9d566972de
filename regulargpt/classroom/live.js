// The network itself: a run's weights and options, in the hands of the scripts that lie beside its parts.

const MOST_MULTIPLICATIONS = 2e9; // a second or two on a laptop

// A share in words: what is less than all is never called 100 %.
function certainty(share) {
  return share > 0.9999 ? "over 99.99\u00a0%" : `${(100 * share).toFixed(share >= 0.995 ? 2 : 0)}\u00a0%`;
}

// A part of a network: its options say in which script its class is.
function build(given) {
  const [file, name] = given.options.class;
  return new modules[file][name]({ ...given, build });
}

class Live {
  constructor({ weights, reading, token, output_names, is_constructed, ...given }) {
    const { Weights } = modules["regulargpt/models/weights.js"];
    Object.assign(this, { reading, token, output_names, is_constructed });
    this.model = build({ ...given, weights: Weights.decoded(weights) });
    this.longest = this.most();
  }

  // What the network reads: the word, and where it answers at a token, that one too.
  read(word) {
    return this.token === null ? word : [...word, this.token];
  }

  logits(word) {
    return Array.from(this.model.logits(this.read(word)));
  }

  answer(word) {
    return this.answered(this.logits(word));
  }

  // After each prefix the state that the network reads its answer from, and that answer: of as many as are computed in a
  // moment. A recurrent network goes through the word once; another one computes each prefix as a word of its own.
  prefixes(word) {
    const { model, token } = this;
    const found = (state) => ({ state, answer: this.answered(Array.from(model.read(state))) });
    if (token === null && model.states) return Array.from(model.states(word), found);
    const prefixes = [];
    for (let n = 1, left = MOST_MULTIPLICATIONS / 8; n <= word.length; n += 1) {
      const given = this.read(word.slice(0, n));
      left -= model.cost(given.length);
      if (left < 0) break;
      prefixes.push(found(model.state(given)));
    }
    return prefixes;
  }

  // The answer's name, and its share: how sure the network is. A null where its numbers overflow.
  answered(logits) {
    if (!logits.every(Number.isFinite)) return null;
    if (this.reading === "member") return this.member(logits[logits.length - 1]);
    const highest = Math.max(...logits);
    const share = 1 / logits.reduce((sum, logit) => sum + Math.exp(logit - highest), 0);
    return { name: this.output_names[logits.indexOf(highest)], share };
  }

  // How sure the network is of an answer; null of one that nobody trained, whose numbers do not say that.
  sure({ share }) {
    return this.is_constructed ? null : certainty(share);
  }

  // Whether the word may end here: of what the network says may follow, the last is the end.
  member(logit) {
    return { name: this.output_names[logit > 0 ? 1 : 0], share: 1 / (1 + Math.exp(-Math.abs(logit))) };
  }

  // The longest word of which so many networks as this one compute all nodes, or all prefixes, while the reader types.
  longestOfAll(networks, ofNodes) {
    const atOnce = ofNodes || (this.token === null && this.model.states);
    return this.most(MOST_MULTIPLICATIONS / 16, (n) => networks * (atOnce ? 1 : n) * this.model.cost(n));
  }

  // The longest word that is computed: what the positions allow, and what a page computes in a moment.
  most(limit = MOST_MULTIPLICATIONS, cost = (n) => this.model.cost(n)) {
    const extra = this.token === null ? 0 : 1;
    let [low, high] = [0, Math.min(MOST, (this.model.longest ?? Infinity) - extra) + 1];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (cost(middle + extra) <= limit) low = middle;
      else high = middle;
    }
    return low;
  }
}
