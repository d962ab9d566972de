"""Texts on the command line: what lists, shows and samples them, and runs whose text changes or goes."""

import json
import shutil
from pathlib import Path

import pytest

from languages.errors import UserError
from languages.printable import printable
from regulargpt.evaluation import segments
from regulargpt.storage.folder import RunFolder
from regulargpt.text.corpora import corpus
from tests.cli.conftest import Cli, assert_refused, everything
from tests.cli.places import ON_TEXT, write_text
from tests.regulargpt.forging import without_kept


@pytest.fixture
def place(home: Path, tmp_path: Path) -> Path:
    """A copy of a text and of a finished run on it, `text`, that kept no file; in the current folder of `cli`."""
    shutil.copytree(home / "text", tmp_path / "text")
    without_kept(tmp_path / "text")
    shutil.copy2(home / "small.txt", tmp_path)
    return tmp_path


def test_bytes_that_change_under_a_run_are_not_gone_on_with(cli: Cli, place: Path):
    text, run = place / "small.txt", place / "begun"
    shutil.copytree(place / "text", run)
    for name in ("DONE", "manifest.json", "summary.json", "measures.csv", "segments.csv"):
        (run / name).unlink()
    digest = corpus("text:small.txt").digest
    write_text(text, seed=1)
    before = everything(place)
    said = "text:small.txt is not what {} began with (name text:small.txt, sha256 " + digest
    assert_refused(cli("resume", "begun"), said.format("begun") + "…; put it back, or run anew\n")
    # Of a finished run the same would be a test on a part of what it was trained on.
    assert_refused(cli("evaluate", "text", "--lengths", "8"), said.format("text"))
    assert everything(place) == before
    write_text(text)
    assert cli("resume", "begun").code == 0


def test_a_text_that_has_gone_is_missed_in_one_line(cli: Cli, place: Path):
    (place / "small.txt").unlink()
    # Its own summary needs no text, a test does.
    assert cli("resume", "text").code == 0
    assert_refused(
        cli("evaluate", "text", "--lengths", "8"), "text:small.txt is no built-in text, file or folder; check"
    )


def test_damaged_segments_are_named(place: Path):
    path = place / "text" / "segments.csv"
    assert set(segments.read(RunFolder.open(place / "text"))) == {8, 16, 32, 64, 128}
    path.write_text(path.read_text() + "8,9,many\n")
    with pytest.raises(UserError, match=r"segments\.csv is damaged: SHA-256 expected "):
        segments.read(RunFolder.open(place / "text"))
    for text in ("length,nll\n8\n", "length,nll\n8,many\n", "length,segment\n8,1\n", "a,b\n1,2\n"):
        with pytest.raises(UserError, match=r"segments\.csv: .*; it is not what a run writes"):
            segments.parse(text)


def test_lengths_that_a_small_text_lacks_are_named_and_the_others_tested(cli: Cli, place: Path):
    answer = cli("run", "text:small.txt", *ON_TEXT[:-4], "--train-len", "32", "--samples", "4", "--out", "long")
    assert "no segments of 256, 512 symbols: the test part is too short" in answer.out
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
        arguments = ("run", "text:small.txt", *ON_TEXT, "--encoding", encoding, "--out", f"runs/{encoding}")
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
    expected = [summaries[name]["score"] for name in ("alibi", "none")]
    assert [group["mean"] for group in shown["groups"]] == pytest.approx(expected)
    # The axis names the tested lengths, and no others.
    picture = (place / "bits.svg").read_text()
    assert all(f">{T}</text>" in picture for T in lengths)
    assert "bits per byte" in picture
