// A small field over the plane: for the symbols of an arrow, or the name of a state.

export class Field {
  constructor(place) {
    const plain = { type: "text", maxlength: 80, autocomplete: "off", autocapitalize: "off", spellcheck: "false" };
    this.place = place;
    this.input = html("input", { class: "at", hidden: "", ...plain });
    this.done = null;
    this.input.addEventListener("keydown", (event) => this.type(event));
    this.input.addEventListener("blur", () => this.close());
    place.append(this.input);
  }

  // Ask for a text at a place of the window; `done` is called with it, or with null if it is not
  // wanted, and whether a key has ended it: else the focus goes elsewhere.
  open({ x, y }, name, value, done) {
    const box = this.place.getBoundingClientRect();
    this.input.hidden = false;
    const most = box.width - this.input.offsetWidth;
    const left = Math.max(0, Math.min(most, x - box.left - this.input.offsetWidth / 2));
    Object.assign(this.input.style, { left: `${left}px`, top: `${Math.max(0, y - box.top - this.input.offsetHeight / 2)}px` });
    this.input.setAttribute("aria-label", name);
    this.input.value = value;
    this.done = done;
    this.input.focus({ preventScroll: true });
    this.input.select();
  }

  // Whether it was open.
  close(isWanted = true, isByKey = false) {
    const { done } = this;
    if (!done) return false;
    this.done = null; // hiding it takes the focus away, which closes it again
    this.input.hidden = true;
    done(isWanted ? this.input.value : null, isByKey);
    return true;
  }

  // Whatever was typed, it is for a machine that is gone.
  drop() {
    this.done = null;
    this.input.hidden = true;
  }

  // Tab goes on from the part whose field it was.
  type(event) {
    if (!["Enter", "Escape", "Tab"].includes(event.key)) return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
    this.close(event.key !== "Escape", true);
  }
}
