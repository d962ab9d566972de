// What is wrong with something that a person gave, in one line: the thing, then the remedy.
export class Refusal extends Error {}

// What `make` gives, as { [name]: it, problem: "" }; where it refuses, { [name]: null, problem: the line }.
export function tried(name, make) {
  try {
    return { [name]: make(), problem: "" };
  } catch (error) {
    if (error instanceof Refusal) return { [name]: null, problem: error.message };
    throw error;
  }
}

// A list of names to read, cut after twelve.
export function listed(names) {
  const rest = names.length - 12;
  return names.slice(0, 12).map(short).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

// A name, cut after forty characters.
export function short(name) {
  const letters = [...name];
  return letters.length > 40 ? `${letters.slice(0, 39).join("")}…` : name;
}
