"""What the axes of spec/coverage/quantize.yaml mean. Little is proved: which codes a recipe never gives is a question of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from emu.contracts.contract import Values
from emu.contracts.cover import Bin, Point, Settled
from emu.contracts.text import class_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.coverage import CoverageAxis
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract


class QuantizeCover:
    """A block quantizer, as the coverage model sees it."""

    def __init__(self, op: QuantizeContract) -> None:
        self.op = op
        self.element: Format = get("format", op.block.element_formats[0])
        outs = [column for column in op.layout.results if column.role == "out"]
        wide = [number for number, column in enumerate(outs) if number and column.lane_bits > 1 and column.format is not None]
        self.scale_at = wide[-1] if wide else None
        self.scale: Format | None = get("format", str(outs[wide[-1]].format)) if wide else None

    def bins_of(self, name: str, axis: CoverageAxis) -> tuple[str, ...] | None:
        """Return the bins of an axis; None where a recipe has no scale of more than a bit, no tensor operand or no tail."""
        if (name == "tensor" and not self.op.reads_amax) or (name == "tail" and not self.op.ragged) or (name == "scale" and not self.scale):
            return None
        if axis.each is None:
            return axis.bins
        if axis.each != "element_code":
            raise KeyError(axis.each)
        bits = derive.codes(self.element).bits
        return tuple(f"{code:0{-(-bits // 4)}x}" for code in range(1 << bits))

    def points(self, values: Values) -> list[Point]:
        """Return a point for the block, and one for each code that comes out and the half of a byte it goes to."""
        rows, amax, _ = self.op.taken(values)
        sources = [decode_code(code, self.op.source) for row in rows for code in row]
        point = {"data": self.data(sources, [code for row in rows for code in row])}
        if len(sources) > 1 and point["data"] not in ("all_zero", "nan"):
            point["maximum"] = self.lane(sources)
        if amax is not None:
            fp32: Format = get("format", "fp32")
            point["tensor"] = "largest" if amax == derive.codes(fp32).max_code else class_of(amax, fp32)
        if self.op.ragged:
            point["tail"] = "one" if len(sources) == 1 else "whole" if len(sources) == self.op.n else "some"
        answer = self.op.exact(values)
        if self.scale is not None and self.scale_at is not None:
            scales = {self.extent(code, self.scale) for code in answer[self.scale_at] if code >= 0}
            out: list[Point] = [{**point, "scale": extent} for extent in sorted(scales)] or [point]
        else:
            out = [point]
        width = -(-derive.codes(self.element).bits // 4)
        codes = dict.fromkeys((f"{code:0{width}x}", ("low", "high")[lane % 2]) for lane, code in enumerate(answer[0]) if code >= 0)
        return [*out, *({"element": code, "packed": half} for code, half in codes)]

    def data(self, sources: Sequence[Value], codes: Sequence[int]) -> str:
        """Return what a block holds: NaN before infinity, then by its numbers."""
        kinds = {value.kind for value in sources}
        if kinds != {"finite"}:
            return "nan" if "nan" in kinds else "inf"
        there = [code for code, value in zip(codes, sources, strict=True) if not value.is_zero]
        if len(there) < 2:
            return "one_element" if there else "all_zero"
        return "subnormal" if all(class_of(code, self.op.source) == "subnormal" for code in there) else "ordinary"

    def lane(self, sources: Sequence[Value]) -> str:
        """Return where the largest magnitude lies."""
        infinite = [extent for extent, value in enumerate(sources) if value.kind == "inf"]
        largest = max(value.magnitude for value in sources)
        extents = infinite or [extent for extent, value in enumerate(sources) if value.magnitude == largest]
        if len(extents) > 1:
            return "several"
        return "first" if extents[0] == 0 else "last" if extents[0] == len(sources) - 1 else "middle"

    def extent(self, code: int, fmt: Format) -> str:
        """Return where a scale lies in its format."""
        known = derive.codes(fmt)
        magnitude = code & ~known.sign_bit
        kind = class_of(code, fmt)
        if kind in ("zero", "inf", "nan"):
            return kind
        return "largest" if magnitude == known.max_code else "smallest" if magnitude == int(known.has_zero) else kind

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> Mapping[Bin, Settled]:
        """Return the bins that the formats rule out."""
        out: dict[Bin, Settled] = {}
        for one in bins:
            named = dict(zip(axes, one, strict=True))
            why = self.scale_rule(named.get("scale")) or self.data_rule(named)
            if why is not None:
                out[one] = Settled("rule", why)
        return out

    def scale_rule(self, extent: str | None) -> str | None:
        """Tell which places a scale format does not have."""
        if extent is None or self.scale is None:
            return None
        known, facts = derive.codes(self.scale), self.scale.facts
        deep = isinstance(facts, FloatFacts) and facts.subnormals == "yes" and facts.frac_bits > 1
        there = {"zero": known.has_zero, "inf": known.inf is not None, "nan": bool(known.nan), "subnormal": deep}
        return None if there.get(extent, True) else f"{self.scale.id} has no such code beside its smallest"

    @staticmethod
    def data_rule(named: Mapping[str, str]) -> str | None:
        """Tell which blocks cannot be."""
        if "maximum" in named and named["data"] in ("all_zero", "nan"):
            return "a block of zeros has no largest lane, and none is counted beside NaN"
        if named.get("maximum") == "several" and named["data"] == "one_element":
            return "one element is not several"
        if named.get("tail") == "one" and named["data"] in ("subnormal", "ordinary"):
            return "these blocks have two elements at least"
        return None
