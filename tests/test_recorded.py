"""What every verb says as `--json` of committed and of seeded runs, as it was before the house was rebuilt.

A change that should not alter a result leaves all of it as it is: names and whole numbers exactly,
others to 1 in 1,000, which is what machines differ by. To renew it after a change that should:
`python -m tests.test_recorded`, and the commit says why.
"""

import contextlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regulargpt.cli import call
from regulargpt.construct.configuration import configuration
from regulargpt.data import build
from regulargpt.runs import run as running
from regulargpt.storage.manifest import digest
from tests.regulargpt.small import config
from tests.regulargpt.texts import text_config, text_run

ROOT = Path(__file__).parents[1]
RECORDED = Path(__file__).parent / "recorded.json"
CERTIFIED = ROOT / "docs" / "certified"
# What a machine or a moment makes: it is left out.
PASSING = {
    "seconds",
    "symbols_per_second",
    "train_seconds",
    "prompt_seconds",
    "eval_seconds",
    "environment",
    "peak_memory",
    "run_dir",
    "out",
    "path",
    "run",
}
WORDS = ("--words", "2")
SHORT = ("--words", "2", "--length", "20")
VERBS: dict[str, list[tuple[str, ...]]] = {
    "parity": [
        ("evaluate", "--lengths", "41-44,500", "--samples", "16"),
        ("evaluate", "--lengths", "1000", "--samples", "4", "--seed", "3"),
        ("evaluate", "--quantised", "--lengths", "41,500", "--samples", "16"),
        ("verify", "--length", "60", *WORDS),
        ("extract",),
        ("check",),
        ("receptive-field", "--length", "60", *WORDS),
        ("results",),
        ("results", "--pivot", "language,model"),
    ],
    "even-pairs": [
        ("verify", "--length", "60", *WORDS),
        ("check",),
        ("extract", "--codebook", "classes"),
        ("extract", "--from", "answers"),
    ],
    "constructed": [("evaluate", "--lengths", "41-44", "--samples", "16"), ("verify", "--length", "60", *WORDS)],
    "gru": [("evaluate", "--lengths", "12", "--samples", "16"), ("extract",), ("extract", "--from", "answers")],
    "alibi": [
        ("evaluate", "--lengths", "8,16", "--samples", "4"),
        ("kernels",),
        ("resolution", *SHORT),
        ("positions", *SHORT),
        ("receptive-field", *SHORT),
        ("align", *SHORT),
        ("generate", "--prompt", "def", "--symbols", "9", "--temperature", "0"),
    ],
    "kerple": [("kernels",), ("evaluate", "--lengths", "16", "--samples", "4", "--attention", "bca")],
    "none": [("position-variance", "--updates", "2"), ("positions", *SHORT)],
    "retrieval": [("needles", "--lengths", "40,60", *WORDS), ("evaluate", "--lengths", "40", "--samples", "4")],
    "": [
        *(("list", what) for what in ("languages", "encodings", "protocols", "phases", "retrieval", "experiments")),
        *(("show", what) for what in ("parity", "tomita-4", "dyck-2", "text:code", "retrieval:line")),
        *(("sample", what, "--length", "9") for what in ("parity", "cycle-navigation", "tomita-5", "text:code")),
        ("sample", "retrieval:line", "--length", "60"),
        ("kernels", "alibi"),
        ("kernels", "kerple_log", "--seed", "1"),
        ("shortcuts", "parity", "--test-len", "50", "--samples", "16"),
        ("position-variance", "--preset", "quick", "--updates", "2"),
    ],
}
WRITING = {
    *("verify", "extract", "align", "needles"),
    *("kernels", "resolution", "positions", "receptive-field", "position-variance"),
}
SEEDED = (
    *(
        "parity",
        "even-pairs",
        "cycle-navigation",
        "modular-arithmetic:plus=true",
        "tomita-3",
        "flip-flop",
        "symmetric-3",
    ),
    *("text:code", "text:recurrent", "retrieval:line"),
)


def make_runs(folder: Path) -> None:
    """Small runs with fixed seeds, of each kind of data."""
    for name in ("parity", "even-pairs"):
        shutil.copytree(CERTIFIED / name, folder / name)
    few = {"evaluation.test_len": 42, "evaluation.samples": 4}
    running.run(configuration("parity").replaced(few), folder / "constructed")
    running.run(config("gru", training__steps=11), folder / "gru")
    running.run(config("retrieval", training__steps=2), folder / "retrieval")
    for encoding in ("alibi", "none", "kerple_log"):
        text_run(folder / encoding.partition("_")[0], model__encoding__name=encoding)


def run_of(name: str, folder: Path) -> Path:
    """Where the run of this name is."""
    run = folder / name
    return run if (run / "DONE").exists() else run / "run"


def answers(name: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """Each command of a run, and the JSON that it prints."""
    for at, (verb, *more) in enumerate(VERBS[name]):
        command = [verb, *([str(run_of(name, folder))] if name else []), *more, "--json"]
        if verb in WRITING:
            command += ["--out", str(folder / (f"{name}-{at}" + ".json" * (verb == "extract")))]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert call(command) == 0, command
        yield " ".join([verb, *more]), plain(json.loads(printed.getvalue().replace(str(folder), "FOLDER")))


def plain(value: Any) -> Any:
    """A JSON value without what a machine or a moment makes, numbers to six digits."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key not in PASSING}
    if isinstance(value, list):
        return [plain(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def batches(name: str) -> str:
    """A digest of first batches and test words of three seeds: pure functions of seed, purpose and step."""
    kinds = {"text": text_config, "retrieval": lambda name: config("retrieval")}
    options = kinds.get(name.partition(":")[0], lambda name: config("gru", data__name=name))(name)
    data = build(options.data)
    drawn = [data.batch(seed, "words", step, [60], 5) for seed in range(3) for step in range(2)]
    drawn += [data.test(seed, 60, 5) for seed in range(3)]
    return digest(b"".join(words.astype("int64").tobytes() for words in drawn))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("recorded")
    make_runs(made)
    return made


@pytest.mark.parametrize("name", VERBS)
def test_what_each_verb_says_is_what_it_said(name: str, folder: Path):
    recorded = json.loads(RECORDED.read_text())[name]
    said = dict(answers(name, folder))
    assert set(said) == set(recorded)
    for command, value in said.items():
        assert_alike(value, recorded[command], command)


def assert_alike(value: Any, recorded: Any, where: str) -> None:
    """Fail with the place of the first difference."""
    if isinstance(value, dict) and isinstance(recorded, dict):
        assert sorted(value) == sorted(recorded), where
        for key in value:
            assert_alike(value[key], recorded[key], f"{where} / {key}")
    elif isinstance(value, list) and isinstance(recorded, list):
        assert len(value) == len(recorded), where
        for at, (part, other) in enumerate(zip(value, recorded, strict=True)):
            assert_alike(part, other, f"{where} / {at}")
    elif isinstance(value, float) or isinstance(recorded, float):
        assert value == pytest.approx(recorded, rel=1e-3, abs=1e-5), where
    else:
        assert value == recorded, where


@pytest.mark.parametrize("name", SEEDED)
def test_seeded_batches_are_the_same_bytes(name: str):
    assert batches(name) == json.loads(RECORDED.read_text())["batches"][name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        make_runs(Path(made))
        record = {name: dict(answers(name, Path(made))) for name in VERBS}
    record["batches"] = {name: batches(name) for name in SEEDED}
    RECORDED.write_text(json.dumps(record, separators=(",", ":"), ensure_ascii=False).replace('},"', '},\n"') + "\n")
