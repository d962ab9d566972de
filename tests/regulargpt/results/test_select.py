"""Which rows are asked for, and what is refused."""

import pytest

from languages.errors import UserError
from regulargpt.results import select
from regulargpt.results.row import COLUMNS, Row

ROWS = [
    Row("a", "done", language="parity", model="lstm", lr=1e-3, seed=0, tested="", length=41, accuracy=100.0),
    Row("b", "done", language="parity", model="gru", lr=1e-4, seed=1, tested="", length=41, accuracy=100.0),
    Row("c", "done", language="parity", model="regulargpt", chunk_size=2, lr=1e-3, length=1000, proven=True),
    Row("d", "failed", "diverged", language="parity", model="lstm", lr=1e-4, seed=2),
]
THREE = [
    Row("a", "done", language="parity", protocol="thesis-1", tested=tested)
    for tested in ("thesis-1", "hard-1", "hard-2", "hardly-1")
]


def runs(*texts: str) -> str:
    return "".join(row.run for row in select.where(ROWS, select.conditions(texts)))


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ([], "abcd"),
        (["model=lstm"], "ad"),
        (["model=lstm", "model=gru"], "abd"),
        (["model=lstm", "lr=0.001"], "a"),
        (["lr=1e-4"], "bd"),
        (["chunk_size=2"], "c"),
        (["chunk_size="], "abd"),
        (["status=failed"], "d"),
        (["proven=true"], "c"),
        (["length=1000"], "cd"),
        (["seed=0"], "a"),
        (["seed=0", "seed=1", "seed="], "abc"),
    ],
)
def test_where(texts: list[str], found: str):
    assert runs(*texts) == found


REFUSED = [
    ("model", "--where model: write COLUMN=VALUE, as in --where model=lstm"),
    ("modle=lstm", "--where modle: no such column; did you mean 'model'?"),
    ("zzz=1", f"--where zzz: no such column; {', '.join(COLUMNS)}"),
    ("lr=fast", "--where lr=fast: lr is a number"),
    ("proven=yes", "--where proven=yes: proven is true or false"),
    ("model=rnn", "--where model=rnn: no run has that; model is 'gru', 'lstm', 'regulargpt'"),
    ("chunk_size=3", "--where chunk_size=3: no run has that; chunk_size is '2', ''"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_conditions(text: str, message: str):
    with pytest.raises(UserError) as refused:
        runs(text)
    assert str(refused.value) == message


def test_conditions_that_exclude_each_other():
    with pytest.raises(UserError) as refused:
        runs("model=gru", "lr=0.001")
    assert str(refused.value) == "no run is all that --where asks for; leave one of the conditions out"


def test_columns():
    assert select.columns("language, chunk_size,language") == ("language", "chunk_size")
    for text, message in [
        ("langauge", "--group-by langauge: no such column; did you mean 'language'?"),
        ("", f"--group-by '': no such column; {', '.join(COLUMNS)}"),
    ]:
        with pytest.raises(UserError) as refused:
            select.columns(text)
        assert str(refused.value) == message


def test_under_a_protocol_with_or_without_its_version():
    assert [row.tested for row in select.under(THREE, "thesis")] == ["thesis-1"]
    assert [row.tested for row in select.under(THREE, "hard-2")] == ["hard-2"]
    assert select.under([*THREE, ROWS[3]], "thesis")[1:] == [ROWS[3]]
    assert [row.run for row in select.under(ROWS, "")] == ["a", "b", "c", "d"]
    assert [row.tested for row in select.under_own(THREE)] == ["thesis-1"]


@pytest.mark.parametrize(
    ("rows", "name", "message"),
    [
        (THREE, "hard", "--tested hard: tests here are under 'hard-1', 'hard-2'; name one of them"),
        (THREE[:2], "thsis", "--tested thsis: tests here are under 'hard-1', 'thesis-1'"),
        (ROWS, "hard", "--tested hard: no test here was under a protocol"),
    ],
)
def test_refused_protocols(rows: list[Row], name: str, message: str):
    with pytest.raises(UserError) as refused:
        select.under(rows, name)
    assert str(refused.value) == message


def test_the_columns_that_vary():
    assert select.varying(ROWS) == ("model", "lr")
    assert select.varying(ROWS[:1]) == ("language",)
    assert select.varying(THREE) == ("tested",)
    assert select.varying([*ROWS, Row("e", "damaged", "summary.json is damaged")]) == ("model", "lr")
    two = [Row("a", "done", language="parity", protocol=name, tested=name) for name in ("", "thesis-1")]
    assert select.varying(two) == ("protocol",)
