"""convert: code of a source format -> code of a destination under a rounding and a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import OpenError, OperandError
from emu.base.philox import stream_of
from emu.contracts import suites
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, native, present, stored_bits
from emu.contracts.convert import cases, deviations
from emu.contracts.convert.cover import ConvertCover
from emu.contracts.convert.trace import lines_convert, signals_convert, trace_convert
from emu.contracts.drawn import CHUNK, ELEMENTS, numbers, patterns
from emu.contracts.examples import compare, parse_value
from emu.contracts.form import Arrays, Asked, Bits, Expected, Form, Question, Shape, chosen_engine, integer_dtype, masked, whole
from emu.contracts.grid import between
from emu.contracts.rows import Answer, Input
from emu.contracts.shapes import lengths
from emu.contracts.suites import Inputs
from emu.engines.exact.convert import convert_code, convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import round_value
from emu.engines.exact.value import Value
from emu.engines.numpy import tables
from emu.engines.numpy.convert import convert_marked, element_random
from emu.engines.run import run_convert
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN, REFUSE, EntryCodes
from emu.spec.models import Format, Policy, Rounding, SpecObject
from emu.spec.models.common import digest_json
from emu.spec.models.rounding import PerElement, Word
from emu.spec.registry import digest, get

FIRST_POLICIES: Final = ("nvidia", "ocp_saturate", "amd", "ml_dtypes")
WIDEST: Final = 16  # bits of destinations that have suites, and of sources that are tried whole


def split_rounding(rounding: Rounding) -> Rounding:
    """Return the rounding with its random integer per element: the rows carry operands that are already split out of a shared word."""
    if not isinstance(rounding.facts.random, Word):
        return rounding
    return rounding.model_copy(update={"facts": rounding.facts.model_copy(update={"random": PerElement(per_element=rounding.random_bits)})})


@dataclass(frozen=True, eq=False)
class ConvertContract(Contract):
    """convert/<dst>/<rounding>/<policy> from one source format."""

    fmt: Format
    rounding: Rounding
    policy: Policy
    entry: EntryCodes
    source: Format
    opens = "source"
    formats = ("fp32", "bf16", "fp16")
    examples: ClassVar[tuple[str, ...]] = ("rounding", "policy")
    chooser: ClassVar[Any] = cases
    smoke = 48

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name. given: id of the source format, fp32 unless told."""
        fmt, rounding, policy = (get(kind, part) for kind, part in zip(("format", "rounding", "policy"), name.parts, strict=True))
        source: Format = get("format", given or "fp32")
        split = split_rounding(rounding)
        part = f"{policy.id}_{rounding.id}"
        return cls(name, source.id, fmt.id, part, fmt, split, policy, derive.policy_entry(policy, fmt), source)

    @classmethod
    def openings(cls, name: ContractName) -> Iterator[Self]:
        """Yield the contract from each source that is not the destination; none for wide destinations."""
        if derive.codes(get("format", name.parts[0])).bits <= WIDEST:
            yield from (cls.of(name, source) for source in cls.formats if source != name.parts[0])

    @classmethod
    def sameness(cls, name: ContractName) -> Any:
        """The destination, its sign, and what a rounding and a policy make of every source."""
        op = cls.of(name)
        seen, entry, signed = op.described(), op.entry, bool(derive.codes(op.fmt).sign_bit) or derive.is_twos_complement(op.fmt)
        outcomes = replace(entry, nan=seen["nan"], inf=seen["inf"]).outcomes
        return (name.op, digest(op.fmt), signed, digest_json([op.rounding.facts_digest, *outcomes]))

    @classmethod
    def precedence(cls, name: ContractName) -> tuple[Any, ...]:
        """Well-known policies first, random integers per element before words."""
        policy, rounding = name.parts[2], get("rounding", name.parts[1])
        place = FIRST_POLICIES.index(policy) if policy in FIRST_POLICIES else len(FIRST_POLICIES)
        return (place, split_rounding(rounding) is not rounding, str(name))

    @lazy
    def layout(self) -> Layout:
        """x, r -> y."""
        bits = self.rounding.random_bits
        drawn = [Column("r", "r", bits, means="random integer of the element, already split")] if bits else []
        return layout_of(
            [Column("x", "in", stored_bits(self.source), self.src), *drawn, Column("y", "out", derive.codes(self.fmt).bits, self.dst)]
        )

    def whole(self) -> Iterator[Inputs]:
        """Every code of a source of 16 bits, where nothing is drawn."""
        bits = stored_bits(self.source)
        if bits <= WIDEST and not self.rounding.random_bits:
            yield suites.every(f"every {self.src} code", 1 << bits, lambda start, stop: [
                Input("all", ("exhaustive",), (code,)) for code in range(start, stop)
            ])  # fmt: skip

    def form(self, result: Format) -> Form:
        """codes, random -> codes."""
        drawn: Rounding = get("rounding", self.name.parts[1])
        draws = drawn if drawn.random_bits else None
        extras = ("random",) if draws else ()
        return ConvertForm(self, {"codes": self.source, **dict.fromkeys(extras)}, {"codes": self.fmt}, draws, None, extras)

    def exact(self, values: Values) -> Answer:
        """Return the code, OPEN or REFUSE."""
        random = values[1] if self.rounding.random_bits else None
        return ((convert_value(decode_code(values[0], self.source), self.fmt, self.rounding, self.entry, random),),)

    def engines(self) -> dict[str, Batch]:
        """numpy, and the C reference where it is built."""
        return present({"numpy": self.numpy} | ({"c_ref": self.c_ref} if native() is not None else {}))

    def arrays(self, rows: Sequence[Values]) -> tuple[Any, Any]:
        """Return sources and random integers as arrays."""
        drawn = np.array([row[1] for row in rows], np.uint64) if self.rounding.random_bits else None
        return array_of([row[0] for row in rows], self.source), drawn

    def numpy(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Convert through the NumPy engine."""
        codes, drawn = self.arrays(rows)
        found = convert_marked(codes, self.source, self.fmt, self.rounding, self.entry, drawn).tolist()
        marks = {tables.mark(OPEN, self.fmt): OPEN, tables.mark(REFUSE, self.fmt): REFUSE}
        return [((marks.get(code, code),),) for code in found]

    def c_ref(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Convert through the C reference."""
        codes, drawn = self.arrays(rows)
        found, state = native().convert_with_open(codes, self.source, self.fmt, self.rounding, self.entry, drawn)
        return [((-known if known else code,),) for code, known in zip(found.tolist(), state.tolist(), strict=True)]

    def trace(self, values: Values, lane: int = 0) -> Any:
        """decode, position between two codes, rounding, overflow, result: see trace_convert."""
        return trace_convert(self, values)

    def lines(self, trace: Any) -> list[str]:
        """The trace as lines."""
        return lines_convert(trace)

    def signals(self, values: Values, got: Mapping[str, int | None]) -> list[tuple[str, int, int | None]]:
        """The stages of the conversion, and y of a design."""
        return signals_convert(self, values, max(self.exact(values)[0][0], 0), got.get("y"))

    def deviations(self) -> Iterator[Deviation]:
        """See emu.contracts.convert.deviations."""
        return deviations.deviations(self)

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """A number is rounded, or a code converted under a policy, as it is written."""
        if isinstance(thing, Rounding):
            return compare(round_value(parse_value(example.value), get("format", example.grid), thing, example.random), example.rounded)
        assert isinstance(thing, Policy)
        to, source = get("format", example.to), get("format", example.source)
        found = convert_code(int(example.x, 16), source, to, get("rounding", example.rounding), thing, example.random)
        return None if found == int(example.code, 16) else f"{found:#x}, not {example.code}"

    def cover(self) -> ConvertCover:
        """The axes of spec/coverage/convert.yaml."""
        return ConvertCover(self)

    def described(self) -> dict[str, Any]:
        """Overflow, special values and stochastic operand as data."""
        derived, rounding = derive.codes(self.fmt), self.rounding
        top = derive.codes(self.source)
        special: dict[str, Any] = {"nan": _by_sign(self.entry.nan, derived.bits), "inf": None}
        deterministic = not rounding.random_bits
        if top.inf is not None:
            special["inf"] = _by_sign(tuple(self._special(top.inf | sign, deterministic) for sign in (0, top.sign_bit)), derived.bits)
        zeros = tuple(self._special(code, deterministic) for code in (0, top.sign_bit))
        facts = rounding.facts
        return special | {
            "rounding": self.name.parts[1],
            "overflow": self.entry.overflow,
            "zero_sign": "keep" if zeros[0] != zeros[1] else "drop",
            "subnormals_in": "keep",
            "subnormals_out": "keep",
            "sr": {"bits": rounding.random_bits, "op": facts.add, "source": self._fields()} if rounding.random_bits else None,
        }

    def _special(self, code: int, deterministic: bool) -> int:
        return self.exact((code,) if deterministic else (code, 0))[0][0]

    def _fields(self) -> str:
        return self.name.parts[1] if isinstance(get("rounding", self.name.parts[1]).facts.random, Word) else "per_element"


def _by_sign(codes: tuple[int, ...], bits: int) -> dict[str, str]:
    words = {OPEN: "open", REFUSE: "refuse"}
    return {sign: words.get(code, f"{code:0{-(-bits // 4)}x}") for sign, code in zip(("positive", "negative"), codes, strict=True)}


# convert on whole arrays: codes [n], random integers -> codes [n]. What an engine refuses, the exact engine says, masked.


class ConvertForm(Form):
    """codes, random -> codes."""

    operation: ConvertContract
    sorted = 4096

    @property
    def rounding(self) -> Rounding:
        """The rounding with the random integers that a caller hands in: words, where elements share them."""
        found: Rounding = get("rounding", self.contract.parts[1])
        return found

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One code a code."""
        return {"codes": operands["codes"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """All rows in one array; words that several share are left out."""
        operands: dict[str, Bits] = {"codes": np.array([case.values[0] for case in cases], integer_dtype(self.operation.source))}
        if self.draws is not None and self.draws.random_operand[0] == 1:
            operands["random"] = np.array([case.values[1] for case in cases], integer_dtype(None, self.draws.random_bits))
        yield operands, cases

    def exhaustive(self, asked: Asked) -> Iterator[Question]:
        """Every pattern of 16 bits."""
        yield Question(self.completed({"codes": patterns(self.operation.source)}, 1, ""), ("exhaustive",))

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Numbers of every exponent, and beside the decision points."""
        size, stream = max(asked.count or 0, ELEMENTS), stream_of(f"check {self.contract}")
        for start in range(0, size, CHUNK):
            codes = numbers(self.operation.source, self.operation.fmt, min(CHUNK, size - start), asked.key, stream, start)
            yield Question(self.completed({"codes": codes}, asked.key, str(start)), ("stratified",))

    def in_shapes(self, asked: Asked) -> Iterator[Question]:
        """Codes in a row, of many lengths."""
        op, stream = self.operation, stream_of(f"shapes {self.contract}")
        return lengths(self, asked, lambda count: numbers(op.source, op.fmt, count, asked.key, stream))

    def intervals(self, parts: Sequence[Fraction]) -> Bits:
        """Of the destination."""
        return np.array(between(self.operation.fmt, self.operation.source, parts), integer_dtype(self.operation.source))

    def each(self, codes: Bits, random: Bits) -> Bits:
        """Return the codes under an integer for each element, also where the operand is shared words."""
        op = self.operation
        return run_convert(codes, op.source, op.fmt, op.rounding, op.policy, random.astype(np.uint32), "auto")

    def rounded(self, operands: Arrays, index: tuple[int, ...]) -> tuple[Value, Format, Rounding, EntryCodes]:
        """The number itself."""
        return decode_code(int(operands["codes"][index]), self.operation.source), self.operation.fmt, self.rounding, self.operation.entry

    def row(self, operands: Arrays, number: int) -> tuple[int, ...]:
        """The code and its random integer, split out of a shared word."""
        code = int(operands["codes"][number])
        if self.draws is None:
            return (code,)
        drawn = element_random(operands["random"], self.draws, operands["codes"].shape)
        assert drawn is not None
        return (code, int(drawn[number]))

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return the codes."""
        if engine != "exact":
            try:
                return self._by(operands, engine)
            except (OpenError, OperandError):
                return self._rest(operands, engine)
        op, codes = self.operation, operands["codes"]
        drawn = element_random(operands.get("random"), self.rounding, codes.shape)
        integers = [None] * codes.size if drawn is None else drawn.tolist()
        decoded = (decode_code(code, op.source) for code in codes.tolist())
        found = [convert_value(value, op.fmt, self.rounding, op.entry, random) for value, random in zip(decoded, integers, strict=True)]
        return whole("codes", *masked(found, op.fmt))

    def _by(self, operands: Arrays, engine: str) -> Expected:
        op = self.operation
        facts = op.source, op.fmt, self.rounding, op.policy
        return Expected({"codes": run_convert(operands["codes"], *facts, operands.get("random"), engine)}, {})

    def _rest(self, operands: Arrays, engine: str) -> Expected:
        """Convert what the policy knows with the engine, NaN, Inf and negative codes with the exact engine."""
        codes, result = operands["codes"], self.operation.fmt
        derived = derive.codes(self.operation.source)
        plain = codes & ~codes.dtype.type(derived.sign_bit)
        special = (plain > derived.max_code) | (codes != plain)
        lanes = 1 if self.draws is None else codes.size // max(operands["random"].size, 1)
        if bool(special.all()) or lanes > 1:
            return self.expect(operands, "exact", result)
        parts = []
        for mask, by in ((special, "exact"), (~special, engine)):
            part = {name: array[mask] for name, array in operands.items()}
            try:
                parts.append((mask, self.expect(part, by, result) if by == "exact" else self._by(part, by)))
            except OperandError:
                return self.expect(operands, "exact", result)
        out = np.empty(codes.shape, parts[0][1].arrays["codes"].dtype)
        known = np.ones(codes.shape, bool)
        for mask, found in parts:
            out[mask] = found.arrays["codes"]
            known[mask] = found.known.get("codes", True)
        return whole("codes", out, known)

    def engine(self, operands: Arrays) -> str:
        """The engine that does this conversion."""
        op = self.operation
        return chosen_engine(self.op, (op.source, op.fmt, self.rounding, op.policy))
