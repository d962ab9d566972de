"""What every page is: one HTML file, with nothing fetched from anywhere, light or dark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import Any

from regulargpt.findings.markup import text

# On every page: light and dark, the address, the figures.
STYLES = ("figures.css", "print.css")
SCRIPTS = ("theme.js", "elements.js", "links.js", "export.js", "figures.js", "print.js")
FIGURES = ("figures.css", "export.js", "figures.js")


def document(
    *,
    title: str,
    heading: str,
    skip: tuple[str, str],
    body: str,
    data: Any,
    styles: Sequence[str],
    scripts: Sequence[str] = (),
    modules: str = "",
    after: str = "",
    has_workers: bool = False,
    has_figures: bool = True,
) -> str:
    """The page as text. `skip` is where the first link leads and what it says; `data` is what the scripts look up.

    Styles and scripts are names of files, as `file` takes them, after those of every page; the scripts come after the
    `modules` that they use, and before what is to run `after` them. A page with workers makes them of its own text.
    Figures with menus stand in it before a script has run.

    >>> page = document(title="<b>", heading="Seen", skip=("now", "To it"), body="<p id=now>", data=[1], styles=())
    >>> "<title>&lt;b&gt;</title>" in page, '<a class="skip" href="#now">To it</a>' in page
    (True, True)
    """
    first, to_it = skip

    def shared(names: tuple[str, ...]) -> list[str]:
        return [name for name in names if has_figures or name not in FIGURES]

    return Template(file("document.html")).substitute(
        title=text(title),
        heading=text(heading),
        first=first,
        skip=text(to_it),
        style="\n".join(map(file, (*styles, *shared(STYLES)))),
        body=body,
        data=embedded(data),
        script="\n".join([*map(file, shared(SCRIPTS)), modules, *map(file, scripts), after]),
        allowed="; worker-src blob:" if has_workers else "",
    )


def file(name: str) -> str:
    """A part of a page that lies beside this module, or in another package: "package:name"."""
    package, _, own = name.rpartition(":")
    return (resources.files(package or "regulargpt.classroom") / own).read_text("utf-8")


def embedded(value: Any) -> str:
    """JSON that may stand in a script element: nothing in it ends the element or opens a comment.

    >>> embedded(["</script>", "<!--", chr(0x2028)])
    '["\\\\u003c/script>","\\\\u003c!--","\\\\u2028"]'
    """
    dense = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<\u2028\u2029":
        dense = dense.replace(character, f"\\u{ord(character):04x}")
    return dense
