"""transform: one group of elements rotated, with a stage per butterfly level where the sum has that order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import EngineError
from emu.base.philox import stream_of
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, entry, native, present, stored_bits
from emu.contracts.drawn import KINDS, every_binade, ordinary, tensor
from emu.contracts.examples import compare_codes, split
from emu.contracts.form import Arrays, Asked, Bits, Expected, Form, Question, Shape, chosen_engine, integer_dtype
from emu.contracts.rows import Answer, Input, pack, unpack
from emu.contracts.shapes import tiles
from emu.contracts.text import code_text, meaning, value_text
from emu.contracts.transform import cases
from emu.contracts.transform.orders import any_order, ordered
from emu.contracts.wires import Edit, edits
from emu.engines.exact.arithmetic import add, negate, round_result
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.transform import transform_codes
from emu.engines.exact.value import Value
from emu.engines.numpy.convert import convert_marked, to_fp32
from emu.engines.numpy.transform import transform as numpy_transform
from emu.engines.run import run_transform
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN
from emu.spec.ieee import is_binary32
from emu.spec.models import Format, SpecObject, Transform
from emu.spec.models.format import FloatFacts
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
        yield from self._signs()
        yield from self._wires(None)
        for text, factor in (("1/2 of it", Fraction(1, 2)), ("twice it", Fraction(2))):
            scale = derive.parse_exact(self.facts.scale) * factor
            changed = self.transform.model_copy(update={"facts": self.facts.model_copy(update={"scale": str(scale)})})
            yield Deviation(f"the scale is {text}", "scale", replace(self, transform=changed).exact)

    def deviations_of_one_lane(self) -> Iterator[Deviation]:
        """A level of the butterfly, or the source, that is wrong in one lane."""
        for lane in range(self.facts.size):
            yield from self._wires(lane)

    def _signs(self) -> Iterator[Deviation]:
        """Signs of other elements."""
        size = self.facts.size

        def masked(values: Values, change: Callable[[int], int]) -> Answer:
            right = self.signs(values)
            mask = int(self.facts.signs, 16) if right is None else right
            plain = replace(
                self, transform=self.transform.model_copy(update={"facts": self.facts.model_copy(update={"signs": f"{change(mask):#x}"})})
            )
            return plain.exact(values if self.fixed else (values[0], change(mask)))

        mirrored = lambda mask: int(f"{mask:0{size}b}"[::-1], 2)  # noqa: E731
        yield Deviation("bit i of the signs negates element n - 1 - i", "signs", lambda values: masked(values, mirrored))
        yield Deviation("the other elements are negated", "signs", lambda values: masked(values, lambda mask: mask ^ ((1 << size) - 1)))
        for bit in range(size):
            yield Deviation(f"the sign of element {bit} is the other one", "signs", partial(masked, change=partial(int.__xor__, 1 << bit)))

    def _wires(self, lane: int | None) -> Iterator[Deviation]:
        """The source, each level of a butterfly, and the result before it is stored: one of them wrong."""
        of = "" if lane is None else f", lane {lane}"
        width = stored_bits(self.source)
        for edit in edits(width, deep=8 if lane is None else 4):
            yield Deviation.of_rows(edit.words(f"x{of}"), "read", partial(self._side_by_side, -1, edit, width, lane))
        wide = derive.codes(get("format", self.facts.sum_format)).bits
        for level in range(self.levels):
            for edit in edits(wide, deep=23 if lane is None else 4):
                yield Deviation.of_rows(
                    edit.words(f"level {level} of the butterfly{of}"), f"b{level}", partial(self._side_by_side, level, edit, wide, lane)
                )
            if lane is None:
                yield Deviation.of_rows(
                    f"level {level} of the butterfly: b - a instead of a - b",
                    f"b{level}",
                    partial(self._side_by_side, level, None, wide, None),
                )
        if lane is None and self.levels:
            for strides in ((8, 4, 2, 1), (2, 1, 4, 8), (1, 2, 8, 4)) if self.facts.size == 16 else ():
                text = f"the levels of the butterfly have the strides {', '.join(map(str, strides))}"
                yield Deviation.of_rows(text, "b0", partial(self._side_by_side, 99, None, wide, None, strides=strides))

    def _side_by_side(
        self, wrong: int, edit: Edit | None, bits: int, lane: int | None, rows: Sequence[Values], strides: Sequence[int] = ()
    ) -> list[Answer | None]:
        """Return the answers of rows, y alone. wrong: -1 the source, a level, or none of them."""
        codes = np.array([self.lanes(values) for values in rows], integer_dtype(self.source))
        place = slice(None) if lane is None else slice(lane, lane + 1)
        if wrong == -1:
            assert edit is not None
            codes[:, place] = edit.on_array(codes[:, place], bits)
            if not self.levels:
                return self.batch(
                    [(pack(lanes, self.layout.inputs[0].lane_bits), values[1]) for lanes, values in zip(codes.tolist(), rows, strict=True)],
                    numpy_transform,
                )
        x = to_fp32(codes, self.source)
        masks = [int(self.facts.signs, 16) if self.signs(values) is None else values[1] for values in rows]
        negative = np.array([[mask >> at & 1 for at in range(self.facts.size)] for mask in masks], bool)
        x = np.where(negative, -x, x)
        to: Format = get("format", self.facts.sum_format)
        with np.errstate(all="ignore"):
            for level in range(self.levels):
                stride = strides[level] if strides else 1 << level
                low = np.array([at for at in range(self.facts.size) if not at & stride])
                a, b = x[:, low], x[:, low + stride]
                x = x.copy()
                x[:, low], x[:, low + stride] = self._held(a + b, to), self._held(b - a if wrong == level and edit is None else a - b, to)
                if wrong == level and edit is not None:
                    held = np.ascontiguousarray(x).view(np.uint32)
                    held[:, place] = edit.on_array(held[:, place], bits)
                    x = held.view(np.float32)
            scaled = self._held(x * np.float32(float(derive.parse_exact(self.facts.scale))), to)
        pattern = np.where(np.isnan(scaled), np.uint32(0x7FC00000), np.ascontiguousarray(scaled).view(np.uint32))
        result: Format = get("format", self.facts.result)
        if not is_binary32(result):
            pattern = convert_marked(
                pattern.reshape(-1), get("format", "fp32"), result, get("rounding", "rne"), derive.arithmetic_entry(result)
            ).reshape(pattern.shape)
        return [(tuple(lanes),) for lanes in pattern.tolist()]

    def _held(self, values: Any, to: Format) -> Any:
        """Return sums in the format of the sums. Raises: EngineError (one that NumPy has no arithmetic of)."""
        if not is_binary32(to):
            raise EngineError(f"a butterfly in {to.id} has no wires")
        return values.astype(np.float32)

    def described(self) -> dict[str, Any]:
        """The order of the sum and the roundings."""
        return {"rounding": "rne", "overflow": "ieee_inf", "zero_sign": "keep", "subnormals_in": "keep", "subnormals_out": "keep"}


# transform on whole arrays: x [rows, n], signs () -> values [rows, n].


class TransformForm(Form):
    """x, signs -> values."""

    operation: TransformContract
    by_row = False
    open_order = True

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

    def in_shapes(self, asked: Asked) -> Iterator[Question]:
        """Ordinary tensors of many shapes."""
        source = self.operation.source

        def drawn(shape: tuple[int, int], why: str) -> dict[str, Bits]:
            kind, stream = sum(shape) % len(KINDS), stream_of(f"{why} {self.contract}")
            return {"x": tensor(source, kind, shape[0] * shape[1], shape[1], asked.key, stream).reshape(shape)}

        return tiles(self, asked, drawn) if isinstance(source.facts, FloatFacts) else iter(())

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

    def within(self, operands: Arrays, found: Expected, got: Arrays) -> Expected:
        """Where the order of the additions is open: values on which orders part, inside of what some order gives, are masked.

        Answers of more rows than the operands have are those of the operands' rows, repeated.
        """
        op = self.operation
        if "sum" not in {key for point in op.transform.open for key in point.facts} or not isinstance(op.source.facts, FloatFacts):
            return found
        signs = int(operands["signs"]) if "signs" in operands else int(op.facts.signs, 16)
        ends, fmt = any_order(operands["x"], op.source, op.transform, signs), get("format", op.facts.result)
        low, high, want, free = (np.resize(each, got["values"].shape) for each in (ends.low, ends.high, found.arrays["values"], ends.free))
        least, most, given, wanted = (ordered(codes, fmt) for codes in (low, high, got["values"], want))
        zero = (wanted == 0) & (given == 0) & (want != got["values"])  # an order that subtracts sums decides its sign
        masked = ((least != most) & (least <= given) & (given <= most)) | free | zero
        return Expected(found.arrays, {**found.known, "values": ~masked}) if masked.any() else found

    def engine(self, operands: Arrays) -> str:
        """The engine that does this rotation."""
        return chosen_engine(self.op, (self.operation.transform, self.operation.source))
