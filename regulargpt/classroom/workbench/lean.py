"""A page without what it does as well without: signs, what nothing in it names, and its scripts' own long names."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

from rjsmin import jsmin

HERE = "regulargpt/classroom/workbench"
SCRIPT = re.compile(r"(<script(?: id=\"calculations\")?>\n)(.*?)(?=\n</script>)", re.DOTALL)
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
MODULE = re.compile(rf'modules\["(?:{HERE}/|regulargpt/)?([\w/${{}}]+)\.js"\]')
"""A module by its path, which the page writes shorter: `modules.search`, `modules.models$layers`."""
NAMED = re.compile(r"\bmodules(?=\.[\w$]+[=;])")
CONSTANT = re.compile(r"( *)const (.*);")
ENDED = re.compile(r";(?=\})|(?<=\})\n")
"""In scripts that say where each statement ends: what stands at the end of a block."""
SHORT = {"Object.assign": "$O", "Array.from": "$A", "Float64Array": "$F"}
"""What stands there often: short names for it are given once, beside `modules`."""
OFTEN = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, SHORT))})\b")
GIVEN = re.compile(r"(?<![\w$])\((\w+)\)=>|(?<=return)\((\w+)\)=>")
"""What a function is given, in brackets that it does as well without."""
BEGUN = re.compile(r"(?=\bmodules\.[\w$]+ = \(\(\) => \{)")
FIXED = re.compile(r"^const (?:\w+|\[[\w, ]+\]) = ", re.M)
CAPITALS = re.compile(r"(?<![\w.])[A-Z][A-Z_]{2,}\b")
"""The name of a constant."""
OWN = r"(?:(?<=\.\.\.)|(?<![\w.$\"'`-]))"
"""Before a name that is no other thing's, and in no text."""
OWNED = re.compile(r"(?:(?<=\.\.\.)|(?<![\w.$]))\w+")
CALLED = re.compile(r"^(?:function\*? |const )([a-z]\w\w+)(?=\(| =)", re.M)
"""What a module calls, perhaps."""
DECLARED = re.compile(
    r"^(?:(?:function\*?|class) (\w+).*?^\}|const (\w+) = (?:[^\n]*;|\([^\n]*=> \{$.*?^\};))\n", re.M | re.S
)
METHOD = re.compile(r"^  (?:static |get |set )?\*?(\w+)\([^\n]*\) \{$.*?^  \}\n", re.M | re.S)
METHOD_NAME = re.compile(r"^  (?:static |get |set |async )?\*?(\w+)\(", re.M)
LINE = re.compile(r"^\s*//.*", re.M)
PURE = re.compile(r"function|class|const \w+ = (?:\(|\w+ =>|[\d\"])")
SPACE, BESIDE, REMARK = re.compile(r"\s+"), re.compile(r" ?([{};,>:]) "), re.compile(r"/\*.*?\*/", re.DOTALL)
"""In a style sheet: a space, and one behind a sign; texts of ours have no such sign before a space."""
RULE = re.compile(r"([^{};]+)\{[^{}]*\}")
COMMA = re.compile(r",(?![^()]*\))")
NAME = re.compile(r"[.#]([a-zA-Z][\w-]*)")
CLASSES = re.compile(r'\b(?:class|id)="([^"]*)"')
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
HOLE = re.compile(r"\$\{(?:[^{}]|\{[^{}]*\})*\}")
LISTED = re.compile(r" *[a-z][\w-]*(?: +[a-z][\w-]*){0,2} *")
"""A text that may be classes: at most three small words."""


def lean(page: str) -> str:
    """The page, which does the same."""
    named = MODULE.sub(lambda match: f"modules.{match[1].replace('/', '$')}", needed(page))
    known = classes(STYLE.sub("", named))
    styled = STYLE.sub(lambda match: sheet(match[0], known), named)
    return SCRIPT.sub(lambda match: match[1] + script(match[2]), styled)


def needed(page: str) -> str:
    """Without functions, classes, constants and methods that are named where they are declared, and nowhere else."""
    once = {word for word, count in Counter(re.findall(r"\w+", LINE.sub("", page))).items() if count == 1}

    def kept(match: re.Match[str]) -> str:
        return "" if (match[1] or match[2]) in once and PURE.match(match[0]) else match[0]

    shorter = METHOD.sub(lambda match: "" if match[1] in once else match[0], DECLARED.sub(kept, page))
    return shorter if shorter == page else needed(shorter)


def script(source: str) -> str:
    """A script without comments, and without signs that it does as well without."""
    own = "".join(map(renamed, BEGUN.split(source)))
    short = OFTEN.sub(lambda match: SHORT[match[0]], NAMED.sub("$", str(jsmin(together(own)))))
    given = "".join(f",{name}={long}" for long, name in SHORT.items())
    begun = short.replace("const modules={};", f"const modules={{}},$=modules{given};")
    return GIVEN.sub(lambda match: f"{match[1] or f' {match[2]}'}=>", ENDED.sub("", begun))


def renamed(source: str) -> str:
    r"""A module whose own constants and functions have short names; what it exports keeps its name.

    >>> renamed("modules.m = (() => {\nconst NOT_MANY = 3;\nfunction twice(x) {\nreturn { NOT_MANY };\n})();")
    'modules.m = (() => {\nconst NOT_MANY = 3;\nfunction t$(x) {\nreturn { NOT_MANY };\n})();'
    """
    if not source.startswith("modules."):
        return source
    shared = set(re.findall(r"\w+", source[source.rfind("return {") :]))
    constants = CAPITALS.findall(" ".join(FIXED.findall(source)))
    texts = " ".join(said for literal in LITERAL.findall(source) for said in (literal[0], HOLE.sub(" ", literal[1])))
    constants = [name for name in constants if name not in texts]
    ours = {*constants, *filter(partial(is_called, LINE.sub("", source)), CALLED.findall(source))} - shared
    names = {name: f"{name[0]}{i or ''}$" for i, name in enumerate(sorted(ours))}
    return OWNED.sub(lambda match: names.get(match[0], match[0]), source)


def is_called(code: str, name: str) -> bool:
    """Whether a name is that of a function wherever it stands: called or given to another; no method, key or text."""
    uses = re.findall(rf"{OWN}{name}(?=\()|(?<=\(){name}(?=[,)])|^const {name}(?= =)", code, re.M)
    return len(uses) == len(re.findall(rf"\b{name}\b", code)) and name not in METHOD_NAME.findall(code)


def together(source: str) -> str:
    r"""A script whose constants on neighbouring lines are declared together.

    >>> together("  const a = 1;\n  const b = 2;\nconst c = 3;")
    '  const a = 1,\n  b = 2;\nconst c = 3;'
    """
    lines, before = list[str](), None
    for line in LINE.sub("", source).split("\n"):
        match = CONSTANT.fullmatch(line)
        if match and match[1] == before:
            lines[-1] = f"{lines[-1][:-1]},"
            line = f"{match[1]}{match[2]};"
        if line:
            lines.append(line)
            before = match and match[1]
    return "\n".join(lines)


def classes(page: str) -> set[str]:
    """The names that elements may have: of its HTML, and of texts in its scripts, those in a template's holes, too."""
    code = LINE.sub("", page)
    texts = [literal[0] or HOLE.sub(" ", literal[1]) for literal in LITERAL.findall(code)]
    inner = [literal[0] for hole in HOLE.findall(code) for literal in LITERAL.findall(hole)]
    said = [*CLASSES.findall(page), *filter(LISTED.fullmatch, [*texts, *inner])]
    return {name for text in said for name in text.split()}


def sheet(style: str, known: set[str]) -> str:
    """A style sheet without comments, and without rules for what the page never names."""

    def kept(match: re.Match[str]) -> str:
        all_of_them = COMMA.split(match[1])
        some = [name for name in all_of_them if known.issuperset(NAME.findall(name))]
        return match[0].replace(match[1], ",".join(some), 1) if some else ""

    short = BESIDE.sub(r"\1", SPACE.sub(" ", REMARK.sub("", style))).replace(";}", "}")
    return RULE.sub(kept, short)
