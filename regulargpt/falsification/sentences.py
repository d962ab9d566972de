"""What a search for wrong words came to, in words. Never imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

MOST_SHOWN, ENDS = 60, 20
"""Symbols of a word, and of each end of a longer word."""
MOST_RUNS, MOST_LINES = 8, 5
"""Of a word; and lines about families."""
NONE_WRONG = "falsified.json names words, none of which the network answers wrongly now"
"""What is said of a file that was altered."""


def first_line(report: Mapping[str, Any], is_proven: bool = False) -> str:
    """The shortest wrong word, or how many words were tried.

    >>> word = {"word": "0110", "length": 4, "expected": "accept", "answered": "reject"}
    >>> first_line({"wrong": [word], "all_up_to": 4})
    'wrong: the shortest word is 0110 (4 symbols): it answers reject, right is accept'
    >>> first_line({"wrong": [word], "all_up_to": 2})
    'wrong on 0110 (4 symbols): it answers reject, right is accept'
    >>> first_line({"wrong": [], "tried": {"short": 131_070}, "all_up_to": 16})
    'neither proven nor wrong: 131,070 words tried, none wrong; they were all words of up to 16 symbols and longer ones'
    """
    whole = report["all_up_to"]
    if report["wrong"]:
        word = report["wrong"][0]
        right, given = shown(word["expected"]), shown(word["answered"])
        said = f"{shown(word['word'])} ({counted(word['length'])}): it answers {given}, right is {right}"
        if whole >= word["length"] - 1:
            return f"wrong: the shortest word is {said}"
        return f"wrong on {said}"
    every = f"; they were all words of up to {counted(whole)} and longer ones" * (whole > 0)
    if "of the file" in report["tried"]:
        every = f"; they were all words of the file of up to {counted(whole)}" * (whole > 0)
    what = "proven, and no wrong word was met" if is_proven else "neither proven nor wrong"
    return f"{what}: {sum(report['tried'].values()):,} words tried, none wrong{every}"


def shown(word: str | None) -> str:
    """A word, a long word by its runs or its ends.

    >>> shown("000" + "1" * 100 + "0"), shown("01" * 50)
    ('0^3 1^100 0', '01010101010101010101...01010101010101010101')
    """
    if word is None:
        return "a very long word"
    if len(word) <= MOST_SHOWN:
        return word
    runs = [(symbol, len(list(run))) for symbol, run in groupby(word.split(" ") if " " in word else word)]
    if len(runs) <= MOST_RUNS:
        return " ".join(symbol if count == 1 else f"{symbol}^{count}" for symbol, count in runs)
    return f"{word[:ENDS]}...{word[-ENDS:]}"


def counted(symbols: int) -> str:
    return f"{symbols:,} symbol{'s' * (symbols != 1)}"


def of_family(family: Mapping[str, Any]) -> str:
    """A family of wrong words.

    >>> ones = {"u": "", "v": "1", "w": "", "from": 119, "to": 1_000_000, "period": 2, "residues": [1]}
    >>> of_family(ones)
    'wrong on 1^n for every odd n from 119 to 1,000,000 that was tried'
    >>> of_family(ones | {"u": "0", "v": "10", "period": 6, "residues": [1, 2]})
    'wrong on 0 (10)^n for every n from 119 to 1,000,000 that was tried with n mod 6 = 1 or 2'
    >>> of_family(ones | {"evidence": "proved"})
    'wrong on 1^n for every odd n from 119 on: proven, in real arithmetic'
    """
    period, residues = family["period"], family["residues"]
    kind = {(2, 1): "odd n", (2, 0): "even n"}.get((period, residues[0]) if len(residues) == 1 else (0, 0), "n")
    is_said = period == 1 or kind != "n"
    which = "" if is_said else f" with n mod {period} = {one_of(residues)}"
    said = f"wrong on {power(*(family[name] for name in 'uvw'))} for every {kind} from {family['from']:,}"
    if family.get("evidence") == "proved":
        return f"{said} on{which}: proven, in real arithmetic"
    return f"{said} to {family['to']:,} that was tried{which}"


def power(u: str, v: str, w: str) -> str:
    """The words of a family.

    >>> power("1", "01", "")
    '1 (01)^n'
    """
    return " ".join(part for part in (u, f"{base(v)}^n", w) if part)


def base(v: str) -> str:
    """What stands before ^n.

    >>> [base(v) for v in ("1", "01", "(", "PUSH0 POP")]
    ['1', '(01)', '"("', '(PUSH0 POP)']
    """
    if len(v) == 1 and v.isalnum():
        return v
    return f"({v})" if v.replace(" ", "").isalnum() else f'"{v}"'


def one_of(numbers: Sequence[int]) -> str:
    """Numbers, one of which it is.

    >>> one_of([1]), one_of([0, 2, 3])
    ('1', '0, 2 or 3')
    """
    *others, last = map(str, numbers)
    return f"{', '.join(others)} or {last}" if others else last


def sentence(report: Mapping[str, Any]) -> str:
    """All in a line: the first wrong word and the first family, or that there is none."""
    families = [of_family(family).replace("wrong on", "and on", 1) for family in report["families"][:1]]
    return "; ".join([first_line(report), *families])


def lines(report: Mapping[str, Any], is_proven: bool = False) -> list[str]:
    more = [of_family(family) for family in report["families"][:MOST_LINES]]
    if len(report["families"]) > MOST_LINES:
        more.append(f"and on {len(report['families']) - MOST_LINES} more families")
    tried = ", ".join(f"{count:,} {kind}" for kind, count in report["tried"].items() if count)
    late = ["the time was over before all was tried: give more --seconds"] if report["budget"]["late"] else []
    ruled_out = [f"ruled out: {said}" for said in report["ruled_out"]]
    ruled_out += [f"answered rightly now, and wrong before: {said}" for said in report.get("no_longer_wrong", ())]
    return [first_line(report, is_proven), *more, *ruled_out, f"words tried: {tried or 'none'}", *late]


def in_summary(report: Mapping[str, Any]) -> dict[str, Any]:
    """What a run's summary has of it: enough for `sentence`, and whether the time was over before all was tried."""
    firsts = {name: report[name][:1] for name in ("wrong", "families")}
    counts = {name: report[name] for name in ("tried", "all_up_to")}
    return {**firsts, **counts, "late": report["budget"]["late"]}
