"""The text of the lesson: it assumes only what it has given, explains each word where it first stands, and is short."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

import languages
from experiments.lesson import INDEX, sentences, with_words
from regulargpt.classroom.data import gather
from regulargpt.classroom.lesson import page
from regulargpt.classroom.lesson.material import Material, material, named
from regulargpt.classroom.lesson.wording import TERM, Sentence, glossary, of_lesson, plain, wording
from regulargpt.classroom.live.snapshots import KeptSnapshots
from regulargpt.finite.specification import specified_machine
from tests.regulargpt.certified import believed, certify, folder
from tests.regulargpt.conftest import PARITY
from tests.regulargpt.markup import EVIL, language_of

# The traits of one of each are in every lesson.
EITHER = (
    ("accepts", "transduces total", "transduces partial"),
    ("trained words-only", "trained table", "constructed"),
    ("regulargpt", "other-tree"),
    ("one-to-one", "shared"),
    ("as-it-is", "quantised"),
    ("absent", ""),
    ("never", ""),
    ("", "beside-trained", "beside-constructed", "beside-trained beside-wrong", "beside-constructed beside-wrong"),
)
LESSONS = [(set(" ".join(traits).split()), False) for traits in product(*EITHER)]
# With brackets, elements that no node has and cases that no word has are not spoken of.
LESSONS += [(traits, True) for traits, _ in LESSONS if not traits & {"absent", "never"}]


def said(traits: set[str], nested: bool) -> list[Sentence]:
    """Everything that a lesson with these traits says, in order; `nested` of a language with brackets."""
    found = wording(nested)
    steps = [[*of_lesson(step.sentences, traits), step.do, step.take] for step in found.steps]
    return [*found.opening, *(sentence for step in steps for sentence in step)]


def test_a_sentence_assumes_only_what_an_earlier_one_gave():
    for traits, nested in LESSONS:
        known = set(wording(nested).known)
        for sentence in said(traits, nested):
            assert set(sentence.assumes) <= known, plain(sentence)
            known |= set(sentence.gives)


def test_every_trait_is_one_that_a_lesson_may_have():
    for kind in (False, True):
        every = set.union(*(traits for traits, nested in LESSONS if nested == kind))
        found = {sentence.when for step in wording(kind).steps for sentence in step.sentences} - {""}
        assert found == every


@cache
def terms_of(sentence: Sentence) -> tuple[list[str], set[str]]:
    """The words of the glossary that a sentence marks, and all that it says."""
    marked, words, said = [match[1] for match in TERM.finditer(sentence.says)], plain(sentence).lower(), set[str]()
    for term in sorted(glossary(), key=len, reverse=True):  # "monoid element" is not "monoid"
        words, count = re.subn(rf"\b{re.escape(term.lower())}s?\b", "", words)
        said |= {term} if count else set()
    return marked, said


def test_a_word_of_the_glossary_is_marked_where_it_first_stands():
    for traits, nested in LESSONS:
        met: set[str] = set()
        for sentence in said(traits, nested):
            marked, words = terms_of(sentence)
            assert len(marked) == len(set(marked))
            assert not met & set(marked), f"marked twice: {plain(sentence)}"
            met |= set(marked)
            assert words <= met, f"not explained before: {plain(sentence)}"


def test_what_is_given_under_the_name_of_a_word_is_marked_there():
    every = set.union(*(traits for traits, _ in LESSONS))
    for sentence in [*said(every, False), *said(every, True)]:
        assert {given for given in sentence.gives if given in glossary()} <= {
            match[1] for match in TERM.finditer(sentence.says)
        }


def test_sentences_and_steps_are_short():
    for traits, nested in LESSONS:
        assert all(len(plain(sentence).split()) <= 25 for sentence in said(traits, nested))
        assert len(wording(nested).steps) == 7
        assert all(len(of_lesson(step.sentences, traits)) <= 8 for step in wording(nested).steps)


def test_a_table_lists_every_sentence():
    table = sentences()
    assert all(f"| {plain(sentence)}" in table for step in wording().steps for sentence in step.sentences)


def test_guides_and_pages_have_one_glossary():
    index = INDEX.read_text("utf-8")
    assert index == with_words(index), "write it again with `python -m experiments.lesson`"
    assert with_words(index.replace("| sub-word | ", "| part | ")) == index


def test_states_keep_the_names_of_the_user():
    for language in ("parity", "dyck-2", "tomita-3", "symmetric-3"):
        task = languages.get(language)
        machine = named(specified_machine(task), task.machine)
        assert set(machine.states) <= set(task.machine.states)
        words = task.sample(languages.rng(0, "names"), 8 if task.has_length(8) else 7, 50)
        assert machine.answers(words).tolist() == task.labels(words).tolist()
    # Where states of the minimal machine would share a name, it keeps its own.
    task = languages.get("flip-flop")
    assert named(specified_machine(task), task.machine).n_states == specified_machine(task).n_states


def test_the_lesson_of_the_package_says_what_its_run_is():
    text = page.render(material(gather(PARITY)))
    for part in ("50,442 weights", "a list of 64 numbers", "these 12 cases", "have 2 monoid elements"):
        assert part in text
    assert "a computer adjusted them 1,300 times, a little each time." in text
    assert "Only the first 300 times it was for words, of at most 40 symbols; the other 1,000 times, for" in text
    assert "nobody trained it" not in text
    assert "$" not in re.sub(r"<script.*", "", text, flags=re.DOTALL)


def test_a_lesson_has_nothing_of_a_network_that_only_a_report_shows():
    run = gather(PARITY)
    kept = KeptSnapshots((0, 5), (np.zeros(3), np.ones(3)))
    found = page.script_data(material(replace(run, live=replace(run.live, snapshots=kept))))
    assert found["live"]["map"] is None
    assert found["live"]["snapshots"] is None
    assert found["live"]["prototypes"] is not None


def test_a_language_that_a_user_named_cannot_become_a_tag(tmp_path: Path):
    text = page.render(evil(tmp_path))
    assert "<b>" not in re.sub(r"<b>(?:[1-7]|To take away: )</b>", "", text)
    assert "<i>yes" not in text


def evil(place: Path) -> Material:
    """A lesson on a language with names that are markup, whose network has random weights."""
    language = language_of(EVIL, place)
    run = folder(place / "evil", language)
    certify(run, language)
    return material(believed(run.path))
