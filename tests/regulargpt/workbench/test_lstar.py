"""L* in the page: a network's machine from its answers, with machines in the place of networks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from languages.automata import MooreMachine
from regulargpt.finite.conformance import suite
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.workbench.scripts import opened, results
from tests.regulargpt.workbench.test_machine import language, random_case

pytestmark = needs_browser
LONGEST = 24
# Words of all lengths, from a generator of Park and Miller.
LEARN = """({ language, answers, longest, budget }) => {
  let seed = 1;
  const below = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const word = () => Array.from({ length: 1 + below(longest) }, () => below(language.alphabet.length));
  const draw = () => Array.from({ length: 300 }, word);
  let most = 0;
  const ask = (words) => {
    most = Math.max(most, words.length, ...words.map((each) => each.length));
    return words.map((each) => {
      const state = each.reduce((q, symbol) => answers.delta[q][symbol], answers.initial);
      return language.output_names.indexOf(answers.outputs[state]);
    });
  };
  const learning = learnedMachine({ language, ask, draw, longest, ...(budget ? { budget } : {}) });
  let [steps, found] = [0, learning.next()];
  for (; !found.done; found = learning.next()) steps += 1;
  const at = (machine, symbols) => machine && machine.outputs[symbols.reduce((q, a) => machine.delta[q][a], 0)];
  const same = draw().every((each) => at(found.value.proposed, each) === at(answers, each));
  return { ...found.value, steps, most, same, telling: tellingWords(language, longest) };
}"""


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield opened(tab, tmp_path_factory.mktemp("lstar"), "lstar")
    tab.assert_silent()


@pytest.fixture(scope="module")
def cases() -> list[tuple[dict[str, Any], MooreMachine]]:
    """Languages as the page has them, and their machines; words without an answer among them."""
    found = [(language(machine), machine) for _, machine in map(random_case, range(160))]
    return [(made | {"states": made["delta"]}, machine) for made, machine in found if made is not None]


def test_a_network_that_is_right_has_the_languages_machine(page: Browser, cases: list[Any]):
    """With it come no more words at once, and no longer ones, than were allowed."""
    given = [{"language": made, "answers": made, "longest": LONGEST} for made, _ in cases]
    assert len(given) > 30
    for found, (made, machine) in zip(results(page, "lstar", LEARN, given), cases, strict=True):
        assert (found["problem"], found["language"]["delta"]) == ("", made["delta"])
        assert found["language"]["elements"] == made["elements"]
        assert found["language"] == found["proposed"]
        assert found["asked"] <= 128 * found["steps"]
        assert found["most"] <= 128
        theirs = suite(machine.minimise(), LONGEST, usual=1 << 12)
        words = {tuple(word) for batch in theirs.words for word in batch.tolist()}
        assert {tuple(word) for word in found["telling"]} == words


def test_a_network_that_is_wrong_has_none(page: Browser, cases: list[Any]):
    """It answers as another machine. Where none of the words that it was asked told that, the machine is right."""
    others = [case for case, _ in cases if case["kind"] == "accepts" and len(case["alphabet"]) == 2]
    given = [{"language": made, "answers": other, "longest": LONGEST} for made, other in pairwise(others)]
    found = results(page, "lstar", LEARN, given)
    assert sum(each["language"] is None for each in found) > len(found) / 2 > 8
    for each, case in zip(found, given, strict=True):
        if each["language"] is None:
            assert each["problem"].startswith("The machine of the network's answers is wrong on a word of ")
            assert each["problem"].endswith("Train the network on.")
        else:
            assert each["language"]["delta"] == case["language"]["delta"]


def test_a_network_without_a_machine_ends_in_a_line(page: Browser, cases: list[Any]):
    made = next(case for case, _ in cases if case["kind"] == "accepts" and len(case["alphabet"]) == 2)
    chain = [[min(q + 1, 199), q // 2] for q in range(200)]
    many = {"initial": 0, "delta": chain, "outputs": [("reject", "accept")[q * q % 7 % 2] for q in range(200)]}
    given = {"language": made, "answers": many, "longest": LONGEST}
    few, short, little = results(page, "lstar", LEARN, [given, given | {"longest": 4}, given | {"budget": 50}])
    assert few["problem"].endswith("Train the network on.")
    assert few["language"] is short["language"] is little["language"] is None
    assert short["most"] <= 128
    assert little["asked"] > 50
    assert "more than 50 words" in little["problem"]
