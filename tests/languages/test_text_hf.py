"""Data sets by `datasets`, made on disk here, and the tokenizers of users: the extra `hf`."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from languages.errors import CorpusError
from regulargpt.text.corpora import corpus
from regulargpt.text.corpora.split import is_test
from regulargpt.text.corpora.tokens import pieces
from tests.languages.refusing import refusal

ROWS = [f"row {index} é" for index in range(300)]


@pytest.fixture(autouse=True)
def here(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    datasets.disable_progress_bars()


def save(path: str, columns: dict[str, Sequence[object]]) -> str:
    datasets.Dataset.from_dict(dict(columns)).save_to_disk(path)
    return path


def save_splits(path: str, **splits: Sequence[str]) -> str:
    kind = datasets.Features({"text": datasets.Value("string")})
    rows = {name: datasets.Dataset.from_dict({"text": list(texts)}, kind) for name, texts in splits.items()}
    datasets.DatasetDict(rows).save_to_disk(path)  # pyright: ignore
    return path


def joined(rows: Sequence[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


# Data sets


def test_rows_are_split_by_their_hash():
    text = corpus(f"hf:{save('rows', {'text': ROWS, 'number': range(300)})}")
    test = [row for row in ROWS if is_test(f"{row}\n")]
    assert 10 < len(test) < 60
    assert text.test.tobytes() == joined(test)
    assert text.train.tobytes() == joined([row for row in ROWS if row not in test])
    assert (text.files, text.vocabulary_size) == (300, 256)
    assert text.summary.startswith(f"hf:{Path('rows').absolute()}#text; 300 rows, ")
    assert corpus("hf:rows").digest == text.digest


@pytest.mark.parametrize("held_out", ["test", "validation"])
def test_the_own_split_of_a_data_set(held_out: str):
    text = corpus("hf:" + save_splits("splits", train=ROWS[:20], **{held_out: ROWS[20:25]}))
    assert text.train.tobytes() == joined(ROWS[:20])
    assert text.test.tobytes() == joined(ROWS[20:25])
    both = {"test": ROWS[25:27], "validation": ROWS[20:25]}  # the test split goes before the other
    assert corpus("hf:" + save_splits("both", train=ROWS[:20], **both)).test.tobytes() == joined(ROWS[25:27])


def test_odd_rows_and_few():
    text = corpus("hf:" + save_splits("ends", train=["a", "b\n", "", None, "c"], test=["x"]))  # type: ignore[list-item]
    assert text.train.tobytes() == b"a\nb\n\nc\n"  # one newline a row, and a missing one is nothing
    text = corpus(f"hf:{save('twice', {'text': ROWS * 2})}")
    train, test = (set(part.tobytes().splitlines()) for part in (text.train, text.test))
    assert not train & test
    rows = [row for row in ROWS if not is_test(f"{row}\n")][:5]
    few = corpus(f"hf:{save('few', {'text': rows})}")
    assert (few.train.tobytes(), few.test.tobytes()) == (joined(rows[:4]), joined(rows[4:]))


def test_a_column_can_be_chosen_and_a_changed_data_set_has_another_digest():
    name = save("two", {"text": ROWS, "title": [f"title {row}" for row in ROWS]})
    assert corpus(f"hf:{name}#title").train.tobytes().startswith(b"title row")
    assert corpus(f"hf:{save('one', {'body': ROWS, 'n': range(300)})}").train.tobytes().startswith(b"row")
    first = corpus(f"hf:{save('a', {'text': ROWS})}")
    assert corpus(f"hf:{save('b', {'text': [*ROWS[:-1], 'row 299 è']})}").digest != first.digest
    assert corpus(f"hf:{save('c', {'text': ROWS})}").digest == first.digest


@pytest.mark.parametrize("name", ["hf:wikitext", "hf:user/name", "hf:user/name/config#text"])
def test_names_of_the_hub(name: str, monkeypatch: pytest.MonkeyPatch):
    arguments = {"hf:wikitext": ("wikitext",), "hf:user/name": ("user/name",)}.get(name, ("user/name", "config"))

    def load(*given: str) -> datasets.DatasetDict:
        assert given == arguments
        return datasets.DatasetDict({"train": datasets.Dataset.from_dict({"text": ROWS})})

    monkeypatch.setattr(datasets, "load_dataset", load)
    text = corpus(name)
    assert (text.files, text.source) == (300, f"{name.removesuffix('#text')}#text")


def test_a_folder_of_files_that_the_library_reads_and_a_name_that_the_hub_does_not_have(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "train.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in ROWS))
    code = "from regulargpt.text.corpora import corpus; print(corpus('hf:folder').files)\n"
    code += "try: corpus('hf:no/such')\nexcept ValueError as error: print(error)"
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    count, refusal = done.stdout.splitlines()
    assert count == "300"
    assert refusal.startswith("hf:no/such: cannot be read (ConnectionError: Couldn't reach 'no/such' on the Hub")


REFUSED = [
    ("rows#txet", "hf:{}/rows has no column of texts 'txet'; did you mean 'text'?"),
    ("rows#number", "hf:{}/rows has no column of texts 'number'; it has 'text'"),
    ("two", "hf:{}/two has the columns 'a', 'b'; choose one, as in hf:{}/two#a"),
    ("numbers", "hf:{}/numbers has no column of texts; it has 'n'"),
    ("parts", "hf:{}/parts has no split 'train'; it has 'left', 'right'"),
    ("single", "hf:{}/single#text: a data set without a test split needs 2 rows; this one has 1"),
    ("missing", "hf:{}/missing#text: the test part is empty; give more text"),
]


def test_one_line_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = Path(save("rows", {"text": ROWS, "number": range(300)}))
    save("two", {"a": ["x"] * 9, "b": ["y"] * 9})
    save("numbers", {"n": [1, 2, 3]})
    save_splits("parts", left=["x"], right=["y"])
    save("single", {"text": ["x"]})
    save_splits("missing", train=["x"], test=[None])  # type: ignore[list-item]
    for name, message in REFUSED:
        assert refusal(corpus, f"hf:{name}", error=CorpusError) == message.replace("{}", str(tmp_path))
    next(rows.glob("*.arrow")).write_bytes(b"ARROW")
    assert "/rows: cannot be read (Arrow" in refusal(corpus, "hf:rows", error=CorpusError)
    for package, what, *asked in (("datasets", "hf:x", "hf:x", ""), ("tokenizers", "a tokenizer", "text:code", "t")):
        monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
        assert refusal(corpus, *asked) == f"{what} needs {package}; pip install 'regulargpt-testbed[hf]'"


# Tokenizers


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """Byte-pair encoding of the rows, which loses nothing; as others' files may, it says to cut and to pad."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
    made.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False, initial_alphabet=alphabet)
    made.train_from_iterator(ROWS, trainer)
    made.enable_truncation(7)
    made.enable_padding(length=9)
    made.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "notes").mkdir()
    for index in range(30):
        (tmp_path / "notes" / f"{index:02}.txt").write_text("\n".join(ROWS[index * 10 : index * 10 + 10]))
    return tmp_path / "notes"


def test_a_text_in_tokens(notes: Path, tokenizer: Path):
    text, plain = corpus(f"text:{notes}", tokenizer), corpus(f"text:{notes}")
    assert (text.vocabulary_size, text.train.dtype) == (300, np.uint16)
    for part in ("train", "test"):
        assert text.decode(text.part(part)) == plain.decode(plain.part(part))
    assert text.bytes_per_symbol == len(plain.train) / len(text.train) > 1.2
    assert text.digest != plain.digest
    assert text.decode(text.encode("row 7 é")) == "row 7 é"
    assert corpus(f"text:{notes}", str(tokenizer)).digest == text.digest
    assert len(corpus("text:recurrent:size=65536", tokenizer).recurrences()) == 0  # tokens know none


def test_no_token_crosses_files(notes: Path, tokenizer: Path):
    text = corpus(f"text:{notes}", tokenizer)
    whole = text.tokens
    assert whole is not None
    for part in ("train", "test"):
        files = [path.read_text() for path in sorted(notes.iterdir()) if is_test(path.name) == (part == "test")]
        expected = np.concatenate([whole.encode(file) for file in files])
        np.testing.assert_array_equal(text.part(part), expected)


def test_another_tokenizer_is_another_text(notes: Path, tokenizer: Path, cache: Path):
    first = corpus(f"text:{notes}", tokenizer)
    # The first two letters change places: the same numbers now mean another text.
    text = tokenizer.read_text().replace('"A"', '"?"').replace('"B"', '"A"').replace('"?"', '"B"')
    tokenizer.write_text(text)
    second = corpus(f"text:{notes}", tokenizer)
    assert second.train.tobytes() == first.train.tobytes()
    assert second.digest != first.digest
    assert len(list(cache.iterdir())) == 1
    # Many tokens take four bytes.
    made = Tokenizer(models.WordLevel({"row": 0, "?": 70_000}, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    made.save("words.json")
    many = corpus(f"text:{notes}", "words.json")
    assert (many.vocabulary_size, many.train.dtype) == (70_001, np.uint32)
    assert set(many.train.tolist()) == {0, 70_000}


@given(st.lists(st.text(max_size=30).map(str.encode), max_size=8), st.integers(4, 40), st.binary(max_size=30))
def test_pieces_are_the_same_bytes_and_cut_no_character(blocks: list[bytes], size: int, end: bytes):
    cut = list(pieces(blocks, size))
    assert b"".join(cut) == b"".join(blocks)
    assert all(0 < len(piece) <= size for piece in cut)
    assert all(piece.decode() for piece in cut)
    assert b"".join(pieces([*blocks, end], size)) == b"".join([*blocks, end])  # also of bytes that are no text


NO_TOKENIZERS = {
    None: "cannot be read (No such file or directory)",
    "": "no tokenizer.json of `tokenizers` (EOF while parsing",
    "{}": "no tokenizer.json of `tokenizers` (Model missing",
    "\udcff": "no tokenizer.json of `tokenizers` ('utf-8' codec",
    '{"model": {"type": "BPE", "vocab": {}, "merges": []}}': "the tokenizer has no tokens; train it first",
}


def test_a_tokenizer_that_is_none(tmp_path: Path):
    for content, message in NO_TOKENIZERS.items():
        if content is not None:
            (tmp_path / "t.json").write_text(content, errors="surrogateescape")
        assert refusal(corpus, "text:code", "t.json", error=CorpusError).startswith(f"{tmp_path}/t.json: {message}")
