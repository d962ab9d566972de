"""The user's folder for what can be made again: assembled texts, and certificates that were accepted here."""

import os
from pathlib import Path

from languages.errors import CorpusError

VARIABLE = "LANGUAGES_CACHE"


def cache_folder() -> Path:
    """Where it lies: LANGUAGES_CACHE, or regulargpt-testbed in the user's cache folder."""
    if own := os.environ.get(VARIABLE):
        return Path(own).absolute()
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        raise CorpusError(f"there is no home folder for assembled texts; {remedy()}") from None
    return Path(base).absolute() / "regulargpt-testbed"


def remedy() -> str:
    """What helps where nothing can be written there."""
    return f"set {VARIABLE} to a folder with space that you can write to"
