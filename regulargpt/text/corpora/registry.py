"""The texts by name: `corpus("text:code")`."""

import os
import stat
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from languages.cache_folder import cache_folder
from languages.errors import CorpusError, nearest, one_of, shown
from languages.kept import Kept, place_of
from languages.specification import Parameter, read_parameters
from regulargpt.text.corpora.assemble import assembled
from regulargpt.text.corpora.corpus import Corpus
from regulargpt.text.corpora.files import File, check_regular, refused, walk
from regulargpt.text.corpora.sources import Folder, LoneFile, packages
from regulargpt.text.corpora.stored import Layout, Stored, mapped

if TYPE_CHECKING:
    from regulargpt.text.corpora.tokens import Tokens

CODE = {"text:code": ("networkx",), "text:code-large": ("networkx", "numpy", "sklearn")}
# The packages of constraints.txt, and the digests of their texts.
PINNED = {
    "text:code": ("networkx 3.6.1", "8bd313eac069094a581ab17b9e49cbc857c8d787058eeb702df6d7ba1fdc04cf"),
    "text:code-large": (
        "networkx 3.6.1, numpy 2.4.6, scikit-learn 1.9.1",
        "93271f4c5ebae4abbd9d2c45cef4ab48a17cb550e59dd7df28155705b7a6227a",
    ),
}
RECURRENT = "text:recurrent"
PARAMETERS = (
    Parameter("size", 2**22, "a whole number of bytes, 65536 to 1073741824"),
    Parameter("seed", 0, "a whole number from 0"),
)
LISTING = {
    "text:code": "the Python sources of networkx, 4 MB",
    "text:code-large": "the Python sources of networkx, numpy and scikit-learn, 16 MB",
    "text:recurrent": "made text in which names come back 10 to 2000 bytes later (text:recurrent:size=4194304,seed=0)",
    "text:PATH": "a file or folder, such as text:./notes",
    "hf:NAME": "a data set of the Hugging Face hub or on disk, such as hf:user/name/config#column (the extra hf)",
}


def listing() -> tuple[tuple[str, str], ...]:
    """The names, open ones included, and a line on each. Nothing is opened.

    >>> listing()[0]
    ('text:code', 'the Python sources of networkx, 4 MB')
    """
    return tuple(LISTING.items())


def corpus(name: str = "text:code", tokenizer: str | Path = "") -> Corpus:
    """The text of a name, in bytes, or in the tokens of a tokenizer.json of the user's.

    A file of bytes is mapped where it lies. What is assembled of several files, and what is tokenized, is written to a
    cache folder (LANGUAGES_CACHE, else in the user's cache folder) and found there by the sizes and times of change of
    its files; its bytes are verified. A built-in name goes before a path; a path can be written ./code.

    CorpusError: no such text, nothing in it, or something that cannot be read.
    """
    if not name.isprintable():
        raise CorpusError(f"{name!r:.200} contains a character that cannot be printed; rename the file")
    kind, _, rest = name.partition(":")
    tokens = _tokens(tokenizer)
    if name in CODE:
        return _code(name, tokens)
    if name == RECURRENT or name.startswith(f"{RECURRENT}:"):
        return _recurrent(name, name.removeprefix(RECURRENT).removeprefix(":"), tokens)
    if kind == "hf" and rest:
        return _rows(name, rest, tokens)
    if (path := written_path(name)) is not None:
        return _path(name, place_of(name, path), tokens)
    hint = nearest(name, LISTING) or nearest(f"text:{name}", LISTING) or f" known are {one_of(LISTING)}"
    raise CorpusError(f"unknown text {name!r:.80};{hint}")


def written_path(name: str) -> Path | None:
    """The path in `text:PATH`; None of another text.

    >>> written_path("text:./code"), written_path("text:code")
    (PosixPath('code'), None)
    """
    kind, _, rest = name.partition(":")
    is_made = name in CODE or name == RECURRENT or name.startswith(f"{RECURRENT}:")
    return Path(rest) if kind == "text" and rest and not is_made else None


def _tokens(tokenizer: str | Path) -> "Tokens | None":
    if not str(tokenizer):
        return None
    from regulargpt.text.corpora.tokens import read_tokens

    return read_tokens(tokenizer.file if isinstance(tokenizer, Kept) else tokenizer)


def _code(name: str, tokens: "Tokens | None") -> Corpus:
    """The sources of installed packages. What is installed may differ from a machine to the next, so it is said."""
    stored = assembled(Folder(name, packages(CODE[name])), tokens)
    versions = ", ".join(map(_version, CODE[name]))
    summary = f"the Python sources of {versions}; {_counts(stored)}"
    if tokens is None and stored.digest != PINNED[name][1]:
        summary += f"; not the bytes of {PINNED[name][0]}, so figures may differ from published ones"
    return Corpus(name, summary, versions, stored, tokens)


def _recurrent(name: str, parameters: str, tokens: "Tokens | None") -> Corpus:
    """The made text; where its names come back is known as long as its symbols are its bytes."""
    from regulargpt.text.corpora.recurrent import RecurrentDocuments, recurrences

    source = RecurrentDocuments(**read_parameters(PARAMETERS, RECURRENT, parameters))
    stored = assembled(source, tokens)
    find = recurrences if tokens is None else None
    return Corpus(name, f"made text in which names come back; {_counts(stored)}", source.place, stored, tokens, find)


def _rows(name: str, rest: str, tokens: "Tokens | None") -> Corpus:
    from regulargpt.text.corpora.hf import rows

    source = rows(rest)
    stored = assembled(source, tokens)
    return Corpus(name, f"{source.place}; {_counts(stored, 'rows')}", source.place, stored, tokens)


def _version(package: str) -> str:
    distribution = "scikit-learn" if package == "sklearn" else package
    try:
        return f"{distribution} {version(distribution)}"
    except PackageNotFoundError:
        return f"{distribution} of unknown version"


def _path(name: str, path: Path, tokens: "Tokens | None") -> Corpus:
    path = _resolved(path)
    with refused(path):
        state = os.stat(path)
    if not stat.S_ISDIR(state.st_mode):
        stored = _lone(File("", path, state.st_size, state.st_mtime_ns), tokens)
    elif not (files := walk(path, lambda entry: Path(entry.path) != cache_folder())):
        raise CorpusError(f"{shown(path)}: no text in this folder; hidden files, links and empty files do not count")
    else:
        stored = assembled(Folder(str(path), files), tokens) if len(files) > 1 else _lone(files[0], tokens)
    return Corpus(name, f"{shown(path)}; {_counts(stored)}", str(path), stored, tokens)


def _resolved(path: Path) -> Path:
    """The path without links. CorpusError if nothing is there."""
    with refused(path):
        try:
            return Path(os.path.realpath(os.path.expanduser(path), strict=True))
        except FileNotFoundError:
            hint = (
                nearest(str(path), ("code", "code-large", "recurrent")).replace("'", "'text:", 1) or " check the path"
            )
            raise CorpusError(f"text:{path} is no built-in text, file or folder;{hint}") from None


def _lone(file: File, tokens: "Tokens | None") -> Stored:
    """A file alone: mapped where it lies if its bytes are the symbols."""
    with refused(file.path):
        check_regular(os.stat(file.path))
    if file.size < 2:
        size = "is empty" if not file.size else "has 1 byte"
        raise CorpusError(f"{shown(file.path)} {size}; a text has a training and a test part: give a longer one")
    lone = LoneFile(file)
    if tokens is not None:
        return assembled(lone, tokens)
    layout = Layout("|u1", 256, file.size - lone.n_test, lone.n_test, 1, "")
    return mapped(file.path, layout, is_snapshot=False)


def _counts(stored: Stored, files: str = "files") -> str:
    layout = stored.layout
    files = f"{layout.files:,} {files if layout.files != 1 else files.removesuffix('s')}"
    return f"{files}, {layout.n_train:,} symbols to train on, {layout.n_test:,} to test on"
