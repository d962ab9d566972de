"""What phases share that end in a certificate about an automaton: the conclusion, and what is restored of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from torch import nn

from regulargpt.certificate.outcome import Outcome
from regulargpt.certificate.restored import restored
from regulargpt.certificate.verdict import Verdict, replaces_none
from regulargpt.storage.folder import RunFolder


def now(folder: RunFolder, found: Verdict) -> dict[str, Any]:
    """What the checker says now, as a summary has it."""
    if found.is_accepted:
        return {"is_language": found.proven, "proven_unquantised": replaces_none(folder)}
    return {"proven_unquantised": None, "unproven": found.reason}


class Concluding(ABC):
    """A phase whose `outcome` is the certificate of the trained model, or why there is none."""

    name: ClassVar[str]
    # Known after the training: whether the machine is the language's, and the network is proven without replacing; or
    # why there is no certificate.
    is_language: bool | None = None
    proven_unquantised: bool | None = None
    unproven: str | None = None

    @abstractmethod
    def outcome(self, model: nn.Module, weights: bytes, network: bytes, on_check: Callable[..., None]) -> Outcome:
        """The certificate of the trained model, or why there is none."""

    @classmethod
    def restore(cls, folder: RunFolder, summary: dict[str, Any]) -> dict[str, Any]:
        """The certificate, or why there is none; the summary with what the checker says of it now.

        Raises UserError where a proof that there was is not found again.
        """
        return restored(folder, summary, cls.name, now)

    def conclude(self, model: nn.Module, weights: bytes, network: bytes, on_check: Callable[..., None]) -> Outcome:
        """What is proven of the trained model, by the files that say what it is."""
        found = self.outcome(model, weights, network, on_check)
        self.unproven = found.report.get("reason")
        self.is_language = found.report.get("learned", {}).get("equal")
        self.proven_unquantised = found.report.get("unquantised", {}).get("proven")
        return found
