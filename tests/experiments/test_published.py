"""The published numbers against excerpts of the texts that they stand in, and those against the thesis."""

import json
import os
import re
from importlib import resources
from pathlib import Path

import pytest

import languages
from experiments.published import names, parse, published
from tests.languages.refusing import refusal

EXCERPTS = Path(__file__).parent / "excerpts"
# Tables of text models: how many values they print, words and deviations too.
TEXT = {
    **{"table-3.3": 216, "table-3.4": 6, "table-3.5": 66, "table-3.6": 120, "table-3.7": 4, "table-3.9": 198},
    **{"table-3.10": 14, "table-4.1": 85, "table-4.2": 12, "table-4.3": 188, "table-4.4": 85, "table-4.5": 18},
    **{"table-5.1": 12, "table-5.3": 72, "table-5.4": 221, "table-5.5": 150, "table-5.6": 60, "table-5.7": 6},
    **{"table-5.8": 35, "table-5.9": 112, "table-5.10": 21, "table-5.11": 48, "table-5.12": 75, "table-5.13": 75},
    **{"table-5.14": 180, "table-6.3": 40, "table-6.4": 40, "lex-table-2": 48, "lex-table-3": 10, "lex-table-4": 8},
    **{"lex-table-5": 18, "lex-table-6": 40},
}


def excerpt(name: str) -> list[str]:
    """The lines of the text, without the one that names it."""
    source, *lines = (EXCERPTS / f"{name}.txt").read_text("utf-8").splitlines()
    assert source.startswith("# ")
    return lines


def printed_cells(name: str, width: int) -> dict[tuple[str, str], list[str]]:
    """The cells of each row of the excerpt, by the heading above it and the row's label."""
    found, group = {}, ""
    for line in excerpt(name):
        label, *cells = line.split("\t")
        if label.startswith("<i>"):
            group = label.removeprefix("<i>").removesuffix("</i>").partition(") ")[2]
        elif label and len(cells) == width and all(cells) and any(c[0].isdecimal() for c in cells):
            found[group, label] = cells
    return found


@pytest.mark.parametrize(("name", "mark", "rows"), [("table-6.1", " / ", 12), ("table-6.2", "\n", 6)])
def test_tables_cell_by_cell(name: str, mark: str, rows: int):
    table = published(name)
    printed = printed_cells(name, len(table.columns))
    assert len(printed) == len(table.rows) == rows
    for row in table.rows:
        expected = [tuple(float(value) for value in cell.split(mark)) for cell in printed[row.group, row.label]]
        assert [row.values[column] for column in table.columns] == expected


def test_newer_results_cell_by_cell():
    table = published("related")
    printed = {label: cells for label, *cells in (line.split("\t") for line in excerpt("related")[1:])}
    assert list(printed) == [row.label for row in table.rows]
    for row in table.rows:
        expected = [tuple(float(value) for value in cell.split(" ± ")) for cell in printed[row.label]]
        assert [row.values[column] for column in table.columns] == expected
    assert excerpt("related")[0].split("\t")[1:] == list(table.columns.values())
    tasks = re.search(r"on (\d+) regular-language tasks.* accuracy on (\d+) tasks", excerpt("related-mlp-ldru")[0])
    assert tasks
    assert published("related-mlp-ldru").rows[0].values["mlp-ldru"] == (int(tasks[2]), int(tasks[1]))


def test_hyper_parameters_line_by_line():
    table = published("table-6.5")
    printed: dict[str, str] = dict(line.split("\t") for line in excerpt("table-6.5")[:-1])
    found = {row.row: row.values["value"] for row in table.rows}
    assert {row.label: row.line for row in table.rows} == {label: f"{label}\t{text}" for label, text in printed.items()}
    assert (found["layers"], printed["# Layers"]) == (("log_C T",), "$\\log_C T$")
    assert found["training.optimiser"] == (printed["Optimizer"].split()[0].lower(),)
    assert found["training.lr"] == tuple(float(x) for x in re.findall(r"\de-\d", printed["Optimizer"]))
    labels = {"model.d_model": "Hidden Size", "model.n_heads": "# Attention Heads"}
    for row, label in {**labels, "training.batch_size": "Batch Size", "training.steps": "Train Steps"}.items():
        assert found[row] == (int(printed[label].replace(",", "")),)
    assert found["data.train_len"] == tuple(int(x) for x in printed["Train Seq. Len."].split(" or "))
    assert found["parameters"] == (float(printed["# Trainable Params."].split()[0]) * 1e6,)
    assert [*found["precision"], *found["dataset"]] == [printed["Precision"], printed["Dataset"]]


@pytest.mark.parametrize("name", TEXT)
def test_text_tables_number_by_number(name: str):
    table, values, text = published(name), 0, " ".join(excerpt(name)).lower()
    for row in table.rows:
        cells = row.line.strip("| ").split(" | ") if "|" in row.line else row.line.split("\t")
        assert cells.pop(0) == row.label
        printed = [cell for cell in cells if re.search(r"[0-9]|OOM", cell)]
        numbers = [re.findall(r">1k|OOM|[+-]?\d+(?:\.\d+)?", cell) for cell in printed]
        marks = ["†" if re.search(r"†|dagger", cell) else "*" if "*" in cell else "" for cell in printed]
        # Columns are in the order of the text; those that are blank there have no value here.
        columns = [column for column in table.columns if column in row.values]
        assert [[str(value) for value in row.values[column]] for column in columns] == [
            [text if text in ("OOM", ">1k") else str(float(text)) for text in cell] for cell in numbers
        ]
        assert [row.marks.get(column, "") for column in columns] == marks
        values += sum(map(len, numbers))
    assert values == TEXT[name]
    for title in table.columns.values():  # columns are called as printed
        assert all(word in text for word in re.findall(r"[a-z0-9.+/-]*[a-z0-9]+", title.lower())), title


def test_what_the_first_table_of_lex_says():
    table = published("lex-table-1")
    words = {"×": "no", "✓": "yes", "\\checkmark": "yes"}
    for row in table.rows:
        label, *cells = (cell.strip() for cell in row.line.strip("| ").split("|"))
        assert label == row.label
        printed = [re.findall(r"×|✓|\\checkmark", cell) for cell in cells[:2]]
        expected = [(", ".join(words[mark] for mark in marks),) for marks in printed]
        assert [row.values[column] for column in table.columns] == expected


def test_numbers_of_the_figures():
    text = excerpt("figure-6.3")[0]
    clusters = re.search(r"PARITY has (\d+) clusters and Cycle Navigation has (\d+)", text)
    lengths = re.search(r"length (\d+) that is much longer than the training length (\d+)", text)
    assert clusters
    assert lengths
    figure = published("figure-6.3")
    values = [figure.value(row, "regulargpt-C2", "clusters") for row in ("parity", "cycle-navigation")]
    assert values == [int(number) for number in clusters.groups()]
    assert list(figure.conditions_of("parity").values()) == [int(number) for number in lengths.groups()]
    shape = published("figure-6.4a").value("parity", "regulargpt-C2", "shape")
    assert f"equivalent to a {shape} going from the lower right to the upper left" in excerpt("figure-6.4a")[0]
    for name in (name for name in names() if re.match(r"figure-[2345]\.", name)):
        for row in published(name).rows:
            printed = re.sub(r"(\d+)%", lambda found: str(int(found[1]) / 100), row.line)
            for (value,) in row.values.values():
                words = "smaller than 512" if value == "< 512" else str(value)
                layers = "0th (lowest) layer exhibits a highly similar", "higher layers deviate"
                assert all(part in printed for part in (layers if name == "figure-2.7" else (words,))), (name, value)


def test_rows_are_languages_of_this_project():
    rows = [row.row for name in ("table-6.1", "figure-6.3", "figure-6.4a") for row in published(name).rows]
    assert all(languages.get(row).name == row for row in rows)
    assert all(languages.get(column) for column in published("related").columns)


def test_conditions_are_those_of_the_captions():
    one, two = published("table-6.1"), published("table-6.2")
    found = re.findall(r"length (\d+)\. .*? from (\d+) to (\d+)\. .*? over (\d) seeds", one.caption)
    assert [list(values.values()) for values in one.conditions.values()] == [[int(x) for x in row] for row in found]
    found = re.search(r"setting is (\d+)\. .*? from (\d+) to (\d+)\. .*? over (\d) seeds", two.caption)
    assert found
    length, low, high, seeds = (int(x) for x in found.groups())
    conditions = [list(values.values()) for values in two.conditions.values()]
    assert conditions == [[length, length, length, seeds], [length, low, high, seeds]]


@pytest.mark.parametrize("name", names())
def test_every_line_stands_in_its_excerpt(name: str):
    lines, found = excerpt(name), published(name)
    for row in found.rows:
        assert any(row.line in line for line in lines), row.row
    if not name.startswith("related"):
        assert found.caption in lines
        assert not found.conditions or any(found.conditions_from in line for line in lines)


@pytest.mark.parametrize("variable", ["REGULARGPT_LEX", "REGULARGPT_THESIS"])
def test_excerpts_against_the_thesis_and_the_paper(variable: str):
    if variable not in os.environ:
        pytest.skip(f"the text is not here; give it as {variable}=FILE")
    whole = {*Path(os.environ[variable]).read_text("utf-8").splitlines()}
    for name in (name for name in names() if not name.startswith("related")):
        assert name.startswith("lex") != (variable == "REGULARGPT_LEX") or not set(excerpt(name)) - whole, name


SOUND = json.loads((resources.files("experiments") / "published" / "table-6.1.json").read_text("utf-8"))


def with_row(**changes: object) -> dict:
    """Table 6.1 with its first row changed."""
    return {**SOUND, "rows": [{**SOUND["rows"][0], **changes}, *SOUND["rows"][1:]]}


REFUSED = [
    ({**SOUND, "units": 1}, "'units' is not a key of it"),
    ({key: value for key, value in SOUND.items() if key != "unit"}, "'unit' is missing"),
    ({**SOUND, "name": "table-6.3"}, "it is named 'table-6.3'"),
    ({**SOUND, "rows": SOUND["rows"][:1] * 2}, "row 'even-pairs' is there twice"),
    (with_row(line=""), "row 'even-pairs' has no line or no values"),
    (with_row(values={"gru": [1, 1]}), "row 'even-pairs': unknown column 'gru'"),
    (with_row(values={"rnn": [1]}), "row 'even-pairs', rnn: 1 values for max, mean"),
    (with_row(values={"rnn": [1, 2]}), "row 'even-pairs', rnn: the mean is above the maximum"),
    (with_row(values={"rnn": [101, 2]}), "row 'even-pairs', rnn: a share is 0 to 100"),
    (with_row(values={"rnn": ["x", 2]}), "row 'even-pairs', rnn: a share is 0 to 100"),
    (with_row(values={"rnn": [1, -2]}, unit=""), "row 'even-pairs', rnn: a share is 0 to 100"),
    (with_row(values={"rnn": [None, 2]}), "row 'even-pairs', rnn: a value is a number or a text"),
    (with_row(marks={"gru": "*"}), "row 'even-pairs': 'gru' has a mark and no value"),
    ({**SOUND, "doubts": [{"rows": ["x"], "columns": [], "why": "?"}]}, "a doubt about 'x', which is no row"),
    ({**SOUND, "doubts": [{"rows": [], "columns": ["x"], "why": "?"}]}, "a doubt about 'x', which is no column"),
    ({**SOUND, "doubts": [{"why": "?"}]}, "doubt 0: 'columns' is missing"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(data: dict, message: str):
    assert refusal(parse, "table-6.1", json.dumps(data)) == f"table-6.1: {message}"


def test_a_value_that_was_not_published_is_none_and_a_row_may_have_a_unit_of_its_own():
    table = published("table-6.1")
    missing = [("parity", "lstm", "mean"), ("tomita-7", "rnn", "mean"), ("parity", "rnn", "median")]
    assert {table.value(*place) for place in missing} == {None}
    assert table.conditions_of("tomita-7") == {}
    row = parse("table-6.1", json.dumps(with_row(values={"rnn": [1, -2]}, unit="percentage points"))).rows[0]
    assert (row.unit, row.values["rnn"]) == ("percentage points", (1, -2))
    assert [other.unit for other in published("table-5.1").rows] == ["probability", "nats"]
    doubted = published("table-4.1")
    assert doubted.doubt("512", "shift=6") == "three different sets of slopes share every digit at all five lengths"
    assert doubted.doubt("512", "window=40") == ""
