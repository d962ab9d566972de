"""What the accessibility checker axe-core finds wrong with a page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from tests.regulargpt.browser import Browser

SCRIPT = files("axe_playwright_python") / "axe.min.js"
FOUND = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(
  ({ id, help, nodes }) => [id, help, nodes.map(({ html }) => html.slice(0, 200))]))"""
CONTRASTS = """axe.run(document, { runOnly: ["color-contrast"] }).then(({ passes, violations }) =>
  [...passes, ...violations].flatMap(({ nodes }) => nodes.flatMap(({ any }) => any.map(({ data }) =>
    [data.fgColor, data.bgColor, data.fontSize, data.fontWeight, data.contrastRatio].join(" ")))))"""
# Of axe's time nine tenths go to the contrast of text, element by element. Elements of one look have one contrast: the
# first and the last of each look are marked. A look is all that contrast depends on, of the element and of all around.
MARK = "data-contrast"
LOOKS = f"""{{
  const looks = new Map(), ends = new Map(), number = new Map([[null, 0]]);
  const properties = ["display", "visibility", "position", "opacity", "color", "fill", "backgroundColor",
    "backgroundImage", "fontSize", "fontWeight", "textShadow", "filter", "mixBlendMode"];
  for (const e of document.querySelectorAll("*")) {{
    const style = getComputedStyle(e), own = [...e.childNodes].some((node) => node.nodeType == 3 && node.data.trim());
    const look = [number.get(e.parentElement), e.tagName, e.getAttribute("class"), own, e.disabled, e.type,
      ...properties.map((name) => style[name])].join("|");
    if (!looks.has(look)) looks.set(look, looks.size + 1);
    number.set(e, looks.get(look));
    ends.set(look, [ends.get(look)?.[0] ?? e, e]);
  }}
  for (const e of [...ends.values()].flat()) e.setAttribute("{MARK}", "");
  axe.configure({{ rules: [{{ id: "color-contrast", selector: "[{MARK}]" }}] }});
}}"""


def load(browser: Browser) -> None:
    """Put the checker into the open page."""
    browser.evaluate(f"{SCRIPT.read_text()}\n;undefined")


def violations(browser: Browser) -> list[Any]:
    """Every rule that the open page breaks: its name, in words, and the elements."""
    load(browser)
    browser.evaluate(LOOKS)
    found = browser.evaluate(FOUND)
    browser.all(f"[{MARK}]", f"e.removeAttribute('{MARK}')")
    return found


def contrasts(browser: Browser) -> list[str]:
    """Of every element whose contrast is looked at: both colours, size and weight of its letters, and the answer."""
    return browser.evaluate(CONTRASTS)
