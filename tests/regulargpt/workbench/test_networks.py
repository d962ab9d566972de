"""The networks that learn in the page, in a real browser: logits, gradients and steps of Adam are torch's."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from languages.randomness import rng
from regulargpt import models
from regulargpt.classroom.live.twins import PageScript, bundle
from regulargpt.models import MODELS
from regulargpt.models.base import Model
from regulargpt.models.tree.base import as_tree
from tests.regulargpt.browser import Browser

OURS = Path(__file__).with_name("networks.js")
KINDS: dict[str, dict[str, Any]] = {
    "tree": {"name": "regulargpt"},
    "gates": {"name": "regulargpt", "gates": True},
    "lstm": {"name": "lstm"},
    "causal": {"name": "transformer", "encoding": {"name": "sinusoidal"}, "n_layers": 2},
    "both ways": {"name": "transformer", "encoding": {"name": "sinusoidal"}, "n_layers": 2, "causal": False},
}
CASES = 40
"""Of each kind: 200 in all."""


@pytest.fixture(scope="module")
def page(tab: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A page that holds the scripts and nothing else."""
    path = tmp_path_factory.mktemp("networks") / "page.html"
    scripts = bundle([PageScript("networks.js", OURS, "computed")])
    path.write_text(f'<!doctype html><meta charset="utf-8"><title>Networks</title><script>{scripts}</script>')
    tab.fresh()
    tab.open(path)
    yield tab
    tab.assert_silent()


def asked(page: Browser, function: str, given: Any) -> Any:
    """What a function of networks.js gives."""
    return page.evaluate(f'modules["networks.js"].{function}({json.dumps(given)})')


def network(options: dict[str, Any], draw: np.random.Generator) -> tuple[Model, dict[str, Any]]:
    """A network in float64 whose weights are none of those that it starts with; and the same for the page."""
    n_symbols, n_outputs, seed = (int(draw.integers(*bounds)) for bounds in ((1, 5), (2, 5), (0, 1 << 30)))
    chosen, generator = MODELS.options(options, "model"), torch.Generator().manual_seed(seed)
    model = models.build(chosen, n_symbols, n_outputs, generator).double()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=p.dtype))
    weights = {name: {"data": p.flatten().tolist()} for name, p in model.named_parameters()}
    plain = chosen.arguments() | options
    return model, {"options": plain, "n_symbols": n_symbols, "n_outputs": n_outputs, "weights": weights}


def sized(kind: str, draw: np.random.Generator) -> dict[str, Any]:
    """Options of a kind with random sizes."""
    if kind == "lstm":
        return KINDS[kind] | {"d_model": int(draw.integers(1, 17))}
    n_heads = int(draw.choice([1, 2, 4]))
    width = n_heads * int(draw.integers(1 + (n_heads == 1), 5))  # the norm of one number is always 0
    return KINDS[kind] | {"d_model": width, "n_heads": n_heads, "d_ff": int(draw.integers(1, 20))}


def questions(given: dict[str, Any], draw: np.random.Generator) -> dict[str, Any]:
    """Words of several lengths, some of them alike, with answers and the shares of each in the loss."""
    lengths = draw.integers(1, 30, size=3).repeat(2)
    words = [draw.integers(0, given["n_symbols"], size=length).tolist() for length in draw.permutation(lengths)]
    answers = draw.integers(0, given["n_outputs"], size=len(words)).tolist()
    mask = draw.choice([0.0, 0.5, 1.0], size=len(words)).tolist()
    return {"words": words, "answers": answers, "mask": [1.0, *mask[1:]] if draw.integers(2) else None}


def logits_of(model: Model, words: Sequence[Sequence[int]]) -> Tensor:
    """torch's, a row for each word: words of one length are a batch."""
    rows: dict[int, Tensor] = {}
    for _, places in groupby(sorted(range(len(words)), key=lambda i: len(words[i])), lambda i: len(words[i])):
        some = list(places)
        rows |= zip(some, model(torch.tensor([words[i] for i in some])), strict=True)
    return torch.stack([rows[i] for i in range(len(words))])


def same(ours: Any, torchs: Tensor, scale: float = 1.0) -> None:
    """Equal to 1e-10 of a scale: nothing but the order of sums may differ."""
    found = torch.tensor(ours, dtype=torch.float64)
    assert found.numel() == torchs.numel()
    assert (found.flatten() - torchs.detach().flatten()).abs().max() <= 1e-10 * scale


def same_gradients(ours: dict[str, list[float]], loss: Tensor, of: dict[str, Tensor]) -> None:
    """Each weight has a gradient, and it is torch's: to 1e-10 of the largest among them."""
    torchs = dict(zip(of, torch.autograd.grad(loss, list(of.values())), strict=True))
    assert ours.keys() == torchs.keys()
    largest = max(gradient.abs().max().item() for gradient in torchs.values())
    for name, gradient in torchs.items():
        same(ours[name], gradient, largest)


@pytest.mark.parametrize("kind", KINDS)
def test_logits_and_gradients_are_torchs(page: Browser, kind: str):
    draw = rng(0, f"workbench networks {kind}")
    made = [network(sized(kind, draw), draw) for _ in range(CASES)]
    asks = [given | questions(given, draw) for _, given in made]
    found = page.evaluate(f'{json.dumps(asks)}.map(modules["networks.js"].computed)')
    for (model, _), given, ours in zip(made, asks, found, strict=True):
        logits = logits_of(model, given["words"])
        shares = torch.tensor(given["mask"] or [1.0] * len(logits), dtype=torch.float64)
        loss = (F.cross_entropy(logits, torch.tensor(given["answers"]), reduction="none") * shares).sum() / shares.sum()
        same(ours["logits"], logits, 10)
        assert ours["best"] == logits.argmax(1).tolist()
        same(ours["loss"], loss, 10)
        same(ours["shown"], logits, 10)
        assert ours["still"] == ours["logits"]
        same_gradients(ours["gradients"], loss, dict(model.named_parameters()))


@pytest.mark.parametrize("kind", ["tree", "gates"])
def test_a_table_is_trained_on_as_torch_would(page: Browser, kind: str):
    """The same window twice, a pad, states in no window: each state's gradient is the sum over its windows."""
    draw = rng(0, f"workbench table {kind}")
    model, given = network(sized(kind, draw) | {"d_model": 8}, draw)
    tree, (states, targets) = as_tree(model), (draw.normal(size=(rows, 8)) for rows in (5, 3))
    windows = [[1, 2], [2, 1], [3, 0], [3, 3], [1, 2]]
    ours = asked(page, "merged", given | {"states": states.tolist(), "targets": targets.tolist(), "windows": windows})
    below, prototypes = (torch.tensor(rows, requires_grad=True) for rows in (states, targets))
    above = tree.merge(torch.cat([tree.absent, below]), torch.tensor(windows))
    distances = ((above[:, None] - prototypes) ** 2).sum(-1)
    near = F.cross_entropy(-distances, torch.arange(len(windows)) % len(targets))
    loss = near + ((above - prototypes[0]) ** 2).sum(-1).mean()
    same(ours["above"], above, 10)
    same(ours["loss"], loss, 100)
    used = {name: p for name, p in model.named_parameters() if not name.startswith(("embedding", "readout"))}
    for name in ours["gradients"].keys() - used.keys() - {"below", "prototypes"}:
        assert not any(ours["gradients"].pop(name))
    same_gradients(ours["gradients"], loss, used | {"below": below, "prototypes": prototypes})


def test_gelu_is_torchs_everywhere(page: Browser):
    """At each of the points that it is expanded at, between them, and beyond the last."""
    x = torch.linspace(-10, 10, 64 * 20 + 1, dtype=torch.float64, requires_grad=True)
    y = F.gelu(x)
    for ours, torchs in zip(asked(page, "gelus", x.tolist()), (y, *torch.autograd.grad(y.sum(), x)), strict=True):
        torch.testing.assert_close(torch.tensor(ours, dtype=torch.float64), torchs.detach(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_start_as_in_python(page: Browser, kind: str):
    """Names, shapes, what is drawn and how widely; and a seed gives the same weights again, another one others."""
    options = KINDS[kind] | {"d_model": 32} | ({} if kind == "lstm" else {"n_heads": 4, "d_ff": 64})
    chosen = MODELS.options(options, "model")
    given = {"options": chosen.arguments() | options, "n_symbols": 20, "n_outputs": 16}
    ours, again, other = (asked(page, "started", given | {"seed": seed}) for seed in (1, 1, 2))
    assert ours == again
    assert ours != other
    torchs = dict(models.build(chosen, 20, 16, torch.Generator().manual_seed(0)).named_parameters())
    assert {name: shape for name, (shape, _) in ours.items()} == {name: list(p.shape) for name, p in torchs.items()}
    for name, (_, numbers) in ours.items():
        expected = torchs[name].detach().double().flatten()
        if len(expected.unique()) <= 2:
            assert numbers == expected.tolist()
            continue
        # Two samples of the same numbers: five deviations of a mean, and of a standard deviation.
        found, reach = torch.tensor(numbers), 5 * (2 / len(numbers)) ** 0.5
        assert abs(found.std() / expected.std() - 1) < reach, name
        assert abs(found.mean() - expected.mean()) < reach * expected.std(), name


@pytest.mark.parametrize(
    ("kind", "option"), [("tree", {"thickness": 2}), ("lstm", {"n_layers": 2}), ("causal", {"norm": "post"})]
)
def test_what_it_cannot_compute_is_refused(page: Browser, kind: str, option: dict[str, Any]):
    """Or it would train another network than the one whose options are saved."""
    sizes = {"d_model": 4, "n_heads": 1, "d_ff": 3, "n_layers": 1}
    given = {"options": sizes | KINDS[kind] | option, "n_symbols": 2, "n_outputs": 2}
    (name, value), *_ = option.items()
    assert asked(page, "refused", given).startswith(f"{name} = {value}")


ADAMS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"rate": 0.01}, {"lr": 0.01}),
    ({"rate": 0.1, "betas": (0.5, 0.9), "epsilon": 1e-3}, {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    ({"rate": 0.05, "decay": 0.2, "clip": 2.0}, {"lr": 0.05, "weight_decay": 0.2}),
]


@pytest.mark.parametrize(("ours", "torchs"), ADAMS)
def test_adam_steps_as_torch(page: Browser, ours: dict[str, Any], torchs: dict[str, Any]):
    """Two lists of weights, whose gradients are clipped together, and vary in size over six orders."""
    draw = rng(0, f"workbench adam {ours}")
    start = [draw.normal(size=3).tolist(), draw.normal(size=4).tolist()]
    each = [[(10.0 ** draw.uniform(-4, 2) * draw.normal(size=len(p))).tolist() for p in start] for _ in range(20)]
    found = asked(page, "stepped", {"start": start, "gradients": each, "options": ours})
    weights = [torch.tensor(p, dtype=torch.float64, requires_grad=True) for p in start]
    optimiser = (torch.optim.AdamW if "decay" in ours else torch.optim.Adam)(weights, **torchs)
    for slopes, step in zip(each, found, strict=True):
        for p, slope in zip(weights, slopes, strict=True):
            p.grad = torch.tensor(slope, dtype=torch.float64)
        same(step["norm"], torch.nn.utils.clip_grad_norm_(weights, ours.get("clip", float("inf"))), 1000)
        optimiser.step()
        same([x for values in step["values"] for x in values], torch.cat(weights))
        assert not any(step["left"])


def distinct(words: Sequence[Sequence[int]]) -> int:
    """How many different nodes the trees over words have, as trees of symbols; what is absent is None."""
    found: set[Any] = set()
    for word in words:
        nodes: list[Any] = list(word)
        while True:
            padded = [*[None] * (len(nodes) % 2), *nodes]
            nodes = list(zip(padded[::2], padded[1::2], strict=True))
            found.update(nodes)
            if len(nodes) == 1:
                break
    return len(found)


def test_equal_sub_words_are_computed_once(page: Browser):
    options = KINDS["tree"] | {"d_model": 4, "n_heads": 1, "d_ff": 3}
    given = {"options": options, "n_symbols": 2, "n_outputs": 2}
    draw = rng(0, "workbench forest")
    for words in [[[0] * 16], [[0], [1], [0]], [draw.integers(0, 2, size=n).tolist() for n in range(1, 33)]]:
        nodes = distinct(words)
        assert asked(page, "counted", given | {"words": words}) == {"nodes": nodes, "rows": nodes}
    assert distinct([[0] * 16]) == 4


# The known answers of Random123 (kat_vectors, philox2x32 with 10 rounds): counter, key, result.
PHILOX = [
    ([0x00000000, 0x00000000], 0x00000000, [0xFF1DAE59, 0x6CD10DF2]),
    ([0xFFFFFFFF, 0xFFFFFFFF], 0xFFFFFFFF, [0x2C3F628B, 0xAB4FD7AD]),
    ([0x243F6A88, 0x85A308D3], 0x13198A2E, [0xDD7CE038, 0xF62A4C12]),
]


def drawn(page: Browser, kind: str, order: Sequence[int], **more: Any) -> npt.NDArray[np.float64]:
    """The numbers of a purpose in the page."""
    return np.array(asked(page, "drawn", {"seed": 3, "purpose": "words 1", "kind": kind, "order": list(order), **more}))


def test_a_random_number_is_a_function_of_seed_purpose_and_counter(page: Browser):
    assert asked(page, "philoxes", [case[:2] for case in PHILOX]) == [case[2] for case in PHILOX]
    for kind, below in (("uniform", 0), ("normal", 0), ("integer", 1000)):
        straight, back = (drawn(page, kind, order, below=below) for order in (range(50), range(49, -1, -1)))
        assert straight.tolist() == back[::-1].tolist()
        others = [drawn(page, kind, range(50), below=below, **more) for more in ({"seed": 4}, {"purpose": "words 2"})]
        assert all((straight != other).any() for other in others)


def test_random_numbers_have_the_moments_that_they_should(page: Browser):
    count, reach = 20_000, 5 / 20_000**0.5
    uniform, normal = drawn(page, "uniform", range(count)), drawn(page, "normal", range(count))
    assert 0 <= uniform.min() < uniform.max() < 1
    assert abs(uniform.mean() - 1 / 2) < reach * (1 / 12) ** 0.5
    # Deviations of the moments of N(0, 1): 1, sqrt 2, sqrt 15, sqrt 96.
    for power, moment, deviation in ((1, 0, 1), (2, 1, 2**0.5), (3, 0, 15**0.5), (4, 3, 96**0.5)):
        assert abs((normal**power).mean() - moment) < reach * deviation
    assert abs((normal[1:] * normal[:-1]).mean()) < reach
    beside = drawn(page, "normal", range(count), purpose="words 2")
    assert abs((normal * beside).mean()) < reach
    found = np.bincount(drawn(page, "integer", range(count), below=7).astype(int), minlength=7)
    assert len(found) == 7
    assert (found - count / 7) @ (found - count / 7) / (count / 7) < 35  # chi squared of 6 degrees: 1 in 200,000
