"""docs/your-own.md word for word: its package is written, installed outside the tree, and every command is run."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import regulargpt
from languages import Dfa
from languages.errors import WordError
from regulargpt.config.schema import value_of
from regulargpt.models.options import ModelOptions
from regulargpt.models.rnn import Rnn
from regulargpt.options import option
from tests.languages.refusing import refusal
from tests.regulargpt.browser import chromium, needs_browser

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "your-own.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [
    line for block in re.findall(r"<!-- run -->\n```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()
]
PYTHON = re.findall(r"(?<!-->\n)```python\n(.*?)```", PAGE, re.DOTALL)


INSTALL = "install --quiet --no-deps --no-index --no-build-isolation --upgrade --target site ."
# Each line of the first argument through the command line, all in one process: exit codes and what was printed.
PROGRAM = """
import contextlib, io, json, sys
from regulargpt.cli import call
for line in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = call(line)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def python(cwd: Path, *arguments: str) -> str:
    """Run Python outside the tree; what stands in the folder, or is installed in `site` there, can be imported."""
    path = os.pathsep.join(map(str, (cwd / "site", cwd, ROOT)))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr[-2000:])
    return done.stdout


def called(cwd: Path, *lines: str) -> list[tuple[int, str, str]]:
    said = python(cwd, "-c", PROGRAM, json.dumps([shlex.split(line) for line in lines]))
    return [tuple(json.loads(line)) for line in said.splitlines()]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's files, installed: it installs them as often as it adds one, and here all are there at once."""
    folder, source = tmp_path_factory.mktemp("lab"), tmp_path_factory.mktemp("source")
    for name, text in FILES.items():
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    python(source, "-m", "pip", *shlex.split(INSTALL))
    (source / "site").rename(folder / "site")
    return folder


@pytest.mark.slow
def test_the_page(lab: Path):
    assert {
        "pyproject.toml",
        "my_net.py",
        *(f"my_lab/{name}" for name in ("peephole.py", "leaky.py", "slope.py", "has_aba.py")),
    } <= set(FILES)
    assert COMMANDS.count("pip install .") == 6
    (lab / "my_net.py").write_text(FILES["my_net.py"], encoding="utf-8")
    python(lab, "my_net.py")
    commands = [command.removeprefix("regulargpt ") for command in COMMANDS if command.startswith("regulargpt ")]
    *done, (code, report, _) = called(lab, *commands, "results sweeps/mine --group-by model,forget_bias --json")
    assert {*done} == {(0, *said) for _, *said in done}
    assert code == 0
    assert json.loads(report)
    config = (lab / "runs" / "mine" / "config.toml").read_text()
    assert 'name = "my_lab.peephole:PeepholeLstm"' in config
    assert "forget_bias = 1.0" in config
    assert "slope = 0.2" in (lab / "runs" / "slope" / "config.toml").read_text()
    page = (lab / "ours.html").read_text(encoding="utf-8")
    assert all(f'modules["my_lab/{name}.js"]' in page for name in ("peephole", "slope"))
    python(lab, "-c", "\n".join(PYTHON))


ASKED = """
import json, sys, torch
from regulargpt.api import load
words = json.loads(sys.argv[1])
models = [load(run).model for run in sys.argv[2:]]
print(json.dumps([[model(torch.tensor([word]))[0].tolist() for word in words] for model in models]))
"""


@pytest.mark.slow
@needs_browser
def test_the_scripts_compute_what_their_classes_do(lab: Path):
    words = [[0], [1, 1], [0, 1, 1, 0, 1], [1, 0] * 15]
    expected = json.loads(python(lab, "-c", ASKED, json.dumps(words), "runs/mine", "runs/slope"))
    with chromium() as browser:
        browser.open(lab / "ours.html")
        for i, of_run in enumerate(expected):
            found = browser.evaluate(f"{json.dumps(words)}.map((word) => runs[{i}].live.logits(word))")
            assert found == [pytest.approx(logits, abs=1e-4) for logits in of_run]
        assert browser.problems == []


def assert_refused(cwd: Path, refused: dict[str, str]) -> None:
    """Each in one line, before a folder is made."""
    found = called(cwd, *(f"run parity {arguments} --steps 2 --out refused" for arguments in refused))
    for (arguments, said), (code, out, err) in zip(refused.items(), found, strict=True):
        assert (code, out, err.count("\n")) == (2, "", 1), (arguments, err)
        assert said in err
    assert not (cwd / "refused").exists()


@pytest.mark.slow
def test_what_is_refused(lab: Path):
    refused = {
        "--model my_lab.peephole:Peephole": "has no class Peephole; did you mean 'PeepholeLstm'?",
        "--model no_lab.peephole:PeepholeLstm": "install the package, or put the folder that holds it on PYTHONPATH",
        "--model peephol": "unknown model 'peephol'; did you mean 'peephole'?",
        "--model peephole --set model.forget_bia=1": "unknown key 'model.forget_bia'; did you mean 'forget_bias'?",
        "--model peephole --d-model 0": "model.d_model = 0; a state has at least 1 number",
        "--model transformer --encoding my_lab.slope:Slope:slope=-1": "model.encoding.slope = -1.0; a slope is not",
        "--model my_lab.peephole:option": "no class option",
    }
    assert_refused(lab, refused)


FAULTY = """
from regulargpt.encodings.base import Encoding
from regulargpt.models.base import Model
from regulargpt.models.rnn import Rnn

class Lacks(Model):
    def __init__(self, n_symbols, n_outputs):
        super().__init__()
    def forward(self, words, readout="last"): ...

class NoForward(Model):
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__()

class TooMany(Rnn):
    def __init__(self, n_symbols, n_outputs, *, generator=None):
        super().__init__(n_symbols, n_outputs + 1, d_model=4, generator=generator)

class Raises(Encoding):
    def bias(self, q, k, at):
        raise KeyError("no such thing")
"""


def test_a_faulty_class_is_refused_in_one_line_before_a_folder_is_made(tmp_path: Path):
    (tmp_path / "faulty.py").write_text(FAULTY)
    refused = {
        "--model faulty:Lacks": "faulty:Lacks: TypeError: Lacks.__init__() got an unexpected keyword argument",
        "--model faulty:NoForward": "faulty:NoForward: TypeError: Can't instantiate abstract class NoForward",
        "--model faulty:TooMany": "TooMany: the readout 'last' has the shape (2, 3); it must be (2, 2)",
        "--model transformer --encoding faulty:Raises": "transformer: KeyError: 'no such thing'; docs/your-own.md",
        "--model faulty:Raises": "Raises is no Model; derive it from regulargpt.models.base.Model",
    }
    assert_refused(tmp_path, refused)


def test_machines_made_in_python_have_names_of_their_own(tmp_path: Path):
    sizes = {"steps": 2, "d_model": 8, "train_len": 4, "test_len": 6, "extra_lengths": ()}
    ends_in_b, has_a = Dfa.from_regex("(a|b)*b"), Dfa.from_regex("b*a(a|b)*")
    first = regulargpt.run(ends_in_b, tmp_path / "first", **sizes)
    second = regulargpt.run(has_a, tmp_path / "second", **sizes)
    assert first["language"] != second["language"]
    assert regulargpt.load(tmp_path / "first").task.language.equivalent(ends_in_b)
    assert regulargpt.evaluate(tmp_path / "second", lengths=[5])["score"] >= 0
    first_run = regulargpt.load(tmp_path / "first")
    assert first_run.answers("abab") == first_run.answers(["abab"])  # one word, not four
    assert first_run.encode("abab").tolist() == [[0, 1, 0, 1]]
    assert "one length" in refusal(first_run.answers, ["a", "ab"], error=WordError)


def test_defaults_of_a_part_are_its_own_unless_somebody_chose():
    chosen = regulargpt.RunConfig().replaced({"model.d_model": 32})
    for config, width in ((regulargpt.RunConfig(), 16), (chosen, 32)):
        assert config.replaced({"model.name": f"{__name__}:Narrow"}).model.d_model == width


@dataclass(frozen=True)
class NarrowOptions(ModelOptions):
    d_model: int = option(16, "Width.")


class Narrow(Rnn):
    Options = NarrowOptions


def test_certify_keeps_what_the_recipe_says_of_the_fine_tuning(monkeypatch: pytest.MonkeyPatch):
    asked: list[regulargpt.RunConfig] = []
    monkeypatch.setattr("regulargpt.api.run_config", lambda config, out, watch: asked.append(config))
    key = "phases.table_fine_tuning.steps"
    regulargpt.run("dyck-2", "out", certify=True)
    regulargpt.run("parity", "out", certify=True, recipe="words")
    regulargpt.run("parity", "out", certify=True, **{key: 7})
    assert [value_of(config, key) for config in asked] == [3000, 1000, 7]
    assert {value_of(config, "phases.table_fine_tuning.automaton") for config in asked} == {"known"}
