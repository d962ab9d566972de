// All that the page shows of one run, for the typed word and the symbols read of it.

const MOST_SHOWN = 40; // states before and after the current one

class Run {
  constructor(article, run) {
    Object.assign(this, { article, run, word: [], levels: [] });
    const part = (name) => article.querySelector(`[data-part="${name}"]`);
    this.part = part;
    this.all = article.querySelector(".tree details");
    if (!run.network) return;
    run.network.leaves = lookup(run.network.leaves);
    run.network.nodes = lookup(run.network.nodes);
    this.cayley = new CayleyView(part("cayley"), part("product"), run);
    this.tree = new TreeView(part("tree"), part("detail"), (node) => this.choose(node));
    this.all.addEventListener("toggle", () => this.listNodes());
  }

  show(text) {
    const { word, unknown } = read(text, this.run.alphabet);
    Object.assign(this, { word, unknown });
    if (!this.run.states) return;
    this.states = passed(word, this.run);
    this.levels = this.run.network ? tree(word, this.run) : [];
    this.article.dataset.final = this.states[this.states.length - 1];
    this.say();
    if (!this.run.network) return;
    this.tree.show(word, this.run, this.levels);
    this.part("levels").replaceChildren(...(word.length ? [levelTable(this.levels)] : []));
    this.listNodes();
    this.count();
  }

  listNodes() {
    this.part("nodes").replaceChildren(...(this.all.open && this.word.length ? [nodeTable(this.levels, this.word, this.run)] : []));
  }

  // The answers, in a line.
  say() {
    const line = this.article.querySelector(".answer");
    if (this.unknown.length) {
      line.textContent = `Not in this alphabet: ${this.unknown.join(" ")}. Its symbols: ${this.run.alphabet.join(" ")}`;
      return;
    }
    if (!this.word.length) {
      line.textContent = `Type a word over ${this.run.alphabet.join(" ")}`;
      return;
    }
    const truth = this.run.outputs[this.states[this.states.length - 1]];
    line.replaceChildren(html("span", { "data-answer": truth ?? "" }, truth === null ? "The automaton has no answer: the word is outside the language's domain." : `Automaton: ${truth}.`));
    if (!this.run.network) return;
    const nodes = this.levels.flat();
    const root = this.levels[this.levels.length - 1][0];
    const answer = root.state === null ? null : this.run.network.answers[root.state - 1];
    const same = truth === null || answer === null ? "unknown" : answer === truth ? "right" : "wrong";
    const none = root.state === null ? "? no entry for the root" : "? no word asks for an answer at this prototype";
    const words = answer === null ? none : `${MARKS[same]} ${answer}`;
    const right = nodes.filter((node) => node.verdict === "right").length;
    line.append(" Quantised network: ", html("span", { class: same, "data-network": answer ?? "" }, words), `. ${right} of ${nodes.length} nodes right.`);
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
      label.textContent = place.tagName === "TR" || n ? String(n) : "";
      if (n && place.tagName !== "TR") place.parentNode.append(place); // above the others
    });
  }

  // A node of the tree was chosen: its prototype, and its product where it is one of two.
  choose(node) {
    this.article.querySelectorAll("[data-prototype]").forEach((place) => {
      place.classList.toggle("chosen", Number(place.dataset.prototype) === node.state);
    });
    const [q, p, ...rest] = node.window;
    if (node.level > 1 && q && p && !rest.some(Boolean)) this.cayley.choose(p, q);
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
    this.article.querySelectorAll("table.machine tr[data-state]").forEach((row) => {
      row.querySelectorAll("td[data-symbol]").forEach((cell) => {
        cell.classList.toggle("lit", at > 0 && Number(row.dataset.state) === before && Number(cell.dataset.symbol) === symbol);
      });
    });
    this.article.querySelectorAll(".leaf").forEach((leaf) => leaf.classList.toggle("unread", Number(leaf.dataset.position) >= at));
    this.path(at);
  }

  path(at) {
    const low = Math.max(0, at - MOST_SHOWN);
    const high = Math.min(this.word.length, at + MOST_SHOWN);
    const items = [];
    if (low > 0) items.push(html("li", {}, `… ${low} before`));
    for (let i = low; i <= high; i += 1) {
      const symbol = i ? [html("span", { class: "symbol" }, `${this.run.alphabet[this.word[i - 1]]} → `)] : [];
      const item = html("li", { "data-step": i, "data-state": this.states[i] }, ...symbol, this.run.states[this.states[i]]);
      if (i === at) item.classList.add("lit");
      if (i === at) item.setAttribute("aria-current", "step");
      items.push(item);
    }
    if (high < this.word.length) items.push(html("li", {}, `${this.word.length - high} more …`));
    this.article.querySelector(".path").replaceChildren(...items);
  }
}
