"""Pages of runs on rows of answers: what is computed and drawn of a typed word, against torch and the machine."""

import numpy as np
import pytest
import torch

import languages
from regulargpt.classroom.page import write
from regulargpt.classroom.rows import DrawnRows
from regulargpt.config.recipes import resolve
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.browser import Browser
from tests.regulargpt.conftest import shown

SMALL = {"device": "cpu", "data.train_len": 6, "model.d_model": 8, "training.steps": 2, "training.batch_size": 4}
SMALL |= {"evaluation.test_len": 8, "evaluation.samples": 2, "evaluation.extra_lengths": ()}


@pytest.mark.parametrize("name", ["stack-rnn", "tape-rnn", "gru", "regulargpt"])
def test_rows_of_the_page_are_torchs_and_stacks_those_of_the_machine(browser: Browser, tmp_path, name: str):
    """A page that asked at other places, or a machine that read the top after its move, is noticed here alone."""
    config = resolve("words", name, "stack-manipulation").replaced(SMALL)
    running.run(config, tmp_path / "run")
    run, task = shown(tmp_path / "run"), languages.find("stack-manipulation")
    assert isinstance(run.rows, DrawnRows)
    assert len(run.rows.shown) > 3
    write([run], tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    text = "0 1 1 PUSH1 POP POP PUSH0"
    browser.type(text)
    word = task.machine.encode(text + " _" * 8)
    right = task.machine.answers(np.array(word), every=True)
    with torch.no_grad():
        said = load_reader(RunFolder.open(run.path)).answers(torch.from_numpy(word.astype(np.int64))[None], 8)
    names, asked = task.output_names, right[7:] >= 0
    expected = [names[a] for a in said[0].argmax(-1).numpy()[asked]]
    assert browser.all("table.row td[data-verdict]", "e.textContent.replace(' ✗', '')") == expected
    true = [names[a] for a in right[7:][asked]]
    assert "Automaton: " + " ".join(true) in browser.one(".answer")
    wrong = [a != b for a, b in zip(expected, true, strict=True)]
    assert browser.all("table.row td[data-verdict]", "e.dataset.verdict === 'wrong'") == wrong
    if name == "stack-rnn":
        heights = browser.evaluate("runs[0].stacks.tracks.map(({ stacks }) => stacks.map((stack) => stack.length))")
        assert heights[-1] == [1, 2, 3, 4, 3, 2, 3, 2, 1, 0, 0, 0, 0, 0, 0]
        assert len(heights) == 2
    browser.type("POP 0")
    assert "does not ask" in browser.one(".answer")
    browser.assert_silent()
