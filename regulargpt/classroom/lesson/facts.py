"""What a lesson says of its language, networks and proof: which sentences, and the numbers and names in them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, cycle, islice

import numpy as np

from languages.automata.visibly import CALL, RETURN
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.diagram import Diagram
from regulargpt.classroom.lesson.material import Material, Rival
from regulargpt.classroom.lesson.wording import TERM, glossary, term
from regulargpt.classroom.nested import Elements, Machine
from regulargpt.findings.markup import tag, text
from regulargpt.models.tree.depth import depth

MOST_LUCK = 1e-3
"""The chance at most that guesses come to the end of step 1."""
FEWEST_IN_A_ROW = 6
TOGETHER = {2: "in pairs", 3: "in threes"}
LONG = 1000  # symbols in a word whose levels are counted


def traits_of(lesson: Material) -> set[str]:
    """Which sentences this lesson says."""
    accepted, config = lesson.certificate.of_table, lesson.run.config
    return {
        *rule_traits(lesson.machine),
        *origin_traits(lesson.run),
        "regulargpt" if config.model.title == "regulargpt" else "other-tree",
        "one-to-one" if max(map(len, lesson.certificate.words)) == 1 else "shared",
        "as-it-is" if accepted.unquantised_claim else "quantised",
        *(["absent"] if not lesson.is_nested and absent(lesson) else []),
        *(["never"] if not lesson.is_nested and Cases.from_lesson(lesson).unmet else []),
        *(rival_traits(lesson.rival) if lesson.rival else []),
    }


def rule_traits(machine: Machine) -> set[str]:
    """Whether the rule accepts and rejects, or gives every word another answer, or some words."""
    if Diagram.from_machine(machine).is_acceptor:
        return {"accepts"}
    return {"transduces", "partial" if -1 in machine.outputs else "total"}


def origin_traits(run: PageRun) -> set[str]:
    """Where the network comes from, and what its training was on."""
    if run.live.is_constructed:
        return {"constructed"}
    return {"trained", "words-only" if word_steps(run) == run.summary["steps"] else "table"}


def rival_traits(rival: Rival) -> set[str]:
    """Where the other network comes from, and whether it is known to be wrong."""
    return {
        "beside-constructed" if rival.live.is_constructed else "beside-trained",
        *(["beside-wrong"] if rival.wrong else []),
    }


def word_steps(run: PageRun) -> int:
    """How many steps of training were on words: all of them, or those before the table took their place."""
    table = run.summary.get("phases", {}).get("table_fine_tuning") or {}
    return table.get("began_at") or run.summary["steps"]


@dataclass(frozen=True)
class Cases:
    """How many cases there are, and the sums that lead to them."""

    leaf_sum: str
    node_sum: str
    unmet: int  # of all that one can write down, those that stand in no word

    @classmethod
    def from_lesson(cls, lesson: Material) -> Cases:
        """The cases of the certificate's table."""
        record, K = lesson.certificate.record, lesson.certificate.of_table.prototypes
        counted = [
            counted_cases(size, record["chunk_size"], len(record[part]["windows"]))
            for part, size in (("leaves", lesson.machine.n_symbols), ("nodes", K))
        ]
        (leaf_sum, unmet), (node_sum, more) = counted
        return cls(leaf_sum, node_sum, unmet + more)


def counted_cases(size: int, chunk_size: int, entries: int) -> tuple[str, int]:
    """The sum that leads to the windows of a part of the table, and how many windows are left out.

    >>> counted_cases(2, 2, 6), counted_cases(14, 2, 126)
    (('2 + 2 × 2 = 6', 0), ('14 + 14 × 14 − 84 = 126', 84))
    """
    unmet = sum(size**n for n in range(1, chunk_size + 1)) - entries
    terms = [" × ".join([f"{size:,}"] * n) for n in range(1, chunk_size + 1)]
    return f"{' + '.join(terms)}{f' − {unmet:,}' if unmet else ''} = {entries:,}", unmet


def in_a_row(answers: int) -> int:
    """How many right answers by guessing are rarer than `MOST_LUCK`.

    >>> [in_a_row(answers) for answers in (2, 3, 5, 6)]
    [10, 7, 6, 6]
    """
    return max(FEWEST_IN_A_ROW, math.ceil(math.log(1 / MOST_LUCK, max(2, answers)) - 1e-9))


def absent(lesson: Material) -> str:
    """The one monoid element that no node has; empty if there is none, or more than one."""
    met = set(chain.from_iterable(lesson.certificate.words))
    missing = [word for word in lesson.monoid.words if word not in met]
    return (missing[0] or "ε") if len(missing) == 1 else ""


def values_of(lesson: Material) -> dict[str, str]:
    """What differs from language to language, as markup."""
    machine, certificate, network = lesson.machine, lesson.certificate, lesson.run.live.network
    assert network is not None, "`material` refuses a run without one"
    C = certificate.record["chunk_size"]
    example = machine.decode(np.array(list(islice(cycle(range(machine.n_symbols)), 4))))
    names = [name for i, name in enumerate(machine.output_names) if i in machine.outputs]
    steps, on_words = lesson.run.summary["steps"], word_steps(lesson.run)
    return {
        "symbols": listed(machine.alphabet, "or"),
        "example": tag("code", text(example)),
        "outputs": listed(names, "or"),
        "states": f"{machine.n_states}",
        "output": tag("code", text(names[-1])),
        "in_a_row": f"{in_a_row(len(names))}",
        "count": f"{lesson.monoid.size}",
        "together": TOGETHER.get(C, f"in groups of {C}"),
        "levels": f"{depth(LONG, C)}",
        "chunk": f"{C}",
        "weights": f"{sum(tensor.size for tensor in network.weights.values()):,}",
        "size": f"{len(certificate.record['prototypes'][0])}",
        "places": f"{certificate.of_table.prototypes}",
        "entries": f"{certificate.of_table.entries:,}",
        "roots": f"{certificate.of_table.answered_roots:,}",
        "steps": f"{steps:,}",
        "word_steps": f"{on_words:,}",
        "table_steps": f"{steps - on_words:,}",
        "train_length": f"{lesson.run.config.data.train_len}",
        **(nested_values(lesson) if lesson.is_nested else word_values(lesson)),
        **(rival_values(lesson.rival, machine) if lesson.rival else {}),
    }


def word_values(lesson: Material) -> dict[str, str]:
    """Those of a language without brackets alone."""
    cases = Cases.from_lesson(lesson)
    return {
        "absent": text(absent(lesson)),
        "signs": f"{lesson.machine.n_symbols}",
        "leaf_sum": cases.leaf_sum,
        "node_sum": cases.node_sum,
        "unmet": f"{cases.unmet:,}",
    }


def nested_values(lesson: Material) -> dict[str, str]:
    """Those of a language with brackets alone."""
    assert isinstance(lesson.monoid, Elements)
    algebra, record = lesson.monoid.algebra, lesson.certificate.record
    of_kind = {
        kind: [algebra.alphabet[a] for a in np.flatnonzero(algebra.direction == kind)] for kind in (CALL, RETURN)
    }
    task = lesson.run.nested_task
    return {
        "calls": listed(of_kind[CALL], "or"),
        "returns": listed(of_kind[RETURN], "or"),
        "leaf_entries": f"{len(record['leaves']['windows']):,}",
        "node_entries": f"{len(record['nodes']['windows']):,}",
        "roots": f"{sum(answer is not None for answer in record['answers']):,}",
        **({"example": tag("code", text(task.examples[0][0]))} if task else {}),
    }


def rival_values(rival: Rival, machine: Machine) -> dict[str, str]:
    """What is said of the other network."""
    label = rival.label
    return {
        "rival": TERM.sub(term, f"[[{label}]]") if label in glossary() else text(label),
        "rival_steps": f"{rival.run.summary['steps']:,}",
        "rival_length": f"{rival.run.config.data.train_len}",
        "rival_word": tag("code", text(machine.decode(np.array(rival.wrong, dtype=int)))),
    }


def listed(names: Iterable[str], last: str) -> str:
    """Names in a sentence, as code.

    >>> listed("012", "or")
    '<code>0</code>, <code>1</code> or <code>2</code>'
    """
    *most, end = (tag("code", text(name)) for name in names)
    return f"{', '.join(most)} {last} {end}" if most else end
