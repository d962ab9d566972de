// The colours of elements.

// Okabe and Ito's colours as regulargpt.findings.markup has them; then the same mixed with white.
const HUES = ["0072B2", "E69F00", "009E73", "CC79A7", "56B4E9", "D55E00", "F0E442", "7F1AE5"];
const MIXED = [0, 0.4, 0.65];

// A colour and the ink that is read on it; they begin again after 24.
export function colours(i) {
  const share = MIXED[Math.floor(i / HUES.length) % MIXED.length];
  const parts = HUES[i % HUES.length].match(/../g).map((part) => parseInt(part, 16));
  const mixed = parts.map((part) => Math.round(part + (255 - part) * share).toString(16).padStart(2, "0"));
  return [`#${mixed.join("").toUpperCase()}`, [0, 7].includes(i % (HUES.length * MIXED.length)) ? "#FFFFFF" : "#000000"];
}
