"""A text: its parts, its digest, its segments, and what is refused in one line."""

import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.budget import TooLarge
from languages.errors import CorpusError
from regulargpt.text.corpora import Corpus, assemble, corpus, files, split
from regulargpt.text.corpora.registry import PINNED
from tests.languages.refusing import is_like, refusal

pytestmark = pytest.mark.usefixtures("cache")


def contents(part: np.ndarray, folder: Path) -> set[str]:
    """The files of a folder that a part holds, none of them cut."""
    text, files = part.tobytes(), [path for path in folder.rglob("*") if path.is_file()]
    found = [path for path in files if path.read_bytes() in text]
    assert sum(path.stat().st_size for path in found) == len(text)
    return {path.relative_to(folder).as_posix() for path in found}


# Parts


def test_every_file_of_a_folder_is_in_one_part(notes: Path):
    text = corpus(f"text:{notes}")
    train, test = contents(text.train, notes), contents(text.test, notes)
    every = {path.relative_to(notes).as_posix() for path in notes.rglob("*.txt")}
    assert not train & test
    assert train | test == every
    # By hand: SHA-256 of the name, its first 8 bytes as a number, modulo 10. Files stand in the order of their names.
    assert test == {name for name in every if int(sha256(name.encode()).hexdigest()[:16], 16) % 10 == 0}
    assert text.train.tobytes() == b"".join((notes / name).read_bytes() for name in sorted(train))
    assert (text.files, text.vocabulary_size, text.bytes_per_symbol) == (30, 256, 1.0)


def test_each_position_of_the_test_part_lies_in_its_file(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = corpus(f"text:{notes}")
    tested = sorted(contents(text.test, notes))
    expected = np.repeat(np.arange(len(tested)), [(notes / name).stat().st_size for name in tested])
    # Once as it was assembled, once as it lies in the cache.
    for found in (text, corpus(f"text:{notes}")):
        assert found.test_documents(np.arange(len(text.test))).tolist() == expected.tolist()
    (tmp_path / "alone").write_bytes(b"x" * 100)
    assert set(corpus(f"text:{tmp_path / 'alone'}").test_documents(range(10)).tolist()) == {0}
    # Of too many documents each position counts by itself.
    monkeypatch.setattr(assemble, "MOST_NOTED", 2)
    os.utime(notes / "0.txt", ns=(0, 0))
    assert corpus(f"text:{notes}").test_documents([5, 5, 9]).tolist() == [0, 1, 2]


@given(st.dictionaries(st.text(max_size=5), st.integers(1, 10**12), min_size=2, max_size=50))
def test_no_part_is_empty_and_no_other_file_is_nearer_to_a_tenth(sizes: dict[str, int]):
    names = sorted(sizes)
    chosen = split.tested(names, [sizes[name] for name in names])
    assert any(chosen)
    assert not all(chosen)
    total = sum(sizes.values())
    share = sum(sizes[name] for name, test in zip(names, chosen, strict=True) if test) / total
    if not 0.05 <= share <= 0.2:
        assert all(abs(share - 0.1) <= abs(size / total - 0.1) + 1e-12 for size in sizes.values())


def test_the_last_tenth_of_a_file_alone_is_its_test_part(tmp_path: Path):
    data = bytes(range(256)) * 4
    (tmp_path / "x.bin").write_bytes(data)
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "x.bin").write_bytes(data)
    text, alone = corpus(f"text:{tmp_path / 'x.bin'}"), corpus(f"text:{tmp_path / 'only'}")
    assert (len(text.train), len(text.test)) == (922, 102)
    assert text.train.tobytes() + text.test.tobytes() == data
    assert alone.digest == text.digest
    assert not (tmp_path / "cache").exists()  # mapped where it lies


def test_hidden_files_links_pipes_and_sockets_do_not_count(notes: Path, tmp_path: Path):
    before = corpus(f"text:{notes}").digest
    (notes / ".git").mkdir()
    (notes / ".git" / "x").write_text("hidden")
    (notes / "empty").touch()
    (notes / "loop").symlink_to(notes)
    (notes / "linked").symlink_to(notes / "0.txt")
    (notes / "broken").symlink_to(notes / "nothing")
    os.mkfifo(notes / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(notes / "socket"))
        assert corpus(f"text:{notes}").digest == before


def test_names_bytes_and_depths_of_any_kind(tmp_path: Path):
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in (b"\xff\xfe", b"two\nlines", "наш".encode(), b"x" * 255):
        (folder / os.fsdecode(name)).write_bytes(bytes(range(256)))
    assert sorted(set(corpus(f"text:{folder}").train.tolist())) == list(range(256))
    folders = [tmp_path / "deep"]
    folders += itertools.accumulate(["d"] * 1050, Path.joinpath, initial=folders[0] / "d")
    for folder in folders:
        os.mkdir(folder)
    assert "no text in this folder" in refusal(corpus, f"text:{folders[0]}", error=CorpusError)
    for folder in reversed(folders):  # deeper than `tmp_path` can remove
        os.rmdir(folder)


# Digest


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda folder: (folder / "0.txt").write_bytes(b"<1>" * 5),
    "a byte of the test part": lambda folder: (folder / "27.txt").write_bytes(b"<71>" * 32),
    "a name": lambda folder: (folder / "0.txt").rename(folder / "00.txt"),
    "a place": lambda folder: (folder / "0.txt").rename(folder / "deep" / "0.txt"),
    "a file less": lambda folder: (folder / "0.txt").unlink(),
    "a file more": lambda folder: (folder / "new").write_bytes(b"x"),
    "a byte moved to the next file": lambda folder: (
        (folder / "0.txt").write_bytes(b"<0>" * 5 + b"<"),
        (folder / "deep" / "er" / "1.txt").write_bytes(b"<1>" * 6),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with_anything_but_the_place(change: str, notes: Path, tmp_path: Path):
    before = corpus(f"text:{notes}").digest
    notes = notes.rename(tmp_path / "other")
    assert corpus(f"text:{notes}").digest == before
    CHANGES[change](notes)
    after = corpus(f"text:{notes}").digest
    assert len(after) == 64
    assert after != before


def test_the_digest_of_a_file_alone_changes_with_a_byte_and_not_with_its_name(tmp_path: Path):
    digests = []
    for name, text in (("x", b"abcdefghijkl"), ("x", b"abcdefghijkm"), ("x", b"abcdefghijk"), ("y", b"abcdefghijk")):
        (tmp_path / name).write_bytes(text)
        digests.append(corpus(f"text:{tmp_path / name}").digest)
    assert len(set(digests)) == 3
    assert digests[2] == digests[3]


def test_the_same_bytes_in_a_fresh_process(notes: Path):
    code = "from regulargpt.text.corpora import corpus; import sys; text = corpus(sys.argv[1]); "
    code += "print(text.digest, hash(text.train.tobytes() + text.test.tobytes()))"
    outputs = set()
    for cache in ("one", "one", "two"):
        environment = {**os.environ, "PYTHONHASHSEED": "1", "LANGUAGES_CACHE": str(notes.parent / cache)}
        command = [sys.executable, "-c", code, f"text:{notes}"]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(outputs) == 1


# The built-in texts


@pytest.mark.parametrize("name", PINNED)
def test_the_sources_that_constraints_pin(name: str, monkeypatch: pytest.MonkeyPatch):
    source, digest = PINNED[name]
    installed = (Path(__file__).parents[2] / "constraints.txt").read_text().replace("==", " ").splitlines()
    assert set(source.split(", ")) <= set(installed)
    text = corpus(name)
    assert text.digest == digest or text.source != source
    assert (f"not the bytes of {source}" in text.summary) == (text.source != source)
    monkeypatch.setitem(PINNED, name, ("networkx 0.0", "0" * 64))
    said = "not the bytes of networkx 0.0, so figures may differ from published ones"
    assert corpus(name).summary.endswith(said)


def test_text_code_is_networkx_without_its_tests():
    home = Path(networkx.__file__).parent
    paths = [path for path in home.rglob("*.py") if "tests" not in path.relative_to(home).parts and path.stat().st_size]
    text = corpus()
    assert text.name == "text:code"
    assert text.files == len(paths)
    assert len(text.train) + len(text.test) == sum(path.stat().st_size for path in paths)
    assert b"import pytest\n\nimport networkx as nx\n\n\nclass Test" not in text.train.tobytes()
    assert 0.05 < len(text.test) / len(text.train) < 0.2


def test_a_built_in_name_goes_before_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("code").write_text("a file of the user's")
    assert corpus("text:code").files > 1
    assert corpus("text:./code").decode(corpus("text:./code").train) == "a file of the user"


# Segments


@pytest.fixture
def letters(tmp_path: Path) -> Corpus:
    (tmp_path / "letters").write_text("abcdefghijklmnopqrst")  # 18 to train on, 2 to test on
    return corpus(f"text:{tmp_path / 'letters'}")


def test_segments_are_what_they_say_and_a_text_cannot_be_changed(letters: Corpus):
    found = letters.segments("train", 3, [0, 15, 4, 4])
    assert [letters.decode(row) for row in found] == ["abc", "pqr", "efg", "efg"]
    assert letters.segments("test", 2, np.array([0])).tobytes() == b"st"
    assert letters.segments("train", 3, []).shape == (0, 3)
    found[:] = 0  # a copy
    assert letters.decode(letters.train[:3]) == "abc"
    with pytest.raises(ValueError, match="read-only"):
        letters.train[0] = 0
    with pytest.raises(AttributeError):
        letters.name = "other"  # type: ignore[misc]


PLACES = "a segment of 3 symbols of the train part starts at 0 to 15"
SHORT = "are needed; give a longer text or shorter segments"
NOT_THERE = [
    ("train", 19, [0], f"the training part has 18 symbols, 19 {SHORT}"),
    ("test", 3, [0], f"the test part has 2 symbols, 3 {SHORT}"),
    ("test", 0, [0], "the test part has 2 symbols, 0 are needed; a segment has at least 1"),
    *(("train", 3, starts, PLACES) for starts in ([16], [-1], 5)),
]


@pytest.mark.parametrize(("part", "length", "starts", "message"), NOT_THERE)
def test_segments_that_are_not_there(letters: Corpus, part: str, length: int, starts: list[int], message: str):
    assert refusal(letters.segments, part, length, starts, error=CorpusError).endswith(message)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_decoding_undoes_encoding(text: str):
    found = corpus(f"text:{__file__}")
    assert found.decode(found.encode(text)) == text
    assert found.encode(text.encode()).tobytes() == text.encode()


# Files that change


def test_bytes_that_change_in_use_are_named(letters: Corpus):
    letters.check()
    path = letters.stored.path
    path.write_text("ABC")  # a mapping that was read now would kill the process
    for act in (letters.check, lambda: letters.digest, lambda: letters.segments("train", 3, [0])):
        assert refusal(act) == f"{path} changed while it was in use; start again with a file that stays"
    path.unlink()
    assert "changed while it was in use" in refusal(letters.check, error=CorpusError)


def test_an_assembled_text_stays_when_its_files_change(notes: Path, cache: Path):
    text = corpus(f"text:{notes}")
    before = text.train.tobytes()
    (notes / "0.txt").write_text("other")
    assert corpus(f"text:{notes}").train.tobytes() != before
    text.check()
    for path in cache.iterdir():
        path.unlink()
    text.check()
    assert text.train.tobytes() == before


def test_a_file_that_changes_or_may_not_be_read_is_named(notes: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    opened, walk = files.open_regular, files.walk

    def late(*arguments: object) -> list[files.File]:
        found = walk(*arguments)  # type: ignore[arg-type]
        (notes / "0.txt").write_text("<")
        return found

    def denied(path: Path) -> object:
        if path.name == "0.txt":
            raise PermissionError(13, "Permission denied")
        return opened(path)

    with monkeypatch.context() as patch:
        patch.setattr("regulargpt.text.corpora.registry.walk", late)
        assert "0.txt changed while it was read; try again" in refusal(corpus, f"text:{notes}", error=CorpusError)
    monkeypatch.setattr(files, "open_regular", denied)
    assert refusal(corpus, f"text:{notes}", error=CorpusError) == f"{notes}/0.txt: cannot be read (Permission denied)"
    assert list(cache.iterdir()) == []
    monkeypatch.setattr(files, "MAX_FILES", 10)
    said = "holds more than 10 files; at most 10 are allowed, LANGUAGES_BUDGET=2 allows"
    assert said in refusal(corpus, f"text:{notes}", error=TooLarge)


# What is refused


def prepare(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    (tmp_path / "one.txt").write_text("1")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "nothing" / ".hidden").write_text("x")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")


REFUSED = [
    ("code", "unknown text 'code'; did you mean 'text:code'?"),
    ("tekst:code", "unknown text 'tekst:code'; did you mean 'text:code'?"),
    ("text:", "unknown text 'text:'; did you mean 'text:code'?"),
    ("", "unknown text ''; did you mean 'text:code'?"),
    ("text:code-lagre", "text:code-lagre is no built-in text, file or folder; did you mean 'text:code-large'?"),
    ("text:no/such.txt", "text:no/such.txt is no built-in text, file or folder; check the path"),
    ("text:empty.txt", "{}/empty.txt is empty; a text has a training and a test part: give a longer one"),
    ("text:one.txt", "{}/one.txt has 1 byte; a text has a training and a test part: give a longer one"),
    ("text:nothing", "{}/nothing: no text in this folder; hidden files, links and empty files do not count"),
    ("text:a", "a: cannot be read (the links lead in a circle)"),
    ("text:pipe", "{}/pipe: cannot be read (it is a pipe or device, not a file)"),
    ("text:/dev/zero", "/dev/zero: cannot be read (it is a pipe or device, not a file)"),
    ("text:one.txt/x", "one.txt/x: cannot be read (Not a directory)"),
    ("text:a\0b", r"'text:a\x00b' contains a character that cannot be printed; rename the file"),
    ("text:a\udc80", r"'text:a\udc80' contains a character that cannot be printed; rename the file"),
    ("text:" + "x" * 300, "x" * 300 + ": cannot be read (File name too long)"),
    ("text:recurrent:sise=3", "text:recurrent has no parameter 'sise'; did you mean 'size'?"),
    ("text:recurrent:size=3", "text:recurrent: size is a whole number from 65,536, seed one from 0"),
    ("text:recurrent:seed=-1", "text:recurrent: size is a whole number from 65,536, seed one from 0"),
    ("text:recurrent:seed=x", "text:recurrent: seed is 'x'; it is a whole number from 0"),
    ("text:recurrent:size=9999999999", "text:recurrent: 9,999,999,999 bytes; at … LANGUAGES_BUDGET=10 allows more"),
]  # fmt: skip


def test_one_line_says_what_is_wrong(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    for name, message in REFUSED:
        assert is_like(refusal(corpus, name), message.format(tmp_path)), name
    assert not cache.exists()
