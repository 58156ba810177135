"""convert: code of a source format -> code of a destination under a rounding and a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.numpy import tables
from emu.engines.numpy.convert import convert_marked
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.derive import OPEN, REFUSE
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.rounding import PerElement, Word
from emu.spec.registry import get
from emu.vectors.files.columns import Column, Layout, layout_of
from emu.vectors.files.rows import Answer
from emu.vectors.operation import Batch, Values, array_of, native, present, stored_bits


def split_rounding(rounding: Rounding) -> Rounding:
    """Return the rounding with its random integer per element: the rows carry operands that are already split out of a shared word."""
    if not isinstance(rounding.facts.random, Word):
        return rounding
    return rounding.model_copy(update={"facts": rounding.facts.model_copy(update={"random": PerElement(per_element=rounding.random_bits)})})


class ConvertRows:
    """convert/<dst>/<rounding>/<policy> from one source format."""

    def __init__(self, contract: Contract, source: str) -> None:
        self.contract = contract
        self.fmt: Format = get("format", contract.parts[0])
        self.rounding = split_rounding(get("rounding", contract.parts[1]))
        self.policy: Policy = get("policy", contract.parts[2])
        self.source: Format = get("format", source)
        self.entry = derive.policy_entry(self.policy, self.fmt)
        self.src, self.dst, self.part = source, self.fmt.id, f"{self.policy.id}_{self.rounding.id}"

    @property
    def layout(self) -> Layout:
        """x, r -> y."""
        bits = self.rounding.random_bits
        drawn = [Column("r", "r", bits, means="random integer of the element, already split")] if bits else []
        return layout_of(
            [Column("x", "in", stored_bits(self.source), self.src), *drawn, Column("y", "out", derive.codes(self.fmt).bits, self.dst)]
        )

    def exact(self, values: Values) -> Answer:
        """Return the code, OPEN or REFUSE."""
        random = values[1] if self.rounding.random_bits else None
        return ((convert_value(decode_code(values[0], self.source), self.fmt, self.rounding, self.entry, random),),)

    def engines(self) -> dict[str, Batch]:
        """fast, and the C reference where it is built."""
        return present({"numpy": self.fast} | ({"c_ref": self.c_ref} if native() is not None else {}))

    def arrays(self, rows: Sequence[Values]) -> tuple[Any, Any]:
        """Return sources and random integers as arrays."""
        drawn = np.array([row[1] for row in rows], np.uint64) if self.rounding.random_bits else None
        return array_of([row[0] for row in rows], self.source), drawn

    def fast(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Convert through the NumPy column."""
        codes, drawn = self.arrays(rows)
        found = convert_marked(codes, self.source, self.fmt, self.rounding, self.entry, drawn).tolist()
        marks = {tables.mark(OPEN, self.fmt): OPEN, tables.mark(REFUSE, self.fmt): REFUSE}
        return [((marks.get(code, code),),) for code in found]

    def c_ref(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Convert through the C reference."""
        codes, drawn = self.arrays(rows)
        found, state = native().convert_with_open(codes, self.source, self.fmt, self.rounding, self.entry, drawn)
        return [((-known if known else code,),) for code, known in zip(found.tolist(), state.tolist(), strict=True)]

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
            "rounding": self.contract.parts[1],
            "overflow": self.entry.overflow,
            "zero_sign": "keep" if zeros[0] != zeros[1] else "drop",
            "subnormals_in": "keep",
            "subnormals_out": "keep",
            "sr": {"bits": rounding.random_bits, "op": facts.add, "source": self._fields()} if rounding.random_bits else None,
        }

    def _special(self, code: int, deterministic: bool) -> int:
        return self.exact((code,) if deterministic else (code, 0))[0][0]

    def _fields(self) -> str:
        return self.contract.parts[1] if isinstance(get("rounding", self.contract.parts[1]).facts.random, Word) else "per_element"


def _by_sign(codes: tuple[int, ...], bits: int) -> dict[str, str]:
    words = {OPEN: "open", REFUSE: "refuse"}
    return {sign: words.get(code, f"{code:0{-(-bits // 4)}x}") for sign, code in zip(("positive", "negative"), codes, strict=True)}
