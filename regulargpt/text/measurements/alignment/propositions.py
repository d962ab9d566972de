"""Temperatures in closed form: Propositions 5.1 and 5.2 of the thesis, and the rule that knows lengths alone."""

from __future__ import annotations

import math


def of_p_max(train_len: int, length: int, sigma_tr: float, sigma_ex: float, p_max: float) -> float | None:
    """Proposition 5.1: the temperature at which Gaussian logits with one maximum have P_max as in training.

    The thesis takes the larger root. Where sigma_tr^2 > 2 A it is the wrong root: at L_ex = L_tr it is C / A and not 1.

    With A = ln L_ex + ln P, B = ln L_tr + ln P + sigma_tr^2 / 2 and C = sigma_ex^2 / 2 it is the larger root of
    A tau^2 - B tau + C = 0. None where there is no real root above 0: a head that is peaked enough to begin with has
    none if its logits spread widely (sigma = 2 from 512 to 15,000 symbols).

    >>> of_p_max(512, 512, 1.0, 1.0, 0.5)
    1.0
    >>> round(of_p_max(512, 15_000, 1.0, 1.0, 0.5644), 3)
    0.588
    >>> of_p_max(512, 15_000, 2.0, 2.0, 0.5) is None
    True
    """
    A = math.log(length) + math.log(p_max)
    B = math.log(train_len) + math.log(p_max) + sigma_tr**2 / 2
    C = sigma_ex**2 / 2
    square = B**2 - 4 * A * C
    if A <= 0 or square < 0:
        return None
    tau = (B + math.sqrt(square)) / (2 * A)
    return tau if tau > 0 else None


def of_entropy(train_len: int, length: int, sigma_tr: float, sigma_ex: float) -> float:
    """Proposition 5.2: the temperature at which Gaussian logits have the entropy of training.

    It rests on H = ln L - sigma^2 / (2 tau^2), which holds for small sigma / tau only: see `gaussian_entropy`.

    >>> of_entropy(512, 512, 1.0, 1.0)
    1.0
    >>> round(of_entropy(512, 15_000, 2.0, 2.0), 3)
    0.61
    """
    return sigma_ex / math.sqrt(sigma_tr**2 + 2 * math.log(length / train_len))


def gaussian_entropy(length: int, sigma: float, tau: float = 1.0) -> float:
    """The entropy in nats that Proposition 5.2 gives a softmax of `length` Gaussian logits.

    Simulated, 512 logits with sigma = 0.5, 1, 2 have 6.11, 5.74 and 4.39.

    >>> [round(gaussian_entropy(512, sigma), 3) for sigma in (0.5, 1, 2)]
    [6.113, 5.738, 4.238]
    """
    return math.log(length) - sigma**2 / (2 * tau**2)


def of_lengths(train_len: int, length: int) -> float:
    """ln L_tr / ln L_ex, which looks at no attention (Yao et al. 2021; Su 2021).

    >>> of_lengths(512, 512), round(of_lengths(512, 15_000), 3)
    (1.0, 0.649)
    """
    return math.log(train_len) / math.log(length)
