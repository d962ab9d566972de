"""The notebooks run from top to bottom, and print what their text says of it. They are committed without outputs."""

import ast
import contextlib
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def execute(source: str, names: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return printed.getvalue(), value


def cells_of(name: str) -> list[dict[str, Any]]:
    """The cells of code of a notebook."""
    return [cell for cell in json.loads((NOTEBOOKS / name).read_text())["cells"] if cell["cell_type"] == "code"]


def numbers(pattern: str, text: str) -> list[float]:
    """What the pattern captures, as numbers."""
    return [float(found) for found in re.findall(pattern, text)]


def run(name: str) -> tuple[list[str], list[Any]]:
    """What each cell of a notebook prints, and the values of their last expressions."""
    names = dict[str, Any]()
    results = [execute("".join(cell["source"]), names) for cell in cells_of(name)]
    return [printed for printed, _ in results], [value for _, value in results]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_opens_with_what_the_reader_will_be_able_to_say_and_has_no_outputs(path: Path):
    assert [cell["outputs"] for cell in cells_of(path.name)] == [[]] * len(cells_of(path.name))
    assert re.search(r"[Aa]t the end you can say", "".join(json.loads(path.read_text())["cells"][0]["source"]))
    assert f"notebooks/{path.name}" in (NOTEBOOKS.parent / "index.md").read_text()


def test_the_notebook_on_patching_runs_and_says_what_it_shows():
    printed, _ = run("patching.ipynb")
    assert printed[0] == "01101001 even\n11100000 odd\n"
    assert printed[2].splitlines() == ["before: even  after: odd", "changed (level, node): ((1, 1), (2, 0), (3, 0))"]
    assert numbers(r"answer: +(\d+)", printed[3]) == [7, 0, 0, 8]
    assert re.findall(r"node \d, \S+: (.*)", printed[4]) == ["((1, 0),)", "((1, 3), (2, 1), (3, 0))"]
    assert printed[5].count("after: [0.0, 0.0]") == 2


@pytest.mark.slow
def test_the_notebook_for_a_class_runs_and_says_what_it_shows():
    printed, values = run("lesson.ipynb")
    assert printed[2].splitlines()[1:] == [
        "01 is 1  10 is 1  10 is 1  01 is 1",
        "0110 is (empty)  1001 is (empty)",
        "01101001 is (empty)",
    ]
    assert "100.0 % right on 100,000 symbols" in printed[3].replace("100 %", "100.0 %")
    assert printed[4] == "2 clusters found for 2 of 2 monoid elements, one for each\n"
    assert values[4]._repr_png_().startswith(b"\x89PNG")
    assert len([line for line in printed[5].splitlines() if "->" in line]) == 12
    assert printed[6].startswith("For every word over")
    assert printed[7].startswith("RUN/damaged.safetensors is not the weights of this certificate")
    assert printed[8] == "shortest wrong word: 1\n"


@pytest.mark.slow
def test_the_notebook_on_a_model_of_ones_own_runs_and_says_what_it_shows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    _, learned, rule, clusters, read, _, few = run("your-own-model.ipynb")[0]
    assert numbers(r"([\d.]+) % at", learned) == [100.0] * 5
    assert numbers(r"([\d.]+) %", rule)[0] < 40
    assert clusters == "5 clusters found for 5 of 5 states, one for each\n"
    assert read.endswith("a word on which they differ: None\n")
    assert numbers(r"([\d.]+) % at", few)[-1] < 50


@pytest.mark.slow
def test_the_notebook_on_text_runs_and_says_what_it_shows():
    """One of two that learned extrapolates, both if they see no farther."""
    (_, bits, sentences, _, gradient, near), values = run("extrapolation.ipynb")
    assert values[3]._repr_png_().startswith(b"\x89PNG")
    rotary, kerple = (numbers(r"([\d.]+) at", line) for line in bits.splitlines())
    assert rotary[-1] > rotary[0] + 0.1
    assert abs(kerple[-1] - kerple[0]) < 0.1
    assert [re.findall(r"It (\w+)", line) for line in sentences.splitlines()] == [["does"], ["extrapolates"]]
    assert max(numbers(r"x ([\d.]+) that of a bigram", sentences)) < 0.9
    rotary, kerple = (numbers(r"([\d.]+) % of", line)[0] for line in gradient.splitlines())
    assert rotary < 50 < kerple
    for line in near.splitlines():
        found = numbers(r"([\d.]+) at", line)
        assert max(found) - min(found) < 0.06


@pytest.mark.slow
def test_the_notebook_on_alignment_runs_and_says_what_it_shows():
    """Trained, lost with the length, found again with a temperature."""
    (_, trained, attention, sharpness, search, _, scores, _, depths), values = run("alignment.ipynb")
    assert [value._repr_png_()[:4] for value in values if value is not None] == [b"\x89PNG"] * 2
    found = numbers(r"([\d.]+) % found", trained)
    assert found[0] > 97
    assert found[-1] < 80
    short, long = numbers(r"(\d+) % of its attention", attention)
    assert short > long + 10
    short, long = numbers(r"P_max ([\d.]+)", sharpness)
    assert short > long
    assert numbers(r"P_max ([\d.]+)", search)[-1] == pytest.approx(short, abs=0.01)
    before, after = numbers(r"([\d.]+) %", scores)
    assert after > before + 15
    shares = numbers(r"([\d.]+) %", depths)
    assert sum(shares[5:]) > sum(shares[:5])
