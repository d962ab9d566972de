"""A run keeps the file of its language: its folder says the same wherever it lies, and whatever the file is by now.

At home a run from before that reads the file that its name says. Elsewhere there is the copied folder alone.
"""

import copy
import json
import pickle
import shutil
import signal
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import languages
import regulargpt
from languages.automata import Dfa
from languages.convert.machines import to_json
from languages.kept import Kept
from languages.named_file import file_of as file_of_language
from languages.registry import is_text
from regulargpt.cli import call
from regulargpt.config.protocols import protocol
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.runs import keep
from regulargpt.runs import run as running
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.configured import config_of
from regulargpt.runs.sweep.folder import SweepFolder
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import CONFIG, ENVIRONMENT, FALSIFIED, RunFolder
from regulargpt.storage.kept import NAME, names
from regulargpt.storage.manifest import IntegrityError, digest
from regulargpt.text.corpora.named_file import file_of_text
from regulargpt.training.trainer import Interrupted
from tests.cli.conftest import Answer, Cli, assert_refused, for_a_moment
from tests.regulargpt.forging import SHORT, edit, without_kept
from tests.regulargpt.small import contents
from tests.regulargpt.tiny_decoders import byte_tokenizer


def file_of(name: str) -> Path | None:
    """The file that the name of a language or a text names."""
    return file_of_text(name) if is_text(name) else file_of_language(name)


EVEN = to_json(Dfa(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", {"even"}))
ENDS = to_json(Dfa(("no", "yes"), ("0", "1"), ((0, 1), (0, 1)), "no", {"yes"}))
NO_WORD_ENDS_IT = 'digraph { a [shape=doublecircle]; i [shape=none]; i -> a; a -> a [label="0"]; a -> b [label="0"]; '
SIZE = ("--d-model", "4", "--steps", "3", "--samples", "4", "--batch-size", "4", "--extra-lengths", "")
LENGTHS = ("--train-len", "5", "--test-len", "8")


@dataclass(frozen=True)
class Case:
    """A name, what lies in its file, what a run keeps it as, and what else its run is told."""

    language: str
    content: str
    kept: str
    options: tuple[str, ...] = LENGTHS

    @property
    def file(self) -> Path:
        found = file_of(self.language)
        assert found is not None
        return found


def words() -> str:
    every = ["".join(word) for n in range(1, 8) for word in product("ab", repeat=n)]
    return "word,answer\n" + "".join(f"{word},{word.count('b') % 2}\n" for word in every)


def pushdown(name: str) -> str:
    return to_json(languages.find(name).machine)  # type: ignore[arg-type]


GRU = ("--model", "gru", *LENGTHS)
CASES = {
    "dfa": Case("dfa:mine.json", EVEN, "language.json"),
    "options": Case(
        "dfa:files/mine.DOT;determinise=true;empty=true",
        NO_WORD_ENDS_IT + 'b -> a [label="1"]; }',
        "language.dot",
    ),
    "nested": Case("pushdown:files/nested.json", pushdown("brackets-1"), "language.json"),
    "depth": Case("pushdown:deep.json;depth=every", pushdown("brackets-1"), "language.json", GRU),
    "row": Case("pushdown:row.json", pushdown("reverse-string"), "language.json"),
    "words": Case("words:mine.csv", words(), "language.csv", ("--train-len", "5", "--test-len", "7")),
    "text": Case("text:notes.md", "alpha beta gamma\n" * 100, "text.md", ("--train-len", "8", "--test-len", "32")),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files, and a run on each, named after its case."""
    home = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for_a_moment(patch)
        for name, case in CASES.items():
            case.file.parent.mkdir(exist_ok=True)
            case.file.write_text(case.content)
            assert call(["run", case.language, *SIZE, *case.options, "--out", name]) == 0
    return home


@dataclass(frozen=True)
class Places:
    """Where a command is given: at home, and in a folder elsewhere, from which a copy of the run is `../kept/it`."""

    cli: Cli
    home: Path
    away: Path
    patch: pytest.MonkeyPatch

    def at_home(self, verb: str, *more: str) -> Answer:
        """What a verb says of the run where it was made."""
        self.patch.chdir(self.home)
        return self.cli(verb, "it", *more)

    def elsewhere(self, verb: str, *more: str) -> Answer:
        """What it says of the copy."""
        self.patch.chdir(self.away)
        return self.cli(verb, "../kept/it", *more)

    @property
    def copied(self) -> Path:
        return self.away.parent / "kept" / "it"


@pytest.fixture
def places_of(trained: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes both places for a case."""
    for_a_moment(monkeypatch)

    def made(name: str) -> Places:
        home, away = tmp_path / "home", tmp_path / "elsewhere"
        for folder in (home, away):
            folder.mkdir()
        file = home / CASES[name].file
        file.parent.mkdir(exist_ok=True)
        file.write_text(CASES[name].content)
        shutil.copytree(trained / name, home / "it")
        without_kept(home / "it")
        shutil.copytree(trained / name, tmp_path / "kept" / "it")
        return Places(cli, home, away, monkeypatch)

    return made


SAME: dict[str, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys(CASES, (("evaluate", "--lengths", "6,7"), ("resume",))),
}


def said(answer: Answer) -> Any:
    """What a command printed, without where the run lies and how long it took."""
    assert answer.code == 0, answer
    found = json.loads(answer.out)
    return plain(found)


def plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: plain(value) for key, value in found.items() if "seconds" not in key and key not in UNLIKE}
    return [plain(value) for value in found] if isinstance(found, list) else found


UNLIKE = ("run_dir", "out", "file", "plot", "files", "tried", "budget", "ruled_out", "page", "picture")


@pytest.mark.parametrize("name", CASES)
def test_a_copied_folder_says_what_the_run_says_at_home(places_of, name: str):
    places, case = places_of(name), CASES[name]
    assert case.file.name not in {path.name for path in places.copied.iterdir()} | {case.kept}
    assert (places.copied / case.kept).read_text() == case.content
    for verb, *more in SAME[name]:
        away, home = places.elsewhere(verb, *more, "--json"), places.at_home(verb, *more, "--json")
        assert said(away) == said(home), verb
        assert case.kept not in away.out
    if name != "text":  # what it comes to in a moment is chance
        assert places.elsewhere("falsify").code == 0
        (places.copied / FALSIFIED).unlink()
        (places.home / "it" / FALSIFIED).unlink()
    assert places.elsewhere("report").code == places.at_home("report").code == 0
    pages = [(folder / "report.html").read_text() for folder in (places.copied, places.home / "it")]
    assert pages[0] == pages[1]
    assert str(places.away.parent) not in pages[0]


@pytest.mark.parametrize("name", ["dfa", "nested", "words", "text"])
def test_an_edited_file_at_home_changes_nothing_and_an_altered_copy_is_refused(places_of, name: str):
    places, case = places_of(name), CASES[name]
    away = said(places.elsewhere("evaluate", "--lengths", "6,7", "--json"))
    # The same relative name, and another language.
    file = places.away / case.file
    file.parent.mkdir(exist_ok=True)
    file.write_text("no machine, and no table")
    assert said(places.elsewhere("evaluate", "--lengths", "6,7", "--json")) == away
    kept = places.copied / case.kept
    kept.write_text(case.content + "\n")
    damaged = f"../kept/it/{case.kept} is damaged: SHA-256 expected …; restore it from a copy"
    for verb in ("evaluate", "report", "extract", "generate" if name == "text" else "falsify"):
        assert_refused(places.elsewhere(verb), damaged)
    kept.unlink()
    assert_refused(places.elsewhere("evaluate"), f"{case.kept} is damaged: …found no file; restore it from a copy")


def test_what_names_the_copy_is_under_the_manifest_and_names_no_file_outside(places_of):
    places = places_of("dfa")
    (places.copied / "language.json").write_text(ENDS)
    edit(places.copied / ENVIRONMENT, lambda r: r["kept"]["name"].update(sha256=digest(ENDS.encode())))
    assert_refused(places.elsewhere("evaluate"), "environment.json is damaged")
    # Before the manifest is there, the automaton's digest still speaks.
    (places.copied / "DONE").unlink()
    assert_refused(places.elsewhere("resume"), "dfa:mine.json is not what ../kept/it began with")
    (places.copied.parent / "language.json").write_text(EVEN)
    for other in ("../language.json", "/etc/passwd", "language.json/../../language.json", CONFIG, ""):
        edit(places.copied / ENVIRONMENT, lambda r, name=other: r["kept"]["name"].update(file=name))
        assert_refused(places.elsewhere("resume"), "environment.json: 'kept' is not what a run writes there")
    edit(places.copied / ENVIRONMENT, lambda r: r.update(kept=["language.json"]))
    assert_refused(places.elsewhere("resume"), "environment.json: 'kept' is not what a run writes there")


@pytest.mark.parametrize("name", ["dfa", "nested", "words", "text"])
def test_a_folder_from_before_reads_the_file_where_its_name_says(places_of, name: str):
    places, case = places_of(name), CASES[name]
    without_kept(places.copied)
    assert_refused(places.elsewhere("evaluate", "--lengths", "6,7"), str(case.file))
    file = places.away / case.file
    file.parent.mkdir(exist_ok=True)
    file.write_text(case.content)
    assert places.elsewhere("evaluate", "--lengths", "6,7").code == 0


@pytest.mark.parametrize("name", ["dfa", "row", "words", "text"])
def test_a_stopped_run_goes_on_elsewhere_to_the_same_bytes(cli: Cli, tmp_path: Path, monkeypatch, name: str):
    """Though the file was edited while it was trained, and is gone now."""
    for_a_moment(monkeypatch)
    case = CASES[name]
    Path(case.file).write_text(case.content)
    options = ("--set", "training.steps=12", "--set", "training.log_every=2", "--set", "training.checkpoint_every=4")
    told = [*SIZE, *case.options, *options]
    del told[(at := told.index("--steps")) : at + 2]
    assert cli("run", case.language, *told, "--out", "whole").code == 0
    settings = RunConfig.parse(Path("whole", CONFIG).read_text())

    def on_row(row: dict[str, Any]) -> None:
        if row["step"] == 6:
            Path(case.file).write_text("another one")
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted):
        running.run(settings, tmp_path / "stopped", running.Watch(on_row=on_row))
    Path(case.file).unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "stopped").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert cli("resume", "../moved").code == 0
    assert contents(tmp_path / "moved") == contents(tmp_path / "whole")
    assert (tmp_path / "moved" / CONFIG).read_bytes() == (tmp_path / "whole" / CONFIG).read_bytes()


def test_what_is_read_at_the_end_of_a_run_is_what_it_began_with(cli: Cli):
    """Under another protocol a language is made anew, after the training."""
    Path("mine.json").write_text(EVEN)
    assert cli("run", "dfa:mine.json", *SIZE, *LENGTHS, "--out", "first").code == 0
    plain = RunConfig.parse(Path("first", CONFIG).read_text())
    settings = plain.replaced({"evaluation.extra_protocols": (protocol("hard").id,)})
    whole = running.run(settings, "whole")["extra_protocols"]
    edit_it = running.Watch(on_row=lambda row: Path("mine.json").unlink(missing_ok=True))
    assert running.run(settings, "edited", edit_it)["extra_protocols"] == whole
    assert not Path("mine.json").exists()
    assert whole


def run_on(content: str, out: str) -> RunFolder:
    """A run on `dfa:mine.json`, with this in it."""
    Path("mine.json").write_text(content)
    settings = configuration("dfa:mine.json").replaced(SHORT)
    running.run(settings, out)
    return RunFolder.open(out)


def test_a_proof_holds_wherever_the_run_is_and_check_takes_the_kept_file(cli: Cli, tmp_path: Path, monkeypatch):
    assert certificate_report(run_on(EVEN, "run"))["proven"]
    Path("run").rename("moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("mine.json").write_text(ENDS)
    moved = Path("../moved")
    assert "1 of 1" in cli("results", moved).out
    assert "1 of 1 certified" in cli("report", moved).out
    assert cli("demo", "--run", moved).code == 0
    assert cli("verify", moved, "--length", "41").code == 0
    assert cli("check", moved).code == 0
    assert cli("check", moved, "--language", f"dfa:{moved / 'language.json'}").code == 0
    # Who names a file on the command line means that one.
    assert cli("check", moved, "--language", "dfa:mine.json").code == 1
    (moved / "language.json").write_text(ENDS)
    answer = cli("results", moved)
    assert "0 of 1" in answer.out
    assert "language.json is damaged" in answer.err


def test_runs_of_one_name_have_each_its_own_language_in_one_process(cli: Cli):
    even, ends = run_on(EVEN, "even"), run_on(ENDS, "ends")
    Path("mine.json").unlink()
    loaded = [regulargpt.load(folder.path) for folder in (even, ends)]
    assert [run.config.data.name for run in loaded] == ["dfa:mine.json"] * 2
    assert [run.task.machine.answers("10").tolist() for run in loaded] == [0, 0]
    assert [run.task.machine.answers("11").tolist() for run in loaded] == [1, 1]
    assert [run.task.machine.answers("1").tolist() for run in loaded] == [0, 1]
    assert cli("report", "even", "ends", "--out", "both.html").code == 0
    # A config that was loaded trains on the language that it was loaded with, and its run keeps that.
    assert running.run(loaded[1].config, "again")["language"] == "dfa:mine.json"
    assert Path("again/language.json").read_text() == ENDS
    # So does the config.toml in a folder.
    assert cli("run", "--config", "ends/config.toml", "--out", "third").code == 0
    assert Path("third/language.json").read_text() == ENDS


SWEEP = (*SIZE, *LENGTHS, "--model", "gru", "--jobs", "1", "--set", "device=cpu")


def test_each_run_of_a_sweep_keeps_its_file(cli: Cli, tmp_path: Path, monkeypatch):
    for_a_moment(monkeypatch)
    Path("mine.json").write_text(EVEN)
    swept = ("sweep", "dfa:mine.json", *SWEEP, "--seed", "0-1", "--out", "swept")
    assert cli(*swept).code == 0
    runs = sorted(Path("swept/runs").iterdir())
    assert [(run / "language.json").read_text() for run in runs] == [EVEN] * 2
    Path("mine.json").write_text(ENDS)
    # More runs would be on another language, under the same name in the table.
    answer = cli("sweep", "dfa:mine.json", *SWEEP, "--seed", "0-2", "--out", "swept")
    assert_refused(answer, f"dfa:mine.json is not what {runs[0]} began with; put it back, or choose another --out")
    Path("mine.json").unlink()
    Path("swept").rename("moved")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for run in runs:
        SweepFolder(Path("../moved")).check_done(run.name)
        assert name_of(config_of(RunFolder.open(f"../moved/runs/{run.name}"))) == run.name
        assert cli("evaluate", f"../moved/runs/{run.name}", "--lengths", "6").code == 0
    assert cli("results", "../moved").code == 0
    (Path("../moved/runs") / runs[0].name / "language.json").write_text(ENDS)
    with pytest.raises(IntegrityError, match=r"language\.json is damaged"):
        SweepFolder(Path("../moved")).check_done(runs[0].name)


def test_a_tokenizer_is_kept_beside_its_text(cli: Cli, tmp_path: Path, monkeypatch):
    case = CASES["text"]
    case.file.write_text(case.content)
    byte_tokenizer().save("pieces.json")
    options = (*SIZE, *case.options, "--set", "data.tokenizer=pieces.json")
    assert cli("run", case.language, *options, "--out", "run").code == 0
    before = said(cli("evaluate", "run", "--lengths", "8", "--json"))
    (tmp_path / "elsewhere").mkdir()
    for file in ("pieces.json", case.file):
        Path(file).unlink()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert said(cli("evaluate", "../run", "--lengths", "8", "--json")) == before
    with Path("../run/tokenizer.json").open("a") as file:
        file.write(" ")
    assert_refused(cli("evaluate", "../run", "--lengths", "8"), "tokenizer.json is damaged")


def test_a_text_that_is_large_is_not_kept_and_that_is_said(cli: Cli, monkeypatch):
    case = CASES["text"]
    monkeypatch.setattr(keep, "LARGEST", len(case.content) - 1)
    case.file.write_text(case.content)
    answer = cli("run", case.language, *SIZE, *case.options, "--out", "run")
    assert "notes.md has more than 0 MiB, so the run keeps no copy" in answer.err
    assert not Path("run/text.md").exists()
    assert "kept" not in json.loads(Path("run", ENVIRONMENT).read_text())
    case.file.unlink()
    assert_refused(cli("evaluate", "run", "--lengths", "8"), "text:notes.md is no built-in text")


def test_a_file_that_changes_while_it_is_read_begins_no_run(cli: Cli, monkeypatch):
    Path("mine.json").write_text(EVEN)

    def read(file: Path) -> bytes:
        file.write_text(ENDS)
        return file.read_bytes()

    monkeypatch.setattr(keep, "read_bytes", read)
    assert_refused(cli("run", "dfa:mine.json", *SIZE, *LENGTHS, "--out", "run"), "dfa:mine.json changed while it was")
    assert not Path("run").exists()


LANGUAGES = st.sampled_from([*(case.language for case in CASES.values()), "words:a:b;c.csv", "dfa:;=.json"])


@given(LANGUAGES)
def test_a_kept_name_is_the_text_that_it_was_and_copies_know_its_file(language: str):
    name, file = Kept(language, Path("there")), Path("there")
    assert (name, hash(name), f"{name}", json.dumps(name)) == (language, hash(language), language, json.dumps(language))
    for other in (name, copy.copy(name), copy.deepcopy([name])[0], pickle.loads(pickle.dumps(name))):
        assert (other, file_of(other)) == (language, file)
    assert file_of(language) != file


def test_changed_configs_read_the_kept_file_and_are_written_as_before(trained: Path):
    """Under protocols, too, which draw words otherwise."""
    folder = RunFolder.open(trained / "nested")
    settings = config_of(folder)
    kept = folder.kept_files()["name"]
    assert settings.render() == folder.config_text
    deep = protocol("deep").test_of(settings)
    assert deep.data.name != settings.data.name
    for changed in (settings, settings.replaced({"seed": 3}), settings.reading({"training.lr": "0.1"}), deep):
        assert file_of(changed.data.name) == kept
    # A name that is given anew is another, also where it reads the same.
    plain = settings.replaced({"model.name": "gru", "data.name": "parity"})
    assert file_of(plain.data.name) is None


@given(st.text(max_size=12))
def test_a_kept_file_is_called_by_a_name_that_may_be_read_back(ending: str):
    called = keep.called("name", RunConfig().data, Path(f"mine.{ending.replace('/', '').replace(chr(0), '')}"))
    assert NAME.fullmatch(called)
    assert names({"kept": {"name": {"file": called, "sha256": "0"}}}, Path("run")) == {"name": (called, "0")}
