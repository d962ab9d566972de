// All that the page shows of one run, for the typed word and the symbols read of it.

const MOST_SHOWN = 40; // states before and after the current one

const keyOf = ({ level, index }) => `${level},${index}`;

// Move the slider under the word to a number of symbols.
function readTo(length) {
  byId("step").value = length;
  byId("step").dispatchEvent(new Event("input"));
}

const sayRight = (levels) => {
  const nodes = levels.flat();
  return `${nodes.filter(({ verdict }) => verdict === "right").length} of ${nodes.length} nodes right.`;
};

// The states passed, in a list: those around the one after `at` symbols. `nameOf` a state is what people call it.
function showPath(article, word, states, at, { alphabet }, nameOf) {
  const low = Math.max(0, at - MOST_SHOWN);
  const high = Math.min(word.length, at + MOST_SHOWN);
  const items = [];
  if (low > 0) items.push(html("li", {}, `… ${low} before`));
  for (let i = low; i <= high; i += 1) {
    const symbol = i ? [html("span", { class: "symbol" }, `${alphabet[word[i - 1]]} → `)] : [];
    const item = html("li", { "data-step": i, "data-state": states[i] }, ...symbol, nameOf(states[i]));
    if (i === at) item.classList.add("lit");
    if (i === at) item.setAttribute("aria-current", "step");
    items.push(item);
  }
  if (high < word.length) items.push(html("li", {}, `${word.length - high} more …`));
  const place = article.querySelector(".path");
  place.replaceChildren(...items);
  place.scrollTop = place.querySelector(".lit").offsetTop - place.offsetTop - place.clientHeight / 2;
}

// Light the cell of the transition table that the last symbol was read in.
function lightTransition(article, before, symbol) {
  article.querySelectorAll("table.machine tr[data-state]").forEach((row) => {
    row.querySelectorAll("td[data-symbol]").forEach((cell) => {
      cell.classList.toggle("lit", before !== null && Number(row.dataset.state) === before && Number(cell.dataset.symbol) === symbol);
    });
  });
}

class Run {
  constructor(article, run) {
    Object.assign(this, { article, run, word: [], levels: [] });
    const part = (name) => article.querySelector(`[data-part="${name}"]`);
    this.part = part;
    this.all = part("nodes")?.closest("details");
    this.live = run.live ? new Live(run.live) : null;
    this.nearest = run.live?.prototypes ? Nearest.decoded(run.live.prototypes) : null;
    run.standsFor = (run.network ?? run.live?.prototypes)?.elements;
    if (part("tree")) {
      this.tree = new TreeView(part("tree"), part("detail"), (node) => this.choose(node), (node) => this.map?.light(node && keyOf(node), "looked"));
      this.all.addEventListener("toggle", () => this.listNodes());
    }
    this.builder = part("build") && new Builder(part("build"), (level) => this.build(level));
    // At a token after the word, the tree that is drawn is not the one that is answered from.
    if (part("patch") && this.nearest && this.live.token === null) {
      this.patcher = new Patcher(part("patch"), run, this.live.model.aligned, (changes) => this.change(changes));
    }
    this.vector = part("vector") && new VectorView(part("vector"));
    if (part("edges") && this.nearest) part("edges").textContent = this.live.model.edges ?? "";
    if (this.live) run.chunk_size = this.live.model.chunk_size;
    this.map = part("map") && this.mapOf(run.live?.map);
    this.training = part("training") && new Training(part("training"), run.live, () => this.toTrainingStep());
    if (!run.network) return;
    run.network.leaves = lookup(run.network.leaves);
    run.network.nodes = lookup(run.network.nodes);
    this.cayley = new CayleyView(part("cayley"), part("product"), run);
  }

  // The map of states, where there is one and the network's script gives states.
  mapOf(given) {
    if (!given) return null;
    if (!this.live.model.state) {
      this.part("where").textContent = "The script of this network gives no states, so that there are no points: it has no state(word) and read(state).";
      return null;
    }
    this.ofNodes = given.kind === "nodes";
    const { run } = this;
    const place = (item) => (this.ofNodes ? this.lookAt(item) : readTo(item));
    return new StateMap(this.part("map"), this.part("where"), given, {
      alphabet: run.alphabet,
      label: (number) => (this.ofNodes ? `${number} ${stands(run, number)}` : run.states[number]),
      numbersOf: (number) => (this.ofNodes ? run.standsFor[number - 1] : [number]),
      onChoose: place,
      onLook: (items) => this.ofNodes && this.tree?.look(items),
    });
  }

  // Choose a node in the tree, unfolded if it is not drawn, while the focus stays where it is.
  lookAt(item) {
    const [level, index] = item.split(",").map(Number);
    this.tree?.choose(this.levels[level - 1][index]);
  }

  // The slider was moved: what was faded in the map stays so.
  toTrainingStep() {
    this.trainingStep();
    if (this.ofNodes) this.builder?.build();
    else this.step(Number(byId("step").value));
  }

  // Another step of the training: its network's answer and its points. All else stays the trained network's.
  trainingStep() {
    const { word, run, training } = this;
    const network = training.network;
    if (!word.length || this.tooLong) {
      training.output.textContent = "";
      return;
    }
    training.say(network ? network.answer(word) : this.answer, run.outputs[this.states[this.states.length - 1]]);
    if (!this.map) return;
    this.map.show(network ? this.pointsAt(network, word) : this.points());
  }

  // The points of another word, or of a changed tree.
  showMap() {
    if (this.map) {
      this.frame();
      this.map.show(this.points());
    }
    if (this.training) this.trainingStep();
  }

  // The points of a word by the network of another step.
  pointsAt(network, word) {
    const { run } = this;
    if (this.ofNodes) return this.points(this.nearest.tree(word, run, network.model));
    return this.points([], answersOf(network.prefixes(word), this.states, run.outputs));
  }

  // What is shown of a word has one frame: as it is, with changes, and at all steps of the training. Of a word for which
  // these take long, they are computed for its first symbols.
  frame() {
    const steps = this.training?.steps ?? [];
    const first = this.tooLong ? [] : this.word.slice(0, this.live.longestOfAll(steps.length, this.ofNodes));
    const film = first.length ? steps.flatMap((network) => this.pointsAt(network, first)) : [];
    this.map.frameFor([...this.original.flat(), ...this.nodes.flat(), ...this.prefixes, ...film].map(({ vector }) => vector));
  }

  // The points of the map: each node with its element's colour, or each prefix with its state's.
  points(nodes = this.nodes, prefixes = this.prefixes) {
    const { word, run, map } = this;
    if (!this.ofNodes) return prefixes.map((prefix) => ({ ...prefix, item: prefix.length, colour: map.colours.get(prefix.reached), words: describePrefix(prefix, word, run) }));
    return nodes.flat().map((node) => ({ vector: node.vector, verdict: node.verdict, item: keyOf(node), colour: map.colours.get(node.element), words: describe(node, word, run) }));
  }

  // Show a word, and tell the page.
  show(text) {
    this.update(text);
    this.article.dispatchEvent(new Event("shown", { bubbles: true }));
  }

  update(text) {
    const typed = read(text, this.run.alphabet);
    const { word, unknown } = typed;
    Object.assign(this, { typed, word, unknown });
    if (!this.run.states) return;
    this.states = passed(word, this.run);
    this.article.dataset.final = this.states[this.states.length - 1];
    this.compute();
    this.say();
    this.showMap();
    this.vector?.show(null);
    if (!this.tree) return;
    // With a certificate the nodes that are drawn are those of its table.
    this.tree.show(word, this.run, this.levels, this.parts, (node) => this.nodes[node.level - 1]?.[node.index].attention());
    this.builder?.show(this.levels, word.length, Boolean(this.live?.model.direction));
    this.part("levels").replaceChildren(...(this.levels.length ? [levelTable(this.levels)] : []));
    this.listNodes();
    if (this.run.network) this.count();
  }

  // The network's answer, its tree, and the node at which it parts from the automaton. With a certificate, `levels` are
  // those of its table; without one, those of the network itself. `now` is what the reader's changes change.
  compute() {
    const { word, run } = this;
    this.tooLong = this.live !== null && word.length > this.live.longest;
    const computed = this.live && word.length && !this.tooLong;
    this.answer = computed ? this.live.answer(word) : null;
    this.nodes = computed && this.nearest ? this.nearest.tree(word, run, this.live.model) : [];
    this.prefixes = computed && this.map && !this.ofNodes ? answersOf(this.live.prefixes(word), this.states, run.outputs) : [];
    this.quantised = run.network ? tree(word, run) : null;
    this.levels = this.quantised ?? this.nodes;
    this.original = this.nodes;
    this.now = { answer: this.answer, parts: parting(this.nodes), isChanged: false };
    this.patcher?.reset(this.nodes.length > 0);
  }

  // The tree with the reader's changes: that of the network as it is, also where the table's was drawn.
  change(changes) {
    const { word, run, original } = this;
    this.nodes = changes.any ? this.nearest.tree(word, run, this.live.model, changes.over(this.nearest.points)) : original;
    this.levels = changes.any ? this.nodes : (this.quantised ?? original);
    const { crossed } = differing(original, this.nodes);
    const [moved, others] = [changes.moved, new Set(crossed.map(keyOf))];
    const marks = (node) => (moved.has(keyOf(node)) ? "moved" : others.has(keyOf(node)) ? "changed" : "");
    const root = this.nodes[this.nodes.length - 1][0];
    const answer = this.live.answered(Array.from(this.live.model.read(root.vector)));
    this.now = { answer, parts: parting(this.nodes), isChanged: changes.any };
    this.say();
    this.patcher.say(changes.any ? sayChanges(changes, original, this.nodes, this.answer, answer, run, (of) => this.live.sure(of)) : "Nothing is changed any more.");
    if (this.training) this.training.range.value = this.training.range.max;
    this.showMap();
    this.tree.update(this.levels, this.parts, (node) => this.nodes[node.level - 1]?.[node.index].attention(), marks);
    this.builder.build();
    this.part("levels").replaceChildren(levelTable(this.levels));
    this.listNodes();
    if (run.network) this.count();
    this.step(Number(byId("step").value));
    this.article.dispatchEvent(new Event("changed", { bubbles: true }));
  }

  // The node of the tree that is drawn at which network and automaton part.
  get parts() {
    const { parts } = this.now;
    return parts && this.levels[parts.level - 1][parts.index];
  }

  // Show the tree up to a level, and its points in the map.
  build(level) {
    this.tree.build(level);
    if (this.ofNodes) this.map?.fade((item) => Number(item.split(",")[0]) > level);
  }

  listNodes() {
    this.part("nodes").replaceChildren(...(this.all.open && this.levels.length ? [nodeTable(this.levels, this.word, this.run)] : []));
  }

  // The answers, in words.
  say() {
    const line = this.article.querySelector(".answer");
    this.part("parting")?.replaceChildren();
    const wrong = this.unknown.length ? this.sayUnknown() : [];
    if (!this.word.length) {
      line.replaceChildren(...(wrong.length ? wrong : [`Type a word over ${this.run.alphabet.join(" ")}`]));
      return;
    }
    const truth = this.run.outputs[this.states[this.states.length - 1]];
    const automaton = truth === null ? "The automaton has no answer: the word is outside the language's domain." : `Automaton: ${truth}.`;
    line.replaceChildren(...wrong, html("span", { "data-answer": truth ?? "" }, automaton));
    if (this.live) line.append(" ", ...this.sayNetwork(truth));
    if (this.now.isChanged) line.append(` ${sayRight(this.nodes)}`);
    else if (this.run.network) line.append(" ", ...this.sayQuantised(truth));
    if (this.now.answer && this.nearest) this.part("parting").append(...this.sayParting(truth));
    else if (this.prefixes.length) this.part("parting").append(...sayFirstWrong(this.prefixes, this.word, this.run, readTo));
    const parts = this.now.parts !== null || this.prefixes.some(({ verdict }) => verdict === "wrong");
    this.part("parting")?.classList.toggle("here", parts || (this.nearest !== null && this.now.answer?.name !== truth));
  }

  // What was typed, with what is wrong marked; the rest is read as the word.
  sayUnknown() {
    const { length } = this.typed.symbols.filter((symbol) => this.unknown.includes(symbol));
    const left = this.word.length ? ` ${length === 1 ? "It is" : "They are"} left out.` : "";
    const words = ` Not in this alphabet: ${this.unknown.join(" ")}. Its symbols: ${this.run.alphabet.join(" ")}.${left}`;
    return [html("span", { class: "unknown-symbols" }, marked(this.typed, this.unknown), words), " "];
  }

  sayNetwork(truth) {
    if (this.tooLong) return [`The network is not computed here for more than ${this.live.longest.toLocaleString("en")} symbols.`];
    const { answer: said, isChanged } = this.now;
    const network = isChanged ? "The network with your changes" : "The network";
    if (!said) return [`${network} has no answer: its numbers overflow on this word.`];
    const { name } = said;
    const same = truth === null ? "unknown" : name === truth ? "right" : "wrong";
    const agree = { right: " They agree.", wrong: isChanged ? " They disagree." : " They disagree: the network is wrong.", unknown: " Nothing says whether that is right." };
    const sure = this.live.sure(said);
    const answer = html("span", { class: same, "data-live": name }, `${MARKS[same]} ${name}`);
    return [isChanged ? `${network}: ` : sure ? "Network: " : "Network, made by hand: ", answer, sure ? `, ${sure} sure.` : ".", agree[same]];
  }

  sayQuantised(truth) {
    const root = this.quantised[this.quantised.length - 1][0];
    const answer = root.state === null ? null : this.run.network.answers[root.state - 1];
    const same = truth === null || answer === null ? "unknown" : answer === truth ? "right" : "wrong";
    const none = root.state === null ? "? no entry for the root" : "? no word asks for an answer at this prototype";
    const words = html("span", { class: same, "data-network": answer ?? "" }, answer === null ? none : `${MARKS[same]} ${answer}`);
    return ["Quantised network: ", words, `. ${sayRight(this.quantised)}`];
  }

  // Where in the tree network and automaton part, and a button that goes there.
  sayParting(truth) {
    const { word, run } = this;
    const { answer, parts, isChanged } = this.now;
    const isWrong = truth !== null && answer.name !== truth;
    const changed = isChanged ? "With your changes: " : "";
    if (!parts) return [changed, isWrong ? "Every node of the tree is where it should be: only the readout is wrong." : "They part nowhere: every node of the tree is where it should be."];
    const sub = short(write(word.slice(parts.from, parts.to), run.alphabet), 24);
    const place = parts.to - parts.from === 1 ? `symbol ${parts.to}` : `symbols ${parts.from + 1} to ${parts.to}`;
    const found = run.live.prototypes.elements[parts.state - 1].map((e) => named(run.elements.words[e])).join(" ") || `prototype ${parts.state}, which stands for nothing`;
    const button = html("button", { type: "button" }, "Show it");
    button.addEventListener("click", () => this.tree.unfold(this.tree.levels[parts.level - 1][parts.index]));
    const lead = isWrong || truth === null ? "Here they part:" : "The answer is right, but here they part:";
    return [`${changed}${lead} level ${parts.level}, ${place}, the sub-word `, html("code", {}, sub), `. It is ${named(run.elements.words[parts.element])}; the network's state is nearest to ${found}. `, button];
  }

  // Light the prototypes of the word's nodes.
  count() {
    const counts = new Map();
    for (const { state } of this.levels.flat()) counts.set(state, (counts.get(state) ?? 0) + 1);
    this.article.querySelector(".scatter").classList.toggle("typed", counts.size > 0);
    this.article.querySelectorAll("[data-prototype]").forEach((place) => {
      const n = counts.get(Number(place.dataset.prototype)) ?? 0;
      place.classList.toggle("lit", n > 0);
      place.classList.remove("chosen");
      place.dataset.count = n;
      const label = place.querySelector(".count");
      label.textContent = place.tagName === "TR" ? String(n) : n ? `×${n}` : "";
      if (n && place.tagName !== "TR") place.parentNode.append(place); // above the others
    });
  }

  // A node of the tree was chosen: its point, its prototype, and its product where it is one of two.
  choose(node) {
    if (this.ofNodes) this.map?.light(keyOf(node));
    this.patcher?.choose(this.nodes[node.level - 1]?.[node.index] ?? null, this.word);
    this.vector?.show(this.nodes[node.level - 1]?.[node.index].vector ?? null, describe(node, this.word, this.run));
    this.article.querySelectorAll("[data-prototype]").forEach((place) => {
      place.classList.toggle("chosen", Number(place.dataset.prototype) === node.state);
    });
    const [q, p, ...rest] = node.window;
    const most = this.run.network?.elements.length;
    if (this.cayley && node.level > 1 && q && p && Math.max(p, q) <= most && !rest.some(Boolean)) this.cayley.choose(p, q);
  }

  // Light the state after the first `step` symbols, and the transition to it.
  step(step) {
    if (!this.run.states) return;
    const at = Math.min(step, this.word.length);
    const [state, before, symbol] = [this.states[at], this.states[at - 1], this.word[at - 1]];
    const light = (selector, test) => this.article.querySelectorAll(selector).forEach((place) => place.classList.toggle("lit", test(place.dataset)));
    light(".state", (found) => Number(found.state) === state);
    light(".edge[data-from]", (found) => at > 0 && Number(found.from) === before && Number(found.to) === state);
    light("table.machine tr[data-state]", (found) => Number(found.state) === state);
    lightTransition(this.article, at > 0 ? before : null, symbol);
    this.article.querySelectorAll(".leaf").forEach((leaf) => leaf.classList.toggle("unread", Number(leaf.dataset.position) >= at));
    showPath(this.article, this.word, this.states, at, this.run, (state) => this.run.states[state]);
    this.sayWhole(at < this.word.length);
    const read = this.word.slice(0, at);
    this.map?.crowd?.light(this.part("map"), read, () => element(read, this.run));
    if (!this.map || this.ofNodes) return;
    const prefix = this.prefixes[at - 1];
    this.map.fade((length) => length > at);
    this.map.light(at || null);
    this.vector.show(prefix?.vector ?? null, prefix && describePrefix(prefix, this.word, this.run));
  }

  // The answers are to the whole word, also while the slider shows a part of it.
  sayWhole(isPart) {
    const line = this.article.querySelector(".answer");
    const said = line.querySelector(".whole");
    if (isPart && !said) line.append(html("span", { class: "whole" }, " These answers are to the whole word."));
    if (!isPart) said?.remove();
  }
}
