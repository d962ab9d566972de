"""What the verbs of the measurements say and write: one table of cases, and what only one of them does."""

import csv
import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from regulargpt.config.schema import RunConfig
from regulargpt.measurements import MEASUREMENTS
from regulargpt.measurements.sample import words_of
from regulargpt.runs import run as running
from regulargpt.runs.opened import open_run
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, assert_refused, everything, lines_of
from tests.regulargpt.pretend_gpu import numbers, pretended
from tests.regulargpt.small import ATTENTION, COMMON

# A command, the rows of its first table, and lines that it prints, in this order; … stands for anything.
# No folder is taken for an encoding of its name. A depth without a needle is a dash.
TABLE = """
verify tree --length 21 --words 6 -> 8
parity, regulargpt: states on 6 words of length 21
… for 2 of 2 monoid elements: they do not match; purity …
no certificate: the quantised network errs on a word…

receptive-field tree --length 21 --words 6 -> 21
parity, regulargpt: gradients on 6 words
…99 % of the gradient lies on …

receptive-field alibi/run --words 2 --length 20 --attention sliding:4 -> 20
…, transformer: gradients on 2 segments
m c_m 5 % 95 %
1 …
2 …
16 …
20 …
…windows: no symbol beyond the last 7 can count

resolution alibi/run --words 2 --length 20 -> 12
…, transformer: attention resolution, attention full, 2 segments
length mean R layer 0 layer 1 to the first
8 …
16 …
20 …
The shortest distances decide on R, which is never above 1; compare orders, not published values.

positions alibi/run --words 2 --length 20 -> 20
…, transformer: scoring position, 2 segments
position nats a symbol the last 8
1 …
4 …
5-6 …
9-11 …
17-20 …
beyond position 8, attention to more than the last 8 symbols …

positions gru/run --words 2 --length 9 -> 9
…, gru: scoring position, 2 segments
position nats a symbol
5-6 …
9 …
gru has no attention that could be restricted…

methods alibi/run --words 2 --lengths 16 --methods sliding,sinks -> 6
…, transformer: 2 segments, trained on 8 symbols
bits per byte 8 16
trained …
sliding …
sinks …
x as trained, at this length 8 16
sliding 1.000 (1.000-1.000) …
sinks 1.000 (1.000-1.000) …
at 16 symbols, …

position-variance none/run --updates 1 -> 8
…, transformer without encodings: 256 segments
position layer 0 layer 1
1 …
8 …
the variance of the attention output falls as m^…

position-variance --updates 2 -> 9
a random layer without encodings: d = 16, H = 2, L = 9, s = 0.02, 4 draws
2.1:…
2.2:…
2.2:…
1 …
9 …
mean absolute error of positions up to 6; always the middle: 1.5…
0 …
1 …

kernels alibi/run --length 9 -> 20
alibi: the bias of 2 heads in 2 layers, one bias for all layers
layer head CPD effective length before after training
0 1 yes 33 33
0 2 yes 513 513
0 of 2 heads had an effective length within the training length 8 before training, 0 after; the bias moved by 0 at most

kernels alibi --heads 2 --length 32 -> 64
head CPD PD smallest on sum 0 c, n = 2 c, n = 8 c, n = 32 effective length
1 yes no 0.0313 0.0312 0.219 0.969 33
2 yes no 0.00196 0.00195 0.0137 0.0605 513
shift invariant: yes; largest difference 0
the smallest c that makes c + f positive definite grows over these lengths, in all heads
a constant added to the bias is not seen by softmax

kernels kerple_bias_wht --length 4 -> 32
the encoding also multiplies the logits, which is not looked at

align none/run --words 2 --length 20 --fixed 0.5 -> 16
…, transformer: one temperature a model, on all
strategy …
none, …
none, …
p_max …
entropy …
log 0.694 …
fixed …
Propositions 5.1 and 5.2 say: p_max …
… restores it: …

needles documents --lengths 64,100 --bins 4 --words 8 -> 8
retrieval:line, transformer: exact match (%) by depth (%), 8 documents a length
length all 95 % interval 0-25 25-50 50-75 75-100
64 …
100 …
exact match … % at length 64, … % at 100…; chance 6.25 %

needles recurrent --lengths 64,100 --bins 4 --words 8 -> 8
retrieval:line, gru: exact match (%) by depth (%), 8 documents a length
length all 95 % interval 0-25 25-50 50-75 75-100
64 …
100 …

needles recurrent --lengths 35 --bins 4 --words 1 -> 4
35 … - …
"""


class Case(NamedTuple):
    """A command, and what it prints and writes."""

    command: str
    rows: int
    lines: list[str]

    @classmethod
    def of(cls, block: str) -> "Case":
        head, *lines = block.splitlines()
        command, rows = head.split(" -> ")
        return cls(command, int(rows), lines)

    @property
    def verb(self) -> str:
        return self.command.partition(" ")[0]

    @property
    def files(self) -> list[str]:
        of_verb = [f"{self.verb}.{end}" for end in ("csv", "json", "png")]
        temperatures = [f"temperature-{name}.json" for name in ("entropy", "fixed", "log", "p_max")]
        own = {
            "verify": ["clusters.csv", "clusters.json", "pca.png", "scree.png", "states-pca.csv"],
            "align": [of_verb[0], "align.html", *of_verb[1:], *temperatures],
            "methods": ["cells", of_verb[0], "methods.html", *of_verb[1:]],
        }
        return own.get(self.verb, of_verb)


CASES = [Case.of(block) for block in TABLE.strip().split("\n\n")]


def test_every_verb_of_the_registry_has_a_case():
    assert {case.verb for case in CASES} == {*MEASUREMENTS, "verify"} - {"clusters"}


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command)
def test_a_measurement_says_and_writes_what_it_should_and_again_the_same(
    at_home: Cli, home: Path, tmp_path: Path, case: Case
):
    command = case.command.split()
    run = home / command[1]
    is_run = (run / "DONE").exists()
    place = run / case.verb if is_run else tmp_path / "first"
    before = {path: data for path, data in everything(run).items() if not path.startswith(case.verb)}
    answer = at_home(*command, "--json", *([] if is_run else ["--out", place]))
    assert (answer.code, answer.err) == (0, "")
    assert sorted(path.name for path in place.iterdir()) == case.files
    (name,) = (name for name in case.files if name.endswith(".json") and not name.startswith("temperature"))
    report = json.loads(answer.out)
    report.pop("certificate", None)  # of `verify`: it has a file of its own where it holds
    assert json.loads((place / name).read_text()) == report
    table = next(name for name in case.files if name.endswith("csv"))
    assert len(rows(place / table)) == case.rows
    assert all((place / name).read_bytes().startswith(b"\x89PNG") for name in case.files if name.endswith("png"))
    printed = iter(lines_of(at_home(*command, "--out", tmp_path / "again")))
    for line in case.lines:
        pattern = ".*".join(map(re.escape, line.split("…")))
        assert any(re.fullmatch(pattern, one) for one in printed), line
    again, first = everything(tmp_path / "again"), everything(place)
    if case.verb == "align":  # it names the page
        again, first = ({name: found[name] for name in case.files if name[6:] != "json"} for found in (again, first))
    assert again == first
    if is_run:
        assert {path: data for path, data in everything(run).items() if path in before} == before
        length = 40 if "depth" in answer.out else 9
        assert at_home("evaluate", run, "--lengths", length, "--samples", 2).code == 0


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize("run", ["attention", "rnn", "run", "linear", "tree"])
@pytest.mark.parametrize("verb", ["verify", "receptive-field"])
def test_every_kind_of_run_on_a_language_is_measured(at_home: Cli, tmp_path: Path, run: str, verb: str):
    answer = at_home(verb, run, "--length", 24, "--words", 4, "--out", tmp_path, "--json")
    assert (answer.code, answer.err, json.loads(answer.out)["length"]) == (0, "", 24)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "command",
    [
        *(f"receptive-field {run} --length 24 --words 4" for run in ("attention", "tree")),
        *(f"{verb} alibi/run --length 20 --words 2" for verb in ("align", "positions", "resolution")),
        "needles documents --lengths 40 --words 4",
    ],
)
def test_a_run_is_measured_where_its_network_is(at_home: Cli, tmp_path: Path, command: str):
    here = json.loads(at_home(*command.split(), "--json", "--out", tmp_path / "here").out)
    with pretended():
        there = json.loads(at_home(*command.split(), "--json", "--out", tmp_path / "there").out)
    assert numbers(there) == pytest.approx(numbers(here), abs=1e-5)


def test_the_tables_of_clusters(at_home: Cli, tmp_path: Path):
    assert at_home("verify", "tree", "--length", 21, "--words", 6, "--out", tmp_path).code == 0
    table, states = rows(tmp_path / "clusters.csv"), rows(tmp_path / "states-pca.csv")
    *table, shuffled, untrained = table
    assert [row["depth"] for row in table] == ["all", "1", "2", "3", "4", "5"]
    assert int(table[0]["rows"]) == len(states) == sum(int(row["rows"]) for row in table[1:])
    # By chance: the same clusters and as many classes, mixed; and other states, on the same sub-words.
    assert (shuffled["depth"], untrained["depth"]) == ("shuffled", "untrained")
    assert [shuffled[key] for key in ("rows", "clusters")] == [table[0][key] for key in ("rows", "clusters")]
    assert untrained["rows"] == table[0]["rows"]
    assert untrained["spread"] != table[0]["spread"]
    assert {(row["element"], row["least_word"]) for row in states} == {("0", "ε"), ("1", "1")}
    # The run knows nothing yet: no cluster is an element.
    assert len({(row["element"], row["cluster"]) for row in states}) > max(2, int(table[0]["clusters"]))


def test_states_at_a_hook_point_of_some_levels_and_in_another_plane(at_home: Cli, tmp_path: Path):
    asked = ("verify", "tree", "--length", 21, "--words", 6, "--out", tmp_path / "out")
    at = ("--at", "blocks.0.mlp.hook_post", "--level", "1, 3", "--method", "lda", "--format", "svg", "--width", "8.2cm")
    assert at_home(*asked, *at).code == 0
    found = {path.name for path in (tmp_path / "out").iterdir()}
    assert found == {"clusters.csv", "clusters.json", "lda.svg", "scree.svg", "states-lda.csv"}
    assert {row["depth"] for row in rows(tmp_path / "out" / "states-lda.csv")} == {"1", "3"}
    width = re.search(r'width="([0-9.]+)pt"', (tmp_path / "out" / "lda.svg").read_text())
    assert width is not None
    assert float(width[1]) == pytest.approx(72 * 8.2 / 2.54, abs=0.1)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--at", "blocks.0.mlp.hook_pots"), "no hook point named 'blocks.0.mlp.hook_pots'; did you mean "),
        (("--at", "hook_embed"), "at hook_embed no vector of each node passes; choose another hook point"),
        (("--level", "9"), "--level 9: there is no such level; on words of this length there are 1, 2, 3, 4, 5"),
        (("--level", "two"), "--level 'two': write levels in digits, as in 1,2"),
        (("--width", "1in"), "'1in' is no width from 2in to 20in, as in 3.25in or 8.2cm"),
        (("--width", "wide"), "'wide' is no width from 2in to 20in, as in 3.25in or 8.2cm"),
    ],
)
def test_states_that_are_not_there_are_refused_before_anything_is_written(
    at_home: Cli, tmp_path: Path, more: tuple[str, ...], said: str
):
    answer = at_home("verify", "tree", "--length", 21, "--words", 6, "--out", tmp_path / "out", *more)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert said in answer.err
    assert not (tmp_path / "out").exists()


def test_a_run_that_answers_everywhere_has_all_positions(cli: Cli, tmp_path: Path):
    settings = {**COMMON, **ATTENTION, "objective.name": "prefixes", "training.steps": 2}
    running.run(RunConfig().replaced(settings), tmp_path / "run")
    assert cli("verify", "run", "--length", 16, "--words", 3).code == 0
    ends = {int(row["end"]) for row in rows(tmp_path / "run" / "verify" / "states-pca.csv") if row["depth"] == "4"}
    assert ends == set(range(1, 17))


def test_without_a_length_the_longest_up_to_500_with_words_is_taken(home: Path):
    for name, length in (("odd", 499), ("tree", 500)):
        assert words_of(open_run(RunFolder.open(home / name)), None, 1, None).length == length


def test_kernels_of_an_encoding_with_options(cli: Cli, tmp_path: Path):
    answer = cli("kernels", "alibi:slopes=press", "--heads", 12, "--length", 16, "--json", "--out", "kernels")
    report = json.loads(answer.out)
    assert [head["effective_length"]["value"] for head in report["heads"]][-4:] == [3, 6, 12, 23]
    assert report["shift_invariance"] == {"largest_difference": 0.0, "is_invariant": True}
    assert [float(row["bias"]) for row in rows(tmp_path / "kernels" / "kernels.csv")[:16]] == [
        -x / 2 for x in range(16)
    ]
    assert "multiplies the logits" not in cli("kernels", "kerple_power", "--length", 4).out


@pytest.mark.usefixtures("tiny")
def test_a_simulation_by_name_seed_and_without_updates(cli: Cli, tmp_path: Path):
    command = ("position-variance", "--preset", "thesis", "--seed", 3, "--json")
    report = json.loads(cli(*command, "--out", "variance").out)
    assert (report["preset"], [layer["layer"] for layer in report["probe"]["layers"]]) == ("thesis", [0, 1])
    causal = [float(row["causal"]) for row in rows(tmp_path / "variance" / "position-variance.csv")]
    assert causal == report["variance"]["causal"]
    assert json.loads(cli(*command).out) == report
    assert json.loads(cli(*command, "--updates", 0).out)["probe"] is None
    assert "always the middle" not in cli("position-variance", "--updates", 0).out


@pytest.mark.parametrize(
    ("run", "other", "verb", "said"),
    [
        ("none/run", "alibi/run", "evaluate", ", temperature 0.5"),
        ("documents", "recurrent", "needles", ", 128 documents a length, temperature 0.5"),
    ],
)
def test_the_temperature_of_an_alignment_is_used_by_other_verbs_and_of_other_networks_refused(
    at_home: Cli, tmp_path: Path, run: str, other: str, verb: str, said: str
):
    aligned = lines_of(at_home("align", run, "--length", 80, "--words", 2, "--fixed", 0.5, "--out", tmp_path))
    assert any(" restores it: " in line for line in aligned)
    file = tmp_path / "temperature-fixed.json"
    more = ("--out", tmp_path / "needles") if verb == "needles" else ()
    assert lines_of(at_home(verb, run, "--temperature", file, *more))[0].endswith(said)
    refused = at_home(verb, other, "--temperature", file)
    assert_refused(refused, f"{file.name} was made for another network; run `regulargpt align` on this one")
