"""The workbench's pure scripts in a browser, without its page: a function applied to many cases in one call."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import regulargpt
from regulargpt.classroom.live.twins import PageScript, bundle
from tests.regulargpt.browser import Browser

PLACE = "regulargpt/classroom/workbench"


def opened(tab: Browser, folder: Path, *names: str) -> Browser:
    """A page with these scripts, named without `.js`, and those that they import."""
    root = Path(regulargpt.__file__).parents[1]
    scripts = [PageScript(f"{PLACE}/{name}.js", root / PLACE / f"{name}.js", name) for name in names]
    path = folder / "scripts.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title></title><script>{bundle(scripts)}</script>", "utf-8")
    tab.fresh()
    tab.open(path)
    return tab


def results(page: Browser, scripts: str, function: str, cases: Iterable[Any]) -> list[Any]:
    """What a function, written with the names that these scripts export, gives for each case."""
    exported = [f"modules[{json.dumps(f'{PLACE}/{script}.js')}]" for script in scripts.split()]
    found = f"Object.assign({{}}, {', '.join(exported)})"
    names = ", ".join(page.evaluate(f"Object.keys({found})"))
    return page.evaluate(f"(({{ {names} }}) => {json.dumps(list(cases))}.map({function}))({found})")
