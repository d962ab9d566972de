"""The site: guides, lessons, the workbench, pages of results with their curves, and the API reference, as static HTML.

`python -m experiments.site OUT` makes all of it; a browser opens OUT/index.html. It needs the extra `dev`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from experiments.gallery import INDEX, commands, make
from experiments.page import files
from experiments.page.markdown import markdown
from regulargpt.classroom.workbench import page as workbench

ROOT = Path(__file__).parents[1]
# The docstrings of what others may rely on.
API = [
    *(f"regulargpt.{name}" for name in ("api", "config.schema", "options", "models.base", "models.hooks")),
    *(f"regulargpt.{name}" for name in ("models.regulargpt.model", "models.transformer.model")),
    *(f"regulargpt.{name}" for name in ("encodings.base", "data.base")),
    *(f"languages.{name}" for name in ("task", "automata.dfa", "automata.moore")),
    *(f"languages.{name}" for name in ("automata.semiautomaton", "automata.monoid")),
]
COPIED = {".png", ".svg", ".csv", ".json", ".jsonl", ".ipynb"}
STYLE = """
:root { color-scheme: light dark; }
body { font: 1.05rem/1.55 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
main { overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: 1rem; border-bottom: 1px solid GrayText; padding-bottom: .5rem; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid GrayText; overflow-wrap: normal; }
table { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal; }
td, th { border: 1px solid GrayText; padding: .25rem .6rem; text-align: left; vertical-align: top; }
img { max-width: 100%; background: white; }
"""
NAV = {
    "index.html": "Start",
    "docs/index.html": "Guides",
    "workbench.html": "Workbench",
    f"gallery/{INDEX}.html": "Lessons",
    "docs/results.html": "Results",
    "api/index.html": "API",
}
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


@cache
def pages() -> list[Path]:
    """The Markdown files that become pages, by their path in the repository; those of results are made here."""
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    documents += sorted((ROOT / "experiments" / "results").rglob("*.md"))
    made = (path / files.PAGE for path in sorted((ROOT / "experiments" / "results").iterdir()) if files.has_page(path))
    return [path.relative_to(ROOT) for path in (*documents, *made)]


def place_of(page: Path) -> Path:
    """Where a page is in the site: the README is its front page.

    >>> place_of(Path("README.md")).as_posix(), place_of(Path("docs/text.md")).as_posix()
    ('index.html', 'docs/text.html')
    """
    return Path("index.html") if page == Path("README.md") else page.with_suffix(".html")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading.

    >>> slug("The run folder, in `files`")
    'the-run-folder-in-files'
    """
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def tokens(text: str) -> list[Token]:
    """A page's Markdown, its headings with their anchors."""
    parsed, used = MARKDOWN.parse(text), list[str]()
    for before, inside in pairwise(parsed):
        if before.type == "heading_open":
            name = slug(inside.content)
            before.attrs["id"] = f"{name}-{used.count(name)}" if name in used else name
            used.append(name)
    return parsed


def follow(out: Path, page: Path, target: str) -> str | None:
    """Where a link of a page leads in the site, its file copied there; None for code, which is not part of the site."""
    if re.match(r"\w+:", target) or target.startswith("#"):
        return target
    name, _, anchor = target.partition("#")
    if (out / page.parent / name).is_file():
        return target
    source = (ROOT / page.parent / name).resolve()
    if not source.is_relative_to(ROOT) or not source.exists():
        return None
    inside = source.relative_to(ROOT)
    if inside / files.PAGE in pages():
        inside /= files.PAGE
    if inside in pages():
        inside = place_of(inside)
    elif source.suffix in COPIED:
        (out / inside).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, out / inside)
    else:
        return None
    return f"{up(page)}{inside.as_posix()}" + (f"#{anchor}" if anchor else "")


def linked(out: Path, page: Path, parsed: Iterable[Token]) -> None:
    """Let the links and pictures of a page lead into the site."""
    for token in parsed:
        for child in token.children or ():
            for key in ("href", "src"):
                if key in child.attrs:
                    target = follow(out, page, str(child.attrs.pop(key)))
                    if target is not None:
                        child.attrs[key] = target


def html(out: Path, page: Path) -> str:
    """A page of the site."""
    parsed = tokens(with_curves(out, page) if page.name == files.PAGE else (ROOT / page).read_text("utf-8"))
    linked(out, page, parsed)
    title = escape(next((token.content for token in parsed if token.type == "inline"), page.stem))
    nav = "".join(f'<a href="{up(page)}{path}">{name}</a>' for path, name in NAV.items())
    body = MARKDOWN.renderer.render(parsed, MARKDOWN.options, {})
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{STYLE}</style></head>
<body><nav>{nav}</nav><main>
{body}</main></body></html>
"""


def with_curves(out: Path, page: Path) -> str:
    """A page of results with its curves, which are drawn into the site."""
    record = files.read(ROOT / page.parent)
    for picture in record.pictures:
        files.draw(picture, out / page.parent)
    return markdown(record, drawn=True)


def up(page: Path) -> str:
    """From a page to the site's top."""
    return "../" * (len(place_of(page).parts) - 1)


def write_pages(out: Path) -> None:
    """The guides and the pages of results."""
    for page in pages():
        path = out / place_of(page)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(html(out, page), "utf-8")


def write_gallery(out: Path) -> None:
    """The lessons, each made by its command."""
    (out / "gallery").mkdir(parents=True, exist_ok=True)
    for name in [*commands(), INDEX]:
        make(name, out / "gallery")


def write_workbench(out: Path) -> None:
    """The page in which one draws, trains, proves and breaks."""
    workbench.write(out / "workbench.html")


def write_api(out: Path) -> None:
    """The API reference."""
    subprocess.run([sys.executable, "-W", "error", "-m", "pdoc", "-o", str(out / "api"), *API], check=True, cwd=ROOT)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m experiments.site OUT")
    site = Path(sys.argv[1]).resolve()
    for write in (write_pages, write_gallery, write_workbench, write_api):
        write(site)
