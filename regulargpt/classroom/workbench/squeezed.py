"""Scripts without what only their readers need: comments, indentation, and spaces beside signs.

It reads JavaScript as far as our own scripts have it, and leaves texts, templates and patterns as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# What begins at a place of a script. A slash behind an operator begins a pattern, and no quotient.
PART = re.compile(
    r"""(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<comment>\ *//[^\n]*)
    |(?P<pattern>(?:(?<=[(,=:\[!&|?{};>])|(?<=[(,=:\[!&|?{};>]\ ))/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*)
    |(?P<template>`)
    |(?P<code>[^"'`/]+|/)""",
    re.VERBOSE,
)
# Neither + nor -, for a - -b is no a--b.
BESIDE = re.compile(r" ?(=>|===|!==|&&|\|\||\?\?|[*=<>?:,{}()]) ?")
# Where a line may go on with the next one.
LINES = re.compile(r"(?<=[{(\[,;])\s+| *\n\s*(?=[)\]}])| *(\n)\s*")


def squeezed(script: str) -> str:
    """The same script, shorter.

    >>> squeezed('// One more.\\nconst next = (n) => {\\n  return `${n + 1}, or so`; // a text\\n};')
    '\\nconst next=(n)=>{return `${n + 1}, or so`;};'
    """
    return "".join(
        part if is_literal else LINES.sub(r"\1", BESIDE.sub(r"\1", part)) for is_literal, part in joined(script)
    )


def joined(script: str) -> Iterator[tuple[bool, str]]:
    """Literals, each by itself, and the code between two of them in one piece, without its comments."""
    code = ""
    for kind, part in parts(script):
        if kind == "code":
            code += part
        elif kind != "comment":
            yield False, code
            yield True, part
            code = ""
    yield False, code


def parts(script: str) -> Iterator[tuple[str, str]]:
    """Each part of a script with its kind, in their order."""
    at = 0
    while at < len(script):
        match = PART.match(script, at)
        assert match is not None, script[at : at + 40]
        kind = str(match.lastgroup)
        end = after_template(script, match.end()) if kind == "template" else match.end()
        yield kind, script[at:end]
        at = end


def after_template(script: str, at: int) -> int:
    """The place behind a template of which the inside begins here; templates may stand in it."""
    while script[at] != "`":
        at = after_hole(script, at + 2) if script.startswith("${", at) else at + 1 + (script[at] == "\\")
    return at + 1


def after_hole(script: str, at: int) -> int:
    """The place behind the brace that ends a hole of a template."""
    depth = 1
    for kind, part in parts(script[at:]):
        if kind == "code":
            for i, character in enumerate(part):
                depth += {"{": 1, "}": -1}.get(character, 0)
                if not depth:
                    return at + i + 1
        at += len(part)
    raise AssertionError("a hole without an end")
