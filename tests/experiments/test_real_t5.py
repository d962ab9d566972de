"""Table 5.4 with a checkpoint: what is asked of it, and what the page and its claims say of the answers."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.claims import ALL, ClaimPlace, Gap
from experiments.page import files
from experiments.page.markdown import markdown
from experiments.page.record import Page
from regulargpt.text.corpora.retrieval.prompts import PROMPTS
from regulargpt.text.experiments.checkpoint.answers import Answer, AnswerColumn, Identity
from regulargpt.text.experiments.checkpoint.claims import claims
from regulargpt.text.experiments.checkpoint.page import checkpoint_page, wilson
from regulargpt.text.experiments.checkpoint.plan import STRATEGIES, TRAIN_LEN, ColumnPlan, plan

XL = {"d_model": 2048, "num_layers": 24, "d_ff": 5120, "num_heads": 32}


# What is asked.


def test_sizes_are_the_published_columns():
    assert plan("full").sizes == {
        "topic": (5, 10, 15, 20, 25),
        "line": (200, 300, 400, 500, 600, 680),
        "passkey": (20_000, 30_000, 40_000, 50_000, 55_000),
    }
    samples = [plan(scale).samples for scale in ("full", "cpu", "smoke")]
    assert [*samples, plan("cpu", samples=7).samples] == [100, 20, 2, 7]


@pytest.mark.parametrize("task", PROMPTS)
def test_temperatures_are_found_on_prompts_that_are_not_asked(task: str):
    small = replace(plan("smoke", samples=6), aligned=6)
    size = small.sizes[task][0]
    prompts = [prompt.text for prompt in small.prompts(task, size)]
    assert len({*prompts, *small.long(task, size)}) == 12
    short = small.short(task, lambda text: len(text.split()))
    assert all(380 < len(text.split()) <= TRAIN_LEN for text in short)
    assert min(map(len, small.long(task, size))) > 0
    # A prompt does not depend on how many are asked.
    assert prompts[:2] == [prompt.text for prompt in plan("smoke").prompts(task, size)]


def column(*right: bool) -> AnswerColumn:
    return AnswerColumn(1, 1.0, False, tuple(Answer("", "", one) for one in right))


@given(right=st.integers(0, 300), wrong=st.integers(0, 300))
def test_intervals_are_wilsons_and_columns_together_one_share(right: int, wrong: int):
    if not (count := right + wrong):
        return
    answers = [True] * right + [False] * wrong
    found = wilson([column(*answers)])
    assert found == wilson([column(*answers[: count // 2]), column(*answers[count // 2 :])])
    p, z = right / count, 1.959963984540054
    assert found.value == pytest.approx(100 * p)
    # Its ends are the shares from which p is just as far as z standard errors of theirs.
    for end, other in ((found.low / 100, 0.0), (found.high / 100, 1.0)):
        assert end == pytest.approx(other) or abs(p - end) == pytest.approx(z * math.sqrt(end * (1 - end) / count))


# The page.


def identity(sizes: dict[str, int]) -> Identity:
    return Identity("a" * 64, "b" * 64, "full", 100, 8, 0, "of-mine", sizes, {"torch": "2", "runs": 1})


Share = Callable[[str, int, str], tuple[int, float]]


def made(share: Share, sizes: dict[str, int] = XL, asked: ColumnPlan | None = None) -> Page:
    """The record of a checkpoint of which so many of 100 answers are right, at a temperature."""
    whole, found = asked or plan("full"), {}
    for task, size in whole.columns:
        for strategy in STRATEGIES:
            right, tau = share(task, size, strategy)
            answers = tuple(Answer("1", "1", at < right) for at in range(100))
            found[task, size, strategy] = AnswerColumn(size, tau, False, answers)
    return checkpoint_page(whole, identity(sizes), found, "regulargpt reproduce", (61.0,))


def published_like(task: str, size: int, strategy: str) -> tuple[int, float]:
    """P_max is best, and temperatures fall with the size."""
    right = {"none": 60, "p_max": 95, "entropy": 80, "log": 70}[strategy] - (20 if size in (25, 680, 55_000) else 0)
    fall = plan("full").sizes[task].index(size) / 100
    return right, {"none": 1.0, "p_max": 0.8 - fall, "entropy": 0.6 - fall, "log": 0.7 - fall}[strategy]


def test_published_values_of_the_same_sizes_stand_beside_ours(tmp_path: Path):
    found = made(published_like)
    by = {(cell["task"], cell["size"], cell["strategy"]): cell for cell in found.cells}
    assert found.facts["published_as"] == "xl"
    assert [by["line", 680, s]["published"] for s in STRATEGIES] == [26.0, 62.0, 71.0, 67.0]
    assert [by["passkey", 55_000, s]["published_tau"] for s in STRATEGIES] == [None, 0.75, 0.6, 0.65]
    text = markdown(found)
    assert "has the sizes of Flan-T5-XL (d\\_model 2,048, layers 24, d\\_ff 5,120, heads 32)" in text
    first = "| P\\_max | **95 \\[88.8, 97.8\\]**<br>published 97<br>"
    (row,) = (line for line in text.splitlines() if line.startswith(first))
    sixth = "**75 \\[65.7, 82.5\\]**<br>published 62<br>temperature 0.75<br>published 0.7"
    assert row.split(" | ")[6].startswith(sixth)
    files.write(tmp_path, found)
    assert files.read(tmp_path) == found
    other = made(published_like, {**XL, "d_ff": 16_384})
    assert other.facts["published_as"] == ""
    assert all(cell["published"] is None and cell["published_tau"] is None for cell in other.cells)
    assert not any(claim.published for claim in other.claims)
    assert "No published model has the sizes of of-mine" in markdown(other)
    assert "<br>published" not in markdown(other)


def answers_of(found: Page) -> dict[str, str]:
    return {claim.sentence: claim.answer for claim in found.claims}


def test_claims_hold_where_results_are_as_published_and_not_the_other_way_round():
    def reversed_(task: str, size: int, strategy: str) -> tuple[int, float]:
        right, tau = published_like(task, size, strategy)
        return 100 - right, 2 - tau

    # Of single columns the intervals of a hundred prompts are wide.
    wide = "As trained, the model finds less in the longest inputs than in the shortest."
    for share, expected in ((published_like, "holds"), (reversed_, "does not")):
        answers = answers_of(made(share))
        assert len(answers) == 11
        assert (answers.pop(wide) == "does not") <= (expected == "does not")
        assert set(answers.values()) == {expected}
    places = [place for claim in claims(plan("full")) for bound in claim.tests for gap in bound.figures
              if isinstance(gap, Gap) for place in (gap.first, gap.second)]  # fmt: skip
    rows = {(task, size) for task, sizes in plan("full").sizes.items() for size in (*sizes, 0)} | {(ALL, 0)}
    assert len(places) > 50
    assert all((place.task, place.size) in rows and place.strategy in STRATEGIES for place in places)
    assert ClaimPlace("line", "p_max", 680).text == "p_max in line/680"


def test_equal_results_and_tasks_not_asked_decide_nothing_and_published_figures_are_printed():
    answers = answers_of(made(lambda task, size, strategy: (90, 0.8)))
    assert answers["P_max finds more than entropy."] == "not decidable here"
    assert answers["The temperature by P_max falls with the length."] == "does not"
    found = made(published_like, asked=plan("full", ["line"]))
    answers = answers_of(found)
    assert answers["P_max makes the model find more: line."] == "holds"
    assert answers["P_max makes the model find more: topic."] == "not decidable here"
    assert answers["P_max makes the model find more, all columns together."] == "not decidable here"
    reasons = {claim.sentence: claim.why for claim in found.claims}
    assert reasons["P_max makes the model find more: topic."] == "p_max in all of topic was not asked"
    printed = {claim.sentence: claim.published for claim in made(published_like).claims}
    # Means over the printed columns of Flan-T5-XL, and the printed averages of all columns.
    assert printed["P_max makes the model find more: line."] == f"{488 / 6 - 391 / 6:.3g}"
    assert printed["P_max makes the model find more, all columns together."] == f"{93 - 87:.3g}"
    # The largest of three falls: topic 0.65 - 0.8, line 0.7 - 0.8, passkey 0.75 - 0.85.
    assert printed["The temperature by P_max falls with the length."] == "-0.1"
