"""The published numbers of chapter 5: which cell is which in its text."""

import re
from itertools import product

import pytest

from experiments.published import Published, published
from tests.experiments.test_published import excerpt

# Tables whose rows are strategies of models, and all whose columns have printed heads.
TABLES = [f"table-5.{number}" for number in (3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14)]
HEADED = ["table-5.1", *TABLES, "table-5.7"]
# Heads stand in the third line of a table, the lengths of Table 5.10 below them.
HEADS = dict.fromkeys(HEADED, 3) | {"table-5.10": 2}
# In Table 5.3 four cells of a later row stand among the heads; in Table 5.4 "Avg." is a line higher.
STRAY, ABOVE = {"table-5.3": [">1k"] * 4}, {"table-5.4": ["Avg."]}
TEMPERATURES = ["table-5.8", "table-5.9", "table-5.10", "table-5.11"]
STRATEGIES = {
    **dict.fromkeys(("w/ P_{max}", "w/ P_{\\max}", "w/ Max."), "t5+p_max"),
    **dict.fromkeys(("w/ H", "w/ Ent."), "t5+entropy"),
    **dict.fromkeys(("w/ truncation", "w/ <i>truncation</i>"), "t5+truncation"),
    **{"w/ $\\log_{L_{ex}} L_{tr}$": "t5+log", "Improvement": "improvement"},
}
SIZES = {"Large": "large/", "XL": "xl/", "XXL": "xxl/", "CodeT5+": ""}


def numbers(line: str) -> list[str]:
    """The cells after the label that have a number."""
    return [cell for cell in line.split("\t")[1:] if re.search(r"\d", cell)]


def cell(table: Published, row: str, column: str) -> float:
    """A published number."""
    value = table.value(row, column, table.statistics[0])
    assert isinstance(value, float), (table.name, row, column)
    return value


@pytest.mark.parametrize("name", TABLES)
def test_rows_stand_in_the_order_of_the_text_under_their_models(name: str):
    """Rows of different models have the same label: which model it is, the row above says, or a heading."""
    size, expected = "", []
    for line in excerpt(name)[3:]:
        label = line.partition("\t")[0]
        if found := re.fullmatch(r"(?:Flan-)?T5-(\w+?)(?:-LM)?|(CodeT5\+)", label):
            size = SIZES[found[1] or found[2]]
        if numbers(line) and (found or label in STRATEGIES or label == "LongChat"):
            row = "longchat" if label == "LongChat" else size + STRATEGIES.get(label, "t5")
            # A temperature from lengths alone is printed once, for all models.
            row = "t5+log" if name in TEMPERATURES and row.endswith("log") else row
            expected.append((row, line))
    assert [(row.row, row.line) for row in published(name).rows] == expected


@pytest.mark.parametrize("name", HEADED)
def test_columns_stand_in_the_order_of_the_heads(name: str):
    found = [cell for cell in excerpt(name)[HEADS[name] - 1].split("\t") if re.search(r"\d|Avg\.", cell)]
    stray, columns = STRAY.get(name, []), published(name).columns
    heads = found[: len(found) - len(stray)] + ABOVE.get(name, [])
    titles = [re.sub(r"k$", "000", head.removesuffix(" Docs").replace("Avg.", "average")) for head in heads]
    assert titles == [column.rpartition("/")[2] for column in columns]
    assert found[len(found) - len(stray) :] == stray
    # Groups of columns too: Table 5.6 has exact match before edit similarity, whose name is there twice.
    text = " ".join(excerpt(name)[:2]).lower()
    places = [text.index(group.replace("_", " ")) for column in columns if (group := column.rpartition("/")[0])]
    assert places == sorted(places)
    for column, title in columns.items():  # `topic/15000` is "Topic, 15k"
        for part in column.replace("_", " ").replace("average", "avg").split("/"):
            assert re.search(rf"\b({part}|{part.removesuffix('000')}k)\b", title.lower()), (column, title)


@pytest.mark.parametrize("name", [*HEADED, "section-5.5.4", "figure-5.1", "figure-5.2"])
def test_names_and_numbers_of_the_conditions_stand_in_the_text(name: str):
    text = " ".join(excerpt(name))
    for known in published(name).conditions.values():
        for key, value in known.items():
            printed = {15_000: "15k", 770_000_000: "770M", 0: "0-th"}.get(value, str(value))
            for word in re.findall(r"\S*[A-Z\d]\S*\w|\d", printed):
                assert word in text, (key, value)


def test_accuracies_of_the_code_key_are_those_of_the_sentence():
    table = published("section-5.5.4")
    (row,) = table.rows
    printed = re.findall(r"(\d+)\** \((.*?)\)(?=,|$)", row.line)
    assert [(float(number), title) for number, title in printed] == [
        (row.values[column][0], title) for column, title in table.columns.items()
    ]


def test_improvements_of_table_5_5_are_differences_of_its_rows_and_doubts_are_where_they_should_be():
    table = published("table-5.5")
    wrong = {}
    for size, column in product(("large", "xl", "xxl"), table.columns):
        difference = cell(table, f"{size}/t5+p_max", column) - cell(table, f"{size}/t5", column)
        if (shown := cell(table, f"{size}/improvement", column)) != pytest.approx(difference):
            wrong[f"{size}/improvement", column] = shown, round(difference, 1)
    assert wrong == {("large/improvement", "30/4"): (1.5, 2.5)}
    assert [*wrong] == [(row.row, c) for row in table.rows for c in table.columns if table.doubt(row.row, c)]
    for table in map(published, TEMPERATURES):
        for name, column in ((row.row, column) for row in table.rows for column in row.values):
            assert ("end of the search" in table.doubt(name, column)) == (cell(table, name, column) == 0.5)
