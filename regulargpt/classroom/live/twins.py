"""The JavaScript beside a class: `kerple.js` computes in the page what the classes of `kerple.py` compute.

A twin is an ES module. It exports a class of the same name, whose constructor is given the options, the weights by
their names in Python, and `build` for parts of its own. A model has `logits(word)` and `cost(length)`. With
`state(word)` and `read(state)`, which give the logits in two steps, it has a map of states. A tree has
`levelsOf(word, changes)`, and `edges`, a sentence on what its edges show. Encodings derive from
`regulargpt/encodings/base.js`. A class outside this package has a twin, too, if a script lies beside it; it imports
ours by their paths, as in `import { linear } from "regulargpt/models/layers.js";`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

IMPORT = re.compile(r'^import \{ ([^}]*) \} from "([^"]+)";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:class|const|function\*?) (\w+))", re.MULTILINE)


@dataclass(frozen=True)
class PageScript:
    """A class in a script: `file` is its name in the page, `path` where it lies."""

    file: str
    path: Path
    name: str


def twin(place: str) -> PageScript | None:
    """The twin of the class at "module:Class", without importing the module; None if it has none.

    >>> found = twin("regulargpt.encodings.kerple:KerpleLog")
    >>> found.file, found.name
    ('regulargpt/encodings/kerple.js', 'KerpleLog')
    >>> twin("regulargpt.models.base:Model")
    """
    module, _, name = place.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).with_suffix(".js")
    if not path.exists() or name not in EXPORT.findall(path.read_text("utf-8")):
        return None
    return PageScript(module.replace(".", "/") + ".js", path, name)


def bundle(twins: Iterable[PageScript]) -> str:
    """All scripts that the twins need, in turn: each is a function of its own, so that no names meet.

    >>> text = bundle([twin("regulargpt.encodings.alibi:Alibi")])
    >>> [line for line in text.splitlines() if line.startswith("modules[")][-1]
    'modules["regulargpt/encodings/alibi.js"] = (() => {'
    """
    return "\n".join(["const modules = {};", *gathered(twins).values()])


def gathered(twins: Iterable[PageScript]) -> dict[str, str]:
    """The same by name, without the line that begins them."""
    scripts: dict[str, str] = {}
    for twin in twins:
        add(twin.file, twin.path, scripts)
    return scripts


def add(file: str, path: Path, scripts: dict[str, str]) -> None:
    """A script, behind those that it imports."""
    if file in scripts:
        return
    source = path.read_text("utf-8")
    for imported in (match[2] for match in IMPORT.finditer(source)):
        add(*resolved(imported, file, path), scripts)

    def without_imports(match: re.Match[str]) -> str:
        return f'const {{ {match[1]} }} = modules["{resolved(match[2], file, path)[0]}"];'

    body = EXPORT.sub("", IMPORT.sub(without_imports, source)).rstrip()
    exported = ", ".join(EXPORT.findall(source))
    scripts[file] = f'modules["{file}"] = (() => {{\n{body}\nreturn {{ {exported} }};\n}})();'


def resolved(imported: str, file: str, path: Path) -> tuple[str, Path]:
    """The name in the page, and the path, of what a script imports: beside it, or in an installed package.

    >>> resolved("../models/layers.js", "regulargpt/encodings/cope.js", Path("/lib/regulargpt/encodings/cope.js"))[0]
    'regulargpt/models/layers.js'
    """
    if imported.startswith("."):
        return posixpath.normpath(posixpath.join(posixpath.dirname(file), imported)), (path.parent / imported).resolve()
    package, _, rest = imported.partition("/")
    spec = find_spec(package)
    assert spec is not None, f"{path} imports {imported}: there is no {package}"
    assert spec.submodule_search_locations, f"{path} imports {imported}: {package} is no package"
    return imported, Path(spec.submodule_search_locations[0], rest)


WEIGHTS = PageScript(*resolved("regulargpt/models/weights.js", "", Path()), "Weights")
"""What reads the weights: no model imports it, and every page with a network has it."""

NESTED = PageScript(*resolved("regulargpt/models/tree/nested.js", "", Path()), "nestedNodes")
"""Where brackets have their partners: a page of a language with brackets needs it without a network, too."""
