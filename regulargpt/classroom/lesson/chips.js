// A monoid element as a chip, in its colour: [01], and below it the word that has it, if there is one.

const elementName = (e, lesson) => named(lesson.elements.words[e]);

function chip(e, lesson, below = "") {
  const [colour, ink] = lesson.colours[e];
  const inner = [html("b", {}, elementName(e, lesson))];
  if (below) inner.push(html("small", {}, short(below, 12)));
  return html("span", { class: "chip", style: `background: ${colour}; color: ${ink}`, "data-element": e }, ...inner);
}
