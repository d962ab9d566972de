"""What is said of an extracted machine, for people. Never imports torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Rows = list[tuple[str, str]]
# A state whose nearest prototype is less than this nearer than the second may fall to the other in other arithmetic.
CLEAR = 1e-2


def rows(result: Mapping[str, Any]) -> Rows:
    """The JSON of an extraction as a table: what each line is about, and what is said of it."""
    if result["from"] == "answers":
        return answers_rows(result)
    return stack_rows(result) if "lag" in result else states_rows(result)


def answers_rows(result: Mapping[str, Any]) -> Rows:
    """Of a network of which nothing but answers is known."""
    every = f", all of at most {result['all_up_to']} among them" if result["all_up_to"] else ""
    queries = f"{result['queries']:,} words of at most {result['longest']} symbols{every}"
    lines = [("queries", queries), ("machine", none_of(result) if result["states"] is None else machine_of(result))]
    if result["states"] is not None:
        why = result["reason"] or "the words that would tell it from others are too many or too long"
        lines += [("ruled out", line) for line in result["ruled_out"] or [f"nothing: {why}"]]
    return [*lines, ("compared", answers_verdict(result)), *written(result)]


def none_of(result: Mapping[str, Any]) -> str:
    """Why there is no machine, and how near the last proposal came."""
    said, so_far = f"none: {result['reason']}", result["so_far"]
    if so_far is None:
        return said
    (unit, count), (_, share) = so_far.items()
    return f"{said}; the machine so far has {count} {unit} and gives {100 * share:.1f} % of the drawn answers"


def answers_verdict(result: Mapping[str, Any]) -> str:
    """Equal to the task's machine, or a shortest word that the machine, or the network, answers otherwise."""
    language, example = result["language"], result["counterexample"]
    if result["equal"]:
        return f"equal to the machine of {language}"
    if example is None:
        return f"with {language}: no query is answered wrongly"
    mine, network, true = (json.dumps(example.get(key), ensure_ascii=False) for key in ("machine", "network", "task"))
    said, shortest = f"not {language}: {example['word']} is answered", "; no shorter word differs" * example["shortest"]
    if "machine" not in example:
        return f"{said} {network}, right is {true}{shortest}"
    replayed = "says so, too" if network == mine else f"answers {network}"
    if example["network"] is None:
        replayed = "has no answer: it is no question" if example["task"] is None else "cannot read so long a word"
    return f"{said} {mine}, right is {true}{shortest}; the network itself {replayed}"


def written(result: Mapping[str, Any]) -> Rows:
    """Where the machine is, if any."""
    return [] if result["out"] is None else [("written", result["out"])]


def machine_of(result: Mapping[str, Any]) -> str:
    """The machine's size, and how far it is the network's."""
    stack = " and a stack" if "algebra" in result else ""
    if result.get("algebra"):
        stack += f", an algebra of {result['algebra']} elements"
    size = f"{result['states']} state{'s' * (result['states'] != 1)}{stack}"
    if result["from"] == "answers":
        return f"{size}; it gives the network's answer to each of these words"
    everywhere = "at every length and every depth" if "algebra" in result else "at every length"
    proven = f"the quantised network's answer {everywhere}" if result["proven_quantised"] else result["reason"]
    return f"{size}; {proven}"


def states_rows(result: Mapping[str, Any]) -> Rows:
    """Of a network whose states are near prototypes."""
    clusters = result["clusters"]
    source = "of the task's transitions"
    if clusters is not None:
        source = f"from the states alone: clusters {clusters['above']:.3g} apart or more"
        if not clusters["below"]:
            source = f"from the states alone: balls of radius {clusters['radius']:.3g}"
    lines = [("prototypes", f"{result['prototypes']} ({source})")]
    if result["agreement"] is not None and result["agreement"] < 1:
        lines.append(
            ("warning", f"quantised, the network keeps {100 * result['agreement']:.1f} % of its sample answers")
        )
    if result["smallest_margin"] is not None and result["smallest_margin"] < CLEAR:
        lines.append(("warning", f"a state lies between two prototypes: margin {result['smallest_margin']:.1g}"))
    lines.append(("machine", f"none: {result['reason']}" if result["states"] is None else machine_of(result)))
    return [*lines, ("compared", verdict(result)), *written(result)]


def stack_rows(result: Mapping[str, Any]) -> Rows:
    """Of a stack network."""
    size = "{states:,} states and {stack_symbols:,} stack symbols, merged of {network_states:,} states".format(**result)
    entries = f"{result['entries']:,} entries of the network's table"
    lag = result["lag"]
    return [
        ("machine", f"{size} in {entries}"),
        ("stack", f"its height differs from that of the language's machine by at most {lag}"),
        ("compared", verdict({**result, "proven_quantised": True})),
        ("written", result["out"]),
    ]


def verdict(result: Mapping[str, Any]) -> str:
    """Equal to the task's machine, or the shortest word that tells them apart."""
    if result["equal"] is None:
        return f"with {result['language']}: too large to decide"
    if result["equal"]:
        return f"equal to the machine of {result['language']}"
    example = result["counterexample"]
    mine, true = (json.dumps(example[key], ensure_ascii=False) for key in ("network", "task"))
    shortest = "; no shorter word differs" if result["proven_quantised"] or "algebra" not in result else ""
    return f"not {result['language']}: {example['word']} is answered {mine}, right is {true}{shortest}"
