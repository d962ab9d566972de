"""The page of methods on one decoder, from end to end with a tiny one; and the committed page from its own losses."""

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments import decoder
from experiments.claims import claimed
from experiments.page import files
from languages.errors import UserError
from regulargpt.cli import call
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.manifest import IntegrityError, digest
from regulargpt.text.decoders import to_transformers
from regulargpt.text.decoders.model import DecoderOnly
from regulargpt.text.decoders.options import DecoderOnlyOptions
from regulargpt.text.experiments.results import read_losses
from tests.test_imports import ROOT

RESULTS = ROOT / "experiments" / "results" / "decoder-cpu"
SMALL = ("--set", "data.last=8", "--d-model", "16", "--steps", "3", "--batch-size", "2", "--samples", "3")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, its folder as transformers has it, and what three methods came to on two draws."""
    home = tmp_path_factory.mktemp("home")
    (home / "text").mkdir()
    random = np.random.default_rng(0)
    for number in range(40):
        (home / "text" / f"{number}.txt").write_text(" ".join(random.choice(["a", "cat", "sat"], 200)))
    text = f"text:{home / 'text'}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LANGUAGES_CACHE", str(home / "cache"))
        run = ["run", text, "--model", "decoder-only", "--train-len", "16", *SMALL, "--out", str(home / "run")]
        assert call(run) == 0
        opened = open_run(RunFolder.open(home / "run"))
        model, options = opened.model, opened.config.network
        assert isinstance(model, DecoderOnly)
        assert isinstance(options, DecoderOnlyOptions)
        to_transformers.save(home / "saved", model, options, 16)
        for seed in ("0", "1"):
            asked = ["--words", "3", "--seed", seed, "--methods", "interpolation,bca", "--lengths", "16,32,64"]
            place = ["--text", text, "--out", str(home / "out" / seed)]
            assert call(["methods", f"hf:{home / 'saved'}", *place, *asked]) == 0
    return home


def test_draws_are_one_network_on_more_segments(home: Path, tmp_path: Path):
    out = shutil.copytree(home / "out", tmp_path / "out")
    assert decoder.main([str(out), str(home / "run")]) == 0
    found, results = files.read(out), read_losses(out)
    kept, _ = decoder.tested(out)
    assert {one["facts"]["seed"] for one in kept} == {0, 1}
    assert len(kept) == 18
    of = {
        (one["facts"]["method"], one["facts"]["length"], one["facts"]["seed"]): one["of_words"]["nll"] for one in kept
    }
    of_bca = [of["bca", 64, seed] for seed in (0, 1)]
    assert results.losses["bca"][0][64] == pytest.approx(np.concatenate(of_bca), abs=6e-4)
    cells = {(one["row"], one["length"]): one for one in found.cells}
    assert set(cells) == {(row, T) for row in ("trained", "interpolation", "bca") for T in (16, 32, 64)}
    ratio = np.exp(np.mean(results.losses["bca"][0][64] - results.losses["trained"][0][64]))
    assert cells["bca", 64]["to_trained"]["value"] == pytest.approx(ratio)
    text = (out / "page.md").read_text("utf-8")
    assert "| segments | 6, in 2 draws with seeds of their own |" in text
    made = text.partition("\n## How it was made\n\n")[2].split("\n\n")[0].splitlines()
    assert [line.split()[:3] for line in made] == [
        ["regulargpt", "run", "text:code-large"],
        ["regulargpt", "lengthen", "hf:PATH"],
        ["regulargpt", "methods", "hf:PATH"],
        ["python", "-m", "experiments.decoder"],
    ]
    assert all(line.startswith("    ") for line in made)
    assert "--steps 300 --out LENGTHENED" in made[1]
    assert "--bias LENGTHENED/bias.json --words 16" in made[2]
    assert "None" not in text.partition("\nTime: ")[2]  # what is not known of a machine is left out
    assert "no run of yarn is done" in text  # a claim about a method that nobody asked for is not decidable


def test_a_length_that_one_draw_lacks_is_left_out(home: Path, tmp_path: Path):
    out = shutil.copytree(home / "out", tmp_path / "out")
    (next((out / "1" / "cells").glob("bca-64-*"))).unlink()
    found, _ = decoder.tested(out)
    assert decoder.pooled(found, 16).lengths("bca") == [16, 32]


def test_what_another_source_came_to_is_held_against_it(home: Path, tmp_path: Path):
    out = shutil.copytree(home / "out", tmp_path / "out")
    found, _ = decoder.tested(out)
    assert decoder.again(found) is None
    other = copy.deepcopy(found[0])
    other["of_words"]["nll"][1] += 3e-4
    assert decoder.again([*found, other]) == "1; no segment's loss differs by more than 0.0003 nats"


def test_results_of_two_networks_are_refused(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture):
    out = shutil.copytree(home / "out", tmp_path / "out")
    path = next((out / "0" / "cells").glob("bca-64-*"))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"weights": "', b'"weights": "0'))
    with pytest.raises(IntegrityError):  # what was changed by hand is not what was written
        decoder.tested(out)
    written = path.read_bytes().removesuffix(b"\n").rpartition(b"\n")[0] + b"\n"
    path.write_bytes(written + digest(written).encode() + b"\n")
    with pytest.raises(UserError, match="of several networks or texts; begin a new folder"):
        decoder.tested(out)
    assert decoder.main([str(tmp_path), str(home / "run")]) == 2
    assert "results of `regulargpt methods` are not in */cells" in capsys.readouterr().err


def test_the_committed_verdicts_follow_from_the_committed_losses():
    found = files.read(RESULTS)
    results = decoder.trained_for(found.facts["steps"], read_losses(RESULTS))
    assert [one.verdict(results) for one in claimed(decoder.CLAIMS)] == list(found.claims)
    weights = json.loads((RESULTS / files.RECORD).read_text("utf-8"))["facts"]["weights"]
    assert len(weights) == 64
