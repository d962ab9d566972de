"""How textbooks write regular expressions: ∪ for union, Σ for any symbol, ε and ∅, · between parts, + for union.

A character of the alphabet that a user gives is a symbol, whatever textbooks mean by it.
"""

import re
from collections.abc import Collection

SAME = {"∪": "|", "∩": "&", "∗": "*", "Σ": "."}
EMPTY_WORD = "εϵɛλ"
NO_WORD = "∅"
BETWEEN = "·⋅∘"
LETTERS = re.compile("epsilon|lambda")
INFIX = re.compile(r"\+(?=[^*+?{|∪&∩^)])")
# A plus that cannot be a union, for nothing stands behind it, and what only programs write.
PROGRAMS = re.compile(r"\+(?:$|[|∪&∩^)])|[|∪∩&^?{\[.]")


def marks(symbols: Collection[str]) -> frozenset[str]:
    """The characters that textbooks have a meaning for, but not those that are symbols."""
    return frozenset({*SAME, *EMPTY_WORD, NO_WORD, *BETWEEN} - set(symbols))


def in_ours(pattern: str, symbols: Collection[str]) -> str:
    """The pattern with our operators for the same ones of textbooks: as long as it was.

    >>> in_ours("0∪1∗", ""), in_ours("0+1+ε", ""), in_ours("0+1+", ""), in_ours("Σ∗", "Σ")
    ('0|1*', '0|1|ε', '0+1+', 'Σ*')
    """
    meant = marks(symbols)
    if INFIX.search(pattern) and not PROGRAMS.search(pattern) and meant & set(pattern):
        pattern = pattern.replace("+", "|")
    return pattern.translate({ord(mark): ours for mark, ours in SAME.items() if mark in meant})


def open_question(pattern: str, symbols: Collection[str]) -> tuple[int, str]:
    """Where it is open what is meant, and what to write instead; nothing, where nothing is open.

    >>> open_question("0+1", "")[0], open_question("(0+)1", ""), open_question("a|lambda", "")
    (1, (0, ''), (2, "'lambda' are 6 symbols here; write () for the empty word, or list them behind ;alphabet="))
    """
    for match in LETTERS.finditer(pattern):
        word = match.group()
        if not set(word) <= set(symbols):
            what = f"{word!r} are {len(word)} symbols here; write () for the empty word, or list them behind ;alphabet="
            return match.start(), what
    match = INFIX.search(pattern)
    if match and not PROGRAMS.search(pattern) and not marks(symbols) & set(pattern):
        return match.start(), "'+' may repeat what is before it, or be a union; write (a+)b or a|b"
    return 0, ""
