"""The table of today's networks: what its claims point at, averages, each score, notes beside published numbers."""

from pathlib import Path

import pytest

from experiments.cells import cells
from experiments.cells import lines as shown
from experiments.claims import FAILS, HOLDS, OPEN
from experiments.experiment import SCALES
from experiments.page.record import ItemList
from experiments.published import published
from experiments.recorded import gathered
from experiments.rivals import EXPERIMENT, PUBLISHED, TASKS, runs
from experiments.score_claims import Average, PageScores, ScoreFigure
from experiments.score_page import newer, verdicts
from regulargpt.config.schema import RunConfig
from tests.experiments.folders import filled

# One accuracy for each task of a network: parity first.
SCORES = {"pd-ssm": (100.0, 100.0, 100.0, 98.0), "rwkv7": (51.0, 88.0, 38.0, 42.0)}


def score(config: RunConfig) -> float:
    network = "pd-ssm" if config.model.name == "pd-ssm" else "rwkv7"
    task = config.data.name.partition(":")[0]
    return SCORES[network][PUBLISHED.index(task)] - config.seed if task in PUBLISHED else 1.0


def test_every_claim_is_about_cells_that_have_runs():
    kinds = set()
    for figure in (figure for claim in EXPERIMENT.claims for bound in claim.bounds for figure in bound.figures):
        assert isinstance(figure, Average | ScoreFigure)
        kinds.add(type(figure))
        assert all(runs(figure.row, at, "cpu") for at in getattr(figure, "columns", (getattr(figure, "column", ""),)))
    assert kinds == {ScoreFigure, Average}


@pytest.mark.parametrize("scale", SCALES)
def test_every_network_has_the_same_words(scale):
    configs = EXPERIMENT.all_configs(scale)
    assert {config.protocol for config in configs} == {"walker2025-1"}
    assert {(c.data.shortest, c.data.train_len, c.scored[0], c.test_len) for c in configs} == {(3, 40, 41, 256)}
    tasks = {(c.data.name.partition(":")[0], repr(c.data)) for c in configs}
    spelled = 1  # RegularGPT reads pairs of an operator and a digit
    assert len(tasks) == len(TASKS) + spelled


def test_averages_and_verdicts(tmp_path: Path):
    folder = filled(tmp_path / "sweep", EXPERIMENT, "cpu", ["pd-ssm", "rwkv7"], score)
    values = cells(EXPERIMENT, "cpu", gathered(EXPERIMENT, "cpu", folder))
    average = Average("pd-ssm", PUBLISHED).value_in(PageScores.from_cells(values))
    assert (average.value, average.low, average.high, average.seeds) == pytest.approx((98.5, 97.5, 99.5, 3))
    said = {verdict.sentence: verdict for verdict in verdicts(EXPERIMENT, "cpu", values)}
    assert said["RWKV-7 fails parity."].answer == HOLDS
    assert said["PD-SSM averages 98.8."].answer == OPEN
    assert said["PD-SSM averages 98.8."].published == "98.8"
    assert said["An LSTM solves all four tasks."].answer == OPEN  # no run of it is there
    assert FAILS not in {verdict.answer for verdict in said.values()}
    each = next(one for one in values if (one["row"], one["column"]) == ("pd-ssm", "parity-each"))
    assert [line.text for line in shown(each)] == ["98.00, 99.00, 100"]


@pytest.mark.parametrize("name", EXPERIMENT.related)
def test_other_tables_say_what_contradicts_them(name: str):
    *_, doubts = newer(published(name))
    assert isinstance(doubts, ItemList)
    assert len(doubts.items) == len(published(name).doubts) > 0
