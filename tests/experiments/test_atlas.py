"""The atlas from three tiny runs to its page; that it goes on; its page, correlations and rules from made-up rows."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from experiments.atlas import columns, correlation, groups, page, pictures
from experiments.atlas.__main__ import SWEEP, main
from experiments.atlas.algebra import algebra
from experiments.atlas.drawn import LARGEST, drawn_dfa
from experiments.atlas.entries import Entry, entries, write_files
from experiments.atlas.networks import NETWORKS, TABLE
from experiments.atlas.plan import chosen, core_hours, plan
from experiments.atlas.rows import row as row_of
from experiments.atlas.rows import why_unproven
from experiments.atlas.rule import rule
from experiments.page.files import PAGE
from languages.automata import Dfa
from languages.convert.json_text import to_json
from languages.errors import UserError
from regulargpt.certificate import verdict
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage.folder import AUTOMATON, RunFolder

TINY = {"training.steps": 2, "model.d_model": 8, "evaluation.samples": 4, "evaluation.stride": 80}


def atlas(*arguments: str) -> int:
    return main(["out", *arguments], TINY)


def state_of(rows: list[columns.Row]) -> list[tuple[str, str, str]]:
    return [(row["language"], row["network"], row["state"]) for row in rows]


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out"


@pytest.mark.slow
def test_from_runs_to_the_page(here: Path, capsys) -> None:
    assert atlas("--first", "1", "--only-model", "rnn,gated") == 0
    assert capsys.readouterr().out.count("done ") == 2
    assert atlas("--first", "2", "--only-model", "rnn") == 0
    assert capsys.readouterr().out.count("done ") == 1
    rows = columns.read(here / columns.FILE)
    assert state_of(rows) == [
        ("two-states-00", "gated", "done"),
        ("two-states-00", "rnn", "done"),
        ("two-states-01", "rnn", "done"),
    ]
    expected = algebra(entries()[0].dfa)
    assert {name: rows[0][name] for name in expected} == expected
    assert [row["proven"] for row in rows] == [0, None, None]
    assert rows[0]["reason"].startswith("no certificate: ")
    assert all(0 <= row["accuracy"] <= 100 and row["seconds"] >= 0 and row["steps"] == 2 for row in rows)
    text = (here / PAGE).read_text()
    assert "3 rows of 2 languages" in text
    files = re.findall(r"\]\((.*?)\)", text)
    assert files == [f"curves/{name}.svg" for name in ("accuracy-by-monoid", "proven-by-monoid", "accuracy-by-depth")]
    assert all((here / file).read_text().startswith("<?xml") for file in files)


@pytest.mark.slow
def test_finished_rows_of_runs_elsewhere_are_kept_and_not_run_again(here: Path, capsys) -> None:
    assert atlas("--first", "2", "--only-model", "rnn") == 0
    first, second = columns.lines(here / columns.FILE)
    shutil.rmtree(here / SWEEP)
    columns.write(here / columns.FILE, [first, {**second, "state": "failed"}])
    capsys.readouterr()
    assert atlas("--first", "2", "--only-model", "rnn,lstm") == 0
    assert capsys.readouterr().out.count("done ") == 3
    rows = columns.lines(here / columns.FILE)
    assert [(row["language"], row["network"]) for row in rows] == [
        (language, network) for language in ("two-states-00", "two-states-01") for network in ("rnn", "lstm")
    ]
    assert rows[0] == first
    assert {row["state"] for row in rows} == {"done"}


@pytest.mark.slow
def test_it_goes_on_and_a_failure_is_a_row(here: Path, capsys) -> None:
    assert atlas("--first", "1", "--only-model", "rnn") == 0
    before = {file: (here / file).read_bytes() for file in (columns.FILE, PAGE)}
    assert capsys.readouterr().out.count("done ") == 1
    assert atlas("--first", "1", "--only-model", "rnn") == 0
    assert "done " not in capsys.readouterr().out
    assert {file: (here / file).read_bytes() for file in before} == before
    folder = SweepFolder(here / SWEEP)
    folder.record_failure(folder.names[0], "the loss is nan at step 2", "diverged")
    assert atlas("--first", "1", "--only-model", "rnn") == 1
    (row,) = columns.read(here / columns.FILE)
    assert (row["state"], row["reason"], row["accuracy"]) == ("failed", "the loss is nan at step 2", None)
    assert "| RNN | 0 | 1 |" in (here / PAGE).read_text()
    assert atlas("--first", "1", "--only-model", "rnn", "--retry") == 0


def test_a_stopped_run_is_no_row_yet(here: Path) -> None:
    planned = next(plan_of(here, "rnn"))
    assert row_of(planned, SweepFolder(here / SWEEP)) is None


def test_a_language_that_cannot_be_tested_is_a_row(here: Path) -> None:
    planned = next(plan_of(here, "rnn", {"evaluation.test_len": 3}))
    found = row_of(planned, SweepFolder(here / SWEEP))
    assert found == {
        "state": "refused",
        "reason": "evaluation.test_len = 3; test words are longer than data.train_len = 40",
    }


def plan_of(out: Path, names: str, changes: dict | None = None):
    write_files(entries()[:1], out)
    return plan(entries()[:1], chosen(names), out, changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only-model", "rn"], "unknown network 'rn'; did you mean 'rnn'?"),
        (["--page-only"], "atlas.csv"),
    ],
)
def test_what_is_refused_writes_nothing(here: Path, capsys, arguments: list[str], message: str) -> None:
    assert atlas(*arguments) == 2
    assert message in capsys.readouterr().err
    assert not here.exists()


@pytest.mark.parametrize("arguments", [["--first", "0"], ["--jobs", "x"]])
def test_numbers_are_whole_and_positive(here: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        atlas(*arguments)
    assert not here.exists()


def test_the_networks_are_those_that_were_asked_for(tmp_path: Path) -> None:
    entry = entries()[0]
    write_files([entry], tmp_path)
    configs = {name: network.config(entry.path(tmp_path)) for name, network in NETWORKS.items()}
    found = {name: (config.model.name, config.recipe) for name, config in configs.items()}
    assert found == {
        "gated": ("regulargpt", "answers"),
        "regulargpt": ("regulargpt", "answers"),
        "regulargpt-known": ("regulargpt", "answers"),
        "ldru": ("ldru", "answers"),
        "rnn": ("rnn", "words"),
        "lstm": ("lstm", "words"),
        "transformer-none": ("transformer", "words"),
        "transformer-alibi": ("transformer", "words"),
    }
    differs = value_of(configs["regulargpt-known"], f"{TABLE}.automaton")
    assert configs["regulargpt"].replaced({f"{TABLE}.automaton": differs}) == configs["regulargpt-known"]
    assert differs == "known"
    assert [configs[f"transformer-{name}"].model.encoding.name for name in ("none", "alibi")] == ["none", "alibi"]
    for config in configs.values():
        assert (config.seed, config.data.train_len, config.data.test.members) == (0, 40, 0.5)
        assert config.data.near_misses == config.data.test.near_misses == 0.5
        assert {length % 2 for length in config.scored} == {0, 1}
        assert 41 == config.scored[0] < config.scored[-1] <= 200
    assert core_hours(len(entries()), NETWORKS.values()) < 11


def finished_run(path: Path, machine: Dfa) -> RunFolder:
    """The folder of a proven run, whose certificate is about this machine."""
    run = RunFolder.create(path, RunConfig().render(), {})
    (path / AUTOMATON).write_text(to_json(machine.as_moore()))
    return run


def test_a_proof_about_another_language_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    language = Dfa.from_regex("a*b*", "ab")
    same = finished_run(tmp_path / "same", language)
    assert why_unproven(same, language) == "there is no certificate.json"
    monkeypatch.setattr(verdict, "acceptance", lambda run: verdict.Verdict(True))
    assert why_unproven(same, language) == ""
    other = finished_run(tmp_path / "other", Dfa.from_regex("a*b*a*", "ab"))
    assert why_unproven(other, language) == "proven of another language: ba is answered wrongly"
    # No network is shown the empty word: what it answers to it is no difference.
    without = finished_run(tmp_path / "without", Dfa.from_regex("a*b*", "ab") - Dfa.from_regex("a{0}", "ab"))
    assert why_unproven(without, language) == ""


def made_up(network: str, accuracies: dict[int, float], **values: object) -> list[columns.Row]:
    """A row each number of a drawn automaton."""
    found = []
    for number, accuracy in accuracies.items():
        dfa = drawn_dfa(number)
        found.append(
            {
                **dict.fromkeys(columns.COLUMNS),
                **{"language": f"drawn-{number:03}", "network": network, **algebra(dfa)},
                **{"accuracy": accuracy, "state": "done", "reason": "", "seconds": 1.0, "steps": 10},
                **values,
            }
        )
    return found


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = made_up("rnn", {0: 50.0, 1: 99.5}, reason='says "no", leaves', proven=True)
    columns.write(tmp_path / "a.csv", rows)
    assert columns.read(tmp_path / "a.csv") == rows
    (tmp_path / "b.csv").write_text((tmp_path / "a.csv").read_text().replace("99.5", "x"))
    with pytest.raises(UserError, match="accuracy is 'x', not a number"):
        columns.read(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("language\n")
    (tmp_path / "other").mkdir()
    columns.write(tmp_path / "other" / "a.csv", rows[:1])
    shutil.copy(tmp_path / "a.csv", tmp_path / "other")
    with pytest.raises(UserError, match=r"languages\.csv lacks drawn-001; copy the one that belongs to .*a\.csv"):
        columns.lines(tmp_path / "other" / "a.csv")
    with pytest.raises(UserError, match="has not the columns of an atlas"):
        columns.read(tmp_path / "c.csv")


def test_the_figures_of_the_page_come_from_the_table(tmp_path: Path) -> None:
    """Each figure is computed here once more, from the rows."""
    sizes = {number: algebra(drawn_dfa(number))["monoid"] for number in range(60)}
    gated = made_up("gated", {number: 100.0 - 10 * (size > 20) for number, size in sizes.items()}, proven=1)
    rnn = made_up("rnn", dict.fromkeys(sizes, 100.0))
    finite = algebra(Dfa.from_regex("ab|ba"))
    constant = [gated[0] | finite | {"language": "finite"}, rnn[0] | finite | {"language": "finite"}]
    gated, rows = [*gated, constant[0]], [*gated, *rnn, *constant]
    columns.write(tmp_path / columns.FILE, rows)
    page.write_page(tmp_path)
    text = (tmp_path / PAGE).read_text()
    said = [row for row in gated if not row["is_constant"]]
    assert f"122 rows of 61 languages. On {61 - len(said)} languages" in text
    assert len(said) == 60
    accuracies = np.array([row["accuracy"] for row in said])
    line = next(line for line in text.splitlines() if line.startswith("| gated RegularGPT |"))
    cells = line.replace("\\", "").split(" | ")
    assert cells[1:3] == [str(len(said)), "0"]
    assert cells[3].startswith(f"{accuracies.mean():.1f} [")
    assert cells[4].startswith(f"{100 * (accuracies == 100).mean():.1f} [")
    assert cells[5] == "100.0 [100.0, 100.0]"
    expected = spearmanr([row["monoid"] for row in said], accuracies).statistic
    line = next(line for line in text.splitlines() if line.startswith("| monoid |"))
    assert line.replace("\\", "").startswith(f"| monoid | **{expected:.2f} [")
    assert line.endswith("| – |")  # of a network that is always right
    bound = float(re.search(r"monoid \\<= ([\d.]+)", text)[1])
    largest_solved = max(row["monoid"] for row in said if row["accuracy"] == 100)
    assert largest_solved < bound < min(row["monoid"] for row in said if row["accuracy"] < 100)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*")}
    assert main([str(tmp_path), "--page-only"]) == 0
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*")} == before


def test_correlations_agree_with_scipy_and_their_intervals_hold_them() -> None:
    random = np.random.default_rng(0)
    x = random.integers(0, 5, 40).astype(float)
    y = x + random.normal(size=40).round()
    found = correlation.spearman(x, y)
    assert found is not None
    assert found.value == pytest.approx(spearmanr(x, y).statistic)
    assert found.low < found.value < found.high
    by_hand = [spearmanr(x[at], y[at]).statistic for at in groups.resamples(40)[:200]]
    assert np.allclose(by_hand, correlation.of_ranks(x[groups.resamples(40)], y[groups.resamples(40)])[:200])
    assert found == correlation.spearman(x, y)


def test_what_says_nothing_has_no_correlation() -> None:
    assert correlation.spearman(np.ones(20), np.arange(20.0)) is None
    assert correlation.spearman(np.arange(4.0), np.arange(4.0)) is None


def test_rules_count_every_language_once() -> None:
    random = np.random.default_rng(1)
    rows = made_up("rnn", {number: float(random.choice([80.0, 100.0])) for number in range(60)})
    counts = [tuple(map(int, re.search(r"(\d+) of (\d+) extrapolate", line).groups())) for line in rule(rows)]
    assert sum(n for _, n in counts) == 60
    assert sum(k for k, _ in counts) == sum(row["accuracy"] == 100 for row in rows)
    assert 2 <= len(counts) <= 4


def test_means_have_the_interval_of_other_draws() -> None:
    """Of a normal sample the bootstrap's interval is near the mean plus and minus 1.96 standard errors."""
    values = np.random.default_rng(2).normal(50, 10, 200)
    found = groups.mean([{"accuracy": value} for value in values], groups.accuracy)
    error = 1.96 * values.std() / np.sqrt(200)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.25)


def test_every_language_has_a_band() -> None:
    some = [algebra(entry.dfa) for entry in entries()[::5]]
    for column, edges in (("monoid", pictures.MONOID_EDGES), ("j_depth", pictures.DEPTH_EDGES)):
        assert sum(map(len, groups.bands(some, column, edges).values())) == len(some)
        assert edges[-1] >= LARGEST


def test_entries_have_their_number_in_the_name() -> None:
    assert entries()[23].name == "two-states-23"
    assert entries()[24] == Entry("drawn-000", drawn_dfa(0))
