// A drawing as a file: SVG that needs nothing beside itself, and PNG, twice as large as it is shown.

const SCALE = 2;
// What an element's look is made of. Inherited: written where it differs from the element above. Own: from the usual.
const INHERITED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "paint-order", "visibility"];
const OWN = { opacity: "1", transform: "none" };
const LOOKS_AND_NAMES = /^(class|style|tabindex|role|aria-.*|data-.*)$/u; // all other attributes say where and what something is

class Picture {
  constructor(drawing, title) {
    this.paper = getComputedStyle(document.body).backgroundColor;
    const [left, top, width, height] = box(drawing);
    this.size = { width, height };
    this.svg = drawing.localName === "svg" ? styled(drawing) : svg("svg", {}, ...inner(drawing, width, height));
    Object.entries({ viewBox: [left, top, width, height].join(" "), width, height }).forEach(([name, value]) => this.svg.setAttribute(name, value));
    this.svg.prepend(svg("title", {}, title), svg("rect", { x: left, y: top, width, height, fill: this.paper, stroke: "none" }));
  }

  get text() {
    return new XMLSerializer().serializeToString(this.svg);
  }

  async png() {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(this.text)}`;
    await image.decode();
    const canvas = html("canvas", { width: Math.ceil(SCALE * this.size.width), height: Math.ceil(SCALE * this.size.height) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }
}

// What is in a drawing that is no SVG: its pixels, or its boxes.
function inner(drawing, width, height) {
  if (drawing.localName !== "canvas") return unscrolled(drawing, () => boxed(drawing));
  return [svg("image", { href: drawing.toDataURL(), width, height, "image-rendering": "pixelated" })];
}

// The drawing's own corner, width and height.
function box(drawing) {
  if (drawing.localName === "svg") return drawing.getAttribute("viewBox").split(/[\s,]+/u).map(Number);
  if (drawing.localName === "canvas") return [0, 0, drawing.width, drawing.height];
  const { width, height } = drawing.getBoundingClientRect();
  return [0, 0, width, height];
}

// A copy of what is seen of an SVG element, whose look is in its attributes and not in the page.
function styled(element, above = {}) {
  const style = getComputedStyle(element);
  const made = element.cloneNode(false);
  [...made.attributes].filter(({ name }) => LOOKS_AND_NAMES.test(name)).forEach(({ name }) => made.removeAttribute(name));
  const inherited = Object.fromEntries(INHERITED.map((name) => [name, style.getPropertyValue(name)]));
  for (const [name, value] of Object.entries(inherited)) if (value !== above[name]) made.setAttribute(name, value);
  for (const [name, usual] of Object.entries(OWN)) {
    const value = style.getPropertyValue(name);
    if (value !== usual) made.setAttribute(name, value);
  }
  if (element.localName === "circle") made.setAttribute("r", parseFloat(style.r));
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE || child.localName === "title") made.append(child.cloneNode(true));
    else if (getComputedStyle(child).display !== "none") made.append(styled(child, inherited));
  }
  return made;
}

// What is measured while nothing is scrolled away: what sticks is then where it belongs.
function unscrolled(drawing, measure) {
  const place = drawing.parentElement;
  const { scrollTop, scrollLeft } = place;
  place.scrollTo(0, 0);
  const found = measure();
  place.scrollTo(scrollLeft, scrollTop);
  return found;
}

// HTML of coloured boxes with a line of text in each, as SVG.
function boxed(drawing) {
  const corner = drawing.getBoundingClientRect();
  const texts = document.createTreeWalker(drawing, NodeFilter.SHOW_TEXT);
  const found = [...drawing.querySelectorAll("*")].flatMap((element) => frames(element, corner));
  while (texts.nextNode()) found.push(...linesOf(texts.currentNode).map((range) => lettered(range, corner)));
  return found;
}

const isSeen = (colour) => !/^(transparent|rgba\(.*, 0\))$/u.test(colour);

// The ground, the border and the outline of a box.
function frames(element, corner) {
  const style = getComputedStyle(element);
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y, round] = [left - corner.left, top - corner.top, parseFloat(style.borderTopLeftRadius)];
  const around = (line, by, colour, kind) => svg("rect", {
    x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by, rx: Math.max(0, round + by), fill: "none", stroke: colour, "stroke-width": line, ...(kind === "dashed" ? { "stroke-dasharray": "3 2" } : {}),
  });
  const found = [];
  if (isSeen(style.backgroundColor)) found.push(svg("rect", { x, y, width, height, rx: round, fill: style.backgroundColor }));
  const border = parseFloat(style.borderTopWidth);
  if (border && isSeen(style.borderTopColor)) found.push(around(border, -border / 2, style.borderTopColor, style.borderTopStyle));
  const outline = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  if (outline) found.push(around(outline, parseFloat(style.outlineOffset) + outline / 2, style.outlineColor));
  return found;
}

// The letters of a text from one place to another.
function stretch(node, from, to) {
  const range = document.createRange();
  range.setStart(node, from);
  range.setEnd(node, to);
  return range;
}

// The lines of a text that are seen: one ends where letters begin at the left again.
function linesOf(node) {
  const places = [0];
  if (stretch(node, 0, node.length).getClientRects().length > 1) {
    const lefts = Array.from({ length: node.length }, (_, i) => stretch(node, i, i + 1).getBoundingClientRect().left);
    lefts.forEach((left, i) => i && left < lefts[i - 1] && places.push(i));
  }
  const lines = places.map((from, i) => stretch(node, from, places[i + 1] ?? node.length));
  return lines.filter((line) => line.toString().trim() && line.getBoundingClientRect().width);
}

// A line of text where it stands.
function lettered(range, corner) {
  const { left, top, width, height } = range.getBoundingClientRect();
  const [node, words] = [range.startContainer, range.toString().trim()];
  const style = getComputedStyle(node.parentElement);
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = pen.measureText(words);
  const [x, y] = [left - corner.left, top - corner.top];
  // Letters on their side run down, around the middle of their line.
  const isSideways = style.writingMode.startsWith("vertical");
  const place = isSideways ? { transform: `translate(${x + (width - up + down) / 2} ${y}) rotate(90)` } : { x, y: y + (height + up - down) / 2 };
  return svg("text", { ...place, fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight }, words);
}

// What a file is called: the run, the figure, and the word if it is short.
function fileName(figure, ending) {
  const run = figure.section.closest("[data-run]")?.querySelector("h2")?.textContent ?? document.title;
  const word = byId("word")?.value ?? "";
  const parts = [run, figure.name, ...(word.length <= 24 ? [word] : [])];
  return `${parts.map((part) => part.replace(/[^\p{L}\p{N}.]+/gu, "-").replace(/^-|-$/gu, "")).filter(Boolean).join("-")}.${ending}`;
}

const pictureOf = (figure) => new Picture(figure.drawing, figure.title);
const saveSvg = (figure) => save(new Blob([pictureOf(figure).text], { type: "image/svg+xml" }), fileName(figure, "svg"));
const savePng = async (figure) => save(await pictureOf(figure).png(), fileName(figure, "png"));
