"""The packages of the extra `hf`, imported where they are needed."""

from importlib import import_module
from typing import Any

from languages.errors import CorpusError


def needed(package: str, what: str) -> Any:
    """The package, imported. CorpusError with the command that installs it, if it is not there.

    >>> needed("no_such_package", "a tokenizer")
    Traceback (most recent call last):
    languages.errors.CorpusError: a tokenizer needs no_such_package; pip install 'regulargpt-testbed[hf]'
    """
    try:
        return import_module(package)
    except ImportError:
        raise CorpusError(f"{what} needs {package}; pip install 'regulargpt-testbed[hf]'") from None
