"""Published claims on results made by hand: one that holds, one that does not, one that cannot be decided."""

import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from experiments import claims
from experiments.claims import Bound, Claim, ClaimPlace, Gap, MeasureAt, Ratio, change, lead
from experiments.registry import EXPERIMENTS, experiment
from experiments.score_claims import PageScores, solved, unsolved
from regulargpt.evaluation.interval import Interval
from regulargpt.results.statistics import RunGroup
from regulargpt.text.experiments.page import points
from regulargpt.text.experiments.results import TextResults, Unknown, paired
from regulargpt.text.experiments.table import TextTable

L, SEGMENTS = 64, 32
NOISE = np.random.default_rng(0).normal(0, 0.5, SEGMENTS)
TABLES = [table for name in EXPERIMENTS if isinstance(table := experiment(name), TextTable)]


def model(*ratios: float, spread: float = 0.01) -> Mapping[int, np.ndarray]:
    """Losses whose perplexities at 1x, 2x, ... have these ratios to e^2; segments are hard and easy alike in all."""
    wiggle = spread * np.random.default_rng(1).normal(0, 1, SEGMENTS)
    wiggle -= wiggle.mean()
    return {L * 2**i: 2 + np.log(ratio) + NOISE + wiggle * (i + 1) for i, ratio in enumerate(ratios)}


def sure(value: float) -> Interval:
    return Interval(value, value, value)


RESULTS = TextResults(
    L,
    {
        "flat": {0: model(1, 1, 1, 1, 1)},
        "flatter": {0: model(0.9, 0.9, 0.9, 0.9, 0.9)},
        "falling": {0: model(1, 0.95, 0.9, 0.85, 0.8)},
        "rising": {0: model(1, 1.1, 1.2, 1.3, 1.4)},
        "exploding": {0: model(1, 2, 4, 8, 16)},
        "late": {0: model(1, 1, 1, 4, 8)},
        "noisy": {0: model(1, 1.02, 0.98, 1.01, 0.99, spread=1.0)},
        "short": {0: model(1, 1)},
        "seeds": {0: model(1, 0.9), 1: model(1, 1.1)},
        "none": {},
    },
    {
        "share": {
            "flat": {0: {256: Interval(0.995, 0.98, 0.999)}},
            "rising": {0: {256: Interval(0.5, 0.4, 0.6)}},
            # Each seed falls by 0.2, and one begins where the other ends.
            "apart": {0: {64: sure(0.9), 256: sure(0.7)}, 1: {64: sure(0.7), 256: Interval(0.5, 0.45, 0.55)}},
            "other": {2: {64: sure(0), 256: sure(0)}},
            "half": {0: {64: sure(0), 256: sure(0)}, 1: {64: sure(0)}},
        }
    },
)


def trained(**steps: int) -> TextResults:
    """The same, of rows that were trained for so many steps."""
    return replace(RESULTS, steps=steps)


YES, NO, OPEN = "holds", "does not", "not decidable here"
CASES: dict[str, list[Bound]] = {
    YES: [
        *(claims.stays_within("flat", 3), claims.stays_within("late", 3, (4,), base=2)),
        *(claims.falls_below("falling"), claims.falls_on("falling", (2, 4, 8))),
        *(claims.rises("rising"), claims.rises("exploding", base=4)),
        *(claims.explodes("exploding"), claims.explodes("late", beyond=4), claims.explodes("rising", by=1.05)),
        *(claims.beats("flatter", "flat"), claims.no_worse("flat", "flatter", 12)),
        *(claims.no_better("flatter", "flat", 12), claims.leads("share", "flat", "rising", at=4)),
        *(claims.above("share", "rising", 0.3, at=4), claims.below("share", "rising", 0.99, at=4)),
        Bound((claims.change("share", "apart", 4, 1),), "below", -0.1),
    ],
    NO: [
        *(claims.stays_within("rising", 3), claims.stays_within("late", 3, (4, 8), base=2)),
        *(claims.falls_below("rising"), claims.falls_on("rising", (2, 4, 8)), claims.rises("falling")),
        *(claims.explodes("late"), claims.explodes("short")),
        *(claims.beats("flat", "flatter"), claims.beats("flatter", "flat", "falling")),
        *(claims.no_worse("flat", "flatter", 5), claims.no_better("flatter", "flat", 5)),
        *(claims.below("share", "rising", 0.3, at=4), claims.leads("share", "rising", "flat", at=4)),
        Bound((Ratio("falling", 2), Ratio("rising", 2)), "below", 1.0),
    ],
    OPEN: [
        *(claims.stays_within(row, 3) for row in ("noisy", "short", "none")),
        *(claims.falls_below(row) for row in ("noisy", "seeds")),  # seeds that disagree decide nothing
        *(claims.explodes("none"), claims.beats("flat", "noisy")),
        *(claims.above("share", "flat", 0.99, at=4), claims.leads("share", "flat", "falling", at=4)),
        Bound((claims.change("share", "apart", 4, 1),), "below", -0.18),
        Bound((claims.change("share", "half", 4, 1),), "below", 1.0),
        Bound((), "below", 0.0),
    ],
}


@pytest.mark.parametrize("answer", CASES)
def test_every_rule(answer: str):
    for test in CASES[answer]:
        assert test(RESULTS).answer == answer, test.rule


def test_the_figure_is_the_one_that_decides():
    """One that fails is shown before one that is larger and open."""
    assert claims.stays_within("rising", 3)(RESULTS).figure.startswith("rising, PPL(16x) / PPL(1x) = 1.400 [1.3")
    assert claims.explodes("exploding")(RESULTS).figure.startswith("exploding, PPL(2x) / PPL(1x) = 2.000")
    losses = {"seeds": {0: model(1, 1.01, spread=0.001)}, "noisy": {0: model(1, 1.02, spread=1.0)}}
    verdict = Bound((Ratio("seeds", 2), Ratio("noisy", 2)), "below", 1.0)(TextResults(L, losses))
    assert verdict.answer == NO
    assert verdict.figure.startswith("seeds, ")
    # No end of an interval is printed as the bound that it is beside.
    near = {L: np.array([0.0, 0.0]), 2 * L: np.log(1.00496) + np.array([0.0, 1e-9])}
    verdict = claims.stays_within("near", 0.5, (2,))(TextResults(L, {"near": {0: near}}))
    assert (verdict.answer, verdict.seeds) == (YES, 1)
    assert verdict.figure == "near, PPL(2x) / PPL(1x) = 1.00496 [1.00496, 1.00496]"


def test_a_claim_is_of_as_many_seeds_as_its_figures_have_and_segments_of_one_file_count_together():
    many = {seed: model(1, 0.9) for seed in range(4)}
    results = TextResults(L, {"many": many, "few": {0: model(1, 0.8), 1: model(1, 0.8)}})
    assert claims.falls_below("many")(results).seeds == 4
    assert claims.beats("few", "many", at=(2,))(results).seeds == 2
    both = Claim("", "", (claims.falls_below("many"), claims.falls_below("few")))
    assert (both.verdict(results).answer, both.verdict(results).seeds) == ("holds", 2)
    numbers = np.repeat([0.01, 0.03, 0.05, 0.07], 8)
    losses = {L: np.zeros(32), 2 * L: numbers}
    alone, in_files = (
        TextResults(L, {"row": {0: losses}}, files=files).difference(("row", 2), ("row", 1))
        for files in ({}, {0: {32: np.repeat(np.arange(4), 8)}})
    )
    assert alone.value == in_files.value
    assert in_files.over == {"seeds": 1, "files": 4}
    assert in_files.high - in_files.low > 3 * (alone.high - alone.low)


def test_a_difference_is_paired_by_segment_and_by_seed():
    # A loss is known within a fifth of a nat; the difference of two lengths twenty times as well.
    loss, gap = RESULTS.loss("flat", 1), RESULTS.difference(("flat", 2), ("flat", 1))
    assert loss.high - loss.low > 20 * (gap.high - gap.low)
    assert abs(gap.value) < 1e-12
    gap = RESULTS.difference(("seeds", 2), ("seeds", 1)).through(math.exp)
    assert gap.low < 0.91 < 1.09 < gap.high
    # Rows are compared in the seeds that both have.
    assert RESULTS.difference(("seeds", 1), ("flat", 1)).value == pytest.approx(0)
    # Segments side by side are paired with the longer ones that they make.
    short, long = np.arange(8.0), np.array([2.0, 6.0])
    assert paired(short, long).tolist() == [-0.5, -0.5]
    assert paired(long, short).tolist() == [0.5, 0.5]
    with pytest.raises(Unknown, match="5 and 2 segments are not the same text"):
        paired(np.arange(5.0), long)


UNKNOWN = [
    (lambda: RESULTS.loss("none", 1), "no run of none is done"),
    (lambda: RESULTS.loss("short", 16), "1,024 symbols were not tested"),
    (lambda: RESULTS.measure("share", "falling", 4), "share of falling at 256 symbols was not measured"),
    (lambda: RESULTS.measure("share", "half", 4), "share of half at 256 symbols was not measured"),
    (lambda: RESULTS.change("share", ("apart", 1), ("other", 1)), "apart and other have no seed in common"),
    (
        lambda: TextResults(L, {"a": {0: model(1)}, "b": {1: model(1)}}).difference(("a", 1), ("b", 1)),
        "no seed in common",
    ),
    (lambda: TextResults(L, {"a": {0: {L: np.ones(1)}}}).loss("a", 1), "one segment has no interval"),
]


def test_what_is_not_known_has_a_reason():
    for ask, reason in UNKNOWN:
        with pytest.raises(Unknown, match=reason):
            ask()


def test_a_claim_holds_if_all_its_tests_do_and_says_why_not():
    holds, fails, opens = (claims.falls_below(row) for row in ("falling", "rising", "none"))
    reason = "too little text"
    assert Claim("", "", (holds, holds), reason).verdict(RESULTS).why == ""
    assert Claim("", "", (holds, opens)).verdict(RESULTS).answer == OPEN
    verdict = Claim("", "", (holds, opens, fails), reason).verdict(RESULTS)
    assert (verdict.answer, verdict.why) == (NO, reason)
    nothing = Bound((), "below", 0.0)
    assert nothing(RESULTS).why == nothing.rule
    assert Claim("", "", (nothing, holds)).verdict(RESULTS).answer == OPEN


def scored(score: float, *steps: int) -> Any:
    """The results of one cell, parity of an LSTM, whose runs had these steps."""
    group = asdict(RunGroup((), 1, 0, (score,), score, score, None, score, None, None, None, 0, 0))
    return PageScores.from_cells([{"row": "lstm", "column": "parity", "group": group, "steps": steps}])


LEARNS, FAILS = solved(["lstm"], "parity"), unsolved(["lstm"], "parity")
FEW, FULL = (2_000, 4_000), (100_000, 100_000)


@pytest.mark.parametrize(
    ("test", "results", "published", "text"),
    [
        # Few steps do not refute that it learns; the paper's do.
        (LEARNS, scored(50.0, *FEW), 100_000, "not reached in 4,000 steps"),
        (LEARNS, scored(50.0, *FULL), 100_000, "does not"),
        (LEARNS, scored(50.0, 50_000, 100_000), 100_000, "not reached in 100,000 steps"),  # one run had fewer
        (LEARNS, scored(50.0, *FULL), 0, "not reached in 100,000 steps"),  # the paper does not say
        # What is learned is learned, in however few; that it is not so far says little.
        (LEARNS, scored(99.0, *FEW), 100_000, "holds"),
        (FAILS, scored(99.0, *FEW), 100_000, "does not"),
        (FAILS, scored(50.0, *FEW), 100_000, "holds in 4,000 steps"),
        (FAILS, scored(50.0, *FULL), 100_000, "holds"),
        # Curves may still turn either way.
        (claims.falls_below("rising"), trained(rising=600), 50_000, "not reached in 600 steps"),
        (claims.falls_below("falling"), trained(falling=600), 50_000, "holds in 600 steps"),
        (claims.falls_below("rising"), trained(rising=50_000), 50_000, "does not"),
        (claims.beats("flat", "flatter"), trained(flat=50_000, flatter=600), 50_000, "not reached in 50,000 steps"),
        (claims.falls_below("noisy"), trained(noisy=600), 50_000, OPEN),
        (claims.falls_below("rising"), RESULTS, 50_000, NO),  # a checkpoint, that nobody trained here
    ],
)
def test_only_the_published_steps_refute_a_method(test: Bound, results: Any, published: int, text: str):
    assert Claim("", "", (test,), steps=published).verdict(results).text == text


def test_a_score_that_was_not_to_be_reached_refutes_in_few_steps_beside_ones_that_are_not_reached_yet():
    both = Claim("", "", (LEARNS, unsolved(["gru"], "parity")), steps=100_000)
    short = scored(50.0, *FEW)
    cells = {**short.cells, ("gru", "parity"): {**scored(99.0, *FEW).cells["lstm", "parity"], "row": "gru"}}
    assert both.verdict(short).text == "not reached in 4,000 steps"  # of the other there is no run
    every: Any = PageScores(cells)
    assert both.verdict(every).text == "does not"


def test_claims_know_the_steps_that_their_paper_states():
    stated = {
        "rivals": {100_001, 100_000, 0},
        "deletang-2023": {1_000_000},
        "table-3.9": {50_000},  # of the models of 162M, not 1.3B
        "lex-table-5": {50_000},
        "figure-3.5": {0},
    }
    assert {name: {claim.steps for claim in experiment(name).claims} for name in stated} == stated


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_claims_are_about_rows_that_are_there_and_rules_printed_with_their_bounds(table: TextTable):
    for claim in table.claims:
        assert claim.tests, claim.sentence
        for figure in (figure for test in claim.tests for figure in test.figures):
            assert isinstance(figure, Ratio | MeasureAt)
            assert {figure.row, figure.other or figure.row} <= table.subjects.keys(), claim.sentence
            assert figure.multiple in (*table.multiples, 1, 2, 4, 8, 16)
            assert isinstance(figure, Ratio) or figure.measure in {*table.measuring, *table.sharpening}
        for test in claim.bounds:
            printed, bound = test.rule.rsplit(maxsplit=1)
            assert float(bound) == pytest.approx(test.bound, rel=1e-11)
            assert printed.endswith(test.side)
            assert all(figure.form.partition("{k}")[0] in printed for figure in test.figures)


# What a paper claims of all its tables, or of their averages, and some of the numbers contradict.
P_MAX = {
    "P_max finds more than entropy does.": ["XL", "XXL"],
    "P_max finds more than the rule that knows lengths alone.": ["Large", "XL", "XXL"],
    "P_max makes T5 find more: line.": ["XXL"],
    "P_max makes T5 find more: passkey.": ["XL", "XXL"],
    "P_max makes T5 find more: topic.": ["Large", "XL", "XXL"],
}
CONTRADICTED = {
    "lex-table-2": {("LEX is better than all others at every longer length.", "arXiv")},
    "table-5.4": {(sentence, f"Flan-T5-{size}") for sentence, sizes in P_MAX.items() for size in sizes},
}


@pytest.mark.parametrize(
    ("first", "second", "printed"), [(0.75, 0.5, 0.25), (None, 0.5, None), (0.75, None, None), (0.5, 0.0, 0.5)]
)
def test_a_difference_is_printed_where_both_values_are(first: float | None, second: float | None, printed: float):
    known = {("row", 8): first, ("row", 1): second, ("other", 8): second, ("line/log", 1): first}

    def value(row: str, multiple: int) -> float | None:
        return known.get((row, multiple), second)

    assert change("share", "row", 8, 1, is_printed=True).printed(value) == printed
    assert change("share", "row", 8, 1).printed(value) is None
    assert lead("share", "row", "other", 8).printed(value) == printed
    assert Gap("share", ClaimPlace("line", "log", 1), ClaimPlace("line", "none", 1)).printed(value) == printed


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_claims_hold_in_the_published_numbers(table: TextTable):
    found, contradicted = 0, set()
    for claim, source in product(table.claims, table.sources):
        for test, (data, title) in product(claim.tests, source.data.items()):
            value = test.printed(points(table, source, data))
            found += value is not None
            if value is not None and not (value < test.bound if test.side == "below" else value > test.bound):
                contradicted.add((claim.sentence, title))
    assert contradicted == CONTRADICTED.get(table.name, set())
    # Of most figures words were published, and no numbers; of other measures than those of its cells a table has none.
    shown = [
        claim
        for claim in table.claims
        if claim.source != "ours"
        and any(
            getattr(figure, "measure", table.shown) == table.shown for test in claim.tests for figure in test.figures
        )
    ]
    values = [value for source in table.sources for row in source.table.rows for value in row.values.values()]
    assert found >= len(shown) - 2 or all(isinstance(value[0], str) for value in values)
