"""The independent checker: it accepts what is proven, and refuses every forgery by name."""

import ast
import itertools
import json
import math
import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import languages
from languages.convert.json_text import to_json
from regulargpt.certificate.checker import Malformed, Rejected, check
from regulargpt.certificate.checker import networks as checker_networks
from regulargpt.certificate.checker.claims import claim, unquantised_claim
from regulargpt.certificate.checker.regulargpt import RegularGPT
from regulargpt.certificate.checker.steps import Checker
from regulargpt.certificate.record import text
from regulargpt.certificate.search import networks as search_networks
from regulargpt.config.schema import RunConfig
from regulargpt.construct.configuration import configuration
from regulargpt.finite.specification import specified_machine
from regulargpt.runs.certify import certificate_report
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from regulargpt.storage.manifest import digest
from regulargpt.training.table_fine_tuning import CHECKED, no_certificate

Record = dict[str, Any]
ROOT = Path(__file__).parents[2]
FILES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certified run of Even Pairs, whose weights are made, not trained."""
    folder = tmp_path_factory.mktemp("certified") / "run"
    run(configuration("even-pairs").replaced({"evaluation.test_len": 42, "evaluation.extra_lengths": ()}), folder)
    assert certificate_report(RunFolder.open(folder))["proven"]
    return folder


@pytest.fixture
def copy(certified: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(certified, tmp_path / "run"))


def imported(module: str) -> set[str]:
    """What the file of a module imports, wherever in it."""
    tree = ast.parse(Path(str(find_spec(module).origin)).read_text())
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return modules | {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


CHECKER = "regulargpt.certificate.checker"


def test_the_checker_imports_numpy_and_flint_and_itself_alone():
    waiting, known = [CHECKER], set()
    while waiting:
        known.add(module := waiting.pop())
        for other in imported(module):
            if other.startswith(CHECKER):
                waiting += {other} - known
            else:
                assert other.partition(".")[0] in {"numpy", "flint", *sys.stdlib_module_names}, (module, other)
    files = {"files", "balls", "network", "networks", "regulargpt", "ldru", "machine", "induction"}
    files |= {
        "doubles",
        "images",
        "tables",
        "affine_forms",
        "image_bounds",
        "block_bounds",
        "ldru_bounds",
        "steps",
        "claims",
    }
    assert known == {CHECKER} | {f"{CHECKER}.{name}" for name in files}


def test_the_search_imports_nothing_of_the_checker_but_what_reads_files():
    # Who makes, words and checks a certificate may know the checker; the search for what is in it may not.
    knows = {
        "record.py": {CHECKER, f"{CHECKER}.claims"},
        "outcome.py": {CHECKER},
        "unquantised.py": {CHECKER},
        "verdict.py": {CHECKER},
    }
    certificate = ROOT / "regulargpt" / "certificate"
    for path in [path for folder in (".", "search", "tuning") for path in (certificate / folder).glob("*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found = {other for other in imported(module) if other.startswith(CHECKER)}
        assert found == knows.get(path.name, set()), path


def test_the_networks_that_have_certificates_are_those_of_search_and_checker():
    assert set(CHECKED) == set(search_networks.BOUNDS) == set(checker_networks.NETWORKS)


def test_a_tree_that_the_checker_does_not_know_has_no_certificate():
    config = RunConfig()
    mine = SimpleNamespace(name="lab.models:MyTree", why_no_certificate=lambda: None)
    assert no_certificate(config.model, config.objective) is None
    reason = "lab.models:MyTree is no network that the checker knows, which are regulargpt, ldru"
    assert no_certificate(mine, config.objective) == reason  # type: ignore[arg-type]


def test_it_accepts_and_counts(certified: Path):
    accepted = check(certified / "certificate.json")
    assert (accepted.prototypes, accepted.entries, accepted.levels, accepted.bits) == (4, 26, 3, 64)
    assert (accepted.states, accepted.answered_states) == (4, 4)
    assert (accepted.roots, accepted.answered_roots) == (4, 4)
    assert accepted.claim == claim(["0", "1"], 2, 4, total=True)
    assert accepted.unquantised_claim is not None
    assert accepted.language_claim is None
    assert accepted.homomorphism
    assert accepted.smallest_margin == pytest.approx(math.sqrt(2), abs=1e-5)
    assert set(accepted.functions) == {1, 2, 3, 4}


def test_it_proves_that_the_automaton_is_a_named_languages(certified: Path):
    even_pairs, parity = (to_json(specified_machine(languages.get(name))) for name in ("even-pairs", "parity"))
    accepted = check(certified / "certificate.json", language=("even-pairs", even_pairs))
    assert accepted.language_claim is not None
    assert "as the language even-pairs does" in accepted.language_claim
    with pytest.raises(Rejected, match='the automaton is not that of parity: they differ on the word "1"'):
        check(certified / "certificate.json", language=("parity", parity))
    cycle = to_json(specified_machine(languages.get("cycle-navigation")))
    with pytest.raises(Rejected, match="the automaton is not that of cycle-navigation: it reads other symbols"):
        check(certified / "certificate.json", language=("cycle-navigation", cycle))


def edit(path: Path, change: Callable[[Record], object]) -> None:
    record = json.loads((path / "certificate.json").read_text())
    change(record)
    (path / "certificate.json").write_text(text(record))


def drop_window(record: Record) -> None:
    for column in ("windows", "images"):
        record["nodes"][column].pop()


def swap_image(record: Record) -> None:
    record["nodes"]["images"][3] = 1 + record["nodes"]["images"][3] % 4


def two_in_one(record: Record) -> None:
    """All prototypes the same: every entry is a tie."""
    record["prototypes"] = [record["prototypes"][0]] * 4
    record["answers"] = [record["answers"][0]] * 4


def slack(value: float) -> Callable[[Record], object]:
    return lambda r: r["unquantised"].update(slack=value, claim=unquantised_claim(value))


FORGERIES: list[tuple[str, Callable[[Record], object], str]] = [
    ("a window dropped", drop_window, r"nodes: window \[\d, \d\] occurs at level \d and is not in the table"),
    ("an image swapped", swap_image, r"nodes, window .*: the state is not nearest to prototype \d"),
    ("a prototype moved", lambda r: r["prototypes"][0].__setitem__(0, 5.0), r"window .*: the state is not nearest"),
    ("huge prototypes", lambda r: r.update(prototypes=[[1e300] * 10, *r["prototypes"][1:]]), "not nearest"),
    ("equal prototypes", two_in_one, "1024 bits do not decide which of two numbers is the smaller: a tie"),
    (
        "an answer flipped",
        lambda r: r["answers"].__setitem__(0, 1 - r["answers"][0]),
        "the answer at prototype 1 is not",
    ),
    ("no answer", lambda r: r["answers"].__setitem__(0, None), "there no answer is proven"),
    ("a larger claim", lambda r: r.update(claim="For every word, as it is"), "the claim is not the one"),
    ("a claim of fewer words", lambda r: r.update(claim=claim(["0", "1"], 2, 4, False)), "the claim is not the one"),
    ("another chunk size", lambda r: r.update(chunk_size=3), "C = 3"),
    ("smaller balls", lambda r: r["unquantised"].update(radii=[0.0] * 4), "as it is: leaves, window"),
    ("larger balls", lambda r: r["unquantised"].update(radii=[9.0] * 4), "the answer can change within the ball"),
    ("a larger slack", slack(0.9), "the network as it is: "),
    ("a larger claim of the network as it is", lambda r: r["unquantised"].update(claim="always"), "goes beyond what"),
    ("another digest", lambda r: r["weights"].update(sha256="0" * 64), "is not the weights of this certificate"),
]


@pytest.mark.parametrize(("change", "message"), [(c, m) for _, c, m in FORGERIES], ids=[n for n, _, _ in FORGERIES])
def test_it_rejects_a_forged_certificate(copy: Path, change: Callable[[Record], object], message: str):
    edit(copy, change)
    with pytest.raises(Rejected, match=message):
        check(copy / "certificate.json")


MALFORMED: list[tuple[str, Callable[[Record], object], str]] = [
    ("another format", lambda r: r.update(format="regulargpt certificate 1"), "not 'regulargpt certificate 3'"),
    ("a key missing", lambda r: r.pop("nodes"), "has no 'nodes'"),
    ("a key too many", lambda r: r.update(language="parity"), "has the unknown key 'language'"),
    ("a deeper key too many", lambda r: r["leaves"].update(margins=[]), "'leaves' has the unknown key 'margins'"),
    ("a wrong kind", lambda r: r.update(prototypes="many"), "'prototypes' is 'many', of the wrong kind"),
    ("true for a number", lambda r: r.update(chunk_size=True), "'chunk_size' is True, of the wrong kind"),
    ("a prototype that is no number", lambda r: r["prototypes"][0].__setitem__(0, "1"), "something that is no number"),
    ("a prototype too short", lambda r: r["prototypes"][0].pop(), "'prototypes' is not"),
    ("a prototype beyond doubles", lambda r: r["prototypes"][0].__setitem__(0, 10**400), "not .* finite numbers"),
    ("no digest", lambda r: r["automaton"].pop("sha256"), "has no 'sha256'"),
    *(
        (
            f"the file {name!r}",
            lambda r, name=name: r["weights"].update(file=name),
            "names a file beside the certificate",
        )
        for name in ("../model.safetensors", "", ".", "..", "a\0b", "a\nb")
    ),
    ("a digest that is none", lambda r: r["weights"].update(sha256="\x1b[8m" * 16), "is not 64 hexadecimal digits"),
    ("fewer answers", lambda r: r["answers"].pop(), "4 prototypes need as many answers; there are 3"),
    ("an answer beyond", lambda r: r["answers"].__setitem__(0, 2), "'answers' is not a list of integers from 0 to 1"),
    ("images left out", lambda r: r["nodes"]["images"].pop(), r"'nodes' has \d+ windows and \d+ images"),
    ("an image of nothing", lambda r: r["nodes"]["images"].__setitem__(0, 0), "which count from 1"),
    ("a window twice", lambda r: r["nodes"]["windows"].__setitem__(1, r["nodes"]["windows"][0]), "a window twice"),
    (
        "an absent place before a node",
        lambda r: r["leaves"]["windows"][0].__setitem__(slice(2), [0, 1]),
        "absent place",
    ),
    ("a symbol too many", lambda r: r["leaves"]["windows"][0].__setitem__(0, 7), "integers from 0 to 2"),
    ("a fractional window", lambda r: r["leaves"]["windows"][0].__setitem__(0, 1.0), "integers from 0 to 2"),
    ("fewer balls", lambda r: r["unquantised"]["radii"].pop(), "'radii' is not"),
    ("a negative ball", lambda r: r["unquantised"]["radii"].__setitem__(0, -1), "no radius is below"),
    ("no slack", lambda r: r["unquantised"].update(slack=-0.0), "the slack is above 0"),
    ("a slack of many digits", lambda r: r["unquantised"].update(slack=2**70), "'slack' is .* of the wrong kind"),
    ("balls of infinite size", lambda r: r["unquantised"]["radii"].__setitem__(0, 10**400), "'radii' is not"),
]


@pytest.mark.parametrize(("change", "message"), [(c, m) for _, c, m in MALFORMED], ids=[n for n, _, _ in MALFORMED])
def test_what_is_no_certificate_is_called_so(copy: Path, change: Callable[[Record], object], message: str):
    edit(copy, change)
    with pytest.raises(Malformed, match=message):
        check(copy / "certificate.json")


TEXTS = {
    b"[]": "is not an object",
    b"null": "is not an object",
    b"3": "is not an object",
    b"NaN": "is not JSON: NaN is no number",
    b'{"format": Infinity}': "is not JSON: Infinity is no number",
    b"1" * 5000: "is not JSON",
    b'{"a": 1, "a": 2}': "is not JSON: a key is there twice",
    b"[" * 100_000: "is not JSON: nested too deeply",
    b"\xff": "is not JSON",
    "{}".encode("utf-16"): "is not JSON",
    b"": "is not JSON",
}


@pytest.mark.parametrize("data", TEXTS, ids=[str(data[:20]) for data in TEXTS])
def test_any_other_json_is_refused(tmp_path: Path, data: bytes):
    (tmp_path / "c.json").write_bytes(data)
    with pytest.raises(Malformed, match=TEXTS[data]):
        check(tmp_path / "c.json")


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(Malformed, match="is not a regular file"):
            check(path)
    (tmp_path / "large").write_bytes(b" " * 2000)
    monkeypatch.setattr("regulargpt.certificate.checker.steps.MAX_CERTIFICATE", 1000)
    with pytest.raises(Malformed, match="has 2,000 bytes; at most 1,000 are read"):
        check(tmp_path / "large")


def resign(path: Path, name: str) -> None:
    """Put the digest of a changed file into the certificate, as a careful forger would."""
    found = digest((path / FILES[name]).read_bytes())
    edit(path, lambda record: record[name].update(sha256=found))


def rewrite(path: Path, name: str, change: Callable[[Record], object]) -> None:
    """Change a JSON file beside the certificate, with its digest."""
    record = json.loads((path / FILES[name]).read_text())
    change(record)
    (path / FILES[name]).write_text(json.dumps(record))
    resign(path, name)


def test_it_rejects_other_weights_even_with_their_digest(copy: Path):
    weights = load_file(copy / "model.safetensors")
    weights["blocks.0.ff_out.bias"][0] += 30.0
    save_file(weights, copy / "model.safetensors")
    with pytest.raises(Rejected, match="is not the weights of this certificate"):
        check(copy / "certificate.json")
    resign(copy, "weights")
    with pytest.raises(Rejected, match="the image and the slack may reach"):
        check(copy / "certificate.json")


def test_balls_are_proven_in_float64_and_where_doubles_are_not_those_of_ieee_754_by_flint(
    certified: Path, monkeypatch: pytest.MonkeyPatch
):
    counted: list[object] = []
    inside = Checker.inside
    monkeypatch.setattr(Checker, "inside", lambda *given: (counted.append(given[1]), inside(*given)))
    quick = check(certified / "certificate.json")
    assert counted
    assert "nodes" not in counted
    monkeypatch.setattr("regulargpt.certificate.checker.steps.is_ieee", lambda: False)
    assert check(certified / "certificate.json").unquantised_claim == quick.unquantised_claim
    assert "nodes" in counted


def test_only_so_many_balls_are_proven(certified: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regulargpt.certificate.checker.steps.is_ieee", lambda: False)
    monkeypatch.setattr("regulargpt.certificate.checker.steps.MAX_EXACT_BALLS", 3)
    with pytest.raises(Rejected, match="float64 does not prove the balls of more than 3 entries"):
        check(certified / "certificate.json")
    monkeypatch.setattr("regulargpt.certificate.checker.steps.MAX_BALLS", 3)
    with pytest.raises(Rejected, match="balls are proven of at most 3 entries"):
        check(certified / "certificate.json")


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("images.MAX_WORK", "has .* entries; at most 0 are gone through in a network of this size"),
        ("images.MAX_EXACT_WORK", "more than 0 windows that float64 does not decide: too many in a network"),
        ("steps.MAX_BALL_WORK", "balls are proven of at most 0 entries in a network of this size"),
        ("steps.MAX_MAP", "balls take matrices of .* numbers in this network; at most 1 are gone through"),
        ("steps.MAX_EXACT_BALL_WORK", "float64 does not prove the balls of more than 0 entries"),
        ("network.MAX_NUMBERS", "a step of the network makes more than 1 numbers at once"),
    ],
)
def test_the_work_and_memory_of_a_check_have_bounds_that_follow_the_network(
    certified: Path, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
):
    for module in ("images", "steps"):
        monkeypatch.setattr(f"regulargpt.certificate.checker.{module}.is_ieee", lambda: False)
    monkeypatch.setattr(f"regulargpt.certificate.checker.{limit}", 1)
    with pytest.raises(Rejected, match=message):
        check(certified / "certificate.json")


def test_what_wide_networks_compute_goes_through_in_slices(certified: Path, monkeypatch: pytest.MonkeyPatch):
    whole = check(certified / "certificate.json")
    sizes: list[int] = []
    merge = RegularGPT.merge
    monkeypatch.setattr(RegularGPT, "merge", lambda *given: (sizes.append(len(given[2])), merge(*given))[1])
    for limit in ("NUMBERS", "QUICK_NUMBERS"):
        monkeypatch.setattr(f"regulargpt.certificate.checker.images.{limit}", 1)
    assert check(certified / "certificate.json") == whole
    assert set(sizes) == {1}


WEIGHTS: list[tuple[str, Callable[[dict[str, Any]], object], str]] = [
    ("a number that is not finite", lambda w: w["pad"].fill_(math.inf), "hold a number that is not finite"),
    ("more than two axes", lambda w: w.update(pad=w["pad"][None].clone()), "is no vector or matrix at two offsets"),
    ("one that is none", lambda w: w["readout.bias"].fill_(math.nan), "hold a number that is not finite"),
    ("a head that sees nothing", lambda w: w["blocks.0.attn.r"].fill_(-math.inf), "hold a number that is not finite"),
    ("a tensor too many", lambda w: w.update(more=w["pad"].clone()), "are not the tensors that config.json describes"),
    ("a tensor too few", lambda w: w.pop("pad"), "are not the tensors that config.json describes"),
    ("another shape", lambda w: w.update(pad=w["pad"][:, :-1].clone()), "are not the tensors that config.json"),
    ("another type", lambda w: w.update(pad=w["pad"].half()), "tensor 'pad' has the type 'F16'; known are F64, F32"),
]


@pytest.mark.parametrize(("change", "message"), [(c, m) for _, c, m in WEIGHTS], ids=[n for n, _, _ in WEIGHTS])
def test_weights_of_another_kind_are_refused(copy: Path, change: Callable[[dict[str, Any]], object], message: str):
    weights = load_file(copy / "model.safetensors")
    change(weights)
    save_file(weights, copy / "model.safetensors")
    resign(copy, "weights")
    with pytest.raises(Malformed, match=message):
        check(copy / "certificate.json")


NETWORKS: list[tuple[str, Callable[[Record], object], type[ValueError], str]] = [
    ("norm", lambda r: r["model"].update(norm="rms"), Malformed, "norm 'rms' is not known, only pre and post"),
    ("activation", lambda r: r["model"].update(activation="tanh"), Malformed, "activation 'tanh' is not known"),
    ("name", lambda r: r["model"].update(name="transformer"), Rejected, "a name among 'regulargpt', 'ldru'"),
    ("levels", lambda r: r["model"].update(levels=3), Rejected, "with levels = 0"),
    ("pad", lambda r: r["model"].update(pad="masked"), Rejected, "with pad = 'learned'"),
    ("attention", lambda r: r["model"].update(attention="full"), Rejected, "with attention = 'dilated'"),
    ("thickness", lambda r: r["model"].update(thickness=2), Rejected, "with thickness = 1"),
    ("an unknown field", lambda r: r["model"].update(window=3), Malformed, "has the unknown key 'window'"),
    ("a field left out", lambda r: r["model"].pop("levels"), Malformed, "has no 'levels'"),
    ("a field of the whole", lambda r: r.update(note=""), Malformed, "config.json has the unknown key 'note'"),
    ("heads", lambda r: r["model"].update(n_heads=3), Malformed, "sizes are not those of a network"),
    ("sizes", lambda r: r["model"].update(d_ff=1), Malformed, "are not the tensors that config.json describes"),
    ("no sizes", lambda r: r["model"].update(d_ff=-1), Malformed, "sizes are not those of a network"),
    ("gates", lambda r: r["model"].update(gates=True), Malformed, "are not the tensors that config.json describes"),
    ("gates by halves", lambda r: r["model"].update(gates=1), Malformed, "'gates' is 1, of the wrong kind"),
    ("gates left out", lambda r: r["model"].pop("gates"), Malformed, "has no 'gates'"),
    ("state norm", lambda r: r["model"].update(state_norm=True), Malformed, "are not the tensors that config.json"),
    ("symbols", lambda r: r.update(alphabet=["a", "b"]), Rejected, "other symbols or answers"),
    ("a symbol less", lambda r: r.update(alphabet=["0"]), Malformed, "counts other symbols"),
    ("supervision", lambda r: r.update(supervision="next"), Rejected, "trained to answer 'next'"),
    (
        "a huge scale",
        lambda r: r["model"].update(embedding_scale=10**400),
        Malformed,
        "embedding_scale in config.json is not",
    ),
    ("large chunks", lambda r: r["model"].update(chunk_size=65), Malformed, "with chunks of 2 to 64"),
    ("scale", lambda r: r["model"].update(embedding_scale=0.0), Rejected, "the state is not nearest"),
]


@pytest.mark.parametrize(("change", "kind", "message"), [c[1:] for c in NETWORKS], ids=[c[0] for c in NETWORKS])
def test_another_network_is_refused_even_with_its_digest(
    copy: Path, change: Callable[[Record], object], kind: type[ValueError], message: str
):
    rewrite(copy, "network", change)
    with pytest.raises(kind, match=message):
        check(copy / "certificate.json")


def silent_but(*states: str) -> Callable[[Record], object]:
    return lambda r: r.update(outputs={q: a if q in states else None for q, a in r["outputs"].items()})


def finite(record: Record) -> None:
    """Only the words 0, 1 and those of two symbols have an answer."""
    states = ["q0", "a", "b", "end"]
    rows = {"q0": {"0": "a", "1": "b"}, **{q: {"0": "end", "1": "end"} for q in states[1:]}}
    outputs = {"q0": None, "a": "even", "b": "odd", "end": None}
    record.update(states=states, transitions=rows, outputs=outputs)


AUTOMATA: list[tuple[str, Callable[[Record], object], type[ValueError], str]] = [
    (
        "other answers",
        lambda r: r["outputs"].update(q3="even"),
        Rejected,
        "is the root of words that lead",
    ),
    ("no answers", silent_but(), Rejected, "never gives two different answers: the claim would say nothing"),
    ("one answer", silent_but("q1"), Rejected, "never gives two different answers: the claim would say nothing"),
    (
        "some answers",
        silent_but("q1", "q3"),
        Rejected,
        "the claim is not the one.* has an answer",
    ),
    ("finitely many words", finite, Rejected, "answers finitely many words"),
    ("a state twice", lambda r: r["states"].append("q1"), Malformed, "'states' is not a list of different names"),
    ("an unknown key", lambda r: r.update(accepting=[]), Malformed, "has the unknown key 'accepting'"),
    ("nowhere", lambda r: r["transitions"]["q0"].update({"0": "q9"}), Malformed, "a transition leads to no state"),
    ("a list for a state", lambda r: r["transitions"]["q0"].update({"0": []}), Malformed, "leads to no state"),
    ("a missing transition", lambda r: r["transitions"]["q0"].pop("0"), Malformed, "give every state a transition"),
    ("a list for an output", lambda r: r["outputs"].update(q0=[]), Malformed, "give every state a transition"),
    ("an unknown output", lambda r: r["outputs"].update(q0="x"), Malformed, "give every state a transition"),
]


@pytest.mark.parametrize(("change", "kind", "message"), [c[1:] for c in AUTOMATA], ids=[c[0] for c in AUTOMATA])
def test_another_automaton_is_refused_even_with_its_digest(
    copy: Path, change: Callable[[Record], object], kind: type[ValueError], message: str
):
    rewrite(copy, "automaton", change)
    with pytest.raises(kind, match=message):
        check(copy / "certificate.json")


def test_a_claim_about_some_words_says_how_many(copy: Path):
    rewrite(copy, "automaton", silent_but("q1", "q3"))
    edit(copy, lambda r: r.update(claim=claim(["0", "1"], 2, 4, total=False)))
    accepted = check(copy / "certificate.json")
    assert "on which the automaton has an answer" in accepted.claim
    assert (accepted.states, accepted.answered_states) == (4, 2)
    assert accepted.answered_roots == accepted.roots == 2


def test_automata_and_tables_beyond_the_bounds_are_refused(copy: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regulargpt.certificate.checker.induction.MAX_WINDOWS", 20)
    with pytest.raises(Rejected, match="more than 20 windows at 2 levels: too many to go through"):
        check(copy / "certificate.json")
    monkeypatch.setattr("regulargpt.certificate.checker.machine.MAX_PRODUCTS", 8)
    with pytest.raises(Rejected, match="do too many different things"):
        check(copy / "certificate.json")
    monkeypatch.setattr("regulargpt.certificate.checker.machine.MAX_STATES", 3)
    with pytest.raises(Rejected, match="has 5 states; automata of at most 3 are checked"):
        check(copy / "certificate.json")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.99])
def test_it_refuses_cut_files(copy: Path, share: float):
    for name, file in FILES.items():
        other = Path(shutil.copytree(copy, copy.with_name(name)))
        data = (other / file).read_bytes()
        (other / file).write_bytes(data[: int(share * len(data))])
        resign(other, name)
        with pytest.raises(Malformed):
            check(other / "certificate.json")
    data = (copy / "certificate.json").read_bytes()
    (copy / "certificate.json").write_bytes(data[: int(share * len(data))])
    with pytest.raises(Malformed, match="is not JSON"):
        check(copy / "certificate.json")


def test_any_flipped_bit_of_the_certificate_changes_nothing_or_is_refused(copy: Path, certified: Path):
    data = (certified / "certificate.json").read_bytes()
    accepted = check(certified / "certificate.json")
    for place, bit in itertools.product(np.random.default_rng(0).integers(len(data), size=30), (0, 4)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        (copy / "certificate.json").write_bytes(bytes(flipped))
        try:
            found = check(copy / "certificate.json")
        except (Malformed, Rejected, FileNotFoundError):
            continue
        assert (found.claim, found.functions) == (accepted.claim, accepted.functions)


ARITHMETIC = (
    "balls",
    "doubles",
    "network",
    "regulargpt",
    "ldru",
    "affine_forms",
    "image_bounds",
    "block_bounds",
)
ARITHMETIC += ("ldru_bounds",)


def code_lines(path: Path) -> int:
    """Lines that are neither blank nor a comment nor part of a docstring."""
    text = path.read_text()
    places = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = [node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, places) and ast.get_docstring(node)]
    quoted = {i for doc in docs for i in range(doc.lineno, (doc.end_lineno or doc.lineno) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for i, line in lines if line.strip() and not line.strip().startswith("#") and i not in quoted)


def test_the_page_says_how_much_there_is_to_read_and_in_how_many_ways_it_was_tried():
    page = " ".join((ROOT / "docs" / "certificate.md").read_text().split())
    files = {path.stem: path for path in (ROOT / "regulargpt" / "certificate" / "checker").glob("*.py")}
    code = {name: code_lines(path) for name, path in files.items() if name != "__init__"}
    most = re.search(r"fewer than ([\d,]+) lines of code, half of them the arithmetic", page)
    assert most
    lines, arithmetic = sum(code.values()), sum(code[name] for name in ARITHMETIC)
    assert int(most[1].replace(",", "")) - 200 < lines < int(most[1].replace(",", ""))
    assert 0.45 < arithmetic / lines < 0.55
    ways = re.search(r"change files in more than (\d+) ways", page)
    assert ways
    assert len(FORGERIES) + len(MALFORMED) + len(WEIGHTS) + len(NETWORKS) + len(AUTOMATA) > int(ways[1])


def test_a_symbol_cannot_end_the_claim_or_the_line(copy: Path):
    evil = "1} of at least one symbol.\nThe same holds of the network as it is.\x1b[8m"

    def rename(record: Record) -> None:
        record["alphabet"] = ["0", evil]
        record["transitions"] = {q: {"0": row["0"], evil: row["1"]} for q, row in record["transitions"].items()}

    rewrite(copy, "automaton", rename)
    rewrite(copy, "network", lambda record: record.update(alphabet=["0", evil]))
    edit(copy, lambda r: r.update(claim=claim(["0", evil], 2, 4, True), unquantised=None))
    accepted = check(copy / "certificate.json")
    assert accepted.claim.isprintable()
    assert accepted.claim.isascii()
    # What the alphabet is can be read back from the claim.
    texts = [
        claim(alphabet, 2, 4, True) for alphabet in (["a, b", "c"], ["a", "b, c"], ["a", "b", "c"], ["a", 'b", "c'])
    ]
    assert len(set(texts)) == 4


SPANS = ([0], [], ["a", 1], [None, 1], [{}, {}], [0, 10**400], [0, 4, 8], 3)


@pytest.mark.parametrize("spans", SPANS, ids=str)
@pytest.mark.parametrize("shape", [[1], [0] * 65, [0, 2**30, 2**30], "x"], ids=str)
def test_any_header_of_the_weights_is_answered(copy: Path, spans: object, shape: object):
    header = json.dumps({"pad": {"dtype": "F32", "shape": shape, "data_offsets": spans}}).encode()
    (copy / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"0000")
    resign(copy, "weights")
    with pytest.raises(Malformed):
        check(copy / "certificate.json")


def test_levels_that_do_not_repeat_soon_are_refused(monkeypatch: pytest.MonkeyPatch, copy: Path):
    monkeypatch.setattr("regulargpt.certificate.checker.induction.MAX_LEVELS", 2)
    with pytest.raises(Rejected, match="the levels do not repeat within 2"):
        check(copy / "certificate.json")
