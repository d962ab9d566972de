"""What each method of a test does to a trained network on a text, length by length, in pairs of segments.

The score is bits per byte, scored as in `evaluate`; beside it stands the perplexity over that of the network as it was
trained, at the same length and at the training length. No method is fitted to the test: `alignment` is the temperature
that restores P_max, found on the training part (Chi 2024, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from languages.errors import UserError
from regulargpt.evaluation.bias import Bias, read
from regulargpt.evaluation.by_length import Point, samples_at
from regulargpt.evaluation.temperature import Temperature, temperature_of
from regulargpt.findings import Finding
from regulargpt.models.transformer.attentive import Attentive
from regulargpt.options import as_mapping
from regulargpt.options.lengths import read_lengths
from regulargpt.options.names import read_names
from regulargpt.runs.again import Retest
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened
from regulargpt.runs.run import Watch
from regulargpt.text.evaluation.methods import METHODS, flags, misfit, settings_on
from regulargpt.text.measurements.alignment.setting import LONGEST, SEGMENTS, find, setting_of, symbols_of_search
from regulargpt.text.measurements.method_cells import CELLS, TEMPERATURES, Cells, Progress, facts_of_test
from regulargpt.text.measurements.method_keys import scores_of
from regulargpt.text.measurements.method_tables import TRAINED, Comparison, finding_of
from regulargpt.text.measurements.options import MethodOptions

ALIGNED, BIASED, STRATEGY = "alignment", "kerple", "p_max"
Notice = Callable[[str], None]


@dataclass(frozen=True)
class MethodCell:
    """A method at a length, its test, and all that its result depends on."""

    name: str
    length: int
    test: Retest
    facts: Mapping[str, Any]
    searched: int = 0
    """The symbols that are read before the test, to find its temperature."""

    @property
    def symbols(self) -> int:
        """Those that are read for it."""
        return self.searched + self.length * samples_at(self.length, self.test.config.evaluation)


@dataclass(frozen=True, kw_only=True)
class Methods(Comparison):
    """What is compared, and where its results are kept."""

    cells: Cells
    temperatures: Cells = Cells(None)  # noqa: RUF009  # immutable
    bias: Bias | None = None

    @property
    def encoding(self) -> Any:
        """The options of the trained network's encoding; None if it has none."""
        return getattr(self.run.config.network, "encoding", None)

    def why_not(self, name: str) -> str | None:
        """Why a method cannot be tried on this network; None if it can."""
        longest = max(self.lengths)
        if name == ALIGNED:
            is_possible = isinstance(self.run.model, Attentive) and self.train_len < longest <= LONGEST
            return None if is_possible else f"no length above {self.train_len:,}, or no softmax over positions"
        if name == BIASED and self.bias is None:
            return "no --bias FILE; `regulargpt lengthen` writes one"
        if (reason := misfit(self.encoding, name, self.train_len)) is not None:
            return reason
        try:
            config = self.config(name, longest)
            model = self.run.network(self.changes(name, longest))
            model.set_attention(config.evaluation.attention, self.train_len)
        except UserError as error:
            return str(error)
        return None

    def chosen(self, written: str | None) -> tuple[list[str], dict[str, str]]:
        """The methods between the commas, or all that can be tried, behind none; why the others are left out.

        Raises UserError for a method that is requested by its name and cannot be tried.
        """
        names = list(METHODS) if written is None else read_names(written, METHODS, "method")
        wanted = [name for name in names if name != TRAINED]
        left_out = {name: reason for name in wanted if (reason := self.why_not(name)) is not None}
        if written and left_out:
            name, reason = next(iter(left_out.items()))
            raise UserError(f"--methods {name}: {reason}")
        return [TRAINED, *(name for name in wanted if name not in left_out)], left_out

    def changes(self, name: str, length: int) -> Mapping[str, Any]:
        """The options of the network that a method sets, or its bias was trained with, by their keys within `model`."""
        if name == BIASED and self.bias is not None:
            return self.bias.changes
        return settings_on(self.encoding, name, self.train_len, length)

    def config(self, name: str, length: int) -> Any:
        """The config of a test by a method; ConfigError for a network that has no such option."""
        changes = {f"model.{key}": value for key, value in self.changes(name, length).items()}
        view = METHODS[name].attention(self.train_len, length)
        return self.run.config.replaced({**changes, "evaluation.attention": view})

    def asked_of(self, name: str, length: int) -> dict[str, Any]:
        """What a test by a method changes, what a position sees, and the flags of `evaluate` for both."""
        changes, attention = self.changes(name, length), METHODS[name].attention(self.train_len, length)
        return {"changes": dict(changes), "attention": attention, "flags": flags(name, changes, attention)}

    def cell(self, name: str, length: int) -> MethodCell | None:
        """The test of a method at a length; None where the network, so changed, has no positions for it."""
        config = self.config(name, length)
        if config.network.too_long(length) is not None:
            return None
        test, changes = self.test(config, length), self.changes(name, length)
        if name == BIASED and self.bias is not None:
            changes = {**changes, "bias": asdict(self.bias)}
        scores, evaluation = [score.facts for score in self.scores], as_mapping(config.evaluation)
        more = {"evaluation": evaluation, "changes": changes, "scores": scores}
        is_searched = name == ALIGNED and self.train_len < length <= LONGEST
        searched = symbols_of_search(self.train_len, length) if is_searched else 0
        return MethodCell(name, length, test, facts_of_test(self.of_run, name, test, more), searched)

    def point(self, cell: MethodCell, heard: Callable[[int], None]) -> Point:
        """What the test of a cell says, kept at once; `heard` is told how many symbols have been read for it."""
        changes, bias = self.changes(cell.name, cell.length), self.bias if cell.name == BIASED else None
        model = cell.test.model(changes, self.temperature(cell, heard) if cell.searched else None, bias=bias)
        watch = Watch(on_words=lambda length, count: heard(cell.searched + length * count))
        point = cell.test.points(model, watch)[0]
        self.cells.keep(cell.facts, point)
        return point

    def test(self, config: Any, length: int) -> Retest:
        """The test of one length, which measures every score."""
        test = Retest.prepare(self.run, config, [length], self.seed)
        return reduce(lambda test, score: score.within(test), self.scores, test)

    def temperature(self, cell: MethodCell, heard: Callable[[int], None]) -> Temperature:
        """That of alignment at a longer length: what is kept, or what is found and kept at once."""
        facts = facts_of_test(self.of_run, STRATEGY, cell.test, {"words": SEGMENTS})
        kept: Temperature | None = self.temperatures.kept(facts)
        if kept is not None:
            return kept
        passes: list[int] = []

        def passed(symbols: int) -> None:
            passes.append(symbols)
            heard(sum(passes))

        temperature = find(replace(setting_of(self.run, cell.length, seed=self.seed), heard=passed), STRATEGY)
        self.temperatures.keep(facts, temperature)
        return temperature


def measure(
    run: Opened,
    options: MethodOptions,
    progress: Progress = lambda done, count: None,
    notice: Notice = lambda text: None,
    out: Path | None = None,
) -> Finding:
    """Every method that is requested at every length; the refusals of `Retest.prepare`.

    Each result is kept in the folder `out` at once, and none that is there is computed again.
    """
    run = replace(run, config=run.config.replaced({"evaluation.samples": options.words}))  # type: ignore[type-var]
    prepare(run.config)  # a device that is not there is refused first
    (lengths, notes), cells = lengths_of(run, options.lengths), Cells(None if out is None else out / CELLS, notice)
    temperatures = Cells(None if out is None else out / TEMPERATURES, notice, of_temperature, in_temperature)
    bias = None if options.bias is None else read(options.bias, run.config, run.weights)
    seed = run.config.seed if options.seed is None else options.seed
    scores = scores_of(run, options)
    methods = Methods(
        run=run, lengths=lengths, seed=seed, cells=cells, temperatures=temperatures, bias=bias, scores=scores
    )
    chosen, left_out = methods.chosen(options.methods)
    tests = found_by(methods, chosen, progress)
    settings = {name: {str(T): methods.asked_of(name, T) for T in points} for name, points in tests.items()}
    return finding_of(methods, tests, left_out, settings, notes)


def of_temperature(temperature: Temperature) -> Mapping[str, Any]:
    """What is kept of a temperature."""
    return {"temperature": asdict(temperature)}


def in_temperature(kept: Mapping[str, Any]) -> Temperature:
    """The temperature that is kept."""
    return temperature_of(kept["temperature"])


def found_by(methods: Methods, names: Sequence[str], progress: Progress) -> dict[str, dict[int, Point]]:
    """What each method comes to at each length; `progress` counts the symbols of all of them."""
    cells = [cell for name in names for T in methods.lengths if (cell := methods.cell(name, T)) is not None]
    tests: dict[str, dict[int, Point]] = {name: {} for name in names}
    for cell, point in methods.cells.results(cells, methods.point, progress):
        tests[cell.name][cell.length] = point
    return tests


def lengths_of(run: Opened, written: str | None) -> tuple[list[int], list[str]]:
    """The lengths that are named, or the usual ones, and what is said of those that are left out.

    Longer ones have that of training beside them, for the ratios.

    Raises UserError for a length that the text is too short for, and a text that is for all of them.
    """
    lengths, notes = (list(read_lengths(written)), []) if written else run.usual_lengths()
    for T in lengths:
        if not run.data.is_tested(T):
            raise UserError(f"--lengths {T}: " * bool(written) + run.data.describe_length(T))
    base = [run.train_len] if max(lengths) > run.train_len and run.data.is_tested(run.train_len) else []
    return sorted({*lengths, *base}), notes
