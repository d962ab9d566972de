"""Testing a finished run again, at any lengths: what `regulargpt evaluate` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jaxtyping import Float
from torch import Tensor

from languages.errors import UserError, shown
from regulargpt import objectives
from regulargpt.config.schema import RunConfig
from regulargpt.config.validation import validate
from regulargpt.data.base import Data
from regulargpt.evaluation.bias import Bias
from regulargpt.evaluation.by_length import Point, lengths_of, measures_by_length, scores, seen_through
from regulargpt.evaluation.quantised import prototypes_of, quantise
from regulargpt.evaluation.segmented import Segmented
from regulargpt.evaluation.temperature import Temperature
from regulargpt.models.base import Model
from regulargpt.objectives.answers import Objective
from regulargpt.runs.answered import answered, refuse
from regulargpt.runs.device import prepare
from regulargpt.runs.opened import Opened, OpenedRun, opened
from regulargpt.runs.run import UNWATCHED, Watch
from regulargpt.storage.atomic import write_text
from regulargpt.storage.folder import RunFolder


def evaluate(
    place: RunFolder | Opened,
    config: RunConfig,
    lengths: Sequence[int],
    seed: int,
    watch: Watch = UNWATCHED,
    changes: Mapping[str, Any] = {},
    temperature: Temperature | None = None,
    quantised: bool = False,
    words_out: Path | None = None,
    bias: Bias | None = None,
) -> dict[str, Any]:
    """What a trained network scores at these lengths, on the words that `seed` gives; `watch` is told each of them.

    It is that of a run folder, or a run that is open, as a checkpoint is.
    `changes` are options of the network that a test may set otherwise, by their keys within `model`; `temperature` is
    what attention is divided by, `bias` what is added to it. A `quantised` network has the state of every node above
    the symbols, or after every symbol, replaced by the nearest prototype of the run's certificate, or the nearest
    point. To `words_out` the test words are written with their answers (`regulargpt.runs.answered`).

    Raises UserError as `Retest.prepare` does, and where there is no certificate to be `quantised` by.
    """
    run = opened(place)
    prototypes = prototypes_of(folder_of(run)) if quantised else None
    test = Retest.prepare(run, config, lengths, seed)
    if words_out is not None:
        refuse(test.data, test.objective, lengths, config.evaluation)
    model = test.model(changes, temperature, prototypes, bias)
    points = test.points(model, watch)
    if words_out is not None:
        write_text(words_out, test.answered(model))
    scored, words = config.scored if config.protocol else lengths, {point.length for point in points}
    return {
        "run_dir": str(run.path),
        "language": config.data.name,
        "protocol": config.protocol,
        "seed": seed,
        **scores(points, scored),
        "scored": [str(p.length) for p in points if p.length in scored],
        **lengths_of(points),
        **test.facts(points),
        **test.beside(points, bool(changes or temperature or bias), watch),
        "no_words_of_length": [length for length in lengths if length not in words],
        "temperature": None if temperature is None else str(temperature),
        "changes": dict(changes),
        **({} if bias is None else {"bias": str(bias)}),
        "prototypes": None if prototypes is None or config.model.carries_state else len(prototypes),
        **({"points": len(prototypes)} if prototypes is not None and config.model.carries_state else {}),
        "changed_classes": run.changed_classes(config),
    }


def points_again(
    place: RunFolder | Opened,
    config: RunConfig,
    lengths: Sequence[int],
    seed: int,
    temperature: Temperature | None = None,
) -> list[Point]:
    """The measures of a trained network at those of these lengths that there are words of; the refusals of
    `Retest.prepare`."""
    test = Retest.prepare(opened(place), config, lengths, seed)
    return test.points(test.model(temperature=temperature))


@dataclass(frozen=True)
class Retest:
    """A trained network, and what it is tested on once more."""

    run: Opened
    config: RunConfig
    lengths: Sequence[int]
    seed: int
    data: Data
    objective: Objective

    @classmethod
    def prepare(cls, run: Opened, config: RunConfig, lengths: Sequence[int], seed: int) -> Retest:
        """The test of a run under this config.

        Raises UserError if the config cannot be tested, the text is no longer what it was, the language has no word of
        any of the lengths, or it has other symbols or answers than the model was trained on.
        """
        words = validate(config, lengths=lengths)
        run.refuse_words(words)
        objective = objectives.build(config.objective, words)
        run.refuse_objective(objective, config.objective.name)
        return cls(run, config, lengths, seed, words, objective)

    def model(
        self,
        changes: Mapping[str, Any] = {},
        temperature: Temperature | None = None,
        prototypes: Float[Tensor, "K d_model"] | None = None,
        bias: Bias | None = None,
    ) -> Model:
        """The network as it is tested; UserError if it has no states to be replaced by the `prototypes`."""
        device, model = prepare(self.config), self.run.network(changes)
        if bias is not None:
            bias.set_on(model)
        if temperature is not None:
            temperature.set_on(model)
        if prototypes is not None:
            model = quantise(model, prototypes, folder_of(self.run))
        return model.to(device)

    def points(self, model: Model, watch: Watch = UNWATCHED) -> list[Point]:
        """The measures by length."""
        return measures_by_length(
            model,
            self.data,
            self.objective,
            self.lengths,
            config=self.config.evaluation,
            seed=self.seed,
            device=prepare(self.config),
            train_len=self.config.data.train_len,
            on_test=watch.on_test,
            on_point=watch.on_point,
            on_words=watch.on_words,
        )

    def beside(self, points: Sequence[Point], is_changed: bool, watch: Watch) -> dict[str, Any]:
        """Of a checkpoint that is tested otherwise than it was trained, the perplexity over that as trained.

        At every length, in pairs of segments. A run is held against its training length instead.
        """
        if isinstance(self.run, OpenedRun) or not (is_changed or self.config.evaluation.attention != "full"):
            return {}
        config = self.config.replaced({"evaluation.attention": "full"})
        lengths = [T for T in self.lengths if self.run.config.network.too_long(T) is None]
        plain = replace(self, config=config, lengths=lengths).points(self.run.network().to(prepare(config)), watch)
        trained = {point.length: point for point in plain}
        assert isinstance(self.data, Segmented), "a checkpoint is tested on a text"
        ratios = {p.length: self.data.ratio(p, trained[p.length]) for p in points if p.length in trained}
        return {"to_trained": {str(T): [ratio.value, ratio.low, ratio.high] for T, ratio in ratios.items()}}

    def answered(self, model: Model) -> str:
        """The test words with their answers, as a CSV file; the refusals of `regulargpt.runs.answered`."""
        with seen_through(model, self.config.evaluation.attention, self.config.data.train_len):
            of = self.lengths, self.config.evaluation, self.seed, prepare(self.config)
            return answered(model.eval(), self.data, self.objective, *of)

    def facts(self, points: Sequence[Point]) -> dict[str, Any]:
        """What a test on segments says beside its measures: held against the network with the options of its training.

        Nothing of other words. Where the lengths have no ratio, without the training length or a longer length, it is
        held against nothing: a second pass over the text would be in vain.
        """
        if not isinstance(self.data, Segmented):
            return {}
        base, against = self.run.learned_len, None
        if base in self.lengths and max(self.lengths) > base:
            device = prepare(self.config)
            model = self.run.network().to(device)
            against = self.data.reference(model, self.objective, self.config, self.seed, device, base)
        return self.data.facts(points, self.config, against, base)


def folder_of(run: Opened) -> RunFolder:
    """The folder with a run's certificate; UserError for what is no run."""
    if not isinstance(run, OpenedRun):
        raise UserError(f"{shown(run.path)} is no run, and has no certificate to be quantised by")
    return run.folder
