"""Deviations of a dot product: other facts of the datapath, lost or swapped lanes, scales at the wrong block, parts that are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from emu.explain.dot.rows import DotRow, answers
from emu.explain.probe.hypotheses import hypotheses
from emu.rtl.mismatch.deviations import Hypothesis
from emu.rtl.simulate.golden_rows import Golden
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.vectors.dot_rows import DotRows
from emu.vectors.files.rows import inputs_of

Operands = tuple[list[int], list[int], list[int], list[int], int]
Change = Callable[[Operands], Operands]
STAGES = {
    "align.fraction_bits": "xa, xc (alignment)", "align.rounding": "xa, xc (alignment)", "align.floor": "e (largest exponent)",
    "align.cancelled_group_counts": "lv (live terms)", "align.exponent": "e (largest exponent)", "group": "sg (group sums)",
    "step": "rs (fused steps)", "round.mode": "rs (last rounding)", "round.keep": "rs (last rounding)", "late_c": "p (C joins late)",
    "promote.scale_product": "ss (product of scales)", "promote.term": "tm (scaled term)", "promote.acc": "rs (last sum)",
    "promote.fused": "tm (scaled term)",
}  # fmt: skip


def dots(golden: Golden, ids: Sequence[int]) -> Iterator[Hypothesis]:
    """Yield the single deviations of a dot contract. ids: tcIds that will be asked for; they are computed together."""
    op = golden.plan.operation
    assert isinstance(op, DotRows)
    rows = {tc: op.taken(inputs_of(golden.layout, golden.row(tc))) for tc in ids}
    known = {tc: given for tc, given in rows.items() if not op.has_open_bit((*given[2], *given[3]))}
    for item in hypotheses([op.plan], depth=1):
        if item.changes:
            yield Hypothesis(item.text, STAGES.get(item.changes[0][0], "the datapath"), _predict(known, item.plan))
        elif item.plan.datapath.id != op.plan.datapath.id:
            yield Hypothesis(item.text, "the datapath", _predict(known, item.plan))
    for text, stage, change in _operands(op.plan):
        yield Hypothesis(text, stage, _predict(known, op.plan, change))


def _predict(
    known: dict[int, Operands], plan: DatapathPlan, change: Change = lambda given: given
) -> Callable[[int], dict[str, int] | None]:
    """Return D under another plan or on other operands; a row with an open bit, or that is refused, predicts nothing."""

    @cache
    def every() -> dict[int, int | None]:
        given = [change(row) for row in known.values()]
        rows = [DotRow(tuple(a), tuple(b), tuple(scale_a), tuple(scale_b), c) for a, b, scale_a, scale_b, c in given]
        return dict(zip(known, answers(rows, plan), strict=True))

    def predict(tc: int) -> dict[str, int] | None:
        code = every().get(tc)
        return None if code is None else {"d": code}

    return predict


def _operands(plan: DatapathPlan) -> Iterator[tuple[str, str, Change]]:
    """Yield (text, stage, change of the operands)."""
    k = plan.facts.k
    zero = 0
    yield "C is not added", "xc (addend)", lambda g: (*g[:4], zero)
    negative = derive.codes(plan.c).sign_bit
    if negative:
        yield "C has the wrong sign", "xc (addend)", lambda g: (*g[:4], g[4] ^ negative)
    for side, name in ((0, "a"), (1, "b")):
        yield f"{name}: neighbouring elements swapped (nibble order)", "packing", _at(side, lambda e: [e[i ^ 1] for i in range(len(e))])
        yield f"{name}: elements in reverse order", "packing", _at(side, lambda e: e[::-1])
    yield "a and b: neighbouring elements of both swapped, scales not", "packing", _both(lambda e: [e[i ^ 1] for i in range(len(e))])
    if plan.scale is not None:
        yield from _scales(plan)
    for lane in range(k):
        yield f"the product of element {lane} is lost", "sg (products)", _dropped(lane)
    half = k // 2
    yield f"elements {half} .. {k - 1} are lost", "sg (products)", lambda g: ([*g[0][:half], *[zero] * (k - half)], *g[1:])
    for text, fmt, sides in (("element", plan.a, (0, 1)), ("scale", plan.scale, (2, 3))):
        if fmt is not None:
            flush = _flushing(fmt)
            yield f"subnormal {text}s are read as zero", "decode", _many(sides, flush)
    flush_c = _flushing(plan.c)
    yield "a subnormal C is read as zero", "decode", lambda g: (*g[:4], flush_c([g[4]])[0])


def _scales(plan: DatapathPlan) -> Iterator[tuple[str, str, Change]]:
    assert plan.scale is not None
    one = next(code for code in range(1 << derive.codes(plan.scale).bits) if _is_one(code, plan.scale))
    yield "scales of a and b swapped", "tm (scales)", lambda g: (g[0], g[1], g[3], g[2], g[4])
    yield "the scales of a are not applied", "tm (scales)", _at(2, lambda e: [one] * len(e))
    yield "the scales of b are not applied", "tm (scales)", _at(3, lambda e: [one] * len(e))
    yield "scales in reverse order of blocks", "packing", _many((2, 3), lambda e: e[::-1])
    yield "scales of a in reverse order of blocks", "packing", _at(2, lambda e: e[::-1])
    yield "scales of b in reverse order of blocks", "packing", _at(3, lambda e: e[::-1])
    yield "every block takes the scales of block 0", "tm (scales)", _many((2, 3), lambda e: [e[0]] * len(e))
    if plan.facts.k // plan.block > 2:
        yield "scales of neighbouring blocks swapped", "packing", _many((2, 3), lambda e: [e[i ^ 1] for i in range(len(e))])


def _is_one(code: int, fmt: Format) -> bool:
    from emu.engines.exact.decode import decode_code

    value = decode_code(code, fmt)
    return value.kind == "finite" and value.signed == 1


def _at(side: int, change: Callable[[list[int]], list[int]]) -> Change:
    return _many((side,), change)


def _both(change: Callable[[list[int]], list[int]]) -> Change:
    return _many((0, 1), change)


def _many(sides: Sequence[int], change: Callable[[list[int]], list[int]]) -> Change:
    def changed(given: Operands) -> Operands:
        a, b, scale_a, scale_b = (change(part) if side in sides and part else part for side, part in enumerate(given[:4]))
        return a, b, scale_a, scale_b, given[4]

    return changed


def _dropped(lane: int) -> Change:
    return lambda given: ([0 if place == lane else code for place, code in enumerate(given[0])], *given[1:])


def _flushing(fmt: Format) -> Callable[[list[int]], list[int]]:
    from emu.rtl.portmap.rows import has_class

    sign = derive.codes(fmt).sign_bit
    return lambda codes: [code & sign if has_class(code, fmt, "subnormal") else code for code in codes]
