"""The verdict on a run in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from languages.errors import shown
from languages.registry import level_of
from regulargpt.falsification.sentences import of_family


def unquantised_sentence(report: dict[str, Any]) -> str:
    """What is proven of the network as it is.

    >>> unquantised_sentence({"proven": True, "slack": 0.03, "radius": 0.0315})
    'and as it is: its states stay within 0.0315 of the prototypes, if rounding moves none by more than 0.03'
    >>> unquantised_sentence({"proven": False, "reason": "no balls", "d_ff": 640}).split("; ")[1]
    'a layer as wide as the table may help: --set model.d_ff=640'
    """
    if report["proven"]:
        stays = f"its states stay within {report['radius']:.3g} of the prototypes"
        return f"and as it is: {stays}, if rounding moves none by more than {report['slack']:g}"
    wider = f"; a layer as wide as the table may help: --set model.d_ff={report['d_ff']}" if "d_ff" in report else ""
    return f"without replacing states it is tested, not proven: {report['reason']}{wider}"


def learned_sentences(report: dict[str, Any]) -> list[str]:
    """What was learned from the network's answers, and whether it is the language.

    >>> learned_sentences({"learned": {"states": 2, "language": "parity", "equal": True}})
    ["automaton of 2 states, learned from the network's answers alone; compared afterwards, it is that of parity"]
    >>> learned_sentences({"learned": {"states": 2, "language": "parity", "equal": True, "classes": 12}})[1]
    'ruled out: all other automata of at most 12 states, by the labels used'
    """
    from regulargpt.certificate.compared import difference  # with automata of all kinds

    if "learned" not in report:
        return []
    learned = report["learned"]
    line = (
        f"automaton of {learned['states']} states, learned from the network's answers alone; compared afterwards, it is"
    )
    line = f"{line} that of {learned['language']}" if learned["equal"] else f"{line} {difference(learned)}"
    return [line, *(f"ruled out: {others}" for others in ruled_out(learned, learned["language"]))]


def ruled_out(learned: Mapping[str, Any], language: str) -> list[str]:
    """Which automata the words that tell them apart leave no room for beside the one that was learned.

    >>> ruled_out({"classes": 8}, "brackets-2")
    ['all other automata whose algebra has at most 8 elements, by the labels used']
    """
    if not learned.get("classes"):
        return []
    of = "of at most {} states" if level_of(language) == "regular" else "whose algebra has at most {} elements"
    return [f"all other automata {of.format(learned['classes'])}, by the labels used"]


def everywhere(is_nested: bool) -> str:
    """Where a proof holds, in words."""
    return "at every length and every depth" if is_nested else "at every length"


STACKED = "with argmax actions and signs"
"""What of a stack network is proven: not the softer function that training computes."""


def stack_sentences(report: dict[str, Any]) -> list[str]:
    """The outcome of a stack network in words.

    >>> margins = {"sign": 0.1, "action": 2.0, "answer": 3.0}
    >>> found = {"kind": "stack", "lag": 2, "states": 52, "entries": 144, "pairs": 427, "margins": margins}
    >>> stack_sentences({**found, "proven": True, "file": "certificate.json"})[0]
    'proven at every length, with argmax actions and signs, in real arithmetic and in float32'
    >>> stack_sentences({**found, "proven": False, "reason": "wrong on a word of 1 symbol: a"})
    ['no certificate: wrong on a word of 1 symbol: a', '52 states, 144 entries, 427 pairs of levels and controls']
    """
    counted = "{states:,} states, {entries:,} entries, {pairs:,} pairs of levels and controls".format(**report)
    if not report["proven"]:
        lines = [f"no certificate: {report['reason']}"]
        if "wrong" in report:
            lines.append("right is {right}, the network itself says {network}".format(**report["wrong"]))
        return [*lines, counted]
    least = {name: value for name, value in report["margins"].items() if value is not None}
    margins = ", ".join(f"{MARGINS[name]} {value:.3g}" for name, value in least.items())
    lag = report["lag"]
    return [
        f"proven at every length, {STACKED}, in real arithmetic and in float32",
        f"{counted}; the stacks differ by at most {lag} symbol{'s' * (lag != 1)} in height; {margins}",
        certificate_sentence(report),
    ]


MARGINS = {"sign": "least |u|", "action": "least gap of actions", "answer": "of answers"}


def certificate_sentence(report: dict[str, Any]) -> str:
    """Where the certificate lies, and how to check it."""
    return f"certificate: {shown(report['file'])}; check it with `regulargpt check {shown(report['file'])}`"


def refutation_sentences(report: dict[str, Any]) -> list[str]:
    """The refutation in words, or why there is none.

    >>> found = {"refuted": True, "u": "0", "v": "1", "w": "", "from": 39, "period": 2, "residues": [1], "length": 40}
    >>> found |= {"evidence": "proved", "network": "even", "right": "odd", "settled": 6084, "file": "refutation.json"}
    >>> print(*refutation_sentences(found), sep="\\n")
    as it is: wrong on 0 1^n for every odd n from 39 on: proven, in real arithmetic
    it answers even, right is odd; the first of these words has 40 symbols
    refutation: refutation.json; check it with `regulargpt check refutation.json`
    >>> refutation_sentences({"refuted": False, "reason": "two answers may tie"})
    ['no refutation: two answers may tie']
    """
    if not report["refuted"]:
        return [f"no refutation: {report['reason']}"]
    file = shown(report["file"])
    return [
        f"as it is: {of_family(report)}",
        "it answers {network}, right is {right}; the first of these words has {length:,} symbols".format(**report),
        f"refutation: {file}; check it with `regulargpt check {file}`",
    ]


def pointed(n_points: int) -> str:
    """By what states are replaced.

    >>> pointed(1)
    'the state replaced after every symbol by the nearest of 1 point'
    """
    return f"the state replaced after every symbol by the nearest of {n_points:,} point{'s' * (n_points != 1)}"


def chain_sentences(report: dict[str, Any]) -> list[str]:
    """The outcome of a recurrent network in words.

    >>> sizes = {"points": 2, "rows": 6, "pairs": 3, "smallest_margin": None, "smallest_answer_margin": 2.62}
    >>> boxes = {"proven": True, "slack": 0.001, "radius": 0.0186}
    >>> report = {"kind": "chain", **sizes, "proven": True, "file": "certificate.json", "unquantised": boxes}
    >>> print(*chain_sentences(report)[:2], sep="\\n")
    proven at every length, in real arithmetic, the state replaced after every symbol by the nearest of 2 points: 6 rows, 3 pairs with the automaton, least gap of answers 2.62
    and as it is: each number of its state stays within 0.0186 of a point's, if rounding moves none by more than 0.001
    >>> unchecked = {"proven": False, "checked": False, "reason": "not checked: torch's `sort` has no counterpart"}
    >>> print(*chain_sentences({"kind": "chain", **sizes, **unchecked}), sep="\\n")
    not checked: torch's `sort` has no counterpart
    by its table in float64, the state replaced after every symbol by the nearest of 2 points, it is right on every word: 6 rows, 3 pairs with the automaton, least gap of answers 2.62
    """  # noqa: E501
    if "points" not in report:
        return [*learned_sentences(report), f"no certificate: {report['reason']}"]
    replaced, counted = pointed(report["points"]), chain_counts(report)
    if report["proven"]:
        return [
            *learned_sentences(report),
            f"proven{of_learned(report)} at every length, in real arithmetic, {replaced}: {counted}",
            boxes_sentence(report),
            *wrong_sentences(report),
            certificate_sentence(report),
        ]
    if is_unchecked(report):
        right = f"it is right{of_learned(report)} on every word"
        lines = [report["reason"], f"by its table in float64, {replaced}, {right}: {counted}"]
        return [*learned_sentences(report), *lines, *wrong_sentences(report)]
    return [*learned_sentences(report), f"no certificate: {report['reason']}", *wrong_sentences(report)]


def is_unchecked(report: Mapping[str, Any]) -> bool:
    """Whether a recurrent network is right by its table, but has no graph."""
    return report.get("checked") is False


def chain_counts(report: Mapping[str, Any]) -> str:
    """How much there was to compare, and the least margins."""
    margins = {"smallest margin": report["smallest_margin"], "least gap of answers": report["smallest_answer_margin"]}
    least = [f"{name} {margin:.3g}" for name, margin in margins.items() if margin is not None]
    return ", ".join([f"{report['rows']:,} rows", f"{report['pairs']:,} pairs with the automaton", *least])


def boxes_sentence(report: Mapping[str, Any]) -> str:
    """What is proven of a recurrent network as it is, or that it errs, on a word or by a refutation.

    >>> boxes_sentence({"unquantised": {"proven": False}, "refuted": True})
    'without replacing states it is wrong'
    """
    unquantised = report["unquantised"]
    if unquantised["proven"]:
        stays = f"each number of its state stays within {unquantised['radius']:.3g} of a point's"
        return f"and as it is: {stays}, if rounding moves none by more than {unquantised['slack']:g}"
    if "wrong_unquantised" in report or report.get("refuted"):
        return "without replacing states it is wrong"
    return f"without replacing states it is tested, not proven: {unquantised['reason']}"


def of_learned(report: Mapping[str, Any]) -> str:
    """Of what something is proven, where that is another automaton than the language's."""
    learned = report.get("learned", {"equal": True})
    return "" if learned["equal"] else f" of that automaton, not of {learned['language']},"


def sentences(report: dict[str, Any]) -> list[str]:
    """The outcome in words.

    >>> sentences({"proven": False, "reason": "rnn does not use one map at every level of a tree"})
    ['no certificate: rnn does not use one map at every level of a tree']
    """
    if report.get("kind") == "chain":
        return chain_sentences(report)
    if "states" in report:
        return stack_sentences(report)
    is_nested = "algebra" in report
    if report["proven"]:
        own = "the algebra's own operations" if is_nested else "the transition monoid's own multiplication"
        kind = own if report["homomorphism"] else "right at every root"
        return [
            *learned_sentences(report),
            f"proven{of_learned(report)} {everywhere(is_nested)}, in real arithmetic, states above the symbols "
            f"replaced by the nearest of {report['prototypes']} prototypes: "
            f"{report['entries']} entries, {kind}, smallest margin {report['smallest_margin']:.2f}",
            unquantised_sentence(report["unquantised"]),
            certificate_sentence(report),
        ]
    return [*learned_sentences(report), f"no certificate: {report['reason']}", *wrong_sentences(report, is_nested)]


def wrong_sentences(report: Mapping[str, Any], is_nested: bool = False) -> list[str]:
    """The shortest wrong words, of the network with its states replaced and as it is."""
    lines = []
    for key, who in (("wrong", "quantised network's"), ("wrong_unquantised", "network's own")):
        if key in report:
            word = report[key]
            says = "the learned automaton says" if key == "wrong" and "learned" in report else "right is"
            length = f"{word['length']} symbol{'s' * (word['length'] != 1)}"
            # Along brackets a proof need not come to the shortest: pairs are kept with the word they came of first.
            ending = " found" * (key != "wrong" or is_nested)
            lines.append(
                f"the {who} shortest wrong word{ending} has {length}: "
                f"{word['word']} ({says} {word['right']}, the network itself says {word['network']})"
            )
    return lines
