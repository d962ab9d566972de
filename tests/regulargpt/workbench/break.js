// What the tests of the hammer ask of the workbench's scripts, in one call each.

const { search } = modules.search;
const { struck, weightsWith, hitsAsText, hitsFromText } = modules.hits;
const { oneHot } = modules.one_hot;
const { inOrder, landing, nameOf, trial } = modules.wall;
const { casesOf } = modules.cases;
const { LEVELS, made } = modules.levels;

const languageOf = (drawn) => modules.machine.languageOf(drawn).language;
const wordsOf = (n) => Array.from({ length: 2 ** n }, (_, code) => Array.from({ length: n }, (_, i) => (code >> i) & 1));

function ended(steps) {
  let last = steps.next();
  while (!last.done) last = steps.next();
  return last.value;
}

// A search of a network whose numbers came as lists.
function searched({ drawn, network: { options, weights }, ...given }) {
  for (const tensor of Object.values(weights)) tensor.data = Float64Array.from(tensor.data);
  return ended(search({ ...given, network: { options, weights }, language: languageOf(drawn) }));
}

// Some hits on cases of a made network, by numbers that are taken as far as there are windows and prototypes: its table,
// entry by entry, and what the search says of it.
function spoilt({ drawn, draws }) {
  const [language, cases] = [languageOf(drawn), casesOf(languageOf(drawn))];
  const network = oneHot(language, cases);
  const { prototypes } = network;
  const hits = draws.map(([a, b]) => {
    const part = a % 4 ? "nodes" : "leaves";
    return { kind: "case", part, window: cases[part][b % cases[part].length][0], image: 1 + (a % prototypes.length) };
  });
  const twin = struck(network, hits, prototypes);
  const table = (rows) => {
    const over = twin.treeLayers(2)[0].over(rows);
    return rows.map((_, near) => rows.map((_, far) => (near ? landing(over([near, far]), prototypes).here : 0)));
  };
  const answers = prototypes.map((point) => nameOf(twin.read(point), language.output_names));
  const { quantised } = ended(search({ network, hits, prototypes, language, longest: 3 }));
  return { leaves: table(twin.leaves()), nodes: table([twin.absent, ...prototypes]), answers, quantised };
}

// The tensors of a made network that are not these, number by number.
function compared({ drawn, weights }) {
  const [language, cases] = [languageOf(drawn), casesOf(languageOf(drawn))];
  const mine = oneHot(language, cases);
  const other = Object.keys({ ...weights, ...mine.weights }).filter((name) => {
    const [a, b] = [weights[name], mine.weights[name]];
    return String(a?.shape) !== String(b?.shape) || a.data.some((value, i) => value !== b.data[i]);
  });
  const ones = (point) => [...point].flatMap((value, i) => (value ? [i] : []));
  return { other, options: mine.options, elements: cases.elements, prototypes: mine.prototypes.map(ones) };
}

// A level's network with some hits and without: whether its own numbers stay, which tensors are copied, and its states.
function undone(hits) {
  const { snapshot: { weights, ...network } } = made(LEVELS[0]);
  const bytes = () => JSON.stringify(Object.values(weights).map(({ data }) => [...data].map(String)));
  const states = (some) => wordsOf(5).map((word) => String(struck({ ...network, weights }, some, network.prototypes).root(word))).join(";");
  const [before, whole, broken] = [bytes(), states([]), states(hits)];
  const copied = Object.keys(weights).filter((name) => weightsWith(weights, hits)[name] !== weights[name]);
  return { same: bytes() === before, back: states(hits.slice(hits.length)) === whole, broken: broken !== whole, copied };
}

// Of a level's network with hits, as an address has them: how many answers the wall has red, what the search says of the
// shortest wrong word, and whether the level is passed.
function played([number, text]) {
  const { snapshot, language, cases, ...level } = made(LEVELS[number - 1]);
  const [hits, { prototypes }] = [hitsFromText(text), snapshot];
  const tried = trial(struck(snapshot, hits, prototypes), prototypes, language.output_names);
  const red = inOrder(cases).filter((one) => !tried(one).right);
  const found = ended(search({ network: snapshot, hits, prototypes, language }));
  const { passed } = modules.levels.verdict(level, found, red.length);
  return [red.filter(({ part }) => part === "answers").length, found.length ?? null, found.answer, passed];
}

// Each hit of a kind on each case, in all words of up to six symbols: nodes that are not what they should be, by the drawn
// tree's own cuts; and how often the case was met.
function met(hit) {
  const { snapshot, cases } = made(LEVELS[0]);
  const { prototypes } = snapshot;
  const [plain] = struck(snapshot, [], prototypes).treeLayers(2);
  const found = { faults: [], met: 0 };
  for (const part of ["leaves", "nodes"]) {
    for (const [window, right] of cases[part]) {
      if (hit.kind === "edge" && !window[hit.offset]) continue;
      const image = 1 + (right % prototypes.length);
      const twin = struck(snapshot, [{ ...hit, part, window, image }], prototypes);
      for (const word of [1, 2, 3, 4, 5, 6].flatMap(wordsOf)) follow(twin, word, { part, window, image, hit, plain, prototypes, found });
    }
  }
  return found;
}

function follow(twin, word, { part, window, image, hit, plain, prototypes, found }) {
  const [{ states: leaves }, ...levels] = twin.levelsOf(word);
  levels.reduce((below, { node, states, children }, level) => {
    const row = (i) => (level && i ? landing(below[i], prototypes).here : i);
    children.forEach((kids, i) => {
      const isHere = part === (level ? "nodes" : "leaves") && String(kids.map(row)) === String(window);
      const cut = isHere && hit.kind === "edge" ? [hit.offset] : [];
      const wanted = isHere && hit.kind === "case" ? prototypes[image - 1] : plain.over(below)(kids, cut);
      found.met += isHere;
      if (String(states[node[i]]) !== String(wanted)) found.faults.push([part, window, word]);
    });
    return states;
  }, leaves);
}
