"""The tables in README.md and docs/ say what the pages in docs/results/ say."""

import json
from pathlib import Path
from typing import Any

from experiments.page.wording import text_of
from regulargpt.results.rows import rows
from regulargpt.results.statistics import groups

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
README_COLUMNS = (
    "rnn",
    "transformer",
    "regulargpt-C2",
    "regulargpt-C3",
    "robust-C2",
    "robust-C3",
    "certified-C2",
    "certified-C3",
)


def table(file: str, first: str) -> list[list[str]]:
    """The rows of the Markdown table whose first heading is `first`."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    (start,) = [at for at, line in enumerate(lines) if line.startswith(f"| {first} |")]
    below = lines[start + 2 :]
    end = next((at for at, line in enumerate(below) if not line.startswith("|")), len(below))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in below[:end]]


def cells(page: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The cells of a page in docs/results, by row and column."""
    found = json.loads((RESULTS / page / "page.json").read_text())["cells"]
    return {(cell["row"], cell["column"]): cell for cell in found}


def retested() -> dict[str, str]:
    """The Transformer's cells of languages whose members all have an even length, tested at odd and even ones."""
    found = groups(rows(RESULTS / "table-6.1-cpu-transformer"), ["language"])
    return {str(group.key[0]): text_of((group.max, group.mean), ours=True) for group in found}


def test_the_readme_shows_table_6_1_as_its_page_has_it():
    page, again = cells("table-6.1-cpu"), retested()

    def text(row: str, column: str) -> str:
        cell = page[row, column]
        ours = again[row] if column == "transformer" and row in again else cell["texts"]["ours"]
        return ours + (" ∎" if cell["proven"] == cell["runs"] else "")

    languages = dict.fromkeys(row for row, _ in page)
    expected = [[row, *(text(row, column) for column in README_COLUMNS)] for row in languages]
    assert table("README.md", "language") == expected


def test_the_ablations_table_shows_what_their_page_has():
    page = cells("ablations-cpu")
    names, columns = (list(dict.fromkeys(keys)) for keys in zip(*page, strict=True))

    def text(cell: dict[str, Any]) -> str:
        return cell["texts"]["ours"] if cell["runs"] else "-"

    expected = [[row, *(text(page[row, column]) for column in columns)] for row in names]
    assert table("docs/reproduce.md", "language/recipe") == expected
