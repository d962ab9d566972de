// What the reader changed in a tree: states that were moved to a prototype, and edges that were cut.

// The changes, in the order in which they were made. A node is "level,index".
class Changes {
  made = [];

  get any() {
    return this.made.length > 0;
  }

  // Move a node's state to a prototype, or with null back to its own.
  move(key, prototype) {
    this.made.push({ key, prototype });
  }

  // Cut the edge to a child, by its offset, or mend it.
  cut(key, offset) {
    this.made.push({ key, offset });
  }

  undo() {
    this.made.pop();
  }

  clear() {
    this.made = [];
  }

  // The prototype that each moved node is at now.
  get moved() {
    const found = new Map();
    for (const { key, prototype } of this.made.filter((change) => "prototype" in change)) {
      if (prototype === null) found.delete(key);
      else found.set(key, prototype);
    }
    return found;
  }

  // The offsets that each node does not see now.
  get cuts() {
    const found = new Map();
    for (const { key, offset } of this.made.filter((change) => "offset" in change)) {
      const before = found.get(key) ?? [];
      found.set(key, before.includes(offset) ? before.filter((other) => other !== offset) : [...before, offset]);
    }
    return new Map([...found].filter(([, offsets]) => offsets.length));
  }

  // As `levelsOf` takes them.
  over(points) {
    return { patches: new Map([...this.moved].map(([key, prototype]) => [key, points[prototype - 1]])), cuts: this.cuts };
  }
}

// The nodes whose state is another one now, and those of them that are nearest to another prototype.
function differing(before, after) {
  const moved = (node, other) => node.vector.some((value, i) => Math.abs(value - other.vector[i]) > 1e-9);
  const nodes = after.flatMap((level, l) => level.filter((node, i) => moved(node, before[l][i])));
  return { nodes, crossed: nodes.filter((node) => node.state !== before[node.level - 1][node.index].state) };
}

// What the changes do, in words; `sure` says how sure the network is of an answer, null of one made by hand.
function sayChanges(changes, before, after, was, is, run, sure) {
  const name = (key) => {
    const [level, index] = key.split(",").map(Number);
    const node = after[level - 1][index];
    return `level ${level}, symbols ${node.from + 1} to ${node.to}`;
  };
  const moves = [...changes.moved].map(([key, prototype]) => `The state at ${name(key)} is moved to prototype ${prototype} ${stands(run, prototype)}.`);
  const cuts = [...changes.cuts].map(([key, offsets]) => `At ${name(key)} ${offsets.length === 1 ? "one edge is" : `${offsets.length} edges are`} cut.`);
  const found = differing(before, after);
  const above = found.nodes.filter((node) => !changes.moved.has(keyOf(node)));
  const crossed = found.crossed.filter((node) => !changes.moved.has(keyOf(node)));
  const count = (n) => `${n.toLocaleString("en")} other ${n === 1 ? "state" : "states"}`;
  const states = above.length ? `${count(above.length)} changed, ${crossed.length.toLocaleString("en")} of ${above.length === 1 ? "which is" : "them are"} nearest to another prototype now.` : "No other state changed.";
  const said = (answer) => [answer.name, sure(answer) && `${sure(answer)} sure`].filter(Boolean).join(", ");
  const still = () => `The answer is still ${said(is)}${sure(was) ? `; it was ${sure(was)}` : ""}.`;
  const answer = was && is ? (was.name === is.name ? still() : `The answer was ${said(was)}. Now it is ${said(is)}.`) : "The network has no answer.";
  const whose = run.network ? ["While something is changed, the tree is that of the network as it is, without the table."] : [];
  return [...moves, ...cuts, states, answer, ...whose].join(" ");
}
