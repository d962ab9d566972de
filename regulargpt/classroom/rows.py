"""What a page shows of a run on a language whose words a function draws: a row of answers behind each, or the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.moore import UNDEFINED
from languages.automata.pushdown import NO_MOVE, PushdownTransducer
from languages.drawn import DrawnTask
from languages.randomness import rng
from regulargpt.classroom.live.gathering import NO_LANGUAGE, RESTRICTED, Live
from regulargpt.classroom.live.network import LiveNetwork, not_computed
from regulargpt.classroom.live.wrong_words import MOST_SYMBOLS, MOST_WORDS, WrongWords, every_word
from regulargpt.config.recipes import CONSTRUCTED
from regulargpt.config.schema import RunConfig
from regulargpt.models import MODELS
from regulargpt.storage.folder import WEIGHTS, RunFolder
from regulargpt.storage.tensors import parse_arrays

Words = npt.NDArray[np.integer]  # (words, length), their empty symbols behind them
Row = npt.NDArray[np.integer]  # (length,)

LENGTHS = (*range(1, 17), 20, 24, 32, 40, 48, 64, 96, 128)
"""Of words that are tried in search of a wrong word, without empty symbols."""
SHOWN = (2, 4, 8, 16, 32, 64)
"""Of words that stand in the table, each twice."""
OFFERED = {**dict.fromkeys(range(1, 41), 4), 60: 4, 100: 4, 200: 4}
"""Words that are offered to the reader: lengths, and how many of each."""
MOST_TYPED = 400
MOST_MOVES = 20_000
AT_ONCE = "This page does not compute this network: it reads the empty symbols behind a word at once, not one by one."


@dataclass(frozen=True)
class Shown:
    """A word, its row of answers, and the network's, as indices; -1 where there is no question."""

    word: Row
    right: Row
    said: Row


@dataclass(frozen=True)
class DrawnRows:
    """A language whose words are drawn, and words with the network's answers; none where it was not computed."""

    task: DrawnTask
    seed: int
    shown: tuple[Shown, ...] = ()
    apart: str | None = None
    """Why the page cannot ask the network place by place, if it cannot."""

    @property
    def has_rows(self) -> bool:
        """Whether a word is answered by a row, not at its last symbol."""
        return self.task.asked is not None

    @cached_property
    def machine(self) -> PushdownTransducer | None:
        """The machine, if it is a table of moves."""
        return self.task.machine if isinstance(self.task.machine, PushdownTransducer) else None

    def written(self, word: Sequence[int]) -> str:
        """A word without empty symbols, as people read it."""
        return self.task.machine.decode(np.array(word))

    def data(self) -> dict[str, Any]:
        """JSON values for the script. `asked` says how many empty symbols stand behind a word of each length."""
        task = self.task
        lengths = range(MOST_TYPED + 1)
        return {
            "alphabet": list(task.alphabet),
            "outputs": list(task.output_names),
            "empty": task.empty,
            "asked": [0 if task.asked is None or not n else task.asked(n) for n in lengths],
            "offered": self.offered(),
            "machine": self.machine and moves_of(self.machine),
            "apart": self.apart,
        }

    def offered(self) -> list[dict[str, Any]]:
        """Words to begin with, as texts without empty symbols."""
        entries = []
        for length in filter(self.task.has_length, OFFERED):
            words = self.task.sample(rng(self.seed, "page", length), length, OFFERED[length])
            texts = dict.fromkeys(self.task.written(word)[0] for word in words[self.task.questions(words)])
            entries.append({"length": length, "words": list(texts)})
        return [entry for entry in entries if entry["words"]]


def moves_of(machine: PushdownTransducer) -> dict[str, Any] | None:
    """A machine as the script runs it: moves [state, symbol, top, to, action]; None of a machine with too many."""
    places = np.argwhere(machine.table[:-1] != NO_MOVE)  # (moves, 3)
    if len(places) > MOST_MOVES:
        return None
    q, a, top = places.T
    moves = np.column_stack([places, machine.table[q, a, top], machine.actions[q, a, top]])  # (moves, 5)
    return {
        "states": list(machine.states),
        "initial": machine.initial_index,
        "stack": list(machine.stack),
        "outputs": list(machine.outputs),
        "moves": moves.tolist(),
    }


def gather(folder: RunFolder, config: RunConfig, task: DrawnTask, *, is_proven: bool) -> tuple[DrawnRows, Live]:
    """The words of a run and its network. Where that is proven, no wrong word is looked for."""
    record, rows = folder.load_model_config(), DrawnRows(task, config.seed)
    if (tuple(record["alphabet"]), tuple(record["output_names"])) != (task.alphabet, task.output_names):
        return rows, Live(reason=NO_LANGUAGE)
    if config.evaluation.attention != "full":
        return rows, Live(reason=RESTRICTED)
    answers = answers_of(folder, task)
    apart = AT_ONCE if config.model.why_no_prefixes() is not None else None
    rows = DrawnRows(task, config.seed, tuple(shown(task, config, answers)), apart)
    wrong = None if is_proven else search(answers, task, config)
    options = MODELS.options(record["model"], "model")
    weights = parse_arrays(folder.final_bytes(WEIGHTS), folder.path / WEIGHTS)
    if (reason := not_computed(options, weights)) is not None:
        return rows, Live(reason=reason, wrong=wrong)
    sizes = record["n_symbols"], record["n_outputs"]
    network = LiveNetwork(options, *sizes, weights, direction=record.get("direction"))
    is_made = config.recipe in CONSTRUCTED
    return rows, Live(network, output_names=task.output_names, wrong=wrong, is_constructed=is_made)


def answers_of(folder: RunFolder, task: DrawnTask) -> Callable[[Words], Words]:
    """The network's answer at each symbol of words of equal length; -1 where the machine has none."""
    import torch

    from regulargpt.runs.load import load_reader

    model = load_reader(folder)

    def answers(words: Words) -> Words:
        right = right_of(task, words)
        n_answers = words.shape[1] - int((right >= 0).any(0).argmax()) if (right >= 0).any() else 1
        with torch.no_grad():
            logits = model.answers(torch.from_numpy(words.astype(np.int64)), n_answers)  # (words, asked, n_outputs)
        said = np.full_like(right, UNDEFINED)
        said[:, -n_answers:] = logits.argmax(-1).numpy()
        return np.where(right >= 0, said, UNDEFINED)

    return answers


def right_of(task: DrawnTask, words: Words) -> Words:
    """The answers to words of equal length: the rows, or that to the last symbol."""
    labels = task.labels(words, every=True)
    if task.asked is None:
        labels[:, :-1] = UNDEFINED
    return labels


def whole(task: DrawnTask, length: int) -> int:
    """The length of a word with the empty symbols behind it."""
    return length + (0 if task.asked is None else task.asked(length))


def shown(task: DrawnTask, config: RunConfig, answers: Callable[[Words], Words]) -> Iterator[Shown]:
    """Words of several lengths, a pure function of the run's seed."""
    for length in SHOWN:
        if task.has_length(length) and config.model.too_long(whole(task, length)) is None:
            words = task.sample(rng(config.seed, "page's words", length), length, 2)
            yield from map(Shown, words, right_of(task, words), answers(words))


def search(answers: Callable[[Words], Words], task: DrawnTask, config: RunConfig) -> WrongWords:
    """The first wrong word of each length among those that are tried; words are kept without their empty symbols.

    >>> from languages.context_free.reverse_string import reverse_string
    >>> task = reverse_string()
    >>> found = search(lambda words: 0 * right_of(task, words), task, RunConfig())
    >>> found.words[:2], found.tried[:3]
    (((1,), (0, 1)), ((1, 2), (2, 4), (3, 8)))
    """
    wrong, tried, complete = [], [], set()
    for length, words, is_complete in candidates(task, config):
        if not len(words):
            continue
        tried.append((length, len(words)))
        complete |= {length} if is_complete else set()
        right = right_of(task, words)
        missed = np.flatnonzero(((answers(words) != right) & (right >= 0)).any(1))
        if len(missed):
            wrong.append(tuple(words[missed[0], :length].tolist()))
    return WrongWords(tuple(wrong), tuple(tried), frozenset(complete))


def candidates(task: DrawnTask, config: RunConfig) -> Iterator[tuple[int, Words, bool]]:
    """Each length, words of it that are questions, and whether they are all."""
    n_symbols = task.n_symbols - (task.empty is not None)
    for length in LENGTHS:
        if not task.has_length(length) or config.model.too_long(whole(task, length)) is not None:
            continue
        is_complete = n_symbols**length <= MOST_WORDS
        if is_complete:
            behind = whole(task, length) - length
            words = np.pad(every_word(n_symbols, length), ((0, 0), (0, behind)), constant_values=task.n_symbols - 1)
        else:
            words = task.sample(
                rng(config.seed, "wrong words", length), length, min(MOST_WORDS, MOST_SYMBOLS // length)
            )
        yield length, words[task.questions(words)], is_complete
