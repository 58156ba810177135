"""Report: what one recipe did to one tensor, as sums that can be added up, and the figures that follow from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emu.base.errors import OperandError

FIGURES: Final = (
    *("recipe", "transform", "elements", "sqnr_db", "alpha_minus_1", "nmse", "coherent", "incoherent", "coherent_share"),
    *("bucket_ratio", "clipped_share", "zero_share"),
)


@dataclass(frozen=True)
class Report:
    """Sums over the elements of one or several tensors. x: what the quantizer was given; y: what its codes mean; e = y - x.

    recipe, transform: ids.   elements: how many.   signal: sum of x^2.   error: sum of e^2.   cross: sum of x * e (all binary64).
    clipped: elements with |x| above the largest value their scales allow, by more than 2^-20 of it (a binary32 scale is itself rounded).
    zeros: elements whose code is zero.
    histogram: elements per distinct finite value of the element format, ascending, +0 and -0 together.
    Figures that have no meaning (no signal, NaN or Inf in x) are None.
    """

    recipe: str
    transform: str | None
    elements: int
    signal: float
    error: float
    cross: float
    clipped: int
    zeros: int
    histogram: tuple[int, ...]

    @property
    def is_finite(self) -> bool:
        """Are the sums numbers: no NaN or Inf in x or y."""
        return all(math.isfinite(item) for item in (self.signal, self.error, self.cross))

    @property
    def nmse(self) -> float | None:
        """error / signal = coherent + incoherent."""
        return self.error / self.signal if self.is_finite and self.signal else None

    @property
    def sqnr_db(self) -> float | None:
        """10 log10(signal / error); Inf when nothing was lost."""
        if self.nmse is None:
            return None
        return -10 * math.log10(self.nmse) if self.nmse else math.inf

    @property
    def alpha_minus_1(self) -> float | None:
        """<y, x> / <x, x> - 1: below zero the tensor shrank."""
        return self.cross / self.signal if self.is_finite and self.signal else None

    @property
    def coherent(self) -> float | None:
        """(alpha - 1)^2: the part of nmse that is a change of scale."""
        return None if self.alpha_minus_1 is None else self.alpha_minus_1**2

    @property
    def incoherent(self) -> float | None:
        """The part of nmse that is orthogonal to x."""
        return None if self.nmse is None or self.coherent is None else max(self.nmse - self.coherent, 0.0)

    @property
    def coherent_share(self) -> float | None:
        """coherent / nmse; 0 when nothing was lost."""
        if self.nmse is None or self.coherent is None:
            return None
        return min(self.coherent / self.nmse, 1.0) if self.nmse else 0.0

    @property
    def bucket_ratio(self) -> float | None:
        """B_eff = exp(H) / K: H the entropy in nats of the histogram over the K distinct finite values."""
        total = sum(self.histogram)
        if not total:
            return None
        entropy = -math.fsum(count / total * math.log(count / total) for count in self.histogram if count)
        return math.exp(entropy) / len(self.histogram)

    @property
    def clipped_share(self) -> float:
        """clipped / elements."""
        return self.clipped / self.elements

    @property
    def zero_share(self) -> float:
        """zeros / elements."""
        return self.zeros / self.elements

    def figures(self) -> dict[str, float | int | str | None]:
        """Return every figure by name, for tables and JSON; an infinite SQNR is the text "inf"."""
        return {name: "inf" if (value := getattr(self, name)) == math.inf else value for name in FIGURES}


def total(reports: Sequence[Report]) -> Report:
    """Return the report of several tensors together: sums are added exactly and rounded once, so their order does not matter.

    Raises: OperandError (none, or of different recipes or transforms).
    """
    if len({(item.recipe, item.transform, len(item.histogram)) for item in reports}) != 1:
        raise OperandError("a total takes at least one report, all of one recipe and one transform")
    return Report(
        reports[0].recipe,
        reports[0].transform,
        sum(item.elements for item in reports),
        add_up([item.signal for item in reports]),
        add_up([item.error for item in reports]),
        add_up([item.cross for item in reports]),
        sum(item.clipped for item in reports),
        sum(item.zeros for item in reports),
        tuple(sum(counts) for counts in zip(*(item.histogram for item in reports), strict=True)),
    )


def add_up(numbers: Sequence[float]) -> float:
    """Return the exact sum rounded once; NaN when a number is NaN or Inf."""
    return math.fsum(numbers) if all(math.isfinite(number) for number in numbers) else math.nan
