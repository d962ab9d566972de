// A kind of word as a chip, in its colour: [01], and below it the word that it is the kind of, if there is one.

const kindName = (e, lesson) => named(lesson.elements.words[e]);

function chip(e, lesson, below = "") {
  const [colour, ink] = lesson.colours[e];
  const inner = [html("b", {}, kindName(e, lesson))];
  if (below) inner.push(html("small", {}, short(below, 12)));
  return html("span", { class: "chip", style: `background: ${colour}; color: ${ink}`, "data-kind": e }, ...inner);
}
