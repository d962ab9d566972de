"""Proven is what the checker accepts now, of the run's own language, wherever it is said."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from languages.automata import Dfa
from languages.convert.json_text import to_json
from regulargpt import data
from regulargpt.certificate import verdict as module
from regulargpt.certificate.verdict import Verdict, verdict
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.runs import run as running
from regulargpt.storage.environment import version
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, cli  # noqa: F401
from tests.regulargpt.forging import SHORT, edit, forge, put, without_kept

PARITY = Path(__file__).parents[2] / "docs" / "certified" / "parity"
EVEN = Dfa(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", {"even"})
# As even as EVEN up to three symbols; then it rejects.
TRAP = Dfa(
    ("e0", "e1", "o1", "e2", "o2", "e3", "o3", "no"),
    ("0", "1"),
    ((1, 2), (3, 4), (4, 3), (5, 6), (6, 5), (7, 7), (7, 7), (7, 7)),
    "e0",
    {"e0", "e1", "e2", "e3"},
)


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No check of an earlier test is remembered."""
    monkeypatch.setenv("LANGUAGES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def parity(tmp_path: Path) -> RunFolder:
    shutil.copytree(PARITY, tmp_path / "parity")
    return RunFolder.open(tmp_path / "parity")


def swap_answers(record: dict) -> None:
    record["answers"].reverse()


CHANGES = [
    (lambda folder: (folder / "certificate.json").unlink(), "there is no certificate.json"),
    (lambda folder: (folder / "certificate.json").write_text("[]"), "certificate.json proves nothing: "),
    (
        lambda folder: forge(folder, "certificate", swap_answers),
        "proves nothing: the answer at prototype 1 is not 'odd'",
    ),
    (lambda folder: (folder / "automaton.json").unlink(), "automaton.json: no such file"),
    (lambda folder: (folder / "automaton.json").write_text("{}"), "automaton.json is not the automaton of"),
    (lambda folder: (folder / "model.safetensors").write_bytes(b""), "model.safetensors is damaged"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES)
def test_what_is_deleted_or_altered_is_not_proven_and_why_is_said(
    cli: Cli,  # noqa: F811
    parity: RunFolder,
    change: Callable[[Path], object],
    reason: str,
):
    assert verdict(parity, "parity") == Verdict(True)
    assert " 1 of 1 " in cli("results", "parity").out
    change(parity.path)
    found = verdict(parity, "parity")
    assert not found.proven
    assert reason in found.reason
    answer = cli("results", "parity")
    assert " 0 of 1 " in answer.out or answer.err.startswith("damaged: parity: ")
    assert reason in answer.err


def test_a_proof_of_another_language_is_none_of_this_one(parity: RunFolder):
    assert verdict(parity, "parity").proven
    found = verdict(parity, "even-pairs")
    assert found == Verdict(True, "its automaton is not that of even-pairs: 1 is even, not odd")


def test_what_was_accepted_is_not_checked_again_and_a_folder_cannot_say_so(
    cached: Path, parity: RunFolder, monkeypatch: pytest.MonkeyPatch
):
    assert verdict(parity, "parity").proven
    checks: list[bytes] = []

    def decide(certificate: bytes, *rest: object, **more: object) -> None:
        checks.append(certificate)
        raise module.Rejected("asked")

    monkeypatch.setattr(module, "decide", decide)
    assert verdict(parity, "parity").proven
    assert checks == []
    (marks,) = cached.iterdir()
    shutil.move(marks, parity.path / marks.name)
    assert verdict(parity, "parity").reason == "certificate.json proves nothing: asked"
    # Another byte anywhere, and it is asked about anew: the code of the checker among them.
    shutil.move(parity.path / marks.name, marks)
    assert verdict(parity, "parity").proven
    code = parity.path.parent / "checker"
    shutil.copytree(module.CHECKER, code, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "CHECKER", code)
    assert verdict(parity, "parity").proven
    # And other arithmetic.
    monkeypatch.setattr(module, "version", lambda name: "0" if name == "python-flint" else version(name))
    assert not verdict(parity, "parity").proven
    monkeypatch.setattr(module, "version", lambda name: "0" if name == "numpy" else version(name))
    assert not verdict(parity, "parity").proven
    monkeypatch.setattr(module, "version", version)
    assert verdict(parity, "parity").proven
    (code / "claims.py").write_text("# other code\n")
    assert not verdict(parity, "parity").proven


def test_without_a_cache_folder_it_is_checked_every_time(cached: Path, parity: RunFolder, monkeypatch):
    cached.write_text("a file where the folder should be")
    assert verdict(parity, "parity").proven
    assert verdict(parity, "parity").proven
    # A name that no file can have, as one that may not be read.
    monkeypatch.setenv("LANGUAGES_CACHE", str(cached.parent / ("long" * 1000)))
    assert verdict(parity, "parity").proven


@pytest.mark.parametrize("language", ["cycle-navigation", "modular-arithmetic", "regex:(b|ab*a)*", "tomita-3"])
def test_an_automaton_over_other_symbols_or_answers_is_another(parity: RunFolder, language: str):
    """That of parity has two symbols, and as many answers as a language that accepts by parity."""
    assert verdict(parity, language).reason == f"its automaton has other symbols or answers than {language}"


@pytest.fixture(scope="module")
def of_a_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a language in a file, and a network of it by construction, proven at the end of its run."""
    place = tmp_path_factory.mktemp("file")
    (place / "mine.json").write_text(to_json(EVEN))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        # Constructed runs are certified by `verify`; here one is asked at once.
        patch.setattr("regulargpt.runs.run.validate", lambda config, task=None: data.build(config.data))
        config = configuration("dfa:mine.json").replaced({**SHORT, "phases.table_fine_tuning.every": 100})
        assert running.run(config, "run")["proven"]
        without_kept(Path("run"))  # its own copy cannot change
    return place


@pytest.fixture
def file(of_a_file: Path, tmp_path: Path) -> Path:
    """The file of the language, in the current folder of `cli`, its run beside it."""
    shutil.copytree(of_a_file, tmp_path, dirs_exist_ok=True)
    return tmp_path / "mine.json"


def everywhere(cli: Cli) -> tuple[str, str, bool, str]:  # noqa: F811
    """What `results`, `report` and its page, `demo --run` and `resume` say of the run."""
    # Proven; one that is proven is so as it is, too.
    (table, *_) = re.findall(r"(\d) of 1\b", cli("results", "run").out)
    report = cli("report", "run").out.partition(" bytes, ")[2].strip()
    badge = 'class="badge proven"' in Path("run/report.html").read_text()
    lesson = cli("demo", "--run", "run")
    assert badge == (lesson.code == 0)
    (row,) = [line for line in cli("resume", "run").out.splitlines() if line.startswith("verdict")]
    return table, report, badge, row.removeprefix("verdict").strip()


def test_a_language_in_a_file_is_the_one_that_the_run_was_trained_on(cli: Cli, file: Path):  # noqa: F811
    said = everywhere(cli)
    assert said[:3] == ("1", "1 of 1 certified", True)
    assert said[3] == "proven at every length, in real arithmetic"
    file.write_text(to_json(TRAP))
    assert_unproven(cli)
    assert "no longer the automaton that the run was trained on" in cli("results", "run").err
    file.unlink()
    answer = cli("results", "run")
    assert "0 of 1" in answer.out
    assert "dfa:mine.json cannot be read" in answer.err
    file.write_text(to_json(EVEN))
    assert everywhere(cli) == said


def test_a_changed_file_is_not_held_against_the_network_in_silence(cli: Cli, tmp_path: Path):  # noqa: F811
    """Of a model without certificates too; its page says no more of that automaton."""
    (tmp_path / "mine.json").write_text(to_json(EVEN))
    size = ("--steps", "1", "--train-len", "4", "--test-len", "6", "--extra-lengths", "", "--d-model", "4")
    assert cli("run", "dfa:mine.json", "--model", "lstm", *size, "--out", "run").code == 0
    without_kept(tmp_path / "run")
    (tmp_path / "mine.json").write_text(to_json(TRAP))
    assert "dfa:mine.json is no longer the automaton that the run was trained on" in cli("extract", "run").err
    answer = cli("verify", "run")
    assert (answer.code, answer.out) == (2, "")
    assert "dfa:mine.json is not what run began with" in answer.err
    assert cli("report", "run").code == 0
    assert "its language is not found here, or its file has changed." in (tmp_path / "run/report.html").read_text()


def test_proven_of_another_automaton_is_not_proven_also_once_the_file_says_that_one(cli: Cli, file: Path):  # noqa: F811
    """The network is that of EVEN and proven so; the run was on TRAP, which short words do not tell from it."""
    file.write_text(to_json(TRAP))
    known = module.digest(to_json(module.find("dfa:mine.json").machine).encode())
    edit(Path("run/environment.json"), put("automaton/sha256", known))
    RunFolder(Path("run")).finish()  # with a manifest that fits
    assert_unproven(cli)
    reason = "its automaton is not that of dfa:mine.json: 0000 is reject, not accept"
    assert reason in cli("results", "run").err
    assert reason in cli("demo", "--run", "run").err
    file.write_text(to_json(EVEN))
    assert_unproven(cli)


def assert_unproven(cli: Cli) -> None:  # noqa: F811
    table, report, badge, row = everywhere(cli)
    assert (table, badge) == ("0", False)
    assert report == "0 of 1 certified, 1 of another automaton than its language's"
    assert row.startswith("proven of its automaton, not of dfa:mine.json; ")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"proven": None}, []),
        ({"proven": False}, []),
        (
            {"phases": {"table_fine_tuning": {"proven_unquantised": True}}},
            ["proven at every length, in real arithmetic"],
        ),
        (
            {"phases": {"table_fine_tuning": {"proven_unquantised": False}}},
            ["proven at every length, in real arithmetic, with states replaced by prototypes"],
        ),
    ],
)
def test_above_the_picture_of_a_run_stands_what_is_proven_of_it(more: dict[str, object], said: list[str]):
    summary = json.loads((PARITY / "summary.json").read_text())
    config = RunConfig.parse(RunFolder(PARITY).config_text)
    first, *rest = running.heading(config, summary | more).splitlines()
    assert first.startswith("parity, ")
    assert rest == said
