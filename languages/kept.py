"""Names of languages and texts in files, as in `dfa:mine.json`, whose file is read elsewhere: a run keeps a copy."""

from pathlib import Path


class Kept(str):
    """A name as the user wrote it, which knows where a copy of its file lies: that is read instead.

    As a text it is the name alone, so that configs, tables and titles say the same wherever the copy is.

    >>> name = Kept("dfa:mine.json", Path("runs/a/language.json"))
    >>> name == "dfa:mine.json", place_of(name, "mine.json")
    (True, PosixPath('runs/a/language.json'))
    """

    file: Path

    def __new__(cls, name: str, file: Path) -> "Kept":
        made = super().__new__(cls, name)
        made.file = file
        return made

    def __reduce__(self) -> "tuple[type[Kept], tuple[str, Path]]":  # for copies, which need the file too
        return Kept, (str(self), self.file)

    def removeprefix(self, prefix: str, /) -> "Kept":
        """What stands behind a prefix, with the same file."""
        return Kept(super().removeprefix(prefix), self.file)


def rewritten(name: str, written: str) -> str:
    """A name that is written otherwise, as with another depth, and names the same file.

    >>> place_of(rewritten(Kept("pushdown:mine.json", Path("a.json")), "pushdown:mine.json;depth=9"), "mine.json")
    PosixPath('a.json')
    """
    return Kept(written, name.file) if isinstance(name, Kept) else written


def place_of(name: str, written: str | Path) -> Path:
    """Where to read the file that a name writes so.

    >>> place_of("mine.json;depth=9", "mine.json")
    PosixPath('mine.json')
    """
    return name.file if isinstance(name, Kept) else Path(written)
