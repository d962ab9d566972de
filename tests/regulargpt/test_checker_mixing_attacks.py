"""Certificates and refutations of today's recurrent networks that are made to pass, or to take the checker's time.

What is no network, a choice between equal numbers, a sum whose rounding is left out: in ordinary networks nothing of
it comes up, so that only these tests would notice.
"""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from flint import arb, ctx

from regulargpt.certificate.checker import Malformed, Rejected
from regulargpt.certificate.checker.balls import Undecided, cos, exact, sin
from regulargpt.certificate.checker.boxes import ends, known
from regulargpt.certificate.checker.chain_boxes import Boxes
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.chain_pd_ssm import largest
from regulargpt.certificate.checker.chain_product import START, CheckedRows, Product
from regulargpt.certificate.checker.chain_xlstm import over, size_of
from regulargpt.certificate.checker.delta_recurrences import Columns, DeltaSettling
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.certificate.checker.factors import gathered
from regulargpt.certificate.checker.network import COST
from regulargpt.certificate.checker.refutation import CheckedFamily, RefutationCheck
from regulargpt.finite.chain import Chain
from tests.regulargpt import test_refutation_delta
from tests.regulargpt.cases import built, words_of
from tests.regulargpt.test_checker_mixing import CHECKED, assert_holds, record
from tests.regulargpt.test_refutation_delta import PARITY, drawn, of_checker

SIZES = "the sizes are not those of a network"
# Of networks with these names, an option and values that it cannot have, and what is said of them.
NO_NETWORKS = [
    ("delta mamba2 gla rwkv7 mlstm slstm", "n_heads", (0, -2, 3, 16), "heads do not divide the width"),
    ("delta mamba mamba2 mlstm slstm", "conv", (-1, 65, 10**6), "a convolution of"),
    ("delta", "householders", (0, -1, 65, 10**6), "householders; there are 1 to 64"),
    ("mamba mamba2", "d_state", (0, -1), SIZES),
    ("mamba mamba2", "expand", (0, -1), SIZES),
    ("mamba2", "version", (0, 1, 4), SIZES),
    ("pd-ssm", "d_state", (-1,), SIZES),
    ("pd-ssm", "dictionary", (0, -1), SIZES),
    ("s4d", "d_state", (0, 1, 3, -2), SIZES),
    (" ".join(CHECKED), "n_layers", (0, -1), SIZES),
    ("gla", "d_model", (6,), "heads of 3 numbers have no halves"),
    ("mlstm", "blocks", ("x", "mS", "m,s", "m" * 1025), "blocks .* is not known"),
    ("delta gla pd-ssm s4d", "mlp", ("SwiGLU",), "mlp .* is not known"),
    ("delta rwkv7", "init", ("",), "init .* is not known"),
    ("delta mamba rwkv7", "range", ("closed",), "range .* is not known"),
    ("delta", "output_gate", ("",), "output_gate .* is not known"),
    ("gla", "decay", ("heads",), "decay .* is not known"),
    ("pd-ssm", "variant", ("rows",), "variant .* is not known"),
    ("delta gla", "n_heads", (True, 2.0, "2"), "of the wrong kind"),
    ("delta", "gate", (1, "true"), "of the wrong kind"),
    ("pd-ssm", "gate_bias", (False,), "of the wrong kind"),
    (" ".join(CHECKED), "c", (1,), "the unknown key 'c'"),
]


@pytest.mark.parametrize(("names", "option", "values", "message"), NO_NETWORKS)
def test_what_is_no_network_is_refused_before_its_weights_are_read(
    names: str, option: str, values: tuple[Any, ...], message: str
):
    """Each by its own message: that the tensors do not fit would be said of it as well, later and after more work."""
    for name, value in product(names.split(), values):
        config = record(name)
        config["model"][option] = value
        with pytest.raises(Malformed, match=message):
            network_of({}, config, known)


def test_options_of_two_kinds_that_do_not_go_together():
    for name, options, message in (
        ("mamba2", {"version": 3, "d_state": 3}, SIZES),
        ("mamba", {"d_model": -8, "expand": -1}, SIZES),
        ("mlstm", {"d_model": 9, "n_heads": 3}, "18 numbers are not cut into blocks of 4"),
    ):
        config = record(name)
        config["model"] |= options
        with pytest.raises(Malformed, match=message):
            network_of({}, config, known)


def test_rows_of_many_narrow_layers_are_counted_by_the_layer():
    """A row alone takes a second there, though its weights are few: rows that come up one by one would take days."""
    quick: Any = SimpleNamespace(layers=1024, D=1, alphabet=["0"], output_names=["0", "1"])
    quick.first_state, quick.work, quick.widest = lambda: np.zeros(1), lambda: 1, lambda: 4
    rows = CheckedRows(quick, lambda: quick, np.zeros((1, 1)), lambda *_: None)
    rows.points = {(0, i): 1 for i in range(4096)}
    with pytest.raises(Rejected, match=r"more than 4,0\d\d rows of the table come up: too many in a network of this"):
        rows.add(iter([(1, 0)]))


@np.errstate(invalid="ignore")
def test_what_float64_does_not_tell_apart_is_no_largest_number():
    """A choice that may be another one changes the whole step: one that is not certain leaves nothing certain."""
    gap = 2.0**-40
    middle = np.array([[1, 2, 3], [1, 3, 3], [3, 3 - gap, 1], [np.nan, 1, 2], [1, 2, np.nan], [1, np.inf, 2]])
    for radius, right in ((0.0, [True, False, True, *[False] * 3]), (gap, [True, *[False] * 5])):
        places, certain = largest(Doubles(middle, np.full(middle.shape, radius)), 1)
        assert places[0] == 2
        assert certain.tolist() == right
    both = known(np.stack([middle[[0, 1]], middle[[0, 0]]]))  # (2, 2, 3): of two choices one is open, or none
    assert largest(both, 2)[1].tolist() == [False, True]
    assert largest(both, 1)[1].tolist() == [False, False]


def test_equal_numbers_have_no_largest_one_and_more_bits_tell_near_ones_apart():
    values = exact(np.array([[1.0, 2.0, 3.0], [5.0, 3.0, 1.0]]))
    places, certain = largest(values, 1, is_certain=True)
    assert (places.tolist(), certain.tolist()) == ([2, 0], [True, True])
    with ctx.workprec(128):  # float64 would take the first two for equal
        near = exact(np.array([[1.0, 1.0, 0.0]]))
        near[0, 1] += arb(2) ** -70
        assert largest(near, 1, is_certain=True)[0].tolist() == [1]
    with pytest.raises(Rejected, match="are equal"):
        largest(exact(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 3.0]])), 1, is_certain=True)
    for wide in (arb(3, 1e-9), arb("nan")):
        values[1, 0], values[1, 1] = wide, arb(3)
        with pytest.raises(Undecided):
            largest(values, 1, is_certain=True)
        assert largest(values, 1)[1].tolist() == [True, False]


def test_sums_of_what_goes_to_one_place_hold_their_rounding():
    """Each of these is lost beside 1 if it is added alone."""
    h = np.full((2, 64), 2.0**-54)
    h[:, 0] = 1
    for radius in (0.0, 2.0**-30):
        found = gathered(Doubles(h, np.full(h.shape, radius)), np.zeros((2, 64), dtype=np.int64))
        with ctx.workprec(200):
            assert_holds(found, gathered(exact(h + radius), np.zeros((2, 64), dtype=np.int64)))


def test_columns_hold_the_state_however_few_the_bits():
    """What is rounded at each of 80 steps is in the radius: with 64 bits that would hardly show."""
    for written in ("delta:conv=0,range=signed", "delta:conv=3,householders=2,gate=true"):
        model, _, config = drawn(written, PARITY, seed=2)
        found = []
        for bits in (20, 300):
            with ctx.workprec(bits):
                network = of_checker(model, config)
                found += network.read([1, 0, 1, 1] * 20, network.beginning(), [])[2]
        with ctx.workprec(300):
            apart = (((found[1].centre - found[0].centre) ** 2).sum(-2)) ** 0.5
            assert all(x.upper() <= r for x, r in zip(apart.ravel(), found[0].radius.ravel(), strict=True))
            assert all(1e-9 < float(r) < 1 for r in found[0].radius.ravel())


@pytest.mark.parametrize("written", ["delta:conv=0,range=signed", "delta:conv=2,gate=true"])
def test_what_is_not_known_of_a_state_before_a_loop_stays_unknown_in_it(written: str):
    """A state that is elsewhere in the columns, by nearly all of their radius, has its logits in the bounds."""
    model, _, config = drawn(written, PARITY, seed=3)
    network = of_checker(model, config)
    [start] = network.read([1, 0, 0], network.beginning(), [])[2]
    random = np.random.default_rng(0)
    for v, w in (([1], []), ([0, 1], [1])):
        wide = network.toward([Columns(start.centre, start.radius + 0.02, start.before)], v, w)
        for _ in range(10):
            to = random.normal(size=start.centre.shape)
            moved = start.centre + exact(0.0199 * to / np.sqrt(np.square(to).sum(-2, keepdims=True)))
            there = network.toward([Columns(moved, start.radius, start.before)], v, w)
            for n in (there.first, there.first + 1, there.first + 6):
                logits = there.some(n, 1, 1)
                assert all(x.contains(y.mid()) for x, y in zip(wide.all(n), logits, strict=True))
                assert all(x.contains(y.mid()) for x, y in zip(wide.some(n, 1, 1), logits, strict=True))


LOOPS = [
    "delta:conv=4",
    "delta:conv=4,gate=true,range=signed",
    "delta:conv=0,range=signed",
    "delta:conv=2,householders=2",
    "delta:conv=1,householders=2,gate=true",
]


@pytest.mark.parametrize("n_heads", [1, 2])
@pytest.mark.parametrize("written", LOOPS)
def test_the_states_of_many_words_lie_in_their_columns(monkeypatch: pytest.MonkeyPatch, written: str, n_heads: int):
    """Bounds of logits are so much wider that a column that is too narrow would not show in them.

    With one head all keys of a word are fewer than its numbers: what is orthogonal to them stays.
    """
    monkeypatch.setattr(test_refutation_delta, "SMALL", f"d_model=6,n_heads={n_heads},n_layers=1")
    model, _, config = drawn(written, PARITY, seed=5)
    with torch.no_grad():  # so that what is left of the start fades slowly, and the columns are as wide as they need be
        model.blocks[0].mixer.beta.weight.mul_(0.2)
        if "gate" in written:
            model.blocks[0].mixer.a_log.fill_(-3.0)
    with ctx.workprec(200):
        network = of_checker(model, config)
        begun = network.read([1, 0], network.beginning(), [])[2]
        for v in ([1], [1, 0, 0], [1, 1, 1, 0]):
            settling, at, states = network.toward(begun, v, []), begun, {}
            for n in range(1, 40):
                at = network.read(v, at, [])[2]
                states[n] = at[0].centre
            for n in range(1, settling.first):
                assert not any(x.is_finite() for x in settling.all(n))
            with monkeypatch.context() as patched:
                patched.setattr(DeltaSettling, "logits", lambda self, S, far: (np.stack(S), np.stack(far)))
                for n in (settling.first, settling.first + 3):
                    assert all(is_near(states[m], *settling.all(n)) for m in range(n, 40))
                    for period, count in ((1, 8), (2, 4), (3, 3)):
                        some = settling.some(n, count, period)
                        assert all(is_near(states[n + i * period], *some) for i in range(count))


def is_near(S: Any, centre: Any, far: Any) -> bool:
    """Whether each column of each head lies so near to those of the centre; what is rounded is 2^-40."""
    apart = np.sqrt(np.square((S - centre).astype(float)).sum(-2))
    return bool((apart <= (1 + 2.0**-40) * far.astype(float) + 2.0**-40).all())


class Scripted:
    """Where one word has a wrong answer, in place of a network: from `known` on one comparison decides all words.

    At most four words are decided at once.
    """

    def __init__(self, first: int, wrong: int, known: int):
        self.first, self.wrong, self.known = first, wrong, known

    def all(self, n: int) -> Any:
        return ANSWERS[True if n >= self.known else None]

    def some(self, n: int, count: int, period: int) -> Any:
        assert n >= self.first
        is_right = self.wrong not in range(n, n + count * period, period)
        return ANSWERS[None if count > 4 or (count > 1 and not is_right) else is_right]


ANSWERS = {True: exact(np.array([0, 1])), False: exact(np.array([1, 0])), None: exact(np.array([0, 1])) + arb(0, 9)}


@pytest.mark.parametrize("period", [1, 2, 3])
@pytest.mark.parametrize("filled", [0, 1, 2, 7, 40])
def test_no_word_of_a_family_is_left_out(period: int, filled: int):
    """Whichever it is that has a wrong answer: of those that are read, of every second, of the last before a limit."""
    for start, residue, wrong in product((1, 2, 6), range(period), range(1, 32)):
        family = CheckedFamily([], [0], [], start, period, residue, 1)
        found = RefutationCheck.__new__(RefutationCheck)
        found.network, found.family, found.work = SimpleNamespace(output_names=["a", "b"]), family, 1
        found.comparisons, found.progress = 0, lambda *_: None
        found.settling = Scripted(filled, wrong, 30)  # type: ignore[assignment]

        def read_on(first: int, settled: int, wrong: int = wrong) -> int:
            if wrong in range(first, settled, period):
                raise Rejected("read")
            return 0

        found.read_on = read_on  # type: ignore[method-assign]
        if start <= wrong < 30 and wrong % period == residue:
            with pytest.raises(Rejected, match=r"read|does not answer"):
                found.run()
        else:
            settled, words, _ = found.run()
            assert (settled, words) == (30, len(range(family.first(), 30, period)))


def test_a_network_of_two_layers_is_not_refuted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(test_refutation_delta, "SMALL", "d_model=4,n_heads=2,n_layers=2")
    model, _, config = drawn("delta:conv=0", PARITY, seed=0)
    with pytest.raises(Rejected, match="networks of one layer of delta are refuted; this one has more"):
        of_checker(model, config)


def test_words_read_one_by_one_are_the_networks(monkeypatch: pytest.MonkeyPatch):
    """u, so many v and the whole of w, while the convolution fills and later."""
    model, _, config = drawn("delta:conv=4,gate=true", PARITY, seed=6)
    shown: dict[str, Any] = {}
    monkeypatch.setattr(RefutationCheck, "answers", lambda self, logits, which: shown.update({which: logits}))
    found = RefutationCheck(
        of_checker(model, config), CheckedFamily([1], [0, 1], [1, 1, 0], 1, 2, 1, 0), lambda *_: None
    )
    assert found.read_on(1, 8) == (8, 4)
    assert [*shown] == [f"for n = {n}" for n in (1, 3, 5, 7)]
    for n, logits in zip((1, 3, 5, 7), shown.values(), strict=True):
        with torch.no_grad():
            right = model(torch.tensor([[1, *[0, 1] * n, 1, 1, 0]]))[0]
        assert np.allclose(logits.astype(float), right.numpy(), atol=1e-9)


@pytest.mark.parametrize("written", ["slstm:mlp=none", "slstm"])
def test_margins_of_a_box_that_is_nearly_a_point_are_those_of_the_logits(written: str):
    """A gain or a bias that is left out makes no answer wrong that is right by far: the margin itself shows it."""
    model, generator = built(written, n_layers=1), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.4 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    config = record(written)
    config["model"]["n_layers"] = 1
    network: Any = network_of({key: value.numpy() for key, value in model.state_dict().items()}, config, known)
    point = Chain(model).along(words_of(1, 6))[1][0, -1]
    for symbol in range(3):
        logits, after = (part[0].numpy() for part in Chain(model).step(point[None], torch.tensor([symbol])))
        image = network.image(point.numpy(), np.full(network.D, 1e-12), symbol)
        assert np.allclose(image.middle, after, atol=1e-9)
        assert (image.radius < 1e-9).all()
        for answer in range(len(logits)):
            least = network.margin(image.middle, image.radius, answer, symbol)
            assert abs(least - (logits[answer] - np.delete(logits, answer).max())) < 1e-7


def test_networks_of_xlstm_without_bounds_say_so():
    for written, layers, has_boxes in (
        ("slstm", 1, True),
        ("mlstm:blocks=s,conv=0", 1, True),
        ("mlstm:blocks=sm,conv=0", 1, True),
        ("slstm", 2, False),
        ("mlstm:conv=0", 1, False),
        ("slstm:blocks=ms", 1, False),
        ("slstm:conv=4", 1, False),
    ):
        model, config = built(written, n_layers=layers), record(written)
        config["model"]["n_layers"] = layers
        network: Any = network_of({key: value.numpy() for key, value in model.state_dict().items()}, config, known)
        assert (network.why_no_boxes() is None) == has_boxes


def read_of(written: str, model: Any, **sizes: int) -> Any:
    """The checker's network of these weights, in float64."""
    config = record(written)
    config["model"] |= sizes
    return network_of({key: value.numpy() for key, value in model.state_dict().items()}, config, known)


def assert_steps_alike(model: Any, network: Any) -> None:
    """From states that come up: as the model itself."""
    chain, words = Chain(model), words_of(3, 5)
    states, symbols = chain.along(words)[1][:, -1], words[:, 0]
    for found, right in zip(
        network.step(known(states.numpy()), symbols.numpy()), chain.step(states, symbols), strict=True
    ):
        assert np.allclose(found.middle, right.numpy(), rtol=1e-9, atol=1e-9)
        assert np.isfinite(found.radius).all()


WIDE = [
    *CHECKED,
    "mamba2:version=3",
    "gla:decay=retention",
    "gla:decay=head",
    "pd-ssm:variant=row",
    "rwkv7:range=signed",
]


@pytest.mark.parametrize("written", WIDE)
def test_networks_wider_than_the_inner_widths_are_read_as_well(written: str):
    """Ranks are 32 at most, or a sixteenth, and angles go by the width of a head: narrow networks show none of it."""
    assert_steps_alike(model := built(written, d_model=48), read_of(written, model, d_model=48))


def test_numbers_that_are_kept_from_0_are_kept_as_far():
    """The slowest decay of Mamba-3, and the shortest key of RWKV-7."""
    third, seventh = built("mamba2:version=3"), built("rwkv7")
    with torch.no_grad():
        third.embedding.weight.abs_()
        for block in third.blocks:
            block.norm.weight.abs_()
            H, angles = len(block.mixer.d), len(block.mixer.b_norm.weight) // 2
            block.mixer.in_proj.weight[-2 * H - angles : -H - angles] = -9  # log(1 + e^rate) is nearly 0
        for block in seventh.blocks:
            block.mixer.k_k.mul_(1e-13)
    assert_steps_alike(third, read_of("mamba2:version=3", third))
    assert_steps_alike(seventh, read_of("rwkv7", seventh))


@pytest.mark.parametrize("variant", ["column", "row", "bank"])
def test_a_step_with_a_choice_between_equal_numbers_is_not_known(variant: str):
    """Else the first of them would be taken, and a proof rest on it."""
    written = f"pd-ssm:variant={variant}"
    model = built(written)
    with torch.no_grad():
        for mixer in (block.mixer for block in model.blocks):
            if variant == "bank":
                mixer.select.weight[1:] = mixer.select.weight[0]
            else:
                places = mixer.dictionary if variant == "column" else mixer.dictionary.transpose(1, 2)
                places[:, :2] = 9
    network = read_of(written, model)
    logits, state = network.step(known(network.first_state()[None]), np.array([0]))
    assert not np.isfinite(state.middle + state.radius).any()
    # Whatever was chosen, a norm leaves no number beyond the root of d.
    assert (logits.radius > 1).all()


def test_what_may_be_divided_by_0_has_no_bounds():
    found = over(known(np.array([1.0, 1.0, 1.0])), Doubles(np.array([0.5, 0.5, 2.0]), np.array([0.5, 0.6, 1.0])))
    assert (np.isfinite(found.radius) & np.isfinite(found.middle)).tolist() == [False, False, True]


RARE = [
    "slstm:conv=4",
    "slstm:blocks=smm,conv=2",
    "mlstm:blocks=ms,conv=0",
    "mlstm:conv=1",
    "delta:conv=1,householders=3",
    "mamba:conv=9,expand=3,d_state=5",
    "mamba2:version=3,d_state=6,expand=3",
    "pd-ssm:variant=row,d_state=3,dictionary=2,mlp=swiglu",
]


@pytest.mark.parametrize("written", RARE)
def test_options_together_are_read_as_the_model_reads_them(written: str):
    """Three blocks: kinds of blocks come around. A convolution of one symbol carries nothing, but is one."""
    assert_steps_alike(model := built(written, n_layers=3), read_of(written, model, n_layers=3))


@pytest.mark.parametrize("written", [*CHECKED, *RARE])
def test_a_proof_begins_where_the_network_begins(written: str):
    """To the last bit: after one symbol nothing of it may be seen."""
    model = built(written)
    chain = Chain(model)
    start = chain._vector([block.mixer.start(1) for block in model.blocks])
    assert read_of(written, model).first_state().tolist() == start[0].tolist()


def test_norms_of_a_box_hold_those_of_its_points():
    random = np.random.default_rng(0)
    x = Doubles(random.normal(size=(50, 4)), random.exponential(size=(50, 4)))
    low, high = ends(size_of(x))
    for _ in range(20):
        points = x.middle + x.radius * random.choice([-1.0, 1.0, 0.3], x.shape)
        size = np.sqrt(np.square(points).mean(-1, keepdims=True) + 1e-5)
        assert ((low <= size) & (size <= high)).all()


def test_rows_of_wide_matrices_are_computed_a_few_at_a_time():
    """A hundred rows of matrices of 10^6 numbers take gigabytes, where the state has a thousand."""
    network = read_of("pd-ssm:d_state=64", built("pd-ssm:d_state=64"))
    assert network.widest() >= 4 * network.N**2 > 4 * network.D
    assert network.work() > COST * network.layers * network.N**2 > 16 * COST * network.D  # each is compared, too
    network = read_of(many := "pd-ssm:d_state=1,dictionary=900", built(many))  # shares of as many matrices
    assert network.widest() >= 4 * network.count
    assert network.choosing() > COST * network.layers * network.count


def test_boxes_begin_with_the_start_and_nothing_around_it():
    """A start that is not 0, as that of sLSTM, has to lead into the boxes itself."""
    network: Any = SimpleNamespace(
        GATES=1, ANSWERS_BEFORE=False, d=1, layers=1, D=1, first_state=lambda: np.array([5.0])
    )
    network.image = lambda point, radii, symbol, alone: Doubles(point, radii)
    rows = SimpleNamespace(points={(0, 0): 1}, progress=lambda *_: None, shown=str)
    proven: Any = SimpleNamespace(rows=rows, answered=lambda is_before: [])
    radii = np.array([[0.1]])
    assert 0.08 < Boxes(network, np.array([[5.0]]), radii, 1e-3, proven).room < 0.1
    with pytest.raises(Rejected, match=r"may be 5\.001 from that of point 1"):
        Boxes(network, np.array([[0.0]]), radii, 1e-3, proven)


def test_what_is_no_number_is_no_bound():
    """Neither of a state nor of a margin: every comparison with it is false."""
    network: Any = SimpleNamespace(GATES=1, ANSWERS_BEFORE=False, d=1, layers=1, D=1, first_state=lambda: np.zeros(1))
    network.image = lambda point, radii, symbol, alone: Doubles(point, radii)
    network.margin = lambda point, radii, answer, symbol: np.nan
    rows = SimpleNamespace(points={(0, 0): 1}, progress=lambda *_: None, shown=str)
    proven: Any = SimpleNamespace(rows=rows, answered=lambda is_before: [(1, 0, 0)])
    with pytest.raises(Rejected, match="the answer can change within the box of point 1"):
        Boxes(network, np.zeros((1, 1)), np.array([[0.1]]), 1e-3, proven)
    network.image = lambda point, radii, symbol, alone: Doubles(point, np.full(1, np.nan))
    with pytest.raises(Rejected, match="may be nan from that of point 1"):
        Boxes(network, np.zeros((1, 1)), np.array([[0.1]]), 1e-3, proven)


def test_every_answer_is_asked_of_the_box_and_the_symbol_that_led_there():
    """Also of the first symbol, and where two symbols lead to one box."""
    found = Product.__new__(Product)
    found.before = {(START, 0): None, (1, 1): ((START, 0), 0), (2, 0): ((1, 1), 1)}
    found.machine = SimpleNamespace(letters=[(1, 1), (0, 0)], outputs=[None, 7])  # type: ignore[assignment]
    found.rows = SimpleNamespace(points={(START, 0): 1, (1, 0): 2, (1, 1): 2, (2, 0): 3})  # type: ignore[assignment]
    assert found.answered() == {(1, 0, 7), (2, 0, 7), (3, 0, 7)}
    assert found.answered(is_before=True) == {(START, 0, 7), (1, 0, 7), (2, 0, 7)}
    found.machine.outputs = [6, 7]
    found.rows.points |= {(START, 1): 1, (2, 1): 3}
    assert found.answered() == {(place, symbol, 7 - symbol) for place in (1, 2, 3) for symbol in (0, 1)}


def test_steps_toward_a_limit_that_is_far_are_counted():
    found = RefutationCheck.__new__(RefutationCheck)
    found.network, found.family = SimpleNamespace(output_names=["a", "b"]), CheckedFamily([], [0], [], 1, 1, 0, 1)
    found.comparisons, found.progress, found.work = 0, lambda *_: None, 1 << 28
    found.settling = Scripted(0, -1, 1 << 40)  # type: ignore[assignment]
    with pytest.raises(Rejected, match=r"settled from n = .* on; too many steps before that: a larger 'from'"):
        found.run()
    assert found.comparisons < 20


@pytest.mark.parametrize("turned", [cos, sin])
def test_angles_of_many_turns_are_right_or_not_known(turned: Any):
    """What is left of an angle after its turns is exact for a million of them, and soon no longer."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(size=50) * size for size in (1e5, 1e6, 1e7, 1e10)])
    found = turned(known(x))
    is_known = np.isfinite(found.radius + found.middle)
    assert (is_known == (abs(x) < 2.0**20 * np.pi / 2)).all()
    with ctx.workprec(200):
        assert_holds(found[is_known], turned(exact(x[is_known])))
