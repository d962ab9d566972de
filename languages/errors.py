"""What a user can get wrong, said in a line: what is wrong, then what would be right."""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import MappingProxyType

VAST = "regular, but has too many states for an automaton"
"""What a language of the level "vast" is, where an automaton is needed."""
MAX_COMPARED, LONGEST_COMPARED = 1000, 100  # names, characters: likeness takes time
SHORT = 4  # characters


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


def nearest(name: str, known: Iterable[str], synonyms: Mapping[str, str] = MappingProxyType({})) -> str:
    """The known name that `name` is meant to be, as the end of a message; empty if none is like it.

    `synonyms` has other names that people say, as `plain` writes them, and what to write for each. A table that has
    them is one of methods or languages, where a short name is like another only if it begins alike and is as long, or
    has the same letters: `rope` is not a misspelt `cope`.

    >>> "unknown language 'partiy';" + nearest("partiy", ["parity", "dyck-2"])
    "unknown language 'partiy'; did you mean 'parity'?"
    >>> nearest("xyz", ["parity"]), nearest("parity", ["parity"]), nearest("rope", ["cope"], {"nope": "none"})
    ('', '', '')
    >>> nearest("RoPE", ["cope", "rotary"], {"rope": "rotary"}), nearest("ALiBi", ["alibi"])
    (' write rotary', " did you mean 'alibi'?")
    """
    if len(name) > LONGEST_COMPARED:
        return ""
    if meant := synonyms.get(plain(name)):
        return f" write {meant}"
    others = [other for other in islice(known, MAX_COMPARED) if other != name]
    same = [other for other in others if plain(other) == plain(name)]
    close = same or [o for o in get_close_matches(name, others, n=1) if not synonyms or _is_misspelt(name, o)]
    return f" did you mean {close[0]!r}?" if close else ""


def plain(name: str) -> str:
    """The name in small letters, without hyphens, underscores and blanks.

    >>> plain("Even_Pairs"), plain("D_2")
    ('evenpairs', 'd2')
    """
    return re.sub("[-_ ]", "", name.casefold())


def _is_misspelt(name: str, other: str) -> bool:
    """Whether likeness says anything: among short names many are alike.

    >>> [_is_misspelt(*pair) for pair in (("lstn", "lstm"), ("rgu", "gru"), ("rope", "cope"), ("ssm", "slstm"))]
    [True, True, False, False]
    """
    if min(len(name), len(other)) > SHORT or set(name) == set(other):
        return True
    return len(name) == len(other) and name[0] == other[0]


def whole(text: str) -> int:
    """The whole number of these digits; ValueError for another text, which says how a number in it is written.

    >>> whole("1000"), whole("-1")
    (1000, -1)
    >>> whole("1e3")
    Traceback (most recent call last):
    ValueError: '1e3' is not a whole number in digits; write 1000
    """
    if re.fullmatch("[+-]?[0-9]+", text):
        return int(text)
    # Thousands: `1,000` is one number, `1,2` may be two.
    grouped = re.fullmatch("[+-]?[0-9]{1,3}([_, ][0-9]{3})+", text)
    digits = re.sub("[_, ]", "", text) if grouped else text
    if spelled := re.fullmatch(r"([+-]?[0-9]+)[eE]\+?([0-9]{1,2})", digits):
        digits = spelled[1] + "0" * int(spelled[2])
    remedy = f"write {digits}" if re.fullmatch("[+-]?[0-9]{1,40}", digits) else "give a whole number"
    raise ValueError(f"{text!r:.80} is not a whole number in digits; {remedy}")


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
