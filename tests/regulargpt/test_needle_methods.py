"""Needles in a checkpoint: networks that find all, nothing, or what is near; scores against whole passes and
`transformers`; results that are kept; what is refused."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from regulargpt.cli import call
from regulargpt.measurements.measuring import measured
from regulargpt.models.decoding import Decoder
from regulargpt.models.transformer.decoding import PIECE, CachedDecoder
from regulargpt.text.corpora.retrieval.prompts import NEEDLES
from regulargpt.text.generation import Writer, spelling
from regulargpt.text.measurements import needle_prompts
from regulargpt.text.measurements.needle_prompts import PromptDocuments, log_probabilities
from regulargpt.text.opened import OpenedCheckpoint, open_alone
from tests.languages.needle_reading import READERS
from tests.regulargpt.checkpoint_folders import quiet
from tests.regulargpt.pretend_gpu import pretended
from tests.regulargpt.tiny_decoders import byte_tokenizer, made

TRAINED = 512
FORMS = {"line": "<{}>"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Networks of bytes, and one whose tokens are letters."""
    home = tmp_path_factory.mktemp("home")
    for kind in ("llama", "mistral", "gpt2"):
        sizes = {"n_positions": TRAINED} if kind == "gpt2" else {"max_position_embeddings": TRAINED}
        made(home / kind, kind, vocab_size=256, **sizes)
    for positions in (64, 300):
        made(home / f"gpt2-{positions}", "gpt2", vocab_size=256, n_positions=positions)
    made(home / "letters", "llama")
    byte_tokenizer().save(str(home / "letters" / "tokenizer.json"))
    return home


@pytest.fixture
def opened(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], OpenedCheckpoint]:
    monkeypatch.chdir(tmp_path)
    return lambda name: open_alone(f"hf:{home / name}")


class Reads(Decoder):
    """Reads a prompt of bytes, and goes on as `says` of its text; all other bytes are as unlikely as each other."""

    def __init__(self, says: Callable[[str], str]):
        self.says, self.rest = says, None

    def feed(self, symbols: Tensor) -> Tensor:
        text = bytes(symbols[0].tolist())
        # The first piece is the prompt; of what was to be said, what has been fed is no more.
        self.rest = self.says(text.decode()).encode() + b"\n" * 99 if self.rest is None else self.rest[len(text) :]
        logits = torch.zeros(1, 256)
        logits[0, self.rest[0]] = 9.0
        return logits


class Blind(Decoder):
    """Says that everything is as likely as everything else."""

    def feed(self, symbols: Tensor) -> Tensor:
        return torch.zeros(1, 256)


class Stands:
    """What is asked of a network, in the place of one."""

    def __init__(self, begin: Callable[[], Decoder]):
        self.begin = begin

    def decoder(self, window: int | None = None) -> Decoder:
        return self.begin()

    def parameters(self) -> tuple[()]:
        return ()


def put(monkeypatch: pytest.MonkeyPatch, decoder: Callable[[], Decoder]) -> None:
    """Put what reads in the place of every network."""
    found = Stands(decoder)
    monkeypatch.setattr(Writer, "from_run", lambda run, *given: Writer(found, *spelling(run)))  # type: ignore[arg-type]


def right(kind: str, text: str) -> str:
    """What a reader finds, as it is written behind the prompt. Of several keys the numbers in the order of the keys."""
    parts = READERS[kind](text).answer
    if kind == "multiquery":
        keys = text.split(" special magic numbers for ")[-1].split(" mentioned")[0].replace(",", "").split()
        said = {key: text.split(f"numbers for {key} is: ")[1].split(".")[0] for key in keys if "-" in key}
        parts = list(said.values())
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
    return " " + FORMS.get(kind, "{}").format(listed)


def report(home: Path, name: str = "llama", out: str = "needles", **given: Any) -> dict[str, Any]:
    return measured("needles", f"hf:{home / name}", Path(out), **{"methods": "bca", **given}).report


@pytest.mark.parametrize("kind", NEEDLES)
@pytest.mark.parametrize("score", ["exact", "choice"])
def test_who_reads_finds_all_and_who_is_blind_what_guessing_finds(
    home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch, kind: str, score: str
):
    given = {"kinds": kind, "score": score, "lengths": "1024", "words": 8}
    put(monkeypatch, lambda: Reads(lambda text: right(kind, text)))
    found = report(home, **given, out="perfect")
    if (kind, score) != ("multivalue", "choice"):  # its numbers stand in another order than the answer has them
        assert [of["all"]["value"] for of in found["kinds"][kind]["bca"].values()] == [100.0]
    assert found["chance"] == {"exact": None, "choice": 25.0}[score]
    put(monkeypatch, Blind)
    blind = [of["all"]["value"] for of in report(home, **given, out="blind")["kinds"][kind]["trained"].values()]
    if score == "exact":
        assert blind == [0.0]
    elif kind != "line":  # there answers may be of other lengths
        assert blind == [25.0]


def test_where_it_finds_is_where_the_needle_stands(home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch):
    """A network that reads the second half alone."""
    put(monkeypatch, lambda: Reads(lambda text: right("line", text) if READERS["line"](text).depth >= 0.5 else "?"))
    found = report(home, kinds="line", lengths="2048", words=40, bins=4)
    of = found["kinds"]["line"]["trained"]["2048"]
    assert [part["needles"] for part in of["bins"]] == [10] * 4
    # A depth is cut to a line: what stands at the middle is the line that begins there, or the one before.
    assert [part["found"] for part in of["bins"]][:2] == [0, 0]
    assert [part["found"] for part in of["bins"]][3] == 10
    assert of["bins"][2]["found"] >= 9
    assert of["to_trained"][0] == 0
    assert of["to_trained"][1] < 0 < of["to_trained"][2]
    rows = list(csv.DictReader(Path("needles/needles.csv").read_text().splitlines()))
    assert [(row["kind"], row["method"], row["length"]) for row in rows[:2]] == [("line", "trained", "2048")] * 2
    assert [float(row["value"]) for row in rows[:2]] == [0, 0]
    assert Path("needles/needles.png").read_bytes().startswith(b"\x89PNG")


def test_differences_are_of_pairs(home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch):
    """As trained it finds the first half and as another method all: half of the documents, and none that is lost."""
    asked: list[str] = []

    def of(run: OpenedCheckpoint, length: int, changes: Any, attention: str) -> Writer:
        def says(text: str) -> str:
            return right("line", text) if attention == "bca" or READERS["line"](text).depth < 0.5 else "?"

        asked.append(attention)
        return Writer(Stands(lambda: Reads(says)), *spelling(run))  # type: ignore[arg-type]

    monkeypatch.setattr(Writer, "from_run", of)
    found = report(home, kinds="line", lengths="2048", words=40)
    assert asked == ["full", "bca"]
    trained, bca = (found["kinds"]["line"][name]["2048"] for name in ("trained", "bca"))
    gained = 40 - trained["all"]["found"]
    assert gained in (19, 20)
    middle, n = gained / 42, 42
    half = 1.959963984540054 * np.sqrt(((gained + 0.5) / n + 0.5 / n - middle**2) / n)
    assert bca["to_trained"] == pytest.approx(
        [100 * gained / 40, 100 * (middle - half), 100 * (middle + half)], abs=1e-5
    )
    assert found["summary"].startswith("line at 2,048 tokens: bca finds most, 100 % (91 to 100), as trained ")


def documents(run: OpenedCheckpoint, kind: str, words: int = 3) -> PromptDocuments:
    return PromptDocuments(NEEDLES[kind], spelling(run)[0], words, seed=1)


@pytest.mark.parametrize("kind", NEEDLES)
def test_a_document_fills_its_length_but_for_the_answer(opened: Callable, kind: str):
    some = documents(opened("llama"), kind, words=5)
    assert [int(depth * 5) for depth in some.depths] == [0, 1, 2, 3, 4]
    for length in (some.shortest, some.shortest + 700):
        for i in range(5):
            read = some.document(i, length)
            # A step is at most a line, or a sentence of noise.
            assert length - some.room - 75 < len(read.text) <= length - some.room
            assert read == some.document(i, length)
    assert some.room == 2 * len(NEEDLES[kind].longest) + 8


VIEWS = {
    "llama": ["full", "sliding:300", "bca", "sinks:4:200", "self-extend:4:100"],
    "mistral": ["full", "bca"],
    "gpt2": ["full", "sinks:4:200"],
}


@torch.no_grad()
@pytest.mark.parametrize(("name", "view"), [(name, view) for name, views in VIEWS.items() for view in views])
def test_log_probabilities_are_those_of_whole_passes(opened: Callable, name: str, view: str):
    run = opened(name)
    writer = Writer.from_run(run, TRAINED, {}, view)
    read = writer.encode(documents(run, "passkey").document(1, 500).text)
    answers = [writer.encode(text) for text in (" 12345", " 7", " 123")]
    for found, answer in zip(log_probabilities(writer.model, read, answers), answers, strict=True):
        words = torch.from_numpy(np.concatenate([read, answer]).astype(np.int64))[None]
        said = writer.model(words[:, :-1], readout="all")[0, -len(answer) :].double().log_softmax(-1)
        assert found == pytest.approx(float(said[range(len(answer)), words[0, -len(answer) :]].sum()), abs=1e-4)


@torch.no_grad()
def test_where_angles_depend_on_the_length_each_symbol_is_of_the_text_so_far(opened: Callable):
    run = opened("llama")
    writer = Writer.from_run(run, 700, {"encoding.scaling": "dynamic_ntk", "encoding.factor": 1.0})
    read, answer = writer.encode(documents(run, "passkey").document(1, 700).text), writer.encode(" 42")
    found = log_probabilities(writer.model, read, [answer, answer])
    text, total = np.concatenate([read, answer]).astype(np.int64), 0.0
    for at in range(len(read), len(text)):
        logits = writer.model(torch.from_numpy(text[:at])[None])
        total += float(logits[0].double().log_softmax(-1)[text[at]])
    assert found == pytest.approx([total, total], abs=1e-4)


@pytest.mark.parametrize("name", VIEWS)
def test_what_it_writes_is_what_transformers_writes(
    home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch, name: str
):
    """Every answer that is read, of both kinds, against their own greedy text."""
    said: list[str] = []
    for kind in ("passkey", "line"):
        monkeypatch.setattr(type(NEEDLES[kind]), "is_found", lambda task, text, answer: said.append(text) or True)
    report(home, name, kinds="passkey", lengths="480", words=3)
    del said[0]  # whether the tokenizer can write an answer
    run, theirs = opened(name), quiet().AutoModelForCausalLM.from_pretrained(home / name).eval()
    some = PromptDocuments(NEEDLES["passkey"], spelling(run)[0], 3, seed=0)
    for i in range(3):
        read = torch.from_numpy(spelling(run)[0](some.document(i, 480).text).astype(np.int64))[None]
        found = theirs.generate(read, do_sample=False, max_new_tokens=some.room, pad_token_id=1)[0, read.shape[1] :]
        assert said[i] == spelling(run)[1]([symbol for symbol in found.tolist() if symbol not in spelling(run)[2]])


def cells(place: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (Path(place) / "cells").iterdir()}


ASKED = {"kinds": "passkey,single", "lengths": "420", "words": 2, "score": "choice", "methods": "bca,yarn"}


def test_it_goes_on_where_it_was_stopped(
    home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """Stopped in the fourth of six results, it comes to the bytes of one that nothing stopped."""
    whole, plain, count = report(home, out="whole", **ASKED), needle_prompts.choice, []

    def stopping(*given: Any) -> bool:
        count.append(1)
        if len(count) == 8:
            raise KeyboardInterrupt
        return plain(*given)

    monkeypatch.setitem(needle_prompts.SCORES, "choice", stopping)  # type: ignore[arg-type]
    flags = [part for key, value in ASKED.items() for part in (f"--{key}", str(value))]
    command = ["needles", f"hf:{home / 'llama'}", *flags, "--out", "part"]
    assert (call(command), capsys.readouterr().err) == (75, "\nstopped\n")
    assert [path.name for path in Path("part").iterdir()] == ["cells"]
    assert len(cells("part")) == 3
    assert call([*command, "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (whole, "3 of 6 results are kept in part/cells\n")
    assert len(count) == 8 + 3 * 2
    assert cells("part") == cells("whole")
    assert Path("part/needles.csv").read_bytes() == Path("whole/needles.csv").read_bytes()
    # Of another seed, score, training length or number of documents nothing is taken.
    put(monkeypatch, Blind)
    for more in (["--seed", "7"], ["--words", "3"], ["--score", "exact"], ["--train-len", "99"]):
        before = len(cells("part"))
        given = {"--kinds": "passkey", "--lengths": "420", "--words": "2", "--score": "choice", "--methods": "bca"}
        given |= {more[0]: more[1]}
        assert call([*command[:2], *(part for pair in given.items() for part in pair), "--out", "part"]) == 0
        assert (len(cells("part")), "kept" in capsys.readouterr().err) == (before + 2, False)


def test_it_says_how_far_it_has_come(home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch):
    put(monkeypatch, Blind)
    heard: list[tuple[int, int]] = []
    report(home, kinds="passkey", lengths="400,500", words=2, progress=lambda *so_far: heard.append(so_far))
    of = [(begin, begin, begin + T) for begin, T in ((0, 400), (800, 400), (1600, 500), (2600, 500))]
    assert heard == [*((at, 3600) for three in of for at in three), (3600, 3600)]


@pytest.mark.parametrize("score", ["exact", "choice"])
def test_it_is_asked_where_the_network_is(home: Path, opened: Callable, score: str):
    given = {"kinds": "passkey", "lengths": "420", "words": 4, "score": score, "methods": "bca,yarn,sinks"}
    here = report(home, out="here", **given)
    with pretended():
        there = report(home, out="there", **given)
    assert there["kinds"] == here["kinds"]
    assert [of["how"]["made_with"]["device"] for of in (here, there)] == ["cpu", "lazy:0"]


@pytest.mark.parametrize("score", ["exact", "choice"])
def test_little_is_read_at_once(home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch, score: str):
    """One document at a time, in pieces, and the keys of two decoders at most."""
    plain, shapes = CachedDecoder.advance, list[tuple[int, ...]]()

    def counted(self: CachedDecoder, piece: Tensor) -> Tensor:
        shapes.append(tuple(piece.shape))
        return plain(self, piece)

    monkeypatch.setattr(CachedDecoder, "advance", counted)
    report(home, kinds="passkey", lengths="1500", words=2, score=score)
    assert max(shapes) == (1, PIECE)


def test_a_temperature_and_a_bias_are_those_of_their_files(
    home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch
):
    """They change what is said, and the method is named by its file."""
    from regulargpt.evaluation import bias, temperature

    run, found = opened("llama"), list[float]()
    temperature.write(Path("t.json"), temperature.Temperature(((0.3,) * 4,) * 2, weights=run.weights))
    bias.write(Path("b.json"), bias.Bias.start("kerple_log", 1, 4, weights=run.weights))
    plain = needle_prompts.log_probabilities

    def heard(*given: Any) -> list[float]:
        said = plain(*given)
        found.append(said[0])
        return said

    monkeypatch.setattr(needle_prompts, "log_probabilities", heard)
    given = {"temperature": Path("t.json"), "bias": Path("b.json"), "methods": "alignment,kerple", "score": "choice"}
    of = report(home, lengths="400", words=1, **given)
    assert list(of["kinds"]["passkey"]) == ["trained", "alignment", "kerple"]
    assert (of["temperature"], of["bias"]) == ("0.3", "kerple_log, 8 numbers trained on segments of 0 symbols")
    assert abs(found[1] - found[0]) > 1e-3
    assert found[2] == pytest.approx(found[0])  # it is 0 before the first step


REFUSED = [
    ("hf:{home}/none", "{home}/none: no such folder; a checkpoint is read from disk: download it first"),
    ("hf:{home}/llama --kinds lines", "unknown kind 'lines'; did you mean 'line'?"),
    ("hf:{home}/llama --kinds one", "unknown kind 'one'; choose 'passkey', 'single', 'multikey', 'multivalue', "
     "'multiquery', 'line', 'variables'"),
    ("hf:{home}/llama --methods yarm", "unknown method 'yarm'; did you mean 'yarn'?"),
    ("hf:{home}/llama --methods alignment",
     "--methods alignment: no --temperature FILE; `regulargpt align hf:{home}/llama --text FILE` writes one"),
    ("hf:{home}/llama --methods kerple", "--methods kerple: no --bias FILE; `regulargpt lengthen` writes one"),
    ("hf:{home}/llama --temperature none.json",
     "--temperature none.json: no such file; `regulargpt align RUN` writes one"),
    ("hf:{home}/llama --temperature {home}/t.json --methods yarn",
     "--temperature is for the method alignment, which --methods leaves out; name it there, too"),
    ("hf:{home}/llama --lengths 100,900", "--lengths 100: a document of 'passkey' has 268 tokens and more; "
     "choose a longer one"),
    ("hf:{home}/llama --lengths 2000000", "--lengths 2000000: at most 1,048,576 tokens; choose a shorter one"),
    ("hf:{home}/llama --lengths 400-900", "--lengths: 501 of them; choose at most 100"),
    ("hf:{home}/llama --train-len 8", "none of the usual lengths (8, 16, 32, 64, 128) fits: a document of 'passkey' "
     "has 268 tokens and more; choose others with --lengths"),
    ("hf:{home}/gpt2-300 --train-len 200", "none of the usual lengths (200) fits: a document of 'passkey' has 268 "
     "tokens and more; choose others with --lengths"),
    *((f"hf:{{home}}/gpt2-64{more}", "a document of 'passkey' has 268 tokens and more, and the network has positions "
       "for 64; choose another checkpoint\n") for more in ("", " --lengths 64", " --lengths 300", " --train-len 32")),
    ("hf:{home}/gpt2-64 --kinds passkey,line", "a document of 'line' has 608 tokens and more, and the network has "
     "positions for 64; choose another checkpoint or other --kinds\n"),
    ("hf:{home}/gpt2 --lengths 600", "--lengths 600: model.encoding.name = 'learned' has no vector behind position 512;"
     " choose a shorter one"),
    ("hf:{home}/gpt2 --methods yarn", "--methods yarn: its encoding of positions is 'learned', not 'rotary'"),
    ("hf:{home}/letters", "--kinds passkey: the tokenizer of {home}/letters cannot write an answer such as '50000'; "
     "choose another kind, or a checkpoint whose tokenizer can"),
    ("{home} --kinds line", "--kinds line: of a checkpoint only; leave it out, or give one as hf:PATH"),
    ("{home} --bias {home}/t.json", "--bias {home}/t.json: of a checkpoint only; leave it out, or give one as hf:PATH"),
    ("{home} --train-len 9", "--train-len 9: a run has its own; leave it out, or give a checkpoint as hf:PATH"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "reason"), REFUSED)
def test_what_is_refused_is_said_in_one_line_before_anything_is_written(
    home: Path, opened: Callable, tmp_path: Path, capsys: pytest.CaptureFixture, arguments: str, reason: str
):
    from regulargpt.evaluation import temperature

    temperature.write(home / "t.json", temperature.Temperature(((0.3,) * 4,) * 2, weights=opened("llama").weights))
    assert call(["needles", *arguments.format(home=home).split()]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {reason.format(home=home)}")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_what_is_left_out_is_said(home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    put(monkeypatch, Blind)
    assert call(["needles", f"hf:{home / 'llama'}", "--train-len", "200", "--words", "2", "--bins", "2", "--wide"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "llama, trained on 200 tokens: exact match (%), 2 documents a length"
    assert out[1].split() == ["passkey", "(%)", "400", "800", "1,600", "3,200"]
    left = [line for line in out if line.startswith("left out: ")]
    assert left[0] == "left out: 200, a document of 'passkey' has 268 tokens and more; choose a longer one"
    assert [line.split()[2] for line in left[1:]] == ["longrope,", "alignment,", "kerple,"]
    assert sorted(path.name for path in Path("needles/llama").iterdir()) == [
        "cells", "needles.csv", "needles.json", "needles.png"]  # fmt: skip
    assert not list((home / "llama").glob("needles*"))


def test_a_network_of_many_positions_is_asked_about_documents_that_a_cpu_has_time_for(
    home: Path, opened: Callable, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """The default ends at 4,096 tokens and compares nothing within the training length; whoever wants more says so."""
    put(monkeypatch, Blind)
    command = ["needles", f"hf:{home / 'llama'}", "--train-len", "131072", "--words", "1"]
    assert call([*command, "--wide"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["passkey", "(%)", "1,024", "2,048", "4,096"]
    assert out[-4:] == [
        "passkey at 4,096 tokens: 0 % (0 to 79) as trained",
        "its config says 512 positions; you gave --train-len 131072",
        "left out: lengths above 4,096 tokens; choose them with --lengths",
        "left out: all methods, no length is above 131,072; choose them with --methods",
    ]
    assert call([*command, "--lengths", "420,8192", "--methods", "bca", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["lengths"] == [420, 8192]
    assert list(report["kinds"]["passkey"]) == ["trained", "bca"]
