"""A finished run as a black box: the machine of its network's answers, and what that rules out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.convert.machines import AnyMachine
from languages.drawn import DrawnTask
from languages.errors import Notice, UserError
from languages.tasks import AnyTask
from regulargpt.certificate.compared import parting_word, right_machine
from regulargpt.certificate.verdict import has_changed
from regulargpt.data import of_words
from regulargpt.data.language import LanguageData
from regulargpt.extraction import LONGEST
from regulargpt.extraction.answers import Heard, every_short, hear
from regulargpt.extraction.asking import Asking, answering
from regulargpt.finite.from_answers import Answers, first_parting
from regulargpt.finite.held_out import batches, drawn, labels
from regulargpt.finite.nested_specification import minimal_algebra
from regulargpt.finite.nonempty import Word
from regulargpt.runs.opened import OpenedRun, refuse_other_symbols
from regulargpt.runs.outside import mistakes


def extract_answers(
    run: OpenedRun, longest: int | None, seconds: float, on_asked: Callable[[int, int], None]
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
        network = Answers(answering(run.model, token, run.config.objective.reading), longest, data.task)
        heard = heard_of(network, data, run.config.seed, seconds, on_asked)

        def replay(word: Word) -> int | None:
            return None if too_long(len(word)) else replace(network, longest=len(word)).of([word])[0]

        return heard.machine, {"longest": longest, **described(heard, data.task), **compared(heard, data.task, replay)}


def heard_of(
    network: Answers, data: LanguageData, seed: int, seconds: float, on_asked: Callable[[int, int], None]
) -> Heard:
    """The machine of a network's answers to all short words, to words of the data, and to those that L* asks."""
    words = [
        *every_short(data.task, network.longest),
        *(batch.astype(np.int64) for batch in drawn(data, seed, "extract")),
    ]
    return hear(data.task, Asking(network, seconds, on_asked), words, network.longest)


def described(heard: Heard, task: AnyTask) -> dict[str, Any]:
    """What the answers say, as JSON: the machine apart."""
    nested, machine = isinstance(task, NestedTask), heard.machine
    so_far = {"elements" if nested else "states": heard.so_far, "agreement": heard.agreement}
    return {
        "asked": heard.asked,
        "all_up_to": heard.every,
        "states": None if machine is None else machine.n_states,
        **({"algebra": minimal_algebra(machine).size} if isinstance(machine, PushdownTransducer) else {}),
        "at_most": heard.classes or None,
        "ruled_out": ruled_out(heard.classes, task),
        "reason": heard.reason or None,
        "so_far": so_far if heard.so_far else None,
    }


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


def compared(heard: Heard, task: AnyTask, replay: Callable[[Word], int | None]) -> dict[str, Any]:
    """Whether the machine is the task's, or the shortest word on which it is not, answered by the network itself, too.

    Without a machine, or a table of the task's, the shortest word that was asked and is wrong. Here labels are used.
    """
    machine, whole = heard.machine, not isinstance(task, DrawnTask)
    if machine is not None and whole:
        parting = parting_word(machine, right_machine(task))
        word = None if parting is None else tuple(parting)
    else:
        word = shortest_wrong(heard, task)
    if word is None:
        return {"equal": True if machine is not None and whole else None, "counterexample": None}
    symbols, names = np.array([word]), {UNDEFINED: None, None: None, **dict(enumerate(task.output_names))}
    answers = {
        **({} if machine is None else {"machine": names[int(machine.answers(symbols)[0])]}),
        "network": names[replay(word)],
        "task": names[int(labels(task, symbols)[0])],
    }
    return {"equal": False, "counterexample": {"word": task.machine.decode(symbols[0]), **answers}}


def shortest_wrong(heard: Heard, task: AnyTask) -> Word | None:
    """The shortest word that was asked and that the network has wrong."""

    def given(words: np.ndarray) -> np.ndarray:
        return np.array([heard.answers[word] for word in map(tuple, words.tolist())])

    questions = (word for word, answer in heard.answers.items() if word and answer != UNDEFINED)
    return first_parting(given, task.labels, batches(sorted(questions, key=len)))
