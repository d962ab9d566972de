"""What the bench compares is equal, and its arithmetic is right; how long things take is not tested."""

import json

import pytest
import torch

from experiments.bench import memory, regular, rivals
from experiments.bench.__main__ import CASES, main
from experiments.bench.masked import bytes_needed, masked_state
from experiments.bench.subjects import difference, every_all, last, masked_all, parity_sized, random_words
from experiments.bench.timing import Effort, exponent, in_turn, ratio
from regulargpt.models import MODELS
from regulargpt.models.gla.model import PerHead
from regulargpt.models.hooks import run_with_cache
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.models.regulargpt import RegularGPT, block
from regulargpt.models.regulargpt import all_positions as shifting
from regulargpt.models.regulargpt.dense import dense_state
from regulargpt.models.tree import levels


@pytest.mark.parametrize("C", [2, 3, 5])
def test_masked_attention_is_the_dense_computation(C: int):
    model = RegularGPT(3, 4, chunk_size=C, d_model=16, n_heads=2, d_ff=32, thickness=2).double()
    for length in (1, 2, 7, 25, 64):
        words = random_words(3, length, n_symbols=3)
        assert torch.allclose(masked_state(model, words), dense_state(model, words), rtol=0, atol=1e-12)


def test_a_difference_is_seen():
    def wrong(model, words):
        return every_all(model, words) + 1e-6 * model.embedding.weight.sum()

    model, words = parity_sized(2), random_words(2, 9)
    assert difference([every_all, masked_all], model, words) < 1e-12 < difference([every_all, wrong], model, words)


def test_variants_go_in_turn_there_and_back():
    calls: list[str] = []
    found = in_turn({name: lambda name=name: calls.append(name) for name in "AB"}, Effort(3, 0, tick=0))
    assert "".join(calls) == "AB" + "AB" + "BA" + "AB"
    assert all(len(times) == 3 and min(times) >= 0 for times in found.values())
    calls.clear()
    in_turn({"A": lambda: calls.append("")}, Effort(1, 0, tick=1e-3))
    assert len(calls) > 10  # short calls are repeated


def test_ratios_are_taken_round_by_round_and_the_exponent_of_a_power_law():
    # A busy machine that slows both down tenfold in one round changes nothing.
    row = ratio("", {"a": [1.0, 10.0, 1.0, 1.0], "b": [3.0, 30.0, 3.0, 3.0]}, of="a", over="b")
    assert (row.value, row.low, row.high) == (3.0, 3.0, 3.0)
    assert exponent([1, 10, 100, 1000], [2, 2 * 10**1.5, 2 * 10**3, 2 * 10**4.5]) == pytest.approx(1.5)


def test_what_does_not_fit_is_left_out_and_memory_grows_with_the_square(monkeypatch: pytest.MonkeyPatch):
    model = parity_sized(2)
    assert bytes_needed(model, 2048, training=False) == 4 * 4 * 2048**2
    assert bytes_needed(model, 2048, training=True) == 4 * 4 * 2048**2 * 18.5
    monkeypatch.setattr(regular, "MEMORY_LIMIT", 0)
    assert [row.value for row in regular.every_at("training", 2, [32], Effort(1, 0, 0))] == [None]
    assert [name for name in regular.LAST if regular.fits_last(name, parity_sized(2), 60, 2)] == ["tree", "plain-tree"]


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own():
    small, large = memory.peaks("experiments.bench.regular", ["sdpa", "inference", "C2"], [256, 3072])
    mask = bytes_needed(parity_sized(2), 3072, training=False)
    assert 0 <= small < mask <= large < 4 * mask


@pytest.mark.parametrize(
    "networks", [["gla"], pytest.param(rivals.carrying(), marks=pytest.mark.slow)], ids=["one", "all"]
)
def test_memory_does_not_grow_with_the_word_of_a_network_that_carries_a_state(networks: list[str]):
    """One vector kept of each of 14,336 symbols would be 3.5 MiB; what an allocator keeps differs by up to 1.2 MiB."""
    short, long = memory.peaks("experiments.bench.rivals", networks, [2048, 16_384])
    assert short > 0
    assert long - short < 2 << 20


def test_a_chunked_form_stands_against_the_loop_of_the_same_network(monkeypatch: pytest.MonkeyPatch):
    calls, loop = [], PerHead.loop
    monkeypatch.setattr(PerHead, "loop", lambda *of: calls.append("loop") or loop(*of))
    for step in (rivals.layer, rivals.recurrence):
        steps = rivals.forms("gla:decay=head", step)
        calls.clear()  # the recurrence's inputs came of a first call
        for name, run in steps.items():
            run()
            calls.append(name)
        assert calls == ["head-gla", "loop", "its loop"]
    monkeypatch.setattr(PerHead, "along", Mixer.along)
    assert rivals.forms("gla", rivals.layer) == {}  # its own form is the loop


@pytest.mark.parametrize(("readout", "computation"), [("last", "tree"), ("last", "plain-tree"), ("all", "every")])
@pytest.mark.parametrize("C", [2, 3])
def test_pieces_change_nothing_and_who_listens_hears_whole_levels(
    readout, computation, C: int, monkeypatch: pytest.MonkeyPatch
):
    model = RegularGPT(3, 2, chunk_size=C, thickness=2, d_model=8, n_heads=2, d_ff=16).double()
    words, way = random_words(70, 20, n_symbols=3), {"readout": readout, "computation": computation}
    with torch.no_grad():
        whole, heard = model(words, **way), run_with_cache(model, words, **way)[1]
        for module in (block, shifting):
            monkeypatch.setattr(module, "ROWS", 50)
        assert torch.allclose(model(words, **way), whole, rtol=0, atol=1e-12)
        cache = run_with_cache(model, words, **way)[1]
    assert {name: value.shape for name, value in cache.items()} == {n: value.shape for n, value in heard.items()}


def test_few_nodes_are_not_compared(monkeypatch: pytest.MonkeyPatch):
    model, seen, identify = parity_sized(2).double(), [], levels.identify
    monkeypatch.setattr(
        levels, "identify", lambda windows, n: seen.append(tuple(windows.shape)) or identify(windows, n)
    )
    for words in (random_words(1, 40), random_words(8, 40)):
        assert torch.allclose(last("tree")(model, words), last("plain-tree")(model, words), rtol=0, atol=1e-12)
    assert seen == [(8, 20, 2), (8, 10, 2)]


@pytest.mark.slow
def test_every_case_reports_rows_and_what_is_compared_is_equal(capsys: pytest.CaptureFixture[str]):
    main(["--scale", "smoke", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert list(dict.fromkeys(row["case"] for row in found["rows"])) == list(CASES)
    assert found["environment"]["threads"] == 1
    for row in found["rows"]:
        if row["variant"] == "largest difference":
            assert row["value"] < row["wanted"]
        elif row["low"] is not None:
            assert 0 < row["low"] <= row["value"] <= row["high"], row
    assert {row["variant"] for row in found["rows"]} > {*MODELS, "parity", "flip-flop", "regex:(ab)*"}


def test_the_table_is_markdown_and_what_is_wrong_is_refused(capsys: pytest.CaptureFixture[str]):
    main(["samplers", "--scale", "smoke"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| case | what | variant | figure |")
    assert len({line.count(" | ") for line in lines}) == 1
    for arguments, said in ((["forest"], "unknown case 'forest'"), (["--threads", "0"], "--threads 0")):
        with pytest.raises(SystemExit, match="2"):
            main(arguments)
        assert said in capsys.readouterr().err
