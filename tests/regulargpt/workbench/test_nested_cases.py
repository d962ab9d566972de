"""The cases of trees that follow brackets, against what `regulargpt` goes through for a proof."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from languages.automata.pushdown import PushdownTransducer
from languages.convert.machines import to_json
from regulargpt.certificate.search.nested_labels import Labels
from regulargpt.finite.nested_specification import NestedSpecification
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.nested_tables import prove_nested
from tests.regulargpt.workbench.scripts import opened, results
from tests.regulargpt.workbench.test_nested_machine import machines, random_machine

pytestmark = needs_browser
CASES = """(text) => {
  const { language } = languageOf(fromJson(text).drawn);
  return language && nestedCases(language);
}"""


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield opened(tab, tmp_path_factory.mktemp("cases"), "machine", "machine_json", "nested_cases")
    tab.assert_silent()


def expected(machine: PushdownTransducer) -> tuple[Labels, dict[tuple[int, ...], int], dict[int, str]]:
    """The windows of labels with their images, and the answers at the roots."""
    specification = NestedSpecification.of_machine(machine)
    labels, seen = Labels(specification, 2, "right"), dict[tuple[int, ...], int]()

    def image(windows: np.ndarray) -> np.ndarray:
        images = labels.image(windows)
        seen.update(zip(map(tuple, windows.tolist()), images.tolist(), strict=True))
        return images

    proof = prove_nested(specification, 2, labels.count, image, labels.answers)
    names = [*machine.output_names, None]
    answers = {state: names[int(specification.answers[element])] for state, element in proof.roots.tolist()}
    return labels, seen, {state: answer for state, answer in answers.items() if answer is not None}


def check(found: dict[str, Any], machine: PushdownTransducer) -> None:
    labels, windows, answers = expected(machine)
    size, K = labels.specification.size, len(found["elements"])

    def label(element: int) -> int:
        """That of an element, or of an open node as the lesson numbers them."""
        call, inside = divmod(element - size, size)
        return 1 + (element if element < size else int(labels.opened[0][inside, call]))

    rows = [0, *map(label, found["elements"]), *(labels.count + 1 + a for a in range(machine.n_symbols))]
    ours = {tuple(rows[at and K + at] for at in window): rows[image] for window, image in found["leaves"]}
    assert not ours.keys() & {tuple(rows[at] for at in window) for window, _ in found["nodes"]}
    ours |= {tuple(rows[at] for at in window): rows[image] for window, image in found["nodes"]}
    assert ours == windows
    given = zip(found["elements"], found["answers"], strict=True)
    assert {label(element): answer for element, answer in given if answer is not None} == answers
    for first, every in zip(found["elements"], found["stands"], strict=True):
        assert every[0] == first
        assert {label(element) for element in every} == {label(first)}


def test_the_windows_are_those_that_a_proof_goes_through(page: Browser):
    """Of each part the windows, images and answers, with open nodes that do the same as one prototype."""
    cases = [*machines(), *map(random_machine, range(60))]
    found = results(page, "machine machine_json nested_cases", CASES, map(to_json, cases))
    shown = [(each, machine) for each, machine in zip(found, cases, strict=True) if each is not None]
    assert len(shown) > 30
    for each, machine in shown:
        check(each, machine)
