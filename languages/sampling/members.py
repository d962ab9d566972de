"""What a task wants of a sampler of members; languages/sampling/published.py has some."""

from typing import Protocol

import numpy as np

from languages.automata.words import Indices


class Members(Protocol):
    """Draws members of a language, with any distribution."""

    # Whether there is a member of this length.
    def has(self, length: int) -> bool: ...

    # Members (count, length), a pure function of the generator's state and the arguments.
    def sample(self, random: np.random.Generator, length: int, count: int) -> Indices: ...
