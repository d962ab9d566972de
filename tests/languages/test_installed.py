"""Languages of installed packages: as good as built-in ones, and every mistake of a package is named with it."""

import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from languages import get, task_of
from languages.automata import Dfa, MooreMachine, Semiautomaton
from languages.errors import LanguageError
from languages.installed import GROUP
from languages.randomness import rng
from languages.registry import listing
from languages.task import Task
from tests.languages.refusing import refusal

MODULE = '''
from __future__ import annotations
from typing import Literal
from languages.automata import Dfa
from languages.regular.user import task_of

def last_bit(bit: Literal["0", "1"] = "1", fair: bool = True):
    """Does the word end in this bit?"""
    dfa = Dfa(("no", "yes"), "01", ((1, 0), (1, 0)) if bit == "0" else ((0, 1), (0, 1)), "no", {"yes"})
    return task_of(dfa, f"last-bit:bit={bit},fair={fair}")

def multiples(n: int, symbols: str = "ab"):
    if n > 9:
        raise RuntimeError(f"{n} is\\ntoo many")
    table = [[(q + 1) % n] * len(symbols) for q in range(n)]
    return task_of(Dfa([f"q{q}" for q in range(n)], symbols, table, "q0", {"q0"}), f"multiples-{n}")

def number():
    return 7

def needs(this):
    return this
'''
POINTS = """[regulargpt.languages]
last-bit = outside_language:last_bit
multiples-N = outside_language:multiples
number = outside_language:number
needs = outside_language:needs
parity = outside_language:number
broken = outside_nowhere:nothing
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package outside the tree, installed: its module and its metadata are on the path."""
    (tmp_path / "outside_language.py").write_text(MODULE)
    write_metadata(tmp_path, "outside-package")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "outside_language", raising=False)
    return tmp_path


def write_metadata(folder: Path, name: str) -> None:
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(POINTS)


def test_an_installed_language_is_as_good_as_a_built_in_one(package: Path) -> None:
    task = get("last-bit")
    assert task.labels([[0, 1], [1, 0]]).tolist() == [1, 0]
    assert task.labels(task.sample(rng(0, "installed"), 9, 40)).sum() == 20
    assert get("last-bit:bit=0").labels([[0, 1], [1, 0]]).tolist() == [0, 1]
    assert get("last-bit:fair=false").name == "last-bit:bit=1,fair=False"
    assert get("multiples-3:symbols=xyz").labels([[0, 1, 2], [0, 1, 1]]).tolist() == [1, 1]


OF = "of the package outside-package, the language"
REFUSED = [
    ("last-bit:bit=2", "last-bit: bit is '2'; it is '0', '1'"),
    ("last-bit:bat=1", "last-bit has no parameter 'bat'; did you mean 'bit'?"),
    ("last-bit:fair=maybe", "last-bit: fair is 'maybe'; it is true or false"),
    ("last-bat", "unknown language 'last-bat'; did you mean 'last-bit'?"),
    ("multiples-12", f"outside_language:multiples {OF} 'multiples-N', fails (RuntimeError: 12 is too many); "
                     "mend or uninstall it"),
    ("number", f"outside_language:number {OF} 'number', returns int; it must return a languages.Task"),
    ("needs", f"outside_language:needs {OF} 'needs', needs 'this'; give every parameter a default"),
    ("broken", f"outside_nowhere:nothing {OF} 'broken', cannot be imported (ModuleNotFoundError: No module named "
               "'outside_nowhere'); mend or uninstall it"),
]  # fmt: skip


@pytest.mark.parametrize(("specification", "message"), REFUSED)
def test_what_is_wrong_is_said_in_one_line(package: Path, specification: str, message: str) -> None:
    assert refusal(get, specification, error=LanguageError) == message


def test_the_listing_names_the_package_and_built_in_names_are_not_looked_up(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {row.pattern: row for row in listing()}
    assert rows["last-bit"].summary == "of the package outside-package"
    assert rows["parity"].package == ""
    assert "outside_language" not in sys.modules
    # The group is what the documentation says.
    assert EntryPoint("last-bit", "outside_language:last_bit", GROUP) in entry_points(group="regulargpt.languages")

    def refuse() -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr("languages.installed.installed", refuse)
    assert get("parity").machine.n_states == 2


def test_a_name_that_two_packages_bring_is_refused(package: Path) -> None:
    write_metadata(package, "another-package")
    with pytest.raises(
        LanguageError, match=r"^the packages \S+ and \S+ both bring the language 'broken'; uninstall one$"
    ):
        get("last-bit")


EVEN = ("even", "odd"), ("0", "1"), ((0, 1), (1, 0))


def test_any_machine_is_a_task_of_words_that_it_has_an_answer_to() -> None:
    moved = task_of(Semiautomaton(*EVEN))
    assert (moved.name, moved.output_names) == ("custom", ("even", "odd"))
    assert moved.labels([[0, 1], [1, 1]]).tolist() == [1, 0]
    assert task_of(moved) is moved
    assert task_of(Dfa(*EVEN, "even", {"even"}), "mine").is_classification
    with pytest.raises(LanguageError, match=r"^custom: int is no machine; give a Task, Dfa, MooreMachine or Semiautom"):
        task_of(7)  # type: ignore[arg-type]
    partial = task_of(MooreMachine(*EVEN, "even", (0, -1), ("yes",)))
    assert (partial.labels(partial.sample(rng(0, "partial"), 7, 50)) == 0).all()
    assert not isinstance(partial.domain, Task)
    with pytest.raises(LanguageError, match="the machine answers no word"):
        task_of(MooreMachine(*EVEN, "even", (-1, -1), ("yes",)))
