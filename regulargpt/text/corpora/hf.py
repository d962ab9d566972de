"""`hf:NAME`: a data set of the Hugging Face hub, or one saved on disk, by its package `datasets`. The extra `hf`.

NAME is a folder that `save_to_disk` wrote, or user/name, or user/name/config of the hub; #column chooses what is read.
Each row is a document, and ends with a newline. The test part is the split `test`, or else `validation`. A data set
with neither is split by row: those whose SHA-256 is 0 modulo 10 are tested on, so equal rows are in the same part.
"""

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from languages.errors import CorpusError, UserError, nearest, one_of
from regulargpt.text.corpora.assemble import Document
from regulargpt.text.corpora.extra import needed
from regulargpt.text.corpora.split import PARTS, is_test

SAVED = ("state.json", "dataset_dict.json")  # what `save_to_disk` writes
HELD_OUT = ("test", "validation")
ROWS = 256  # read at a time


@dataclass(frozen=True, eq=False)
class DatasetRows:
    place: str
    splits: dict[str, Any]  # "train", and "test" if the data set has one: datasets.Dataset
    column: str

    @property
    def files(self) -> int:
        return sum(len(rows) for rows in self.splits.values())

    @property
    def state(self) -> str:
        """The fingerprints of the splits, and the sizes and times of change of their files."""
        parts: list[Any] = [self.column]
        for part, rows in self.splits.items():
            states = [os.stat(file["filename"]) for file in rows.cache_files]
            parts += [part, rows._fingerprint, [(state.st_size, state.st_mtime_ns) for state in states]]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def documents(self, part: str) -> Iterator[Document]:
        has_test = "test" in self.splits
        for index, text in enumerate(self.texts(self.splits[part if has_test else "train"])):
            if has_test or self.tested[index] == (part == "test"):
                yield Document(str(index), [text])

    @cached_property
    def tested(self) -> NDArray[np.bool_]:
        """(rows,) which rows of a single split are tested on; the last tenth if their hashes leave a part empty."""
        tested = np.array([is_test(text) for text in self.texts(self.splits["train"])], dtype=np.bool_)
        count = len(tested)
        if count < 2:
            raise CorpusError(f"{self.place}: a data set without a test split needs 2 rows; this one has {count}")
        return np.arange(count) >= count - max(1, count // PARTS) if tested.all() or not tested.any() else tested

    def texts(self, rows: Any) -> Iterator[bytes]:
        """Each row in UTF-8, with a newline at its end; nothing for a row without a value."""
        with reported(self.place):
            for batch in rows.select_columns([self.column]).with_format(None).iter(batch_size=ROWS):
                for text in batch[self.column]:
                    yield b"" if text is None else f"{text.removesuffix(chr(10))}\n".encode()


def rows(name: str) -> DatasetRows:
    """The rows of `hf:NAME`. CorpusError: the extra is missing, no such data set, or no such column."""
    address, _, column = name.partition("#")
    datasets = needed("datasets", f"hf:{name:.200}")
    is_saved = any((Path(address) / file).is_file() for file in SAVED)
    place = f"hf:{Path(address).absolute() if is_saved else address}"
    with reported(place):
        read = datasets.load_from_disk(address) if is_saved else datasets.load_dataset(*_named(address))
    splits = _splits(place, cast("dict[str, Any]", read) if isinstance(read, dict) else {"train": read})
    columns = [_column(place, rows, column) for rows in splits.values()]
    if len(set(columns)) > 1:
        raise CorpusError(f"{place}: the splits have other columns: {one_of(columns)}; choose one, as in {place}#text")
    return DatasetRows(f"{place}#{columns[0]}", splits, columns[0])


def _named(address: str) -> tuple[str, ...]:
    """The name of a data set on the hub, and its configuration if that is the third part."""
    parts = address.split("/")
    return ("/".join(parts[:2]), parts[2]) if len(parts) == 3 and not Path(address).exists() else (address,)


def _splits(place: str, splits: dict[str, Any]) -> dict[str, Any]:
    train = splits.get("train", next(iter(splits.values())) if len(splits) == 1 else None)
    if train is None:
        raise CorpusError(f"{place} has no split 'train'; it has {one_of(splits)}")
    test = next((splits[name] for name in HELD_OUT if name in splits and splits[name] is not train), None)
    return {"train": train} if test is None else {"train": train, "test": test}


def _column(place: str, rows: Any, chosen: str) -> str:
    """The column that was chosen, or `text`, or the only column of texts."""
    columns = [name for name, kind in rows.features.items() if getattr(kind, "dtype", "") in ("string", "large_string")]
    if chosen in columns:
        return chosen
    if not columns:
        raise CorpusError(f"{place} has no column of texts; it has {one_of(rows.features)}")
    if chosen:
        hint = nearest(chosen, columns) or f" it has {one_of(columns)}"
        raise CorpusError(f"{place} has no column of texts {chosen!r:.80};{hint}")
    if "text" in columns or len(columns) == 1:
        return "text" if "text" in columns else columns[0]
    raise CorpusError(f"{place} has the columns {one_of(columns)}; choose one, as in {place}#{columns[0]}")


@contextmanager
def reported(place: str) -> Generator[None]:
    """What `datasets` raises, which is of many kinds, as a CorpusError of one line."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())
        raise CorpusError(f"{place}: cannot be read ({type(error).__name__}: {reason:.200})") from error
