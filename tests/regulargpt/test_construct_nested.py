"""Exact construction along brackets: every short word, deep ones, its certificate, and what is too large."""

import itertools
import re
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from languages import UserError, rng
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from regulargpt.certificate.search.certify import Certifier
from regulargpt.construct import nested as construction
from regulargpt.construct.configuration import check, configuration
from regulargpt.construct.plan import model_config, plan
from regulargpt.construct.weights import constructed
from regulargpt.finite.nested_specification import minimal_algebra
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.runs.load import load_model
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from tests.languages.test_context_free import nested
from tests.languages.test_pushdown import machines
from tests.regulargpt.nested_tables import TableTree

LANGUAGES = ["brackets-1", "brackets-2", "formula", "arithmetic-brackets", "json", "xml-2", "reversal-2"]


@cache
def model(name: str, chunk_size: int) -> RegularGPT:
    task = nested(name)
    return constructed(model_config(task, chunk_size, "one-hot"), task, "one-hot").eval()


def every_word(n_symbols: int, length: int) -> np.ndarray:
    return np.array(list(itertools.product(range(n_symbols), repeat=length)))


@torch.no_grad()
def wrong(name: str, chunk_size: int, words: np.ndarray) -> int:
    """How many of the words that are questions have another answer than the machine's, or not by 1 and -1."""
    right = nested(name).labels(words)
    words, right = words[right >= 0], right[right >= 0]
    if not len(words):
        return 0
    logits = model(name, chunk_size)(torch.from_numpy(words.astype(np.int64))).numpy()
    ideal = np.where(right[:, None] == np.arange(logits.shape[1]), 1.0, -1.0)
    return int((abs(logits - ideal) > 1e-4).any(1).sum())


@pytest.mark.parametrize(("name", "C"), [(name, C) for name in LANGUAGES for C in (2, 3) if (name, C) != ("json", 3)])
def test_every_short_word_and_random_long_ones(name: str, C: int):
    task = nested(name)
    for length in (length for length in range(1, 7) if task.n_symbols**length <= 20_000):
        assert not wrong(name, C, every_word(task.n_symbols, length))
    for length in filter(task.has_length, (40, 41, 299, 300)):
        assert not wrong(name, C, task.sample(rng(0, "construct", length), length, 4))


@pytest.mark.parametrize(("name", "C"), [("brackets-1", 2), ("brackets-2", 3)])
def test_hundreds_of_brackets_deep(name: str, C: int):
    deep = np.repeat([[0, 1]], 500, axis=1)
    assert not wrong(name, C, np.concatenate([deep, np.roll(deep, 1), deep[:, ::-1]]))


@settings(max_examples=15)
@given(machines(), st.sampled_from([2, 3]))
def test_the_table_of_any_small_machine(machine: PushdownTransducer, C: int):
    """The paths alone, without a network: a window that a question needs and that is not among them gives nothing."""
    assume(minimal_algebra(machine).size ** C <= 2000)
    found = construction.one_hot(machine, C)
    rows = np.concatenate([[found.identity], np.eye(found.size), found.symbols])
    tree = TableTree(
        lambda window: 1 + int(np.flatnonzero(found.compose(rows[list(window)])).item()),
        1 + found.size,
        VisiblyPushdown.from_machine(machine).direction.tolist(),
        C,
        "right",
    )
    for length in range(1, 6):
        words = every_word(machine.n_symbols, length)
        for word, right in zip(words.tolist(), machine.answers(words).tolist(), strict=True):
            assert right < 0 or found.readout[:, tree.root(word) - 1].argmax() == right


@pytest.mark.parametrize(("name", "C"), [("brackets-2", 2), ("formula", 3), ("arithmetic-brackets", 2), ("xml-2", 3)])
def test_it_is_proven_with_means_of_its_own_states(name: str, C: int):
    found = Certifier.for_task(nested(name), C).certify(model(name, C))
    assert found.certain
    assert found.smallest_margin == pytest.approx(2**0.5, abs=1e-6)  # corners of a simplex, one for each label


def test_a_run_of_it_like_any_other(tmp_path):
    config = configuration("xml-2").replaced({"evaluation.test_len": 44, "evaluation.extra_lengths": (100,)})
    summary = run(config, tmp_path / "run")
    assert (summary["recipe"], summary["steps"], summary["score"]) == ("constructed-one-hot", 0, 100.0)
    loaded = load_model(RunFolder.open(tmp_path / "run"))
    expected = model("xml-2", 2).state_dict()
    assert all(torch.equal(value, expected[key]) for key, value in loaded.state_dict().items())
    assert loaded.direction is not None


@pytest.mark.parametrize("name", ["brackets-1", "arithmetic-brackets"])
def test_the_plan_is_what_the_model_has(name: str):
    config, found = configuration(name).model, plan(nested(name).machine, 2, "one-hot")
    assert isinstance(config, RegularGPTOptions)
    assert (found.d_model, found.d_ff, config.tree) == (config.d_model, config.d_ff, "nested")


REFUSED = {
    ("brackets-2", 2, "matrix"): "brackets-2 has brackets: there is no 'matrix' of it; choose 'one-hot'",
    ("brackets-2", 20, None): "brackets-2 with chunk_size = 20: along brackets at most 16; choose --chunk-size 2",
    ("json", 4, None): (
        "json as 'one-hot' with chunk_size = 4 needs 2.0 GiB or more, at most 2 are taken; "
        "choose --representation one-hot --chunk-size 3"
    ),
    ("list-ops", 2, None): (
        "list-ops as 'one-hot' with chunk_size = 2 needs 2.3 GiB or more, at most 2 are taken; "
        "no representation of it is small enough, train one with `regulargpt run`"
    ),
}


@pytest.mark.parametrize("arguments", REFUSED, ids=str)
def test_refusals(arguments: tuple):
    with pytest.raises(UserError, match=re.escape(REFUSED[arguments]) + "$"):
        configuration(*arguments)


def test_the_flat_tree_is_no_construction_along_brackets():
    config = configuration("brackets-1").replaced({"model.tree": "flat"})
    with pytest.raises(UserError, match=r"model.tree = flat; .* needs nested: use `regulargpt construct`"):
        check(config, nested("brackets-1"))
