"""The tables in README.md and docs/ say what the pages in docs/results/ say."""

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
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
    found = json.loads((ROOT / "docs" / "results" / page / "page.json").read_text())["cells"]
    return {(cell["row"], cell["column"]): cell for cell in found}


def test_the_readme_shows_table_6_1_as_its_page_has_it():
    page = cells("table-6.1-cpu")

    def text(cell: dict[str, Any]) -> str:
        return cell["texts"]["ours"] + (" ∎" if cell["proven"] == cell["runs"] else "")

    rows = dict.fromkeys(row for row, _ in page)
    expected = [[row, *(text(page[row, column]) for column in README_COLUMNS)] for row in rows]
    assert table("README.md", "language") == expected
