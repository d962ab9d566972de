"""The languages of the atlas: their names, their automata and their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

from experiments.atlas.drawn import different
from experiments.atlas.two_states import two_state_dfas
from languages.automata import Dfa
from languages.convert.json_text import to_json
from regulargpt.storage.atomic import make_folder, write_text

DRAWN = 300
FOLDER = "languages"


@dataclass(frozen=True)
class Entry:
    """A language: its name is that of its file; `dfa` is minimal."""

    name: str
    dfa: Dfa

    def path(self, out: Path) -> Path:
        """Where its automaton lies."""
        return out / FOLDER / f"{self.name}.json"


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """The 24 automata of two states, then `DRAWN` different ones of three to six, by their numbers."""
    small = [Entry(f"two-states-{at:02}", dfa) for at, dfa in enumerate(two_state_dfas())]
    return (*small, *(Entry(f"drawn-{number:03}", dfa) for number, dfa in islice(different(), DRAWN)))


def write_files(dfas: Sequence[Entry], out: Path) -> None:
    """The automata as JSON, which the language `dfa:FILE` reads."""
    make_folder(out / FOLDER)
    for entry in dfas:
        if not entry.path(out).exists():
            write_text(entry.path(out), to_json(entry.dfa))
