// The seven steps.

const lesson = JSON.parse(byId("data").textContent);
lesson.standsFor = lesson.network.elements;
const network = new Live(lesson.live);
const STEPS = { language: LanguageStep, automaton: AutomatonStep, monoid: MonoidStep, tree: TreeStep, network: NetworkStep, clusters: ClustersStep, proof: ProofStep };

// A step is done: a mark in the way through the page.
function finished(name) {
  const link = document.querySelector(`.way a[href="#${name}"]`);
  if (link.classList.contains("done")) return;
  link.classList.add("done");
  link.append(html("span", { class: "mark" }, html("span", { "aria-hidden": "true" }, " ✓"), html("span", { class: "unseen" }, ", done")));
}

new Terms();
for (const [name, Step] of Object.entries(STEPS)) new Step(document.querySelector(`#${name} .activity`), lesson, () => finished(name), network);
