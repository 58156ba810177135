"""transform: one group of elements rotated, with a stage per butterfly level where the sum has that order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, entry, native, present, stored_bits
from emu.contracts.drawn import every_binade, ordinary
from emu.contracts.examples import compare_codes, split
from emu.contracts.form import Arrays, Asked, Bits, Expected, Form, Question, Shape, chosen_engine, integer_dtype
from emu.contracts.rows import Answer, Input, pack, unpack
from emu.contracts.text import code_text, meaning, value_text
from emu.contracts.transform import cases
from emu.engines.exact.arithmetic import add, negate, round_result
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.transform import transform_codes
from emu.engines.exact.value import Value
from emu.engines.numpy.transform import transform as numpy_transform
from emu.engines.run import run_transform
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN
from emu.spec.models import Format, SpecObject, Transform
from emu.spec.models.transform import TransformFacts
from emu.spec.registry import get

OTHERS: Final = {"sum": ("exact", "butterfly", "sequential"), "sum_format": ("fp32", "bf16", "fp16"), "scale": ("1",)}


@dataclass(frozen=True, eq=False)
class TransformContract(Contract):
    """transform/<transform> from one source format."""

    transform: Transform
    source: Format
    opens = "source"
    formats = ("fp32", "bf16", "fp16")
    examples: ClassVar[tuple[str, ...]] = ("transform",)
    chooser: ClassVar[Any] = cases
    smoke = 10

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name. given: id of the source format, fp32 unless told."""
        transform: Transform = get("transform", name.parts[0])
        source: Format = get("format", given or "fp32")
        return cls(name, source.id, transform.facts.result, transform.id, transform, source)

    @property
    def facts(self) -> TransformFacts:
        """What the transform does."""
        return self.transform.facts

    @lazy
    def fixed(self) -> bool:
        """Tell whether the transform fixes its signs."""
        return self.facts.signs_operand == "no"

    @lazy
    def levels(self) -> int:
        """Levels of the butterfly; 0 where the sum has another order."""
        return self.facts.size.bit_length() - 1 if self.facts.sum == "butterfly" else 0

    @lazy
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

    def form(self, result: Format) -> Form:
        """x, signs -> values."""
        extras = () if self.fixed else ("signs",)
        return TransformForm(self, {"x": self.source, **dict.fromkeys(extras)}, {"values": get("format", self.facts.result)}, extras=extras)

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

    def trace(self, values: Values, lane: int = 0) -> Any:
        """The element and its sign, the levels of the butterfly (or the terms of the sum in their order), the scale, the result."""
        codes, facts, signs = self.lanes(values), self.facts, values[1]
        where, to = f"lane {lane}", get("format", self.facts.sum_format)
        out = [entry("x", "read", where, code_text(codes[lane], self.source) + f" = {meaning(codes[lane], self.source)}")]
        out.append(entry("signs", "negate", "group", f"{signs:#x}: bit i set negates element i of {facts.size}"))
        answer = self.exact(values)
        for level, lanes in enumerate(answer[1:]):
            stride = 1 << level
            what = f"x[{lane & ~stride}] {'-' if lane & stride else '+'} x[{lane | stride}]"
            value = "open" if lanes[lane] < 0 else f"{code_text(lanes[lane], to)} = {meaning(lanes[lane], to)}"
            out.append(entry(f"b{level}", what, where, value))
        if not self.levels:
            row = [decode_code(code, self.source) for code in codes]
            terms = [negate(v) if (signs >> j & 1) ^ ((lane & j).bit_count() % 2) else v for j, v in enumerate(row)]
            out.append(entry("terms", facts.sum, where, " ".join(value_text(term) for term in terms)))
        out.append(entry("scale", "multiply", "group", f"{facts.scale}, rounded to {facts.sum_format}"))
        result = get("format", facts.result)
        return [*out, entry("y", "round", where, f"{code_text(answer[0][lane], result)} = {meaning(answer[0][lane], result)}")]

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """A group is rotated to the codes that are written."""
        assert isinstance(thing, Transform)
        source, result = get("format", example.source), get("format", thing.facts.result)
        return compare_codes("y", transform_codes(split(example.x, source), source, thing), split(example.y, result))

    def deviations(self) -> Iterator[Deviation]:
        """Another order or format of the sum, signs that are not applied, a scale that is left out."""
        for key, values in OTHERS.items():
            for value in values:
                if value != getattr(self.facts, key):
                    changed = self.transform.model_copy(update={"facts": self.facts.model_copy(update={key: value})})
                    stage = key.partition("_")[0]
                    yield Deviation(f"{key.replace('_', ' ')} is {value}", stage, replace(self, transform=changed).exact)
        plain = self.transform.model_copy(update={"facts": self.facts.model_copy(update={"signs": "0x0"})})
        unsigned = replace(self, transform=plain)
        yield Deviation("the signs are not applied", "signs", lambda values: unsigned.exact((values[0], 0)))

    def described(self) -> dict[str, Any]:
        """The order of the sum and the roundings."""
        return {"rounding": "rne", "overflow": "ieee_inf", "zero_sign": "keep", "subnormals_in": "keep", "subnormals_out": "keep"}


# transform on whole arrays: x [rows, n], signs () -> values [rows, n].


class TransformForm(Form):
    """x, signs -> values."""

    operation: TransformContract
    by_row = False

    @property
    def tile(self) -> tuple[int, int]:
        """A group."""
        return 1, self.operation.facts.size

    @property
    def transform(self) -> Transform:
        """The rotation."""
        return self.operation.transform

    def exhaustive(self, asked: Asked) -> Iterator[Question]:
        """Every pattern of 16 bits, in tensors of a few binades."""
        return every_binade(self, asked)

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Ordinary tensors of every kind."""
        return ordinary(self, asked)

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One value an element."""
        return {"values": operands["x"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """A group a row; a call for each sign mask."""
        op = self.operation
        groups: dict[int, list[Input]] = {}
        for case in cases:
            groups.setdefault(case.values[1], []).append(case)
        for signs, members in groups.items():
            operands: dict[str, Bits] = {"x": np.array([op.lanes(case.values) for case in members], integer_dtype(op.source))}
            if "signs" in self.extras:
                operands["signs"] = np.array(signs, integer_dtype(None, op.facts.size))
            yield operands, members

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The stages of the group that an element is in."""
        op, size = self.operation, self.operation.facts.size
        first = index[1] // size * size
        lanes = [int(code) for code in operands["x"][index[0], first : first + size]]
        signs = int(operands["signs"]) if "signs" in operands else int(op.facts.signs, 16)
        return op.lines(op.trace((pack(lanes, op.layout.inputs[0].lane_bits), signs), index[1] - first))

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the values."""
        signs = int(operands["signs"]) if "signs" in operands else None
        return Expected({"values": run_transform(operands["x"], self.operation.source, self.operation.transform, signs, engine)}, {})

    def engine(self, operands: Arrays) -> str:
        """The engine that does this rotation."""
        return chosen_engine(self.op, (self.operation.transform, self.operation.source))
