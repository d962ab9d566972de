"""State noise: with it the block learns to bring what comes near a state back to that state."""

from jaxtyping import Float
from torch import Tensor

from regulargpt.models.layers import Counted


class StateNoise(Counted):
    """In training, Gaussian noise of `level` times the RMS of each state; one draw per distinct node.

    >>> import torch
    >>> noise = StateNoise()
    >>> noise.level = 0.1
    >>> states = torch.ones(2, 4)
    >>> bool((noise(states) == states).any()), bool((noise.eval()(states) == states).all())
    (False, True)
    """

    def __init__(self) -> None:
        super().__init__()
        self.level = 0.0

    def forward(self, states: Float[Tensor, "*nodes d_model"]) -> Float[Tensor, "*nodes d_model"]:
        if not self.training or self.level == 0.0:
            return states
        noise = states.new_empty(states.shape).normal_(generator=self.next_generator(states.device))
        rms = states.detach().square().mean(-1, keepdim=True).sqrt()
        return states + noise * rms * self.level
