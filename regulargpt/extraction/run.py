"""The machine that a finished run implements: what `regulargpt extract` does."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from languages import rng
from languages.automata import MooreMachine
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.errors import Notice, UserError
from languages.task import Task
from languages.tasks import TreeTask
from regulargpt.certificate.compared import parting_word, right_machine
from regulargpt.certificate.search.certify import Certifier
from regulargpt.certificate.verdict import has_changed
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.extraction.blind import Blind, every_word_of
from regulargpt.extraction.clusters import Cut
from regulargpt.extraction.nested import NestedTeacher, learn_nested
from regulargpt.extraction.recurrent import ClusterAutomaton, SymbolStep
from regulargpt.finite.float64_network import Float64Network
from regulargpt.finite.learn import Extracted, Teacher, learn
from regulargpt.finite.nested_specification import minimal_algebra, specification_of
from regulargpt.finite.nonempty import Word, answer_to_empty_word, counterexample
from regulargpt.finite.specification import specified_machine
from regulargpt.finite.table import QuantisedTable
from regulargpt.models.recurrent import Stepwise
from regulargpt.models.tree.base import Tree
from regulargpt.runs.load import load_model
from regulargpt.runs.opened import refuse_other_symbols
from regulargpt.storage.folder import RunFolder

Ints = npt.NDArray[np.int64]

# Sample words a length, of all lengths up to the training's: their states are clustered, their labels not looked at.
SAMPLES = 8


@dataclass(frozen=True)
class Extraction:
    """What was found in a run: the codebook, the machine, and whether it is the task's.

    `equal` is None where it could not be decided; `word` is the shortest that the quantised network and the task's
    machine answer differently, with the two `answers`, -1 for none. Along brackets it may be a longer word where no
    machine is proven to be the network's. `margin` is the smallest of the table's entries.
    """

    prototypes: int
    cut: Cut | None
    agreement: float | None
    margin: float | None
    learned: Extracted
    equal: bool | None
    word: Word | None
    answers: tuple[int, int] | None


def extract(folder: RunFolder, config: RunConfig, codebook: str) -> tuple[TreeTask, Extraction]:
    """The machine of a finished run of a weight-shared tree or a `Stepwise` model, and the task it is compared with.

    Raises UserError if the states do not lie near finitely many points, for a network whose levels differ, or if the
    language has other symbols or answers than the run was trained on. A `Notice` says that its file has changed.
    """
    words = of_words(config.data)
    refuse_other_symbols(folder, words)
    task = words.tree_task
    if has_changed(folder, task):
        warnings.warn(f"{task.name} is no longer the automaton that the run was trained on", Notice, stacklevel=2)
    model = load_model(folder)
    torch.set_num_threads(config.threads)
    words = samples(task, config.seed, config.data.train_len)
    if isinstance(model, Stepwise):
        assert isinstance(task, Task), "the command refuses a network that does not follow brackets"
        return task, of_recurrent(model, task, words)
    if not isinstance(model, Tree):
        raise UserError(f"{config.model.name}: its options speak of a tree, but {type(model).__name__} is no Tree")
    return task, of_tree(model, task, words, codebook)


def samples(task: TreeTask, seed: int, longest: int) -> list[Ints]:
    """Batches of words of the task, one a length, without their labels."""
    drawn = [task.sample(rng(seed, "extract", T), T, SAMPLES) for T in task.lengths(1, longest)]
    return [batch.astype(np.int64) for batch in drawn]


def of_tree(model: Tree, task: TreeTask, words: list[Ints], codebook: str) -> Extraction:
    """Quantise to a codebook, "blind" or of the "classes", learn the machine, compare."""
    network = Float64Network(model)
    if codebook == "blind":
        blind = Blind.quantise(network, every_word_of(task), words)
        table, cut, agreement = blind.table, blind.cut, blind.agreement
    else:
        table, cut, agreement = (
            Certifier.for_task(task, network.chunk_size, network.aligned).certify(model).table,
            None,
            None,
        )
    # From here on the network is its table: L* and the proof look at nothing else.
    if isinstance(task, NestedTask):
        teacher = NestedTeacher(task, table)
        extracted = learn_nested(teacher, words)
    else:
        teacher = teacher_of(task, table)
        extracted = learn(teacher, words, empty=answer_to_empty_word(task))
    equal, word = compared(extracted, teacher, task)
    answers = None
    if word is not None:
        symbols = np.array([word])
        answers = int(teacher.answers(symbols)[0]), int(right_machine(task).answers(symbols)[0])
    return Extraction(len(table.prototypes), cut, agreement, margin(table), extracted, equal, word, answers)


def teacher_of(task: Task, table: QuantisedTable) -> Teacher:
    names, answers = (task.alphabet, task.output_names), table.answers()[0]
    return Teacher(*names, table.chunk_size, table.image, answers, task.domain, table.aligned)


def compared(
    extracted: Extracted, teacher: Teacher | NestedTeacher, task: TreeTask
) -> tuple[bool | None, tuple[int, ...] | None]:
    """Whether the machine is the task's, and the shortest word on which they differ.

    Where no machine is proven to be the quantised network's, it is compared itself; (None, None) where that is too
    large to decide.
    """
    if extracted.proven:
        assert extracted.machine is not None, "what is proven is there"
        word = parting_word(extracted.machine, right_machine(task))
    else:
        try:
            word = teacher.proof(specification_of(task)).wrong
        except UserError:
            return None, None
    return word is None, None if word is None else tuple(word)


def margin(table: QuantisedTable) -> float:
    """By how much the nearest prototype is nearer than the second, at worst."""
    return min(float(part.margins.min(initial=np.inf)) for part in (table.leaves, table.nodes))


def of_recurrent(model: Stepwise, task: Task, words: list[Ints]) -> Extraction:
    """Cluster the states: the transitions between clusters are the machine."""
    automaton = ClusterAutomaton.fit(SymbolStep(model), words)
    machine = automaton.machine(task)
    word = counterexample(machine, specified_machine(task))
    answers = None if word is None else (_answer(machine, word), _answer(specified_machine(task), word))
    extracted = Extracted(machine, True)
    return Extraction(
        len(automaton.table), automaton.cut, automaton.agreement, None, extracted, word is None, word, answers
    )


def _answer(machine: MooreMachine, word: Word) -> int:
    return int(machine.answers(np.array([word]))[0])


def described(task: TreeTask, extraction: Extraction) -> dict[str, Any]:
    """The result as JSON, the machine apart."""
    learned, cut = extraction.learned, extraction.cut
    names = {-1: None, **dict(enumerate(task.output_names))}
    differs = None
    if extraction.word is not None and extraction.answers is not None:
        mine, true = extraction.answers
        word = task.machine.decode(np.array(extraction.word))
        differs = {"word": word, "network": names[mine], "task": names[true]}
    return {
        "prototypes": extraction.prototypes,
        "clusters": None if cut is None else {"below": cut.below, "above": cut.above, "radius": cut.rho},
        "agreement": extraction.agreement,
        "smallest_margin": extraction.margin,
        "states": None if learned.machine is None else learned.machine.n_states,
        **(
            {"algebra": minimal_algebra(learned.machine).size}
            if isinstance(learned.machine, PushdownTransducer)
            else {}
        ),
        "proven_quantised": learned.proven,
        "reason": learned.reason or None,
        "equal": extraction.equal,
        "counterexample": differs,
    }
