"""What a test or an earlier search had wrong: asked again before all else, whatever the budget, so that it stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regulargpt.falsification.asked import Word
from regulargpt.falsification.family import WordFamily, tried_again
from regulargpt.falsification.hunt import LONGEST_KEPT, Hunt
from regulargpt.falsification.sentences import power, shown

KIND = "known"
MOST_WRONG = 4
"""Lengths of which a wrong word of a test is tried again."""


@dataclass(frozen=True)
class Known:
    """Words that were wrong, and families of them."""

    words: Sequence[Word] = ()
    families: Sequence[WordFamily] = ()

    @classmethod
    def of_test(cls, wrong: Sequence[Word]) -> Known:
        """Of a test's wrong words, by length: the shortest, and those of further lengths unless they take long.

        >>> Known.of_test([(0, 1), (0, 1, 1), (0,) * 100_000]).words
        [(0, 1), (0, 1, 1)]
        """
        return cls([*wrong[:1], *(word for word in wrong[1:] if len(word) <= LONGEST_KEPT)][:MOST_WRONG])


def replay(hunt: Hunt, known: Known) -> None:
    """Keep what is wrong now, too, and note what no longer is."""
    for word in known.words:
        if is_wrong(hunt, word) is False:
            hunt.no_longer.append(shown(hunt.examinee.written(word)))
    kept = []
    for family in known.families:
        tried = tried_again(family)
        if len(family.word(tried[0])) > LONGEST_KEPT:
            tried = tried[:1]  # each takes minutes
        answers = [is_wrong(hunt, hunt.examinee.data.task.whole(family.word(n))) for n in tried]
        if False in answers:
            hunt.no_longer.append(power(*(hunt.examinee.decoded(part) for part in (family.u, family.v, family.w))))
        elif all(answers):  # up to where it was tried now: what the file says of longer words is not believed
            kept.append(replace(family, of=replace(family.of, start=tried[0], end=tried[-1])))
    hunt.add(kept)


def is_wrong(hunt: Hunt, word: Word) -> bool | None:
    """Whether the network answers it wrongly; None for what is too long for it, or no question."""
    if not 0 < len(word) <= hunt.examinee.longest or not hunt.examinee.questions(np.array([word]))[0]:
        return None
    hunt.tried[KIND] += 1
    hunt.on_progress(KIND, hunt.spent, hunt.words)
    return bool(hunt.replay(np.array([word]))[0])
