"""All words of a user's file, the shortest first: no other word has an answer to be held against."""

from __future__ import annotations

import numpy as np

from regulargpt.data.given import GivenData
from regulargpt.falsification.hunt import Hunt

KIND = "of the file"


def given_words(hunt: Hunt) -> None:
    """Try the words of each length, up to a length at which some are wrong; `hunt.whole` is the length up to which."""
    data = hunt.examinee.data
    assert isinstance(data, GivenData), "other languages have more words than a file"
    for length, words in data.given.of_length.items():
        if length > hunt.examinee.longest:
            return
        wrong = hunt.try_all(KIND, words.astype(np.int64))
        hunt.whole = length
        if wrong.any():
            return
