// Elements, made.

function svg(name, attributes = {}, ...inner) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, inner);
}

function html(name, attributes = {}, ...inner) {
  return filled(document.createElement(name), attributes, inner);
}

function filled(made, attributes, inner) {
  Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
  made.append(...inner);
  return made;
}

// A file to take along.
function save(blob, name) {
  const link = html("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
