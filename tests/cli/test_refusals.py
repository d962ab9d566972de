"""What a user can get wrong: one line on stderr with what would be right, exit code 2, nothing written or lost."""

import random
import shutil
from pathlib import Path

import pytest
import torch

from regulargpt import bench
from regulargpt import cli as program
from regulargpt import evaluate as evaluating
from regulargpt import run as running
from regulargpt.cli import VERBS
from regulargpt.cli.run_ import FIELDS
from regulargpt.config import RunConfig, keys
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.recipes import RECIPES
from regulargpt.sweep import driver
from regulargpt.sweep.driver import Outcome
from tests.cli.conftest import Cli
from tests.regulargpt.small import config

# The arguments and a part of the message. What follows a semicolon is the remedy.
REFUSED = [
    ("rnu parity", "unknown command 'rnu'; did you mean 'run'?"),
    ("zzz", "unknown command 'zzz'; see regulargpt --help"),
    ("run partiy", "unknown language 'partiy'; did you mean 'parity'?"),
    ("run zzz", "unknown language 'zzz'; known are 'parity', "),
    ("show tomita-8", "tomita"),
    ("show dyck-0", "dyck"),
    ("sample partiy --length 3", "did you mean 'parity'?"),
    ("run", "which language? as in `regulargpt run parity`; `regulargpt list languages` lists them"),
    ("run parity --chunk-sise 3", "--chunk-sise'. (Did you mean one of: '--batch-size', '--chunk-size'?)"),
    ("run parity --chunk-size", "'--chunk-size' requires an argument"),
    ("run parity even-pairs", "unexpected extra argument (even-pairs)"),
    (
        "run parity --model lstm --chunk-size 3",
        "model.chunk_size = 3 changes nothing for parity with lstm; leave it out",
    ),
    ("run parity --set task.edits=2", "task.edits = 2 changes nothing for parity with regulargpt; leave it out"),
    (
        "run parity --set training.anchor_lr=0.01",
        "training.anchor_lr = 0.01 changes nothing with training.certify_every = 0; leave it out",
    ),
    (
        "run tomita-3 --near-misses 0 --set task.edits=2",
        "task.edits = 2 changes nothing with task.near_misses = 0.0; leave it out",
    ),
    ("run parity --chunk-size 1", "model.chunk_size = 1; a chunk has at least 2 symbols"),
    ("run parity --chunk-size two", "model.chunk_size = 'two'; give a whole number"),
    ("run parity --train-len 0", "task.train_len = 0; a word has at least 1 symbol"),
    ("run parity --train-len -3", "task.train_len = -3; a word has at least 1 symbol"),
    ("run parity --train-len 1", "task.train_len = 1 is shorter than one chunk (model.chunk_size = 2)"),
    ("run parity --test-len 40", "evaluation.test_len = 40; test words are longer than task.train_len = 40"),
    ("run parity --test-len 999999999999", "evaluation.test_len = 999999999999; at most 1000000"),
    ("run parity --beyond 41-500", "evaluation.beyond = '41-500'; give a whole number"),
    ("run parity --steps 0", "training.steps = 0; training has at least 1 step"),
    ("run parity --seed -1", "seed = -1; seeds are whole numbers from 0"),
    ("run parity --seed 99999999999999999999", "seed = 99999999999999999999; at most 9223372036854775807"),
    ("run parity --lr nan", "training.lr = nan; it is a finite number"),
    ("run parity --lr fast", "training.lr = 'fast'; give a number"),
    ("run parity --near-misses 0.5", "task.near_misses = 0.5: parity has no non-members, set it to 0"),
    ("run tomita-3 --near-misses 2", "task.near_misses = 2.0; it is a share, 0 to 1"),
    ("run parity --model regulargtp", "unknown model 'regulargtp'; did you mean 'regulargpt'?"),
    ("run parity --recipe robst", "unknown recipe 'robst'; did you mean 'robust'?"),
    ("run parity --recipe robust-nodes --model rnn", "is for 'regulargpt', not for 'rnn'; choose --recipe robust"),
    ("run parity --model transformer --encoding rotery", "unknown encoding 'rotery'; did you mean 'rotary'?"),
    ("run parity --encoding rotary", "model.encoding = 'rotary' is for the transformer"),
    ("run parity --model rnn --supervision nodes", "needs the tree of regulargpt; for 'rnn' choose 'last' or 'every'"),
    (
        "run parity --model transformer --supervision every --set model.causal=false",
        "asks at every position: set model.causal = true",
    ),
    ("run cycle-navigation --supervision next", "needs members"),
    ("run parity --supervision lats", "task.supervision = 'lats'; choose one of last, every, next, nodes"),
    ("run parity --device gpu", "device = 'gpu'; choose 'auto', 'cpu', 'cuda'"),
    ("run parity --d-model 30", "model.d_model = 30 is not a multiple of model.n_heads = 4"),
    ("run parity --set model.levels=-1", "model.levels = -1; 0 is a depth that grows with the word, more is the depth"),
    ("run parity --set model.levels=1025", "model.levels = 1025; at most 1024"),
    ("run parity --set training=3", "'training' is a section; name one of its fields, as in training.steps"),
    ("run parity --set model.levels=two", "model.levels = 'two'; give a whole number"),
    ("run parity --set model.pad=none", "model.pad = 'none'; choose one of learned, masked"),
    ("run parity --set model.attention=dense", "model.attention = 'dense'; choose one of dilated, full"),
    (
        "run parity --set model.levels=2 --set model.distinct_levels=3",
        "model.distinct_levels = 3: with model.levels = 2 the last are never used; set it to at most 2",
    ),
    (
        "run parity --recipe robust --set model.attention=full",
        "evaluation.beyond = 10000: at most 4,096 with model.attention = 'full'; choose a shorter length",
    ),
    (
        "run dyck-4 --set model.attention=full",
        "task.supervision = 'nodes': model.attention = 'full' makes a state depend on every earlier one; needed is",
    ),
    ("run dyck-4 --set model.levels=6", "task.supervision = 'nodes': model.levels = 6 fixes the depth; needed is 0"),
    ("run dyck-4 --set model.pad=masked", "composes fewer than C states where the word begins; needed is 'learned'"),
    ("run parity --certify --set model.pad=masked", "training.certify_every = 100: model.pad = 'masked' composes"),
    ("run parity --set training.clipp=1", "unknown key 'training.clipp'; did you mean 'clip'?"),
    ("run parity --set clip=1", "unknown key 'clip'; did you mean 'training.clip'?"),
    ("run parity --set trainnig.clip=1", "unknown section 'trainnig'; did you mean 'training'?"),
    ("run parity --set training=1", "'training'"),
    ("run parity --set training.clip", "--set training.clip: write KEY=VALUE, as in --set training.clip=0.5"),
    ("run parity --set training.curriculum=16,8 --set training.stage_below=0.1", "its lengths must increase"),
    ("run parity --config missing.toml", "missing.toml: no such file or folder"),
    ("run parity --config broken.toml", "broken.toml is not TOML"),
    ("run parity --config typo.toml", "unknown key 'model.chunk_sise'; did you mean 'chunk_size'?"),
    ("run parity --config typo.toml --recipe robust", "--config and --recipe exclude each other"),
    ("run parity --config folder", "folder"),
    ("run dfa:missing.json", "missing.json"),
    ("run dfa:broken.json", "broken.json"),
    ("run dfa:broken.dot", "broken.dot"),
    ("run dfa:incomplete.json", "incomplete.json"),
    ("run dfa:folder", "folder"),
    ("show dfa:machine.txt", "machine.txt"),
    ("run regex:(ab", "(ab"),
    ("run regex:", "'' contains no symbol; give the alphabet too, as in regex:();alphabet=ab"),
    ("show parity:p_two=0.5", "p_one"),
    ("show parity:p_one=2", "p_one"),
    ("show modular-arithmetic:operators=/", "operators"),
    ("run parity --out occupied", "run folder occupied exists; choose another --out or `regulargpt resume occupied`"),
    ("run parity --out a-file", "a-file is a file; choose another --out"),
    ("list langauges", "'langauges'"),
    ("list", "Missing argument"),
    ("show", "Missing argument"),
    ("show parity --seed -1", "seed"),
    ("sample parity", "--length"),
    ("sample parity --length 0", "--length"),
    ("sample parity --length 5 --count 0", "--count"),
    ("sample parity --length 99999 --count 99999", "at most 100,000,000 symbols at once; draw fewer"),
    ("sample parity --length 5 --out " + "x" * 300, "x: file name too long"),
    ("sample parity --length 5 --near-misses 1", "near_misses"),
    ("sample modular-arithmetic --length 6", "the nearest lengths with words: 5 and 7"),
    ("sample parity --length 5 --text --json", "--text and --json exclude each other; give one"),
    ("sample parity --length 5 --out a-file", "a-file exists; choose another --out"),
    ("sample parity --length 5 --out missing/words", "missing/words"),
    ("resume missing", "run folder missing does not exist"),
    ("resume occupide", "run folder occupide does not exist; did you mean 'occupied'?"),
    ("resume folder", "folder is not a run folder: config.toml and environment.json missing"),
    ("resume a-file", "a-file"),
    ("evaluate missing", "run folder missing does not exist"),
    ("evaluate folder", "folder is not a run folder"),
    ("evaluate run --lengths 5-3", "'5-3' is not a length or an increasing range; write 41-500,1000"),
    ("evaluate run --lengths 1-999999999", "at most 1,000,000 at once"),
    ("evaluate run --lengths x", "'x' is not a length"),
    ("evaluate run --lengths=", "'' is not a length"),
    ("evaluate run --samples 0", "--samples"),
    ("verify", "Missing argument 'RUN'"),
    ("verify missing", "run folder missing does not exist"),
    ("verify folder", "folder is not a run folder"),
    ("verify folder --words 1", "--words"),
    ("verfy folder", "unknown command 'verfy'; did you mean 'verify'?"),
    ("receptive-field missing", "run folder missing does not exist"),
    ("receptive-field folder --length 0", "--length"),
    ("receptive_field folder", "unknown command 'receptive_field'; did you mean 'receptive-field'?"),
    ("report", "Missing argument 'RUN...'"),
    ("report missing", "run folder missing does not exist"),
    ("report occupide", "run folder occupide does not exist; did you mean 'occupied'?"),
    ("report folder", "folder is not a run folder: config.toml and environment.json missing"),
    ("report missing --out report.html --json", "run folder missing does not exist"),
    ("sweep", "which languages? as in `regulargpt sweep parity even-pairs`; `regulargpt list languages` lists them"),
    ("sweep parity,even-pairs", "unknown language 'parity,even-pairs'; did you mean 'even-pairs'?"),
    ("sweep parity partiy --dry-run", "unknown language 'partiy'; did you mean 'parity'?"),
    ("sweep parity --model lstm,", "unknown model ''; choose 'regulargpt', 'rnn'"),
    ("sweep parity --model lstm --recipe robust,robust-nodes", "recipe 'robust-nodes' is for 'regulargpt', not for"),
    ("sweep parity --protocol thesis,hrd", "unknown protocol 'hrd'; did you mean 'hard'?"),
    ("sweep parity --protocol thesis --test-len 400", "protocol thesis-1 fixes evaluation.test_len = 500, not 400"),
    (
        "sweep parity --model lstm --chunk-size 2,3",
        "model.chunk_size changes nothing in any of these runs; leave it out",
    ),
    (
        "sweep parity --model lstm,gru --certify",
        "--certify: the levels of lstm are not one map on finitely many states",
    ),
    ("sweep parity --chunk-size 1,2", "parity, regulargpt: model.chunk_size = 1; a chunk has at least 2 symbols"),
    ("sweep parity --chunk-size 3-2", "model.chunk_size = '3-2'; a range increases, as in 2-3"),
    ("sweep parity --seed 0-99999", "seed = '0-99999': 100,000 values; at most 10,000"),
    ("sweep parity --seed 0-999 --steps 1-999", "999,000 runs; a sweep has at most 100,000"),
    ("sweep parity --lr 1e-4;3e-4", "training.lr = '1e-4;3e-4'; give a number"),
    ("sweep parity --set task.language=tomita-3", "--set task.language: languages are arguments"),
    ("sweep parity --set training.clip", "--set training.clip: write KEY=V1,V2, as in --set training.clip=0.5,1"),
    ("sweep parity --set training.clipp=1,2", "unknown key 'training.clipp'; did you mean 'clip'?"),
    ("sweep parity --jobs 0", "--jobs"),
    ("sweep parity --per-gpu 0", "--per-gpu"),
    ("sweep parity --engine slrum", "--engine"),
    ("sweep parity --partition gpu", "--partition is for --engine slurm; leave it out, or add that"),
    ("sweep parity --memory 4 --dry-run", "--memory is for --engine slurm; leave it out, or add that"),
    (
        "sweep parity --engine slurm --per-gpu 2",
        "--per-gpu is for --engine local; on Slurm a job is one run, with --gpus of its own",
    ),
    ("sweep parity --engine slurm --memory 0", "--memory"),
    ("sweep parity --engine slurm --minutes 4", "--minutes"),
    ("sweep parity --out a-file", "a-file is a file; choose another --out"),
    ("sweep parity --out occupied", "occupied is not empty and no sweep folder; choose another --out"),
    ("sweep parity --out occupied --dry-run", "occupied is not empty and no sweep folder; choose another --out"),
]


@pytest.fixture
def places(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "occupied").mkdir()
    (tmp_path / "occupied" / "thesis.tex").write_text("precious")
    files = {
        "a-file": "precious",
        "broken.toml": "seed",
        "typo.toml": "[model]\nchunk_sise = 3\n",
        "broken.json": "{",
        "incomplete.json": '{"states": ["p"], "alphabet": ["a"], "transitions": {"p": {}}, "initial": "p", '
        '"accepting": []}',
        "broken.dot": "digraph { a -> ",
        "machine.txt": "a",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in sorted(folder.rglob("*"))}


def assert_refused(answer, part: str) -> None:
    assert answer.code == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert answer.err.endswith("\n")
    assert part in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(("arguments", "part"), REFUSED, ids=[a for a, _ in REFUSED])
@pytest.mark.usefixtures("places")
def test_refusals(cli: Cli, tmp_path: Path, arguments: str, part: str):
    before = everything(tmp_path)
    assert_refused(cli(*arguments.split()), part)
    assert everything(tmp_path) == before


def test_a_machine_without_a_gpu_refuses_cuda_before_it_writes(cli: Cli, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert_refused(cli("run", "parity", "--device", "cuda"), "choose --device cpu or auto")
    assert everything(tmp_path) == {}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    running.run(config("gru", task__language="parity", task__supervision="last", training__steps=11), folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("--device gpu", "device = 'gpu'; choose 'auto', 'cpu', 'cuda'"),
        ("--set model.d_model=3", "--set model.d_model: a trained run can be tested under another task.* or"),
        ("--set training.lr=3", "--set training.lr: a trained run can be tested under another task.* or"),
        ("--set evaluation.samples=0", "--set evaluation.samples: give --samples"),
        ("--set evaluation.stride=2", "--set evaluation.stride: give --lengths"),
        ("--set task.language=tomita-3", "has other symbols or answers than the run"),
        ("--set task.language=dyck-2", "has other symbols or answers than the run"),
        ("--set task.near_misses=7", "task.near_misses = 7.0; it is a share, 0 to 1"),
        ("--set task.supervision=nodes", "needs the tree of regulargpt"),
        ("--set task.supervision=next", "task.supervision = 'next' needs members"),
    ],
)
def test_a_finished_run_refuses_to_be_tested_on_what_it_is_not(cli: Cli, finished: Path, arguments: str, part: str):
    before = everything(finished)
    assert_refused(cli("evaluate", finished, "--lengths", "9", *arguments.split()), part)
    assert everything(finished) == before


def test_lengths_without_words_are_refused(cli: Cli, tmp_path: Path):
    settings = config("linear-rnn", task__language="modular-arithmetic", training__steps=2, evaluation__test_len=13)
    running.run(settings, tmp_path / "run")
    answer = cli("evaluate", tmp_path / "run", "--lengths", "10,12")
    assert_refused(answer, "length 10: modular-arithmetic has no words; the nearest lengths with words: 9 and 11")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "config.toml", "summary.json", "manifest.json"])
def test_one_flipped_bit_and_one_lost_byte_are_found(cli: Cli, finished: Path, tmp_path: Path, name: str):
    whole = (finished / name).read_bytes()
    random_bits = random.Random(name)
    for case in range(12):
        folder = tmp_path / str(case)
        shutil.copytree(finished, folder)
        data = bytearray(whole)
        if case % 3:
            bit = random_bits.randrange(8 * len(data))
            data[bit // 8] ^= 1 << bit % 8
        else:
            del data[random_bits.randrange(len(data)) :]
        (folder / name).write_bytes(data)
        assert_refused(cli("evaluate", folder, "--lengths", "9"), f"{folder}/{name} is damaged: SHA-256 expected ")
        assert (folder / name).read_bytes() == data


def unfinished(folder: Path) -> None:
    class Stop(Exception):
        pass

    def on_step(trainer) -> None:
        if trainer.progress.step == 25:
            raise Stop

    with pytest.raises(Stop):
        running.run(config("gru"), folder, running.Watch(on_step=on_step))


def test_an_unfinished_run_is_resumed_before_it_is_tested(cli: Cli, tmp_path: Path):
    unfinished(tmp_path / "run")
    assert_refused(cli("evaluate", "run"), "the run in run is not finished; `regulargpt resume run` first")


def test_a_damaged_checkpoint_is_passed_over_and_said_and_with_none_left_the_run_is_refused(cli: Cli, tmp_path: Path):
    unfinished(tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "twin")
    _, newer = sorted((tmp_path / "run" / "checkpoints").iterdir())
    data = bytearray((newer / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (newer / "model.safetensors").write_bytes(data)
    assert cli("resume", "twin").code == 0
    answer = cli("resume", "run", "--json")
    assert answer.code == 0
    assert answer.err.startswith("warning: ")
    assert f"checkpoints/{newer.name}/model.safetensors is damaged" in answer.err
    for name in ("model.safetensors", "metrics.jsonl", "accuracy.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "twin" / name).read_bytes()

    unfinished(tmp_path / "third")
    for checkpoint in (tmp_path / "third" / "checkpoints").iterdir():
        (checkpoint / "state.pt").write_bytes((checkpoint / "state.pt").read_bytes()[:-1])
    before = everything(tmp_path / "third")
    assert_refused(cli("resume", "third"), "remove that folder to start again")
    assert everything(tmp_path / "third") == before


# Words that mean something here, things that look like them, and things that mean nothing anywhere.
WORDS = [
    *VERBS,
    *MODELS,
    *ENCODINGS,
    *RECIPES,
    *FIELDS,
    *keys(),
    *(
        "languages",
        "models",
        "encodings",
        "recipes",
        "parity",
        "tomita-3",
        "dyck-2",
        "modular-arithmetic",
        "even-pairs",
    ),
    *("--model", "--recipe", "--json", "--set", "--config", "--out", "--lengths", "--samples", "--length", "--count"),
    *(
        "--edits",
        "--text",
        "--dot",
        "--help",
        "--seed",
        "--near-misses",
        "--compile",
        "--tensorboard",
        "--version",
        "--",
    ),
    *("0", "1", "2", "8", "41", "-1", "1e400", "nan", "inf", "-0", "3.5", "1_0", "٣", "9" * 30, "1" * 5000, "0x10", ""),
    *("41-500", "5-3", "1,,2", ",", "a=b", "=", "training.lr=", "model.norm=post", "model.norm=psot", "seed=1e3"),
    *("regex:(ab)*", "regex:((", "regex:", "regex:a{2,1}", "dfa:", "dfa:.", "dfa:/dev/null", "parity:p_one=nan", ":"),
    *("dyck-", "dyck--1", "dyck-999999999", "symmetric-99", "cyclic-1", "tomita-٣", "parity:", "parity:,", "parity:=="),
    *(
        ".",
        "..",
        "/",
        "run",
        "nowhere/at/all",
        "x" * 300,
        "/dev/null",
        "folder",
        "\n",
        "\t",
        "'",
        '"',
        "$HOME",
        "%s",
        "{}",
    ),
    *("é", "日本", "\u202e", "-", "--no-such", "-x", "--chunk-sise", "--json=1", "--seed=3", "--seed="),
]


# Of each verb: what may follow it, most of it right.
SENSIBLE: dict[str, dict[str, list[str]]] = {
    "list": {"": ["languages", "models"], "--json": []},
    "show": {"": ["parity", "dyck-2", "regex:(ab)*", "cyclic-5"], "--json": [], "--dot": [], "--seed": ["3"]},
    "sample": {
        "": ["parity", "tomita-3", "even-pairs"],
        "--length": ["5", "9"],
        "--count": ["3"],
        "--seed": ["1"],
        "--near-misses": ["0", "0.5"],
        "--edits": ["2"],
        "--out": ["words"],
        "--text": [],
        "--json": [],
    },
    "run": {
        "": ["parity", "tomita-3", "modular-arithmetic"],
        "--model": ["gru", "transformer", "regulargpt"],
        "--recipe": ["robust", "paper"],
        "--chunk-size": ["2", "3"],
        "--train-len": ["8", "40"],
        "--seed": ["7"],
        "--set": ["training.clip=0.5", "model.norm=post"],
        "--supervision": ["last", "every"],
        "--out": ["here"],
        "--json": [],
    },
    "construct": {
        "": ["parity", "dyck-2", "modular-arithmetic"],
        "--out": ["here", "occupied"],
        "--chunk-size": ["2", "3"],
        "--representation": ["matrix", "one-hot"],
        "--json": [],
    },
    "sweep": {
        "": ["parity", "tomita-3"],
        "--model": ["gru,lstm", "regulargpt"],
        "--chunk-size": ["2,3"],
        "--seed": ["0-2,7"],
        "--protocol": ["thesis,hard"],
        "--set": ["training.clip=0.5,1"],
        "--out": ["here"],
        "--dry-run": [],
        "--json": [],
    },
    "resume": {"": ["folder", "occupied"], "--json": []},
    "evaluate": {"": ["folder"], "--lengths": ["41-50"], "--json": []},
    "verify": {"": ["folder"], "--length": ["50"], "--words": ["8"], "--json": []},
    "receptive-field": {"": ["folder"], "--length": ["50"], "--out": ["here"], "--json": []},
    "report": {"": ["folder", "occupied"], "--out": ["page.html"], "--json": []},
}


def likely(random_words: random.Random) -> list[str]:
    """Mostly what could be meant; now and then a word is replaced by any word, or all of them are."""
    if random_words.random() < 0.1:
        return random_words.choices(WORDS, k=random_words.randrange(6))
    verb = random_words.choice(list(SENSIBLE))
    options = SENSIBLE[verb]
    arguments = [verb, random_words.choice(options[""])]
    chosen = random_words.sample(list(options)[1:], random_words.randrange(min(4, len(options))))
    for option in dict.fromkeys([*chosen, *(["--length"] if verb == "sample" else [])]):
        arguments += [option, *random_words.sample(options[option], min(1, len(options[option])))]
    return [random_words.choice(WORDS) if random_words.random() < 0.08 else word for word in arguments]


@pytest.mark.usefixtures("places")
def test_2000_random_argument_lists_are_answered_or_refused_in_one_line(cli: Cli, tmp_path: Path, monkeypatch):
    summary = {"train_len": 1, "test_len": 2, "accuracy": {}, "steps": 1, "train_seconds": 0.0, "parameters": 1}
    summary |= dict.fromkeys(("score", "min_accuracy", "majority", "chance"), 50.0)
    summary |= {"first_below_99": None, "first_below_90": None, "run_dir": "nowhere"}
    trained: list[RunConfig] = []
    monkeypatch.setattr(running, "run", lambda config, out, watch: (trained.append(config), summary)[1])
    monkeypatch.setattr(running, "resume", lambda path, watch: summary)
    monkeypatch.setattr(driver, "sweep", lambda *arguments: Outcome((), (), ()))
    monkeypatch.setattr(evaluating, "evaluate", lambda *arguments: pytest.fail("no run was made"))
    monkeypatch.setattr(bench, "measure", lambda *arguments: {"parts": {}})
    random_words = random.Random(0)
    before = everything(tmp_path)
    codes = {0: 0, 2: 0}
    for number in range(2000):
        arguments = likely(random_words)
        answer = cli(*arguments)
        place = (number, arguments, answer)
        assert answer.code in (0, 2), place
        assert "Traceback" not in answer.err, place
        codes[answer.code] += 1
        if answer.code == 2 and not answer.out.startswith("Usage: "):
            assert answer.err.startswith("error: "), place
            assert answer.err.count("\n") == 1, place
            assert everything(tmp_path) == before, place
        written = set(everything(tmp_path)) - set(before)
        assert not written or (arguments[0] == "sample" and "--out" in " ".join(arguments)), place
        for path in written:
            Path(path).unlink()
    assert min(codes.values()) > 100
    assert trained


def test_the_program_ends_with_the_code_of_its_answer(monkeypatch):
    for code in (0, 1, 2, 75):
        monkeypatch.setattr(program, "call", lambda arguments, c=code: c)
        with pytest.raises(SystemExit) as ended:
            program.main(["list", "models"])
        assert ended.value.code == code
