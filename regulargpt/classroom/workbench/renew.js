// An attribute, unless it is so already: what is written anew is drawn anew.
export function put(element, name, value) {
  if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

// Puts these elements into a place, unless it says the same already: what is read out is read out once.
export function renew(place, made) {
  if (place.textContent !== made.map(({ textContent }) => textContent).join("")) place.replaceChildren(...made);
}
