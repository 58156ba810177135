"""decode: code -> binary32 bits of its value, and its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import OpenError
from emu.base.philox import draw, stream_of
from emu.contracts import suites
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, entry, native, present, stored_bits
from emu.contracts.cover import Bin, Point, Settled, settled_by
from emu.contracts.examples import compare
from emu.contracts.form import Arrays, Asked, Bits, Expected, Form, Question, Shape, chosen_engine, integer_dtype, masked, whole
from emu.contracts.rows import Answer, Input
from emu.contracts.shapes import lengths
from emu.contracts.suites import Inputs
from emu.contracts.text import class_of, code_text, value_text
from emu.contracts.wires import Edit, edits
from emu.engines.exact.decode import decode_code, magnitude_of
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value
from emu.engines.numpy.convert import to_fp32
from emu.engines.run import run_decode
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN
from emu.spec.models import Format, SpecObject
from emu.spec.models.coverage import CoverageAxis
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get, names

WIDEST: Final = 16  # bits of codes of which every one gets a row
KINDS: Final = ("zero", "subnormal", "normal", "inf", "nan")  # of codes, by the number in the column
CLASSES: Final = "0 zero, 1 subnormal, 2 normal, 3 infinite, 4 NaN"


@dataclass(frozen=True, eq=False)
class DecodeContract(Contract):
    """decode/<format>, result as fp32 bits."""

    fmt: Format
    fp32: Format
    examples: ClassVar[tuple[str, ...]] = ("format",)

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name; nothing is left open."""
        fmt: Format = get("format", name.parts[0])
        return cls(name, fmt.id, "fp32", "exact", fmt, get("format", "fp32"))

    @lazy
    def layout(self) -> Layout:
        """code -> fp32, cls."""
        return layout_of(
            [
                Column("code", "in", stored_bits(self.fmt), self.fmt.id),
                Column("fp32", "out", 32, "fp32", any_nan=True),
                Column("cls", "out", 4, means=CLASSES),
            ]
        )

    def suites(self) -> Iterator[Inputs]:
        """Every code, where it is one of at most 16 bits whose value binary32 holds."""
        bits, facts = stored_bits(self.fmt), self.fmt.facts
        wide = isinstance(facts, FloatFacts) and (facts.frac_bits > 23 or facts.exp_bits > 8)
        if bits <= WIDEST and not wide:
            yield suites.every(f"every {bits}-bit code", 1 << bits, lambda start, stop: [self.case(code) for code in range(start, stop)])

    def directed(self, stream: str = "") -> list[Input]:
        """Return every code of a format of at most 16 bits."""
        bits = stored_bits(self.fmt)
        return [self.case(code) for code in range(1 << bits)] if bits <= WIDEST else []

    def form(self, result: Format) -> Form:
        """codes -> values."""
        return DecodeForm(self, {"codes": self.fmt}, {"values": result})

    def exact(self, values: Values) -> Answer:
        """Return (fp32 bits, class)."""
        try:
            value = decode_code(values[0], self.fmt)
        except OpenError:
            return ((OPEN,), (OPEN,))
        return ((encode_value(value, self.fp32),), (KINDS.index(class_of(values[0], self.fmt)),))

    def case(self, code: int) -> Input:
        """Return the case of a code, with what it is: zero, subnormal, the ends of the range, infinite, NaN, an unused bit."""
        derived = derive.codes(self.fmt)
        flags = ["code"]
        if code >> derived.bits:
            return Input("all", ("code", "scale_signbit"), (code,))
        value = decode_code(code, self.fmt)
        kind = class_of(code, self.fmt)
        flags += {"normal": [], "nan": ["nan_quiet"]}.get(kind, [kind])
        flags += ["negative"] if value.sign and kind != "nan" else []
        return Input("all", tuple(flags), (code,))

    def engines(self) -> dict[str, Batch]:
        """numpy gives the value; the C reference the value and the class."""
        return present({"numpy": self.numpy} | ({"c_ref": self.c_ref} if native() is not None else {}))

    def known(self, rows: Sequence[Values]) -> list[int]:
        """Return the places of codes without an unused bit set."""
        return [place for place, row in enumerate(rows) if not row[0] >> derive.codes(self.fmt).bits]

    def numpy(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Decode through the NumPy engine."""
        out: list[Answer | None] = [((OPEN,),)] * len(rows)
        places = self.known(rows)
        bits = to_fp32(array_of([rows[place][0] for place in places], self.fmt), self.fmt).view("u4").tolist()
        for place, code in zip(places, bits, strict=True):
            out[place] = ((code,),)
        return out

    def c_ref(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Decode through the C reference."""
        codes = array_of([row[0] for row in rows], self.fmt)
        classes = native().decode(codes, self.fmt).value_class.tolist()
        out: list[Answer | None] = [((OPEN,), (OPEN,))] * len(rows)
        places = self.known(rows)
        bits = native().decode_to(codes[places], self.fmt, self.fp32).tolist()
        for place, code in zip(places, bits, strict=True):
            out[place] = ((code,), (classes[place],))
        return out

    def trace(self, values: Values, lane: int = 0) -> Any:
        """The fields of the code, its class, its value, and the value as fp32."""
        code, facts = values[0], self.fmt.facts
        derived = derive.codes(self.fmt)
        out = []
        if code >> derived.bits:
            out.append(entry("unused", "field", "code", f"{code >> derived.bits:b}: a bit above the code is set; what it means is open"))
        elif isinstance(facts, FloatFacts):
            plain = code & ~derived.sign_bit
            out.append(entry("sign", "field", "code", "negative" if code & derived.sign_bit else "positive"))
            out.append(entry("exponent", "field", "code", f"{plain >> facts.frac_bits}, bias {facts.bias}"))
            out.append(entry("fraction", "field", "code", f"{plain & ((1 << facts.frac_bits) - 1):#x} of {facts.frac_bits} bits"))
        bits, kind = (lanes[0] for lanes in self.exact(values))
        if kind == OPEN:
            return [*out, entry("value", "decode", "code", "open")]
        out.append(entry("class", "decode", "code", CLASSES.split(", ")[kind]))
        out.append(entry("value", "decode", "code", value_text(decode_code(code, self.fmt))))
        return [*out, entry("fp32", "encode", "result", code_text(bits, self.fp32))]

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """A code of a format has the value that is written."""
        assert isinstance(thing, Format)
        return compare(decode_code(int(example.code, 16), thing), example.value)

    def deviations(self) -> Iterator[Deviation]:
        """Another bias, subnormal codes as zero, another format of as many bits."""
        facts = self.fmt.facts
        if isinstance(facts, FloatFacts):
            for off in (1, -1):
                changed = self.fmt.model_copy(update={"facts": facts.model_copy(update={"bias": facts.bias + off})})
                yield Deviation(f"the bias is {facts.bias + off}, not {facts.bias}", "exponent", replace(self, fmt=changed).exact)
            zero = derive.codes(self.fmt).sign_bit if derive.codes(self.fmt).neg_zero else 0
            yield Deviation("subnormal codes are read as zero", "value", lambda values: self.exact(
                (values[0] & zero,) if self.exact(values)[1] == (KINDS.index("subnormal"),) else values
            ))  # fmt: skip
        bits = derive.codes(self.fmt).bits
        for edit in edits(bits):
            yield Deviation(edit.words("code"), "field", lambda values, edit=edit: self.exact((edit(values[0], bits),)))  # type: ignore[misc]
        yield from self._fields()
        for other in names("format"):
            if other != self.fmt.id and stored_bits(get("format", other)) == stored_bits(self.fmt):
                yield Deviation(f"codes are read as {other}", "value", replace(self, fmt=get("format", other)).exact)

    def _fields(self) -> Iterator[Deviation]:
        """Fields of the code that are wrong where the value is made of them, and the class where it is told."""
        facts, known = self.fmt.facts, derive.codes(self.fmt)
        if isinstance(facts, FloatFacts):
            for wire, bits in (("exponent field", facts.exp_bits), ("fraction field", facts.frac_bits)):
                for edit in edits(bits):
                    yield Deviation(edit.words(wire), "field", partial(self._valued, wire, bits, edit, True))
                    yield Deviation(f"{edit.words(wire)}; cls is right", "field", partial(self._valued, wire, bits, edit, False))
            hidden = self.fmt.model_copy(update={"facts": facts.model_copy(update={"subnormals": "no"})})
            yield Deviation("subnormal codes have the hidden bit and the exponent below", "value", partial(self._read_as, hidden, ()))
            yield Deviation("subnormal codes have the hidden bit", "value", self._with_hidden)
            half = lambda values: self._scaled(values, ("subnormal",), Fraction(1, 2))  # noqa: E731
            yield Deviation("the exponent of subnormal codes is one too low", "exponent", half)
            yield Deviation(
                "the exponent of subnormal codes is one too high", "exponent", lambda v: self._scaled(v, ("subnormal",), Fraction(2))
            )
        if known.nan and isinstance(facts, FloatFacts):
            plain = self.fmt.model_copy(update={"facts": facts.model_copy(update={"nan": "none", "inf": "none"})})
            yield Deviation("NaN is read as a number; cls is right", "specials", partial(self._read_as, plain, ()))
            yield Deviation("NaN is read as a number", "specials", replace(self, fmt=plain).exact)
        for edit in edits(4):
            yield Deviation(edit.words("cls"), "class", lambda values, edit=edit: self._classed(values, edit))  # type: ignore[misc]
        yield Deviation("-0 becomes +0", "value", self._unsigned_zero)

    def _unsigned_zero(self, values: Values) -> Answer:
        bits, kind = self.exact(values)
        return ((bits[0] & 0x7FFFFFFF if bits[0] >= 0 and kind[0] == KINDS.index("zero") else bits[0],), kind)

    def _classed(self, values: Values, edit: Edit) -> Answer:
        bits, (kind,) = self.exact(values)
        return (bits, (edit(kind, 4) if kind >= 0 else kind,))

    def _scaled(self, values: Values, kinds: Sequence[str], factor: Fraction) -> Answer:
        bits, (kind,) = self.exact(values)
        if kind < 0 or KINDS[kind] not in kinds:
            return (bits, (kind,))
        value = decode_code(values[0], self.fmt)
        return ((encode_value(replace(value, magnitude=value.magnitude * factor), self.fp32),), (kind,))

    def _read_as(self, fmt: Format, kinds: Sequence[str], values: Values) -> Answer:
        """Return the answer of a machine whose values are those of another reading of the code, with the class as it is."""
        right = self.exact(values)
        if right[1][0] == OPEN:
            return right
        return ((encode_value(decode_code(values[0], fmt), self.fp32),), right[1])

    def _with_hidden(self, values: Values) -> Answer:
        right, facts = self.exact(values), self.fmt.facts
        if right[1][0] not in (KINDS.index("zero"), KINDS.index("subnormal")) or not isinstance(facts, FloatFacts):
            return right
        fraction = values[0] & ((1 << facts.frac_bits) - 1)
        value = Value(
            "finite", int(bool(values[0] & derive.codes(self.fmt).sign_bit)), magnitude_of((1 << facts.frac_bits) + fraction, facts)
        )
        return ((encode_value(value, self.fp32),), right[1])

    def _valued(self, wire: str, bits: int, edit: Edit, classed: bool, values: Values) -> Answer:
        """Return the answer of a machine where a field is wrong. classed: and the class is told by it."""
        right, facts, known = self.exact(values), self.fmt.facts, derive.codes(self.fmt)
        assert isinstance(facts, FloatFacts)
        if right[1][0] in (OPEN, KINDS.index("nan"), KINDS.index("inf")):
            return right
        sign, plain = values[0] & known.sign_bit, values[0] & ~known.sign_bit
        field, fraction = plain >> facts.frac_bits, plain & ((1 << facts.frac_bits) - 1)
        field, fraction = (edit(field, bits), fraction) if wire.startswith("exponent") else (field, edit(fraction, bits))
        value = Value("finite", int(bool(sign)), magnitude_of(field << facts.frac_bits | fraction, facts))
        kind = "normal" if field or facts.subnormals == "no" else "subnormal" if fraction else "zero"
        return ((encode_value(value, self.fp32),), (KINDS.index(kind),) if classed else right[1])

    def cover(self) -> DecodeCover:
        """The axes of spec/coverage/decode.yaml."""
        return DecodeCover(self)

    def described(self) -> dict[str, Any]:
        """The facts of the format that a reader of the table needs."""
        derived = derive.codes(self.fmt)
        return {
            "nan": [f"{code:x}" for code in derived.nan]
            if isinstance(self.fmt.facts, FloatFacts) and self.fmt.facts.nan != "ieee"
            else None,
            "zero_sign": "keep" if derived.neg_zero else "none",
            "subnormals_in": "keep",
            "scale_signbit": "open" if derive.unused_high_bits(self.fmt) else None,
        }


class DecodeForm(Form):
    """codes [n] -> values [n]."""

    operation: DecodeContract
    sorted = 4096

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One value a code."""
        return {"values": operands["codes"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """All codes in one array."""
        yield {"codes": np.array([case.values[0] for case in cases], integer_dtype(self.operation.fmt))}, cases

    def exhaustive(self, asked: Asked) -> Iterator[Question]:
        """None more: the directed rows are every code."""
        yield from ()

    def in_shapes(self, asked: Asked) -> Iterator[Question]:
        """Codes in a row, of many lengths."""
        bits, stream = derive.codes(self.operation.fmt).bits, stream_of(f"shapes {self.contract}")
        return lengths(self, asked, lambda count: draw(asked.key, count, bits, stream).astype(integer_dtype(self.operation.fmt)))

    def row(self, operands: Arrays, number: int) -> tuple[int, ...]:
        """The code."""
        return (int(operands["codes"][number]),)

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the values of codes; codes with an unused bit by the exact engine."""
        fmt, codes = self.operation.fmt, operands["codes"]
        if engine != "exact" and derive.codes(fmt).bits <= WIDEST and not derive.unused_high_bits(fmt):
            return Expected({"values": run_decode(codes, fmt, result, engine)}, {})

        def one(code: int) -> int:
            try:
                return encode_value(decode_code(code, fmt), result)
            except OpenError:
                return OPEN

        return whole("values", *masked([one(int(code)) for code in codes], result))

    def engine(self, operands: Arrays) -> str:
        """The engine that decodes this format."""
        return chosen_engine(self.op, (self.operation.fmt, get("format", "fp32")))


# What the axes of spec/coverage/decode.yaml mean. Every code is tried, so what no code reaches is out of reach.


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
