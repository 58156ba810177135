"""convert on whole arrays: codes [n] of the source, random integers -> codes [n]. What an engine refuses, the exact engine says, masked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from emu.base.errors import OpenError, OperandError
from emu.base.philox import draw, stream_of
from emu.contracts.form import Arrays, Bits, Expected, Form, Shape, chosen_engine, draw_bits, integer_dtype, masked, whole
from emu.contracts.rows import Input
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.numpy.convert import element_random
from emu.engines.run import run_convert
from emu.spec import derive, get
from emu.spec.models import Format, Rounding

if TYPE_CHECKING:
    from emu.contracts.convert.contract import ConvertContract

KEY = 1


class ConvertForm(Form):
    """codes, random -> codes."""

    operation: ConvertContract

    @property
    def rounding(self) -> Rounding:
        """The rounding with the random integers that a caller hands in: words, where elements share them."""
        found: Rounding = get("rounding", self.contract.parts[1])
        return found

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One code a code."""
        return {"codes": operands["codes"].shape}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """All rows in one array; shared words are drawn."""
        operands: dict[str, Bits] = {"codes": np.array([case.values[0] for case in cases], integer_dtype(self.operation.source))}
        if self.draws is not None:
            lanes, bits = draw_bits(self.draws)
            kind = integer_dtype(None, bits)
            if lanes == 1:
                operands["random"] = np.array([case.values[1] for case in cases], kind)
            else:
                operands["random"] = draw(KEY, -(-len(cases) // lanes), bits, stream_of(str(self.contract))).astype(kind)
        yield operands, cases

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
