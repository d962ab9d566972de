"""Certificates and refutations of today's recurrent networks that are made to pass, or to take the checker's time.

What is no network, a choice between equal numbers, a sum whose rounding is left out: in ordinary networks nothing of
it comes up, so that only these tests would notice.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from flint import arb, ctx

from regulargpt.certificate.checker import Malformed, Rejected
from regulargpt.certificate.checker.balls import Undecided, exact
from regulargpt.certificate.checker.boxes import known
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.chain_pd_ssm import gathered, largest
from regulargpt.certificate.checker.delta_recurrences import Columns, Settling
from regulargpt.certificate.checker.doubles import Doubles
from tests.regulargpt import test_refutation_delta
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
    places, certain = largest(values, 1)
    assert (places.tolist(), certain.tolist()) == ([2, 0], [True, True])
    with pytest.raises(Rejected, match="are equal"):
        largest(exact(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 3.0]])), 1)
    for wide in (arb(3, 1e-9), arb("nan")):
        values[1, 0], values[1, 1] = wide, arb(3)
        with pytest.raises(Undecided):
            largest(values, 1)


def test_sums_of_what_goes_to_one_place_hold_their_rounding():
    """Each of these is lost beside 1 if it is added alone."""
    h = np.full((1, 64, 2), 2.0**-54)
    h[0, 0] = 1
    for radius in (0.0, 2.0**-30):
        found = gathered(Doubles(h, np.full(h.shape, radius)), np.zeros((1, 64), dtype=np.int64))
        with ctx.workprec(200):
            assert_holds(found, gathered(exact(h + radius), np.zeros((1, 64), dtype=np.int64)))


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
        for v in ([1], [1, 0, 0]):
            settling, at, states = network.toward(begun, v, []), begun, {}
            for n in range(1, 40):
                at = network.read(v, at, [])[2]
                states[n] = at[0].centre
            for n in range(1, settling.first):
                assert not any(x.is_finite() for x in settling.all(n))
            with monkeypatch.context() as patched:
                patched.setattr(Settling, "logits", lambda self, S, far: (np.stack(S), np.stack(far)))
                for n in (settling.first, settling.first + 3):
                    assert all(is_near(states[m], *settling.all(n)) for m in range(n, 40))
                    for period, count in ((1, 8), (2, 4), (3, 3)):
                        some = settling.some(n, count, period)
                        assert all(is_near(states[n + i * period], *some) for i in range(count))


def is_near(S: Any, centre: Any, far: Any) -> bool:
    """Whether each column of each head lies so near to those of the centre; what is rounded is 2^-40."""
    apart = np.sqrt(np.square((S - centre).astype(float)).sum(-2))
    return bool((apart <= (1 + 2.0**-40) * far.astype(float) + 2.0**-40).all())
