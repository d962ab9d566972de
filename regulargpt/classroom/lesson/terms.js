// What a word means: beside it while it has the pointer or the focus, and where it is pressed. Escape puts it away.

class Terms {
  constructor() {
    this.tip = html("div", { id: "tip", role: "tooltip", hidden: "" });
    document.body.append(this.tip);
    document.querySelectorAll(".term").forEach((term) => {
      term.setAttribute("aria-describedby", term.hash.slice(1));
      for (const event of ["mouseenter", "focus"]) term.addEventListener(event, () => this.show(term));
      term.addEventListener("click", (event) => {
        event.preventDefault();
        this.show(term);
      });
      for (const event of ["mouseleave", "blur"]) term.addEventListener(event, () => this.hide());
    });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.hide());
    document.addEventListener("scroll", () => this.hide(), { passive: true });
  }

  show(term) {
    const meaning = byId(term.getAttribute("aria-describedby"));
    this.tip.replaceChildren(html("b", {}, meaning.previousElementSibling.textContent), `: ${meaning.textContent}`);
    this.tip.hidden = false;
    const [word, own] = [term.getBoundingClientRect(), this.tip.getBoundingClientRect()];
    const left = Math.max(8, Math.min(word.left, document.documentElement.clientWidth - own.width - 8));
    const below = word.bottom + own.height + 12 < document.documentElement.clientHeight;
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${below ? word.bottom + 6 : Math.max(8, word.top - own.height - 6)}px`;
  }

  hide() {
    this.tip.hidden = true;
  }
}
