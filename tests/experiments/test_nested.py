"""The table of nested words: its machines are those that the method gives, and its runs are legal."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import languages
from experiments import recorded
from experiments.nested import machines
from experiments.nested.table import LANGUAGES, NETWORKS, RANDOM
from experiments.registry import experiment
from experiments.reproduction import write_page
from languages.convert.pushdown import from_json
from languages.errors import AutomatonError
from languages.randomness import rng
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.config.validation import validate
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.folder import RunFolder
from tests.experiments.folders import ENVIRONMENT, filled
from tests.regulargpt.results.made import believe

NESTED, RANDOMLY = experiment("nested"), experiment("nested-random")
FILES = Path(machines.FOLDER)


def test_the_files_are_what_the_method_gives():
    tried = list(machines.tried())
    assert tuple(number for number, why in tried if not why) == RANDOM
    made = {name: machine() for name, machine in machines.OWN.items()}
    made |= {f"random-{number}": machines.random_machine(number) for number in RANDOM}
    assert {path.stem: from_json(path.read_text("utf-8")) for path in FILES.glob("*.json")} == made
    rows = list(csv.reader((FILES / "tried.csv").read_text("utf-8").splitlines()))[1:]
    assert [(int(number), why) for number, _, why in rows] == tried


def is_counted(word: str) -> bool:
    """By taking out one innermost pair after the other."""
    while True:
        close = next((i for i, symbol in enumerate(word) if symbol in ")]"), None)
        if close is None:
            return not set(word) & set("([")
        start = max(word.rfind(bracket, 0, close) for bracket in "([")
        kind, inside = word[max(start, 0)], word[start + 1 : close]
        if kind + word[close] not in ("()", "[]") or inside.count("x") % (2 if kind == "(" else 3):
            return False
        word = word[:start] + word[close + 1 :]


def is_document(word: str) -> bool:
    """By an XML parser and one regular expression for the children of each element."""
    content = {"ul": "(li )+", "dl": "(dt (dd )+)+", "li": "t (ul |dl )?", "t": "", "dt": "", "dd": ""}
    try:
        root = ElementTree.fromstring("".join(s if s[0] == "<" else f"<{s}/>" for s in word.split()))
    except ElementTree.ParseError:
        return False
    fits = all(re.fullmatch(content[one.tag], "".join(f"{child.tag} " for child in one)) for one in root.iter())
    return fits and root.tag in ("ul", "dl")


def value_in_kleene(word: str) -> str:
    """By Python's own lists: `not` of one argument, `and` the least, `or` the greatest of F, U and T."""
    functions = {"and": min, "or": max, "not": lambda values: 2 - values[0] if len(values) == 1 else None}
    text = re.sub(r"\((\w+)", r'of["\1"]([', word).replace(")", "]),")
    text = re.sub(r"\b([FUT])\b", lambda found: f"{'FUT'.index(found[1])},", text)
    return "FUT"[eval(text.rstrip(","), {"of": functions})]


def test_document_and_kleene_against_other_means():
    task = languages.find(LANGUAGES["document"])
    for length in (9, 16, 21, 30):
        words = task.sample(rng(0, "test", length), length, 40, near_misses=0.7, edits=3)
        assert [bool(answer) for answer in task.labels(words)] == [is_document(task.machine.decode(w)) for w in words]
    task = languages.find(LANGUAGES["kleene"])
    for length in (1, 4, 12, 25):
        words = task.sample(rng(0, "test", length), length, 40)
        found = [task.output_names[answer] for answer in task.labels(words)]
        assert found == [value_in_kleene(task.machine.decode(word)) for word in words]


def test_counted_against_rewriting():
    task = languages.find(LANGUAGES["counted"])
    for length in (3, 5):
        words = np.stack(np.meshgrid(*[np.arange(task.n_symbols)] * length), axis=-1).reshape(-1, length)
        assert (task.labels(words) == [is_counted(task.machine.decode(word)) for word in words]).all()


@pytest.mark.parametrize("scale", ["smoke", "cpu", "full"])
def test_every_network_is_shown_the_same_words(scale):
    for row in ("json", "arithmetic-precedence", "kleene", "random-0"):
        configs = (RANDOMLY if row == "random-0" else NESTED).all_configs(scale, [row])
        assert len(configs) == len(NETWORKS) * (3 if scale != "smoke" and row != "random-0" else 1)
        for config in configs:
            validate(config)
        assert len({config.data for config in configs}) == 1
        assert {value_of(config, "model.tree") for config in configs} == {None, "nested", "flat"}


def test_a_language_in_a_file_needs_the_clone(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AutomatonError, match=r"kleene\.json: cannot be read"):
        languages.find(LANGUAGES["kleene"])


def test_the_page_says_mean_and_worst_and_what_is_missing(tmp_path: Path, monkeypatch):
    believe(monkeypatch)

    def result(config: RunConfig) -> float:
        return 100.0 if value_of(config, "model.tree") == "nested" else 62.5

    folder = filled(tmp_path / "r", NESTED, "cpu", ["json"], result, proven=True)
    text = Path(write_page(folder.path, NESTED, "cpu")["page"]).read_text("utf-8")
    assert "Scale cpu: 18 of 18 runs are done." in text
    assert "| json | **100 / 100**" in text
    assert "62.50 / 62.50" in text
    assert "96.1" in text


def test_a_line_says_what_a_run_took_and_where_another_stopped(tmp_path: Path, monkeypatch):
    believe(monkeypatch)
    phase = {"labels_used": 8994, "proven_unquantised": True}
    more = {"seed": 0, "worst": 62.5, "certify_seconds": 1.5, "phases": {"table_fine_tuning": phase}}

    def result(config: RunConfig) -> float | None:
        return 62.5 if config.seed < 2 and config.model.name == "regulargpt" else None

    folder = filled(tmp_path / "r", NESTED, "cpu", ["json"], result, **more, proven=True)
    stopped = next(c for c in NESTED.configs("json", "gated", "cpu") if c.seed == 2)
    run = RunFolder.create(folder.run_path(name_of(stopped)), stopped.render(), ENVIRONMENT | {"device": "cuda"})
    for step in ("000000400", "000001312"):
        (run.path / "checkpoints" / step).mkdir(parents=True)
    found = recorded.gathered(NESTED, "cpu", folder)
    assert [(run.runs, run.seed) for run in found][:4] == [*(("gated", str(n)) for n in range(3)), ("regulargpt", "0")]
    done, other = found[0], found[2]
    assert (done.state, done.steps, done.train_seconds, done.certify_seconds) == ("done", (1400, 1400), 2.5, 1.5)
    assert (done.labels, done.asked, done.proven) == (8994, 1, 1)
    assert {name: test.scores for name, test in done.tests.items()} == dict.fromkeys(
        ("", "at 10000", "deep-1"), (62.5,)
    )
    assert (other.state, other.steps, other.is_open) == ("stopped", (1312, 1312), True)
