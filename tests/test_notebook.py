"""The notebooks run from top to bottom, and their printed outputs are those a reader sees in them."""

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


def shown(cell: dict[str, Any]) -> str:
    """The text that the notebook has under a cell."""
    return "".join("".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream")


def cells_of(name: str) -> list[dict[str, Any]]:
    """The cells of code of a notebook."""
    return [cell for cell in json.loads((NOTEBOOKS / name).read_text())["cells"] if cell["cell_type"] == "code"]


def figureless(text: str) -> str:
    """Without the figures, which may differ from machine to machine."""
    return " ".join(re.sub(r"[\d.]+", "0", text).split())


def numbers(pattern: str, text: str) -> list[float]:
    """What the pattern captures, as numbers."""
    return [float(found) for found in re.findall(pattern, text)]


def test_the_notebook_on_patching_runs_and_says_what_it_shows():
    names: dict[str, Any] = {}
    for cell in cells_of("patching.ipynb"):
        assert execute("".join(cell["source"]), names) == (shown(cell), None)


def run(name: str) -> tuple[list[dict[str, Any]], list[str], list[Any]]:
    """The cells of a notebook, what each prints, and the values of their last expressions."""
    cells, names = cells_of(name), dict[str, Any]()
    results = [execute("".join(cell["source"]), names) for cell in cells]
    return cells, [printed for printed, _ in results], [value for _, value in results]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_opens_with_what_the_reader_will_be_able_to_say(path: Path):
    opening = "".join(json.loads(path.read_text())["cells"][0]["source"])
    assert re.search(r"[Aa]t the end you can say", opening)
    assert f"notebooks/{path.name}" in (NOTEBOOKS.parent / "index.md").read_text()


@pytest.mark.slow
def test_the_notebook_for_a_class_runs_and_says_what_it_shows():
    cells, printed, values = run("lesson.ipynb")
    assert printed[1:3] == [shown(cell) for cell in cells[1:3]]
    assert "100.0 % right on 100,000 symbols" in printed[3].replace("100 %", "100.0 %")
    assert printed[4] == shown(cells[4]) == "2 clusters found for 2 of 2 monoid elements, one for each\n"
    assert values[4]._repr_png_().startswith(b"\x89PNG")
    # The margins may differ from machine to machine; the table may not.
    table = [line.partition(" by ")[0] for line in printed[5].splitlines()]
    assert table == [line.partition(" by ")[0] for line in shown(cells[5]).splitlines()]
    assert printed[6] == shown(cells[6])
    assert printed[7].startswith("RUN/damaged.safetensors is not the weights of this certificate")
    assert printed[8] == shown(cells[8]) == "shortest wrong word: 1\n"


def assert_it_is_an_automaton(printed: list[str]):
    """What the notebook on a model of one's own says in words."""
    _, learned, rule, clusters, read, _, few = printed
    assert numbers(r"([\d.]+) % at", learned) == [100.0] * 5
    assert numbers(r"([\d.]+) %", rule)[0] < 40
    assert clusters == "5 clusters found for 5 of 5 monoid elements, one for each\n"
    assert read.endswith("a word on which they differ: None\n")
    assert numbers(r"([\d.]+) % at", few)[-1] < 50


def test_the_notebook_on_a_model_of_ones_own_shows_what_it_says():
    assert_it_is_an_automaton([shown(cell) for cell in cells_of("your-own-model.ipynb")])


@pytest.mark.slow
def test_the_notebook_on_a_model_of_ones_own_runs_and_says_what_it_shows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    cells, printed, _ = run("your-own-model.ipynb")
    assert_it_is_an_automaton(printed)
    assert [figureless(text) for text in printed] == [figureless(shown(cell)) for cell in cells]


def assert_one_extrapolates(printed: list[str]):
    """What the notebook on text says in words: one of two that learned extrapolates, both if they see no farther."""
    _, bits, sentences, _, gradient, near = printed
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


def test_the_notebook_on_text_shows_what_it_says():
    assert_one_extrapolates([shown(cell) for cell in cells_of("extrapolation.ipynb")])


@pytest.mark.slow
def test_the_notebook_on_text_runs_and_says_what_it_shows():
    _, printed, values = run("extrapolation.ipynb")
    assert_one_extrapolates(printed)
    assert values[3]._repr_png_().startswith(b"\x89PNG")


def assert_alignment_mends(printed: list[str]):
    """What the notebook on alignment says in words: trained, lost with the length, found again with a temperature."""
    _, trained, attention, sharpness, search, _, scores, _, depths = printed
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


def test_the_notebook_on_alignment_shows_what_it_says():
    cells = cells_of("alignment.ipynb")
    assert_alignment_mends([shown(cell) for cell in cells])
    pictures = [output["data"] for cell in cells for output in cell["outputs"] if output["output_type"] != "stream"]
    assert [list(picture) for picture in pictures] == [["image/png"]] * 2
    assert (NOTEBOOKS / "alignment.ipynb").stat().st_size < 100_000


@pytest.mark.slow
def test_the_notebook_on_alignment_runs_and_says_what_it_shows():
    cells = cells_of("alignment.ipynb")
    names: dict[str, Any] = {}
    printed, values = zip(*(execute("".join(cell["source"]), names) for cell in cells), strict=True)
    assert printed[0] == shown(cells[0])
    assert [figureless(text) for text in printed] == [figureless(shown(cell)) for cell in cells]
    assert_alignment_mends(list(printed))
    drawn = [value._repr_png_()[:4] for value in values if value is not None]
    assert drawn == [b"\x89PNG"] * 2
