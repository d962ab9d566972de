"""What a training is given beside the answers to its batches. Every table and notice takes it from here.

Never imports torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from regulargpt.training.proof import PROOFS


@dataclass(frozen=True)
class GivenKind:
    """What can be given: its mark in a table, and its name in a sentence; `{}` stands for how many."""

    mark: str
    what: str


ANSWERS, AUTOMATON, WRONG = "answers", "automaton", "wrong words"
KINDS: Mapping[str, GivenKind] = {
    ANSWERS: GivenKind("‡", "{}answers beside the batches"),
    AUTOMATON: GivenKind("§", "the language's automaton"),
    WRONG: GivenKind("¶", "{}words that a proof with the language's machine shows to be wrong"),
}
COUNTED = {ANSWERS: "labels_used", WRONG: "wrong_words"}
"""The number of them in the summary of a phase."""


@dataclass(frozen=True)
class Given:
    """What was given, by which phase, and how many: None where that is not known, or cannot be counted."""

    kind: str
    phase: str
    count: int | None = None

    @classmethod
    def read(cls, text: str, count: int | None) -> Given:
        """From a column of results.csv, as `str` writes it.

        >>> Given.read("answers (chain_fine_tuning)", 5122) == Given("answers", "chain_fine_tuning", 5122)
        True
        """
        kind, _, phase = text.removesuffix(")").partition(" (")
        return cls(kind, phase, count)

    def __str__(self) -> str:
        return f"{self.kind} ({self.phase})"


def given(config: Mapping[str, Any], phases: Mapping[str, Any] | None = None) -> Given | None:
    """What a run is given beside its batches, by its config in dotted keys; with `phases` of its summary, how many.

    None if it is given nothing: no phase asks for anything, or none was needed.

    >>> asks = {"phases.chain_fine_tuning.every": 100, "phases.chain_fine_tuning.automaton": "learned"}
    >>> given(asks, {"chain_fine_tuning": {"labels_used": 5122}})
    Given(kind='answers', phase='chain_fine_tuning', count=5122)
    >>> given(asks | {"phases.chain_fine_tuning.automaton": "known"}), given({"model.name": "transformer"})
    (Given(kind='automaton', phase='chain_fine_tuning', count=None), None)
    """
    for phase in PROOFS:
        options = {key: config.get(f"phases.{phase}.{key}") for key in ("every", "automaton", "words")}
        if (kind := kind_of(options)) is not None:
            counted = (phases or {}).get(phase, {}).get(COUNTED.get(kind, ""))
            return None if counted == 0 else Given(kind, phase, counted)
    return None


def kind_of(options: Mapping[str, Any]) -> str | None:
    """What a phase with these options gives: one with a learned automaton has answers, one without any has wrong words.

    >>> [kind_of({"every": n, "automaton": a, "words": w}) for n, a, w in ((0, "known", None), (9, None, 64), (9, None, 0))]
    [None, 'wrong words', None]
    """  # noqa: E501
    if not options["every"]:
        return None
    if options["automaton"] is not None:
        return ANSWERS if options["automaton"] == "learned" else AUTOMATON
    return WRONG if options["words"] else None


def phrase(given: Iterable[Given]) -> str:
    """What runs were given that were given the same kind, and how many to each.

    >>> phrase([Given("answers", "chain_fine_tuning", n) for n in (8330, 5122)])
    '5,122 to 8,330 answers beside the batches (chain_fine_tuning)'
    >>> phrase([Given("automaton", "table_fine_tuning")])
    "the language's automaton (table_fine_tuning)"
    """
    given = list(given)
    counts = sorted({of.count for of in given if of.count is not None})
    number = " to ".join(f"{count:,}" for count in dict.fromkeys([*counts[:1], *counts[-1:]]))
    phases = ", ".join(dict.fromkeys(of.phase for of in given))
    return f"{KINDS[given[0].kind].what.format(number and number + ' ')} ({phases})"


def marks(given: Iterable[Given | None]) -> str:
    """The marks behind a figure of runs that were given this.

    >>> marks([Given("answers", "chain_fine_tuning", 5122), None]), marks([None])
    (' ‡', '')
    """
    kinds = {of.kind for of in given if of is not None}
    return "".join(f" {kind.mark}" for name, kind in KINDS.items() if name in kinds)


def footnotes(given: Iterable[Given | None]) -> tuple[str, ...]:
    """What the marks of a table mean, a sentence each.

    >>> footnotes([Given("answers", "chain_fine_tuning", 5122), None])
    ('‡: was also given 5,122 answers beside the batches (chain_fine_tuning).',)
    """
    known = [of for of in given if of is not None]
    by_kind = {kind: [of for of in known if of.kind == name] for name, kind in KINDS.items()}
    return tuple(f"{kind.mark}: was also given {phrase(of)}." for kind, of in by_kind.items() if of)
