// Puts these elements into a place, unless it says the same already: what is read out is read out once.
export function renew(place, made) {
  if (place.textContent !== made.map(({ textContent }) => textContent).join("")) place.replaceChildren(...made);
}
