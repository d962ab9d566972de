"""The page: what stands in which cell, what is named beside the table, and which pictures lie beside it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import shortcuts
from experiments.page import files
from experiments.page.compact import dense, packed, unpacked
from experiments.page.files import draw, rendered
from experiments.page.layout import page_of
from experiments.page.markdown import markdown
from experiments.page.record import Cell, CellLine, ClaimVerdict, Curve, ItemList, Page, PagePicture, PageTable, Section
from experiments.registry import experiment
from experiments.reproduction import write_page
from regulargpt.config.schema import RunConfig, value_of
from tests.experiments.folders import filled

EVIL = "</td><script>alert(1)</script> | <b>bold</b> `code` [link](x) & *stars*"
TABLE = experiment("table-6.1")


def came(config: RunConfig) -> float | str | None:
    """One failure with a reason that is no markup, one missing run, others by the model."""
    if (config.model.name, config.data.name) == ("rnn", "parity"):
        return EVIL
    if (config.model.name, config.data.name) == ("transformer", "parity"):
        return None
    return 99.9995 if value_of(config, "model.chunk_size") == 2 else 88.125


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> tuple[dict[str, Any], str, Page]:
    """A table with everything in it: what its page says, for programs, in Markdown, and the record between them."""
    folder = filled(tmp_path_factory.mktemp("page") / "r", TABLE, "smoke", ["parity", "dyck-12"], came)
    with pytest.MonkeyPatch.context() as patch:
        rule = {"score": 50.0, "accuracy": dict.fromkeys(map(str, range(30_000)), 50.0)}
        patch.setattr(shortcuts, "rule_scores", lambda trained, tested, path: {"majority": rule})
        result = write_page(folder.path, TABLE, "smoke")
    return result, Path(result["page"]).read_text("utf-8"), files.read(Path(result["page"]).parent)


def test_every_cell_of_every_row_is_there(found):
    lines = found[1].splitlines()
    assert lines[0] == "# Table 6.1, reproduced"
    header = lines.index("|  | RNN | Transformer | RegularGPT, C = 2 | RegularGPT, C = 3 |")
    row = re.split(r"(?<!\\)\|", lines[header + 2])
    assert [part.strip() for part in row[1:4]] == [
        "parity",
        "100.0 / 98.9<br>*1 of 1 failed*",
        "52.3 / 50.1<br>*no run finished*",
    ]
    widths = {len(re.split(r"(?<!\\)\|", line)) for line in lines[header : header + 4]}
    assert widths == {7}
    assert {picture.file for picture in found[2].pictures} == set(re.findall(r"\]\((curves/[^)]*)\)", found[1]))
    names = [line.partition(" | ")[0] for line in lines if line.startswith(("| parity |", "| dyck-12 |"))]
    assert names == ["| parity", "| dyck-12"] * 2


def test_what_is_missing_or_failed_is_named_and_how_it_was_made(found):
    result, text, _ = found
    for said in (
        "10 of 12 runs are done, 1 failed, 1 missing.",
        "hardly trained",
        "Table 6.1 of the thesis: twelve languages, four networks as published",
        *(f"- {name}: missing" for name in result["missing"]),
        "    regulargpt reproduce table-6.1 --scale smoke",
        "training alone 25.0 s, all runs added up.",
        "Commit c0ffee, PyTorch 2.13.0, x86\\_64 (cpu), 2 cores: 10 runs.",
        # Newer results have their own conditions.
        "| PD-SSM | 99.5 ± 0.7 | 99.7 ± 0.3 | 96.2 ± 3.4 | 99.9 ± 0.1 |",
        "data.train\\_from 3",
        # Nothing of a reason is markup.
        r"\</td\>\<script\>",
    ):
        assert said in text
    assert not re.search(r"(?<!\\)<script", text)
    assert [failure["reason"] for failure in result["failed"]] == [EVIL]
    assert len(result["missing"]) == 1


def test_programs_are_given_the_cells_of_the_page(found):
    cells = {(cell["row"], cell["column"]): cell for cell in found[0]["cells"]}
    assert len(cells) == 2 * len(TABLE.columns)
    good, bad = cells["dyck-12", "words-C3"], cells["parity", "rnn"]
    assert good["published"] == {"max": 94.1, "mean": 90.4}
    assert good["ours"] == {"max": 88.125, "mean": 88.125}
    assert (good["group"]["scores"], bad["group"]["scores"]) == ([88.125], [])
    assert "| 94.1 / 90.4<br>**88.12 / 88.12**<br>−6.0 / −2.3<br>" in found[1]
    assert (bad["runs"], bad["done"], bad["group"]["n_failed"], bad["ours"]) == (1, 0, 1, {"max": None, "mean": None})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.floats(allow_nan=False) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=6,
)
RECORDS = st.lists(st.fixed_dictionaries({"a": VALUES, "b": st.sampled_from([0, 1, 2, 3.0, True, [1, 2]])}), min_size=1)


@given(RECORDS, st.integers(1, 3))
def test_records_by_column_are_read_as_they_were_written(records: list[dict], times: int):
    parts = {"cells": records * times, "curves": [{"file": "a.svg", "lines": records * 9}], "notes": ["a"]}
    again = unpacked(json.loads(dense(packed(parts))))
    assert dense(again) == dense(parts)  # 1 equals 1.0 and true, but is not written so


def test_every_kind_of_block_is_read_as_it_was_written():
    table = PageTable(
        ("", "a"), (("x", Cell((CellLine("1", "ours"), CellLine("2")), (3,), {"value": 1.0})), ("y", "–")), "more"
    )
    curve = PagePicture("c", "curves/c.svg", "c: 1 to 2", (Curve("c", (1, 2), (1.0, 2.0), (0.5, 1.5), (1.5, 2.5)),))
    blocks = ("Text.", ItemList(("a", "b"), numbered=True), table, curve, PagePicture("p", "p.png", "dots"))
    claims = (ClaimVerdict("holds", "x = 1", sentence="So it is.", source="paper", rules=("x below 2",)),)
    page = Page(experiment="e", scale="cpu", heading="H", lead=("L",), claims=claims, sections=(Section("S", blocks),))
    text = rendered(page)
    assert page_of(json.loads(text)) == page
    assert text.count("\n") > 10
    shown = markdown(page)
    assert "1. a\n2. b" in shown
    assert "<details><summary>more</summary>" in shown
    assert "| x | **1**<br>2<br><sub>notes 3</sub> |" in shown
    assert "| **holds**<br>for these networks |" in shown
    # Curves that are not drawn are bars; a picture that is a file is always shown.
    assert "curves/c.svg" not in shown
    assert "| c | 1 at 1 | 2 at 2 | 1 | 2 | ▁" in shown
    assert "![dots](p.png)" in shown
    assert "![c: 1 to 2](curves/c.svg)" in markdown(page, drawn=True)


def test_pictures_are_of_the_runs_own_tests(found, tmp_path: Path):
    parity, dyck = found[2].pictures
    assert parity.text.startswith("parity, lengths 41 to 482: RegularGPT, C = 2: 99.99 % at worst;")
    for picture in found[2].pictures:
        draw(picture, tmp_path)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.svg")) == [dyck.file, parity.file]
    text = (tmp_path / parity.file).read_text()
    assert all(name in text for name in ("RegularGPT, C = 2", "words, C = 2", "accuracy (%)"))
    assert len(text) < 30_000
