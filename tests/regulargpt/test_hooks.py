"""Hook points and run_with_cache."""

import pytest
import torch
from torch import Tensor, nn

from regulargpt.hooks import HookPoint, hook_names, run_with_cache


class Twice(nn.Module):
    """Passes one hook point twice, as weights shared across depth do, and another once."""

    def __init__(self):
        super().__init__()
        self.hook_a, self.hook_b = HookPoint(), HookPoint()

    def forward(self, x: Tensor, add: float = 0.0) -> Tensor:
        return self.hook_b(self.hook_a(self.hook_a(x) + 1) + add)


def test_every_passage_is_kept_under_its_own_key():
    output, cache = run_with_cache(Twice(), torch.zeros(1), add=5.0)
    assert {name: float(value) for name, value in cache.items()} == {"hook_a": 0, "hook_a:1": 1, "hook_b": 6}
    assert float(output) == 6


def test_the_hooks_are_gone_afterwards_even_if_the_model_fails():
    model = Twice()
    run_with_cache(model, torch.zeros(1))
    with pytest.raises(TypeError):
        run_with_cache(model, None)
    assert not model.hook_a.listened_to()
    assert not model.hook_b.listened_to()


def test_names_restrict_what_is_kept():
    assert list(run_with_cache(Twice(), torch.zeros(1), names=["hook_b"])[1]) == ["hook_b"]
    assert hook_names(Twice()) == ["hook_a", "hook_b"]
    with pytest.raises(KeyError, match="no hook point named 'hook_c'; the model has hook_a, hook_b"):
        run_with_cache(Twice(), torch.zeros(1), names=["hook_c"])


def test_a_hook_can_replace_what_passes():
    model = Twice()
    with model.hook_b.register_forward_hook(lambda module, inputs, output: -output):
        assert float(model(torch.ones(1))) == -2
