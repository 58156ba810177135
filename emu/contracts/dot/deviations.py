"""Deviations of a dot product: other facts of the datapath, lost or swapped lanes, scales at the wrong block, parts that are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from emu.contracts.contract import Deviation, Values
from emu.contracts.dot.rows import DotRow, answers
from emu.contracts.dot.variants import FACTS, hypotheses
from emu.contracts.rows import Answer
from emu.engines.exact.encode import code_of_one
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

if TYPE_CHECKING:
    from emu.contracts.dot.contract import DotContract

Codes = tuple[int, ...]
Change = Callable[[DotRow], DotRow]


def deviations(op: DotContract) -> Iterator[Deviation]:
    """Yield the single deviations of a dot contract: one fact of the datapath, other datapaths, and what becomes of operands."""
    for item in hypotheses([op.plan], depth=1):
        if item.changes:
            yield _deviation(op, item.text, FACTS[item.changes[0][0]]["stage"], item.plan)
        elif item.plan.datapath.id != op.plan.datapath.id:
            yield _deviation(op, item.text, "the datapath", item.plan)
    for text, stage, change in _operands(op.plan):
        yield _deviation(op, text, stage, op.plan, change)


def _deviation(op: DotContract, text: str, stage: str, plan: DatapathPlan, change: Change = lambda given: given) -> Deviation:
    """Return D under another plan or on other operands; a row with an open bit, or that is refused, has no answer."""

    def batch(rows: Sequence[Values]) -> list[Answer | None]:
        taken = [op.taken(values) for values in rows]
        known = [place for place, given in enumerate(taken) if not op.has_open_bit(given)]
        changed = [change(taken[place]) for place in known]
        out: list[Answer | None] = [None] * len(rows)
        for place, code in zip(known, answers(changed, plan), strict=True):
            out[place] = None if code is None else ((code,),)
        return out

    return Deviation(text, stage, lambda values: batch([values])[0], batch)


def _operands(plan: DatapathPlan) -> Iterator[tuple[str, str, Change]]:
    """Yield (text, stage, change of the operands)."""
    k = plan.facts.k
    yield "C is not added", "xc (addend)", lambda row: row._replace(c=0)
    negative = derive.codes(plan.c).sign_bit
    if negative:
        yield "C has the wrong sign", "xc (addend)", lambda row: row._replace(c=row.c ^ negative)
    for side, name in ((0, "a"), (1, "b")):
        yield f"{name}: neighbouring elements swapped (nibble order)", "packing", _many((side,), _swapped)
        yield f"{name}: elements in reverse order", "packing", _many((side,), lambda e: e[::-1])
    yield "a and b: neighbouring elements of both swapped, scales not", "packing", _many((0, 1), _swapped)
    if plan.scale is not None:
        yield from _scales(plan)
    for lane in range(k):
        yield f"the product of element {lane} is lost", "sg (products)", _dropped(lane)
    half = k // 2
    yield f"elements {half} .. {k - 1} are lost", "sg (products)", lambda row: row._replace(a=row.a[:half] + (0,) * (k - half))
    for text, fmt, sides in (("element", plan.a, (0, 1)), ("scale", plan.scale, (2, 3))):
        if fmt is not None:
            flush = _flushing(fmt)
            yield f"subnormal {text}s are read as zero", "decode", _many(sides, flush)
    flush_c = _flushing(plan.c)
    yield "a subnormal C is read as zero", "decode", lambda row: row._replace(c=flush_c((row.c,))[0])


def _scales(plan: DatapathPlan) -> Iterator[tuple[str, str, Change]]:
    assert plan.scale is not None
    one = code_of_one(plan.scale)
    yield "scales of a and b swapped", "tm (scales)", lambda row: row._replace(scale_a=row.scale_b, scale_b=row.scale_a)
    yield "the scales of a are not applied", "tm (scales)", _many((2,), lambda e: (one,) * len(e))
    yield "the scales of b are not applied", "tm (scales)", _many((3,), lambda e: (one,) * len(e))
    yield "scales in reverse order of blocks", "packing", _many((2, 3), lambda e: e[::-1])
    yield "scales of a in reverse order of blocks", "packing", _many((2,), lambda e: e[::-1])
    yield "scales of b in reverse order of blocks", "packing", _many((3,), lambda e: e[::-1])
    yield "every block takes the scales of block 0", "tm (scales)", _many((2, 3), lambda e: e[:1] * len(e))
    if plan.facts.k // plan.block > 2:
        yield "scales of neighbouring blocks swapped", "packing", _many((2, 3), _swapped)


def _swapped(codes: Codes) -> Codes:
    return tuple(codes[place ^ 1] for place in range(len(codes)))


def _many(sides: Sequence[int], change: Callable[[Codes], Codes]) -> Change:
    def changed(row: DotRow) -> DotRow:
        a, b, scale_a, scale_b = (change(part) if side in sides and part else part for side, part in enumerate(row[:4]))
        return DotRow(a, b, scale_a, scale_b, row.c)

    return changed


def _dropped(lane: int) -> Change:
    return lambda row: row._replace(a=tuple(0 if place == lane else code for place, code in enumerate(row.a)))


def _flushing(fmt: Format) -> Callable[[Codes], Codes]:
    """Return a change of codes: subnormal ones become zero."""
    known, facts = derive.codes(fmt), fmt.facts
    if not isinstance(facts, FloatFacts) or facts.subnormals != "yes":
        return lambda codes: codes
    top = 1 << facts.frac_bits
    return lambda codes: tuple(
        code & known.sign_bit if not code >> known.bits and 0 < code & ~known.sign_bit < top else code for code in codes
    )
