"""What the accessibility checker axe-core finds wrong with a page."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from tests.regulargpt.browser import Browser

SCRIPT = files("axe_playwright_python") / "axe.min.js"
FOUND = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map(
  ({ id, help, nodes }) => [id, help, nodes.map(({ html }) => html.slice(0, 200))]))"""


def violations(browser: Browser) -> list[Any]:
    """Every rule that the open page breaks: its name, in words, and the elements."""
    browser.evaluate(f"{SCRIPT.read_text()}\n;undefined")
    return browser.evaluate(FOUND)
