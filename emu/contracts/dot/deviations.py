"""Deviations of a dot product: other facts of the datapath, lost or swapped lanes, scales at the wrong block, parts that are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from emu.base.errors import EmuError
from emu.contracts.contract import Deviation, Values
from emu.contracts.dot.rows import DotRow, answer, answers
from emu.contracts.dot.variants import FACTS, changed, hypotheses
from emu.contracts.dot.wires import has_wires, wires, wires_of_one_lane
from emu.contracts.rows import Answer
from emu.contracts.wires import Edit, edits, other_readings
from emu.engines.exact.encode import code_of_one
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

if TYPE_CHECKING:
    from emu.contracts.dot.contract import DotContract

Codes = tuple[int, ...]
Change = Callable[[DotRow], DotRow]
Result = Callable[[DotRow, int], int]


def deviations(op: DotContract) -> Iterator[Deviation]:
    """Yield the single deviations of a dot contract: one fact of the datapath, other datapaths, and what becomes of operands."""
    asked: set[tuple[str, Any]] = set()
    for item in hypotheses([op.plan], depth=1):
        asked.update(item.changes)
        if item.changes:
            yield _deviation(op, item.text, FACTS[item.changes[0][0]]["stage"], item.plan)
        elif item.plan.datapath.id != op.plan.datapath.id:
            yield _deviation(op, item.text, "the datapath", item.plan)
    yield from _more_facts(op, asked)
    yield from _other_operands(op)
    for text, stage, change in _operands(op.plan):
        yield _deviation(op, text, stage, op.plan, change)
    for text, stage, result in _results(op.plan):
        yield _deviation(op, text, stage, op.plan, result=result)
    if has_wires(op.plan):
        for text, stage, answer in wires(op.plan):
            yield _on_wires(op, text, stage, answer)


def of_one_lane(op: DotContract) -> Iterator[Deviation]:
    """Yield what one lane may do otherwise."""
    for text, stage, change in _one_code(op.plan):
        yield _deviation(op, text, stage, op.plan, change)
    if has_wires(op.plan):
        for text, stage, answer in wires_of_one_lane(op.plan):
            yield _on_wires(op, text, stage, answer)


def _on_wires(op: DotContract, text: str, stage: str, answer: Callable[[DotRow], int]) -> Deviation:
    def given(values: Values) -> Answer | None:
        row = op.taken(values)
        return None if op.has_open_bit(row) else ((answer(row),),)

    return Deviation(text, stage, given)


WIDER = 12  # fraction bits that an alignment is tried with fewer of


def _more_facts(op: DotContract, asked: set[tuple[str, Any]]) -> Iterator[Deviation]:
    """Facts that a probe does not ask for: many widths, subnormals, special values, roundings, a narrow adder. asked: those it asks for."""
    plan, facts = op.plan, op.plan.facts
    found: list[tuple[str, Any]] = []
    if plan.frac_bits is not None:
        found += [("align.fraction_bits", plan.frac_bits - less) for less in range(4, WIDER + 1) if plan.frac_bits > less]
    for key in ("elements", "scales", "c", "result"):
        gentle = "gradual" if key == "result" else "keep"
        found.append((f"subnormal.{key}", gentle if getattr(facts.subnormal, key) == "flush" else "flush"))
    found.append(("round.overflow", "saturate" if facts.round.overflow == "inf" else "inf"))
    found.append(("special.zero", "ieee" if facts.special.zero == "plus" else "plus"))
    found.append(("special.nan_scale", "live" if facts.special.nan_scale == "always" else "always"))
    found += [("round.mode", mode) for mode in ("rna", "rd", "ru", "odd") if mode != facts.round.mode]
    found += [("round.keep", facts.round.keep - less) for less in range(1, 5) if facts.round.keep > less]
    found += [("align.exponent_raise", raised) for raised in (-1, 1, 2)]
    words = {"align.fraction_bits": "F {}", "round.mode": "result {}", "round.keep": "{} fraction bits of the result kept"}
    for path, value in found:
        item = None if (path, value) in asked else changed(plan, ((path, value),))
        if item is not None:
            text = words.get(path, path + " {}").format(value)
            yield _deviation(op, f"{plan.datapath.id}: {text}", _stage_of(path), item.plan)


def _stage_of(path: str) -> str:
    part = path.partition(".")[0]
    return {"align": "xa, xc (alignment)", "round": "rs (last rounding)", "subnormal": "decode", "special": "specials"}.get(part, part)


def _other_operands(op: DotContract) -> Iterator[Deviation]:
    """Elements or scales that are decoded as another format of as many bits."""
    for key, sides, _, other in other_readings(op.plan.a, op.plan.b, op.plan.scale):
        try:
            read = _reading(op, sides, other)
        except (EmuError, AssertionError, AttributeError):
            continue
        yield Deviation.of_rows(f"{key}: codes are read as {other.id}", "decode", read)


def _reading(op: DotContract, sides: Sequence[str], other: Format) -> Callable[[Sequence[Values]], list[Answer | None]]:
    """Return the answers of a machine that reads some operands as another format."""
    changes: dict[str, Any] = dict.fromkeys(sides, other)
    plan = replace(op.plan, **changes)
    plan.widths  # noqa: B018  a format that a product cannot hold is refused here

    def batch(rows: Sequence[Values]) -> list[Answer | None]:
        out: list[Answer | None] = []
        for values in rows:
            row = op.taken(values)
            try:
                code = None if op.has_open_bit(row) else answer(row, plan)
            except EmuError:
                code = None
            out.append(None if code is None else ((code,),))
        return out

    return batch


def _results(plan: DatapathPlan) -> Iterator[tuple[str, str, Callable[[DotRow, int], int]]]:
    """Yield (text, stage, change of the result)."""
    known = derive.codes(plan.d)
    sign, facts = known.sign_bit, plan.d.facts
    assert isinstance(facts, FloatFacts)
    for code in dict.fromkeys((*known.nan[:2], known.inf or 0, 0)):
        if code != plan.nan_code:
            yield f"NaN gives {code:#x}", "specials", lambda _, right, code=code: code if derive.is_nan_code(right, plan.d) else right  # type: ignore[misc]
    if known.inf is not None:
        inf = known.inf
        yield "Inf gives NaN", "specials", lambda _, right: plan.nan_code if right & ~sign == inf else right
        yield "Inf loses its sign", "specials", lambda _, right: inf if right & ~sign == inf else right
    top = 1 << facts.frac_bits
    yield (
        "subnormal results keep their sign but are zero",
        "rs (last rounding)",
        lambda _, right: right & sign if 0 < right & ~sign < top else right,
    )


def _one_code(plan: DatapathPlan) -> Iterator[tuple[str, str, Change]]:
    """Yield (text, stage, change of one code): a bit of an element or a scale that does not move."""
    for side, name, fmt in ((0, "a", plan.a), (1, "b", plan.b), (2, "scale a", plan.scale), (3, "scale b", plan.scale)):
        if fmt is None:
            continue
        count = plan.facts.k if side < 2 else plan.facts.k // plan.block
        bits = derive.codes(fmt).bits
        for lane in range(count):
            for edit in edits(bits, deep=0) if bits <= 8 else ():
                yield edit.words(f"{name}, element {lane}"), "decode", _many((side,), partial(_at, lane, edit, bits))


def _at(lane: int, edit: Edit, bits: int, codes: Codes) -> Codes:
    return tuple(edit(code, bits) if place == lane else code for place, code in enumerate(codes))


def _deviation(
    op: DotContract, text: str, stage: str, plan: DatapathPlan, change: Change = lambda given: given, result: Result | None = None
) -> Deviation:
    """Return D under another plan or on other operands; a row with an open bit, or that is refused, has no answer."""

    def batch(rows: Sequence[Values]) -> list[Answer | None]:
        taken = [op.taken(values) for values in rows]
        known = [place for place, given in enumerate(taken) if not op.has_open_bit(given)]
        changed = [change(taken[place]) for place in known]
        out: list[Answer | None] = [None] * len(rows)
        for place, code in zip(known, answers(changed, plan), strict=True):
            out[place] = None if code is None else ((code if result is None else result(taken[place], code),),)
        return out

    return Deviation.of_rows(text, stage, batch)


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
    for side, name, fmt in ((0, "a", plan.a), (1, "b", plan.b), (2, "scales of a", plan.scale), (3, "scales of b", plan.scale)):
        if fmt is not None:
            for edit in edits(derive.codes(fmt).bits):
                yield edit.words(name), "decode", _many((side,), partial(_each, edit, derive.codes(fmt).bits))
    for edit in edits(derive.codes(plan.c).bits):
        yield edit.words("c"), "decode", lambda row, edit=edit: row._replace(c=edit(row.c, derive.codes(plan.c).bits))  # type: ignore[misc]
    unsigned = derive.codes(plan.a).sign_bit
    if unsigned:
        yield "the sign of every product is lost", "sg (products)", lambda row: row._replace(
            a=tuple(code & ~unsigned for code in row.a), b=tuple(code & ~derive.codes(plan.b).sign_bit for code in row.b))  # fmt: skip
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
    for side, name in ((2, "a"), (3, "b")):
        yield f"scales of {name}: every block takes those of the next", "tm (scales)", _many((side,), lambda e: e[1:] + e[:1])
        yield f"scales of {name}: every block takes those of the one before", "tm (scales)", _many((side,), lambda e: e[-1:] + e[:-1])
        yield f"scales of {name}: every block takes that of block 0", "tm (scales)", _many((side,), lambda e: e[:1] * len(e))
    yield "every block takes the scales of the next", "tm (scales)", _many((2, 3), lambda e: e[1:] + e[:1])


def _each(edit: Edit, bits: int, codes: Codes) -> Codes:
    return tuple(edit(code, bits) for code in codes)


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
