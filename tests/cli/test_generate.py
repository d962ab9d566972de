"""`regulargpt generate`: texts that a trained model continues."""

import json
from pathlib import Path

import pytest
import torch

from regulargpt.storage.folder import RunFolder
from regulargpt.text.generation import Writer, draw, harmless, readable
from tests.cli.conftest import Cli
from tests.regulargpt.pretend_gpu import pretended


def test_a_text_goes_on_and_the_same_seed_writes_the_same(at_home: Cli):
    first = at_home("generate", "text", "--prompt", "alpha", "--symbols", 30)
    assert first.code == 0
    assert first.out.startswith("alpha")
    assert "30 symbols, " in first.err
    assert at_home("generate", "text", "--prompt", "alpha", "--symbols", 30).out == first.out
    assert at_home("generate", "text", "--prompt", "alpha", "--symbols", 30, "--seed", 1).out != first.out


def test_a_text_goes_on_where_the_network_is(at_home: Cli):
    command = ("generate", "text", "--prompt", "alpha", "--symbols", 30)
    here = at_home(*command)
    with pretended():
        there = at_home(*command)
    assert (there.code, there.out) == (0, here.out)


def test_json_has_the_text_and_what_was_asked(at_home: Cli):
    answer = at_home("generate", "text", "--prompt", "", "--symbols", 12, "--window", 5, "--json")
    found = json.loads(answer.out)
    assert (found["prompt"], found["symbols"], found["window"], found["seed"]) == ("\n", 12, 5, 0)
    assert found["symbols_per_second"] > 0
    assert 0 < len(found["text"]) <= 12


def test_at_temperature_0_each_symbol_is_the_likeliest(home: Path):
    writer = Writer.from_run(RunFolder.open(home / "text"), 20)
    prompt = writer.encode("gämm")
    assert prompt.tolist() == list("gämm".encode())
    written = list(writer.continuation(prompt, 9, temperature=0, seed=0))
    for t in range(9):
        seen = torch.tensor([[*prompt.tolist(), *written[:t]]])
        assert written[t] == int(writer.model(seen)[0].argmax())


def test_draws_follow_the_shares_and_small_temperatures_are_finite():
    logits, generator = torch.tensor([0.0, 1.0, -1.0]), torch.Generator().manual_seed(0)
    drawn = torch.tensor([draw(logits, 2.0, generator) for _ in range(4000)])
    assert torch.allclose(drawn.bincount(minlength=3) / 4000, (logits / 2).softmax(-1), atol=0.03)
    for temperature in (0.0, 1e-320, 1e-30):
        assert draw(1e30 * logits, temperature, generator) == 1


@pytest.mark.parametrize(
    "text", [b"", b"abc", "né€😀\n".encode(), b"\xff\xfe\xfd\xfc\xfb", b"a\xc3", b"\xe2\x82", b"\xf0\x9f\x98"]
)
def test_what_is_shown_as_it_comes_is_the_whole_text(text: bytes):
    decode = lambda some: bytes(some).decode(errors="replace")  # noqa: E731
    assert "".join(readable(text, decode)) == decode(list(text))


def test_control_characters_do_not_reach_the_terminal():
    assert harmless("a\x1b[31m\r\x00\x9b\tb\n") == "a\\x1b[31m\\x0d\\x00\\x9b\tb\n"
