"""The rows of the registry of languages whose words a function draws, without visible brackets."""

from typing import Literal

from languages.specification import Family, Parameter

Level = Literal["context-free", "context-sensitive"]
VERSION = Parameter("version", "code", "'code' or 'paper'", ("code", "paper"))
LETTERS = Parameter("letters", 2, "a whole number, 2 to 10")
STACK_SAMPLER = Parameter("sampler", "published", "'published' or 'walks'", ("published", "walks"))
SORT_SAMPLER = Parameter("sampler", "uniform", "'uniform' or 'skewed'", ("uniform", "skewed"))


def row(level: Level, name: str, place: str, summary: str, *parameters: Parameter) -> Family:
    """Of a language that is answered by a row of symbols; `place` is "module:function"."""
    return Family(name, place, summary, parameters, level=level, has_rows=True)


ROWS = (
    row("context-free", "reverse-string", "reverse_string:reverse_string", "the word backwards", LETTERS),
    row(
        "context-free",
        "stack-manipulation",
        "stack_manipulation:stack_manipulation",
        "the stack that is left after pushes and pops, top first",
        STACK_SAMPLER,
    ),
    row("context-sensitive", "duplicate-string", "strings:duplicate_string", "the word twice", LETTERS),
    row(
        "context-sensitive",
        "odds-first",
        "strings:odds_first",
        "the symbols at odd places, then those at even places",
        VERSION,
        LETTERS,
    ),
    row(
        "context-sensitive",
        "missing-duplicate-string",
        "strings:missing_duplicate_string",
        "the bit missing from a word that stands there twice",
        VERSION,
    ),
    row("context-sensitive", "binary-addition", "numbers:binary_addition", "the sum of two binary numbers"),
    row(
        "context-sensitive",
        "binary-multiplication",
        "numbers:binary_multiplication",
        "the product of two binary numbers",
    ),
    row("context-sensitive", "compute-sqrt", "numbers:compute_sqrt", "the square root of a binary number", VERSION),
    row(
        "context-sensitive",
        "bucket-sort",
        "strings:bucket_sort",
        "the symbols in order",
        SORT_SAMPLER,
        Parameter("letters", 5, "a whole number, 2 to 10"),
    ),
)
"""Languages whose words are answered by a row of symbols."""

WITHOUT_ROWS = (
    Family(
        "marked-reversal",
        "mirrored:marked_reversal",
        "membership: a word, a mark, and the word backwards",
        level="context-free",
    ),
    Family(
        "unmarked-reversal",
        "mirrored:unmarked_reversal",
        "membership: a word, and the word backwards",
        level="context-free",
    ),
    Family("majority", "counters:majority", "membership: more 1 than 0", level="context-free"),
    Family("anbn", "counters:anbn", "membership: a..ab..b, as many b as a", level="context-free"),
    Family(
        "boolean",
        "boolean:boolean",
        "the value of a Boolean formula, its operators in front",
        level="context-free",
    ),
    Family("anbncn", "counters:anbncn", "membership: a..ab..bc..c, as many of each", level="context-sensitive"),
    Family(
        "dyck-shuffle-N",
        "counters:dyck_shuffle",
        "membership: brackets of N kinds, each kind balanced",
        numbers=(2,),
        level="context-sensitive",
    ),
)
"""Languages that are answered at the last symbol."""


def flare(level: Level, name: str, summary: str) -> Family:
    return Family(f"flare-{name}", f"flare:flare_{name.replace('-', '_')}", f"membership: {summary}", level=level)


FLARE = (
    flare("context-free", "majority", "FLaRe's more 1 than 0"),
    flare("context-free", "stack-manipulation", "a stack, commands, and the stack that is left"),
    flare("context-free", "marked-reversal", "FLaRe's word, mark, and the word backwards"),
    flare("context-free", "unmarked-reversal", "FLaRe's word, and the word backwards"),
    flare("context-sensitive", "marked-copy", "a word, a mark, and the word again"),
    flare("context-sensitive", "missing-duplicate", "a word twice, a 1 of it missing"),
    flare("context-sensitive", "odds-first", "a word, a mark, its odd places, then its even ones"),
    flare("context-sensitive", "binary-addition", "a sum of two numbers"),
    flare("context-sensitive", "binary-multiplication", "a product of two numbers"),
    flare("context-sensitive", "compute-sqrt", "a number and its square root"),
    flare("context-sensitive", "bucket-sort", "a word, a mark, and its symbols in order"),
)
"""Those of FLaRe above the regular ones, with its members and near misses."""
