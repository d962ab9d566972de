"""`regulargpt.states`: the states of a run as columns, against what `verify` writes and the machine says."""

import csv
import functools
import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import languages
import regulargpt
from languages.errors import UserError, WordError
from regulargpt.measurements.measuring import measured

ROOT = Path(__file__).parents[2]
CERTIFIED = ROOT / "docs" / "certified"
POST = "blocks.0.mlp.hook_post"


@pytest.mark.parametrize(("name", "options"), [("parity", {"at": POST}), ("flip-flop", {}), ("brackets-2", {})])
def test_the_rows_are_those_that_verify_draws(name: str, options: dict[str, str], tmp_path: Path):
    table = regulargpt.states(CERTIFIED / name, words=8, length=60, **options)
    measured("clusters", CERTIFIED / name, tmp_path / "out", words=8, length=60, **options)
    with (tmp_path / "out" / "states-pca.csv").open(newline="", encoding="utf-8") as file:
        rows = [*csv.DictReader(file)]
    kept = ("level", "start", "position", "class", "count")
    ours = [tuple(map(str, row)) for row in zip(*(table[column].tolist() for column in kept), strict=True)]
    theirs = [
        (row["depth"], row["start"], str(int(row["end"]) - 1), row["least_word"] or "ε", row["count"]) for row in rows
    ]
    assert sorted(ours) == sorted(theirs)
    assert {len(column) for column in table.values()} == {len(rows)}


def test_each_row_says_what_the_machine_says_of_its_symbols():
    machine = languages.get("flip-flop").machine
    step = {(p, a): int(q) for p, row in enumerate(machine.table) for a, q in zip(machine.alphabet, row, strict=True)}

    def moved(state: int, word: str) -> int:
        return functools.reduce(lambda at, symbol: step[at, symbol], word, state)

    table = regulargpt.states(CERTIFIED / "flip-flop", words=["01-1-0", "--0011"], colour="prefix")
    assert set(table["word"]) == {"01-1-0", "--0011"}
    columns = ("word", "start", "position", "class", "transition")
    for word, start, end, of, least in zip(*(table[column] for column in columns), strict=True):
        for state in range(machine.n_states):
            assert moved(state, word[start : end + 1]) == moved(state, "" if least == "ε" else least)
        assert of == machine.states[moved(machine.initial_index, word[: end + 1])]


def test_states_at_a_hook_point_of_some_levels_are_those_that_pass_there():
    run = regulargpt.load(CERTIFIED / "parity")
    table = regulargpt.states(CERTIFIED / "parity", at=POST, words="0110", level="1,2")
    assert table["level"].tolist() == [1, 1, 2]
    _, cache = regulargpt.run_with_cache(run.model, run.encode("0110"), computation="plain-tree", names_filter=POST)
    passed = np.concatenate([x.detach().reshape(-1, x.shape[-1]) for x in cache.values()])  # (nodes, width)
    assert np.allclose(table["vector"], passed, atol=1e-6)


def test_of_words_that_are_given_no_state_is_left_out():
    words = ["".join(word) for word in itertools.product("01", repeat=11)]  # 2,048
    table = regulargpt.states(CERTIFIED / "parity", words=words)
    rows = {(level, word[start : end + 1]) for level, word, start, end in columns(table)}
    counted = Counter[int]()
    for level, count in zip(table["level"].tolist(), table["count"].tolist(), strict=True):
        counted[level] += count
    assert counted == {1: 6 * 2048, 2: 3 * 2048, 3: 2 * 2048, 4: 2048}
    assert {word for level, word in rows if level == 4} == set(words)
    few = regulargpt.states(CERTIFIED / "parity", words=np.int64(3))
    assert len(set(few["word"])) == 3


def columns(table: dict[str, np.ndarray]) -> list[tuple[int, str, int, int]]:
    return [*zip(*(table[name].tolist() for name in ("level", "word", "start", "position")), strict=True)]


def test_what_it_cannot_do_is_refused_in_a_line():
    place = CERTIFIED / "parity"
    for words in (["01", "011"], [], ["012"], [""]):
        with pytest.raises(WordError, match=r"\w"):
            regulargpt.states(place, words=words)
    for words in (None, 4.0, 0):
        with pytest.raises(UserError, match=r"\w"):
            regulargpt.states(place, words=words)  # type: ignore[arg-type]
    for words in (["01" * 600_000], ["0" * 9000]):
        with pytest.raises(UserError, match="symbols"):
            regulargpt.states(place, words=words)
    for options in ({"words": ["01"], "length": 9}, {"at": "blocks.7.hook_none"}, {"level": "12", "words": ["01"]}):
        with pytest.raises(UserError, match=re.compile(r"\A[^\n]+\Z")):
            regulargpt.states(place, **options)


def test_the_guides_lines_make_the_picture(monkeypatch):
    text = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "regulargpt.states" in block)
    assert len([line for line in code.splitlines() if line]) == 4
    monkeypatch.chdir(ROOT)
    import matplotlib as mpl

    mpl.use("Agg")
    there: dict[str, object] = {}
    exec(code, there)
    plt = there["plt"]
    (dots,) = plt.gca().collections  # type: ignore[attr-defined]
    assert len(dots.get_offsets()) == len(there["table"]["class"])  # type: ignore[index]
    frame = pytest.importorskip("pandas", reason="pandas is no part of the project")
    table = there["table"]
    assert len(frame.DataFrame({**table, "vector": list(table["vector"])}).dropna()) == len(table["class"])  # type: ignore
    plt.close("all")  # type: ignore[attr-defined]
