"""`hf:PATH`, a decoder that others trained: evaluate, measurements and align on a text; what is refused."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from regulargpt.cli import call
from regulargpt.encodings.base import Positions
from regulargpt.text.corpora import corpus
from tests.regulargpt.axe import violations
from tests.regulargpt.browser import Browser, needs_browser
from tests.regulargpt.checkpoint_folders import quiet
from tests.regulargpt.pretend_gpu import numbers, pretended
from tests.regulargpt.test_page_print import CUT, SHEET
from tests.regulargpt.tiny_decoders import ROPES, TRAINED, byte_tokenizer, made
from tests.test_imports import ROOT

WORDS = "the cat sat on a mat. a dog ran to the old house, and all of them were glad."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four checkpoints with tokenizers, one of bytes without, and a text of many files."""
    home = tmp_path_factory.mktemp("home")
    for kind in ("llama", "mistral", "gpt2"):
        made(home / kind, kind)
        byte_tokenizer().save(str(home / kind / "tokenizer.json"))
    made(home / "bytes", "qwen3", vocab_size=256)
    random = np.random.default_rng(0)
    (home / "text").mkdir()
    (home / "short.txt").write_text("a cat." * 100)
    for number in range(60):
        (home / "text" / f"{number}.txt").write_text(" ".join(random.choice(WORDS.split(), 300)))
    return home


@pytest.fixture
def asked(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable:
    """What a command line prints as JSON, in a folder of its own; its one line of error where it refuses."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGUAGES_CACHE", str(home / "cache"))

    def ask(*arguments: str, code: int = 0) -> Any:
        found = call([*arguments, *(["--json"] if not code else [])])
        out, err = capsys.readouterr()
        assert found == code, err
        return json.loads(out) if not code else err

    return ask


def of(home: Path, name: str = "llama") -> list[str]:
    return [f"hf:{home / name}", "--text", str(home / "text")]


def scored(asked: Callable, home: Path, *more: str, name: str = "llama") -> dict[str, Any]:
    return asked("evaluate", *of(home, name), "--lengths", "32,64,128", "--samples", "6", *more)


def test_a_checkpoint_is_tested_as_transformers_computes(asked: Callable, home: Path):
    """Bits a byte: nats of its own logits over the mean bytes of a token, of the last 32 tokens of each segment."""
    found = scored(asked, home)
    text = corpus(f"text:{home / 'text'}", home / "llama" / "tokenizer.json")
    from regulargpt.data import build
    from regulargpt.text.opened import open_checkpoint

    run = open_checkpoint(f"hf:{home / 'llama'}", str(home / "text"))
    theirs = quiet().AutoModelForCausalLM.from_pretrained(home / "llama").eval()
    words = torch.from_numpy(build(run.config.data).test(0, 128, 6).astype(np.int64))
    with torch.no_grad():
        logits = theirs(input_ids=words[:, :-1]).logits[:, -32:]
    nats = torch.nn.functional.cross_entropy(logits.flatten(0, 1), words[:, -32:].flatten())
    bits = float(nats) / np.log(2) / text.bytes_per_symbol
    assert found["measures"]["bits_per_byte"]["values"]["128"] == pytest.approx(bits, rel=1e-5)
    assert (found["extrapolation"]["base"], found["scoring"], found["run_dir"]) == (
        TRAINED,
        "last_k",
        str(home / "llama"),
    )
    assert "to_trained" not in found


def test_what_a_test_changes_is_held_against_the_network_as_trained(asked: Callable, home: Path):
    plain = scored(asked, home)["measures"]["nll"]["values"]
    found = scored(asked, home, "--set", "scaling=yarn,factor=4", "--attention", "bca")
    assert found["changes"] == {"encoding.scaling": "yarn", "encoding.factor": 4.0}
    assert list(found["to_trained"]) == ["32", "64", "128"]
    for length, (ratio, low, high) in found["to_trained"].items():
        ours = found["measures"]["nll"]["values"][length]
        assert ratio == pytest.approx(np.exp(ours - plain[length]), rel=1e-5)
        assert low < ratio < high
    # At the training length, too: a factor that is lost would leave it as it was.
    assert abs(found["to_trained"]["64"][0] - 1) > 1e-4
    assert scored(asked, home, "--attention", "sliding:128")["to_trained"]["128"][0] == pytest.approx(1, abs=1e-5)


def test_a_window_belongs_to_the_network(asked: Callable, home: Path):
    """Its last 7 keys in 2 layers are 13 tokens: a view of more changes nothing."""
    found = scored(asked, home, "--attention", "sliding:8", name="mistral")
    assert all(ratio == pytest.approx(1, abs=1e-5) for ratio, _, _ in found["to_trained"].values())


def test_learned_positions_go_on_only_where_somebody_says_how(asked: Callable, home: Path):
    said = asked("evaluate", *of(home, "gpt2"), "--lengths", "32,64,128", code=2)
    assert said == (
        "error: length 128: model.encoding.name = 'learned' has no vector behind position 64; "
        "set model.encoding.beyond = 'clamp'\n"
    )
    assert list(scored(asked, home, "--set", "beyond=clamp", name="gpt2")["to_trained"]) == ["32", "64"]


def test_a_network_of_bytes_needs_no_tokenizer(asked: Callable, home: Path):
    found = scored(asked, home, name="bytes")["measures"]
    for length, nats in found["nll"]["values"].items():
        assert found["bits_per_byte"]["values"][length] == pytest.approx(nats / np.log(2))


def test_every_measurement_of_texts_takes_a_checkpoint(asked: Callable, home: Path, tmp_path: Path):
    positions = asked("positions", *of(home), "--length", "128", "--words", "4")
    assert (positions["model"], positions["train_len"], len(positions["nll"])) == ("llama", TRAINED, 128)
    assert positions["reference"]["attention"] == f"sliding:{TRAINED}"
    assert asked("resolution", *of(home, "mistral"), "--length", "64", "--words", "2")["length"] == 64
    asked("receptive-field", *of(home), "--length", "64", "--words", "2")
    assert (tmp_path / "positions" / "llama" / "positions.png").is_file()
    assert sorted(path.name for path in (home / "llama").iterdir()) == [
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]  # fmt: skip


def test_methods_are_compared_as_single_tests_say(asked: Callable, home: Path, tmp_path: Path):
    """One number of each table against `evaluate`; what a network has no option for is left out and named."""
    asked_for = ["--lengths", "64,128", "--words", "6"]
    report = asked("methods", *of(home), *asked_for, "--methods", "yarn,self-extend,alignment")
    assert list(report["methods"]) == ["trained", "yarn", "self-extend", "alignment"]
    single = {"yarn": ("--set", "scaling=yarn,factor=2"), "self-extend": ("--attention", "self-extend:3:16")}
    settings = report["settings"]
    assert settings["yarn"]["128"] == {
        "changes": {"encoding.scaling": "yarn", "encoding.factor": 2.0},
        "attention": "full",
        "flags": "--set scaling=yarn,factor=2.0",
    }
    assert [settings[name]["128"]["flags"] for name in report["methods"]] == [
        *("-", "--set scaling=yarn,factor=2.0", "--attention self-extend:3:16", "--temperature FILE")
    ]
    page = (tmp_path / "methods" / "llama" / "methods.html").read_text()
    assert "64: --set scaling=yarn,factor=1.0; 128: --set scaling=yarn,factor=2.0" in page
    for name, flags in single.items():
        found, of_method = scored(asked, home, *flags), report["methods"][name]
        assert of_method["to_trained"]["128"] == pytest.approx(found["to_trained"]["128"], abs=1e-5)
        assert of_method["bits_per_byte"]["128"][0] == pytest.approx(
            found["measures"]["bits_per_byte"]["values"]["128"], abs=1e-5
        )
        assert of_method["to_training_length"]["128"] == pytest.approx(
            found["extrapolation"]["ratios"]["128"], abs=1e-5
        )
    assert report["methods"]["alignment"]["to_trained"]["64"][0] == 1
    assert report["methods"]["alignment"]["to_trained"]["128"][0] != 1
    rows = (tmp_path / "methods" / "llama" / "methods.csv").read_text().splitlines()
    assert len(rows) == 1 + 4 * 2
    every = asked("methods", *of(home, "gpt2"), *asked_for)
    assert sorted(every["methods"]) == ["alignment", "bca", "sinks", "sliding", "trained"]
    assert every["left_out"]["yarn"] == "its encoding of positions is 'learned', not 'rotary'"
    assert "positions in the embeddings" in every["left_out"]["self-extend"]


@pytest.mark.parametrize("kind", ["llama3", "yarn"])
def test_at_the_training_length_no_method_changes_a_scaled_network(
    asked: Callable, home: Path, tmp_path: Path, kind: str
):
    made(tmp_path / kind, "llama", vocab_size=256, rope_parameters={"rope_theta": 100.0, **ROPES[kind]})
    place = [f"hf:{tmp_path / kind}", "--text", str(home / "text")]
    found = asked("methods", *place, "--lengths", "64,128", "--words", "2")
    assert set(found["methods"]) == {"trained", kind, "sliding", "bca", "sinks", "self-extend", "alignment"}
    assert all(of["to_trained"]["64"] == pytest.approx([1, 1, 1], abs=1e-5) for of in found["methods"].values())
    assert found["methods"][kind]["to_trained"]["128"][0] != 1


def test_frequencies_of_a_scaling_that_goes_on(home: Path, tmp_path: Path):
    """By hand (Llama 3's code) and by that of transformers, for twice the training length: twice the own factor."""
    from regulargpt.text.measurements.methods import Cells, Methods
    from regulargpt.text.opened import open_checkpoint

    for kind in ("llama3", "yarn"):
        given = {"rope_theta": 100.0, **ROPES[kind]}
        made(tmp_path / kind, "llama", vocab_size=256, rope_parameters=given)
        run = open_checkpoint(f"hf:{tmp_path / kind}", str(home / "text"))
        methods = Methods(run=run, lengths=[64, 128], seed=0, cells=Cells(None))
        encoding = run.network(methods.changes(kind, 128)).encoding
        last = torch.tensor([127.0], dtype=torch.float64)
        found, scale = encoding.scaled(Positions(last, last))
        plain = [100.0 ** (-2 * i / 6) for i in range(3)]
        if kind == "llama3":  # original length 32, ramp from 0.5 to 3 turns
            ramp = [min(1.0, max(0.0, (32 * theta / (2 * np.pi) - 0.5) / 2.5)) for theta in plain]
            assert 0 == ramp[2] < ramp[1] < ramp[0]
            assert (found.tolist(), scale) == (
                pytest.approx([theta * (kept + (1 - kept) / 16) for theta, kept in zip(plain, ramp, strict=True)]),
                1,
            )
        else:
            config = LlamaConfig(hidden_size=24, num_attention_heads=4, rope_parameters={**given, "factor": 8.0})
            theirs, sharper = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"))
            torch.testing.assert_close(found, theirs.double(), rtol=1e-5, atol=0)
            assert scale == pytest.approx(sharper) == pytest.approx(0.1 * np.log(8) + 1)


def compared(asked: Callable, home: Path, *more: str) -> Any:
    return asked("methods", *of(home), "--lengths", "64,128", "--words", "4", "--methods", "bca,alignment", *more)


def cells(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (place / "cells").iterdir()}


def test_a_comparison_goes_on_where_it_was_stopped(
    asked: Callable, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """Killed before the fourth of six results, it comes to the bytes of a comparison that nothing stopped."""
    from regulargpt.runs.again import Retest

    whole, parts, plain = compared(asked, home, "--out", "whole"), [], Retest.points

    def stopping(*given: Any) -> Any:
        if len(parts) == 3:
            raise KeyboardInterrupt
        parts.append(given)
        return plain(*given)

    monkeypatch.setattr(Retest, "points", stopping)
    command = ["methods", *of(home), "--lengths", "64,128", "--words", "4", "--methods", "bca,alignment"]
    assert (call([*command, "--out", "part"]), capsys.readouterr().err) == (75, "\nstopped\n")
    assert [path.name for path in (tmp_path / "part").iterdir()] == ["cells"]
    assert len(cells(tmp_path / "part")) == 3
    parts.clear()
    assert call([*command, "--out", "part", "--json"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == (whole, "3 of 6 results are kept in part/cells\n")
    assert len(parts) == 3
    assert cells(tmp_path / "part") == cells(tmp_path / "whole")
    for end in ("csv", "json"):
        assert len({(tmp_path / place / f"methods.{end}").read_bytes() for place in ("part", "whole")}) == 1
    # Of another seed nothing is taken; where a method is added, what is there.
    monkeypatch.setattr(Retest, "points", plain)
    assert call([*command, "--out", "part", "--seed", "7"]) == 0
    assert (len(cells(tmp_path / "part")), "kept" in capsys.readouterr().err) == (12, False)
    assert call([*command[:-1], "bca,alignment,yarn", "--out", "part"]) == 0
    assert capsys.readouterr().err == "6 of 8 results are kept in part/cells\n"


def test_a_temperature_that_was_found_is_not_searched_for_again(
    asked: Callable, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Killed between the search and its test; its progress is told pass by pass; a damaged file is searched anew."""
    from regulargpt.measurements.measuring import measured
    from regulargpt.runs.again import Retest
    from regulargpt.text.measurements import methods

    whole, plain, searches = compared(asked, home, "--out", "whole"), Retest.points, []
    (name,) = (path.name for path in (tmp_path / "whole" / "temperatures").iterdir())
    temperatures = [(tmp_path / "whole" / "temperatures" / name).read_bytes()]
    given = {"text": str(home / "text"), "lengths": "64,128", "methods": "bca,alignment", "words": 4}
    find = methods.find
    monkeypatch.setattr(methods, "find", lambda *of: searches.append(of) or find(*of))

    def until_the_test(test: Retest, model: Any, *more: Any) -> Any:
        if hasattr(model.encoding, "tau"):
            raise KeyboardInterrupt
        return plain(test, model, *more)

    monkeypatch.setattr(Retest, "points", until_the_test)
    heard: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        measured(
            "methods", f"hf:{home / 'llama'}", tmp_path / "part", progress=lambda *at: heard.append(at[0]), **given
        )
    begin = 4 * (2 * (64 + 128) + 64)
    assert heard[-13:] == [begin, *(begin + 8 * (64 + 128 * i) for i in range(12))]
    assert [path.read_bytes() for path in (tmp_path / "part" / "temperatures").iterdir()] == temperatures
    monkeypatch.setattr(Retest, "points", plain)
    assert compared(asked, home, "--out", "part") == whole
    assert (len(searches), cells(tmp_path / "part")) == (1, cells(tmp_path / "whole"))
    # Another seed has another temperature; a file that lost its end is said, and written anew.
    file = tmp_path / "part" / "temperatures" / name
    file.write_bytes(temperatures[0][:-9])
    for path in (tmp_path / "part" / "cells").glob("alignment-128-*"):
        path.unlink()
    compared(asked, home, "--out", "part")
    assert (len(searches), file.read_bytes()) == (2, temperatures[0])
    compared(asked, home, "--out", "part", "--seed", "7")
    assert len(list(file.parent.iterdir())) == 2


def test_a_result_that_was_changed_is_computed_again(
    asked: Callable, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    """A bit of its numbers, its end, the name of another one's: each is said in one line, and nothing of it is used."""
    whole, place = compared(asked, home), tmp_path / "methods" / "llama"
    before = cells(place)
    names = sorted(before)
    spoilt = [
        before[names[0]].replace(b'"nll": [\n      ', b'"nll": [\n      1'),
        before[names[1]][:-9],
        before[names[0]],
        b"",
    ]
    for name, content in zip(names, spoilt, strict=False):
        assert before[name] != content
        (place / "cells" / name).write_bytes(content)
    command = ["methods", *of(home), "--lengths", "64,128", "--words", "4", "--methods", "bca,alignment"]
    assert call([*command, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == whole
    again = [f"methods/llama/cells/{name} is damaged; it is computed again" for name in names[:4]]
    assert sorted(err.splitlines()) == sorted([*again, "2 of 6 results are kept in methods/llama/cells"])
    assert cells(place) == before


@needs_browser
def test_the_page_of_a_comparison_fits_and_breaks_no_rule(
    asked: Callable, home: Path, tmp_path: Path, browser: Browser
):
    """Every method, and of a network with learned positions what was left out; on paper nothing is cut."""
    for name, dark in (("llama", True), ("gpt2", False)):
        found = asked("methods", *of(home, name), "--lengths", "32,64,128", "--words", "4")
        page = tmp_path / "methods" / name / "methods.html"
        for width in (390, 1280):
            browser.open(page, width=width, dark=dark)
            browser.assert_fits()
            assert violations(browser) == []
            browser.assert_silent()
        assert browser.all(".methods tbody th") == list(found["methods"])
        assert browser.count(".plot .band") == 2  # of many lines those of trained and the best
        assert browser.all(".left-out dt") == list(found["left_out"])
        said = browser.one("main")
        for part in (found["how"]["weights"], found["how"]["corpus"]["sha256"], "last_k: the last 32 symbols"):
            assert part in said
        assert found["summary"][1:] in said
        assert ("on segments of one length dynamic_ntk is ntk" in said) == ("ntk" in found["methods"])
        browser.call("Emulation.setDeviceMetricsOverride", width=SHEET, height=1000, deviceScaleFactor=1, mobile=False)
        browser.call("Emulation.setEmulatedMedia", media="print")
        browser.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert browser.evaluate(CUT) == []


def test_a_comparison_says_how_far_it_has_come(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Within a length, too: 4 segments that are read one by one."""
    from regulargpt.evaluation import by_length
    from regulargpt.measurements.measuring import measured

    monkeypatch.setenv("LANGUAGES_CACHE", str(home / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(by_length, "CPU_PAIRS_AT_ONCE", 1)
    heard: list[tuple[int, int]] = []
    given = {"text": str(home / "text"), "lengths": "64,128", "methods": "bca", "words": 4}
    measured("methods", f"hf:{home / 'llama'}", progress=lambda *so_far: heard.append(so_far), **given)
    steps = [64 * i for i in range(5)] + [256 + 128 * i for i in range(5)]
    assert heard == [(at + step, 1536) for at in (0, 768) for step in steps] + [(1536, 1536)]


def test_the_device_is_taken_and_refused(asked: Callable, home: Path, tmp_path: Path):
    found = compared(asked, home, "--device", "cpu")
    assert found["how"]["made_with"]["device"] == "cpu"
    assert asked("evaluate", *of(home), "--lengths", "64", "--samples", "2", "--device", "cpu")["samples"] == {"64": 2}


ANALYSES = {
    "positions": ["--length", "128", "--words", "4"],
    "resolution": ["--length", "64", "--words", "2", "--attention", "bca"],
    "receptive-field": ["--length", "64", "--words", "2"],
    "align": ["--length", "128", "--words", "2", "--by", "head"],
    "methods": ["--lengths", "128", "--words", "2", "--methods", "alignment,yarn,sinks"],
}


@pytest.mark.parametrize("verb", ANALYSES)
def test_an_analysis_makes_all_where_the_network_is(asked: Callable, home: Path, verb: str):
    """On a device that takes no tensor of the CPU, the numbers are those of the CPU but for rounding."""
    here = asked(verb, *of(home), *ANALYSES[verb])
    with pretended():
        there = asked(verb, *of(home), *ANALYSES[verb], "--out", "there")
    assert numbers(there) == pytest.approx(numbers(here), abs=1e-5)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("verb", ["evaluate", *ANALYSES])
def test_a_device_that_is_not_there_is_refused(asked: Callable, home: Path, tmp_path: Path, verb: str):
    for name in ("tpu", "meta"):
        said = asked(verb, *of(home), "--device", name, code=2)
        assert re.fullmatch(f"error: .*device.*'{name}'.*'auto', 'cpu', 'cuda'\\.?\n", said)
    said = asked(verb, *of(home), *ANALYSES.get(verb, ["--lengths", "64"]), "--device", "cuda", code=2)
    assert said == "error: device = 'cuda': this machine has no GPU that torch can use; choose --device cpu or auto\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_methods_are_compared_on_a_gpu(asked: Callable, home: Path):
    found = [compared(asked, home, "--device", device)["methods"]["bca"] for device in ("cpu", "cuda")]
    for length, (bits, _, _) in found[0]["bits_per_byte"].items():
        assert found[1]["bits_per_byte"][length][0] == pytest.approx(bits, rel=1e-3)


def test_a_temperature_is_aligned_and_used(asked: Callable, home: Path, tmp_path: Path):
    report = asked("align", *of(home), "--length", "128", "--words", "2", "--by", "layer")
    file = tmp_path / "align" / "llama" / "temperature-p_max.json"
    written = json.loads(file.read_text())
    assert (len(written["tau"]), len(written["tau"][0]), written["train_len"]) == (2, 4, TRAINED)
    assert report["before"]["short"]["p_max"] > report["before"]["long"]["p_max"]
    assert scored(asked, home, "--temperature", str(file))["to_trained"]["128"][0] != 1
    said = asked("evaluate", *of(home, "mistral"), "--lengths", "64", "--temperature", str(file), code=2)
    assert "was made for another network" in said


def test_a_bias_is_trained_and_used(asked: Callable, home: Path, tmp_path: Path):
    """Its file in `evaluate` and in `methods` gives what `lengthen` said, with the scaling that it was trained with."""
    trained = ["--steps", "3", "--lr", "0.3", "--set", "scaling=interpolation,factor=2", "--words", "6"]
    report = asked("lengthen", *of(home), *trained)
    assert list(report["tests"]) == ["trained", "the same without bias", "kerple_log"]
    file, ratio = tmp_path / "lengthen" / "llama" / "bias.json", report["tests"]["kerple_log"]["to_trained"]
    assert (sorted(ratio), report["length"], report["file"]) == (["128", "64"], 128, str(Path(*file.parts[-3:])))
    found = scored(asked, home, "--bias", str(file))
    assert found["changes"] == {"encoding.scaling": "interpolation", "encoding.factor": 2.0}
    assert found["to_trained"]["128"] == pytest.approx(ratio["128"], abs=1e-5)
    plain = scored(asked, home, "--bias", str(file), "--set", "scaling=none")
    assert plain["changes"]["encoding.scaling"] == "none"
    assert plain["to_trained"]["128"][0] != found["to_trained"]["128"][0]
    given = ["--lengths", "64,128", "--words", "6", "--methods", "kerple", "--bias", str(file)]
    compared = asked("methods", *of(home), *given)["methods"]["kerple"]
    assert compared["to_trained"]["128"] == pytest.approx(ratio["128"], abs=1e-5)
    rows = (file.parent / "training.csv").read_text().splitlines()
    assert rows[0] == "step,loss,bits_per_byte"
    assert len(rows) == 4
    assert asked("lengthen", *of(home), *trained) == report  # it is there already
    more = asked("lengthen", *of(home), *trained[:-1], "9", "--lengths", "64,96")  # with another test
    assert (more["numbers"], sorted(more["tests"]["kerple_log"]["to_trained"])) == (report["numbers"], ["64", "96"])
    said = asked("evaluate", *of(home, "mistral"), "--lengths", "64", "--bias", str(file), code=2)
    assert "was made for another network" in said
    said = asked("lengthen", *of(home), *trained, "--seed", "1", code=2)
    assert "lengthen/llama holds another training: seed = 0 there, 1 here; choose another --out" in said
    for verb, place in [(verb, file.parent) for verb in ("resume", "evaluate", "generate", "results")] + [
        ("results", file.parents[1])
    ]:
        said = asked(verb, str(place), code=2)
        again = f"type the same again, with --out {file.parent}: it goes on, or shows what came out"
        assert said == f"error: {file.parent} is no run: a bias was trained there by `regulargpt lengthen`; {again}\n"


REFUSED = [
    (["evaluate", "hf:{home}/llama"], "needs a text; name a file or folder of yours, or text:code, with --text"),
    (["evaluate", "hf:{home}/none", "--text", "text:code"], "no such folder; a checkpoint is read from disk"),
    (["evaluate", "hf:{home}/text", "--text", "text:code"], "has no config.json; give the folder of a decoder"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/none"], "is no built-in text, file or folder"),
    (["evaluate", "{home}/none", "--text", "text:code"], "--text text:code: a run has its own; leave it out"),
    (["positions", "{home}/none", "--train-len", "64"], "--train-len 64: a run has its own; leave it out"),
    (["positions", "hf:{home}/llama"], "needs a text"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/text", "--set", "factor=2"],
     "model.encoding.factor = 2 changes nothing with model.encoding.scaling = none; leave it out"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/text", "--set", "d_ff=2"],
     "model.d_ff: a trained run can be tested under other data, objective or evaluation only"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/text", "--set", "tokenizer=x.json"], "x.json"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/text", "--quantised"], "is no run, and has no certificate"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/text", "--lengths", "9000000"], "which allows test lengths"),
    (["methods", "hf:{home}/llama", "--text", "{home}/text", "--methods", "yarm"], "unknown method 'yarm'; did you"),
    (["methods", "hf:{home}/llama", "--text", "{home}/text", "--lengths", "64,900000"], "--lengths 900000: text:"),
    (["methods", "hf:{home}/bytes", "--text", "{home}/short.txt"], "short.txt has 540 symbols to train on, and 60 to "
     "test on, which allows test lengths up to 29; choose a shorter length, or a longer text\n"),
    (["methods", "hf:{home}/gpt2", "--text", "{home}/text", "--methods", "yarn"], "--methods yarn: its encoding of "
     "positions is 'learned', not 'rotary'\n"),
    (["methods", "hf:{home}/llama", "--text", "{home}/text", "--methods", "kerple"], "--methods kerple: no --bias"),
    (["methods", "hf:{home}/llama", "--text", "{home}/text", "--bias", "none.json"], "none.json: no such file;"),
    (["evaluate", "hf:{home}/llama", "--text", "{home}/text", "--bias", "none.json"], "none.json: no such file;"),
    (["lengthen", "hf:{home}/llama"], "needs a text; name a file or folder of yours"),
    (["lengthen", "hf:{home}/gpt2", "--text", "{home}/text"], "--length 128: model.encoding.name = 'learned' has no"),
    (["lengthen", "hf:{home}/llama", "--text", "{home}/text", "--length", "900000"], "--length 900000: text:"),
    (["lengthen", "hf:{home}/llama", "--text", "{home}/text", "--set", "last=3"],
     "--set data.last: only options of the network, as in --set scaling=interpolation,factor=4"),
    (["lengthen", "hf:{home}/llama", "--text", "{home}/text", "--lengths", "64,900000"], "--lengths 900000: text:"),
    (["align", "hf:{home}/llama", "--text", "{home}/text", "--length", "64"], "trained on up to 64 symbols"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "reason"), REFUSED)
def test_what_is_refused_is_said_in_one_line_before_anything_is_written(
    asked: Callable, home: Path, tmp_path: Path, arguments: list[str], reason: str
):
    said = asked(*(argument.format(home=home) for argument in arguments), code=2)
    assert reason in said
    assert said.startswith("error: ")
    assert said.count("\n") == 1
    assert not list(tmp_path.iterdir())


TAKING = {"evaluate", "generate", "receptive-field", "resolution", "positions", "methods", "align", "lengthen"}


@pytest.mark.parametrize(
    "verb", ["show", "kernels", "shortcuts", "check", "results", "resume", "sample", "run", "verify"]
)
def test_a_verb_that_takes_no_checkpoint_names_those_that_do(asked: Callable, home: Path, tmp_path: Path, verb: str):
    """`hf:` also begins the name of a data set, which `show` and `run` take."""
    place = f"hf:{home / 'llama'}"
    start = f"error: {place} is a checkpoint that others trained, which {verb} does not take; "
    said = asked(verb, place, code=2)
    assert said.startswith(start)
    assert set(re.split(", | and ", said.removeprefix(start).removesuffix(" do\n"))) >= TAKING
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["evaluate", "methods", "generate", "needles", "positions", "align", "lengthen"])
def test_a_folder_without_hf_is_answered_with_the_right_name(asked: Callable, home: Path, verb: str):
    place = home / "llama"
    said = asked(verb, str(place), code=2)
    assert said == f"error: {place} is a checkpoint that others trained; did you mean hf:{place}?\n"
    assert f"{place} is a checkpoint that others trained, which verify does not take" in asked(
        "verify", str(place), code=2
    )


def long_one(home: Path, tmp_path: Path) -> list[str]:
    """A checkpoint with more positions than a test segment has, on a text that is too short for them."""
    made(tmp_path / "long", "llama", max_position_embeddings=131_072)
    byte_tokenizer().save(str(tmp_path / "long" / "tokenizer.json"))
    (tmp_path / "few.txt").write_text(" ".join(np.random.default_rng(0).choice(WORDS.split(), 3000)))
    return [f"hf:{tmp_path / 'long'}", "--text", str(tmp_path / "few.txt")]


def test_only_lengths_that_are_named_must_fit(asked: Callable, home: Path, tmp_path: Path):
    place = long_one(home, tmp_path)
    tested = asked("evaluate", *place, "--lengths", "64", "--samples", "2")
    assert (list(tested["samples"]), "notes" in tested, tested["extrapolation"]) == (["64"], False, None)
    assert asked("methods", *place, "--lengths", "64", "--words", "2", "--methods", "bca")["lengths"] == [64]


def test_lengths_that_fit_are_chosen_and_said(asked: Callable, home: Path, tmp_path: Path):
    place = long_one(home, tmp_path)
    tested = asked("evaluate", *place, "--samples", "2")
    assert list(tested["samples"]) == ["64", "128", "256", "512"]
    (note,) = tested["notes"]
    assert note.startswith("left out: 131,072, 262,144, ")
    assert "symbols; the text allows up to " in note
    assert asked("methods", *place, "--words", "2", "--methods", "bca")["lengths"] == [64, 128, 256, 512]
    assert asked("positions", *place, "--words", "2")["length"] == 512
    said = asked("align", *place, "--words", "2", code=2)
    assert "nothing longer than the training length 131,072 can be aligned: at most 32,768 symbols are aligned" in said


def test_a_training_length_below_the_configs_is_said_and_makes_no_extrapolation(
    asked: Callable, home: Path, capsys: pytest.CaptureFixture
):
    given = ["evaluate", *of(home), "--train-len", "32", "--samples", "6", "--lengths"]
    note = "its config says 64 positions; you gave --train-len 32"
    within = asked(*given, "32,64")
    assert (within["extrapolation"], within["notes"]) == (None, [note])
    beyond = asked(*given, "32,64,128")["extrapolation"]
    assert (beyond["base"], list(beyond["ratios"])) == (64, ["128"])
    assert call(["positions", *of(home), "--train-len", "32", "--length", "64", "--words", "2"]) == 0
    assert f"\n{note}\n" in capsys.readouterr().out
    assert asked("positions", *of(home), "--train-len", "32", "--length", "64", "--words", "2")["config_len"] == 64


def test_a_tokenizer_must_be_there_and_fit(asked: Callable, home: Path, tmp_path: Path):
    folder = tmp_path / "copy"
    shutil.copytree(home / "llama", folder)
    content = json.loads((folder / "tokenizer.json").read_text())
    content["model"]["vocab"]["%"] = 50
    (folder / "tokenizer.json").write_text(json.dumps(content))
    given = ["evaluate", f"hf:{folder}", "--text", str(home / "text")]
    assert "has 51 tokens, and the network knows 50" in asked(*given, code=2)
    (folder / "tokenizer.json").unlink()
    assert "has no tokenizer.json; save the fast tokenizer beside the weights" in asked(*given, code=2)


def test_the_guides_commands_on_a_checkpoint(asked: Callable, tmp_path: Path):
    """As they stand in the guide, but on a tiny folder and a text of random words."""
    guide = (ROOT / "docs" / "text.md").read_text(encoding="utf-8")
    block = re.search(r"## Your checkpoint\n.*?```sh\n(.*?)```", guide, re.DOTALL)
    assert block
    made(tmp_path / "models" / "pythia-160m", "neox")
    byte_tokenizer().save(str(tmp_path / "models" / "pythia-160m" / "tokenizer.json"))
    (tmp_path / "book.txt").write_text(" ".join(np.random.default_rng(0).choice(WORDS.split(), 60_000)))
    few = {"methods": ["--words", "2"], "evaluate": ["--samples", "2"]}
    commands = [shlex.split(line, comments=True)[1:] for line in block[1].splitlines()]
    listed, compared, tested = (asked(*command, *few.get(command[0], [])) for command in commands)
    assert {"trained", "yarn", "bca"} <= {row["name"] for row in listed["methods"]}
    assert list(compared["methods"]) == ["trained", "yarn", "bca"]
    assert set(tested["measures"]["bits_per_byte"]["values"]) == {"2048", "4096", "8192"}
