"""A class from outside that has changed since its training: noticed by whatever loads the network, in one line."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import languages
import regulargpt
from languages import Dfa
from languages.errors import Notice, UserError
from regulargpt.config.schema import RunConfig
from regulargpt.options import registry
from regulargpt.runs import run as running
from regulargpt.runs.outside import digest, digests
from regulargpt.runs.run import Watch
from regulargpt.storage.environment import environment
from regulargpt.storage.folder import RunFolder
from tests.cli.conftest import Cli, assert_refused, everything
from tests.regulargpt.small import COMMON

FILES = {
    "base_lab/__init__.py": "",
    "base_lab/twice.py": "class Twice:\n    def scaled(self, x):\n        return 2 * x\n",
    "changing_lab/__init__.py": "",
    "changing_lab/unused.py": "A = 1\n",
    "changing_lab/constants.py": "SCALE = 0.5\n",
    "changing_lab/cell.py": """
import torch
from base_lab.twice import Twice
from regulargpt.models.layers import linear
from regulargpt.models.recurrent import Stepwise
from .constants import SCALE

class Cell(Twice, Stepwise):
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__(n_symbols, 4, n_outputs, generator)
        self.gates = linear(n_symbols + 4, 4, generator)

    def step(self, state, x):
        return self.scaled(SCALE * self.gates(torch.cat([state, x], 1)).tanh())
""",
    "changing_lab/cell.js": "export class Cell {\n  state(word) {}\n  read(state) {}\n}\n",  # the page computes it
    "changing_lab/slope.py": """
from regulargpt.encodings.base import Encoding

class Slope(Encoding):
    def bias(self, q, k, at):
        return -0.5 * at.distances.abs().to(q)[None, None]
""",
}
SMALL = {key: value for key, value in COMMON.items() if key != "model.d_model"} | {"training.steps": 2}
CELL, SLOPE = "changing_lab.cell:Cell", "changing_lab.slope:Slope"
NOTICE = f"{CELL} has changed since the training began; its figures may be those of another network"
Edit = Callable[[str, str, str], None]


def forget() -> None:
    """As a new process would begin."""
    registry.outside.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] in ("changing_lab", "base_lab")]:
        del sys.modules[name]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Edit]:
    """Two packages of somebody else's, what changes a file of them, and a run folder `run`, `slope` of each part."""
    lab = tmp_path / "lab"
    for name, text in FILES.items():
        (lab / name).parent.mkdir(parents=True, exist_ok=True)
        (lab / name).write_text(text)
    monkeypatch.syspath_prepend(str(lab))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()

    def change(name: str, old: str, new: str) -> None:
        text = (lab / name).read_text()
        assert old in text
        (lab / name).write_text(text.replace(old, new))
        forget()

    running.run(RunConfig().replaced(SMALL | {"model.name": CELL}), tmp_path / "run")
    yield change
    forget()


def test_what_did_not_change_is_not_said_to_have(cli: Cli, edit: Edit, tmp_path: Path):
    edit("changing_lab/unused.py", "1", "2")
    edit("changing_lab/cell.py", "\n", "\r\n")  # as git may write it on another machine
    answer = cli("evaluate", "run", "--lengths", "9", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert json.loads(answer.out)["changed_classes"] == []
    assert "classes" in RunFolder.open(tmp_path / "run").load_environment()
    assert digests(RunConfig()) == {}


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("changing_lab/cell.py", "tanh", "sigmoid"),
        ("changing_lab/constants.py", "0.5", "0.25"),
        ("base_lab/twice.py", "2 * x", "3 * x"),
    ],
)
def test_a_change_is_said_by_all_that_load_the_network(cli: Cli, edit: Edit, tmp_path: Path, name, old, new):
    edit(name, old, new)
    line = f"warning: run: {NOTICE}\n"
    answer = cli("evaluate", "run", "--lengths", "9")
    assert (answer.code, answer.err) == (0, line)
    assert answer.out.endswith(f"\n{NOTICE}\n")
    answer = cli("evaluate", "run", "--lengths", "9", "--json")
    assert (json.loads(answer.out)["changed_classes"], answer.err) == ([CELL], line)
    for command in ("verify run", "report run --out page.html", "receptive-field run", "extract run --out a.json"):
        answer = cli(*command.split())
        assert (answer.code, answer.err) == (0, line), command
    with pytest.warns(Notice, match=NOTICE):
        regulargpt.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gates", "doors", "the weights in run are of another Cell (missing: 'doors.weight', 'doors.bias', unknown: '"),
        ("+ 4, 4, gen", "+ 4, 5, gen", "of another Cell (of another shape: 'gates.weight', 'gates.bias'); put the"),
        ("[state, x]", "[state]", f"{CELL}: RuntimeError: mat1 and mat2 shapes cannot be multiplied"),
        ("generator=None", "", f"model {CELL}: importing changing_lab.cell fails with SyntaxError"),
        ("*, generator=None", "seed", f"{CELL}: TypeError: Cell.__init__() got an unexpected keyword argument"),
        ("class Cell", "class Cells", "changing_lab.cell has no class Cell; did you mean 'Cells'?"),
    ],
)
def test_a_class_that_the_weights_do_not_fit_is_refused_in_one_line(
    cli: Cli, edit: Edit, tmp_path: Path, old: str, new: str, said: str
):
    edit("changing_lab/cell.py", old, new)
    before = everything(tmp_path)
    for command in ("evaluate run --lengths 9", "verify run", "report run --out page.html", "extract run"):
        answer = cli(*command.split())
        assert_refused(answer._replace(err=answer.err.removeprefix(f"warning: run: {NOTICE}\n")), said)
    assert everything(tmp_path) == before


def test_an_encoding_from_outside_has_a_digest_too(cli: Cli, edit: Edit, tmp_path: Path):
    changes = {"model.name": "transformer", "model.n_heads": 2, "model.d_model": 8, "model.encoding.name": SLOPE}
    running.run(RunConfig().replaced(SMALL | changes), tmp_path / "slope")
    assert cli("evaluate", "slope", "--lengths", "9").err == ""
    edit("changing_lab/slope.py", "0.5", "0.25")
    assert f"{SLOPE} has changed since the training began" in cli("evaluate", "slope", "--lengths", "9").err


def test_a_run_that_goes_on_with_another_class_says_so(cli: Cli, edit: Edit, tmp_path: Path):
    config = RunConfig().replaced(SMALL | {"model.name": CELL})
    RunFolder.create(tmp_path / "begun", config.render(), {**environment(), "classes": digests(config)})
    edit("changing_lab/cell.py", "tanh", "sigmoid")
    said: list[str] = []
    running.resume(tmp_path / "begun", Watch(on_notice=said.append))
    assert said == [NOTICE]


def test_a_module_without_a_file_has_a_digest(edit: Edit):
    namespace: dict = {"__name__": "typed_in"}
    exec("class Typed:\n    pass", namespace)
    assert digest(namespace["Typed"]) == digest(namespace["Typed"])
    from changing_lab.cell import Cell

    assert digest(namespace["Typed"]) != digest(Cell)


def test_a_language_made_in_python_that_changed_under_its_name_is_another(tmp_path: Path):
    def named(expression: str) -> languages.Task:
        return languages.register(languages.task_of(Dfa.from_regex(expression).as_moore(), "changing"))

    small = {"steps": 2, "d_model": 8, "train_len": 4, "test_len": 6, "extra_lengths": ()}
    regulargpt.run(named("(a|b)*b"), tmp_path / "run", **small)
    assert regulargpt.evaluate(tmp_path / "run", lengths=[5])["changed_classes"] == []
    named("(a|b)*a")
    with pytest.raises(UserError, match=r"changing is not what .* began with"):
        regulargpt.evaluate(tmp_path / "run", lengths=[5])
