"""Where the built-in texts and those of the user's folders come from."""

import importlib.util
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from languages.errors import CorpusError
from regulargpt.text.corpora.assemble import Document
from regulargpt.text.corpora.files import File, blocks, walk
from regulargpt.text.corpora.split import tested

GENERATED = {"__config__.py", "version.py", "_version.py"}  # a build writes them: they are not the same everywhere


@dataclass(frozen=True)
class Folder:
    """Files that are split by their names; there are at least two."""

    place: str
    files_there: Sequence[File]

    @property
    def files(self) -> int:
        return len(self.files_there)

    @property
    def state(self) -> str:
        """SHA-256 of the names, sizes and times of change."""
        files = [[file.name, file.size, file.modified] for file in self.files_there]
        return sha256(json.dumps(files).encode()).hexdigest()

    def documents(self, part: str) -> Iterator[Document]:
        test = tested([file.name for file in self.files_there], [file.size for file in self.files_there])
        for file, is_test in zip(self.files_there, test, strict=True):
            if is_test == (part == "test"):
                yield Document(file.name, file.blocks())


def packages(names: Sequence[str]) -> list[File]:
    """The Python sources of installed packages, named package/..., without tests and generated files."""
    sources: list[File] = []
    for name in names:
        spec = importlib.util.find_spec(name)  # finds a package and does not import it
        home = Path(spec.origin).parent if spec is not None and spec.origin else None
        if home is None or not home.is_dir():
            raise CorpusError(f"the sources of {name} are not installed as files; pip install --force-reinstall {name}")
        sources += [File(f"{name}/{file.name}", file.path, file.size, file.modified) for file in walk(home, _is_source)]
    return sorted(sources)


def _is_source(entry: "os.DirEntry[str]") -> bool:
    if entry.is_dir(follow_symlinks=False):
        return entry.name != "tests"
    return entry.name.endswith(".py") and entry.name not in GENERATED


@dataclass(frozen=True)
class LoneFile:
    """A file alone: its last tenth is the test part."""

    file: File

    files = 1

    @property
    def place(self) -> str:
        return str(self.file.path)

    @property
    def state(self) -> str:
        return f"{self.file.size} {self.file.modified}"

    @property
    def n_test(self) -> int:
        return max(1, self.file.size // 10)

    def documents(self, part: str) -> Iterator[Document]:
        cut = self.file.size - self.n_test
        yield Document("", blocks(self.file.path, *((0, cut) if part == "train" else (cut, self.file.size))))
