"""The workbench in a real browser: its captions, its address, and all of it from a drawing to a proof and a wrong word."""

from __future__ import annotations

from regulargpt.classroom.lesson.wording import Sentence, captions, glossary, plain
from regulargpt.classroom.workbench import page
from tests.regulargpt.test_lesson import terms_of


def spoken() -> list[Sentence]:
    """Everything that the captions say, in order."""
    found = captions()
    return [*found.opening, *(one for step in found.steps for one in (*step.sentences, step.do, step.take))]


def test_a_caption_assumes_only_what_an_earlier_one_gave():
    known = set(captions().known)
    for sentence in spoken():
        assert set(sentence.assumes) <= known, plain(sentence)
        known |= set(sentence.gives)


def test_a_word_of_the_glossary_is_marked_where_it_first_stands():
    met: set[str] = set()
    for sentence in spoken():
        marked, words = terms_of(sentence)
        assert len(marked) == len(set(marked))
        assert not met & set(marked), f"marked twice: {plain(sentence)}"
        met |= set(marked)
        assert words <= met, f"not explained before: {plain(sentence)}"
        assert {given for given in sentence.gives if given in glossary()} <= set(marked)


def test_captions_are_short_and_each_lights_a_panel():
    steps = captions().steps
    assert len(steps) == 7
    assert {step.panel for step in steps} == set(page.PANELS)
    assert all(len(plain(sentence).split()) <= 25 for sentence in spoken())
    assert all(len(step.sentences) <= 4 for step in steps)
