"""`regulargpt reproduce table-5.4 --model`: what is asked, kept and refused; and a tiny T5 against `transformers`."""

import json
import math
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from experiments.page import files
from regulargpt.text.experiments.checkpoint import network
from regulargpt.text.experiments.checkpoint.answers import AnswerStore
from regulargpt.text.experiments.checkpoint.network import Sharpened
from regulargpt.text.experiments.checkpoint.plan import STRATEGIES, plan
from tests.cli.conftest import Answer as Called
from tests.cli.conftest import Cli, assert_refused, everything
from tests.experiments import tiny_t5
from tests.experiments.folders import cells_of
from tests.languages.prompt_reading import FOUND

XL = {"d_model": 2048, "num_layers": 24, "d_ff": 5120, "num_heads": 32}
TAU = {"none": 1.0, "p_max": 0.8, "entropy": 0.6, "log": 0.7}
COLUMNS = 12  # at scale smoke: a size of each task, with every strategy


@dataclass
class Knowing:
    """A network that reads its prompts, and says what they ask for at some temperatures only."""

    right_at: Sequence[float] = tuple(TAU.values())
    asked: list[tuple[str, float]] = field(default_factory=list)
    stop_after: int = 10**6

    def aligned(self, short: Sequence[str], long: Sequence[str]) -> "Knowing":
        """Itself."""
        return self

    def temperature(self, strategy: str) -> Sharpened:
        """One for each."""
        return Sharpened(TAU[strategy], at_bound=strategy == "entropy")

    def answer(self, text: str, tau: float) -> str:
        """What a reader finds, or nothing that is right."""
        self.asked.append((text, tau))
        if len(self.asked) == self.stop_after:
            signal.raise_signal(signal.SIGTERM)
        task = next(name for name, sign in SIGNS.items() if sign in text)
        return f"It is {FOUND[task](text)}." if tau in self.right_at else "I do not know."


SIGNS = {"topic": "<TOPIC>", "line": "<REGISTER_CONTENT>", "passkey": "pass key"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The small files of a checkpoint with the sizes of Flan-T5-XL; no network is in it."""
    place = tmp_path / "flan-t5-xl"
    place.mkdir()
    tokenizer = Tokenizer(models.WordLevel({"<pad>": 0, "</s>": 1, "<unk>": 2}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(place / "tokenizer.json"))
    (place / "config.json").write_text(json.dumps({"model_type": "t5", "vocab_size": 3, **XL}))
    (place / "model.safetensors").write_bytes(b"weights")
    return place


@pytest.fixture
def asked(cli: Cli, folder: Path, monkeypatch) -> Callable[..., tuple[Called, Knowing]]:
    """Call the command, at scale smoke, with a network of this test."""

    def call(*arguments: str, made: Knowing | None = None) -> tuple[Called, Knowing]:
        answers = made or Knowing()
        monkeypatch.setattr(network.DiskCheckpoint, "load", lambda self: answers)
        given_ = ("reproduce", "table-5.4", "--model", f"hf:{folder}", "--scale", "smoke", "--out", "r")
        return cli(*given_, *arguments), answers

    return call


PLACE = Path("r/table-5.4-flan-t5-xl-smoke")


def found_in(place: Path = PLACE) -> dict[str, Any]:
    return files.plain(place)


# What is asked.


def test_who_knows_all_answers_finds_everything_and_who_knows_none_nothing(asked):
    called, knowing = asked(made=Knowing(right_at=(1.0, 0.7)))
    assert called.code == 0, called.err
    assert called.err.splitlines()[0].startswith("asking topic/2, about ")
    assert len(called.err.splitlines()) == COLUMNS
    cells = cells_of(found_in())
    assert len(cells) == COLUMNS
    for cell in cells:
        value = 100.0 if cell["strategy"] in ("none", "log") else 0.0
        assert (cell["exact"]["value"], cell["tau"]) == (value, TAU[cell["strategy"]])
        assert cell["exact"]["low"] < cell["exact"]["high"]
        assert cell["at_bound"] == (cell["strategy"] == "entropy")
    # Every strategy was asked the same.
    by_tau = [sorted(text for text, tau in knowing.asked if tau == one) for one in TAU.values()]
    assert by_tau[0] == by_tau[1] == by_tau[2] == by_tau[3]
    assert len(by_tau[0]) == 6
    answers = json.loads((PLACE / "answers" / "line-none.json").read_text())["40"]["answers"]
    assert all(one["said"] == f"It is {one['wanted']}." and one["right"] for one in answers)


def test_tasks_and_samples_are_chosen(asked):
    called, knowing = asked("--only", "line,topic", "--samples", "3")
    assert called.code == 0, called.err
    assert len(knowing.asked) == 2 * 3 * len(STRATEGIES)
    assert found_in()["left_out"] == ["passkey"]
    assert "Not asked for yet: passkey." in (PLACE / "page.md").read_text()
    # Another task joins those that are there.
    called, knowing = asked("--only", "passkey", "--samples", "3")
    assert (called.code, len(knowing.asked)) == (0, 3 * len(STRATEGIES))
    assert (found_in()["left_out"], len(cells_of(found_in()))) == ([], COLUMNS)
    assert "3 prompts each" in (PLACE / "page.md").read_text()


# What is kept.


def test_what_is_done_is_not_asked_again(asked):
    asked()
    before = everything(PLACE / "answers")
    called, knowing = asked()
    assert (called.code, knowing.asked) == (0, [])
    (PLACE / "answers" / "line-log.json").unlink()
    called, knowing = asked()
    assert (called.code, {tau for _, tau in knowing.asked}, len(knowing.asked)) == (0, {TAU["log"]}, 2)
    assert everything(PLACE / "answers") == before


@pytest.mark.parametrize("after", [1, 2, 17])
def test_stopped_and_gone_on_with_is_as_never_stopped(asked, after: int):
    asked()
    whole = everything(PLACE / "answers")
    shutil.rmtree(PLACE)
    called, knowing = asked(made=Knowing(stop_after=after))
    assert called.code == 75
    assert called.err.splitlines()[-1] == "stopped by SIGTERM; the same command goes on from there"
    assert len(knowing.asked) == after
    # Of two prompts a column: the one that was interrupted is asked anew.
    assert len(found_in()["missing"]) == COLUMNS - after // 2
    called, again = asked("--page-only")
    assert (called.code, again.asked) == (75, [])
    called, again = asked()
    assert (called.code, len(again.asked)) == (0, 2 * (COLUMNS - after // 2))
    assert everything(PLACE / "answers") == whole
    assert asked("--page-only")[0].code == 0


def test_a_dry_run_says_how_far_it_is_and_writes_nothing(asked):
    called, _ = asked("--dry-run")
    assert called.code == 0
    assert called.out.splitlines()[-1] == f"{COLUMNS} columns in {PLACE}: {COLUMNS} missing"
    assert not PLACE.exists()
    asked("--only", "topic")
    data = json.loads(asked("--dry-run", "--json")[0].out)
    assert [column["state"] for column in data["columns"]] == ["done"] * 4 + ["missing"] * 8


# What is refused.


def test_another_checkpoint_is_refused_and_nothing_changes(asked, folder: Path):
    asked()
    before = everything(PLACE)
    assert_refused(asked("--samples", "3")[0], "has 2 prompts a column; give --samples 2, or choose another --out")
    (folder / "model.safetensors").write_bytes(b"other weights")
    assert_refused(asked()[0], "is of a checkpoint with the weights …choose another --out")
    (folder / "model.safetensors").write_bytes(b"weights")
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text() + "\n")
    assert_refused(asked()[0], "is of a checkpoint with the tokenizer …choose another --out")
    assert everything(PLACE) == before


DAMAGE: list[tuple[str, Callable[[Any], Any]]] = [
    ("answers/line-none.json", lambda found: found | {"many": found["40"]}),
    ("answers/line-none.json", lambda found: {"40": {"tokens": 3}}),
    ("answers/line-none.json", lambda found: {"40": found["40"] | {"answers": [{"said": ""}]}}),
    ("answers/line-none.json", lambda found: {"40": 3}),
    ("checkpoint.json", lambda found: {"format": 1}),
]


@pytest.mark.parametrize(("name", "change"), DAMAGE)
def test_a_damaged_file_is_named(asked, name: str, change: Callable[[Any], Any]):
    asked("--only", "line")
    file = PLACE / name
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    assert_refused(asked()[0], f"{file} is damaged; restore it from a copy, or delete it")


def test_a_file_of_another_format_is_refused(asked):
    asked("--only", "line")
    (PLACE / "checkpoint.json").write_text('{"format": 2}')
    assert_refused(asked()[0], "is not of format 1; choose another --out")


def test_a_checkpoint_that_cannot_be_asked_is_refused_before_anything_is_written(cli: Cli, folder: Path):
    here = ("reproduce", "table-5.4", "--scale", "smoke", "--model")
    for nowhere in ("hf:nowhere", "hf:~nobody-of-this-name/t5", "a" * 5000):
        assert_refused(cli(*here, nowhere), ": no such folder")
    assert_refused(
        cli(*here, f"hf:{folder}", "--page-only"), "nothing of flan-t5-xl was asked for in …leave --page-only out"
    )
    assert_refused(cli(*here, f"hf:{folder}", "--only", "lines"), "no task 'lines'; did you mean 'line'?")
    assert_refused(cli(*here, f"hf:{folder}", "--minutes", "60"), "--minutes is for trainings")
    assert_refused(cli(*here, f"hf:{folder}", "--retry"), "--retry is for trainings")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert_refused(cli(*here, f"hf:{folder}"), "is a pickle")
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    assert_refused(cli(*here, f"hf:{folder}"), "transformers cannot read it")
    (folder / "tokenizer.json").unlink()
    assert_refused(cli(*here, f"hf:{folder}"), "has no tokenizer.json")
    assert sorted(path.name for path in Path().iterdir()) == ["flan-t5-xl"]


def test_a_tokenizer_that_makes_prompts_too_long_is_refused(cli: Cli, folder: Path):
    Tokenizer(models.WordLevel(dict.fromkeys("a", 2), unk_token="a")).save(str(folder / "tokenizer.json"))
    content = json.loads((folder / "tokenizer.json").read_text())
    content["pre_tokenizer"] = {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated", "invert": False}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    called = cli("reproduce", "table-5.4", "--model", f"hf:{folder}", "--scale", "smoke")
    assert_refused(called, "the shortest prompt of 'topic' has …; at most 512 are wanted")
    assert not Path("reproduced").exists()


WITHOUT = """
import sys
sys.modules["tokenizers"] = None
from regulargpt.cli import call
code = call(sys.argv[1:])
print(code, "torch" in sys.modules)
"""


def test_a_missing_extra_is_named_before_torch_is_imported(folder: Path):
    command = [sys.executable, "-c", WITHOUT, "reproduce", "table-5.4", "--model", f"hf:{folder}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder.parent)
    assert done.stdout == "2 False\n"
    assert done.stderr == "error: a tokenizer needs tokenizers; pip install 'regulargpt-testbed[hf]'\n"


# A tiny T5.


def sharpened(folder: Path, tau: float) -> Any:
    """Their network with the temperature in its weights: queries and biases of the encoder are divided by it."""
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    model = transformers.T5ForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval()
    for block in model.encoder.block:
        block.layer[0].SelfAttention.q.weight.data.div_(tau)
    model.encoder.block[0].layer[0].SelfAttention.relative_attention_bias.weight.data.div_(tau)
    return model


def largest(model: Any, tokens: Sequence[Sequence[int]]) -> float:
    """P_max of their encoder: the mean of the largest probability over prompts, heads and queries."""
    with torch.no_grad():
        found = [model.encoder(torch.tensor([one]), output_attentions=True).attentions for one in tokens]
    return float(np.concatenate([layer.amax(-1).numpy().ravel() for layers in found for layer in layers]).mean())


@pytest.mark.slow
def test_a_tiny_t5_is_aligned_and_answers_as_transformers_says(cli: Cli, tmp_path: Path):
    folder = tiny_t5.make(tmp_path / "tiny")
    command = (
        "reproduce",
        "table-5.4",
        "--model",
        f"hf:{folder}",
        "--scale",
        "smoke",
        "--out",
        "r",
        "--only",
        "passkey",
    )
    called = cli(*command)
    assert called.code == 0, called.err
    assert re.search(r"asking passkey/3000, about [0-9]+ tokens: P_max", called.err)
    place, small = Path("r/table-5.4-tiny-smoke"), plan("smoke", ["passkey"])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    kept, said = AnswerStore(place), []
    for strategy in STRATEGIES:
        column = kept.columns("passkey", strategy)[3000]
        model = sharpened(folder, column.tau)
        for prompt, answer in zip(small.prompts("passkey", 3000), column.answers, strict=True):
            read = torch.tensor([tokenizer.encode(prompt.text).ids])
            made_ = model.generate(read, attention_mask=torch.ones_like(read), max_new_tokens=50, do_sample=False)
            assert answer.said == tokenizer.decode(made_[0].tolist(), skip_special_tokens=True)
            assert answer.wanted == FOUND["passkey"](prompt.text)
            said.append(answer.said)
    # Sharper attention says something else.
    assert len(set(said)) > 4
    found = kept.columns("passkey", "p_max")[3000]
    texts = small.short("passkey", lambda text: len(tokenizer.encode(text).ids)), small.long("passkey", 3000)
    short, long = ([tokenizer.encode(text).ids for text in some] for some in texts)
    assert len({len(tokens) for tokens in short}) <= 2
    wanted, plain = largest(sharpened(folder, 1.0), short), largest(sharpened(folder, 1.0), long)
    assert not found.at_bound
    assert abs(largest(sharpened(folder, found.tau), long) - wanted) < 0.05 * abs(plain - wanted)
    assert kept.columns("passkey", "log")[3000].tau == pytest.approx(
        math.log(round(np.mean([len(one) for one in short]))) / math.log(round(np.mean([len(one) for one in long])))
    )
    page_ = (place / "page.md").read_text()
    assert "No published model has the sizes of tiny" in page_
    # A changed checkpoint is not taken for it.
    tiny_t5.make(folder, seed=1)
    assert_refused(cli(*command), "is of a checkpoint with the weights ")
    assert (place / "page.md").read_text() == page_
