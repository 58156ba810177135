"""What the axes of spec/coverage/decode.yaml mean. Every code is tried, so what no code reaches is out of reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emu.base.caches import lazy
from emu.base.errors import OpenError
from emu.contracts.contract import Values, stored_bits
from emu.contracts.decode import DecodeContract
from emu.contracts.text import class_of
from emu.engines.exact.decode import decode_code
from emu.spec import derive
from emu.spec.models.coverage import CoverageAxis
from emu.spec.models.format import FloatFacts
from emu.vectors.coverage.model import Bin, Point, Settled, settled_by


class DecodeCover:
    """A decoder, as the coverage model sees it."""

    def __init__(self, op: DecodeContract) -> None:
        self.op, self.fmt, self.known = op, op.fmt, derive.codes(op.fmt)

    def bins_of(self, name: str, axis: CoverageAxis) -> tuple[str, ...] | None:
        """Return the bins of an axis; exponent and fraction are there for floats."""
        facts = self.fmt.facts
        if name in ("exponent", "fraction") and not isinstance(facts, FloatFacts):
            return None
        if axis.each is None:
            return axis.bins
        if axis.each != "exponent_field" or not isinstance(facts, FloatFacts):
            raise KeyError(axis.each)
        return tuple(f"{field:x}" for field in range(1 << facts.exp_bits))

    def points(self, values: Values) -> list[Point]:
        """Return one point: the class of a code, and its fields."""
        (code,) = values
        try:
            value = decode_code(code, self.fmt)
        except OpenError:
            return [{"class": "open", "sign": "plus"}]
        sign = ("plus", "minus")[value.sign]
        point = {"class": class_of(code, self.fmt), "sign": sign}
        facts = self.fmt.facts
        if isinstance(facts, FloatFacts):
            ones, magnitude = (1 << facts.frac_bits) - 1, code & ~self.known.sign_bit
            fraction = magnitude & ones
            word = "all_ones" if fraction == ones and ones else {0: "zero", 1: "one"}.get(fraction, "between")
            point |= {"exponent": f"{magnitude >> facts.frac_bits:x}", "fraction": word}
        return [point]

    @lazy
    def reached(self) -> list[tuple[Values, Point]]:
        """Every code with its point."""
        return [((code,), point) for code in range(1 << stored_bits(self.fmt)) for point in self.points((code,))]

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> Mapping[Bin, Settled]:
        """Return for every bin an example, or that no code reaches it."""
        return settled_by(self.reached, axes, bins, Settled("exhaustion", f"all {len(self.reached)} codes of {self.fmt.id} were tried"))
