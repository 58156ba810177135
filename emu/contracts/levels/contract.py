"""dot and accumulate of a datapath of levels: codes, block scales, C and random words -> the result, with what each level leaves.

A row of dot is one instruction (more where the levels need more to leave one value). A row of accumulate is a run of several, from the
start: the registers that run through K are columns after each addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from emu.base.caches import lazy
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, present, stored_bits
from emu.contracts.cover import Subject
from emu.contracts.dot.cases_ends import has_open_bit, signbit_word
from emu.contracts.form import FLAGS, Arrays, Asked, Bits, Expected, Form, Question, Shape, integer_dtype, masked, whole
from emu.contracts.levels import cases, deviations, suite
from emu.contracts.levels.columns import Stage, stages_of
from emu.contracts.levels.cover import LevelsCover
from emu.contracts.levels.field import Field
from emu.contracts.levels.rows import REFUSALS, LevelsRow, engines_of, evaluate, run_flagged
from emu.contracts.levels.trace import explain_levels, lines_of, signals_levels
from emu.contracts.rows import Answer, Input, pack, unpack
from emu.contracts.suites import Inputs, about
from emu.engines.datapath import run_levels
from emu.engines.exact.levels import LevelsDot, dot
from emu.spec import derive
from emu.spec.contract import ContractName, any_plan_of
from emu.spec.derive import OPEN
from emu.spec.levels import LevelsPlan, products_of_row
from emu.spec.models import Format
from emu.spec.registry import get

FLAG_MEANS = {"NV": "NV, an operation was invalid", "OF": "OF, a finite value was beyond its register"}


@dataclass(frozen=True, eq=False)
class LevelsContract(Contract):
    """dot/<datapath> or accumulate/<datapath> of a datapath of levels. k: products of a row."""

    plan: LevelsPlan
    k: int
    chooser: ClassVar[Any] = suite
    smoke = 24
    neighbours = False

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name; nothing is left open. Raises: SpecError (levels that take one instruction alone)."""
        plan = any_plan_of(name)
        assert isinstance(plan, LevelsPlan)
        source = f"{plan.a.id}x{plan.b.id}" + (f"_{plan.scale.id}" if plan.scale is not None else "")
        offered = plan.facts.offered
        part = plan.datapath.id + (f"_b{plan.block}" if offered is not None and len(offered.blocks) > 1 else "")
        return cls(name, source, plan.d.id, part, plan, products_of_row(plan, name.op == "accumulate"))

    @lazy
    def field(self) -> Field:
        """The operands of rows."""
        return Field(self.plan, self.k)

    @lazy
    def stages(self) -> list[Stage]:
        """What each level leaves."""
        return stages_of(self.plan, self.k)

    @property
    def any_nan(self) -> bool:
        """Tell whether a NaN result may have any payload."""
        return self.plan.facts.special.nan == "any" and bool(derive.codes(self.plan.d).nan)

    @lazy
    def layout(self) -> Layout:
        """a sa b sb c r -> d fl and the stages; sa and sb only with scales, c only with C, r where something draws, fl where flags are."""
        return layout_of([*self.inputs(), *self.outputs()])

    def suites(self) -> Iterator[Inputs]:
        """Yield the inputs of every suite; where registers are float or fixed, those of single bits of products and sums too."""
        yield from super().suites()
        told_of = [words for name, words in suite.BITS.items() if cases.applies(name, self.field)]
        if told_of:
            told = about(False, f"{'; '.join(told_of)}; the flags say so", f"{self.name.op}.bits")
            yield Inputs("bits", told, lambda: suite.bits(self))
        if self.field.registers:
            told = about(False, f"{suite.SUMS}; the flags say which", f"{self.name.op}.sums")
            yield Inputs("sums", told, lambda: suite.sums(self))

    def inputs(self) -> list[Column]:
        """Return the columns that a bench drives."""
        plan, out = self.plan, []
        for name, fmt in (("a", plan.a), ("b", plan.b)):
            out.append(Column(name, "in", self.k * stored_bits(fmt), fmt.id, self.k))
            if plan.scale is not None:
                blocks = self.k // plan.block
                out.append(Column(f"s{name}", "in", blocks * stored_bits(plan.scale), plan.scale.id, blocks))
        if plan.c is not None:
            out.append(Column("c", "in", stored_bits(plan.c), plan.c.id))
        draws = self.field.draws
        if draws:
            bits = max(draw.rounding.random_bits for draw in draws)
            means = "one word for each rounding that draws: by instruction, level, node, then as they happen"
            out.append(Column("r", "r", len(draws) * bits, None, len(draws), means))
        return out

    def outputs(self) -> list[Column]:
        """Return the columns that a bench compares."""
        result = Column("d", "out", stored_bits(self.plan.d), self.plan.d.id, any_nan=self.any_nan)
        return [result, *self.flag_column(), *(column for stage in self.stages for column in stage.columns())]

    def flag_column(self) -> list[Column]:
        """The exception flags, one lane each, where the datapath reports any."""
        words = self.plan.facts.flags
        if words is None:
            return []
        means = ", ".join(f"lane {lane}: {FLAG_MEANS[flag]}" for lane, flag in enumerate(words.report))
        names = tuple(flag.lower() for flag in words.report)
        return [Column("fl", "out", len(names), None, len(names), means, flags=names)]

    def flag_lanes(self, flags: int) -> list[tuple[int, ...]]:
        """The lanes of that column, as a list of one; empty without it."""
        words = self.plan.facts.flags
        return [] if words is None else [tuple(flags >> lane & 1 for lane in range(len(words.report)))]

    def taken(self, values: Values) -> LevelsRow:
        """Return the operands of a row."""
        found = {column.name: unpack(value, column) for column, value in zip(self.layout.inputs, values, strict=True)}
        c = found["c"][0] if "c" in found else None
        return LevelsRow(found["a"], found["b"], found.get("sa", ()), found.get("sb", ()), c, found.get("r", ()))

    def packed_values(self, row: LevelsRow) -> Values:
        """Return the input values of a row, one integer a column."""
        c = () if row.c is None else (row.c,)
        named = {"a": row.a, "b": row.b, "sa": row.scale_a, "sb": row.scale_b, "c": c, "r": row.random}
        return tuple(pack(named[column.name], column.lane_bits) for column in self.layout.inputs)

    def form(self, result: Format) -> Form:
        """a, b, scale_a, scale_b, c, words -> d, and flags where the datapath reports any."""
        plan, words = self.plan, self.plan.facts.flags
        operands: dict[str, Format | None] = {"a": plan.a, "b": plan.b}
        operands |= {} if plan.scale is None else {"scale_a": plan.scale, "scale_b": plan.scale}
        operands |= {} if plan.c is None else {"c": plan.c}
        operands |= {"words": None} if self.field.draws else {}
        return LevelsForm(self, operands, {"d": plan.d} | ({} if words is None else {FLAGS: flag_format(len(words.report))}))

    def exact(self, values: Values) -> Answer:
        """Return d and the stages; OPEN for all of a row that is refused, for the stages that NaN or infinity decided."""
        result = self.computed(values)
        if result is None:
            return tuple((OPEN,) * column.lanes for column in self.layout.results)
        return ((result.code,), *self.flag_lanes(result.flags), *(lanes for stage in self.stages for lanes in stage.lanes(result.stages)))

    def computed(self, values: Values) -> LevelsDot | None:
        """Return the dot product by the reference model; None where it is open."""
        row = self.taken(values)
        try:
            return None if self.has_open_bit(row) else evaluate(row, self.plan)
        except REFUSALS:
            return None

    def has_open_bit(self, row: LevelsRow) -> bool:
        """Tell whether a scale has a bit above its code whose meaning is open: the datapath refuses it, or has an open point about it."""
        return has_open_bit((*row.scale_a, *row.scale_b), self.plan)

    def engines(self) -> dict[str, Batch]:
        """Return every other implementation present; each gives d and flags."""
        table: dict[str, Batch] = {}
        for name in engines_of(self.plan):
            table[name] = lambda rows, name=name: self.batch(rows, name)  # type: ignore[misc]
        return present(table)

    def batch(self, rows: Sequence[Values], engine: str) -> list[Answer | None]:
        """Compute rows by an engine; a row with an open bit, or that is refused, is open."""
        open_row = ((OPEN,), *((OPEN,) * column.lanes for column in self.flag_column()))
        out: list[Answer | None] = [open_row] * len(rows)
        taken = [self.taken(values) for values in rows]
        known = [place for place, row in enumerate(taken) if not self.has_open_bit(row)]
        for place, found in zip(known, run_flagged([taken[place] for place in known], self.plan, engine), strict=True):
            out[place] = open_row if found is None else ((found[0],), *self.flag_lanes(found[1]))
        return out

    def trace(self, values: Values, lane: int = 0) -> Any:
        """What each level leaves, addition by addition: see explain_levels; nothing for a row that is open."""
        return explain_levels(self.taken(values), self.plan) if self.computed(values) is not None else []

    def lines(self, trace: Any) -> list[str]:
        """The trace as lines."""
        return lines_of(trace) if trace else ["open: a scale has a bit set above its code, or the datapath refuses the row"]

    def signals(self, values: Values, got: Mapping[str, int | None]) -> list[tuple[str, int, int | None]]:
        """The stages of the datapath, d last."""
        if self.computed(values) is None:
            return super().signals(values, got)
        return signals_levels(self.taken(values), self.plan)

    def described(self) -> dict[str, Any]:
        """Return the numbers of the datapath and its special rules."""
        plan, facts = self.plan, self.plan.facts
        overflow = None if facts.out.policy is not None else {"ieee": "ieee_inf"}.get(facts.out.overflow, facts.out.overflow)
        return {
            "rounding": facts.out.rounding, "overflow": overflow, "nan": facts.special.nan, "inf": "keep",
            "zero_sign": facts.special.zero, "subnormals_in": facts.subnormal.elements, "subnormals_out": facts.out.subnormals,
            "scale_signbit": signbit_word(plan),
        }  # fmt: skip

    @classmethod
    def precedence(cls, name: ContractName) -> tuple[Any, ...]:
        """Published datapaths first."""
        return (get("datapath", name.parts[0]).status in ("proposed", "inferred"), *super().precedence(name))

    def deviations(self) -> Iterator[Deviation]:
        """See emu.contracts.levels.deviations."""
        return deviations.deviations(self)

    def deviations_of_one_lane(self) -> Iterator[Deviation]:
        """See emu.contracts.levels.deviations."""
        return deviations.of_one_lane(self)

    def cover(self) -> Subject:
        """The axes of spec/coverage/levels.yaml."""
        return LevelsCover(self)

    @property
    def covered_as(self) -> str:
        """Datapaths of levels have a model of their own."""
        return "levels"


# dot on whole arrays: a, b [rows, K], scale_a, scale_b [rows, K / block], c [rows], random words [rows, words] -> d, flags [rows].


NAMES = ("a", "b", "scale_a", "scale_b", "c", "words")
STRATIFIED = 1 << 11  # rows at least


def flag_format(count: int) -> Format:
    """Return the format in which flags are told: an integer without sign, one bit each, the first flag of the report the lowest."""
    one: Format = get("format", "uint1")
    return one.model_copy(update={"id": f"{count} flags", "facts": one.facts.model_copy(update={"bits": count})})


class LevelsForm(Form):
    """a, b, scale_a, scale_b, c, words -> d, flags. words: the random words of a row.

    flags: where the datapath reports any, bit i the flag i of its report; of a kernel that answers d alone they are not compared.
    """

    operation: LevelsContract

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One result a row."""
        return dict.fromkeys(self.answers, operands["a"].shape[:1])

    def arrays(self, rows: Sequence[LevelsRow]) -> dict[str, Bits]:
        """Return rows as operands."""
        bits = max((draw.rounding.random_bits for draw in self.operation.field.draws), default=0)
        return {
            name: np.array([row[place] for row in rows], integer_dtype(self.operands[name], bits))
            for place, name in enumerate(NAMES) if name in self.operands
        }  # fmt: skip

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """A row of the suite a row."""
        yield self.arrays([self.operation.taken(case.values) for case in cases]), cases

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Drawn rows of every category."""
        names = [name for name in cases.MAKERS if cases.applies(name, self.operation.field)]
        for name in names:
            count = -(-max(asked.count or 0, STRATIFIED) // len(names))
            rows = [row for row in suite.rows(self.operation, name, count, asked.key << 20) if not self.operation.has_open_bit(row)]
            if rows:
                yield Question(self.arrays(rows), (name,))

    def rows(self, operands: Arrays) -> Iterator[LevelsRow]:
        """Yield operands row by row."""
        arrays = [operands[name].tolist() if name in operands else None for name in NAMES]
        for number in range(len(operands["a"])):
            a, b, scale_a, scale_b, random = (() if arrays[i] is None else tuple(arrays[i][number]) for i in (0, 1, 2, 3, 5))  # type: ignore[index]
            yield LevelsRow(a, b, scale_a, scale_b, None if arrays[4] is None else arrays[4][number], random)

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """What each level leaves of a row."""
        row = next(self.rows({key: array[index[0] : index[0] + 1] for key, array in operands.items()}))
        return self.operation.lines(self.operation.trace(self.operation.packed_values(row)))

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return d and flags."""
        plan, op = self.operation.plan, self.operation
        rows = list(self.rows(operands))
        known = np.array([not op.has_open_bit(row) for row in rows], bool)
        if engine != "exact":
            try:
                given = [operands.get(name) for name in NAMES]
                chosen = self.engine(operands) if engine == "auto" else engine
                raised = np.zeros(len(rows), np.uint8) if FLAGS in self.answers else None
                found, _ = run_levels(*given, plan, chosen, raised)  # type: ignore[call-arg, arg-type]
                return self._told(found, raised, known)
            except REFUSALS:
                pass

        def one(row: LevelsRow, here: bool) -> tuple[int, int]:
            try:
                made = dot(*row, plan) if here else None
            except REFUSALS:
                made = None
            return (-1, 0) if made is None else (made.code, made.flags)

        told = [one(row, bool(here)) for row, here in zip(rows, known, strict=True)]
        codes, here = masked([code for code, _ in told], plan.d)
        return self._told(codes, np.array([flags for _, flags in told], np.uint8), here)

    def _told(self, codes: Bits, flags: Bits | None, known: Bits) -> Expected:
        found = whole("d", codes, known)
        if FLAGS not in self.answers or flags is None:
            return found
        return Expected(found.arrays | {FLAGS: flags}, dict.fromkeys(self.answers, known) if found.known else {})

    def engine(self, operands: Arrays) -> str:
        """The first engine beside the reference model that does this datapath."""
        return next(iter(engines_of(self.operation.plan)), "exact")

    def any_nan(self, name: str) -> bool:
        """As the datapath says."""
        return self.operation.any_nan
