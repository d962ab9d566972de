"""What a user can get wrong: one line on stderr with what would be right, exit code 2, nothing written or lost."""

import os
import random
import shutil
from pathlib import Path

import click
import pytest
import torch

from regulargpt import cli as program
from regulargpt.cli import VERBS
from regulargpt.runs import run as running
from tests.cli.conftest import Cli
from tests.cli.generator import parameters
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
        "unknown key 'model.chunk_size': 'lstm' has no chunk_size; 'regulargpt' has",
    ),
    (
        "run parity --set data.edits=2",
        "unknown key 'data.edits': 'parity' has no edits; languages of members and non-members have",
    ),
    (
        "run parity --set phases.table_fine_tuning.every=0 --set phases.table_fine_tuning.lr=0.01",
        "phases.table_fine_tuning.lr = 0.01 changes nothing with phases.table_fine_tuning.every = 0; leave it out",
    ),
    (
        "run tomita-3 --near-misses 0 --set data.edits=2",
        "data.edits = 2 changes nothing with data.near_misses = 0.0; leave it out",
    ),
    ("run parity --set data.name=tomita-3", "--set data.name: languages are arguments"),
    ("run parity --model lstm --set model.name=gru", "--set model.name: write --model"),
    ("run parity --set recipe=paper", "--set recipe: write --recipe"),
    ("run parity --protocol thesis --set protocol=hard", "--set protocol: write --protocol"),
    ("run parity --seed 1 --set seed=3", "seed is given twice, 1 and 3; leave one of them out"),
    ("run parity --set seed=1 --set seed=3", "seed is given twice, 1 and 3; leave one of them out"),
    ("run parity --seed 1 --seed 3", "--seed is given 2 times; give it once"),
    ("run parity --compile --set compile=false", "compile is given twice, true and false; leave one of them out"),
    (
        "run parity --certify --set phases.table_fine_tuning.every=0",
        "--certify and phases.table_fine_tuning.every = 0 contradict each",
    ),
    (
        "sweep parity --certify --set phases.table_fine_tuning.every=0,9",
        "--certify and phases.table_fine_tuning.every = 0 contradict",
    ),
    ("run parity --gates --no-gates", "--gates is given 2 times; give it once"),
    ("run parity --model lstm --gates", "unknown key 'model.gates': 'lstm' has no gates; 'regulargpt' has"),
    (
        "run parity --gates --set model.pad=masked",
        "model.pad = 'masked': gates need 'learned'; set it, or model.gates = false",
    ),
    ("sweep parity --out a --out b", "--out is given 2 times; give it once"),
    ("shortcuts parity --seed 1 --set seed=2", "seed is given twice, 1 and 2; leave one of them out"),
    ("shortcuts parity --set model.name=lstm", "--set model.name: changes no word; leave it out"),
    ("evaluate run --lengths 3 --lengths 4", "--lengths is given 2 times; give it once"),
    ("sample parity --length 3 --length 4", "--length is given 2 times; give it once"),
    ("sample parity --length 3 --edits 2", "--edits and --swaps are about near misses; add --near-misses, or"),
    ("sample tomita-3 --length 3 --near-misses nan", "'--near-misses': nan is not a finite number."),
    ("sweep parity --engine slurm --memory nan", "'--memory': nan is not a finite number."),
    ("show parity --dot --json", "--dot and --json exclude each other; give one"),
    ("run parity --model=", "unknown model ''; choose 'regulargpt'"),
    ("run parity --recipe=", "unknown recipe ''"),
    ("sweep parity --recipe=", "unknown recipe ''"),
    ("construct parity --out c --representation=", "unknown representation ''; choose 'matrix', 'one-hot'"),
    (
        "run parity --set model.embedding_std=0",
        "model.embedding_std = 0.0; at least 1e-06: with 0 all symbols look the",
    ),
    ("run parity --set model.embedding_scale=0", "model.embedding_scale = 0.0; at least 1e-06: with 0 all symbols"),
    ("run parity --set model.embedding_std=1e300", "model.embedding_std = 1e+300; at most 1000000"),
    ("run parity --set training.weight_decay=1e300", "training.weight_decay = 1e+300; at most 1000000"),
    ("run parity --set model.noise_growth=0", "model.noise_growth = 0.0; the noise is multiplied by it as it"),
    ("run parity --set training.solved_loss=-1", "training.solved_loss = -1.0; a loss is not negative"),
    (
        "run parity --d-model 65536",
        "model.d_model = 65536, model.d_ff = 256, model.thickness = 1, model.distinct_levels = 1 make about "
        "103,112,769,536 parameters; at most 1,000,000,000",
    ),
    ("evaluate run --lengths 100000001", "a word has at most 100,000,000 symbols"),
    ("run --config fifo", "fifo: it is a pipe or a device, not a file; give a file"),
    ("run --config hex.toml", "hex.toml: a number has thousands of digits; write one that a computer can use"),
    ("show dfa:digits.json", "digits.json: not JSON (a number has too many digits)"),
    ("show dfa:half.json", "half.json: a state contains '\\ud800', half a character; rename it"),
    ("resume dangling", "run folder dangling does not exist; give a folder that `regulargpt run` made"),
    ("results folder --plot /", "--plot /: pictures are PNG, SVG or PDF; name it /accuracy.png"),
    ("sample dyck-2 --length 3 --out missing/words", "missing/words: no such file or folder; check that the folder"),
    ("run --config steps.toml", "training.steps = a number of more than 40 digits; at most 9223372036854775807"),
    ("run --config curriculum.toml", "training.curriculum = 100000000000000000000; at most 9223372036854775807"),
    ("run --config rate.toml", "training.lr = a number of more than 40 digits; at most 9223372036854775807"),
    (
        "run parity --steps " + "9" * 400,
        "training.steps = a number of more than 40 digits; at most 9223372036854775807",
    ),
    ("run parity --steps -" + "9" * 30, "-999999999999999999999999999999; at least -9223372036854775807"),
    ("run parity --lr " + "9" * 400, "training.lr = inf; it is a finite number"),
    ("run --config recipe.toml", "unknown recipe 'nonsense'; choose 'answers', "),
    ("run parity --recipe nonsense", "unknown recipe 'nonsense'; choose 'answers', "),
    ("run --config protocol.toml", "unknown protocol 'thesys'; did you mean 'thesis'?"),
    ("shortcuts --config recipe.toml", "unknown recipe 'nonsense'; choose 'answers', "),
    ("run parity --seed " + "9" * 5000, "... (5,003 characters) ..."),
    ("run parity --chunk-size 1", "model.chunk_size = 1; a chunk has at least 2 symbols"),
    ("run parity --chunk-size two", "model.chunk_size = 'two'; give a whole number"),
    ("run parity --train-len 0", "data.train_len = 0; a word has at least 1 symbol"),
    ("run parity --train-len -3", "data.train_len = -3; a word has at least 1 symbol"),
    ("run parity --train-len 1", "data.train_len = 1 is too short for gated-regulargpt-C2; at least 2"),
    ("run parity --test-len 40", "evaluation.test_len = 40; test words are longer than data.train_len = 40"),
    ("run parity --test-len 999999999999", "evaluation.test_len = 999999999999; at most 1000000"),
    ("run parity --extra-lengths 41-500", "evaluation.extra_lengths = '41-500'; give a whole number"),
    ("run parity --steps 0", "training.steps = 0; training has at least 1 step"),
    ("run parity --seed -1", "seed = -1; seeds are whole numbers from 0"),
    ("run parity --seed 99999999999999999999", "seed = 99999999999999999999; at most 9223372036854775807"),
    ("run parity --lr nan", "training.lr = nan; it is a finite number"),
    ("run parity --lr fast", "training.lr = 'fast'; give a number"),
    ("run parity --near-misses 0.5", "unknown key 'data.near_misses': 'parity' has no near_misses; languages of"),
    ("run tomita-3 --near-misses 2", "data.near_misses = 2.0; it is a share, 0 to 1"),
    ("run parity --model regulargtp", "unknown model 'regulargtp'; did you mean 'regulargpt'?"),
    ("run parity --recipe wrods", "unknown recipe 'wrods'; did you mean 'words'?"),
    ("run parity --recipe paper --model ldru", ", not for 'ldru'; choose --recipe words"),
    ("run parity --model transformer --encoding rotery", "unknown encoding 'rotery'; did you mean 'rotary'?"),
    ("run parity --encoding rotary", "'regulargpt' has no encoding; 'transformer', 'encoder-decoder' have"),
    (
        "run parity --model transformer --supervision prefixes --set model.causal=false",
        "asks at every position: set model.causal = true",
    ),
    ("run cycle-navigation --supervision next", "needs members"),
    ("run parity --supervision lats", "unknown supervision 'lats'; did you mean 'last'?"),
    ("run parity --device gpu", "device = 'gpu'; choose 'auto', 'cpu', 'cuda'"),
    ("run parity --d-model 30", "model.d_model = 30 is not a multiple of model.n_heads = 4"),
    ("run parity --set model.levels=-1", "model.levels = -1; 0 is a depth that grows with the word, more is the depth"),
    ("run parity --set model.levels=1025", "model.levels = 1025; at most 1024"),
    ("run parity --set training=3", "'training' is a section; set one of its keys, as in training.steps"),
    ("run parity --set model.levels=two", "model.levels = 'two'; give a whole number"),
    ("run parity --set model.pad=none", "model.pad = 'none'; choose one of learned, masked"),
    ("run parity --set model.attention=dense", "model.attention = 'dense'; choose one of dilated, full"),
    (
        "run parity --set model.levels=2 --set model.distinct_levels=3",
        "model.distinct_levels = 3: with model.levels = 2 the last are never used; set it to at most 2",
    ),
    (
        "run parity --recipe words --set model.attention=full",
        "evaluation.extra_lengths = 10000: at most 4,096 with model.attention = 'full'; choose a shorter length",
    ),
    ("run parity --certify --set model.pad=masked", "--certify: model.pad = 'masked' composes fewer"),
    ("run parity --set training.clipp=1", "unknown key 'training.clipp'; did you mean 'clip'?"),
    ("run parity --set clip=1", "unknown key 'clip'; did you mean 'training.clip'?"),
    ("run parity --set trainnig.clip=1", "unknown section 'trainnig'; did you mean 'training'?"),
    ("run parity --set training=1", "'training'"),
    ("run parity --set training.clip", "--set training.clip: write KEY=VALUE, as in --set training.clip=0.5"),
    ("run parity --set training.curriculum=16,8 --set training.stage_loss=0.1", "its lengths must increase"),
    ("run parity --config missing.toml", "missing.toml: no such file or folder"),
    ("run parity --config broken.toml", "broken.toml is not TOML"),
    ("run parity --config typo.toml", "unknown key 'model.chunk_sise'; did you mean 'chunk_size'?"),
    ("run parity --config nameless.toml", "[model] has no name; write name = 'MODEL' in it"),
    ("run parity --config typo.toml --recipe words", "--config and --recipe exclude each other"),
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
    ("evaluate run --lengths 1-9999999", "at most 1,000,000 at once"),
    ("evaluate run --lengths 1-999999999", "a word has at most 100,000,000 symbols"),
    ("evaluate run --lengths x", "'x' is not a length"),
    ("evaluate run --lengths=", "'' is not a length"),
    ("evaluate run --samples 0", "--samples"),
    ("verify", "Missing argument 'RUN'"),
    ("verify missing", "run folder missing does not exist"),
    ("verify folder", "folder is not a run folder"),
    ("verify folder --words 1", "--words"),
    ("verfy folder", "unknown command 'verfy'; did you mean 'verify'?"),
    ("receptive-field missing", "run folder missing does not exist"),
    ("kernels", "Missing argument 'ENCODING|RUN'"),
    ("kernels alib", "unknown encoding 'alib'; did you mean 'alibi'?"),
    ("kernels alibi:slope=press", "unknown key 'encoding.slope'; did you mean 'slopes'?"),
    ("kernels rotary", "rotary adds no bias to the logits; choose an encoding that does, such as alibi"),
    ("kernels transformer_xl", "the bias of transformer_xl depends on what is read, not on positions alone"),
    ("kernels alibi --heads 0", "--heads"),
    ("kernels alibi --heads 64 --length 513", "64 heads on 513 positions: too large; choose fewer heads"),
    ("kernels alibi --length 1", "--length"),
    ("position-variance --preset thesiss", "--preset"),
    ("position-variance --updates -1", "--updates"),
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
    ("sweep parity --model lstm,", "unknown model ''; choose 'regulargpt', 'ldru'"),
    ("sweep parity --model ldru --recipe words,paper", "recipe 'paper' is for 'regulargpt', 'rnn',"),
    ("sweep parity --protocol thesis,hrd", "unknown protocol 'hrd'; did you mean 'hard'?"),
    ("sweep parity --protocol thesis --test-len 400", "protocol thesis-1 fixes evaluation.test_len = 500, not 400"),
    (
        "sweep parity --model lstm --chunk-size 2,3",
        "unknown key 'model.chunk_size': 'lstm' has no chunk_size; 'regulargpt' has",
    ),
    ("run regex:a*;alphabet=a --certify", "--certify: all words of regex:a*;alphabet=a are alike"),
    (
        "run dyck-12 --chunk-size 3 --certify",
        "--certify: 203,085,674 windows of 3 nodes at level 4: too many to look at",
    ),
    ("sweep parity --model lstm,gru --certify", "--certify: lstm does not use one map at every level of a tree"),
    ("sweep parity --chunk-size 1,2", "model.chunk_size = 1; a chunk has at least 2 symbols"),
    (
        "sweep parity --train-len 1,2",
        "parity, gated-regulargpt: data.train_len = 1 is too short for gated-regulargpt-C2; at least 2",
    ),
    ("sweep parity --chunk-size 3-2", "model.chunk_size = '3-2'; a range increases, as in 2-3"),
    ("sweep parity --seed 0-99999", "seed = '0-99999': 100,000 values; at most 10,000"),
    ("sweep parity --seed 0-999 --steps 1-999", "999,000 runs; a sweep has at most 100,000"),
    ("sweep parity --lr 1e-4;3e-4", "training.lr = '1e-4;3e-4'; give a number"),
    ("sweep parity --set data.name=tomita-3", "--set data.name: languages are arguments"),
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
        "typo.toml": "[model]\nname = 'regulargpt'\nchunk_sise = 3\n",
        "nameless.toml": "[model]\nchunk_size = 3\n",
        "broken.json": "{",
        "incomplete.json": '{"states": ["p"], "alphabet": ["a"], "transitions": {"p": {}}, "initial": "p", '
        '"accepting": []}',
        "broken.dot": "digraph { a -> ",
        "machine.txt": "a",
        "steps.toml": f"[training]\nsteps = 1{'0' * 400}",
        "curriculum.toml": f"[training]\ncurriculum = [8, 1{'0' * 20}]\nstage_loss = 0.1",
        "rate.toml": f"[training]\nlr = 1{'0' * 400}",
        "recipe.toml": "recipe = 'nonsense'",
        "protocol.toml": "protocol = 'thesys'",
        "hex.toml": "seed = 0x" + "f" * 5000,
        "digits.json": "9" * 5000,
        "half.json": '{"states": ["\\ud800"], "alphabet": ["a"], "transitions": {"\\ud800": {"a": "\\ud800"}}, '
        '"initial": "\\ud800", "accepting": []}',
    }
    os.mkfifo(tmp_path / "fifo")
    os.symlink("nowhere", tmp_path / "dangling")
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


@pytest.mark.parametrize(("arguments", "part"), REFUSED, ids=[a[:80] for a, _ in REFUSED])
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
    running.run(config("gru", data__name="parity", objective__name="last", training__steps=11), folder)
    return folder


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("--device gpu", "device = 'gpu'; choose 'auto', 'cpu', 'cuda'"),
        (
            "--set model.d_model=3",
            "model.d_model: a trained run can be tested under other data, objective or evaluation only",
        ),
        ("--set data.train_len=4", "data.train_len: the run was trained at its own length; --lengths says"),
        (
            "--set training.lr=3",
            "training.lr: a trained run can be tested under other data, objective or evaluation only",
        ),
        ("--set evaluation.samples=0", "--set evaluation.samples: give --samples"),
        ("--set evaluation.stride=2", "--set evaluation.stride: give --lengths"),
        ("--set data.name=tomita-3", "has other symbols or answers than the run"),
        ("--set data.name=dyck-2", "has other symbols or answers than the run"),
        ("--set data.near_misses=0.5", "unknown key 'data.near_misses': 'parity' has no near_misses"),
        ("--set data.train_from=0", "data.train_from = 0; a word has at least 1 symbol"),
        ("--set objective.bracketings=0.5", "objective.bracketings = 0.5 needs one map that makes any tree: gru"),
        (
            "--set objective.name=next",
            "objective.name = 'next': it needs members; parity answers 'even', 'odd': choose 'prefixes'",
        ),
    ],
)
def test_a_finished_run_refuses_to_be_tested_on_what_it_is_not(cli: Cli, finished: Path, arguments: str, part: str):
    before = everything(finished)
    assert_refused(cli("evaluate", finished, "--lengths", "9", *arguments.split()), part)
    assert everything(finished) == before


def test_lengths_without_words_are_refused(cli: Cli, tmp_path: Path):
    settings = config("linear-rnn", data__name="modular-arithmetic", training__steps=2, evaluation__test_len=13)
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
        if trainer.step_count == 25:
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
    for name in ("model.safetensors", "metrics.jsonl", "measures.csv"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "twin" / name).read_bytes()

    unfinished(tmp_path / "third")
    for checkpoint in (tmp_path / "third" / "checkpoints").iterdir():
        (checkpoint / "state.pt").write_bytes((checkpoint / "state.pt").read_bytes()[:-1])
    before = everything(tmp_path / "third")
    assert_refused(cli("resume", "third"), "remove that folder to start again")
    assert everything(tmp_path / "third") == before


TAKE_PATHS = [
    (verb, parameter.opts[0] if isinstance(parameter, click.Option) else "")
    for verb in VERBS
    for parameter in parameters(verb)
    if isinstance(parameter.type, click.Path)
]


@pytest.mark.parametrize(("verb", "option"), TAKE_PATHS)
def test_an_empty_path_is_no_path(cli: Cli, tmp_path: Path, verb: str, option: str):
    needed = {"sample": ["--length", "3"]}.get(verb, [])
    arguments = [option, "", "parity"] if option else [""]
    assert_refused(cli(verb, *arguments, *needed), "it is empty; name a file or folder")
    assert everything(tmp_path) == {}


def test_the_program_ends_with_the_code_of_its_answer(monkeypatch):
    for code in (0, 1, 2, 75):
        monkeypatch.setattr(program, "call", lambda arguments, c=code: c)
        with pytest.raises(SystemExit) as ended:
            program.main(["list", "models"])
        assert ended.value.code == code
