"""Texts by the command line: what lists, shows and samples them, and what a user can get wrong with one."""

import json
import shutil
from pathlib import Path

import pytest

from languages.printable import printable
from languages.text import corpus
from tests.cli.conftest import Cli

WORDS = "alpha beta gamma delta use def\n"
SMALL = ("--steps", "3", "--batch-size", "2", "--d-model", "8", "--train-len", "8", "--samples", "4")


def write(path: Path, size: int = 4000, seed: int = 0) -> Path:
    """A small text, other bytes for another seed."""
    text = "".join(WORDS[(i * i + i // 7 + seed) % len(WORDS)] for i in range(size))
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder with a text and a finished run on it."""
    from regulargpt.cli import call

    place = tmp_path_factory.mktemp("text")
    write(place / "small.txt")
    assert call(["run", f"text:{place / 'small.txt'}", *SMALL, "--out", str(place / "run"), "--json"]) == 0
    return place


@pytest.fixture
def place(finished: Path, tmp_path: Path) -> Path:
    """A copy of it, which is the current folder of `cli`."""
    for entry in finished.iterdir():
        (shutil.copytree if entry.is_dir() else shutil.copy2)(entry, tmp_path / entry.name)
    for name, content in (("empty.txt", ""), ("short.txt", "abc def ghi"), ("good.dot", "")):
        (tmp_path / name).write_text(content)
    (tmp_path / "folder").mkdir()
    return tmp_path


def everything(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


NO_AUTOMATON = "is a text, which has no automaton; "
LONGEST = "text:small.txt has 3,600 symbols to train on, and 400 to test on, which allows test lengths up to 199"
# The arguments, and a part of the one line. What follows a semicolon is the remedy.
REFUSED = [
    # What needs an automaton, of a text's name and of a run on one.
    ("construct text:code --out c", f"'text:code' {NO_AUTOMATON}name a language, as in parity"),
    ("show text:code --dot", f"'text:code' {NO_AUTOMATON}name a language, as in parity"),
    ("check run --language text:code", f"'text:code' {NO_AUTOMATON}name a language, as in parity"),
    ("shortcuts text:code", f"text:code {NO_AUTOMATON}choose a language, or a run on one"),
    ("shortcuts --config run/config.toml", f"{NO_AUTOMATON}choose a language, or a run on one"),
    ("verify run", f"{NO_AUTOMATON}choose a language, or a run on one"),
    ("extract run", f"{NO_AUTOMATON}choose a language, or a run on one"),
    ("extract run --codebook classes", f"{NO_AUTOMATON}choose a language, or a run on one"),
    ("check run", "run has no certificate yet; try `regulargpt verify run`"),
    # What is about words.
    ("run text:small.txt --supervision last", "it asks about words, and text:small.txt is text; choose 'language_"),
    ("run parity --supervision language_model", "it asks about text, and parity is words; choose 'last'"),
    ("run text:small.txt --recipe words", "recipe 'words' is for words, text:small.txt is not; leave --recipe out"),
    ("run parity --recipe text", "recipe 'text' is for text, parity is not; name a text, as in text:code"),
    ("run text:small.txt --protocol hard", "is a text, and a protocol is about words of a language; leave it out"),
    ("evaluate run --protocol hard", "is a text, and a protocol is about words of a language; leave it out"),
    ("run text:small.txt --set evaluation.extra_protocols=hard-1", "a protocol is about words of a language; leave"),
    ("sweep text:small.txt --protocol hard", "is a text, and a protocol is about words of a language; leave it out"),
    ("sweep text:small.txt --recipe words", "recipe 'words' is for words, text:small.txt is not; leave --recipe out"),
    (
        "run text:small.txt --certify",
        "--certify: a text has no automaton, so nothing can be proven of it; leave it out",
    ),
    ("run text:small.txt --certify --model regulargpt", "--certify: a text has no automaton, so nothing can be proven"),
    ("sweep text:small.txt --certify", "--certify: a text has no automaton, so nothing can be proven of it"),
    ("run text:small.txt --set phases.table_fine_tuning.every=9", "a text has no automaton, so nothing can be proven"),
    ("run text:small.txt --near-misses 0.5", "has no near_misses; languages of members and non-members have"),
    (
        "sample text:small.txt --length 9 --near-misses 0.5",
        "--near-misses: text:small.txt is a text, which has no memb",
    ),
    # Texts that are none.
    ("run text:empty.txt", "empty.txt is empty; a text has a training and a test part: give a longer one"),
    ("run text:short.txt", "data.train_len = 64: text:short.txt has 10 symbols to train on"),
    ("run text:folder", "folder: no text in this folder; hidden files, links and empty files do not count"),
    ("run text:smal.txt", "text:smal.txt is no built-in text, file or folder; check the path"),
    ("run text:coed", "text:coed is no built-in text, file or folder; did you mean 'text:code'?"),
    ("run text:", "unknown text 'text:'; did you mean 'text:code'?"),
    ("show text:empty.txt", "empty.txt is empty; a text has a training and a test part: give a longer one"),
    ("sample text:coed --length 9", "text:coed is no built-in text, file or folder; did you mean 'text:code'?"),
    ("sample text:small.txt --length 401", "the test part has 400 symbols, 401 are needed; give a longer text or sh"),
    # Lengths that the text does not have.
    ("run text:small.txt --train-len 3600", f"data.train_len = 3600: {LONGEST}; choose a shorter length, or a longer"),
    ("run text:small.txt --train-len 8 --test-len 999", f"evaluation.test_len = 512: {LONGEST}; choose a shorter"),
    ("run text:small.txt --train-len 8 --extra-lengths 200", f"evaluation.extra_lengths = 200: {LONGEST}; choose"),
    ("run text:small.txt --test-len 8", "evaluation.test_len = 8; test segments are no shorter than data.train_len"),
    ("run text:small.txt --train-len 1", "data.train_len = 1; a segment has at least 2 symbols"),
    ("evaluate run --lengths 200", "symbols to train on, and 400 to test on, which allows test lengths up to 199"),
    # Attention and encodings.
    ("run text:small.txt --attention sliding:0", "choose full, bca, or a window of W symbols as in sliding:64"),
    ("run text:small.txt --attention sliding:-3", "choose full, bca, or a window of W symbols as in sliding:64"),
    ("run text:small.txt --attention near", "choose full, bca, or a window of W symbols as in sliding:64"),
    ("run text:small.txt --model lstm --attention bca", "attention = 'bca': lstm has no attention that could"),
    (
        "run parity --model transformer --set model.causal=false --attention sliding:4",
        "evaluation.attention = 'sliding:4': set model.causal = true",
    ),
    (
        "run parity --model transformer --set model.causal=true --train-len 1 --test-len 9 --attention bca",
        "evaluation.attention = 'bca' halves the training length 1; it must be at least 2",
    ),
    ("evaluate run --attention sliding:0", "choose full, bca, or a window of W symbols as in sliding:64"),
    (
        "run text:small.txt --encoding rotary --d-model 12 --set model.n_heads=4",
        "model.d_model / model.n_heads = 3 must be even",
    ),
    ("run text:small.txt --set data.scoring=all", "choose one of last_k, last, nonoverlapping, sliding, position"),
    ("list texts text:code", "texts are listed without a name: leave text:code out; `regulargpt show` shows a text"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[arguments for arguments, _ in REFUSED])
def test_one_line_says_what_is_wrong_and_nothing_is_written(cli: Cli, place: Path, arguments: str, message: str):
    before = everything(place)
    code, out, err = cli(*arguments.split())
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert everything(place) == before


def test_bytes_that_change_under_a_run_are_not_gone_on_with(cli: Cli, place: Path):
    text, run = place / "small.txt", place / "begun"
    for name in ("begun", "whole"):
        assert cli("run", "text:small.txt", *SMALL, "--out", name).code == 0
    for name in ("DONE", "manifest.json", "summary.json", "measures.csv", "segments.csv"):
        (run / name).unlink()
    digest = corpus("text:small.txt").digest
    write(text, seed=1)
    before = everything(place)
    code, out, err = cli("resume", "begun")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: text:small.txt is not what begun began with (name text:small.txt, sha256 {digest}")
    assert err.endswith("; put it back, or run anew\n")
    assert everything(place) == before
    # Of a finished run the same would be a test on a part of what it was trained on.
    again = cli("evaluate", "whole", "--lengths", "8")
    assert (again.code, again.out) == (2, "")
    assert again.err.startswith("error: text:small.txt is not what whole began with")
    write(text)
    assert cli("resume", "begun").code == 0


def test_a_text_that_has_gone_is_missed_in_one_line(cli: Cli, place: Path):
    assert cli("run", "text:small.txt", *SMALL, "--out", "begun").code == 0
    (place / "small.txt").unlink()
    # Its own summary needs no text, a test does.
    assert cli("resume", "begun").code == 0
    code, out, err = cli("evaluate", "begun", "--lengths", "8")
    assert (code, out) == (2, "")
    assert err == "error: text:small.txt is no built-in text, file or folder; check the path\n"


def test_damaged_segments_are_named(place: Path):
    from languages.errors import UserError
    from regulargpt.evaluation import segments
    from regulargpt.storage.folder import RunFolder

    path = place / "run" / "segments.csv"
    assert set(segments.read(RunFolder.open(place / "run"))) == {8, 16, 32, 64, 128}
    path.write_text(path.read_text() + "8,9,many\n")
    with pytest.raises(UserError, match=r"segments\.csv is damaged: SHA-256 expected "):
        segments.read(RunFolder.open(place / "run"))
    for text in ("length,nll\n8\n", "length,nll\n8,many\n", "length,segment\n8,1\n", "a,b\n1,2\n"):
        with pytest.raises(UserError, match=r"segments\.csv: .*; it is not what a run writes"):
            segments.parse(text)


def test_lengths_that_a_small_text_lacks_are_named_and_the_others_tested(cli: Cli, place: Path):
    arguments = ("run", "text:small.txt", *SMALL[:-4], "--train-len", "32", "--samples", "4", "--out", "long")
    code, out, _ = cli(*arguments)
    assert code == 0
    assert "no segments of 256, 512 symbols: the test part is too short" in out
    summary = json.loads(cli("resume", "long", "--json").out)
    assert (list(summary["samples"]), summary["no_words_of_length"]) == (["32", "64", "128"], [256, 512])


def test_show_says_what_a_text_is(cli: Cli, place: Path):
    text = corpus("text:code")
    shown = json.loads(cli("show", "text:code", "--json").out)
    assert (shown["train_bytes"], shown["test_bytes"]) == (len(text.train), len(text.test))
    assert (shown["sha256"], shown["files"], shown["vocabulary"]) == (text.digest, text.files, 256)
    assert shown["source"].startswith("networkx ")
    out = cli("show", "text:code").out
    for fact in (text.digest, f"{len(text.train):,} bytes", f"{len(text.test):,} bytes", shown["source"]):
        assert fact in out
    whole = text.decode(text.test)
    assert len(shown["lines"]) == 8
    assert "\n".join(shown["lines"]) in whole
    assert shown["lines"] != json.loads(cli("show", "text:code", "--seed", "1", "--json").out)["lines"]


def test_sample_prints_segments_of_the_test_part(cli: Cli, place: Path):
    found = json.loads(cli("sample", "text:small.txt", "--length", "20", "--count", "3", "--json").out)
    whole = corpus("text:small.txt").test
    assert (found["text"], found["length"], len(found["segments"])) == ("text:small.txt", 20, 3)
    for segment in found["segments"]:
        assert segment["text"].encode() == whole[segment["start"] : segment["start"] + 20].tobytes()
    rows = cli("sample", "text:small.txt", "--length", "20", "--count", "3").out.splitlines()
    assert [json.loads(row) for row in rows] == found["segments"]
    out = cli("sample", "text:small.txt", "--length", "20", "--count", "3", "--text").out
    assert out.count("--- test part, from symbol ") == 3
    assert all(segment["text"] in out for segment in found["segments"])
    assert cli("sample", "text:small.txt", "--length", "20", "--out", "drawn").out.endswith("written to drawn\n")


def test_what_a_terminal_would_obey_is_spelled_out(cli: Cli, tmp_path: Path):
    (tmp_path / "evil.txt").write_bytes(b"\x1b[2J\x00\x07\xff</script>\n" * 100)
    for arguments in (("show", "text:evil.txt"), ("sample", "text:evil.txt", "--length", "50", "--text")):
        code, out, _ = cli(*arguments)
        assert code == 0
        assert "\\x1b[2J\\x00\\x07\N{REPLACEMENT CHARACTER}</script>" in out
        assert printable(out) == out


def test_a_sweep_trains_on_each_text_and_language_what_suits_it(cli: Cli, place: Path):
    shown = json.loads(cli("sweep", "text:small.txt", "parity", "--steps", "2", "--dry-run", "--json").out)
    names = [run["name"].rpartition("-seed")[0] for run in shown["runs"]]
    assert names == ["text-small.txt-transformer-text", "parity-gated-regulargpt-C2-answers"]
    assert shown["sweep"].endswith("text-small.txt+parity-transformer+regulargpt")


def test_results_cross_encodings_and_lengths(cli: Cli, place: Path):
    for encoding in ("alibi", "none"):
        arguments = ("run", "text:small.txt", *SMALL, "--encoding", encoding, "--out", f"runs/{encoding}")
        assert cli(*arguments).code == 0
    summaries = {name: json.loads(cli("resume", f"runs/{name}", "--json").out) for name in ("alibi", "none")}
    lengths = ["8", "16", "32", "64", "128"]
    for measure in ("bits_per_byte", "perplexity", "nll"):
        table = cli("results", "runs", "--pivot", "encoding,length", "--measure", measure, "--format", "csv").out
        header, *rows = (line.split(",") for line in table.splitlines())
        assert [name.removeprefix("length ") for name in header[1:]] == lengths
        for name, *values in rows:
            expected = [summaries[name]["measures"][measure]["values"][T] for T in lengths]
            assert [float(value) for value in values] == pytest.approx(expected)
    shown = json.loads(cli("results", "runs", "--group-by", "encoding", "--json", "--plot", "bits.svg").out)
    assert [group["encoding"] for group in shown["groups"]] == ["alibi", "none"]
    assert [group["mean"] for group in shown["groups"]] == [summaries[name]["score"] for name in ("alibi", "none")]
    # The axis names the tested lengths, and no others.
    picture = (place / "bits.svg").read_text()
    assert all(f">{T}</text>" in picture for T in lengths)
    assert "bits per byte" in picture
