"""Where a checkpoint that others trained finds a needle, by length, by depth, and by what is done to it in the test.

The kinds are a pass key (Mohtashami and Jaggi 2023), LongEval's lines (Li et al. 2023), and RULER's needles and
variables (Hsieh et al. 2024), in its own tokens. Every method reads the same documents: differences are of pairs.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import torch

from languages.errors import UserError, shown
from regulargpt.evaluation import bias, temperature
from regulargpt.evaluation.bias import Bias
from regulargpt.evaluation.by_length import Point, measured_of
from regulargpt.evaluation.temperature import Temperature
from regulargpt.findings import Finding
from regulargpt.options.lengths import read_lengths
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened, OpenedRun
from regulargpt.text.corpora.retrieval.prompts import Prompt
from regulargpt.text.generation import Writer, spelling
from regulargpt.text.measurements import needles
from regulargpt.text.measurements.method_cells import CELLS, Cells, Progress, facts_of_network
from regulargpt.text.measurements.method_tables import TRAINED
from regulargpt.text.measurements.methods import ALIGNED, BIASED, Methods, Notice
from regulargpt.text.measurements.needle_prompts import CHANCE, MEASURE, SCORES, PromptDocuments
from regulargpt.text.measurements.needle_tables import Found, finding_of
from regulargpt.text.measurements.options import LONGEST_USUAL, USUAL, NeedleOptions, kinds_of
from regulargpt.text.opened import OpenedCheckpoint

WORDS = 40
LONGEST = 1 << 20
"""The most tokens of a document."""


@dataclass(frozen=True)
class NeedleCell:
    """A method at a length, what it is asked, and all that its result depends on."""

    name: str
    length: int
    documents: PromptDocuments
    facts: Mapping[str, Any]

    @property
    def symbols(self) -> int:
        """Those of its documents."""
        return self.length * self.documents.words


@dataclass(frozen=True, kw_only=True)
class NeedleMethods(Methods):
    """What is asked of a network, with each method at each length."""

    run: OpenedCheckpoint
    documents: Sequence[PromptDocuments]
    score: str
    sharper: Temperature | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """What was asked of which network, for the report."""
        how = {key: value for key, value in self.of_run.items() if key != "network"}
        return {
            "run_dir": str(self.run.path),
            "model": self.run.checkpoint.name,
            "train_len": self.train_len,
            "config_len": self.run.checkpoint.train_len,
            "lengths": list(self.lengths),
            "score": self.score,
            "measure": MEASURE[self.score],
            "chance": CHANCE[self.score],
            "words": self.documents[0].words,
            "seed": self.seed,
            "temperature": None if self.sharper is None else str(self.sharper),
            "bias": None if self.bias is None else str(self.bias),
            "how": how,
        }

    @cached_property
    def of_run(self) -> dict[str, Any]:
        tokens = self.run.checkpoint.tokens
        return facts_of_network(self.run, str(prepare(self.run.config))) | {
            "tokenizer": None if tokens is None else tokens.digest
        }

    def why_not(self, name: str) -> str | None:
        if name == ALIGNED:
            remedy = f"`regulargpt align hf:{shown(self.run.path)} --text FILE` writes one"
            return None if self.sharper else f"no --temperature FILE; {remedy}"
        return super().why_not(name)

    def needle_cell(self, documents: PromptDocuments, name: str, length: int) -> NeedleCell | None:
        """Documents of one kind; None where the network, so changed, has no positions for them."""
        config = self.config(name, length)
        if config.network.too_long(length) is not None:
            return None
        how = {"changes": self.changes(name, length), "attention": config.evaluation.attention}
        beside = None if (part := self.beside(name)) is None else asdict(part)
        what = {"kind": documents.task.name, "score": self.score, "words": documents.words, "seed": self.seed}
        more = {"train_len": self.train_len, "threads": config.threads, "beside": beside}
        facts = {"method": name, "length": length, **what, **how, **more, **self.of_run}
        return NeedleCell(name, length, documents, json.loads(json.dumps(facts)))  # as it is read back

    def beside(self, name: str) -> Temperature | Bias | None:
        """What a method adds to the network, from a file."""
        return {ALIGNED: self.sharper, BIASED: self.bias}.get(name)

    def ask(self, cell: NeedleCell, prompts: Sequence[Prompt], heard: Callable[[int], None]) -> Point:
        """Which needles a method finds, kept at once; `heard` is told how many symbols have been read for it."""
        writer = Writer.from_run(self.run, cell.length, cell.facts["changes"], cell.facts["attention"])
        if (part := self.beside(cell.name)) is not None:
            part.set_on(writer.model)
        scores = []
        for i, prompt in enumerate(prompts):
            heard(i * cell.length)
            scores.append(float(SCORES[self.score](writer, cell.documents, i, prompt)))
        numbers = {MEASURE[self.score]: torch.tensor(scores, dtype=torch.float64)}
        point = Point(cell.length, len(scores), *measured_of(numbers, None))
        self.cells.keep(cell.facts, point)
        return point


def measure(
    run: Opened,
    options: NeedleOptions,
    progress: Progress = lambda done, count: None,
    notice: Notice = lambda text: None,
    out: Path | None = None,
) -> Finding:
    """Needles of a checkpoint by method, kind, length and depth; of a run on a retrieval task by length and depth.

    Results of a checkpoint are kept in the folder `out` singly. Raises UserError, before anything is computed, for
    what neither can be asked.
    """
    if not isinstance(run, OpenedCheckpoint):
        assert isinstance(run, OpenedRun)
        return needles.measure(run, options)
    seed, words, score = options.seed or 0, options.words or WORDS, options.score or "exact"
    encode, decode, _ = spelling(run)
    documents = [PromptDocuments(task, encode, words, seed) for task in kinds_of(options.kinds)]
    for some in documents:
        if not some.is_written_by(decode):
            raise UserError(
                f"--kinds {some.task.name}: the tokenizer of {shown(run.path)} cannot write an answer such as"
                f" {some.task.longest.strip()!r}; choose another kind, or a checkpoint whose tokenizer can"
            )
    lengths, notes = lengths_of(run, options.lengths, documents)
    series = NeedleMethods(
        run=run,
        lengths=lengths,
        seed=seed,
        cells=Cells(None if out is None else out / CELLS, notice),
        bias=None if options.bias is None else bias.read(options.bias, run.config, run.weights),
        documents=documents,
        score=score,
        sharper=None if options.temperature is None else temperature.read(options.temperature, run.weights),
    )
    # Within the training length most methods change nothing.
    is_plain = options.lengths is None and options.methods is None and max(lengths) < run.train_len
    names, left_out = series.chosen(TRAINED if is_plain else options.methods)
    for flag, given, name in (("temperature", series.sharper, ALIGNED), ("bias", series.bias, BIASED)):
        if given is not None and name not in names:
            raise UserError(f"--{flag} is for the method {name}, which --methods leaves out; name it there, too")
    notes += [f"left out: {name}, {reason}" for name, reason in left_out.items()]
    notes += [f"left out: all methods, no length is above {run.train_len:,}; choose them with --methods"] * is_plain
    facts = {**series.facts, "left_out": left_out, "depths": needles.edges(options.bins).tolist()}
    depths = {some.task.name: some.depths for some in documents}
    return finding_of(facts, found_by(series, names, progress), depths, notes)


def lengths_of(
    run: OpenedCheckpoint, written: str | None, documents: Sequence[PromptDocuments]
) -> tuple[list[int], list[str]]:
    """The lengths that are requested, or the usual ones; which of the latter are left out.

    Raises UserError for a length without documents or positions.
    """
    most = max(documents, key=lambda some: some.shortest)
    lengths = list(read_lengths(written)) if written else usual_lengths(run.config.tested)
    refuse_unfit(run, lengths, documents, usual=not written)
    problems = {T: reason for T in lengths if (reason := why_no_length(run, T, most)) is not None}
    if len(lengths) > needles.MOST_LENGTHS:
        raise UserError(f"--lengths: {len(lengths)} of them; choose at most {needles.MOST_LENGTHS}")
    if problems and written:
        raise UserError(f"--lengths {min(problems)}: {problems[min(problems)]}")
    notes = [f"left out: {T:,}, {why}" for T, why in problems.items()]
    if not written and run.config.tested[-1] > LONGEST_USUAL:
        notes.append(f"left out: lengths above {LONGEST_USUAL:,} tokens; choose them with --lengths")
    return [T for T in lengths if T not in problems], notes


def usual_lengths(tested: Sequence[int]) -> list[int]:
    """Of the training length and its doubles those that a CPU has time for; where there are none, shorter ones.

    >>> usual_lengths([512, 1024, 2048, 4096, 8192]), usual_lengths([131_072, 262_144])
    ([512, 1024, 2048, 4096], [1024, 2048, 4096])
    """
    return [T for T in tested if T <= LONGEST_USUAL] or list(USUAL)


def refuse_unfit(
    run: OpenedCheckpoint, lengths: Sequence[int], documents: Sequence[PromptDocuments], *, usual: bool
) -> None:
    """UserError where the network has positions for no document, or none of the usual lengths can be asked."""
    most, network = max(documents, key=lambda some: some.shortest), run.config.network
    least = f"a document of '{most.task.name}' has {most.shortest:,} tokens and more"
    places = bisect_left(range(1, most.shortest + 1), True, key=lambda T: network.too_long(T) is not None)
    if places < most.shortest:
        other = " or other --kinds" if len(documents) > 1 else ""
        raise UserError(f"{least}, and the network has positions for {places:,}; choose another checkpoint{other}")
    if usual and all(why_no_length(run, T, most) for T in lengths):
        which = ", ".join(f"{T:,}" for T in lengths)
        raise UserError(f"none of the usual lengths ({which}) fits: {least}; choose others with --lengths")


def why_no_length(run: OpenedCheckpoint, length: int, most: PromptDocuments) -> str | None:
    """Why nothing can be asked at a length; None if it can. `most` needs the most tokens."""
    if length < most.shortest:
        return f"a document of '{most.task.name}' has {most.shortest:,} tokens and more; choose a longer one"
    if length > LONGEST:
        return f"at most {LONGEST:,} tokens; choose a shorter one"
    reason = run.config.network.too_long(length)
    return None if reason is None else f"{reason.partition(';')[0]}; choose a shorter one"


def found_by(series: NeedleMethods, names: Sequence[str], progress: Progress) -> Found:
    """What each method finds, by kind, method and length; `progress` counts the symbols of all of them."""
    cells = [
        cell
        for some in series.documents
        for T in series.lengths  # then the methods, since they read the same documents
        for name in names
        if (cell := series.needle_cell(some, name, T)) is not None
    ]
    written = lru_cache(1)(lambda some, T: [some.document(i, T) for i in range(some.words)])

    def ask(cell: NeedleCell, heard: Callable[[int], None]) -> Point:
        return series.ask(cell, written(cell.documents, cell.length), heard)

    is_right: dict[str, dict[str, dict[int, Any]]] = {
        some.task.name: {name: {} for name in names} for some in series.documents
    }
    for cell, point in series.cells.results(cells, ask, progress):
        is_right[cell.documents.task.name][cell.name][cell.length] = point.of_words[MEASURE[series.score]] == 1
    return is_right
