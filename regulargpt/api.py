"""The public functions: run, resume, load, evaluate, judge, verify, states. What the commands do, from Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Int
from torch import Tensor, nn

import languages
from languages.automata import MooreMachine, Semiautomaton
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.user import pushdown_task_of
from languages.convert.machines import to_json
from languages.errors import UserError, WordError
from languages.registry import find
from languages.tasks import AnyTask
from regulargpt.config.protocols import protocol as protocol_of
from regulargpt.config.recipes import resolve, usual_model
from regulargpt.config.schema import Draft, RunConfig, flat, key_of, network_of_test
from regulargpt.data import is_language, noun_of
from regulargpt.data.base import Data, Words
from regulargpt.data.language import LanguageData
from regulargpt.evaluation.quantised import prototypes_of, quantise
from regulargpt.measurements.measuring import measured
from regulargpt.measurements.options import ClusterOptions
from regulargpt.measurements.sample import given, words_of
from regulargpt.runs.load import load_model, load_reader
from regulargpt.runs.opened import open_run
from regulargpt.runs.run import UNWATCHED, Watch
from regulargpt.runs.run import resume as resume_run
from regulargpt.runs.run import run as run_config
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.manifest import digest

if TYPE_CHECKING:
    from languages.automata import Dfa

    Language = str | AnyTask | Dfa | MooreMachine | Semiautomaton | PushdownTransducer


def run(
    language: Language | RunConfig,
    out: str | Path,
    *,
    model: str | None = None,
    recipe: str | None = None,
    protocol: str | None = None,
    certify: bool = False,
    watch: Watch = UNWATCHED,
    **options: Any,
) -> dict[str, Any]:
    """Train and test a model in a new folder `out`; the summary, as `regulargpt run --json` prints it.

    `language` is a name, a task, a machine made in Python, or a whole RunConfig, which leaves nothing else to say.
    `options` are keys of config.toml, by their last name where that is clear, else whole:
    `run("parity", "runs/a", train_len=20, chunk_size=3, **{"data.test.edits": 1})`. A part is written as on the command
    line: `encoding="alibi:slopes=press"`.

    Raises UserError, before anything is written, for what cannot be run.

    >>> import tempfile
    >>> summary = run("parity", Path(tempfile.mkdtemp()) / "a", steps=2, d_model=8, test_len=42, extra_lengths=())
    >>> summary["language"], summary["steps"], sorted(summary["measures"]["accuracy"]["values"])
    ('parity', 2, ['41', '42'])
    """
    if isinstance(language, RunConfig):
        return run_config(language, out, watch)
    if not isinstance(model, str | None):
        raise UserError(f"model = {model!r}; give its name, or the import path of your class, as in 'my_lab.rnn:Rnn'")
    if not (isinstance(language, str) and not is_language(language)):
        language = as_task(language).name
    name = model or usual_model(language)

    def user(draft: Draft) -> None:
        draft.put({key_of(draft.flat, key): value for key, value in options.items()})

    return run_config(resolve(recipe, name, language, user, preset=protocol, certify=certify), out, watch)


def as_task(language: Language) -> AnyTask:
    """The task of a name, or a task made in Python, which from then on goes by its name in this process."""
    if isinstance(language, str):
        return find(language)
    # The config holds names: what reads it in this process finds the task by its name.
    if isinstance(language, AnyTask):
        return languages.register(language)
    if isinstance(language, PushdownTransducer):
        return languages.register(pushdown_task_of(language, name_of(language)))
    machine = languages.task_of(language).machine
    return languages.register(languages.task_of(language, name_of(machine)))


def name_of(machine: MooreMachine | PushdownTransducer) -> str:
    """A name for a machine that has none: equal machines have equal names, others have others."""
    return f"made-in-python-{digest(to_json(machine).encode())[:8]}"


def resume(path: str | Path, watch: Watch = UNWATCHED) -> dict[str, Any]:
    """Go on with an interrupted run, bit for bit; of a finished run, its summary."""
    return resume_run(path, watch)


@dataclass(frozen=True)
class Trained:
    """A finished run: what was run, what it came to, and the network itself, in evaluation mode on the CPU."""

    config: RunConfig
    summary: dict[str, Any]
    data: Data
    model: nn.Module

    @property
    def task(self) -> AnyTask:
        """The language with its machine; UserError for a run on a text or a retrieval task, which has none."""
        if not isinstance(self.data, LanguageData):
            name, noun = self.data.name, noun_of(self.data.name)
            raise UserError(f"{name} is a {noun}: it has no automaton; choose a run on a language")
        return self.data.task

    def encode(self, words: str | Sequence[str]) -> Int[Tensor, "batch length"]:
        """Words, or pieces of text, of one length as the network reads them; a text by itself is one word.

        Raises WordError if they have several lengths, or there are none.
        """
        return torch.from_numpy(encoded(self.data, words))

    def answers(self, words: str | Sequence[str]) -> list[str]:
        """The network's answers to words of equal length, by name; a text by itself is one word: `answers("0110")`.

        Raises WordError for a symbol that the alphabet does not have, or words of several lengths, and UserError for a
        run on no language.
        """
        names = self.task.output_names
        with torch.no_grad():
            chosen = self.model(self.encode(words)).argmax(-1)  # (batch,)
        return [names[answer] for answer in chosen.tolist()]


def encoded(data: Data, words: str | Iterable[str]) -> Words:
    """Words of equal length as indices (words, length), a text by itself as one word.

    WordError if they have several lengths, or there are none.
    """
    rows = [data.encode(word) for word in ([words] if isinstance(words, str) else words)]
    if len({len(row) for row in rows}) != 1:
        raise WordError("a batch is one word or more, all of one length; ask for each length alone")
    return np.stack(rows).astype(np.int64)


def load(path: str | Path, quantised: bool = False) -> Trained:
    """A finished run, its files checked against their digests.

    `quantised` is the network that a certificate's theorem 1 is about: the state of every node above the symbols is
    replaced by the nearest prototype, or that of a recurrent network after every symbol by the nearest point. Raises
    UserError for a folder that is no finished run, or has no certificate to be quantised by.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "a"
    >>> _ = run("parity", folder, steps=2, d_model=8, test_len=42, extra_lengths=())
    >>> load(folder).answers(["0110"])[0] in ("even", "odd")
    True
    """
    folder = RunFolder.open(path)
    opened = open_run(folder)
    network = load_model(folder) if is_language(opened.config.data.name) else load_reader(folder)
    if quantised:
        network = quantise(network, prototypes_of(folder), folder)
    return Trained(opened.trained, folder.load_summary(), opened.data, network)


def evaluate(
    path: str | Path,
    lengths: Sequence[int] = (),
    *,
    protocol: str | None = None,
    seed: int | None = None,
    quantised: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """What a finished run scores at these lengths, or under another protocol; `regulargpt evaluate --json`.

    Without lengths or protocol, at those of its own test. `quantised` is as in `load`. `options` are keys of the data,
    the objective or the evaluation, as those of `run`, of the network where a test may set them otherwise, or `device`.
    """
    from regulargpt.runs.again import evaluate as evaluate_run

    folder = RunFolder.open(path)
    config, network = open_run(folder, reads=False).trained, {}
    if protocol is not None:
        config = protocol_of(protocol).test_of(config)
    # Other words than the protocol's: the result must not carry its name.
    elif options or lengths:
        changes = {key_of(flat(config), key): value for key, value in options.items()}
        config = config.replaced({"protocol": "", **changes})
        network = network_of_test(config, changes.keys() - {"device"})
    lengths, seed = tuple(lengths) or config.tested, config.seed if seed is None else seed
    return evaluate_run(folder, config, lengths, seed, changes=network, quantised=quantised)


def judge(
    module: nn.Module, language: Language, *, out: str | Path | None = None, seconds: float = 60.0, seed: int = 0
) -> dict[str, Any]:
    """A verdict on a module of your own that was trained elsewhere; `regulargpt judge --json`.

    A cell has `start(batch)`, `step(state, symbols)` and `readout(state)`: what is said of its certificate and its
    refutation is in the report, and their files in the folder `out`, if one is given. Of any other module, from words
    (batch, length) to logits, wrong words are looked for. That and a refutation take at most so many seconds each.

    Raises UserError for a language that is not regular, and for a module that cannot be asked.

    >>> class Last(nn.Module):
    ...     def start(self, batch):
    ...         return torch.zeros(batch, 2)
    ...     def step(self, state, symbols):
    ...         return torch.eye(2)[symbols]
    ...     def readout(self, state):
    ...         return state
    >>> report = judge(Last(), "regex:(0|1)*1")
    >>> report["certificate"]["proven"], report["certificate"]["unquantised"]["proven"], report["refutation"]["refuted"]
    (True, True, False)
    """
    from regulargpt.judging import folder, judge

    if out is not None:
        folder.refuse_occupied(Path(out))
    found = judge.judge(module, as_task(language).name, seconds, seed)
    return found.report if out is None else folder.write(Path(out), found)


def verify(path: str | Path, out: Path | None = None, **words: Any) -> dict[str, Any]:
    """The clusters of a finished run's hidden states, and its certificate; `regulargpt verify --json`.

    `words` are `length`, `words` and `seed`, as the command has them.
    """
    from regulargpt.runs.certify import certificate_report

    report = measured("clusters", path, out, **words).report
    return {**report, "certificate": certificate_report(RunFolder.open(path))}


def states(
    path: str | Path,
    *,
    at: str | None = None,
    words: int | Iterable[str] = 32,
    length: int | None = None,
    seed: int | None = None,
    level: str | None = None,
    colour: Literal["transition", "state", "symbol", "depth", "prefix"] | None = None,
) -> dict[str, npt.NDArray[Any]]:
    """The hidden states of a finished run's network, each with what it should say: columns of one length.

    `word` is the text that is read, and a row stands for its symbols from `start` to `position`, the last. `level`
    is that of the tree, from 1, or the block. `class` is what the state should say, `transition` the least word that
    moves the automaton as those symbols do; along brackets both are elements of the algebra. `vector` (rows, width) is
    the state. Sub-words that are equal are one row a level; `count` says how many there are.

    `at` names a hook point. `words` are words of equal length, or how many are drawn. Of those that are drawn, as in
    `verify`, 8,192 nodes a level are looked at, and 1,000 different sub-words kept; of yours all. The other options are
    those of `regulargpt verify`.

    Raises UserError for what `verify` refuses, and WordError for words that cannot be read.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "a"
    >>> _ = run("parity", folder, steps=2, d_model=8, test_len=42, extra_lengths=())
    >>> table = states(folder, at="blocks.0.mlp.hook_post", words=["0110"], level="2")
    >>> table["class"].tolist(), table["position"].tolist(), table["vector"].ndim
    (['ε'], [3], 2)
    """
    from regulargpt.measurements.state_table import state_table

    count = int(words) if isinstance(words, int | np.integer) else ClusterOptions().words
    options = ClusterOptions(at=at, length=length, seed=seed, level=level, colour=colour, words=count)
    opened = options.subject(str(path))
    if isinstance(words, int | np.integer):
        return state_table(opened, words_of(opened, options.length, options.words, options.seed), options)
    if length is not None or seed is not None:
        raise UserError("words that are given have their length, and none are drawn; leave out length and seed")
    if not isinstance(words, Iterable):
        raise UserError(f"words = {words!r:.80}; give how many are drawn, or a list of words")
    return state_table(opened, given(opened, encoded(opened.data, words)), options)
