"""What a machine may do otherwise than a datapath of levels says: one fact of a level changed, words misread, operands lost or swapped.

A changed fact gives a datapath, so what such a machine answers is right by definition. Facts that no row can show stay out: a change that
the loader refuses, or one that leaves the resolved facts as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from emu.base.errors import EmuError
from emu.contracts.contract import Deviation, Values
from emu.contracts.levels.rows import LevelsRow, evaluate, flagged_answers
from emu.contracts.levels.wires import wires, wires_of_one_lane
from emu.contracts.rows import Answer
from emu.contracts.wires import Edit, edits, other_readings
from emu.engines.exact.encode import code_of_one
from emu.spec import derive
from emu.spec.levels import AlignPlan, LevelsPlan, check_levels, resolve_levels
from emu.spec.models.format import CodebookFacts
from emu.spec.models.levels import CutHold, DatapathLevels, FixedHold, FloatHold, Hold, LevelAlign
from emu.spec.reach import reach
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.levels.contract import LevelsContract

Path = tuple[str | int, ...]
Change = tuple[Path, Any]
ENDS: Final = ("saturate", "saturate_symmetric", "wrap", "sticky_inf", "error")
ROUNDINGS: Final = ("rz", "rne", "rna", "rd", "ru", "odd")


@dataclass(frozen=True)
class Variant:
    """A datapath with some facts changed. changes: none for the datapath as it stands.   stage: the first thing that goes wrong.

    also: other datapaths with the same deciding facts.
    """

    plan: LevelsPlan
    changes: tuple[Change, ...] = ()
    stage: str = ""
    also: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is supposed, in words."""
        told = [change for change in self.changes if change[1] is not None] or self.changes  # what only makes room for another is not told
        words = [f"{said(path, self.plan)} {_value(value)}" for path, value in told]
        text = f"{self.plan.datapath.id}: {', '.join(words)}" if words else f"{self.plan.datapath.id} as it stands"
        return f"{text} (= {', '.join(self.also)})" if self.also else text

    def data(self) -> dict[str, Any]:
        """Return datapath and changes as plain data."""
        changes = {said(path, self.plan): value for path, value in self.changes}
        return {"datapath": self.plan.datapath.id, "changes": changes, "text": self.text}


def said(path: Path, plan: LevelsPlan) -> str:
    """Return a path into the facts with the name of the level: k.hold.bits."""
    words = list(path)
    if words[0] == "levels":
        words = [plan.facts.levels[int(words[1])].id, *words[2:]]
    return ".".join(map(str, words))


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_value(one)}" for key, one in value.items()) + "}"
    return str(value)


def variants(plan: LevelsPlan) -> Iterator[Variant]:
    """Yield the datapaths that differ in one fact and are valid, each once."""
    known = {deciding(plan)}
    for stage, changes in _changes(plan):
        found = changed(plan, changes, stage)
        if found is not None and (key := deciding(found.plan)) not in known:
            known.add(key)
            yield found


def changed(plan: LevelsPlan, changes: Sequence[Change], stage: str = "") -> Variant | None:
    """Return a plan with changed facts; None where they are none that a datapath can have."""
    facts: Any = plan.facts.model_dump()
    for path, value in changes:
        place = facts
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    try:
        model = plan.datapath.model_copy(update={"facts": DatapathLevels.model_validate(facts)})
        check_levels(model)
        other = resolve_levels(model, plan.a, plan.b, plan.scale, plan.block or None)
        other.shape(plan.facts.k)
    except (ValueError, EmuError):
        return None
    return Variant(other, tuple(changes), stage)


def deciding(plan: LevelsPlan) -> str:
    """Return the facts of a plan that decide a bit of D, as one text."""
    return plan.facts.model_dump_json(exclude={"a", "b", "pairs", "flags"})


def _changes(plan: LevelsPlan) -> Iterator[tuple[str, list[Change]]]:
    """Yield (stage, changes) for every fact of every level."""
    facts = plan.facts
    yield from _of_hold(("products", "hold"), facts.products.hold, plan.product_unit_exp, "product")
    yield from _of_scale(("products", "scale"), facts.products.scale, "product")
    for number, level in enumerate(plan.levels):
        words, at = level.facts, ("levels", number)
        yield from _of_hold((*at, "hold"), words.hold, level.unit_exp, words.id)
        yield from _of_scale((*at, "scale"), words.scale, words.id)
        if words.align is not None and level.align is not None:
            yield from _of_align((*at, "align"), words.align, level.align, words.id)
        yield from _of_order(at, words, facts)
        other = "no" if words.cancelled_counts == "yes" else "yes"
        yield words.id, [((*at, "cancelled_counts"), other)]
    yield from _of_hold(("out",), facts.out, None, "out")
    yield from _of_c(facts)
    yield "special", [(("special", "when"), "once" if facts.special.when == "per_add" else "per_add")]
    yield "special", [(("special", "nan_scale"), "live" if facts.special.nan_scale == "always" else "always")]
    yield "special", [(("special", "zero"), "plus" if facts.special.zero == "ieee" else "ieee")]
    for key in ("elements", "scales", "c"):
        yield "decode", [(("subnormal", key), "flush" if getattr(facts.subnormal, key) == "keep" else "keep")]


def _of_hold(at: Path, hold: Hold, unit_exp: int | None, stage: str) -> Iterator[tuple[str, list[Change]]]:
    """Yield wrong registers: another width, unit, end, rounding; none."""
    if hold == "exact":
        return
    if isinstance(hold, FixedHold):
        unit = hold.unit_exp if isinstance(hold.unit_exp, int) else unit_exp
        assert unit is not None
        yield from ((stage, [((*at, "bits"), bits)]) for bits in (hold.bits - 1, hold.bits + 1))
        yield from ((stage, [((*at, "overflow"), end)]) for end in ENDS if end != hold.overflow)
        yield from ((stage, [((*at, "unit_exp"), to), ((*at, "rounding"), hold.rounding or "rz")]) for to in (unit - 1, unit + 1))
    elif isinstance(hold, CutHold):
        key = "significant_bits" if hold.significant_bits is not None else "fraction_bits"
        bits = int(getattr(hold, key))
        yield from ((stage, [((*at, key), to)]) for to in (bits - 1, bits + 1))
    elif isinstance(hold, FloatHold) and hold.policy is None:
        keep = get("format", hold.format).facts.frac_bits if hold.keep is None else hold.keep
        yield stage, [((*at, "keep"), keep - 1), ((*at, "rounding"), hold.rounding or "rz")]
        if hold.keep is not None:
            yield stage, [((*at, "keep"), keep + 1)]
        yield from ((stage, [((*at, "overflow"), end)]) for end in ("inf", "ieee", "saturate") if end != hold.overflow)
        yield stage, [((*at, "subnormals"), "flush" if hold.subnormals == "gradual" else "gradual")]
    if hold.rounding is not None:
        yield from ((stage, [((*at, "rounding"), mode)]) for mode in ROUNDINGS if mode != hold.rounding)
    if at != ("out",):
        yield stage, [(at, "exact")]


def _of_scale(at: Path, scale: Any, stage: str) -> Iterator[tuple[str, list[Change]]]:
    if isinstance(scale, str):
        return
    for key in ("each", "product", "term"):
        yield from _of_hold((*at, key), getattr(scale, key), None, stage)


def _of_align(at: Path, words: LevelAlign, plan: AlignPlan, stage: str) -> Iterator[tuple[str, list[Change]]]:
    """Yield wrong alignments: a place more or less, another cut, another E."""
    yield from ((stage, [((*at, "fraction_bits"), bits)]) for bits in (plan.frac_bits - 1, plan.frac_bits + 1))
    yield from ((stage, [((*at, "cut"), mode)]) for mode in ROUNDINGS if mode != words.cut)
    yield stage, [((*at, "exponent"), "normalised" if words.exponent == "nominal" else "nominal")]
    yield from ((stage, [((*at, "exponent_raise"), to)]) for to in (words.raised - 1, words.raised + 1))
    if plan.floor is not None:
        yield from ((stage, [((*at, "floor"), floor)]) for floor in (plan.floor - 1, plan.floor + 1, "none"))
    if words.beyond == "wrap" and plan.integer_bits is not None:
        yield from ((stage, [((*at, "integer_bits"), bits)]) for bits in (plan.integer_bits - 1, plan.integer_bits + 1))
    own = words.cuts_running
    if own is None:
        return
    yield stage, [((*at, "running"), "same")]
    yield from ((stage, [((*at, "running", "fraction_bits"), bits)]) for bits in (own.fraction_bits - 1, own.fraction_bits + 1))
    yield from ((stage, [((*at, "running", "cut"), mode)]) for mode in ROUNDINGS if mode != own.cut)
    if own.drop_below is not None:
        yield from ((stage, [((*at, "running", "drop_below"), to)]) for to in (own.drop_below - 1, own.drop_below + 1, None))


def _of_order(at: Path, words: Any, facts: DatapathLevels) -> Iterator[tuple[str, list[Change]]]:
    """Yield other orders: a tree, a chain, lots of another size, neighbours or interleaved."""
    if words.add == "chain":
        by = words.by or 1
        for other in {2 * by, max(1, by // 2)} - {by}:
            yield words.id, [((*at, "by"), other)]
        if words.start != "c":
            yield words.id, [((*at, "start"), "first" if words.start == "zero" else "zero")]
            yield words.id, [((*at, "add"), "pairwise"), ((*at, "start"), None), ((*at, "by"), None)]
            yield words.id, [((*at, "add"), "exact"), ((*at, "start"), None), ((*at, "by"), None), ((*at, "align"), None)]
    elif words.add == "pairwise":
        yield words.id, [((*at, "add"), "chain"), ((*at, "start"), "first"), ((*at, "exponent"), "zero")]
        yield words.id, [((*at, "add"), "exact"), ((*at, "align"), None)]
    elif words.add == "exact" and words.plus == "none":
        yield words.id, [((*at, "add"), "chain"), ((*at, "start"), "zero"), ((*at, "exponent"), "zero")]
    elif words.add == "aligned":
        yield words.id, [((*at, "add"), "exact"), ((*at, "align"), None)]
    if words.add == "exact":
        yield words.id, [((*at, "exponent"), "zero" if words.exponent == "largest" else "largest")]
    every = words.take.every
    for other in {2 * every, max(1, every // 2), 1} - {every}:
        yield words.id, [((*at, "take"), {"every": other})]


def _of_c(facts: DatapathLevels) -> Iterator[tuple[str, list[Change]]]:
    """Yield C at another place."""
    for number, level in enumerate(facts.levels):
        at: Path = ("levels", number)
        mode: list[Change] = [] if facts.out.rounding else [(("out", "rounding"), "rne")]
        if level.start == "c":
            yield "C", [((*at, "start"), "zero"), (("out", "plus"), "c"), *mode]
            yield "C", [((*at, "start"), "first"), (("out", "plus"), "c"), *mode]
        elif level.plus == "c":
            yield "C", [((*at, "plus"), "none"), (("out", "plus"), "c"), *mode]
        elif facts.out.plus == "c" and level.of == "all":
            enters: Change = ((*at, "start"), "c") if level.add == "chain" else ((*at, "plus"), "c")
            yield "C", [enters, (("out", "plus"), "none")]


# Deviations of a contract: a changed fact, or operands that are lost, swapped or misread on their way into the right datapath.


Moved = Callable[[LevelsRow], LevelsRow]


def words_for(row: LevelsRow, plan: LevelsPlan, other: LevelsPlan) -> LevelsRow:
    """Return a row with the random words that another plan draws: those of the same places, 0 where there was none."""
    mine, wanted = plan.draws(len(row.a)), other.draws(len(row.a))
    if mine == wanted:
        return row
    known = {draw[1:4]: word for draw, word in zip(mine, row.random, strict=True)}
    tops = [(1 << draw.rounding.random_bits) - 1 for draw in wanted]
    return row._replace(random=tuple(known.get(draw[1:4], 0) & top for draw, top in zip(wanted, tops, strict=True)))


def deviations(op: LevelsContract) -> Iterator[Deviation]:
    """Yield the single deviations of a contract."""
    for variant in variants(op.plan):
        try:
            variant.plan.shape(op.k)
        except EmuError:
            continue
        yield _deviation(op, variant.text, variant.stage, variant.plan)
    for text, stage, move in _operands(op):
        yield _deviation(op, text, stage, op.plan, move)
    for lane, flag in enumerate(op.plan.flag_levels):
        yield _deviation(op, f"{flag} is never raised", "flags", op.plan, kept=~(1 << lane))
    yield from _wider(op)
    yield from _other_operands(op)
    for text, stage, answer in wires(op.plan, op.k):
        yield _on_wires(op, text, stage, answer)


def of_one_lane(op: LevelsContract) -> Iterator[Deviation]:
    """Yield what one lane may do otherwise."""
    for text, stage, answer in wires_of_one_lane(op.plan, op.k):
        yield _on_wires(op, text, stage, answer)
    for side, fmt in (("a", op.plan.a), ("b", op.plan.b)):
        bits = derive.codes(fmt).bits
        for lane in range(op.k if bits <= 8 else 0):
            for edit in edits(bits, deep=0):
                yield _deviation(op, edit.words(f"{side}, element {lane}"), "decode", op.plan, _edited(side, lane, edit, bits))


def _edited(side: str, lane: int | None, edit: Edit, bits: int) -> Moved:
    def moved(row: LevelsRow) -> LevelsRow:
        codes = getattr(row, side)
        changes: dict[str, Any] = {side: tuple(edit(code, bits) if lane in (None, place) else code for place, code in enumerate(codes))}
        return row._replace(**changes)

    return moved


def _on_wires(op: LevelsContract, text: str, stage: str, answer: Callable[[LevelsRow], int]) -> Deviation:
    def given(values: Values) -> Answer | None:
        row = op.taken(values)
        if op.has_open_bit(row):
            return None
        # The wires carry no flags: those of the contract are given.
        flags = () if op.plan.facts.flags is None else op.flag_lanes(evaluate(row, op.plan).flags)
        return ((answer(row),), *flags)

    return Deviation(text, stage, given, lambda rows: [given(values) for values in rows])


def _wider(op: LevelsContract) -> Iterator[Deviation]:
    """Registers that are more than one bit too narrow or too wide."""
    for number, level in enumerate(op.plan.levels):
        hold, at = level.facts.hold, ("levels", number, "hold")
        found: list[Change] = []
        if isinstance(hold, FixedHold):
            found = [((*at, "bits"), hold.bits + more) for more in (-4, -3, -2, 2, 3, 4, 8) if hold.bits + more > 1]
        elif isinstance(hold, FloatHold) and hold.policy is None:
            keep = get("format", hold.format).facts.frac_bits if hold.keep is None else hold.keep
            found = [((*at, "keep"), keep - less) for less in (2, 3, 4) if keep > less]
        for change in found:
            changes = [change] if isinstance(hold, FixedHold) else [change, ((*at, "rounding"), getattr(hold, "rounding", None) or "rz")]
            item = changed(op.plan, changes, level.facts.id)
            if item is not None:
                yield _deviation(op, item.text, item.stage, item.plan)


def _other_operands(op: LevelsContract) -> Iterator[Deviation]:
    """Elements or scales that are decoded as another format of as many bits."""
    plan = op.plan
    for key, sides, fmt, other in other_readings(plan.a, plan.b, plan.scale):
        if isinstance(other.facts, CodebookFacts) or reach(other).lsb_exp < reach(fmt).lsb_exp:  # finer than the registers of this machine
            continue
        changes: dict[str, Any] = dict.fromkeys(sides, other)
        read = replace(plan, **changes)
        yield _on_wires(op, f"{key}: codes are read as {other.id}", "decode", lambda row, read=read: evaluate(row, read).code)  # type: ignore[misc]


def _deviation(op: LevelsContract, text: str, stage: str, plan: LevelsPlan, move: Moved = lambda row: row, kept: int = -1) -> Deviation:
    """Return D and flags (of the bits that are kept) under another plan or on other operands; a row that is refused has no answer."""

    def batch(rows: Sequence[Values]) -> list[Answer | None]:
        taken = [op.taken(values) for values in rows]
        known = [place for place, row in enumerate(taken) if not op.has_open_bit(row)]
        given = [words_for(move(taken[place]), op.plan, plan) for place in known]
        out: list[Answer | None] = [None] * len(rows)
        for place, found in zip(known, flagged_answers(given, plan), strict=True):
            out[place] = None if found is None else ((found[0],), *op.flag_lanes(found[1] & kept))
        return out

    return Deviation(text, stage, lambda values: batch([values])[0], batch)


def _operands(op: LevelsContract) -> Iterator[tuple[str, str, Moved]]:
    """Yield (text, stage, change of the operands)."""
    plan, k = op.plan, op.k
    if plan.c is not None:
        yield "C is not added", "C", lambda row: row._replace(c=0)
        negative = derive.codes(plan.c).sign_bit
        if negative:
            yield "C has the wrong sign", "C", lambda row: row._replace(c=(row.c or 0) ^ negative)
    for side, fmt in (("a", plan.a), ("b", plan.b), ("scale_a", plan.scale), ("scale_b", plan.scale)):
        for edit in () if fmt is None else edits(derive.codes(fmt).bits):
            yield edit.words(side.replace("_", " ")), "decode", _edited(side, None, edit, derive.codes(fmt).bits)  # type: ignore[arg-type]
    if k > 1:
        yield "a: neighbouring elements swapped (nibble order)", "packing", lambda row: row._replace(a=_swapped(row.a))
        yield "b: neighbouring elements swapped (nibble order)", "packing", lambda row: row._replace(b=_swapped(row.b))
        yield "a and b: elements in reverse order", "order", lambda row: row._replace(a=row.a[::-1], b=row.b[::-1])
        yield "a and b: neighbouring elements of both swapped", "order", lambda row: row._replace(a=_swapped(row.a), b=_swapped(row.b))
    if plan.scale is not None:
        one = code_of_one(plan.scale)
        yield "the scales of a are not applied", "scales", lambda row: row._replace(scale_a=(one,) * len(row.scale_a))
        yield "the scales of b are not applied", "scales", lambda row: row._replace(scale_b=(one,) * len(row.scale_b))
        yield "scales of a and b swapped", "scales", lambda row: row._replace(scale_a=row.scale_b, scale_b=row.scale_a)
        for side in ("scale_a", "scale_b") if k > plan.block else ():
            said_of = f"scales of {side[-1]}"
            yield f"{said_of}: every block takes those of the next", "scales", lambda row, side=side: row._replace(  # type: ignore[misc]
                **{side: getattr(row, side)[1:] + getattr(row, side)[:1]})  # fmt: skip
            yield f"{said_of}: every block takes that of block 0", "scales", lambda row, side=side: row._replace(  # type: ignore[misc]
                **{side: getattr(row, side)[:1] * len(getattr(row, side))})  # fmt: skip
        if k > plan.block:
            yield "scales of a in reverse order of blocks", "packing", lambda row: row._replace(scale_a=row.scale_a[::-1])
            yield "scales of b in reverse order of blocks", "packing", lambda row: row._replace(scale_b=row.scale_b[::-1])
    for lane in range(k):
        yield f"the product of element {lane} is lost", "product", _dropped(lane)
    if op.field.draws:
        yield from _words(op)


def _words(op: LevelsContract) -> Iterator[tuple[str, str, Moved]]:
    """Yield random words misread, one by one or in another order."""
    tops = [(1 << draw.rounding.random_bits) - 1 for draw in op.field.draws]

    def each(change: Callable[[int, int], int]) -> Moved:
        return lambda row: row._replace(random=tuple(change(word, top) for word, top in zip(row.random, tops, strict=True)))

    yield "every random word is read as 0", "random", each(lambda word, top: 0)
    yield "random words are inverted", "random", each(lambda word, top: top - word)
    yield "the lowest bit of random words is lost", "random", each(lambda word, top: word & ~1)
    yield "the highest bit of random words is lost", "random", each(lambda word, top: word & top >> 1)
    if len(tops) > 1 and len(set(tops)) == 1:
        yield "every rounding takes the word after its own", "random", lambda row: row._replace(random=row.random[1:] + row.random[:1])
        yield "random words in reverse order", "random", lambda row: row._replace(random=row.random[::-1])
        yield "every rounding takes the first word", "random", lambda row: row._replace(random=row.random[:1] * len(row.random))


def _swapped(codes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(codes[min(place ^ 1, len(codes) - 1)] for place in range(len(codes)))


def _dropped(lane: int) -> Moved:
    return lambda row: row._replace(a=tuple(0 if place == lane else code for place, code in enumerate(row.a)))
