"""What a user can get wrong, said in one line: what is wrong, then what would be right."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

VAST = "regular, but has too many states for an automaton"
"""What a language of the level "vast" is, where an automaton is needed."""
MAX_COMPARED, LONGEST_COMPARED = 1000, 100  # names, characters: likeness takes time


class UserError(ValueError):
    """A mistake in what the user gave. The command line prints the message and exits with status 2."""


class AutomatonError(UserError):
    """A machine that is not one: an unknown state, a missing transition, a repeated symbol."""


class WordError(UserError):
    """A word with a symbol that the alphabet does not have, or an array that is not a batch of words."""


class LanguageError(UserError):
    """A language or task that is not in the registry, or a parameter it does not have."""


class SamplingError(UserError):
    """A sample that cannot be drawn."""


class LengthEmpty(SamplingError):
    """A sample from a length at which the language has no word."""


class CorpusError(UserError):
    """A text that cannot be opened, is too short, or changed while it was in use."""


class Notice(UserWarning):
    """What the user should know though nothing fails. The command line prints it as one line on stderr."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like `name`, as the end of a message; empty if none is like it.

    >>> "unknown language 'partiy';" + nearest("partiy", ["parity", "dyck-2"])
    "unknown language 'partiy'; did you mean 'parity'?"
    >>> nearest("xyz", ["parity"]), nearest("parity", ["parity"])
    ('', '')
    """
    others = [other for other in islice(known, MAX_COMPARED) if other != name]
    close = get_close_matches(name, others, n=1) if len(name) <= LONGEST_COMPARED else []
    return f" did you mean {close[0]!r}?" if close else ""


def one_of(known: Iterable[str], limit: int = 12) -> str:
    """The known names as a readable list, cut after `limit`.

    >>> one_of(["a", "b"])
    "'a', 'b'"
    """
    names = list(known)
    rest = len(names) - limit
    return ", ".join(f"{name!r:.80}" for name in names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def shown(path: Path) -> str:
    """The path as one printable line, whatever its name contains.

    >>> shown(Path("runs/a")), shown(Path("two\\nlines"))
    ('runs/a', "'two\\\\nlines'")
    """
    return str(path) if str(path).isprintable() else repr(str(path))
