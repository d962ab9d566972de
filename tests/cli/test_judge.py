"""`judge` on networks of others: proven, wrong for ever, wrong on a word; and what it cannot ask, in one line."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

import regulargpt
from tests.cli.conftest import Cli, assert_refused

NETWORKS = '''
import torch
from torch import nn


class Last(nn.Module):
    """Carries the last symbol, one-hot, and mixes in what it was."""

    def __init__(self, keep=0.125, symbols=2):
        super().__init__()
        self.keep, self.table = keep, nn.Embedding(symbols, symbols)
        self.table.weight.data = torch.eye(symbols)

    def start(self, batch):
        return self.table.weight.new_zeros(batch, len(self.table.weight))

    def step(self, state, symbols):
        return self.keep * state + self.table(symbols)

    def readout(self, state):
        return state


class Fading(nn.Module):
    """Whether a 1 was read, in a number that fades, and is read against a threshold."""

    def start(self, batch):
        return torch.zeros(batch, 1, dtype=torch.get_default_dtype())

    def step(self, state, symbols):
        return torch.maximum(0.75 * state.to(torch.float64), symbols[:, None].to(torch.float64))

    def readout(self, state):
        return torch.cat([0.125 - state, state - 0.125], 1)


class Words(nn.Module):
    """Reads whole words: says whether the last two symbols are alike."""

    def forward(self, words):
        alike = (words[:, -1] == words[:, -2 if words.shape[1] > 1 else -1]).double()
        return torch.stack([1 - alike, alike], 1)


class Broken(Last):
    def step(self, state, symbols):
        return state if state.sum() > 0 else state + 1


class Half(nn.Module):
    def step(self, state, symbols):
        return state


class Raises(Last):
    def __init__(self):
        raise RuntimeError("no luck\\nat all")


no_module = dict
'''


@pytest.fixture
def at_work(cli: Cli, tmp_path: Path, monkeypatch) -> Cli:
    """The command line beside the networks."""
    (tmp_path / "judged_nets.py").write_text(NETWORKS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return cli


def test_a_cell_is_proven_as_it_is_and_check_accepts_it(at_work: Cli, tmp_path: Path):
    said = at_work("judge", "judged_nets:Last", "--language", "regex:(0|1)*1")
    assert (said.code, said.err) == (0, "")
    folder = tmp_path / "judged" / "regex-0-1-1-Last"
    first, second, third = said.out.splitlines()
    assert first.startswith("proven at every length, in real arithmetic, the state replaced after every symbol")
    assert second.startswith("and as it is: each number of its state stays within")
    assert third.startswith("certificate: judged/regex-0-1-1-Last/certificate.json; check it with")
    checked = at_work("check", folder, "--language", "regex:(0|1)*1")
    assert checked.code == 0
    assert "the function in graph.json answers as the automaton does" in checked.out
    assert "The same holds of the network as it is" in checked.out
    assert {path.name for path in folder.iterdir()} == {
        *("automaton.json", "certificate.json", "graph.json", "judgement.json", "model.safetensors")
    }


def test_a_cell_that_forgets_is_wrong_for_ever(at_work: Cli, tmp_path: Path):
    said = at_work("judge", "judged_nets:Fading", "--language", "regex:(0|1)*1(0|1)*", "--out", "wrong", "--json")
    assert said.code == 0
    report = json.loads(said.out)
    assert report["falsified"] is None
    found = report["refutation"]
    assert (found["refuted"], found["v"], found["network"], found["right"]) == (True, "0", "reject", "accept")
    checked = at_work("check", "--refutation", tmp_path / "wrong", "--language", "regex:(0|1)*1(0|1)*")
    assert checked.code == 0
    assert "the function in graph.json answers" in checked.out


def test_of_a_network_that_reads_whole_words_a_wrong_one_is_shown(at_work: Cli, tmp_path: Path):
    said = at_work("judge", "judged_nets:Words", "--language", "regex:(0|1)*1", "--seconds", "2")
    assert said.code == 0
    assert "no certificate: it carries no state of fixed size" in said.out
    assert "wrong: the shortest word is" in said.out
    assert [path.name for path in (tmp_path / "judged").rglob("*.json")] == ["judgement.json"]


REFUSED = [
    (("judged_nets:Lost",), "did you mean 'Last'?"),
    (("no_nets:Last",), "no_nets cannot be imported: ModuleNotFoundError: No module named 'no_nets'"),
    (("judged_nets",), "names no class; give MODULE:CLASS"),
    (("judged_nets:no_module",), "judged_nets:no_module is no torch.nn.Module"),
    (("judged_nets:Half",), "Half has step, and no start; a cell has start(batch), step(state, symbols)"),
    (("judged_nets:Raises",), "cannot be built: RuntimeError: no luck at all"),
    (("judged_nets:Last:width=3",), "cannot be built: TypeError"),
    (("judged_nets:Last:width",), "'width' is no NAME=VALUE"),
    (("judged_nets:Last:symbols=1",), "Last cannot read the 2 symbols of regex:(0|1)*1: IndexError"),
    (("judged_nets:Last:symbols=3",), "it must be (2, 2): a logit for each of reject, accept, in this order"),
    (("judged_nets:Broken",), "`gt`, a comparison: what runs may depend on no number that the network computes"),
    (("judged_nets:Last", "--weights", "judged_nets.py"), "holds no weights that can be read safely"),
    (("judged_nets:Last", "--weights", "none.pt"), "none.pt: no such file"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=lambda case: case if isinstance(case, str) else "")
def test_what_cannot_be_asked_is_told_in_one_line_and_nothing_is_written(
    at_work: Cli, tmp_path: Path, arguments: tuple[str, ...], message: str
):
    assert_refused(at_work("judge", *arguments, "--language", "regex:(0|1)*1"), message)
    assert not (tmp_path / "judged").exists()


def test_a_language_with_a_stack_and_a_folder_with_something_in_it_are_refused(at_work: Cli, tmp_path: Path):
    assert_refused(at_work("judge", "judged_nets:Last", "--language", "brackets-2"), "finite automaton")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    answer = at_work("judge", "judged_nets:Last", "--language", "regex:(0|1)*1", "--out", "full")
    assert_refused(answer, "full exists; choose another --out")


@pytest.mark.parametrize("kind", ["pt", "safetensors"])
def test_weights_are_read_from_either_kind_of_file(at_work: Cli, tmp_path: Path, kind: str):
    from safetensors.torch import save_file

    turned = {"table.weight": torch.eye(2).flip(0).contiguous()}
    save_file(turned, tmp_path / "w.safetensors") if kind == "safetensors" else torch.save(turned, tmp_path / "w.pt")
    said = at_work("judge", "judged_nets:Last", "--language", "regex:(0|1)*1", "--weights", f"w.{kind}")
    assert said.code == 0
    assert "the quantised network's shortest wrong word has 1 symbol" in said.out


def test_a_changed_graph_and_changed_weights_are_rejected(at_work: Cli, tmp_path: Path):
    assert at_work("judge", "judged_nets:Last", "--language", "regex:(0|1)*1", "--out", "it").code == 0
    for name in ("graph.json", "model.safetensors"):
        forged = shutil.copytree(tmp_path / "it", tmp_path / f"forged-{name}")
        data = (forged / name).read_bytes()
        (forged / name).write_bytes(data.replace(b'"multiply"', b'"subtract"') if name == "graph.json" else data + b" ")
        answer = at_work("check", forged)
        assert answer.code == 1
        assert "is not the" in answer.err


def test_the_graph_is_compared_with_the_class_it_came_from(at_work: Cli, tmp_path: Path):
    assert at_work("judge", "judged_nets:Last", "--language", "regex:(0|1)*1", "--out", "it").code == 0
    assert at_work("check", "it", "--model", "judged_nets:Last").code == 0
    for other in ("judged_nets:Last:keep=0.25", "judged_nets:Fading"):
        answer = at_work("check", "it", "--model", other)
        assert (answer.code, answer.err) == (1, f"rejected: {other} with these weights is written as another graph\n")
    assert_refused(at_work("check", "it", "--model", "judged_nets:Lost"), "did you mean 'Last'?")
    wider = at_work("check", "it", "--model", "judged_nets:Last:symbols=3")
    assert_refused(wider, "the weights in model.safetensors are of another Last (of another shape: 'table.weight')")


def test_a_module_trained_in_a_loop_of_ones_own_gets_a_verdict_in_python():
    """A GRU that learned in a few steps, as a stranger has it: right by its table, and something is said as it is."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.cell, self.head = nn.Embedding(2, 8), nn.GRUCell(8, 8), nn.Linear(8, 2)

        def start(self, batch):
            return self.head.weight.new_zeros(batch, 8)

        def step(self, state, symbols):
            return self.cell(self.emb(symbols), state)

        def readout(self, state):
            return self.head(state)

    torch.manual_seed(0)
    net, random = Net(), torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(150):
        words = torch.randint(2, (32, 6), generator=random)
        state = net.start(32)
        for symbols in words.unbind(1):
            state = net.step(state, symbols)
        loss = nn.functional.cross_entropy(net.readout(state), words[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    report = regulargpt.judge(net, "regex:(0|1)*1", seconds=1)
    assert report["certificate"]["proven"]
    assert report["certificate"]["unquantised"]["proven"] or report["falsified"]["wrong"] == []
