"""dot and accumulate: element codes, block scales and C -> the result of a datapath, with every stage of every fused step.

A dot row is one instruction. Rows of accumulate form chains: D of a row is C of the next; where a register accumulates, the stage `acc` is
handed on instead, and D is only there in the last row. Every row stands alone: it holds the state it starts from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import OpenError
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, present, stored_bits
from emu.contracts.dot import cases as categories
from emu.contracts.dot import deviations, suite
from emu.contracts.dot.cases_ends import has_open_bit, signbit_word, size_of
from emu.contracts.dot.codes import Codes
from emu.contracts.dot.cover import DotCover
from emu.contracts.dot.levels import replay_levels
from emu.contracts.dot.rows import DotRow, arrays_of, evaluate
from emu.contracts.dot.trace import explain_dot, signals_dot
from emu.contracts.dot.trace_text import lines_of
from emu.contracts.examples import compare, parse_value, split
from emu.contracts.form import Arrays, Asked, Bits, Expected, Form, Question, Shape, chosen_engine, integer_dtype, masked, whole
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.rows import Answer, Input, pack, unpack
from emu.engines.datapath import run_dot
from emu.engines.exact.datapath import Dot, dot
from emu.engines.exact.datapath_stages import Stage, fixed_lsb_exp, stage_codes, stage_columns
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.table import DOT_ENGINES
from emu.spec import derive
from emu.spec.contract import ContractName, plan_of
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve
from emu.spec.derive import OPEN
from emu.spec.models import Datapath, Format, SpecObject
from emu.spec.models.datapath import ValueExample, WidthExample
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

MOST_COLUMNS = 8  # a stage of more terms than this is one column of as many lanes


@dataclass(frozen=True, eq=False)
class DotContract(Contract):
    """dot/<datapath>: one instruction a row. chains: are rows parts of chains."""

    plan: DatapathPlan
    chains: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = ("datapath",)
    chooser: ClassVar[Any] = suite
    smoke = 18
    neighbours = False

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self | LevelsContract:
        """Return the contract of a name; nothing is left open. A datapath of levels has a contract of its own."""
        if isinstance(get("datapath", name.parts[0]).facts, DatapathLevels):
            return LevelsContract.of(name, given)
        plan = plan_of(name)
        source = f"{plan.a.id}x{plan.b.id}" + (f"_{plan.scale.id}" if plan.scale is not None else "")
        part = plan.datapath.id + (f"_b{plan.block}" if len(plan.facts.scale.blocks) > 1 else "")
        return cls(name, source, plan.d.id, part, plan)

    @classmethod
    def precedence(cls, name: ContractName) -> tuple[Any, ...]:
        """Published datapaths first."""
        return (get("datapath", name.parts[0]).status in ("proposed", "inferred"), *super().precedence(name))

    @property
    def any_nan(self) -> bool:
        """Tell whether a NaN result may have any payload."""
        return self.plan.facts.special.nan == "any"

    @lazy
    def stages(self) -> list[Stage]:
        """The stages of every fused step."""
        return stage_columns(self.plan, self.plan.facts.k // self.plan.step)

    @lazy
    def blocks(self) -> int:
        """Blocks with scales of their own; 0 without scales."""
        return self.plan.facts.k // self.plan.block if self.plan.block else 0

    @lazy
    def layout(self) -> Layout:
        """a sa b sb c -> d and the stages u<step>_<stage>; sa and sb are absent without scales."""
        return layout_of([*self.inputs(), *self.outputs()])

    def inputs(self) -> list[Column]:
        """Return the columns that a bench drives."""
        plan, k = self.plan, self.plan.facts.k
        out = []
        for name, fmt in (("a", plan.a), ("b", plan.b)):
            out.append(Column(name, "in", k * stored_bits(fmt), fmt.id, k))
            if plan.scale is not None:
                out.append(Column(f"s{name}", "in", self.blocks * stored_bits(plan.scale), plan.scale.id, self.blocks))
        return [*out, Column("c", "in", stored_bits(plan.c), plan.c.id)]

    def outputs(self) -> list[Column]:
        """Return the columns that a bench compares."""
        result = Column("d", "out", stored_bits(self.plan.d), self.plan.d.id, any_nan=self.any_nan)
        return [result, *_stage_columns(self.stages, self.plan.d)]

    def taken(self, values: Values) -> DotRow:
        """Return the operands of a row."""
        found = {column.name: unpack(value, column) for column, value in zip(self.layout.inputs, values, strict=True)}
        return DotRow(found["a"], found["b"], found.get("sa", ()), found.get("sb", ()), found["c"][0])

    def form(self, result: Format) -> Form:
        """a, b, scale_a, scale_b, c -> d."""
        plan = self.plan
        scales: dict[str, Format | None] = {} if plan.scale is None else {"scale_a": plan.scale, "scale_b": plan.scale}
        return DotForm(self, {"a": plan.a, "b": plan.b, **scales, "c": plan.c}, {"d": plan.d})

    def exact(self, values: Values) -> Answer:
        """Return d and the stages; OPEN for all of a row with an open bit, for the stages that NaN or infinity decided."""
        result = self.computed(values)
        if result is None:
            return tuple((OPEN,) * column.lanes for column in self.layout.results)
        return ((result.code,), *self.stage_lanes(result))

    def computed(self, values: Values) -> Dot | None:
        """Return the dot product by the reference model; None where it is open."""
        row = self.taken(values)
        try:
            return None if self.has_open_bit(row) else evaluate(row, self.plan)
        except OpenError:
            return None

    def narrow_events(self, values: Values) -> set[tuple[str, ...]] | None:
        """Return what each step's result shows of the result's format: its size, what the rounding loses, where it goes, its sign."""
        found = self.computed(values)
        if found is None:
            return None
        cover, codes, out = DotCover(self), Codes(self.plan.d), set[tuple[str, ...]]()
        for step in found.steps:
            code = found.code if step is found.steps[-1] else step.code
            result, *points = cover.step_points(step, code, special=True)
            rounding = next((tuple(point[axis] for axis in ("lost", "move")) for point in points if "lost" in point), ())
            if step.special is None:
                out.add((size_of(code, codes), *rounding, result["sign"]))
        return out

    def has_open_bit(self, row: DotRow) -> bool:
        """Tell whether a scale has a bit above its code whose meaning is open: the datapath refuses it, or has an open point about it."""
        return has_open_bit((*row.scale_a, *row.scale_b), self.plan)

    def stage_lanes(self, result: Dot) -> list[tuple[int, ...]]:
        """Return the lanes of every stage column."""
        found: dict[str, int] = {}
        for number, step in enumerate(result.steps):
            if step.special is None:
                found |= stage_codes(step, number, self.plan)
        out = []
        for column in self.layout.results:
            if column.role == "stage":
                names = [f"{column.name}{lane}" for lane in range(column.lanes)] if column.lanes > 1 else [column.name]
                out.append(tuple(found.get(name, OPEN) for name in names))
        return out

    def engines(self) -> dict[str, Batch]:
        """Return every other implementation present; each gives d alone."""
        table: dict[str, Batch] = {}
        for name, engine in dot_engines(self.plan).items():
            table[name] = lambda rows, engine=engine: self.batch(rows, engine)  # type: ignore[misc]
        return present(table)

    def batch(self, rows: Sequence[Values], engine: Callable[..., Any]) -> list[Answer | None]:
        """Compute rows through an array column; a row with an open bit is open."""
        out: list[Answer | None] = [((OPEN,),)] * len(rows)
        cases = [self.taken(values) for values in rows]
        known = [place for place, case in enumerate(cases) if not self.has_open_bit(case)]
        if known:
            found = np.asarray(engine(*arrays_of([cases[place] for place in known], self.plan), self.plan)).tolist()
            for place, code in zip(known, found, strict=True):
                out[place] = ((int(code),),)
        return out

    def trace(self, values: Values, lane: int = 0) -> Any:
        """Every stage of every fused step: see explain_dot; no stages for a row that is open."""
        return explain_dot(self.taken(values), self.plan) if self.computed(values) is not None else []

    def lines(self, trace: Any) -> list[str]:
        """The trace as lines."""
        return lines_of(trace) if trace else ["open: a scale has a bit set above its code, or the datapath refuses the row"]

    def signals(self, values: Values, got: Mapping[str, int | None]) -> list[tuple[str, int, int | None]]:
        """The stages of the datapath, d last."""
        return signals_dot(self.taken(values), self.plan) if self.computed(values) is not None else super().signals(values, got)

    def deviations(self) -> Iterator[Deviation]:
        """See emu.contracts.dot.deviations."""
        return deviations.deviations(self)

    def deviations_of_one_lane(self) -> Iterator[Deviation]:
        """See emu.contracts.dot.deviations."""
        return deviations.of_one_lane(self)

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """Return None where a worked example of a datapath holds, else what came out instead."""
        assert isinstance(thing, Datapath)
        if isinstance(thing.facts, DatapathLevels):
            return replay_levels(thing, example)
        if isinstance(example, WidthExample):
            plan = resolve(thing, example.a, example.b, example.scale or _first(thing, "formats"), _first(thing, "blocks"))
            wanted = example.model_dump(exclude_none=True, exclude={"a", "b", "scale"})
            names = {"fraction_bits": "frac_bits"}
            wrong = [key for key, value in wanted.items() if getattr(plan, names.get(key, key)) != value]
            return f"{wrong[0]} is {getattr(plan, names.get(wrong[0], wrong[0]))}, not {wanted[wrong[0]]}" if wrong else None
        if isinstance(example, ValueExample):
            return _equal_elements(thing, example)
        plan = resolve(thing, example.a_format, example.b_format, example.scale_format, example.block)
        first, second = (split(text, plan.scale) if text is not None and plan.scale else [] for text in (example.scale_a, example.scale_b))
        found = dot(split(example.a, plan.a), split(example.b, plan.b), first, second, int(example.c or "0x0", 16), plan).code
        return None if found == int(example.d, 16) else f"{found:#x}, not {example.d}"

    def cover(self) -> DotCover:
        """The axes of spec/coverage/dot.yaml."""
        return DotCover(self)

    def described(self) -> dict[str, Any]:
        """Return the numbers of the datapath and its special rules."""
        plan, facts = self.plan, self.plan.facts
        epilogue = facts.epilogue
        return {
            "rounding": facts.round.mode, "overflow": facts.round.overflow, "nan": facts.special.nan, "inf": "keep",
            "zero_sign": facts.special.zero, "subnormals_in": "keep" if facts.subnormal.elements == "keep" else "flush",
            "subnormals_out": facts.subnormal.result,
            "scale_signbit": signbit_word(plan),
            "datapath": {
                "step": plan.step, "split": facts.split, "F": plan.frac_bits, "I": plan.integer_bits, "floor": plan.floor,
                "lsb_exp": fixed_lsb_exp(plan), "c_place": None if isinstance(epilogue, str) else epilogue.c_place,
            },
        }  # fmt: skip

    def packed_values(self, row: DotRow, **more: Sequence[int]) -> Values:
        """Return the input values of a row, one integer a column. more: columns beyond those of dot."""
        named: dict[str, Sequence[int]] = {"a": row.a, "b": row.b, "sa": row.scale_a, "sb": row.scale_b, "c": [row.c], **more}
        return tuple(pack(named[column.name], column.lane_bits) for column in self.layout.inputs)


def _stage_columns(stages: Sequence[Stage], result: Format) -> list[Column]:
    """Return the columns of stages; runs of more than MOST_COLUMNS terms as one column of lanes."""
    out: list[Column] = []
    runs: dict[str, list[Stage]] = {}
    for stage in stages:
        runs.setdefault(stage.name.rstrip("0123456789"), []).append(stage)
    for stage in stages:
        head = stage.name.rstrip("0123456789")
        run = runs[head]
        if len(run) <= MOST_COLUMNS:
            code = not stage.signed and not stage.name.endswith("lv")
            out.append(Column(stage.name, "stage", stage.bits, result.id if code else None))
        elif stage is run[0]:
            out.append(Column(head, "stage", len(run) * stage.bits, None, len(run), "lane i is term i, two's complement"))
    return out


# The engines that derive rows of dot products again beside the reference model, where they are present; all have one interface.


DERIVING: Final = ("numpy", "c_ref", "native")


def dot_engines(plan: DatapathPlan) -> dict[str, Callable[..., Any]]:
    """Return engine -> dot(a, b, scale_a, scale_b, c, plan) of those that can do a plan."""
    found: dict[str, Callable[..., Any]] = {}
    for name in DERIVING:
        try:
            module = import_module(DOT_ENGINES[name])
        except ImportError:  # not built
            continue
        if module.can_dot(plan):
            found[name] = module.dot
    return found


# Worked examples of datapaths: widths of a plan, equal elements under every choice of operands, and whole rows, by the exact engine.


def _first(datapath: Datapath, key: str) -> Any:
    offered = getattr(known_facts(datapath).scale, key)
    return offered[0] if offered else None


def _equal_elements(datapath: Datapath, example: ValueExample) -> str | None:
    """Every choice of operands that the datapath takes must give the value, with scales 1 and C = 0."""
    facts = known_facts(datapath)
    for a, b in pairs(facts):
        plan = resolve(datapath, a, b, _first(datapath, "formats"), _first(datapath, "blocks"))
        first, second = (encode_value(parse_value(text), fmt) for text, fmt in ((example.every_a, plan.a), (example.every_b, plan.b)))
        ones = [encode_value(parse_value("1"), plan.scale)] * (facts.k // plan.block) if plan.scale else []
        fault = compare(decode_code(dot([first] * facts.k, [second] * facts.k, ones, ones, 0, plan).code, plan.d), example.d)
        if fault:
            return f"{a} x {b}: {fault}"
    return None


# dot on whole arrays: a, b [rows, K], scale_a, scale_b [rows, K / block], c [rows] -> d [rows].


NAMES = ("a", "b", "scale_a", "scale_b", "c")
STRATIFIED: Final = 1 << 12  # rows at least


class DotForm(Form):
    """a, b, scale_a, scale_b, c -> d."""

    operation: DotContract

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """One result a row."""
        return {"d": operands["a"].shape[:1]}

    def stacked(self, cases: Sequence[Input]) -> Iterator[tuple[dict[str, Bits], Sequence[Input]]]:
        """An instruction a row."""
        taken = [self.operation.taken(case.values) for case in cases]
        yield {
            name: np.array([case[place] for case in taken], integer_dtype(self.operands[name]))
            for place, name in enumerate(NAMES) if name in self.operands
        }, cases  # fmt: skip

    def stratified(self, asked: Asked) -> Iterator[Question]:
        """Drawn rows of every category."""
        plan = self.operation.plan
        names = [name for name in categories.MAKERS if categories.applies(name, plan) and name not in ("scale_signbit", "chain")]
        for name in names:
            rows = categories.rows(name, plan, -(-max(asked.count or 0, STRATIFIED) // len(names)), asked.key << 20)
            if rows:
                yield Question({
                    operand: np.array([row[place] for row in rows], integer_dtype(self.operands[operand]))
                    for place, operand in enumerate(NAMES) if operand in self.operands
                }, (name,))  # fmt: skip

    def steps(self, operands: Arrays, index: tuple[int, ...], name: str = "", profile: str | None = None) -> list[str]:
        """The stages of every fused step of a row, of any length."""
        (row,) = index
        a, b, scale_a, scale_b = (tuple(operands[name][row].tolist()) if name in operands else () for name in NAMES[:4])
        return lines_of(explain_dot(DotRow(a, b, scale_a, scale_b, int(operands["c"][row])), self.operation.plan))

    def expect(self, operands: Arrays, engine: str, result: Format, profile: str | None = None, values: bool = False) -> Expected:
        """Return d."""
        plan = self.operation.plan
        arrays = [operands.get(name) for name in NAMES]
        known: Bits = np.ones(len(operands["a"]), bool)
        if plan.scale is not None:  # a bit above a scale's code is open, also where a model ignores it
            known = np.logical_not(((operands["scale_a"] | operands["scale_b"]) >> derive.codes(plan.scale).bits).any(axis=1))
        if engine != "exact":
            try:
                return whole("d", run_dot(*arrays, plan, engine), known)  # type: ignore[call-arg, arg-type]
            except OpenError:
                pass

        def one(row: int) -> int:
            a, b, scale_a, scale_b = ([] if array is None else array[row].tolist() for array in arrays[:4])
            try:
                return dot(a, b, scale_a, scale_b, int(operands["c"][row]), plan).code if known[row] else -1
            except OpenError:
                return -1

        return whole("d", *masked([one(row) for row in range(len(operands["a"]))], plan.d))

    def engine(self, operands: Arrays) -> str:
        """The engine that does this datapath."""
        return chosen_engine(self.op, (self.operation.plan,))

    def any_nan(self, name: str) -> bool:
        """As the datapath says."""
        return self.operation.any_nan
