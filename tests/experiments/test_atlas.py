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
from experiments.atlas.entries import entries, write_files
from experiments.atlas.networks import NETWORKS, RNN_STEPS, TABLE
from experiments.atlas.plan import MADE, chosen, core_hours, plan
from experiments.atlas.rows import row as row_of
from experiments.atlas.rows import why_unproven
from experiments.atlas.rule import rule
from experiments.page.files import PAGE
from languages.automata import Dfa
from languages.convert.json_text import to_json
from languages.errors import UserError
from regulargpt.certificate import verdict
from regulargpt.config.schema import RunConfig
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.storage.folder import AUTOMATON, RunFolder

TINY = {"training.steps": 2, "model.d_model": 8, "evaluation.samples": 4, "evaluation.stride": 80}


def atlas(*arguments: str) -> int:
    return main(["out", *arguments], TINY)


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out"


@pytest.mark.slow
def test_from_runs_to_the_page_and_on(here: Path, capsys) -> None:
    def done(*arguments: str, code: int = 0) -> tuple[int, list[columns.Row]]:
        assert atlas(*arguments) == code
        return capsys.readouterr().out.count("done "), columns.read(here / columns.FILE)

    number, rows = done("--first", "1", "--only-model", "rnn,gated")
    assert number == len(rows) == 2
    assert done("--first", "2", "--only-model", "rnn")[0] == 1  # of the first it has the run
    rows = columns.read(here / columns.FILE)
    names = [("two-states-00", "gated"), ("two-states-00", "rnn"), ("two-states-01", "rnn")]
    assert [(row["language"], row["network"], row["state"]) for row in rows] == [(*name, "done") for name in names]
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
    # Again nothing is run, and nothing changes.
    before = {file: (here / file).read_bytes() for file in (columns.FILE, PAGE)}
    assert done("--first", "2", "--only-model", "rnn")[0] == 0
    assert {file: (here / file).read_bytes() for file in before} == before
    # Finished rows of runs that are elsewhere are kept, and not run again; one that failed is.
    kept, first, second = columns.lines(here / columns.FILE)
    shutil.rmtree(here / SWEEP)
    columns.write(here / columns.FILE, [kept, first, {**second, "state": "failed"}])
    assert done("--first", "2", "--only-model", "rnn")[0] == 1
    assert columns.lines(here / columns.FILE)[:2] == [kept, first]
    # A failure is a row.
    folder = SweepFolder(here / SWEEP)
    folder.record_failure(folder.names[0], "the loss is nan at step 2", "diverged")
    _, rows = done("--first", "2", "--only-model", "rnn", code=1)
    found = [(row["state"], row["reason"], row["accuracy"]) for row in rows if row["state"] != "done"]
    assert found == [("failed", "the loss is nan at step 2", None)]
    assert "| RNN | 1 | 1 |" in (here / PAGE).read_text()
    done("--first", "2", "--only-model", "rnn", "--retry")


def test_a_stopped_run_is_no_row_yet_and_a_language_that_cannot_be_tested_is_one(here: Path) -> None:
    assert row_of(next(plan_of(here, "rnn")), SweepFolder(here / SWEEP)) is None
    planned = next(plan_of(here, "rnn", {"evaluation.test_len": 3}))
    reason = "evaluation.test_len = 3; test words are longer than data.train_len = 40"
    assert row_of(planned, SweepFolder(here / SWEEP)) == {"state": "refused", "reason": reason, "budget": RNN_STEPS}


def plan_of(out: Path, names: str, changes: dict | None = None):
    write_files(entries()[:1], out)
    return plan(entries()[:1], chosen(names), out, changes)


def test_what_is_refused_writes_nothing(here: Path, capsys) -> None:
    for arguments, message in (
        (["--only-model", "rn"], "unknown network 'rn'; did you mean 'rnn'?"),
        (["--page-only"], "atlas.csv"),
    ):
        assert atlas(*arguments) == 2
        assert message in capsys.readouterr().err
    for arguments in (["--first", "0"], ["--jobs", "x"]):
        with pytest.raises(SystemExit, match="2"):
            atlas(*arguments)
    assert not here.exists()


def test_the_networks_are_those_that_were_asked_for(tmp_path: Path) -> None:
    entry = entries()[0]
    write_files([entry], tmp_path)
    configs = {name: network.config(entry.path(tmp_path)) for name, network in NETWORKS.items()}
    models = {"gated": "regulargpt", "regulargpt-known": "regulargpt", "tanh-rnn": "rnn"}
    models |= {"signed-delta": "delta", "signed-mamba": "mamba"}
    proven = {"gated", "regulargpt", "regulargpt-known", "ldru", "tanh-rnn"}
    for name, config in configs.items():
        assert config.model.name == models.get(name, name.partition("-")[0])
        assert config.recipe == ("answers" if name in proven else "words")
        assert (config.seed, config.data.train_len, config.data.test.members) == (0, 40, 0.5)
        assert config.data.near_misses == config.data.test.near_misses == 0.5
        assert {length % 2 for length in config.scored} == {0, 1}
        assert 41 == config.scored[0] < config.scored[-1] <= 200
    assert [*configs] == ["gated", "regulargpt", "regulargpt-known", "ldru", "rnn", "tanh-rnn", "lstm", "signed-delta",
                          "signed-mamba", "transformer-none", "transformer-alibi"]  # fmt: skip
    known = configs["regulargpt"].replaced({f"{TABLE}.automaton": "known"})
    assert known == configs["regulargpt-known"] != configs["regulargpt"]
    assert [configs[f"transformer-{name}"].model.encoding.name for name in ("none", "alibi")] == ["none", "alibi"]


def test_hours_are_those_of_the_table_that_was_made(tmp_path: Path) -> None:
    rows = columns.read(MADE)
    hours = core_hours(len(entries()), NETWORKS.values())
    assert hours == pytest.approx(sum(row["seconds"] for row in rows) / 3600)
    assert core_hours(len(entries()), NETWORKS.values(), tmp_path / "none.csv") is None


def test_a_row_says_how_many_steps_its_run_might_have_had(tmp_path: Path) -> None:
    write_files(entries()[:1], tmp_path)
    (planned,) = plan(entries()[:1], [NETWORKS["lstm"]], tmp_path, {"evaluation.test_len": 3, "training.steps": 7})
    found = row_of(planned, SweepFolder(tmp_path / SWEEP))
    assert found
    assert found["budget"] == 7
    # Rows of a network with other steps than before say both.
    rows = [*made_up("rnn", {0: 50.0, 1: 60.0}, budget=700.0), *made_up("rnn", {2: 99.0}, budget=6_000.0)]
    assert "700 (2), 6,000 (1)" in page.of_one("rnn", rows)


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
    known = {**dict.fromkeys(columns.COLUMNS), "network": network, "state": "done", "reason": "", "seconds": 1.0}
    return [
        {
            **known,
            "language": f"drawn-{n:03}",
            **algebra(drawn_dfa(n)),
            "accuracy": accuracy,
            "steps": 10,
            "budget": 10,
            **values,
        }
        for n, accuracy in accuracies.items()
    ]


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
    said = made_up("gated", {number: 100.0 - 10 * (size > 20) for number, size in sizes.items()}, proven=1)
    rnn, finite = made_up("rnn", dict.fromkeys(sizes, 100.0)), algebra(Dfa.from_regex("ab|ba")) | {"language": "finite"}
    columns.write(tmp_path / columns.FILE, [*said, said[0] | finite, *rnn, rnn[0] | finite])
    page.write_page(tmp_path)
    text = (tmp_path / PAGE).read_text().replace("\\", "")
    assert "122 rows of 61 languages. On 1 languages" in text
    accuracies = np.array([row["accuracy"] for row in said])
    cells = next(line for line in text.splitlines() if line.startswith("| gated RegularGPT |")).split(" | ")
    assert cells[1:4] == ["60", "0", "10"]
    assert cells[4].startswith(f"{accuracies.mean():.1f} [")
    assert cells[5].startswith(f"{100 * (accuracies == 100).mean():.1f} [")
    assert cells[6] == "100.0 [100.0, 100.0]"
    expected = spearmanr([row["monoid"] for row in said], accuracies).statistic
    line = next(line for line in text.splitlines() if line.startswith(f"| monoid | **{expected:.2f} ["))
    assert line.endswith("| – |")  # of a network that is always right
    bound = float(re.search(r"monoid <= ([\d.]+)", text)[1])
    solved = {flag: [row["monoid"] for row in said if (row["accuracy"] == 100) == flag] for flag in (True, False)}
    assert max(solved[True]) < bound < min(solved[False])
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
    # What says nothing has none.
    assert correlation.spearman(np.ones(20), np.arange(20.0)) is None
    assert correlation.spearman(np.arange(4.0), np.arange(4.0)) is None


def test_rules_count_every_language_once() -> None:
    random = np.random.default_rng(1)
    rows = made_up("rnn", {number: float(random.choice([80.0, 100.0])) for number in range(60)})
    counts = [tuple(map(int, re.search(r"(\d+) of (\d+) extrapolate", line).groups())) for line in rule(rows)]
    assert sum(n for _, n in counts) == 60
    assert sum(k for k, _ in counts) == sum(row["accuracy"] == 100 for row in rows)
    assert 2 <= len(counts) <= 4


def test_means_have_the_interval_of_other_draws_and_every_language_a_band() -> None:
    """Of a normal sample the bootstrap's interval is near the mean plus and minus 1.96 standard errors."""
    values = np.random.default_rng(2).normal(50, 10, 200)
    found = groups.mean([{"accuracy": value} for value in values], groups.accuracy)
    error = 1.96 * values.std() / np.sqrt(200)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - error, values.mean() + error), abs=0.25)
    some = [algebra(entry.dfa) for entry in entries()[::5]]
    for column, edges in (("monoid", pictures.MONOID_EDGES), ("j_depth", pictures.DEPTH_EDGES)):
        assert sum(map(len, groups.bands(some, column, edges).values())) == len(some)
        assert edges[-1] >= LARGEST
