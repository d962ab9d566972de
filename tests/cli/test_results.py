"""`regulargpt results`: the whole way from folders to a table, a picture, and the sweep's own files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from languages.errors import UserError
from regulargpt.objectives.measures import MEASURES
from regulargpt.results import rows as reading
from regulargpt.results.statistics import groups
from regulargpt.storage.atomic import StorageError, disk
from tests.cli.conftest import Cli, assert_refused, everything
from tests.regulargpt.results import made

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def sweep(monkeypatch, tmp_path: Path) -> Path:
    """Three languages: one learned, one half, one of which a run failed and another is not finished."""
    monkeypatch.setattr(disk, "sync", lambda handle: None)
    monkeypatch.setattr(disk, "sync_folder", lambda path: None)
    made.believe(monkeypatch)
    languages = {"parity": "parity", "tomita-3": "tomita-3", "regex": "regex:(a|b)*"}
    configs = {
        f"{name}-{seed}": made.config_text("thesis-1", data__name=language, seed=seed)
        for name, language in languages.items()
        for seed in range(2)
    }
    path = made.sweep(tmp_path / "sweep", configs, {"regex-0": "the loss is nan at step 7"})
    scores = {"parity-0": 100.0, "parity-1": 100.0, "tomita-3-0": 60.0, "tomita-3-1": 100.0}
    for name, score in scores.items():
        harder, proven = {"hard-1": made.a_test({5: score - 10, 1000: 50.0})}, name.startswith("parity")
        made.done(path / "runs" / name, {5: score, 6: score}, configs[name], extra_protocols=harder, proven=proven)
    return path


TABLE = """
language      tested    max    mean   sd     range        below 99 % at  runs  failed  proven
parity        hard-1    90.00  90.00  0.00   90.00-90.00  5              2     0       2 of 2
parity        thesis-1  100    100    0.00   100-100      -              2     0       2 of 2
regex:(a|b)*  thesis-1  -      -      -      -            -              1     1       -
tomita-3      hard-1    90.00  70.00  28.28  50.00-90.00  5              2     0       0 of 2
tomita-3      thesis-1  100    80.00  28.28  60.00-100    5              2     0       0 of 2
"""
TOLD = "1 run is not finished: regex-1\nfailed: regex-0: the loss is nan at step 7\n"


def test_the_table_and_what_is_told_beside_it(cli: Cli):
    answer = cli("results", "sweep")
    assert (answer.code, answer.out, answer.err) == (0, TABLE.lstrip("\n"), TOLD)


def test_the_sweeps_own_files_are_written(cli: Cli, sweep: Path):
    assert cli("results", "sweep", "--where", "language=parity").code == 0
    assert len((sweep / "results.csv").read_text().splitlines()) == 1 + 4 * 4 + 1
    assert len((sweep / "results.jsonl").read_text().splitlines()) == 4 * 4 + 1
    before = everything(sweep)
    assert cli("results", "sweep", "--format", "csv").code == 0
    assert everything(sweep) == before


def test_folders_that_are_no_sweep_are_only_read(cli: Cli, sweep: Path):
    before = everything(sweep)
    answer = cli("results", "sweep/runs", "sweep/runs/parity-0", "--group-by", "language", "--format", "csv")
    rows = [line.split(",")[:3] for line in answer.out.splitlines()[1:]]
    assert (answer.err, rows) == ("", [["parity", "100.0", "100.0"], ["tomita-3", "100.0", "80.0"]])
    assert everything(sweep) == before


def test_a_sweep_that_may_not_be_written_is_shown(cli: Cli, monkeypatch):
    def refuse(path):
        raise StorageError(f"{path}/results.csv: permission denied; make the folder writable or choose another one")

    monkeypatch.setattr(reading, "write", refuse)
    answer = cli("results", "sweep")
    assert (answer.code, answer.out) == (0, TABLE.lstrip("\n"))
    assert answer.err.startswith("warning: sweep/results.csv: permission denied; ")


def test_without_the_column_tested_the_runs_own_protocol_counts(cli: Cli):
    for arguments, mean in [([], "80.0"), (["--tested", "hard"], "70.0"), (["--where", "tested=hard-1"], "70.0")]:
        lines = cli("results", "sweep", "--group-by", "language", "--format", "csv", *arguments).out.splitlines()
        assert lines[-1].split(",")[::2][:2] == ["tomita-3", mean]
        assert lines[2].startswith("regex:(a|b)*,,,,,,,,1,1,0,0")


PIVOT = """
Means over two seeds
language      thesis-1         hard-1
parity        100 ± 0.00*      90.00 ± 0.00
regex:(a|b)*  (1 of 1 failed)  -
tomita-3      80.00 ± 28.28*   70.00 ± 28.28
"""


def test_a_pivot_with_a_caption(cli: Cli):
    arguments = ("results", "sweep", "--pivot", "language,tested")
    answer = cli(*arguments, "--caption", "Means over two seeds")
    shown, wanted = (sorted(sorted(line.split()) for line in text.strip().splitlines()) for text in (answer.out, PIVOT))
    assert shown == wanted
    latex = cli(*arguments, "--caption", "50 %", "--format", "latex").out
    assert r"\caption{50 \%}" in latex
    assert r"\textbf{100 $\pm$ 0.00}" in latex
    assert cli(*arguments, "--format", "csv").out.splitlines()[1] == "parity,90.0,100.0"


def test_json(cli: Cli):
    answer = cli("results", "sweep", "--json", "--where", "language=tomita-3", "--group-by", "language,seed")
    value = json.loads(answer.out)
    assert value["group_by"] == ["language", "seed"]
    rows = [(group["language"], group["seed"], group["mean"], group["sd"]) for group in value["groups"]]
    assert rows == [("tomita-3", 0, 60.0, None), ("tomita-3", 1, 100.0, None)]
    assert value["failed"] == [{"run": "regex-0", "status": "failed", "reason": "the loss is nan at step 7"}]
    assert value["unfinished"] == ["regex-1"]


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture(cli: Cli, tmp_path: Path, suffix: str, start: bytes):
    answer = cli("results", "sweep", "--tested", "hard-1", "--plot", f"curves.{suffix}", "--json")
    assert json.loads(answer.out)["plot"] == f"curves.{suffix}"
    assert (tmp_path / f"curves.{suffix}").read_bytes().startswith(start)


def test_damage_is_told_and_counted(cli: Cli, sweep: Path):
    (sweep / "runs" / "parity-1" / "summary.json").write_text("{}")
    answer = cli("results", "sweep", "--tested", "thesis")
    assert "damaged: parity-1: summary.json is damaged: SHA-256 expected " in answer.err
    assert "parity        100  100    -      100-100    -              2     1       1 of 1" in answer.out


def test_many_unfinished_runs_are_not_all_named(cli: Cli, tmp_path: Path):
    configs = {f"run-{k:02}": made.config_text(seed=k) for k in range(30)}
    path = made.sweep(tmp_path / "long", configs, dict.fromkeys(sorted(configs)[:23], "diverged"))
    lines = cli("results", path.name).err.splitlines()
    assert lines[0].startswith("7 runs are not finished: run-23, ")
    assert lines[20:] == ["failed: run-19: diverged", "and 3 more that failed"]


def test_nothing_heavy_is_imported():
    code = "import sys; from regulargpt.cli import call; "
    code += "call(['results', 'experiments/results/single/results.csv', '--group-by', 'language']); "
    code += "print([name for name in ('torch', 'sklearn', 'scipy', 'matplotlib', 'networkx') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("language ")
    assert done.stdout.endswith("[]\n")


def scored(name: str, score: float, supervision: str = "last", measures: tuple[str, ...] = ("accuracy",)) -> None:
    """A run with these measures, each ten points below the one before, and with a chance of its own."""
    values = {measure: score - 10 * at for at, measure in enumerate(measures)}
    found = {measure: made.a_test({5: value}, measure)["measures"][measure] for measure, value in values.items()}
    guesses = {m: {"score": v, "worst": v, "chance": v / 2, "majority": v / 2 + 1} for m, v in values.items()}
    text = made.config_text(objective__name=supervision)
    made.done(Path(name), {5: score}, text, measures[0], measures=found, scores=guesses)


PREFIXES = ("accuracy", "accuracy_by_position", "words")


def test_two_measures_never_share_a_column(cli: Cli):
    scored("runs/last", 90.0)
    scored("runs/prefixes", 80.0, "prefixes", PREFIXES)
    tables = cli("results", "runs").out.split("\n\n")
    assert [table.splitlines()[0] for table in tables] == [MEASURES[name].label for name in PREFIXES]
    rows = [[line.split() for line in table.splitlines() if line.startswith(("last", "prefixes"))] for table in tables]
    assert [[row[0] for row in of] for of in rows] == [["last", "prefixes"], ["prefixes"], ["prefixes"]]
    # Each with its own chance and its own rule of one answer.
    guesses = [" ".join(row[-2:]) for of in rows for row in of]
    assert guesses == ["46.00 45.00", "41.00 40.00", "36.00 35.00", "31.00 30.00"]
    found = json.loads(cli("results", "runs", "--json").out)
    assert [found["measure"], *(other["measure"] for other in found["others"])] == list(PREFIXES)
    csv = cli("results", "runs", "--format", "csv").out.splitlines()
    assert csv[0].endswith(
        "n_asked,first_wrong,n_as_it_is,measure,chance,majority,differ,conditions,given,given_least,given_most"
    )
    assert [line.split(",")[-8:-5] for line in csv[1:]] == [["accuracy", "45.0", "46.0"], ["accuracy", "40.0", "41.0"]]


def test_the_table_of_all_runs_keeps_each_measure_with_its_chance_and_reads_it_again(cli: Cli):
    scored("runs/last", 90.0)
    scored("runs/prefixes", 80.0, "prefixes", PREFIXES)
    scored("runs/next", 70.0, "next", ("next_sets", "accuracy"))
    table = reading.rows("runs")
    Path("results.csv").write_text(reading.to_csv(table))
    columns = Path("results.csv").read_text().splitlines()[0].split(",")
    names = ("accuracy", "next_sets", "accuracy_by_position", "words")
    assert columns[-12:] == [*names, *(f"{name}{part}" for name in names for part in ("_chance", "_majority"))]
    again = reading.rows("results.csv")
    assert [row.measure for row in again] == ["accuracy", "next_sets", "accuracy"]
    assert [row.guesses for row in again] == [row.guesses for row in table]
    assert [row.measures for row in again] == [row.measures for row in table]


def test_scores_of_different_measures_are_not_averaged(cli: Cli):
    scored("runs/last", 90.0)
    scored("runs/next", 80.0, "next", ("next_sets", "accuracy"))
    refused = cli("results", "runs", "--group-by", "language")
    assert_refused(refused, "'accuracy', 'next_sets'; --measure accuracy, which all have")
    assert " 80.00 † " in cli("results", "runs", "--group-by", "language", "--measure", "accuracy").out
    with pytest.raises(UserError, match=r"^the score of run last is of accuracy, that of run next of next_sets"):
        groups(reading.rows("runs"), ["data.name"])


@pytest.mark.parametrize(
    ("key", "values", "column"),
    [
        ("objective__name", ("last", "prefixes"), "supervision"),
        ("model__name", ("lstm", "gru"), "model"),
        ("recipe", ("words", "paper"), "recipe"),
        ("data__name", ("parity", "tomita-3"), "language"),
        ("training__clip", (1.0, 2.0), "clip"),
    ],
)
def test_runs_that_differ_are_columns_of_their_own_and_marked_where_they_are_averaged(
    cli: Cli, key: str, values: tuple[object, object], column: str
):
    for at in range(8):
        made.done(Path("runs", str(at)), {5: 50.0 + at}, made.config_text(**{key: values[at % 2], "seed": at}))
    apart = cli("results", "runs")
    assert (apart.err, apart.out.split()[0], " † " in apart.out) == ("", column, False)
    # No interval about other seeds: these are not alike.
    whole = cli("results", "runs", "--group-by", "protocol")
    assert whole.err == f"a group has runs that differ in {column}; name that in --group-by to tell them apart\n"
    assert f"†: its runs differ in {column}.\n" in whole.out
    assert " 53.50 † " in whole.out.replace("  ", " ")
    assert "interval" not in whole.out
    (group,) = json.loads(cli("results", "runs", "--group-by", "protocol", "--json").out)["groups"]
    assert (group["differ"], group["low"], group["high"]) == (column, None, None)


def test_tests_under_different_protocols_are_never_averaged(cli: Cli):
    for at, protocol in enumerate(("thesis-1", "hard-1")):
        made.done(Path("runs", str(at)), {5: 50.0}, made.config_text(protocol, seed=at))
    refused = cli("results", "runs", "--group-by", "language")
    assert_refused(refused, "runs 0 and 1 were tested under thesis-1 and hard-1: name one, or group by tested")


def test_conditions_that_differ_are_marked_and_no_best_is_bold_across_them(cli: Cli):
    prefixes = {"objective__name": "prefixes", "data__name": "modular-arithmetic:plus=true"}
    made.done(Path("runs/a"), {5: 60.0}, made.config_text(model__name="lstm", data__name="modular-arithmetic"))
    made.done(Path("runs/b"), {5: 99.0}, made.config_text(**prefixes))
    for at, name in enumerate(("lstm", "regulargpt")):
        made.done(Path(f"runs/parity-{at}"), {5: 60.0 + at}, made.config_text(model__name=name))
    out = cli("results", "runs").out
    marks = {line.split()[0]: line.split()[5] for line in out.splitlines() if " [" in line and line[0] != "["}
    assert marks == {"modular-arithmetic": "[a]", "modular-arithmetic:plus=true": "[b]"}
    assert "[a]: language modular-arithmetic, supervision last" in out
    assert "[b]: language modular-arithmetic:plus=true, supervision prefixes" in out
    pivot = cli("results", "runs", "--pivot", "protocol,model", "--where", "language=modular-arithmetic:plus=true")
    assert "[a]" not in pivot.out
    made.done(Path("runs/c"), {5: 99.0}, made.config_text(objective__name="prefixes", model__name="gru"))
    parity = cli("results", "runs", "--pivot", "language,model", "--where", "language=parity")
    assert "61.00 [b]" in parity.out
    assert "99.00 [a]" in parity.out
    assert "*" not in parity.out
    alike = cli("results", "runs/parity-0", "runs/parity-1", "--pivot", "language,model")
    assert alike.out.splitlines()[1].split() == ["parity", "60.00", "61.00*"]
