"""Deviations that any design may have: bits of its ports stuck or mirrored, fields one off, lanes in another order, rows out of step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice

from emu.contracts.columns import Column
from emu.contracts.contract import Batch, Contract, Values
from emu.contracts.convert.contract import ConvertContract
from emu.contracts.rows import Answer, pack, unpack, value_of
from emu.contracts.wires import Edit, edits
from emu.rtl.mismatch.deviations import Hypothesis, Outputs, one_by_one
from emu.rtl.mismatch.golden_rows import Case, Golden
from emu.spec import derive
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get
from emu.vectors.suites.plan import families, plans_of

NEAR = 8  # rows before and after
MOST_STUCK = 64  # bits of a column that is tried bit by bit
WIDEST_LANE = 64
QUICKLY = ("quantize", "dequantize", "transform")  # operations that an engine on arrays answers much sooner than the reference model

Change = Callable[[Column, int], int]


def plain(golden: Golden, bad: Sequence[Case]) -> Iterator[Hypothesis]:
    """Yield the deviations of any operation. bad: the rows that differ."""
    outs = [column for column in golden.layout.results if column.role == "out"]
    for column in outs:
        if column.lanes > 1:
            yield _edited(golden, f"{column.name}: lanes in reverse order", "packing", column, _reversed)
            yield _edited(golden, f"{column.name}: neighbouring lanes swapped (nibble order)", "packing", column, _swapped)
    yield from _bits(golden, outs)
    for column in outs:
        values = {case.got.get(column.name) for case in bad}
        if len(values) == 1 and len(bad) > 2 and None not in values:
            (value,) = values
            assert value is not None
            text = f"{column.name} is always {value:0{column.digits}x}"
            yield _edited(golden, text, "output", column, lambda _, __, value=value: value)  # type: ignore[misc]


def neighbours(golden: Golden) -> Iterator[Hypothesis]:
    """Yield what a design with state may do: give the outputs of a row before or after."""
    for off in (sign * step for step in range(1, NEAR + 1) for sign in (-1, 1)):
        when = f"{abs(off)} row{'s' if abs(off) > 1 else ''} {'before' if off < 0 else 'after'}"
        text = f"the outputs are those of {when}: latency, order or a lost row"
        yield Hypothesis(text, "timing", predict=_neighbour(golden, off))


def _bits(golden: Golden, outs: Sequence[Column]) -> Iterator[Hypothesis]:
    for column in outs:
        yield _edited(golden, f"{column.name}: bits in reverse order", "packing", column, lambda c, v: int(f"{v:0{c.bits}b}"[::-1], 2))
        if column.format is not None:
            for what, change in (("the sign is lost", _unsigned), ("the sign is inverted", _negated)):
                yield _edited(golden, f"{column.name}: {what}", "encode", column, change)
        for edit in edits(column.bits, deep=0) if column.bits <= MOST_STUCK else ():
            yield _edited(golden, edit.words(column.name), "output", column, lambda c, v, edit=edit: edit(v, c.bits))  # type: ignore[misc]
        yield from _lanes(golden, column)


def _lanes(golden: Golden, column: Column) -> Iterator[Hypothesis]:
    """Every lane of an output edited alike, and the fields of a float in it."""
    if column.lane_bits > WIDEST_LANE:
        return
    where = f"{column.name}, every lane" if column.lanes > 1 else column.name
    for edit in edits(column.lane_bits) if column.lanes > 1 else ():
        yield _edited(golden, edit.words(where), "output", column, _each_lane(edit, 0, column.lane_bits))
    facts = get("format", column.format).facts if column.format is not None else None
    if isinstance(facts, FloatFacts):
        for name, low, bits in (("fraction field", 0, facts.frac_bits), ("exponent field", facts.frac_bits, facts.exp_bits)):
            for edit in edits(bits, deep=bits if name[0] == "f" else 4) if bits else ():
                yield _edited(golden, edit.words(f"{where}: {name}"), "encode", column, _each_lane(edit, low, bits))


def _each_lane(edit: Edit, low: int, bits: int) -> Change:
    ones = ((1 << bits) - 1) << low

    def change(column: Column, value: int) -> int:
        return pack([lane & ~ones | edit(lane >> low & ones >> low, bits) << low for lane in unpack(value, column)], column.lane_bits)

    return change


def outputs(golden: Golden, tc: int) -> Outputs:
    """Return the expected outputs of a row, output columns only."""
    row = golden.printed.get(tc) or golden.row(tc)
    return {column.name: value_of(golden.layout, row, column.name) for column in golden.layout.results if column.role == "out"}


def _neighbour(golden: Golden, off: int) -> Callable[[int], Outputs | None]:
    return lambda tc: outputs(golden, tc + off) if 1 <= tc + off <= golden.size else None


def _edited(golden: Golden, text: str, stage: str, column: Column, change: Change) -> Hypothesis:
    """Return a machine that is right but for one output column; lanes that nobody knows stay unknown."""
    outs = [each for each in golden.layout.results if each.role == "out"]
    place = outs.index(column)

    def answers(rows: Sequence[Values]) -> list[Answer | None]:
        out: list[Answer | None] = []
        for values in rows:
            right = golden.answer(values)[: len(outs)]
            lanes = unpack(
                change(column, pack([max(code, 0) for code in right[place]], column.lane_bits)) & ((1 << column.bits) - 1), column
            )
            known = tuple(code if lane >= 0 else lane for code, lane in zip(lanes, right[place], strict=True))
            out.append((*right[:place], known, *right[place + 1 :]))
        return out

    return Hypothesis(text, stage, answers)


def _reversed(column: Column, value: int) -> int:
    return pack(unpack(value, column)[::-1], column.lane_bits)


def _swapped(column: Column, value: int) -> int:
    lanes = unpack(value, column)
    return pack([lanes[place ^ 1] if place ^ 1 < len(lanes) else lane for place, lane in enumerate(lanes)], column.lane_bits)


def _unsigned(column: Column, value: int) -> int:
    return pack([lane & ~(1 << (column.lane_bits - 1)) for lane in unpack(value, column)], column.lane_bits)


def _negated(column: Column, value: int) -> int:
    return pack([lane ^ 1 << (column.lane_bits - 1) for lane in unpack(value, column)], column.lane_bits)


def inputs_changed(golden: Golden) -> Iterator[Hypothesis]:
    """Yield packed inputs read in another order, and inputs with bits that do not move: the reference model on the changed row."""
    op = golden.plan.operation
    for place, column in enumerate(golden.layout.inputs):
        where = f"{column.name}, every lane" if column.lanes > 1 else column.name
        if column.lanes > 1:
            for text, change in (("lanes in reverse order", _reversed), ("neighbouring lanes swapped (nibble order)", _swapped)):
                yield Hypothesis(f"{column.name} is read with {text}", "packing", with_input(op, place, column, change))
        for edit in edits(column.lane_bits, deep=8) if column.lane_bits <= WIDEST_LANE and op.name.op not in ("dot", "accumulate") else ():
            yield Hypothesis(f"as if {edit.words(where)}", "decode", with_input(op, place, column, _each_lane(edit, 0, column.lane_bits)))
        facts = get("format", column.format).facts if column.format is not None else None
        if isinstance(facts, FloatFacts) and op.name.op not in ("dot", "accumulate"):
            for edit in edits(facts.exp_bits):
                moved = _each_lane(edit, facts.frac_bits, facts.exp_bits)
                yield Hypothesis(f"as if {edit.words(f'{where}: exponent field')}", "decode", with_input(op, place, column, moved))


def one_lane(golden: Golden) -> Iterator[Hypothesis]:
    """Yield inputs and outputs of which one lane has a bit that does not move, or is edited alone."""
    op = golden.plan.operation
    for column in golden.layout.results:
        if column.role == "out" and column.lanes > 1 and column.lane_bits <= WIDEST_LANE:
            for lane in range(column.lanes):
                for edit in edits(column.lane_bits):
                    text = edit.words(f"{column.name}, lane {lane}")
                    yield _edited(golden, text, "output", column, partial(_one_lane, lane, edit))
    for place, column in enumerate(golden.layout.inputs):
        if column.lanes > 1 and column.lane_bits <= WIDEST_LANE and op.name.op not in ("dot", "accumulate"):
            for lane in range(column.lanes):
                for edit in islice(edits(column.lane_bits, deep=4), 200):
                    text = f"as if {edit.words(f'{column.name}, lane {lane}')}"
                    yield Hypothesis(text, "decode", with_input(op, place, column, partial(_one_lane, lane, edit)))


def _one_lane(lane: int, edit: Edit, column: Column, value: int) -> int:
    return pack([edit(code, column.lane_bits) if at == lane else code for at, code in enumerate(unpack(value, column))], column.lane_bits)


def with_input(op: Contract, place: int, column: Column, change: Change) -> Batch:
    """Return the answers to rows one of whose inputs is read otherwise, by a quick engine where one is there."""
    quick = next(iter(op.engines().values()), None) if op.name.op in QUICKLY else None

    def answers(rows: Sequence[Values]) -> list[Answer | None]:
        changed = [(*values[:place], change(column, values[place]), *values[place + 1 :]) for values in rows]
        return one_by_one(op.exact)(changed) if quick is None else quick(changed)

    return answers


def other_contracts(golden: Golden, close: bool) -> Iterator[Hypothesis]:
    """Yield other documented contracts with the same columns, one of those that are one machine.

    close: those that differ in one name of the contract, else the others.
    """
    mine = golden.plan.operation
    listed: set[object] = set()
    ports = [(column.name, column.bits) for column in golden.layout.columns if column.role in ("in", "r", "out")]
    for contract, aliases in families().items():
        if contract.op != mine.name.op or contract == mine.name:
            continue
        apart = abs(len(contract.parts) - len(mine.name.parts))
        apart += sum(x != y for x, y in zip(contract.parts, mine.name.parts, strict=False))
        if (apart == 1) != close or (contract.op == "convert" and contract.parts[0] != mine.name.parts[0]):
            continue
        for plan in plans_of(contract, aliases):
            other = plan.operation
            same = [(column.name, column.bits) for column in other.layout.columns if column.role in ("in", "r", "out")] == ports
            if same and (other.src, other.dst) == (mine.src, mine.dst):
                if _machine(other) in listed:
                    break
                listed.add(_machine(other))
                also = f" (or {', '.join(aliases[:3])}{' ...' if len(aliases) > 3 else ''})" if aliases else ""
                stage = _stage_of(contract.parts, mine.name.parts, contract.op)
                yield Hypothesis(f"contract {contract}{also}", stage, _by_operation(other))
                break


def _machine(operation: Contract) -> object:
    """Return what is equal for conversions that differ in one fact alone, and no row asks it: what a saturating one does beyond its end."""
    if not isinstance(operation, ConvertContract) or derive.asks_beyond(operation.entry.overflow):
        return str(operation.name)
    target, _, policy = operation.name.parts
    return target, policy, derive.within_range(operation.rounding)


def _stage_of(parts: Sequence[str], mine: Sequence[str], op: str) -> str:
    if op != "convert":
        return "the operation as a whole"
    policies = [get("policy", name[2]).id for name in (parts, mine)]
    return "round" if policies[0] == policies[1] else "specials or overflow" if parts[1] == mine[1] else "round, and specials or overflow"


def _by_operation(operation: Contract) -> Batch:
    """Return the outputs of another contract; its stages have names of their own."""
    outs = sum(column.role == "out" for column in operation.layout.results)
    return one_by_one(lambda values: operation.exact(values)[:outs])
