"""JFLAP's files in the editor, in a real browser: what is read, what is refused, and that the project reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from languages.automata import Dfa
from languages.convert.jflap import from_jflap
from languages.convert.reading import Reading
from regulargpt.classroom.workbench import page
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser

FILES = ".panel.editor .files"
STATE = '<state id="{}" name="{}"><x>10.0</x><y>20.0</y>{}</state>&#13;\n'
MOVE = "<transition>&#13;\n<from>{}</from>&#13;\n<to>{}</to>&#13;\n<read>{}</read></transition>"
EVEN = [
    *(STATE.format(7, "even &lt;q&gt;", "<initial/><final/>"), STATE.format(3, "odd", "")),
    *(MOVE.format(*move) for move in ((7, 3, "a"), (3, 7, "a"), (7, 7, "&amp;"), (3, 3, "&amp;"))),
]
# The machines that one may start from which are finite and accept words, as the page writes them.
WRITTEN = """modules.starters.STARTERS.map(({ drawn }) => {
  const { text, problem } = modules.jflap.toJflap(drawn);
  const { language } = modules.machine.languageOf(drawn);
  const back = text && modules.machine.languageOf(modules.jflap.fromJflap(text).drawn).language;
  const words = [1, 2, 3, 4, 5, 6].flatMap((n) => Array.from({ length: 2 ** n }, (_, i) => [...Array(n).keys()].map((k) => (i >> k) & 1)));
  const answers = (of) => words.map((word) => modules.machine.answerOf(of, word));
  const same = text && String(answers(language)) === String(answers(back));
  return { text, problem, same, alphabet: language.alphabet, words, answers: answers(language) };
})"""  # noqa: E501


def jff(*parts: str, kind: str = "fa") -> str:
    head = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 7.1.--><structure>'
    return f"{head}<type>{kind}</type>&#13;\n<automaton>{''.join(parts)}</automaton></structure>"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jflap") / "workbench.html"
    page.write(path)
    return path


def draw(browser: Browser, text: str) -> None:
    browser.all(FILES, "{ e.open = true; }")
    browser.choose(f"{FILES} textarea", text)
    browser.click(f"{FILES} .tools button")


def test_an_automaton_of_jflaps_is_drawn(browser: Browser, written: Path):
    browser.open(written)
    draw(browser, jff(*EVEN))
    assert sorted(browser.evaluate("modules.start.bench.drawn.states.map(({ name }) => name)")) == ["even <q>", "odd"]
    assert browser.evaluate("modules.start.bench.language.alphabet") == ["&", "a"]
    browser.choose(".panel.tree .field input", "a&a")
    assert browser.one(".panel.tree .said").startswith("The machine: accept.")
    assert browser.all(".panel.editor .problem") == [""]
    assert violations(browser) == []


def test_an_arrow_that_reads_nothing_is_read_and_written(browser: Browser, written: Path):
    along = (STATE.format(5, "along", ""), "<transition><from>7</from><to>5</to><read/></transition>")
    text = jff(*EVEN, *along, MOVE.format(5, 3, "b"))
    browser.open(written)
    draw(browser, text)
    assert browser.evaluate("modules.start.bench.drawn.alphabet") == ["&", "a", "b", "ε"]
    again = browser.evaluate("modules.jflap.toJflap(modules.start.bench.drawn).text")
    machines = [from_jflap(one, how=Reading(determinise=True)) for one in (text, again)]
    for word in ("a", "b", "ba", "a&", "&aba", "aabbaa", "&a&a"):
        assert [word in machine for machine in machines] == [browser.evaluate(ANSWER % word)] * 2


ANSWER = """(({ answerOf }, { language }) => {
  const word = modules.symbols.numbersOf(language.alphabet, "%s");
  return answerOf(language, word) === "accept";
})(modules.machine, modules.start.bench)"""


@pytest.mark.parametrize(
    "text",
    [
        jff(*EVEN, kind="pda"),
        jff(*EVEN[1:]),
        jff(*EVEN, MOVE.format(7, 3, "ab")),
        jff(*EVEN, MOVE.format(7, 3, "λ")),
        jff(*EVEN, MOVE.format(7, 4, "a")),
        jff(*EVEN, STATE.format(8, "again", "<initial/>")),
        jff(*EVEN, *(STATE.format(i, i, "") for i in range(10, 300))),
        "<structure><type>fa</type>",
    ],
)
def test_what_else_jflap_writes_is_refused_in_a_line(browser: Browser, written: Path, text: str):
    browser.open(written)
    draw(browser, text)
    assert browser.one(".panel.editor .problem").startswith("Of JFLAP's machines only finite automata")
    assert browser.count(".plane .state") == 2
    assert browser.evaluate("modules.machine_link.asText(modules.start.bench.drawn)") == "even-number-of-a"


def test_what_is_written_is_read_by_the_projects_reader_and_the_page(browser: Browser, written: Path):
    browser.open(written)
    found = browser.evaluate(WRITTEN)
    assert sum(bool(one["text"]) for one in found) >= 6
    for one in found:
        if one["text"] is None:
            assert one["problem"].startswith("Of JFLAP's machines only")
            continue
        assert one["same"]
        machine = from_jflap(one["text"], how=Reading(determinise=True))  # one of them is nondeterministic
        assert isinstance(machine, Dfa)
        for word, answer in zip(one["words"], one["answers"], strict=True):
            assert ("".join(one["alphabet"][a] for a in word) in machine) == (answer == "accept")


def test_the_file_is_saved_and_another_kind_of_machine_says_why_not(browser: Browser, written: Path):
    browser.open(written)
    browser.all(FILES, "{ e.open = true; }")
    browser.evaluate("save = async (blob, name) => { window.saved = [name, await blob.text()]; }")
    browser.click(f"{FILES} .tools button", 3)
    browser.wait("'saved' in window")
    name, text = browser.evaluate("window.saved")
    assert name == "automaton.jff"
    assert set(from_jflap(text).alphabet) == {"a", "b"}
    browser.choose(".panel.editor select", str(1 + 3), "change")  # brackets of any depth
    browser.click(f"{FILES} .tools button", 3)
    assert browser.one(".panel.editor .problem").startswith("Of JFLAP's machines only")
