"""Deviations that any design may have: outputs of a neighbouring row, lanes in another order, bits stuck, mirrored or constant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from emu.contracts.columns import Column
from emu.contracts.rows import inputs_of, pack, unpack, value_of
from emu.rtl.mismatch.deviations import Hypothesis, packed_answer
from emu.rtl.mismatch.golden_rows import Case, Golden
from emu.spec.registry import get
from emu.vectors.suites.plan import families, plans_of

NEAR = 8  # rows before and after
MOST_STUCK = 64  # bits of a column that is tried bit by bit

Change = Callable[[Column, int], int]


def plain(golden: Golden, bad: Sequence[Case]) -> Iterator[Hypothesis]:
    """Yield the deviations of any operation. bad: the rows that differ."""
    outs = [column for column in golden.layout.results if column.role == "out"]
    for off in (sign * step for step in range(1, NEAR + 1) for sign in (-1, 1)):
        when = f"{abs(off)} row{'s' if abs(off) > 1 else ''} {'before' if off < 0 else 'after'}"
        yield Hypothesis(f"the outputs are those of {when}: latency, order or a lost row", "timing", _neighbour(golden, off))
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


def _bits(golden: Golden, outs: Sequence[Column]) -> Iterator[Hypothesis]:
    for column in outs:
        yield _edited(golden, f"{column.name}: bits in reverse order", "packing", column, lambda c, v: int(f"{v:0{c.bits}b}"[::-1], 2))
        if column.format is not None:
            for what, change in (("the sign is lost", _unsigned), ("the sign is inverted", _negated)):
                yield _edited(golden, f"{column.name}: {what}", "encode", column, change)
        for bit in range(column.bits if column.bits <= MOST_STUCK else 0):
            yield _edited(golden, f"{column.name}: bit {bit} is always 0", "output", column, lambda _, v, b=bit: v & ~(1 << b))  # type: ignore[misc]
            yield _edited(golden, f"{column.name}: bit {bit} is always 1", "output", column, lambda _, v, b=bit: v | 1 << b)  # type: ignore[misc]
            yield _edited(golden, f"{column.name}: bit {bit} is inverted", "output", column, lambda _, v, b=bit: v ^ 1 << b)  # type: ignore[misc]


def outputs(golden: Golden, tc: int) -> dict[str, int]:
    """Return the expected outputs of a row, output columns only."""
    row = golden.row(tc)
    return {column.name: value_of(golden.layout, row, column.name) for column in golden.layout.results if column.role == "out"}


def _neighbour(golden: Golden, off: int) -> Callable[[int], dict[str, int] | None]:
    return lambda tc: outputs(golden, tc + off) if 1 <= tc + off <= golden.size else None


def _edited(golden: Golden, text: str, stage: str, column: Column, change: Change) -> Hypothesis:
    def predict(tc: int) -> dict[str, int] | None:
        out = outputs(golden, tc)
        return out | {column.name: change(column, out[column.name]) & ((1 << column.bits) - 1)}

    return Hypothesis(text, stage, predict)


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
    """Yield packed inputs read in another order: the reference model on the changed row."""
    columns = golden.layout.inputs
    for place, column in enumerate(columns):
        if column.lanes < 2:
            continue
        for text, change in (("lanes in reverse order", _reversed), ("neighbouring lanes swapped (nibble order)", _swapped)):
            yield Hypothesis(f"{column.name} is read with {text}", "packing", _with_input(golden, place, column, change))


def _with_input(golden: Golden, place: int, column: Column, change: Change) -> Callable[[int], dict[str, int] | None]:
    def predict(tc: int) -> dict[str, int] | None:
        values = list(inputs_of(golden.layout, golden.row(tc)))
        values[place] = change(column, values[place])
        return packed_answer(golden.layout, golden.plan.operation.exact(tuple(values)))

    return predict


def other_contracts(golden: Golden, close: bool) -> Iterator[Hypothesis]:
    """Yield other documented contracts with the same columns. close: those that differ in one name of the contract, else the others."""
    mine = golden.plan.operation
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
                also = f" (or {', '.join(aliases[:3])}{' ...' if len(aliases) > 3 else ''})" if aliases else ""
                stage = _stage_of(contract.parts, mine.name.parts, contract.op)
                yield Hypothesis(f"contract {contract}{also}", stage, _by_operation(golden, other))
                break


def _stage_of(parts: Sequence[str], mine: Sequence[str], op: str) -> str:
    if op != "convert":
        return "the operation as a whole"
    policies = [get("policy", name[2]).id for name in (parts, mine)]
    return "round" if policies[0] == policies[1] else "specials or overflow" if parts[1] == mine[1] else "round, and specials or overflow"


def _by_operation(golden: Golden, operation: object) -> Callable[[int], dict[str, int] | None]:
    exact, layout = operation.exact, operation.layout  # type: ignore[attr-defined]
    return lambda tc: packed_answer(layout, exact(inputs_of(golden.layout, golden.row(tc))))
