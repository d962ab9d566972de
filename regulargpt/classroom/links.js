// The address says what is shown: #word=0110&step=3. Opened again, it shows the same; back and forward work. Or it
// names a place of the page, as #network does: then it stays until there is more to say.

class Address {
  constructor() {
    this.parts = new Map();
    addEventListener("hashchange", () => this.open());
    document.addEventListener("DOMContentLoaded", () => {
      this.open();
      if (!this.place()) this.say();
    });
  }

  // A part: `get` gives its text, null where it need not be said; `set` shows a text, null where it is not said.
  add(name, get, set) {
    this.parts.set(name, { get, set });
  }

  // What the address says, by name. A stray % stands for itself.
  said() {
    const pairs = location.hash.slice(1).split("&").filter((pair) => pair.includes("="));
    return new Map(pairs.map((pair) => {
      const [name, ...text] = pair.split("=");
      try {
        return [name, decodeURIComponent(text.join("="))];
      } catch {
        return [name, text.join("=")];
      }
    }));
  }

  // Show what the address says, all of it, if it is an address of this page's.
  open() {
    const said = this.said();
    if (![...said.keys()].some((name) => this.parts.has(name))) return;
    this.opening = true;
    for (const [name, { set }] of this.parts) set(said.get(name) ?? null);
    this.opening = false;
  }

  // What is shown now, as the end of an address.
  hash(changes = {}) {
    const shown = [...this.parts].map(([name, { get }]) => [name, name in changes ? changes[name] : get()]);
    const pairs = shown.filter(([, text]) => text !== null).map(([name, text]) => `${name}=${encodeURIComponent(text)}`);
    return pairs.length ? `#${pairs.join("&")}` : "";
  }

  // The place of this page that the address names; null if it names none.
  place() {
    return byId(location.hash.slice(1));
  }

  // Say what is shown. What was said before is what "back" leads to if this `isNew`, else it is replaced.
  say(isNew = false) {
    if (this.opening || this.hash() === location.hash) return;
    try {
      history[isNew ? "pushState" : "replaceState"](null, "", this.hash() || location.pathname + location.search);
    } catch {
      // Some browsers refuse this for files: the page works without.
    }
  }

  // The whole address: of this page, or of one figure alone.
  link(changes = {}, embed = null) {
    const found = new URL(location.href);
    if (embed === null) found.searchParams.delete("embed");
    else found.searchParams.set("embed", embed);
    found.hash = this.hash(changes) || (this.place() ? location.hash : "");
    return found.href;
  }
}

const address = new Address();

// Take a text along; where the browser does not let a page copy, it is there to be copied by hand.
async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    prompt("Copy this:", text);
    return;
  }
  const name = button.textContent;
  button.disabled = true; // a second click would take "Copied" for its name
  button.textContent = "Copied ✓";
  byId("done").textContent = "Copied";
  setTimeout(() => {
    button.textContent = name;
    button.disabled = false;
    byId("done").textContent = "";
  }, 1500);
}

byId("link").addEventListener("click", ({ target }) => copy(address.link(), target));
