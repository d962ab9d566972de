"""The verdict on a run in words."""

from __future__ import annotations

from typing import Any

from regulargpt.storage.atomic import shown


def raw_sentences(raw: dict[str, Any]) -> list[str]:
    """What is proven of the network as it is."""
    if raw["proven"]:
        largest = max(raw["radii"])
        return [f"and without snapping: its states stay within {largest:.3g} of the prototypes, rounding included"]
    return [f"without snapping it is tested, not proven: {raw['reason']}"]


def sentences(report: dict[str, Any]) -> list[str]:
    """The outcome in words.

    >>> sentences({"proven": False, "reason": "the levels of rnn are not one map on finitely many states"})
    ['no certificate: the levels of rnn are not one map on finitely many states']
    """
    if report["proven"]:
        kind = "the transition monoid's own multiplication" if report["homomorphism"] else "right at every root"
        return [
            f"proven at every length, states snapped to {report['prototypes']} prototypes: "
            f"{report['entries']} entries, {kind}, smallest margin {report['smallest_margin']:.2f}",
            *raw_sentences(report["raw"]),
            f"certificate: {shown(report['file'])}; check it with `regulargpt check {shown(report['file'])}`",
        ]
    lines = [f"no certificate: {report['reason']}"]
    for key, who in (("wrong", "snapped network's"), ("wrong_without_snapping", "network's own")):
        if key in report:
            word = report[key]
            lines.append(
                f"the {who} shortest wrong word{' found' * (key != 'wrong')} has {word['length']} symbols: "
                f"{word['word']} (right is {word['right']}, the network itself says {word['network']})"
            )
    return lines
