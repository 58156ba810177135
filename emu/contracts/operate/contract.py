"""operate: codes of one to four numbers -> the code of the result, or yes or no, as IEEE P3109's draft defines it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Final, Self

from emu.base.caches import lazy
from emu.base.errors import OpenError, OperandError, SpecError
from emu.contracts import suites
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, array_of, entry, native, present, stored_bits
from emu.contracts.operate import cases
from emu.contracts.rows import Answer, Input
from emu.contracts.suites import Inputs
from emu.contracts.text import named, value_text
from emu.engines.exact.operate import exact_result, operate_codes
from emu.engines.run import run_operate
from emu.spec import derive
from emu.spec.contract import ContractName, operand_formats
from emu.spec.ieee import same_facts
from emu.spec.models import Format, Policy, Rounding
from emu.spec.operations import OPERATIONS, result_of
from emu.spec.registry import get, names

WIDEST: Final = 8  # bits of all operands together of which every row is a suite
ROUNDINGS: Final = ("rne", "rna", "rz", "rd", "ru", "odd_by_parity")


@dataclass(frozen=True, eq=False)
class OperateContract(Contract):
    """operate/<operation>/<formats>, with /<format>/<rounding>/<policy> where a number comes out.   to: of a number or a neighbour."""

    operation: str
    sources: tuple[Format, ...]
    to: Format
    rounding: Rounding
    policy: Policy | None
    chooser: ClassVar[Any] = cases
    smoke = 64

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name; nothing is left open."""
        operation, operands, *projected = name.parts
        sources = tuple(get("format", fmt) for fmt in operand_formats(name))
        to, rounding, policy = projected or (None, "rne", None)
        target, how = result_of(operation, sources, to, rounding)
        result = "truth" if OPERATIONS[operation].gives == "truth" else target.id
        part = "_".join((operation, *reversed(projected[1:])))
        return cls(name, operands, result, part, operation, sources, target, how, None if policy is None else get("policy", policy))

    @property
    def gives(self) -> str:
        """number, truth or code."""
        return OPERATIONS[self.operation].gives

    @lazy
    def layout(self) -> Layout:
        """a, b, c -> y; of scaled operations a scale before each number. Truth is a bit."""
        words = ("scale_a", "a", "scale_b", "b") if OPERATIONS[self.operation].scaled else ("a", "b", "c")
        operands = [Column(word, "in", stored_bits(fmt), fmt.id) for word, fmt in zip(words, self.sources, strict=False)]
        if self.gives == "truth":
            return layout_of([*operands, Column("y", "out", 1, means="1 yes, 0 no")])
        derived = derive.codes(self.to)
        return layout_of([*operands, Column("y", "out", derived.bits, self.to.id, any_nan=len(derived.nan) > 1)])

    @property
    def is_small(self) -> bool:
        """Is every row of the contract a suite."""
        return sum(stored_bits(fmt) for fmt in self.sources) <= WIDEST

    def suites(self) -> Iterator[Inputs]:
        """Every row where there are few; else chosen and random rows."""
        if self.is_small:
            yield Inputs("all", suites.about(True, "every code of every operand", "operate.all"), partial(cases.every, self))
        else:
            yield from super().suites()

    def directed(self, stream: str = "") -> list[Input]:
        """Return the directed rows, or all."""
        return cases.every(self) if self.is_small else super().directed(stream)

    def exact(self, values: Values) -> Answer:
        """Return the code, 1 or 0, OPEN or REFUSE."""
        policy: Any = self.policy  # unread where nothing is projected
        return ((operate_codes(self.operation, values, self.sources, self.to, self.rounding, policy),),)

    def engines(self) -> dict[str, Batch]:
        """numpy, and the C reference where it is built."""
        return present({name: partial(self._run, name) for name in ("numpy", "c_ref") if name != "c_ref" or native() is not None})

    def _run(self, engine: str, rows: Sequence[Values]) -> list[Answer | None]:
        """All rows through an engine; of a chunk with a row that is open or refused each half, so that only such rows stay without."""
        codes = [array_of([row[place] for row in rows], fmt) for place, fmt in enumerate(self.sources)]
        policy: Any = self.policy
        try:
            found = run_operate(self.operation, codes, self.sources, self.to, self.rounding, policy, engine)
        except (OpenError, OperandError):
            half = len(rows) // 2
            return [*self._run(engine, rows[:half]), *self._run(engine, rows[half:])] if half else [None]
        return [((int(code),),) for code in found.tolist()]

    def trace(self, values: Values, lane: int = 0) -> Any:
        """Each operand, the exact result, and what it is projected to."""
        words = [column.name for column in self.layout.inputs]
        out = [entry(word, "decode", fmt.id, named(code, fmt)) for word, code, fmt in zip(words, values, self.sources, strict=True)]
        found = self.exact(values)[0][0]
        if self.gives == "truth":
            return [*out, entry("y", self.operation, "result", f"{found} ({'yes' if found else 'no'})")]
        if self.gives == "number":
            out.append(entry("exact", self.operation, "numbers", value_text(exact_result(self.operation, values, self.sources))))
        how = "project" if self.gives == "number" else self.operation
        unanswered = {derive.OPEN: "open", derive.REFUSE: "refused"}
        return [*out, entry("y", how, self.to.id, unanswered[found] if found in unanswered else named(found, self.to))]

    def deviations(self) -> Iterator[Deviation]:
        """Another rounding or policy, another operation of as many operands, operands exchanged."""
        for other in ROUNDINGS if self.gives == "number" else ():
            rounding: Rounding = get("rounding", other)
            if not same_facts(rounding, self.rounding):
                yield Deviation(f"rounded by {other}, not {self.rounding.id}", "y", replace(self, rounding=rounding).exact)
        if self.policy is not None:
            yield from self._of_policies(self.policy)
        mine = OPERATIONS[self.operation]
        for other, operation in OPERATIONS.items():
            if operation == mine and other != self.operation:
                yield Deviation(f"it is {other}, not {self.operation}", "y", replace(self, operation=other).exact)
        if len(self.sources) == 2 and self.sources[0] is self.sources[1]:
            yield Deviation("a and b are exchanged", "a", lambda values: self.exact(values[::-1]))

    def _of_policies(self, own: Policy) -> Iterator[Deviation]:
        for other in names("policy"):
            policy: Policy = get("policy", other)
            with suppress(SpecError):  # it says nothing of this format
                if derive.policy_entry(policy, self.to) != derive.policy_entry(own, self.to):
                    yield Deviation(f"policy {other}, not {own.id}", "y", replace(self, policy=policy).exact)
