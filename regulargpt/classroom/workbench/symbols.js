// Words as a person writes them, and as the scripts have them: lists of symbol numbers.

// A word as one writes it: without blanks where every symbol is one character.
export function asText(alphabet, word) {
  return word.map((symbol) => alphabet[symbol]).join(areLetters(alphabet) ? "" : " ");
}

// The symbol numbers of what one writes; null where a symbol is not in the alphabet.
export function numbersOf(alphabet, text) {
  const symbols = areLetters(alphabet) ? [...text] : text.split(/\s+/).filter((part) => part);
  const word = symbols.map((symbol) => alphabet.indexOf(symbol));
  return word.includes(-1) ? null : word;
}

// Whether every symbol is one character.
export function areLetters(alphabet) {
  return alphabet.every((symbol) => [...symbol].length === 1);
}
