"""A finished run as a black box: the machine of its network's answers, and what that rules out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.budget import TooLarge
from languages.context_free.nested import NestedTask
from languages.convert.machines import AnyMachine
from languages.drawn import DrawnTask
from languages.errors import AutomatonError, Notice, UserError
from languages.tasks import AnyTask
from regulargpt.certificate.compared import parting_word, right_machine
from regulargpt.certificate.verdict import has_changed
from regulargpt.data import of_words
from regulargpt.data.language import LanguageData
from regulargpt.extraction import LONGEST
from regulargpt.extraction.answers import FromAnswers, every_short, learn_from_answers
from regulargpt.extraction.queries import Queries, answering
from regulargpt.finite.from_answers import NetworkAnswers, first_parting
from regulargpt.finite.held_out import batches, drawn, labels
from regulargpt.finite.nested_specification import minimal_algebra
from regulargpt.finite.nonempty import Word
from regulargpt.runs.opened import OpenedRun, refuse_other_symbols
from regulargpt.runs.outside import mistakes


def extract_answers(
    run: OpenedRun, longest: int | None, seconds: float, on_query: Callable[[int, int], None]
) -> tuple[AnyMachine | None, dict[str, Any]]:
    """The machine of a finished run's answers to words of at most `longest` symbols, and what is said of it as JSON.

    None: those of its training. UserError: the network reads no such words, the language has none or has other symbols
    or answers than the run was trained on, or the model from outside fails.
    """
    data = of_words(run.config.data)
    refuse_other_symbols(run.folder, data)
    if has_changed(run.folder, data.task):
        warnings.warn(f"{data.name} is no longer the automaton that the run was trained on", Notice, stacklevel=2)
    n_symbols, token = data.task.n_symbols, None
    if run.folder.load_model_config()["n_symbols"] > n_symbols:
        token = n_symbols  # behind the others
    longest = longest or min(run.train_len, LONGEST)
    too_long = run.config.network.too_long
    if (reason := too_long(longest)) is not None:
        raise UserError(f"--longest {longest}: {reason}; choose a shorter length")
    data = replace(data, options=replace(data.options, train_len=longest))
    if not data.lengths(longest):
        raise UserError(f"--longest {longest}: {data.name} has no words to draw that are so short; choose a longer one")
    with mistakes(run.config), run.through():
        network = NetworkAnswers(answering(run.model, token, run.config.objective.reading), longest, data.task)
        learned = learned_from(network, data, run.config.seed, seconds, on_query)

        def replay(word: Word) -> int | None:
            return None if too_long(len(word)) else replace(network, longest=len(word)).to_words([word])[0]

        said = described(learned, data.task) | compared(learned, data.task, replay)
        return learned.machine, {"longest": longest, **said}


def learned_from(
    network: NetworkAnswers, data: LanguageData, seed: int, seconds: float, on_query: Callable[[int, int], None]
) -> FromAnswers:
    """The machine of a network's answers to all short words, to words of the data, and to L*'s queries."""
    words = [
        *every_short(data.task, network.longest),
        *(batch.astype(np.int64) for batch in drawn(data, seed, "extract")),
    ]
    return learn_from_answers(data.task, Queries(network, seconds, on_query), words, network.longest)


def described(learned: FromAnswers, task: AnyTask) -> dict[str, Any]:
    """What the answers say, as JSON: the machine apart."""
    nested, machine = isinstance(task, NestedTask), learned.machine
    so_far = {"elements" if nested else "states": learned.so_far, "agreement": learned.agreement}
    return {
        "queries": learned.queries,
        "all_up_to": learned.every,
        "states": None if machine is None else machine.n_states,
        **({"algebra": algebra(machine)} if isinstance(machine, PushdownTransducer) else {}),
        "at_most": learned.classes or None,
        "ruled_out": ruled_out(learned.classes, task),
        "reason": learned.reason or None,
        "so_far": so_far if learned.so_far else None,
    }


def algebra(machine: PushdownTransducer) -> int | None:
    """How many elements its algebra has; None where these are too many to count."""
    try:
        return minimal_algebra(machine).size
    except TooLarge:
        return None


def ruled_out(classes: int, task: AnyTask) -> list[str]:
    """What other machines there are not, literally.

    >>> import languages
    >>> ruled_out(12, languages.get("parity"))
    ['if the network is a machine of at most 12 states on words of any length, it is this one']
    >>> ruled_out(0, languages.get("parity"))
    []
    """
    if not classes:
        return []
    if isinstance(task, NestedTask):
        what = f"the network's answers to words of any length and depth have an algebra of at most {classes} elements"
        return [f"if {what}, they are this machine's"]
    domain = "" if task.domain is None else ", with no answer to words that are no questions,"
    return [f"if the network{domain} is a machine of at most {classes} states on words of any length, it is this one"]


def compared(learned: FromAnswers, task: AnyTask, replay: Callable[[Word], int | None]) -> dict[str, Any]:
    """Whether the machine is the task's, or the shortest word on which it is not, answered by the network itself, too.

    Where that cannot be said, the shortest query that the network has wrong. Here labels are used.
    """
    machine, equal, word, shortest = learned.machine, None, None, True
    if machine is not None and not isinstance(task, DrawnTask):
        with suppress(AutomatonError):  # two machines with stacks that are too large to compare
            word = parting_word(machine, right_machine(task))
            equal = word is None
    if equal is None:
        word = shortest_wrong(learned, task)
        shortest = word is not None and len(word) <= 1 + learned.every
    if word is None:
        return {"equal": equal, "counterexample": None}
    symbols, names = np.array([word]), {UNDEFINED: None, None: None, **dict(enumerate(task.output_names))}
    example = {
        "word": task.machine.decode(symbols[0]),
        "shortest": shortest,
        **({} if machine is None else {"machine": names[int(machine.answers(symbols)[0])]}),
        "network": names[replay(tuple(word))],
        "task": names[int(labels(task, symbols)[0])],
    }
    return {"equal": False, "counterexample": example}


def shortest_wrong(learned: FromAnswers, task: AnyTask) -> Word | None:
    """The shortest query that the network has wrong."""

    def given(words: np.ndarray) -> np.ndarray:
        return np.array([learned.answers[word] for word in map(tuple, words.tolist())])

    questions = (word for word, answer in learned.answers.items() if word and answer != UNDEFINED)
    return first_parting(given, task.labels, batches(sorted(questions, key=len)))
