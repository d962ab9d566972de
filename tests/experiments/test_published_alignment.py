"""The published numbers of chapter 5: which cell is which in its text, and what follows from one table for another."""

import math
import re
from itertools import pairwise

import pytest

from experiments.published import Published, Row, published
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
DOCUMENTS = ("10", "20", "30")


def numbers(line: str) -> list[str]:
    """The cells after the label that have a number."""
    return [cell for cell in line.split("\t")[1:] if re.search(r"\d", cell)]


def cell(table: Published, row: str, column: str) -> float:
    """A published number."""
    value = table.value(row, column, table.statistics[0])
    assert isinstance(value, float), (table.name, row, column)
    return value


def rounded(value: float, digits: int) -> float:
    """Halves go up, as in print; a thousandth of the last digit is left to binary fractions."""
    return math.floor(value * 10**digits + 0.501) / 10**digits


def series(row: Row) -> list[list[float]]:
    """The values of a row by task, each in the order of its lengths."""
    tasks: dict[str, list[float]] = {}
    for column, (value,) in row.values.items():
        assert isinstance(value, float)
        tasks.setdefault(column.rpartition("/")[0], []).append(value)
    return list(tasks.values())


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


def test_averages_of_table_5_4():
    table = published("table-5.4")
    for row in table.rows:
        *values, average = (cell(table, row.row, column) for column in table.columns)
        assert len(values) == 16
        assert rounded(sum(values) / 16, 0) == average


def test_table_5_14_breaks_table_5_5_down():
    short, full = published("table-5.5"), published("table-5.14")
    rows = [row.row for row in short.rows if row.unit == ""]
    assert rows == [row.row for row in full.rows]
    for row in rows:
        for documents in DOCUMENTS:
            columns = [column for column in full.columns if column.startswith(f"{documents}/")]
            values = [cell(full, row, column) for column in columns]
            assert rounded(sum(values) / len(values), 1) == cell(short, row, f"{documents}/average"), (row, documents)
            assert documents != "30" or values == [cell(short, row, column) for column in columns]


def test_improvements_of_table_5_5_are_differences_of_its_rows():
    table = published("table-5.5")
    wrong = {}
    for size in ("large", "xl", "xxl"):
        for column in table.columns:
            difference = cell(table, f"{size}/t5+p_max", column) - cell(table, f"{size}/t5", column)
            if (shown := cell(table, f"{size}/improvement", column)) != pytest.approx(difference):
                wrong[f"{size}/improvement", column] = shown, round(difference, 1)
    assert wrong == {("large/improvement", "30/4"): (1.5, 2.5)}
    assert [*wrong] == [(row.row, c) for row in table.rows for c in table.columns if table.doubt(row.row, c)]


@pytest.mark.parametrize(("measure", "name"), [("exact_match", "table-5.12"), ("edit_similarity", "table-5.13")])
def test_table_5_6_is_the_start_of_tables_5_12_and_5_13(measure: str, name: str):
    short, full = published("table-5.6"), published(name)
    assert [row.row for row in short.rows] == [row.row for row in full.rows]
    for row in short.rows:
        for length in range(1000, 7000, 1000):
            assert cell(short, row.row, f"{measure}/{length}") == cell(full, row.row, str(length))


@pytest.mark.parametrize("name", ["table-5.8", "table-5.10", "table-5.11"])
def test_the_rule_of_lengths_is_log_of_both(name: str):
    """log_L_ex L_tr, at the lengths of the heads; a bucket of code is named after its shortest."""
    table = published(name)
    train_len = table.conditions[""]["data.train_len"]
    for column, title in table.columns.items():
        length = int(re.sub("k$", "000", re.split("= ", title)[-1]))
        assert rounded(math.log(train_len, length), 2) == cell(table, "t5+log", column)


def test_the_rule_of_lengths_says_how_long_the_retrieval_inputs_are():
    """Table 5.9 prints no length in tokens. Its caption says that the longest have about 14.5k to 15.5k."""
    row = published("table-5.9").row("t5+log")
    assert row is not None
    for task in series(row):
        shortest = [512 ** (1 / (value + 0.005)) for value in task]
        longest = [512 ** (1 / (value - 0.005)) for value in task]
        assert shortest == sorted(shortest)
        assert shortest[0] > 2000
        assert shortest[-1] < 14_500 < 15_500 < longest[-1]


@pytest.mark.parametrize("name", TEMPERATURES)
def test_temperatures_lie_on_the_grid_and_do_not_rise_with_the_length(name: str):
    """Those at its end are doubted."""
    table = published(name)
    for row in table.rows:
        for task in series(row):
            assert all(later <= sooner for sooner, later in pairwise(task)), row.row
            if row.row != "t5+log":
                assert all(0.5 <= value < 1 and round(value * 20, 9).is_integer() for value in task), row.row
        for column in row.values:
            assert ("end of the search" in table.doubt(row.row, column)) == (cell(table, row.row, column) == 0.5)
