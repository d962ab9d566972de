"""Published claims on results made by hand: one that holds, one that does not, one that cannot be decided."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from experiments import claims
from experiments.claims import Bound, Claim, Gap, Level, Place, Ratio, change, lead
from experiments.registry import EXPERIMENTS, experiment
from experiments.text.page import points
from experiments.text.results import Results, Unknown, paired
from experiments.text.table import TextTable
from regulargpt.evaluation.interval import Interval

L, SEGMENTS = 64, 32
NOISE = np.random.default_rng(0).normal(0, 0.5, SEGMENTS)
TABLES = [table for name in EXPERIMENTS if isinstance(table := experiment(name), TextTable)]


def model(*ratios: float, spread: float = 0.01) -> Mapping[int, np.ndarray]:
    """Losses whose perplexities at 1x, 2x, ... have these ratios to e^2; segments are hard and easy alike in all."""
    wiggle = spread * np.random.default_rng(1).normal(0, 1, SEGMENTS)
    wiggle -= wiggle.mean()
    return {L * 2**i: 2 + np.log(ratio) + NOISE + wiggle * (i + 1) for i, ratio in enumerate(ratios)}


RESULTS = Results(
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
            "apart": {
                0: {64: Interval(0.9, 0.9, 0.9), 256: Interval(0.7, 0.7, 0.7)},
                1: {64: Interval(0.7, 0.7, 0.7), 256: Interval(0.5, 0.45, 0.55)},
            },
            "other": {2: {64: Interval(0, 0, 0), 256: Interval(0, 0, 0)}},
            "half": {0: {64: Interval(0, 0, 0), 256: Interval(0, 0, 0)}, 1: {64: Interval(0, 0, 0)}},
        }
    },
)
BOTH = Bound((Ratio("falling", 2), Ratio("rising", 2)), "below", 1.0)
CASES: list[tuple[Bound, str]] = [
    (claims.stays_within("flat", 3), "holds"),
    (claims.stays_within("rising", 3), "does not"),
    (claims.stays_within("noisy", 3), "not decidable here"),
    (claims.stays_within("short", 3), "not decidable here"),
    (claims.stays_within("none", 3), "not decidable here"),
    (claims.falls_below("falling"), "holds"),
    (claims.falls_below("rising"), "does not"),
    (claims.falls_below("noisy"), "not decidable here"),
    (claims.falls_below("seeds"), "not decidable here"),
    (claims.falls_on("falling", (2, 4, 8)), "holds"),
    (claims.falls_on("rising", (2, 4, 8)), "does not"),
    (claims.rises("rising"), "holds"),
    (claims.rises("falling"), "does not"),
    (claims.rises("exploding", base=4), "holds"),
    (claims.explodes("exploding"), "holds"),
    (claims.explodes("late", beyond=4), "holds"),
    (claims.explodes("late"), "does not"),
    (claims.explodes("rising", by=1.05), "holds"),
    (claims.explodes("short"), "does not"),
    (claims.explodes("none"), "not decidable here"),
    (claims.beats("flatter", "flat"), "holds"),
    (claims.beats("flat", "flatter"), "does not"),
    (claims.beats("flatter", "flat", "falling"), "does not"),
    (claims.beats("flat", "noisy"), "not decidable here"),
    (claims.no_worse("flat", "flatter", 12), "holds"),
    (claims.no_worse("flat", "flatter", 5), "does not"),
    (claims.no_better("flatter", "flat", 12), "holds"),
    (claims.no_better("flatter", "flat", 5), "does not"),
    (claims.stays_within("late", 3, (4,), base=2), "holds"),
    (claims.stays_within("late", 3, (4, 8), base=2), "does not"),
    (claims.above("share", "rising", 0.3, at=4), "holds"),
    (claims.above("share", "flat", 0.99, at=4), "not decidable here"),
    (claims.below("share", "rising", 0.99, at=4), "holds"),
    (claims.below("share", "rising", 0.3, at=4), "does not"),
    (claims.leads("share", "flat", "rising", at=4), "holds"),
    (claims.leads("share", "rising", "flat", at=4), "does not"),
    (claims.leads("share", "flat", "falling", at=4), "not decidable here"),
    (Bound((claims.change("share", "apart", 4, 1),), "below", -0.1), "holds"),
    (Bound((claims.change("share", "apart", 4, 1),), "below", -0.18), "not decidable here"),
    (Bound((claims.change("share", "half", 4, 1),), "below", 1.0), "not decidable here"),
    (BOTH, "does not"),
]


@pytest.mark.parametrize(("test", "answer"), CASES, ids=[test.rule for test, _ in CASES])
def test_every_rule(test: Bound, answer: str):
    assert test(RESULTS).answer == answer


def test_a_figure_that_fails_is_shown_before_one_that_is_larger_and_open():
    certain, open_ = Ratio("seeds", 2), Ratio("noisy", 2)
    results = Results(L, {"seeds": {0: model(1, 1.01, spread=0.001)}, "noisy": {0: model(1, 1.02, spread=1.0)}})
    verdict = Bound((certain, open_), "below", 1.0)(results)
    assert verdict.answer == "does not"
    assert verdict.figure.startswith("seeds, ")


def test_what_has_no_figure_does_not_hold():
    nothing = Bound((), "below", 0.0)
    assert (nothing(RESULTS).answer, nothing(RESULTS).why) == ("not decidable here", nothing.rule)
    assert Claim("", "", (nothing, claims.falls_below("falling"))).verdict(RESULTS).answer == "not decidable here"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_rule_is_printed_with_the_bound_that_is_tested(table: TextTable):
    for test in (test for claim in table.claims for test in claim.bounds):
        printed, bound = test.rule.rsplit(maxsplit=1)
        assert float(bound) == pytest.approx(test.bound, rel=1e-11)
        assert printed.endswith(test.side)
        assert all(figure.form.partition("{k}")[0] in printed for figure in test.figures)


def test_no_end_of_an_interval_is_printed_as_the_bound_that_it_is_beside():
    losses = {L: np.array([0.0, 0.0]), 2 * L: np.log(1.00496) + np.array([0.0, 1e-9])}
    verdict = claims.stays_within("near", 0.5, (2,))(Results(L, {"near": {0: losses}}))
    assert (verdict.answer, verdict.seeds) == ("holds", 1)
    assert verdict.figure == "near, PPL(2x) / PPL(1x) = 1.00496 [1.00496, 1.00496]"


def test_a_claim_is_of_as_many_seeds_as_its_figures_have_at_least():
    many = {seed: model(1, 0.9) for seed in range(4)}
    results = Results(L, {"many": many, "few": {0: model(1, 0.8), 1: model(1, 0.8)}})
    assert claims.falls_below("many")(results).seeds == 4
    assert claims.beats("few", "many", at=(2,))(results).seeds == 2
    both = Claim("", "", (claims.falls_below("many"), claims.falls_below("few")))
    assert (both.verdict(results).answer, both.verdict(results).seeds) == ("holds", 2)


def test_segments_of_one_file_count_together():
    numbers = np.repeat([0.01, 0.03, 0.05, 0.07], 8)
    losses = {L: np.zeros(32), 2 * L: numbers}
    alone, in_files = (
        Results(L, {"row": {0: losses}}, files=files).difference(("row", 2), ("row", 1))
        for files in ({}, {0: {32: np.repeat(np.arange(4), 8)}})
    )
    assert alone.value == in_files.value
    assert in_files.over == {"seeds": 1, "files": 4}
    assert in_files.high - in_files.low > 3 * (alone.high - alone.low)


def test_the_figure_is_the_one_that_decides():
    verdict = claims.stays_within("rising", 3)(RESULTS)
    assert verdict.figure.startswith("rising, PPL(16x) / PPL(1x) = 1.400 [1.3")
    assert claims.explodes("exploding")(RESULTS).figure.startswith("exploding, PPL(2x) / PPL(1x) = 2.000")


def test_a_difference_is_paired_by_segment():
    # A loss is known within a fifth of a nat; the difference of two lengths twenty times as well.
    loss, gap = RESULTS.loss("flat", 1), RESULTS.difference(("flat", 2), ("flat", 1))
    assert loss.high - loss.low > 20 * (gap.high - gap.low)
    assert abs(gap.value) < 1e-12


def test_seeds_that_disagree_decide_nothing():
    gap = RESULTS.difference(("seeds", 2), ("seeds", 1)).through(math.exp)
    assert gap.low < 0.91
    assert gap.high > 1.09
    # Rows are compared in the seeds that both have.
    assert RESULTS.difference(("seeds", 1), ("flat", 1)).value == pytest.approx(0)


def test_segments_side_by_side_are_paired_with_the_longer_ones_that_they_make():
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
    (lambda: Results(L, {"a": {0: model(1)}, "b": {1: model(1)}}).difference(("a", 1), ("b", 1)), "no seed in common"),
    (lambda: Results(L, {"a": {0: {L: np.ones(1)}}}).loss("a", 1), "one segment has no interval"),
]


@pytest.mark.parametrize(("ask", "reason"), UNKNOWN, ids=[reason for _, reason in UNKNOWN])
def test_what_is_not_known_has_a_reason(ask, reason: str):
    with pytest.raises(Unknown, match=reason):
        ask()


def test_a_claim_holds_if_all_its_tests_do_and_says_why_not():
    holds, fails, opens = (
        claims.falls_below("falling"),
        claims.falls_below("rising"),
        claims.falls_below("none"),
    )
    reason = "too little text"
    assert Claim("", "", (holds, holds), reason).verdict(RESULTS).why == ""
    assert Claim("", "", (holds, opens)).verdict(RESULTS).answer == "not decidable here"
    verdict = Claim("", "", (holds, opens, fails), reason).verdict(RESULTS)
    assert (verdict.answer, verdict.why) == ("does not", reason)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_claims_are_about_rows_that_are_there(table: TextTable):
    for claim in table.claims:
        assert claim.tests, claim.sentence
        for figure in (figure for test in claim.tests for figure in test.figures):
            assert isinstance(figure, Ratio | Level)
            named = {figure.row, figure.other or figure.row}
            assert named <= table.subjects.keys(), claim.sentence
            assert figure.multiple in (*table.multiples, 1, 2, 4, 8, 16)
            if isinstance(figure, Level):
                assert figure.measure in {*table.measuring, *table.sharpening}


# What a paper claims of all its tables, or of their averages, and some of the numbers contradict.
CONTRADICTED = {
    ("lex-table-2", "LEX is better than all others at every longer length.", "arXiv"),
    ("table-5.4", "P_max finds more than entropy does.", "Flan-T5-XL"),
    ("table-5.4", "P_max finds more than entropy does.", "Flan-T5-XXL"),
    ("table-5.4", "P_max finds more than the rule that knows lengths alone.", "Flan-T5-Large"),
    ("table-5.4", "P_max finds more than the rule that knows lengths alone.", "Flan-T5-XL"),
    ("table-5.4", "P_max finds more than the rule that knows lengths alone.", "Flan-T5-XXL"),
    ("table-5.4", "P_max makes T5 find more: line.", "Flan-T5-XXL"),
    ("table-5.4", "P_max makes T5 find more: passkey.", "Flan-T5-XL"),
    ("table-5.4", "P_max makes T5 find more: passkey.", "Flan-T5-XXL"),
    ("table-5.4", "P_max makes T5 find more: topic.", "Flan-T5-Large"),
    ("table-5.4", "P_max makes T5 find more: topic.", "Flan-T5-XL"),
    ("table-5.4", "P_max makes T5 find more: topic.", "Flan-T5-XXL"),
}


@pytest.mark.parametrize(
    ("first", "second", "printed"), [(0.75, 0.5, 0.25), (None, 0.5, None), (0.75, None, None), (0.5, 0.0, 0.5)]
)
def test_a_difference_is_printed_where_both_values_are(first: float | None, second: float | None, printed: float):
    known = {
        ("row", 8): first,
        ("row", 1): second,
        ("other", 8): second,
        ("line/log", 1): first,
        ("line/none", 1): second,
    }

    def value(row: str, multiple: int) -> float | None:
        return known[row, multiple]

    assert change("share", "row", 8, 1, is_printed=True).printed(value) == printed
    assert change("share", "row", 8, 1).printed(value) is None
    assert lead("share", "row", "other", 8).printed(value) == printed
    assert Gap("share", Place("line", "log", 1), Place("line", "none", 1)).printed(value) == printed


def is_of_shown(claim: Claim, table: TextTable) -> bool:
    """Whether a claim is of what the cells show; of other measures a table may print no numbers."""
    figures = [figure for test in claim.tests for figure in test.figures]
    return any(getattr(figure, "measure", table.shown) == table.shown for figure in figures)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_claims_hold_in_the_published_numbers(table: TextTable):
    found, contradicted = 0, set()
    for claim in table.claims:
        for test in claim.tests:
            for source in table.sources:
                for data, title in source.data.items():
                    value = test.printed(points(table, source, data))
                    if value is None:
                        continue
                    found += 1
                    if not (value < test.bound if test.side == "below" else value > test.bound):
                        contradicted.add((table.name, claim.sentence, title))
    # Of most figures words were published, and no numbers.
    values = [value for source in table.sources for row in source.table.rows for value in row.values.values()]
    of_papers = [claim for claim in table.claims if claim.source != "ours" and is_of_shown(claim, table)]
    assert found >= len(of_papers) - 2 or all(isinstance(value[0], str) for value in values)
    assert contradicted == {one for one in CONTRADICTED if one[0] == table.name}
