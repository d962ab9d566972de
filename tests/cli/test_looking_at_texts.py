"""What the analyses of trained language models write and say, and what they refuse."""

import csv
import json
from pathlib import Path

import pytest

from regulargpt.runs import run as running
from tests.cli.conftest import Cli
from tests.cli.test_refusals import assert_refused, everything
from tests.regulargpt.small import config
from tests.regulargpt.texts import text_run

FILES = {verb: [f"{verb}.{end}" for end in ("csv", "json", "png")] for verb in ("resolution", "positions", "kernels")}
FILES |= {
    verb: [f"{verb}.{end}" for end in ("csv", "json", "png")] for verb in ("receptive-field", "position-variance")
}
FEW = {
    "position-variance": ("--updates", "1"),
    "kernels": (),
    **dict.fromkeys(("resolution", "positions", "receptive-field"), ("--words", "2", "--length", "20")),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """Runs with and without an encoding, a recurrent one, and one on a language."""
    folder = tmp_path_factory.mktemp("runs")
    text_run(folder / "alibi", model__encoding__name="alibi")
    text_run(folder / "none", model__encoding__name="none")
    text_run(folder / "gru", "gru")
    running.run(config("gru", training__steps=2, evaluation__samples=2), folder / "language")
    return folder


def of(runs: Path, verb: str) -> Path:
    return runs / ("none" if verb == "position-variance" else "alibi") / "run"


@pytest.mark.parametrize("verb", FILES)
def test_files_are_written_beside_the_run_and_again_the_same(cli: Cli, runs: Path, tmp_path: Path, verb: str):
    run, more = of(runs, verb), FEW[verb]
    before = everything(run)
    answer = cli(verb, run, *more, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert sorted(path.name for path in (run / verb).iterdir()) == FILES[verb]
    assert json.loads((run / verb / f"{verb}.json").read_text()) == json.loads(answer.out)
    first = everything(run / verb)
    assert cli(verb, run, *more, "--out", tmp_path / "here").code == 0
    again = {Path(path).name: data for path, data in everything(tmp_path / "here").items()}
    assert again == {Path(path).name: data for path, data in first.items()}
    assert {path: data for path, data in everything(run).items() if path in before} == before
    assert cli("evaluate", run, "--lengths", "9", "--samples", "2").code == 0


def lines(cli: Cli, *arguments: object) -> list[str]:
    answer = cli(*arguments)
    assert (answer.code, answer.err) == (0, "")
    return [" ".join(line.split()) for line in answer.out.splitlines()]


# By command: the end of the title, the header of the table, its first column, the last line, the rows of the CSV.
TABLES = [
    (
        "receptive-field alibi/run --words 2 --length 20 --attention sliding:4",
        ", transformer: gradients on 2 segments",
        *("m c_m 5 % 95 %", "1 2 4 8 16 20", "windows: no symbol beyond the last 7 can count", 20),
    ),
    (
        "resolution alibi/run --words 2 --length 20",
        ", transformer: attention resolution, attention full, 2 segments",
        *("length mean R layer 0 layer 1 to the first", "8 16 20"),
        "The shortest distances decide on R, which is never above 1; compare orders, not published values.",
        3 * 2 * 2,
    ),
    (
        "positions alibi/run --words 2 --length 20",
        ", transformer: scoring position, 2 segments",
        *("position nats a symbol the last 8", "1 2 3 4 5-6 7-8 9-11 12-16 17-20"),
        *("beyond position 8, attention to more than the last 8 symbols ", 20),
    ),
    (
        "positions gru/run --words 2 --length 9",
        ", gru: scoring position, 2 segments",
        *("position nats a symbol", "1 2 3 4 5-6 7-8 9", "gru has no attention that could be restricted", 9),
    ),
    (
        "position-variance none/run --updates 1",
        ", transformer without encodings: 256 segments",
        *("position layer 0 layer 1", "1 2 8", "the variance of the attention output falls as m^", 8),
    ),
]


@pytest.mark.parametrize(("command", "title", "header", "first", "last", "count"), TABLES)
def test_what_a_measurement_says(
    cli: Cli, runs: Path, tmp_path: Path, command: str, title: str, header: str, first: str, last: str, count: int
):
    verb, run, *options = command.split()
    found = lines(cli, verb, runs / run, *options, "--out", tmp_path / "out")
    assert found[0].endswith(title)
    assert found[1] == header
    names = first.split()
    assert [line.split()[0] for line in found[2 : 2 + len(names)]] == names
    assert found[-1].startswith(last)
    assert len(rows(tmp_path / "out" / f"{verb}.csv")) == count


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_the_table_of_learned_kernels(cli: Cli, runs: Path, tmp_path: Path):
    found = lines(cli, "kernels", runs / "alibi" / "run", "--length", 9, "--out", tmp_path / "k")
    assert found == [
        "alibi: the bias of 2 heads in 2 layers, one bias for all layers",
        "layer head CPD effective length before after training",
        "0 1 yes 33 33",
        "0 2 yes 513 513",
        "0 of 2 heads had an effective length within the training length 8 before training, 0 after; "
        "the bias moved by 0 at most",
    ]
    assert len(rows(tmp_path / "k" / "kernels.csv")) == 2 * 10


def test_a_folder_named_as_an_encoding_is_not_taken_for_a_run(cli: Cli, tmp_path: Path):
    (tmp_path / "alibi").mkdir()
    assert cli("kernels", "alibi", "--heads", 1, "--length", 8).code == 0


def test_the_table_of_an_alignment(cli: Cli, runs: Path, tmp_path: Path):
    options = ("--words", 2, "--length", 20, "--fixed", 0.5, "--out", tmp_path / "r")
    found = lines(cli, "align", runs / "none" / "run", *options)
    assert found[0].endswith(", transformer: one temperature a model, on all")
    assert [line.split()[0] for line in found[1:8]] == [
        "strategy",
        "none,",
        "none,",
        "p_max",
        "entropy",
        "log",
        "fixed",
    ]
    assert found[6].startswith("log 0.694 ")
    assert found[8].startswith("Propositions 5.1 and 5.2 say: p_max ")
    assert " restores it: " in found[9]
    assert len(rows(tmp_path / "r" / "align.csv")) == 4 * 2 * 2
    again = lines(cli, "evaluate", runs / "none" / "run", "--temperature", tmp_path / "r" / "temperature-fixed.json")
    assert again[0].endswith(", temperature 0.5")
    other = cli("evaluate", runs / "alibi" / "run", "--temperature", tmp_path / "r" / "temperature-fixed.json")
    assert_refused(other, "temperature-fixed.json was found for another network; run `regulargpt align` on this one")


OF_A_TEXT = ("resolution", "positions", "position-variance")


@pytest.mark.parametrize("verb", OF_A_TEXT)
def test_a_run_on_a_language_is_refused(cli: Cli, runs: Path, verb: str):
    before = everything(runs)
    part = "language is a run on the language tomita-5; choose a run on a text, such as text:code"
    assert_refused(cli(verb, runs / "language"), part)
    assert everything(runs) == before


WRONG = [
    ("resolution gru/run", "gru/run is a run of gru: it has no such attention; choose a transformer's"),
    ("resolution gru/run --attention bca", "evaluation.attention = 'bca': gru has no attention that could be"),
    ("resolution alibi/run --attention sliding:0", "evaluation.attention = 'sliding:0'; choose full, bca, or a window"),
    ("receptive-field alibi/run --attention bcaa", "evaluation.attention = 'bcaa'; choose full, bca, or a window"),
    ("receptive-field gru/run --attention sliding:4", "evaluation.attention = 'sliding:4': gru has no attention"),
    ("receptive-field language --attention sliding:4", "evaluation.attention = 'sliding:4': gru has no attention"),
    ("position-variance alibi/run", "has the encoding alibi, which tells positions; choose a run with --encoding none"),
    ("position-variance gru/run", "it has no such attention"),
    ("align gru/run", "gru/run is a run of gru: it has no softmax over positions; choose a transformer's"),
    ("align alibi/run --length 8", "--length 8: the run was trained on up to 8 symbols; choose a longer one"),
    ("align alibi/run --length 300", "600 to test on, which allows test lengths up to 299"),
    ("align alibi/run --length 200 --words 999999", "at most 1,048,576 symbols; choose fewer --words"),
    ("align alibi/run --fixed 0", "--fixed"),
    ("align alibi/run --by heads", "--by"),
    ("evaluate alibi/run --temperature none.json", "none.json: no such file; `regulargpt align RUN` writes one"),
    ("evaluate alibi/run --temperature alibi/text", "alibi/text is not a JSON object"),
    ("position-variance none/run --preset quick", "--preset and --device are of a simulation; leave them out"),
    ("position-variance --length 9", "--length is of a run; name one, or choose a --preset"),
    ("kernels none/run", "none adds no bias to the logits; choose an encoding that does, such as alibi"),
    ("kernels gru/run", "gru/run is a run of gru, not of a transformer; choose a transformer's"),
    ("kernels language", "language is a run of gru, not of a transformer; choose a transformer's"),
    ("kernels alibi/run --heads 2", "is a run, with heads and a seed of its own; leave out --heads and --seed"),
    ("kernels no/such", "run folder no/such does not exist"),
    *((f"{verb} alibi/run --words 0", "--words") for verb in ("resolution", "positions", "receptive-field")),
    *((f"{verb} alibi/run --length 0", "--length") for verb in ("resolution", "positions", "receptive-field")),
    *(
        (f"{verb} alibi/run --length 300", "--length 300: text:")
        for verb in ("resolution", "positions", "receptive-field")
    ),
    ("positions alibi/run --length 300", "600 to test on, which allows test lengths up to 299"),
    ("positions alibi/run --length 200 --words 999999", "at most 1,048,576 symbols; choose fewer --words"),
]


@pytest.mark.parametrize(("command", "part"), WRONG, ids=[command for command, _ in WRONG])
def test_what_cannot_be_looked_at_is_refused_in_one_line(cli: Cli, runs: Path, monkeypatch, command: str, part: str):
    before = everything(runs)
    monkeypatch.chdir(runs)
    assert_refused(cli(*command.split()), part)
    assert everything(runs) == before


@pytest.mark.parametrize(
    "verb", ["resolution", "positions", "receptive-field", "position-variance", "kernels", "align"]
)
def test_a_file_at_the_place_of_the_results_is_refused(cli: Cli, runs: Path, tmp_path: Path, verb: str):
    (tmp_path / "a-file").write_text("precious")
    before = everything(runs)
    assert_refused(cli(verb, of(runs, verb), "--out", "a-file"), "a-file is a file; choose another --out")
    assert everything(runs) == before
    assert (tmp_path / "a-file").read_text() == "precious"


@pytest.mark.parametrize("verb", ["resolution", "positions", "receptive-field", "position-variance", "align"])
def test_a_text_that_has_changed_is_refused(cli: Cli, runs: Path, tmp_path: Path, verb: str):
    encoding = "none" if verb == "position-variance" else "alibi"
    folder = text_run(tmp_path / "changed", model__encoding__name=encoding).path
    (tmp_path / "changed" / "text").write_bytes(b"another text. " * 500)
    assert_refused(cli(verb, folder), "put it back, or run anew")
    assert not (folder / verb).exists()
