"""Tables of text models: the runs behind them, the page from results made by hand, and one from end to end."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments import reproduction
from experiments.experiment import SCALES, Scale
from experiments.page import files
from experiments.page.markdown import markdown
from experiments.page.record import to_json
from experiments.registry import EXPERIMENTS, experiment
from languages.errors import UserError
from regulargpt.cli import call
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.config.validation import validate
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.text.experiments.page import judged
from regulargpt.text.experiments.results import LOSSES, read_losses
from regulargpt.text.experiments.table import TextTable
from regulargpt.text.experiments.testing import stored_losses
from tests.experiments.folders import finished_text

TABLES = [table for name in EXPERIMENTS if isinstance(table := experiment(name), TextTable)]
LEX_5 = next(table for table in TABLES if table.name == "lex-table-5")
# Perplexities by tested length, from e^1.5 on, are multiplied by this at each step.
STEP = {"rotary": 2.0, "sinusoidal": 3.0, "xpos": 1.2, "alibi": 1.01}


@pytest.mark.parametrize("scale", SCALES)
def test_every_config_can_be_run(scale: Scale):
    found = {(config, table.name) for table in TABLES for config in table.all_configs(scale)}
    for config, name in found:
        of_languages = name == "alignment-languages"
        assert of_languages or config.data.name.startswith(("text:code", "retrieval:"))
        if scale != "full":
            validate(config)


def test_tables_share_their_runs():
    found = [{name_of(config) for config in table.all_configs("cpu")} for table in TABLES]
    # What a study of every table by itself would train, and what is trained.
    assert (sum(map(len, found)), len(set.union(*found))) == (323, 126)


def test_a_row_tested_otherwise_is_not_trained_again():
    for row in ("rotary", "xpos", "alibi", "sinusoidal"):
        assert LEX_5.configs(row, "trained", "cpu") == LEX_5.configs(f"{row}+bca", "trained", "cpu")
    assert LEX_5.subjects["xpos+sliding"].view(64) == "sliding:64"


def test_the_full_scale_has_the_published_sizes():
    for table in TABLES:
        stated = next((known for source in table.sources for known in source.stated()), {})
        config = table.all_configs("full")[0]
        for key in ("model.d_model", "model.n_heads", "training.batch_size", "training.steps", "training.lr"):
            if table.unit == 1 and table.name != "table-4.2" and key in stated:
                assert value_of(config, key) == stated[key], (table.name, key)


SIZES = [
    ("table-4.1", "shift=6", "cpu", {"model.encoding.shift": 3.0}),
    ("table-4.1", "shift=6", "full", {"model.encoding.shift": 6.0}),
    ("table-4.1", "equal=8", "cpu", {"model.encoding.slopes": "equal", "model.encoding.shift": 5.0}),
    ("table-4.1", "window=40", "cpu", {"model.encoding.width": 15, "model.n_layers": 4}),
    ("table-4.1", "window=40", "full", {"model.encoding.width": 40, "model.n_layers": 12}),
    ("table-4.2", "shift=6", "cpu", {"data.train_len": 256, "training.batch_size": 16, "model.encoding.shift": 3.0}),
    ("table-3.9", "t5", "cpu", {"data.train_len": 128, "training.batch_size": 32}),
    ("table-6.3", "regulargpt-64/6", "cpu", {"model.chunk_size": 24, "model.thickness": 1}),
    ("table-6.3", "regulargpt-64/6", "full", {"model.chunk_size": 64, "model.thickness": 6}),
    ("lex-table-4", "xpos-unrotated+bca", "cpu", {"model.encoding.rotate": False}),
]


@pytest.mark.parametrize(("name", "row", "scale", "values"), SIZES, ids=lambda value: str(value))
def test_what_rows_mean_at_each_scale(name: str, row: str, scale: Scale, values: dict):
    config = experiment(name).configs(row, "trained", scale)[0]
    assert {key: value_of(config, key) for key in values} == values


def test_the_depths_of_regulargpt_grow_where_the_published_ones_do():
    from regulargpt.models.tree.depth import depth

    for row in ("32/6", "64/6", "128/6", "128/12", "256/6"):
        published = int(row.partition("/")[0])
        config = experiment("table-6.3").configs(f"regulargpt-{row}", "trained", "cpu")[0]
        ours = value_of(config, "model.chunk_size")
        assert [depth(64 * k, ours) for k in (1, 2, 4, 8, 16)] == [depth(512 * k, published) for k in (1, 2, 4, 8, 16)]


def losses_of(config: RunConfig, rescued: bool = False) -> dict[int, np.ndarray]:
    """Losses that differ from segment to segment, and rise with the length as the encoding has it."""
    random = np.random.default_rng(config.seed)
    hard, step = (
        random.normal(0, 0.3, 16),
        1.001 if rescued else STEP.get(str(value_of(config, "model.encoding.name")), 1.0),
    )
    return {
        length: 1.5 + hard + at * np.log(step) + random.normal(0, 1e-4, 16) for at, length in enumerate(config.tested)
    }


def csv_of(losses: dict[int, np.ndarray]) -> str:
    """As segments.csv."""
    rows = [
        f"{length},{at},{value!r}" for length, values in losses.items() for at, value in enumerate(map(float, values))
    ]
    return "\n".join(["length,segment,nll", *rows]) + "\n"


def filled(path: Path, table: TextTable, scale: Scale = "cpu", fails: str = "") -> SweepFolder:
    """A sweep with finished runs, tested as the table asks; those of the encoding `fails` failed."""
    folder, configs = SweepFolder.create(path), {name_of(one): one for one in table.all_configs(scale)}
    folder.add(configs)
    for name, config in configs.items():
        if fails and value_of(config, "model.encoding.name") == fails:
            folder.record_failure(name, "the loss is not finite", "diverged")
            continue
        values = dict.fromkeys(config.tested, 2.0)
        run = finished_text(
            folder.run_path(name), config, "bits_per_byte", values, spread=0.1, segments=csv_of(losses_of(config))
        )
        for view in ("bca", f"sliding:{config.data.train_len}"):
            stored_losses(run, f"{table.test.name}-{view}", lambda config=config: losses_of(config, rescued=True))
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The page of LEX's Table 5."""
    folder = filled(tmp_path_factory.mktemp("text") / "r", LEX_5)
    return Path(reproduction.write_page(folder.path, LEX_5, "cpu")["page"]).parent


def test_the_page_says_which_claims_hold(place: Path):
    record = files.read(place)
    answers = [claim.answer for claim in record.claims]
    short = "not reached"  # the paper trained for 50,000 steps
    assert answers == ["holds", "holds", "holds", short, short, "holds", "holds", short]
    assert {claim.steps for claim in record.claims} == {600}
    first = record.claims[0]
    assert first.figure.startswith("PPL(rotary+bca) / PPL(rotary) at 2x = 0.50")
    assert first.published == "PG22 0.383"
    assert first.rules == ("PPL(rotary+bca) / PPL(rotary) at 2x, 8x below 1",)
    assert first.seeds == 3
    text = (place / "page.md").read_text()
    assert (
        "Of 8 claims about models and encodings, of three seeds or more: 5 hold, 0 do not, "
        "3 are not reached, 0 are not decidable." in text
    )
    assert "**not reached in 600 steps**" in text
    assert "| Rotary | **2.164**<br>PG22 26.68 | **3.164 (×2.000)**<br>PG22 68.86 (×2.58) |" in re.sub(
        r"\*\*2\.\d+\*\*", "**2.164**", re.sub(r"\*\*3\.\d+ \(×[\d.]+\)", "**3.164 (×2.000)", text)
    )


def test_the_page_is_made_of_its_record_alone(place: Path):
    before = (place / "page.md").read_bytes()
    (place / "page.md").unlink()
    subprocess.run([sys.executable, "-m", "experiments.page", "--text-only", str(place)], check=True)
    assert "](curves/" not in (place / "page.md").read_text()
    subprocess.run([sys.executable, "-m", "experiments.page", str(place)], check=True)
    assert (place / "page.md").read_bytes() == before
    data = files.plain(place)
    assert data == json.loads(json.dumps(to_json(files.read(place))))
    assert sorted(path.name for path in place.rglob("*") if path.is_file()) == [
        "bits-per-byte.svg",
        "losses.json",
        "page.json",
        "page.md",
    ]


def test_each_verdict_follows_from_the_losses_beside_the_page(place: Path):
    record = files.read(place)
    results = replace(read_losses(place), steps=dict.fromkeys(LEX_5.rows, 600))
    assert record.facts["losses"] == LOSSES
    for claim, written in zip(LEX_5.claims, record.claims, strict=True):
        verdict = claim.verdict(results)
        assert (verdict.answer, verdict.figure, verdict.seeds) == (written.answer, written.figure, 3)
    for cell in (cell for cell in record.cells if "bits" in cell):
        loss = results.loss(cell["row"], cell["multiple"])
        assert (cell["bits"]["value"], cell["bits"]["over"]) == (loss.value / np.log(2), loss.over)
        assert set(loss.over) == {"seeds", "files"}


FEW = [
    (1, "files", LOSSES, "**holds in 600 steps**<br>for this network", "The loss of each segment is in losses.json"),
    (2, "files", LOSSES, "**holds in 600 steps**<br>for these 2 networks", "Of fewer they are over files alone"),
    (0, "segments", "", "**holds in 600 steps**<br>for these networks", "up to 1.8 times narrower than they should be"),
    (0, "words", "", "**holds in 600 steps**<br>for these networks", "Intervals are over words of one network each"),
]


@pytest.mark.parametrize(("seeds", "over", "losses", "verdict", "said"), FEW)
def test_fewer_than_three_seeds_are_just_these_networks(
    place: Path, seeds: int, over: str, losses: str, verdict: str, said: str
):
    record = files.read(place)
    first, *others = record.claims
    few = replace(record, claims=(replace(first, seeds=seeds), *others), judged=judged(over, losses))
    text = markdown(few)
    assert (
        "Of 7 claims about models and encodings, of three seeds or more: 4 hold, 0 do not, "
        "3 are not reached, 0 are not decidable." in text
    )
    assert "Of 1 claims about just these networks: 1 hold, 0 do not, 0 are not reached, 0 are not decidable." in text
    assert verdict in text
    assert said in text
    assert (LOSSES in text) == bool(losses)


def test_a_failed_row_leaves_its_claims_open(tmp_path: Path):
    folder = filled(tmp_path / "r", LEX_5, fails="xpos")
    result = reproduction.write_page(folder.path, LEX_5, "cpu")
    answers = {claim["sentence"]: (claim["answer"], claim.get("why", "")) for claim in result["claims"]}
    assert answers["A sliding window is better than blockwise attention with xPos."] == (
        "not decidable here",
        "no run of xpos+sliding is done",
    )
    assert {failure["reason"] for failure in result["failed"]} == {"the loss is not finite"}
    assert "the loss is not finite" in Path(result["page"]).read_text()


def test_a_damaged_run_is_named(tmp_path: Path):
    folder = filled(tmp_path / "r", LEX_5, "smoke")
    name = folder.names[0]
    (folder.run_path(name) / "summary.json").write_text("{}")
    result = reproduction.write_page(folder.path, LEX_5, "smoke")
    assert [failure["run"] for failure in result["failed"]] == [name]
    assert "Scale smoke: 3 of 4 runs are done." in Path(result["page"]).read_text()


def test_at_the_smallest_scale_nothing_is_decided(tmp_path: Path):
    folder = filled(tmp_path / "r", LEX_5, "smoke")
    result = reproduction.write_page(folder.path, LEX_5, "smoke")
    assert {(claim["answer"], claim.get("why", "")) for claim in result["claims"]} == {
        ("not decidable here", "hardly trained at this scale")
    }


def test_what_is_not_there_is_refused(tmp_path: Path):
    folder = filled(tmp_path / "r", LEX_5, "smoke")
    with pytest.raises(
        UserError, match=r"no run of lex-table-5 at scale cpu was asked for in .*; leave --page-only out"
    ):
        reproduction.write_page(folder.path, LEX_5, "cpu")


@pytest.mark.slow
def test_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "lex-table-4", "--scale", "smoke", "--out", "r"]
    assert call(command) == 0
    assert capsys.readouterr().err.count("testing text-code-transformer") == 4
    page = (tmp_path / "r" / "lex-table-4-smoke" / "page.md").read_text()
    assert "Scale smoke: 4 of 4 runs are done." in page
    assert "None." in page.partition("## Runs that failed or are missing")[2]
    kept = sorted(path.name for path in (tmp_path / "r" / "runs").rglob("tests/*"))
    assert kept == ["last_k-bca.json"] * 4
    # A second call trains and tests nothing.
    assert (call(command), "testing" in capsys.readouterr().err) == (0, False)


FIGURES = [
    ("figure-4.6", "By recent symbols", "share-of-the-gradient-on-the-last-x-symbols.svg", 2),
    ("figure-3.5", "By position", "bits-per-byte.svg", 4),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "heading", "picture", "kept"), FIGURES, ids=[name for name, *_ in FIGURES])
def test_figures_from_end_to_end(tmp_path: Path, name: str, heading: str, picture: str, kept: int):
    assert call(["reproduce", name, "--scale", "smoke", "--out", str(tmp_path / "r")]) == 0
    place = tmp_path / "r" / f"{name}-smoke"
    page, record = (place / "page.md").read_text(), files.read(place)
    assert f"## {heading}" in page
    assert f"](curves/{picture})" in page
    assert "Columns are by " + record.facts["axis"] in page
    assert record.facts["axis"] in (place / "curves" / picture).read_text()
    assert len(list((tmp_path / "r" / "runs").rglob("tests/*"))) == kept
    assert all(cell["measure"] or cell["bits"] for cell in record.cells if "bits" in cell)
