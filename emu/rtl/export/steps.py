"""One sign of a destination as the reference model sees it: the steps of its grid in order of magnitude, and the code of each.

A step is a place on the grid: the magnitude code, up to one beyond the largest, which stands for all that overflows; of a codebook the
place in its list. Not here: source codes (export_segments).
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

from emu.base.errors import SpecError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import codebook_values, magnitude_of
from emu.engines.exact.encode import attach_sign
from emu.engines.exact.overflow import Code, largest_magnitude, overflow
from emu.engines.exact.round import locate, round_magnitude
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts


class MagnitudeSteps:
    """The finite, non-zero magnitudes of one sign. sign: 1 for negative, as the source has it."""

    def __init__(self, fmt: Format, rounding: Rounding, entry: EntryCodes, sign: int) -> None:
        if entry.overflow == "wrap":
            raise SpecError(f"{fmt.id}: overflow wrap has no golden function: its codes do not ascend with the source")
        self.fmt, self.rounding, self.entry, self.sign = fmt, rounding, entry, sign
        self.book = _side(fmt, sign) if isinstance(fmt.facts, CodebookFacts) else None
        self.seen_sign = sign if derive.codes(fmt).sign_bit or derive.is_twos_complement(fmt) else 0  # an unsigned format drops it
        self.top = len(self.book) - 1 if self.book is not None else largest_magnitude(fmt, self.seen_sign) + 1
        self.always = entry.negative if sign and not self.seen_sign and self.book is None else None

    def floor(self, magnitude: Fraction) -> int:
        """Return the step at or below a magnitude."""
        if self.book is not None:
            return max(bisect_right(self.book, magnitude) - 1, 0)
        return min(locate(magnitude, self.fmt).code, self.top)

    def rounded(self, magnitude: Fraction) -> int:
        """Return the step that a magnitude goes to, of a rounding that draws nothing."""
        if self.book is None:
            return min(round_magnitude(magnitude, self.seen_sign, self.fmt, self.rounding), self.top)
        value = codebook_values(self.fmt)[convert_value(Value("finite", self.sign, magnitude), self.fmt, self.rounding, self.entry)]
        return self.floor(value.magnitude) if value.sign == self.sign or not value.magnitude else 0

    def at(self, step: int) -> Fraction:
        """Return the magnitude of a step."""
        if self.book is not None:
            return self.book[step]
        assert not isinstance(self.fmt.facts, CodebookFacts)
        return magnitude_of(step, self.fmt.facts)

    def code(self, step: int) -> int:
        """Return the code of a step, OPEN or REFUSE."""
        if self.book is not None:
            random = 0 if self.rounding.random_bits else None
            return convert_value(Value("finite", self.sign, self.book[step]), self.fmt, self.rounding, self.entry, random)
        found = overflow(step, self.seen_sign, self.fmt, self.rounding, self.entry)
        return found.code if isinstance(found, Code) else attach_sign(found.code, self.seen_sign, self.fmt)


def _side(fmt: Format, sign: int) -> list[Fraction]:
    """Return the magnitudes of a codebook on one side of zero, ascending. A side without any has the other side's least."""
    values = codebook_values(fmt)
    found = sorted({value.magnitude for value in values if value.sign == sign or not value.magnitude})
    return found or [min(value.magnitude for value in values)]
