"""transform: one group of elements rotated, with a stage per butterfly level where the sum has that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emu.engines.exact.arithmetic import add, negate, round_result
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.transform import transform_codes
from emu.engines.exact.value import Value
from emu.engines.numpy.transform import transform as numpy_transform
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.derive import OPEN
from emu.spec.models import Format, Transform
from emu.spec.registry import get
from emu.vectors.files.columns import Column, Layout, layout_of
from emu.vectors.files.rows import Answer, unpack
from emu.vectors.operation import Batch, Values, array_of, native, present, stored_bits


class TransformRows:
    """transform/<transform> from one source format."""

    def __init__(self, contract: Contract, source: str) -> None:
        self.contract = contract
        self.transform: Transform = get("transform", contract.parts[0])
        self.source: Format = get("format", source)
        self.facts = self.transform.facts
        self.src, self.dst, self.part = source, self.facts.result, self.transform.id
        self.fixed = self.facts.signs_operand == "no"
        self.levels = self.facts.size.bit_length() - 1 if self.facts.sum == "butterfly" else 0

    @property
    def layout(self) -> Layout:
        """x, sgn -> y, and b0.. after each butterfly level."""
        n = self.facts.size
        width, wide = derive.codes(get("format", self.dst)).bits, derive.codes(get("format", self.facts.sum_format)).bits
        stages = [
            Column(f"b{level}", "stage", n * wide, self.facts.sum_format, n, f"after the additions of stride {1 << level}", any_nan=True)
            for level in range(self.levels)
        ]
        return layout_of(
            [
                Column("x", "in", n * stored_bits(self.source), self.src, n),
                Column("sgn", "in", n, means="bit i set: element i is negated first"),
                Column("y", "out", n * width, self.dst, n, any_nan=True),
                *stages,
            ]
        )

    def lanes(self, values: Values) -> tuple[int, ...]:
        """Return the source codes of a row."""
        return unpack(values[0], self.layout.inputs[0])

    def signs(self, values: Values) -> int | None:
        """Return the sign mask to hand in; None for a transform that fixes it."""
        return None if self.fixed else values[1]

    def exact(self, values: Values) -> Answer:
        """Return y and the butterfly levels."""
        codes = self.lanes(values)
        result = tuple(transform_codes(codes, self.source, self.transform, self.signs(values)))
        return (result, *self.stages([decode_code(code, self.source) for code in codes], values[1]))

    def stages(self, row: list[Value], signs: int) -> list[tuple[int, ...]]:
        """Return the codes after each butterfly level; a NaN or Inf anywhere leaves the stages unknown."""
        to, nearest = get("format", self.facts.sum_format), get("rounding", "rne")
        if self.levels and any(value.kind != "finite" for value in row):
            return [(OPEN,) * len(row)] * self.levels
        row = [negate(value) if signs >> place & 1 else value for place, value in enumerate(row)]
        out = []
        for level in range(self.levels):
            stride = 1 << level
            pairs = [(row[i & ~stride], row[i | stride], i & stride) for i in range(len(row))]
            row = [round_result(add(a, negate(b) if minus else b, nearest), to, nearest) for a, b, minus in pairs]
            out.append(tuple(encode_value(value, to) for value in row))
        return out

    def engines(self) -> dict[str, Batch]:
        """numpy and the C reference give y."""
        table: dict[str, Batch] = {"numpy": lambda rows: self.batch(rows, numpy_transform)}
        if native() is not None:
            from emu.engines.c_ref.transform import transform as c_transform

            table["c_ref"] = lambda rows: self.batch(rows, c_transform)
        return present(table)

    def batch(self, rows: Sequence[Values], rotate: Callable[..., Any]) -> list[Answer | None]:
        """Rotate through an array column, all rows with one sign mask together."""
        out: list[Answer | None] = [None] * len(rows)
        for signs in dict.fromkeys(row[1] for row in rows):
            places = [place for place, row in enumerate(rows) if row[1] == signs]
            codes = array_of([self.lanes(rows[place]) for place in places], self.source)
            found = rotate(codes, self.source, self.transform, None if self.fixed else signs).tolist()
            for place, lanes in zip(places, found, strict=True):
                out[place] = (tuple(lanes),)
        return out

    def described(self) -> dict[str, Any]:
        """The order of the sum and the roundings."""
        return {"rounding": "rne", "overflow": "ieee_inf", "zero_sign": "keep", "subnormals_in": "keep", "subnormals_out": "keep"}
