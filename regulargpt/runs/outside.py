"""Classes from outside this package: which source a run was trained with, and whether it is still that."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from languages.errors import Notice, UserError, shown
from regulargpt.config.schema import RunConfig
from regulargpt.options.registry import Row, rows
from regulargpt.storage.folder import RunFolder

HERE = ("regulargpt", "languages")


def outside(config: RunConfig) -> list[Row]:
    """The classes of a config that are not of this package.

    >>> outside(RunConfig())
    []
    """
    return [row for row in rows(config) if root(row.place) not in HERE]


def digests(config: RunConfig) -> dict[str, str]:
    """A digest of the source of each class from outside, for environment.json."""
    return {row.place: digest(row.load()) for row in outside(config)}


def changed(folder: RunFolder, config: RunConfig) -> list[str]:
    """The classes from outside that have another source now than when the run began."""
    began = folder.load_environment().get("classes", {})
    return [place for place, now in digests(config).items() if began.get(place) != now]


def notice(places: list[str]) -> str:
    """What is said of changed classes.

    >>> notice(["my_lab.peephole:PeepholeLstm"])
    'my_lab.peephole:PeepholeLstm has changed since the training began; its figures may be those of another network'
    """
    has, its = ("has", "its") if len(places) == 1 else ("have", "their")
    return f"{', '.join(places)} {has} changed since the training began; {its} figures may be those of another network"


def warn_of_changes(folder: RunFolder, config: RunConfig) -> None:
    """A `Notice` where classes from outside have changed."""
    if places := changed(folder, config):
        warnings.warn(f"{shown(folder.path)}: {notice(places)}", Notice, stacklevel=2)


@contextmanager
def mistakes(config: RunConfig) -> Iterator[None]:
    """What a class from outside raises becomes a `UserError` in a line; without such a class nothing changes."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if not outside(config):
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UserError(f"{config.model.name}: {reason:.300}; docs/your-own.md says what a class must do") from error


def digest(cls: type[Any]) -> str:
    """The SHA-256 of the files that a class comes from: its module's, those of its bases, and what these import of
    their own packages. Line ends do not count."""
    given = sys.stdlib_module_names | {*HERE, "torch"}
    sha = sha256()
    for name in sorted(modules_of([base.__module__ for base in cls.__mro__ if root(base.__module__) not in given])):
        source = source_of(name)
        # Each part with its length, so that no two sets of files have the same bytes in a row.
        for part in (name.encode(), b"\n".join(source.splitlines())):
            sha.update(len(part).to_bytes(8, "big") + part)
    return sha.hexdigest()


def modules_of(names: list[str]) -> set[str]:
    """The modules of these names, and those of the same packages that they import."""
    modules: set[str] = set()
    while names:
        name = names.pop()
        if name in sys.modules and name not in modules:
            modules.add(name)
            names += [other for other in imports(name) if root(other) == root(name)]
    return modules


def imports(name: str) -> Iterator[str]:
    """The modules that a module's source may import; not all of these names need be modules."""
    module = sys.modules[name]
    try:
        tree = ast.parse(source_of(name))
    except (SyntaxError, ValueError):  # compiled, or changed since it was imported
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            near = "." * node.level + (node.module or "")
            base = resolve_name(near, module.__package__ or "") if node.level else near
            yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def source_of(name: str) -> bytes:
    """The bytes of a module's file; nothing where it has none."""
    file = getattr(sys.modules[name], "__file__", None)
    try:
        return Path(file).read_bytes() if file else b""
    except OSError:
        return b""


def root(name: str) -> str:
    """The package at the top, of a module or an import path.

    >>> root("my_lab.peephole:PeepholeLstm")
    'my_lab'
    """
    return name.partition(":")[0].partition(".")[0]
