"""What a network still has wrong of the words that a search wrote down: all that shows such words asks here.

falsified.json is no part of the manifest: words in it may have been altered. So nothing in it is believed. Each word is
asked of the network again, and each family is tried again. That a family is wrong for ever only the checker can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch

from languages.errors import UserError
from regulargpt import objectives
from regulargpt.data.language import LanguageData
from regulargpt.falsification.asked import LONGEST, Examinee, Word
from regulargpt.falsification.family import FAR, FEWEST, Persistent, WordFamily, tried_again
from regulargpt.falsification.hunt import LONGEST_KEPT
from regulargpt.falsification.search import described, of_family
from regulargpt.runs.opened import Opened
from regulargpt.storage.folder import RunFolder


def encoded(data: LanguageData, written: Sequence[Any]) -> list[Word]:
    """Whole words of a language as numbers; what is no word of it is left out."""
    words = []
    for word in dict.fromkeys(word for word in written if isinstance(word, str) and word):
        with suppress(UserError):
            words.append(data.whole(tuple(data.encode(word).tolist())))
    return words


def known_wrong(run: Opened, folder: RunFolder, least: int = 1, *, families: bool = True) -> dict[str, Any] | None:
    """What falsified.json names, as far as the network bears it out; None where these weights were not searched.

    As `borne_out` gives it, with the `families` or without. How many words are right only a new search could say.
    Raises UserError for a file that `falsify` did not write, and where the network cannot be queried.
    """
    report = folder.load_falsified()
    if report is None:
        return None
    return borne_out(run, {**report, "all_up_to": 0, "families": report["families"] if families else []}, least)


def borne_out(run: Opened, report: Mapping[str, Any], least: int = 1) -> dict[str, Any]:
    """The report of a search with the first word, of `least` symbols or more, and the first family that are still
    wrong, as far as they were tried now; `is_refuted` where it names some, and none of them is wrong.

    Raises UserError where the network cannot be queried: its language is gone or another, or has no right answers.
    """
    named = [item for item in report["wrong"] if item["length"] >= least], report["families"]
    if not any(named):
        return {**report, "wrong": [], "families": [], "is_refuted": False}
    if not isinstance(run.data, LanguageData):
        raise UserError(f"{run.data.name} has no right and wrong answers to words")
    goal, device = objectives.build(run.config.objective, run.data), torch.device("cpu")
    with run.through():
        again = Again(Examinee.from_model(run.model, run.data, goal, device, run.config.network))
        # No more than the first of each is shown, and asking takes time.
        families = [*islice(again.families(named[1]), 1)]
        wrong = [*islice(again.words(named[0], least), 1)] or [again.described(family) for family in families]
        shown = [of_family(again.examinee, family) for family in families]
    return {**report, "wrong": wrong, "families": shown, "is_refuted": not wrong}


@dataclass(frozen=True)
class Again:
    """The network, asked once more about what a file says that it has wrong."""

    examinee: Examinee

    def words(self, written: Sequence[Mapping[str, Any]], least: int) -> Iterator[dict[str, Any]]:
        """Words that it has wrong, the shortest first, with the answers that it gives now."""
        words = encoded(self.examinee.data, [item.get("word") for item in written])
        for word in sorted(words, key=lambda word: (len(word), word)):
            if self.examinee.length(word) >= least and self.is_wrong(word):
                yield described(self.examinee, word)

    def described(self, family: WordFamily) -> dict[str, Any]:
        """The first word of a family."""
        return described(self.examinee, self.examinee.data.whole(family.word(family.of.start)))

    def families(self, written: Sequence[Mapping[str, Any]]) -> Iterator[WordFamily]:
        """Families that it has wrong wherever they are tried, each up to where that was; that is never a proof."""
        for record in written:
            if (family := read_family(self.examinee.data, record)) is not None:
                tried = tried_again(family)
                if len(tried) >= FEWEST and all(self.is_wrong(self.examinee.data.whole(family.word(n))) for n in tried):
                    yield replace(family, of=replace(family.of, start=tried[0], end=tried[-1]))

    def is_wrong(self, word: Word) -> bool:
        """Whether it is a question that the network answers wrongly; of a word that is too long that is not known."""
        if not 0 < len(word) <= min(self.examinee.longest, LONGEST_KEPT):
            return False
        words = np.array([word])
        return bool(self.examinee.questions(words)[0] and self.examinee.wrong(words)[0])


def read_family(data: LanguageData, record: Mapping[str, Any]) -> WordFamily | None:
    """A family as a file has it; None where what stands there is none."""
    try:
        u, v, w = (tuple(data.encode(record[name]).tolist()) if record[name] else () for name in "uvw")
        start, period, residues = record["from"], record["period"], tuple(record["residues"])
        end = start + FAR * period if record.get("to") is None else record["to"]
        numbers = [start, end, period, *residues]
    except (KeyError, TypeError, ValueError, UserError):
        return None
    is_whole = all(type(number) is int for number in numbers)
    if not (is_whole and v and residues and 0 <= start <= min(end, LONGEST) and 1 <= period <= FAR):
        return None
    return WordFamily(u, v, w, Persistent(0, start, end, period, residues))
