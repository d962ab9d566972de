"""What a certified network still needs: that its states no longer drift, and of a small table that balls close."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace

from torch import Tensor

from regulargpt.certificate.search.image_bounds import ImageBounds
from regulargpt.certificate.tuning.fine_tuning import TrainingTable
from regulargpt.certificate.tuning.last_layer import solve_last_layer
from regulargpt.certificate.tuning.state import Certified
from regulargpt.certificate.tuning.table_tuner import TableTuner
from regulargpt.certificate.unquantised import Searched
from regulargpt.models.tree.base import Tree
from regulargpt.training.table_fine_tuning import TableFineTuningOptions

# A certified network is trained on its table while states drift farther than this, in units of half the smallest
# distance of two prototypes. That is asked every so many steps and where a round ends, with the last layer solved for
# the table.
MOST_DRIFT, DRIFT_EVERY = 0.5, 50
# While prototypes learn it is queried less often by this factor, and without the layer: solved for 340,000 windows, it
# brought some of them twice as far from their prototypes.
LEARNING = 4
# A network that no longer drifts is proven only with its states replaced. Where its table has at most so many windows,
# or as many as the last layer has inputs, which could bring each exactly to its prototype, it is trained for so many
# further steps (for more windows than `SMALL`, the more of them) and to the end of that round at most, its Jacobian
# drawn to 0 with more weight, until balls prove it as it is, and with this slack. They are looked for while the drift
# is small, else there are none; for more windows than `SMALL` that takes minutes, so only where a round ends.
SMALL, TIGHTENING, TIGHT, SLACK, CLOSE = 256, 1000, 10.0, 1e-4, 0.1


def is_time(tuner: TableTuner, stage: Certified, step: int, options: TableFineTuningOptions) -> bool:
    """Whether a certified network is looked at after this step: every so many of them, and where a round ends."""
    every = DRIFT_EVERY if tuner.free is None else LEARNING * DRIFT_EVERY
    return step > stage.certified_at and (step % every == 0 or stage.ends_round(step, options))


@dataclass
class StabilityCheck:
    """Check a certified network after a step: does it need more training?

    `holds` asks whether it is still certified, `search` for balls, both as it is then. `drift` is how far its states
    drift, `searched` what a search for balls came to last.
    """

    model: Tree
    tuner: TableTuner
    stage: Certified
    options: TableFineTuningOptions
    step: int
    seed: int
    holds: Callable[[], bool]
    search: Callable[[], Searched | None]
    searched: Searched | None
    drift: float = float("inf")

    @property
    def ends_round(self) -> bool:
        """Whether a round ends with this step."""
        return self.stage.ends_round(self.step, self.options)

    def run(self) -> tuple[Certified, bool]:
        """The stage then, and whether the network needs no more, so that training may end.

        The last layer that the table asks for stays if it ends the training; else training goes on without it. Where a
        round ends, the layer is undone if states drift less without it.
        """
        model, training, stage = self.model, self.model.training, self.stage
        table, before = self.tuner.current(model.eval()), deepcopy(model.state_dict())
        solved = self.tuner.free is None and solve_last_layer(model, table, self.seed + self.step)
        self.drift = table.drift(model, self.seed)
        if solved and self.ends_round:
            solved = not self.undo_unless_better(table, before)
        since = self.steady_since
        if since is not None and stage.steady_since is None:
            stage = replace(stage, steady_since=since)
        needs_no_more = since is not None and not self.may_bring_balls(since) and self.holds()
        if not needs_no_more and solved and self.step != stage.end(self.options):
            model.load_state_dict(before)
        model.train(training)
        return stage, needs_no_more

    @property
    def steady_since(self) -> int | None:
        """The step since which its states do not drift; None if they do now."""
        if not self.drift < MOST_DRIFT:
            return None
        return self.step if self.stage.steady_since is None else self.stage.steady_since

    def undo_unless_better(self, table: TrainingTable, before: Mapping[str, Tensor]) -> bool:
        """Bring the weights `before` back, unless it is certified and drifts less without them; whether they are."""
        model, solved = self.model, deepcopy(self.model.state_dict())
        model.load_state_dict(before)
        without = table.drift(model, self.seed)
        if self.drift < without:
            model.load_state_dict(solved)
            if self.holds():
                return False
            model.load_state_dict(before)
        self.drift = without
        return True

    def may_bring_balls(self, steady_since: int) -> bool:
        """Search for balls, if it is time. Whether more training may bring some: of a small table, for a while."""
        n_windows = self.tuner.n_windows
        if self.tuner.free is not None or not is_small(n_windows, self.model):
            return False
        lasts = self.step < steady_since + TIGHTENING * max(1.0, n_windows / SMALL) or not self.ends_round
        if self.drift >= CLOSE or (n_windows > SMALL and not self.ends_round):
            return lasts
        self.searched = self.search()
        return lasts and (self.searched is None or self.searched.slack < SLACK)


def is_small(n_windows: int, model: Tree) -> bool:
    """Whether a table has so few windows that training may bring balls: `SMALL`, or the inputs of the last layer.

    Of more than `ImageBounds.MAX_ENTRIES` none are looked for.
    """
    layer = model.last_layer
    return n_windows <= (SMALL if layer is None else min(ImageBounds.MAX_ENTRIES, max(SMALL, layer.in_features)))
