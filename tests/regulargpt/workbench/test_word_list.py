"""A list of words tested at once, in a real browser: what the machine answers, and each network."""

from __future__ import annotations

from pathlib import Path

import pytest

from regulargpt.classroom.workbench import page
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser
from tests.regulargpt.test_page_print import CUT, SHEET

LIST = ".panel.lanes .word-list"
ROWS = f"{LIST} tbody tr"
CELLS = "[...e.cells].map((cell) => cell.textContent.trim())"
# The network of a level on the bench, as that of all three lanes.
MADE = """(() => {
  globalThis.bench = modules.start.bench;
  const { snapshot } = modules.levels.made(modules.levels.LEVELS[0]);
  for (const lane of ["regulargpt", "transformer"]) bench.set.snapshot({ ...snapshot, lane });
})()"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("words") / "workbench.html"
    page.write(path)
    return path


def listed(browser: Browser, *lines: str) -> list[list[str]]:
    """The rows of a list of words, once every network has answered."""
    browser.all(LIST, "{ e.open = true; }")
    browser.choose(f"{LIST} textarea", "\n".join(lines))
    browser.wait(f"document.querySelectorAll({ROWS!r}).length === {len(lines)}")
    return browser.all(ROWS, CELLS)


def test_words_have_the_machines_answers_and_a_line_that_is_none_says_so(browser: Browser, written: Path):
    browser.open(written)
    assert listed(browser, "ab", "aa", "axb", "b" * 1001) == [
        ["ab", "reject"],
        ["aa", "accept"],
        ["axb", "? no symbol of this language: x"],
        ["b" * 20 + "…bbb", "? more than 1000 symbols"],
    ]
    # Blank lines are none, and of too many words the first ones are read.
    browser.choose(f"{LIST} textarea", "\n\n".join(["a"] * 201))
    browser.wait(f"document.querySelectorAll({ROWS!r}).length === 200")
    # Another machine reads the words anew.
    browser.evaluate("modules.start.bench.set.language(modules.starters.STARTERS.at(-1).drawn)")
    browser.wait(f"document.querySelector({ROWS!r}).textContent.includes('no symbol')")


def test_each_network_answers_and_its_right_answers_are_counted(browser: Browser, written: Path):
    browser.open(written)
    browser.evaluate(MADE)
    listed(browser, "ab", "zz", "aa", "a")
    head, foot = f"{LIST} thead tr", f"{LIST} tfoot tr"
    browser.wait(f"document.querySelector({foot!r}).cells.length === 3")
    assert browser.one(head, CELLS) == ["Word", "Machine", "RegularGPT", "Transformer"]
    assert browser.all(ROWS, CELLS)[0] == ["ab", "reject", "✓ reject", "✓ reject"]
    assert browser.one(foot, CELLS) == ["", "3 of 3 right", "3 of 3 right"]
    # A struck network is asked anew.
    browser.evaluate("bench.set.hits([{ kind: 'case', part: 'leaves', window: [1, 0], image: 1 }])")
    browser.wait(f"document.querySelector({LIST + ' td.wrong:not([colspan])'!r}) !== null")
    wrong = browser.count(f"{LIST} td.wrong:not([colspan])")
    assert browser.one(foot, CELLS)[1] == f"{3 - wrong} of 3 right"
    assert all(text.strip().startswith("✗") for text in browser.all(f"{LIST} td.wrong:not([colspan])"))
    # What was learned is forgotten, and with it the answers.
    browser.evaluate("bench.set.again()")
    browser.wait(f"document.querySelector({head!r}).cells.length === 2")


def test_networks_answer_while_they_learn_and_the_page_stays_awake(browser: Browser, written: Path):
    browser.open(written)
    listed(browser, *(f"{i:09b}".replace("0", "a").replace("1", "b") for i in range(200)))
    browser.evaluate("globalThis.bench = modules.start.bench; bench.set.training('going'); 0")
    browser.wait(f"document.querySelector('{LIST} thead tr').cells.length === 5")
    steps = browser.evaluate("bench.snapshots.lstm.step")
    browser.wait(f"bench.snapshots.lstm.step > {steps}")
    assert browser.one(f"{LIST} tfoot tr", CELLS)[3].endswith(" of 200 right")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_table_breaks_no_rule_fits_and_is_printed(browser: Browser, written: Path, width: int):
    for dark in (False, True):
        browser.open(written, width=width, dark=dark)
        browser.evaluate(MADE)
        listed(browser, "a", "zz", "aa", "a" * 60)
        browser.wait(f"document.querySelector('{LIST} tfoot tr').cells.length === 3")
        browser.evaluate("bench.set.hits([{ kind: 'case', part: 'leaves', window: [1, 0], image: 1 }])")
        browser.wait(f"document.querySelector({LIST + ' td.wrong:not([colspan])'!r}) !== null")
        browser.assert_fits()
        assert violations(browser) == []
    browser.look(SHEET, 1060)
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    browser.pause()
    assert browser.evaluate(CUT) == []
    assert browser.all(f"{LIST} :is(textarea, table)", "e.checkVisibility()") == [False, True]
