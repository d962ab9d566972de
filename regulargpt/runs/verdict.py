"""What a run has come to, in a single sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from languages.registry import level_of
from regulargpt.certificate.sentences import STACKED, everywhere
from regulargpt.falsification.sentences import sentence
from regulargpt.objectives.measures import measure

REPLACED = "states replaced by prototypes"
MOST_SHOWN = 100
"""Symbols of a word in a sentence."""


def verdict_line(summary: Mapping[str, Any]) -> str:
    """The verdict on a run: proven at every length, or why not yet; without a proof, what the test says.

    >>> phases = {"table_fine_tuning": {"proven_unquantised": True}}
    >>> verdict_line({"proven": True, "phases": phases})
    'proven at every length, in real arithmetic'
    >>> verdict_line({"proven": True, "phases": phases, "language": "brackets-2"})
    'proven at every length and every depth, in real arithmetic'
    >>> phases = {"table_fine_tuning": {"unproven": "the quantised network errs on a word"}}
    >>> verdict_line({"proven": False, "run_dir": "r", "phases": phases})
    'not proven: the quantised network errs on a word; `regulargpt verify r` says more'
    >>> verdict_line({"proven": True, "phases": {"stack_proof": {}}})
    'proven at every length, with argmax actions and signs'
    >>> stack = {"stack_proof": {"unproven": "wrong on a word of 1 symbol: a"}}
    >>> verdict_line({"proven": False, "run_dir": "r", "phases": stack})
    'wrong on a word of 1 symbol: a; `regulargpt verify r` says more'
    >>> verdict_line({"proven": True, "worst": 100, "phases": {"chain_fine_tuning": {"proven_unquantised": False}}})
    'proven at every length, in real arithmetic, with the state replaced after every symbol by the nearest point'
    >>> word = {"word": "0110", "length": 4, "expected": "accept", "answered": "reject"}
    >>> verdict_line({"proven": False, "phases": {}, "falsified": {"wrong": [word], "families": [], "all_up_to": 4}})
    'wrong: the shortest word is 0110 (4 symbols): it answers reject, right is accept'
    """
    proven, phases = summary.get("proven"), summary.get("phases", {})
    falsified = summary.get("falsified")
    if proven is None:
        return sentence(falsified) if falsified else tested(summary)
    verify = f"`regulargpt verify {summary.get('run_dir')}`"
    of, is_chain = phases.get("table_fine_tuning", phases.get("chain_fine_tuning", {})), "chain_fine_tuning" in phases
    if of.get("is_language") is False and of.get("proven_unquantised") is not None:
        return f"proven of its automaton, not of {summary['language']}; {verify} says where they differ"
    if not proven and falsified and falsified["wrong"]:
        return sentence(falsified)
    if "stack_proof" in phases:
        why = phases["stack_proof"].get("unproven", "")
        why = why if why.startswith("wrong on ") else f"not proven: {why}"
        return f"proven at every length, {STACKED}" if proven else f"{why}; {verify} says more"
    if not proven:
        why = f": {of['unproven']}" if "unproven" in of else ""
        return f"not proven{why}; {verify} says more"
    everywhere_proven = f"proven {everywhere(level_of(summary.get('language', '')) != 'regular')}, in real arithmetic"
    if of.get("proven_unquantised"):
        return everywhere_proven
    replaced = "the state replaced after every symbol by the nearest point" if is_chain else REPLACED
    quantised = f"{everywhere_proven}, with {replaced}"
    if falsified and falsified["wrong"]:
        return f"{quantised}; without that {sentence(falsified)}"
    return quantised if summary.get("worst", 100) == 100 else f"{quantised}; without that {tested(summary)}"


def tested(summary: Mapping[str, Any]) -> str:
    """What the test says: right everywhere, or the shortest word that is wrong, and of a row of answers where.

    >>> of = {"values": {"41": 100.0, "42": 98.0}}
    >>> tested({"measure": "accuracy", "measures": {"accuracy": of}, "wrong_word": "10" * 21})
    'wrong on a tested word of 42 symbols: 101010101010101010101010101010101010101010'
    >>> row = {"measure": "words", "measures": {"words": {"values": {"3": 98.0}}}, "wrong_word": "001"}
    >>> tested({**row, "wrong_answer": {"place": 2, "network": "1", "right": "0"}})
    'wrong on a tested word of 3 symbols: 001; answer 2 is 1, right is 0'
    >>> tested({"measure": "accuracy", "measures": {"accuracy": {"values": {"41": 100.0, "500": 100.0}}}})
    'right on all tested words of up to 500 symbols'
    """
    values = summary["measures"][summary["measure"]]["values"]
    wrong = [int(length) for length, value in values.items() if value != measure(summary["measure"]).best]
    if not wrong:
        return f"right on all tested words of up to {max(map(int, values)):,} symbols"
    said, word = f"wrong on a tested word of {min(wrong):,} symbols", summary.get("wrong_word") or ""
    if not 0 < len(word) <= MOST_SHOWN:
        return said
    at = summary.get("wrong_answer")
    return f"{said}: {word}" + (f"; answer {at['place']:,} is {at['network']}, right is {at['right']}" if at else "")
