"""The languages by name: `get("tomita-3")`. To add one, write its file and add its row here, or bring it in a package.

The table is static, so that listing the languages imports none of them. Installed packages bring theirs by entry
points (installed.py), which are read only where a name is not built in, and for the listing.
"""

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast

from languages.drawn_families import FLARE, ROWS, WITHOUT_ROWS
from languages.errors import VAST, LanguageError, nearest, one_of
from languages.specification import Family, Parameter, read_parameters

if TYPE_CHECKING:
    from languages.task import Task
    from languages.tasks import AnyTask

Made = TypeVar("Made", bound="AnyTask")

P_ONE = Parameter("p_one", 0.5, "the probability of a 1, from 0.0 to 1.0")
SIZE = Parameter("size", 5, "the number of positions, 2 to 1000")
ARITHMETIC = (
    Parameter("modulus", 5, "a whole number, 2 to 32"),
    Parameter("operators", "+-*", "one or more of + - *, such as +-"),
    Parameter("plus", False, "true or false: a constant + in front"),
)
DYCK = (
    Parameter("depth", "any", "'any' or 'every'", ("any", "every")),
    Parameter("members", "uniform", "'uniform' or 'blocks'", ("uniform", "blocks")),
)
MEMBERS = Parameter("members", "uniform", "'uniform', 'runs' (3, 7) or 'walk' (4)", ("uniform", "runs", "walk"))
FORBIDDEN = Parameter("forbidden", "at-once", "'at-once', or for 3 'later'", ("at-once", "later"))
GROUP = (
    Parameter("answer", "element", "'element' or 'identity'", ("element", "identity")),
    Parameter("letters", "generators", "'generators' or 'elements'", ("generators", "elements")),
)
SWAPS = Parameter("letters", "generators", "'generators', 'elements' or 'swaps'", ("generators", "elements", "swaps"))
ORDER = Parameter("order", "left-to-right", "'left-to-right' or 'right-to-left'", ("left-to-right", "right-to-left"))
PRODUCT = "GROUP*GROUP"
PREFIX = (
    Parameter("p", 2, "the number of symbols asked for, 1 to 20"),
    Parameter("k", 2, "the number of symbols there are, 2 to 10"),
)
P_IGNORE = Parameter("p_ignore", 0.8, "the probability of an ignored symbol, from 0.0, less than 1.0")

FAMILIES = (
    Family("parity", "parity:parity", "the number of ones mod 2", (P_ONE,)),
    Family("even-pairs", "even_pairs:even_pairs", "the number of unequal neighbours mod 2"),
    Family(
        "cycle-navigation",
        "cycle_navigation:cycle_navigation",
        "the position on a cycle after steps: stay, forward, back",
        (SIZE,),
    ),
    Family(
        "modular-arithmetic",
        "modular_arithmetic:modular_arithmetic",
        "the value of an expression mod m, multiplication first",
        ARITHMETIC,
    ),
    Family(
        "modular-arithmetic-left-to-right",
        "modular_arithmetic:modular_arithmetic_left_to_right",
        "the value of an expression mod m, from left to right",
        ARITHMETIC,
    ),
    Family(
        "tomita-N",
        "tomita:tomita",
        "membership in Tomita's language N, 1 to 7",
        (MEMBERS, FORBIDDEN),
        (1, 2, 3, 4, 5, 6, 7),
    ),
    Family("dyck-N", "dyck:dyck", "membership: brackets balanced and at most N deep", DYCK, (1, 2, 3, 4, 12)),
    Family("aa-star", "bhattamishra:aa_star", "membership: (aa)*"),
    Family("aaaa-star", "bhattamishra:aaaa_star", "membership: (aaaa)*"),
    Family("abab-star", "bhattamishra:abab_star", "membership: (abab)*"),
    Family("012-02", "bhattamishra:zero_one_two", "membership: {0,1,2}*02*"),
    Family("ab-d-bc", "bhattamishra:ab_d_bc", "membership: {a,b}*d{b,c}*"),
    Family("aa-bb-cc-dd-ee", "bhattamishra:aa_bb_cc_dd_ee", "membership: aa*bb*cc*dd*ee*"),
    Family("cyclic-N", "groups:cyclic", "word problem of Z_N", GROUP, (5,)),
    Family("dihedral-N", "groups:dihedral", "word problem of D_N, order 2N", (*GROUP, ORDER), (4,)),
    Family("heisenberg-N", "groups:heisenberg", "word problem of H_N, order N^3", (*GROUP, ORDER), (3,)),
    Family("symmetric-N", "groups:symmetric", "word problem of S_N", (GROUP[0], SWAPS, ORDER), (3, 5)),
    Family("alternating-N", "groups:alternating", "word problem of A_N", (*GROUP, ORDER), (5,)),
    Family(
        PRODUCT,
        "groups:product",
        "word problem of a product of such groups: cyclic-4*alternating-4",
        (*GROUP, ORDER),
        examples=("cyclic-2*symmetric-3",),
    ),
    Family("flip-flop", "flip_flop:flip_flop", "the bit written last", (P_IGNORE,)),
    Family("flip-flop-reads", "flip_flop_reads:flip_flop_reads", "the bit written last, at each read", (P_IGNORE,)),
    Family("prefix", "prefix:prefix", "the first p symbols of a word over k, or 'too short'", PREFIX),
    Family(
        "regex:EXPRESSION", "user:regex", "membership in a regular expression: regex:(ab)*, regex:(aa)*;alphabet=ab"
    ),
    Family("dfa:FILE", "user:dfa", "an automaton in a JSON, DOT, JFLAP or AT&T file: dfa:path.json"),
)

MODULUS = Parameter("modulus", 5, "a whole number, 2 to 10")
NESTING = Parameter("depth", "any", "'any', 'every' or a number, 1 to 5000")
EXPRESSIONS = Parameter("sampler", "grammar", "'grammar' or 'published'", ("grammar", "published"))
NESTED = (
    Family(
        "brackets-N",
        "brackets:brackets",
        "membership: balanced brackets of N kinds, of any depth or at most bound",
        (Parameter("bound", 0, "a depth from 1 to 1000, or 0 for none"), NESTING),
        (1, 2),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "xml-N",
        "brackets:xml",
        "membership: one element, tags of N names matched",
        (NESTING,),
        (2, 4),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "reversal-N",
        "brackets:reversal",
        "membership: a word over N letters, then its mirror image",
        numbers=(2,),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "json",
        "json_tokens:json",
        "membership: one JSON value, over tokens",
        (NESTING,),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "formula",
        "values:formula",
        "the value of a Boolean formula with brackets",
        (NESTING,),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "arithmetic-brackets",
        "values:arithmetic",
        "the value mod m of an expression with brackets",
        (MODULUS, Parameter("precedence", False, "true or false: multiplication first"), NESTING, EXPRESSIONS),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "equation",
        "values:equation",
        "the digit x that solves an equation",
        (MODULUS, NESTING, EXPRESSIONS),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "list-ops",
        "values:list_ops",
        "the value of nested lists: MAX, MIN, SM",
        (NESTING,),
        level="context-free",
        has_brackets=True,
    ),
    Family(
        "pushdown:FILE",
        "user:pushdown",
        "a pushdown machine in a JSON file: pushdown:path.json",
        level="context-free",
        has_brackets=True,
    ),
)
"""Languages whose machine has a stack, and whose brackets are visible, but for some that users bring."""

PUSHDOWN = "pushdown:"
"""What the names of a user's pushdown machines begin with."""

WORDS = "words:"
"""What the names of a user's words and answers begin with."""
OWN_WORDS = Family(
    "words:FILE", "words:words", "words and answers in a CSV or TSV file: words:path.csv", level="unknown"
)

MQAR = Family(
    "mqar",
    "mqar:mqar",
    "the value behind a key, asked where the key comes again",
    (
        Parameter("pairs", "4", "a whole number from 1, 'any' or 'most'"),
        Parameter("vocabulary", 64, "an even number, 4 to 65536"),
        Parameter("power", 0.01, "a number above 0.0, at most 1.0"),
        Parameter("fill", "any", "'any' or 'blank'", ("any", "blank")),
    ),
    level="vast",
)

ABOVE = (*NESTED, *ROWS, *WITHOUT_ROWS, *FLARE, MQAR, OWN_WORDS)
"""All above the regular ones, a language that is too large for an automaton, and words whose automaton nobody knows."""

WITHOUT_MACHINE = ("vast", "unknown")
"""The levels of languages whose machine nobody makes: it has too many states, or nobody knows it."""

OTHER_NAMES = {"modular-arithmetic-brackets": "arithmetic-brackets", "solve-equation": "equation"}
"""What others call a language that is here."""

_GROUPS = {
    "a": ("alternating", range(3, 8)),
    "s": ("symmetric", range(2, 8)),
    "c": ("cyclic", range(1, 13)),
    "z": ("cyclic", range(1, 13)),
}
SYNONYMS = {
    **{f"{letter}{n}": f"{stem}-{n}" for letter, (stem, sizes) in _GROUPS.items() for n in sizes},
    **{f"d{n}": f"dyck-{n}" + (f", or dihedral-{n} for the group" if n > 2 else "") for n in range(1, 13)},
    "dyck": "dyck-2, or another depth",
    "tomita": "tomita-3, or another number from 1 to 7",
    "brackets": "brackets-2, or another number of kinds",
    "modarith": "modular-arithmetic, or modular-arithmetic-left-to-right",
    "modulararithmeticsimple": "modular-arithmetic-left-to-right",
    "modulararithmeticwithbrackets": "arithmetic-brackets",
    "cycle": "cycle-navigation",
    "cyclenav": "cycle-navigation",
    "xor": "parity",
    "reverse": "reverse-string",
    "copy": "duplicate-string",
    "duplicate": "duplicate-string",
    "sort": "bucket-sort",
    "sorting": "bucket-sort",
    "addition": "binary-addition",
    "multiplication": "binary-multiplication",
    "sqrt": "compute-sqrt",
    "a^nb^n": "anbn",
    "a^nb^nc^n": "anbncn",
}
"""What to write for names that people say, as `languages.errors.nearest` takes them."""


def listing() -> tuple[Family, ...]:
    """The rows, built-in ones first: `.pattern`, `.summary`, `.parameters`, `.names`. No language is imported.

    So of an installed language the parameters are not known here.

    >>> [row.pattern for row in listing()][:3]
    ['parity', 'even-pairs', 'cycle-navigation']
    """
    from languages.installed import installed

    built_in = {family.pattern for family in (*FAMILIES, *ABOVE)}
    return FAMILIES + ABOVE + tuple(row for row in installed() if row.pattern not in built_in)


def names() -> tuple[str, ...]:
    """Names of regular languages as one would type them, all families with a closed pattern.

    >>> "tomita-3" in names(), "dyck-12" in names()
    (True, True)
    """
    return tuple(name for family in FAMILIES for name in family.names)


# Tasks made in Python, by their names; they live as long as this process.
MADE: dict[str, "AnyTask"] = {}


TEXT = ("text:", "hf:")
"""What the names of texts begin with."""


def is_text(name: str) -> bool:
    """Whether a name is that of a text, not of a language.

    >>> is_text("text:code"), is_text("parity")
    (True, False)
    """
    return name.startswith(TEXT)


RETRIEVAL = "retrieval:"
"""What the names of retrieval tasks begin with."""


def is_retrieval(name: str) -> bool:
    """Whether a name is that of a retrieval task."""
    return name.startswith(RETRIEVAL)


def is_language(name: str) -> bool:
    """Whether a name is that of a language, which has an automaton."""
    return not is_text(name) and not is_retrieval(name)


def register(task: "Made") -> "Made":
    """Let a task that was made in Python go by its name in this process; the task.

    A later family of the same name takes its place. LanguageError for the name of a language that is there already.

    >>> from languages.regular.user import task_of
    >>> ends_in_b = get("regex:(a|b)*b").machine
    >>> get(register(task_of(ends_in_b, "ends-in-b")).name).machine == ends_in_b
    True
    """
    if task.name not in MADE and is_built_in(task.name):
        raise LanguageError(f"the language {task.name!r} is there already; give yours another name")
    MADE[task.name] = task
    return task


def is_built_in(name: str) -> bool:
    """Whether this package has the language, so that its name says what it is, but for a file after `dfa:`.

    >>> is_built_in("parity:p_one=0.1"), is_built_in("language-of-a-package")
    (True, False)
    """
    every = (*FAMILIES, *ABOVE)
    if any(family.prefix and name.startswith(family.prefix) for family in every):
        return True
    return _among(every, name.partition(":")[0]) is not None


def level_of(name: str) -> str:
    """The level of the hierarchy that a language's name is of; of names that are not built in, "regular".

    >>> level_of("parity"), level_of("brackets-2:bound=3"), level_of("pushdown:mine.json")
    ('regular', 'context-free', 'context-free')
    """
    if name in MADE:
        return MADE[name].level
    row = _above(name)
    return "regular" if row is None else row.level


def has_brackets(name: str) -> bool:
    """Whether the words of a language have visible brackets, by its name.

    >>> has_brackets("brackets-2:bound=3"), has_brackets("reverse-string")
    (True, False)
    """
    if name in MADE:
        return hasattr(MADE[name], "visibly")
    if name.startswith(PUSHDOWN):
        return _of_file(name) == "brackets"
    row = _above(name)
    return row is not None and row.has_brackets


def has_rows(name: str) -> bool:
    """Whether a word of a language is answered by a row of symbols, by its name.

    >>> has_rows("brackets-2"), has_rows("reverse-string:letters=3")
    (False, True)
    """
    if name in MADE:
        return getattr(MADE[name], "empty", None) is not None
    if name.startswith(PUSHDOWN):
        return _of_file(name) == "row"
    row = _above(name)
    return row is not None and row.has_rows


def _of_file(name: str) -> str:
    """The kind of the machine in a file, which is read."""
    from languages.context_free.user import kind_of_file

    return kind_of_file(name.removeprefix(PUSHDOWN))


def _above(name: str) -> Family | None:
    """The row of a language above the regular ones."""
    if (row := next((row for row in ABOVE if row.prefix and name.startswith(row.prefix)), None)) is not None:
        return row
    stem = name.partition(":")[0]
    known_row = _among(ABOVE, OTHER_NAMES.get(stem, stem))
    return None if known_row is None else known_row[0]


def get(spec: str) -> "Task":
    """The task of a regular language: `name` or `name:key=value,...`, or `regex:EXPRESSION` or `dfa:FILE`.

    Names that are not built in are looked up among those of installed packages.

    LanguageError: an unknown name, parameter or value; the message says what is accepted. Or a language above the
    regular ones: the message names its level.

    >>> get("parity:p_one=0.1").weights
    (0.9, 0.1)
    >>> get("dyck-7").machine.n_states
    9
    >>> get("regex:(ab)*").machine.answers("abab").item()
    1
    """
    if (level := level_of(spec)) != "regular":
        raise no_finite_automaton(spec, level)
    return cast("Task", find(spec))


def no_finite_automaton(name: str, level: str) -> LanguageError:
    """What is said where a finite automaton is needed of a language that has none."""
    if level in WITHOUT_MACHINE:
        return LanguageError(f"{no_known_machine(name)}, and this needs one; choose a regular language, as in dyck-4")
    has = "has a stack" if level == "context-free" else "has more than a stack"
    return LanguageError(
        f"{name:.80} is a {level} language: its machine {has}, and this needs a finite automaton; "
        "choose a regular language, as in dyck-4"
    )


def no_known_machine(name: str) -> str:
    """What is said where a machine is needed of a language that has none.

    >>> no_known_machine("words:mine.csv")
    'of words:mine.csv only words and their answers are known, no automaton'
    >>> no_known_machine("mqar:pairs=2")
    'mqar:pairs=2 is regular, but has too many states for an automaton'
    """
    if level_of(name) == "vast":
        return f"{name:.80} is {VAST}"
    return f"of {name:.80} only words and their answers are known, no automaton"


def find(spec: str) -> "AnyTask":
    """The task of a language of any level, as `get` reads its name.

    >>> find("brackets-2").machine.answers("([])").item(), find("parity").level
    (1, 'regular')
    """
    # Half a character can be typed on a command line and written to no file.
    if any("\ud800" <= character <= "\udfff" for character in spec):
        raise LanguageError(f"{spec!r:.80} contains a byte that is no character; give the language in UTF-8")
    if spec in MADE:
        return MADE[spec]
    # What follows regex: or dfa: is the user's, colons and commas included.
    for family in (*FAMILIES, *ABOVE):
        if family.prefix and spec.startswith(family.prefix):
            return family.load()(spec.removeprefix(family.prefix))
    if is_text(spec):
        raise LanguageError(f"{spec!r:.200} is a text, which has no automaton; name a language, as in parity")
    if is_retrieval(spec):
        raise LanguageError(f"{spec!r:.200} is a retrieval task, which has no automaton; name a language, as in parity")
    name, _, parameters = spec.partition(":")
    family, number = _find(name)
    values = read_parameters(family.parameters, name, parameters)
    if not family.package:
        return family.load()(*number, **values)
    from languages.installed import load

    return load(family)(*number, **values)


def _find(name: str) -> tuple[Family, tuple[int | str, ...]]:
    if (built_in := _among((*FAMILIES, *ABOVE), OTHER_NAMES.get(name, name))) is not None:
        return built_in
    from languages.installed import installed, parameters

    others = installed()
    if (other := _among(others, name)) is not None:
        family, number = other
        return replace(family, parameters=parameters(family)), number
    if name.startswith("made-in-python"):
        remedy = "save the machine with to_json, and name it dfa:FILE, or pushdown:FILE"
        raise LanguageError(f"{name} was made in another process; {remedy}")
    above = [name for family in ABOVE for name in family.names]
    every = [*names(), *above, *(family.pattern for family in others)]
    if os.path.isdir(name):
        raise LanguageError(f"unknown language {name!r:.80}: it is a folder; name a language, as in parity")
    raise LanguageError(
        f"unknown language {name!r:.80};{nearest(name, every, SYNONYMS) or f' known are {one_of(every, 40)}'}"
    )


def _among(families: tuple[Family, ...], name: str) -> tuple[Family, tuple[int | str, ...]] | None:
    """The family of a name, and what its function is called with."""
    stem, _, number = name.rpartition("-")
    for family in families:
        if family.is_product:
            if "*" in name:
                return family, (name,)
        elif family.pattern == name and not family.is_numbered:
            return family, ()
        if family.is_numbered and family.pattern == f"{stem}-N" and re.fullmatch("[0-9]{1,4000}", number):
            return family, (int(number),)
    return None
