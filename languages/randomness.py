"""Random numbers that are counted, not remembered: a stream is a pure function of (seed, purpose, step)."""

from hashlib import sha256

import numpy as np

from languages.errors import SamplingError


def rng(seed: int, purpose: str, step: int = 0) -> np.random.Generator:
    """The random stream of a purpose at one step of a run. Nothing about it needs saving.

    The purpose enters through SHA-256, so streams of different purposes are independent whatever their
    names, and the bits are the same on every platform, in every process and whatever PYTHONHASHSEED is.

    Raises SamplingError for a negative seed or step.

    >>> rng(0, "train", 7).integers(0, 10, 5).tolist() == rng(0, "train", 7).integers(0, 10, 5).tolist()
    True
    >>> bool(rng(0, "train", 7).integers(0, 2**60) == rng(0, "test", 7).integers(0, 2**60))
    False

    The generator is SFC64, seeded by numpy's SeedSequence.
    """
    if seed < 0 or step < 0:
        raise SamplingError(f"seed {seed}, step {step}: a seed and a step are whole numbers from 0")
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence([*_words(purpose), seed, step])))


def _words(purpose: str) -> list[int]:
    # Not `hash`, which differs from process to process.
    digest = sha256(purpose.encode("utf-8")).digest()
    return [int.from_bytes(digest[at : at + 4], "big") for at in range(0, 32, 4)]
