"""Which rows are asked for, and what is refused."""

import re
from typing import Any

import pytest

from languages.errors import UserError
from regulargpt.results import select
from regulargpt.results.columns import key_of, known, split, varying
from regulargpt.results.row import OWN, RunRow


def row(name: str, status: str = "done", reason: str = "", language: str = "parity", **known: Any) -> RunRow:
    """A row, its keys of the config by the names that columns have."""
    own = {key: known.pop(key) for key in list(known) if key in OWN}
    keys = {"model": "model.name", "chunk_size": "model.chunk_size", "lr": "training.lr"}
    config = {"data.name": language, **{keys.get(key, key): value for key, value in known.items()}}
    return RunRow(name, status, reason, config, **own)


ROWS = [
    row("a", model="lstm", lr=1e-3, seed=0, length=41),
    row("b", model="gru", lr=1e-4, seed=1, length=41),
    row("c", model="regulargpt", chunk_size=2, lr=1e-3, length=1000, proven=True),
    row("d", "failed", "diverged", model="lstm", lr=1e-4, seed=2),
]
THREE = [row("a", protocol="thesis-1", tested=tested) for tested in ("thesis-1", "hard-1", "hard-2", "hardly-1")]


def refused(message: str):
    """The message, word for word."""
    return pytest.raises(UserError, match=f"^{re.escape(message)}$")


def runs(*texts: str) -> str:
    return "".join(row.run for row in select.where(ROWS, select.conditions(texts), known(ROWS)))


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


REFUSED = {
    "model": "--where model: write COLUMN=VALUE, as in --where model=lstm",
    "modle=lstm": "--where modle: no such column; did you mean 'model'?",
    "zzz=1": f"--where zzz: no such column; {', '.join(known(ROWS))}",
    "lr=fast": "--where lr=fast: no run has that; lr is '0.0001', '0.001'",
    "proven=yes": "--where proven=yes: no run has that; proven is 'true', ''",
    "model=rnn": "--where model=rnn: no run has that; model is 'gru', 'lstm', 'regulargpt'",
    "chunk_size=3": "--where chunk_size=3: no run has that; chunk_size is '2', ''",
    "model.chunk_size=3": "--where model.chunk_size=3: no run has that; model.chunk_size is '2', ''",
    "model=gru lr=0.001": "no run is all that --where asks for; leave one of the conditions out",
}


@pytest.mark.parametrize(("texts", "message"), REFUSED.items())
def test_refused_conditions(texts: str, message: str):
    with refused(message):
        runs(*texts.split())


@pytest.mark.parametrize("option", ["--group-by", "--pivot"])
def test_columns(option: str):
    assert split("language, chunk_size,language") == ("language", "chunk_size")
    for text, message in [
        ("langauge", f"{option} langauge: no such column; did you mean 'language'?"),
        ("", f"{option} '': no such column; {', '.join(known(ROWS))}"),
    ]:
        with refused(message):
            key_of(text, known(ROWS), option)


def test_the_measure_is_that_of_the_scores_or_the_one_named():
    rows = [RunRow("a", "done", measure="accuracy", measures={"accuracy": 1.0, "nll": 2.0}), RunRow("b", "failed")]
    assert [select.measured(rows, name).name for name in (None, "nll")] == ["accuracy", "nll"]
    assert select.measured(rows[1:], None).name == "accuracy"
    others = [*rows, RunRow("c", "done", measure="nll", measures={"nll": 3.0})]
    for found, name, message in [
        (rows, "nnl", "--measure nnl: no run has that; did you mean 'nll'?"),
        (rows, "perplexity", "--measure perplexity: no run has that; there is 'accuracy', 'nll'"),
        (others, None, "the scores of these runs are of 'accuracy', 'nll'; --measure nll, which all have"),
    ]:
        with refused(message):
            select.measured(found, name)


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
def test_refused_protocols(rows: list[RunRow], name: str, message: str):
    with refused(message):
        select.under(rows, name)


def test_the_columns_that_vary():
    assert varying(ROWS[:2]) == ("model.name",)
    assert varying(ROWS) == ("model.name", "training.lr")
    assert varying(ROWS[:1]) == ("data.name",)
    assert varying(THREE) == ("tested",)
    assert varying([*ROWS, RunRow("e", "damaged", "summary.json is damaged")]) == ("model.name", "training.lr")
    two = [row("a", protocol=name, tested=name) for name in ("", "thesis-1")]
    assert varying(two) == ("protocol",)
