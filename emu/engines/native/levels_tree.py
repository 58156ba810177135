"""Engine `native`, datapaths of levels taken node by node: aligned sums, trees, several running registers, roundings that draw.

Every value is a binary64 number that holds it exactly, beside the exponent that it names. A sum may have more bits: it is rounded to odd,
in one addition or part by part, and a register of at most ODD_BITS bits must follow. fault says what does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import lcm, prod
from typing import Any, Final

import numpy as np

from emu.engines.native._kernels import ffi, lib
from emu.engines.native.levels_hold import (
    BEYOND,
    FAR,
    fill_hold,
    fill_rounding,
    fits,
    is_float,
    significant,
)
from emu.spec import derive
from emu.spec.ieee import direction, is_binary32
from emu.spec.levels import MOST, AlignPlan, LevelPlan, LevelsPlan, holds_of, rounding_of, roundings, scale_turns, turns
from emu.spec.models import Rounding
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold, LevelAlign, LevelScale
from emu.spec.reach import Reach, reach
from emu.spec.registry import get

EXACT_BITS: Final = 53  # of a number
ODD_BITS: Final = 50  # of what is left of a sum that was rounded to odd
NARROW_BITS: Final = 24  # of a number in binary32
UNIT_BITS: Final = 51  # of a sum in whole units
PART_BITS: Final = 50  # of what a part of a wide sum adds, in its unit
MOST_LOT: Final = 4096  # products of a value whose places are looked at


def fault(plan: LevelsPlan) -> str | None:
    """Return why the kernel does not take a plan, or None."""
    return next(_faults(plan), None)


def _faults(plan: LevelsPlan) -> Iterator[str]:
    """Yield what the kernel lacks; what comes later may count on what came before."""
    sizes = [level.facts.of for level in plan.levels]
    if "all" in sizes and "block" in sizes[sizes.index("all") :]:
        yield "a level of a block stands above one of all products"
    yield from operand_faults(plan)
    yield from _scale_faults(plan)
    yield from _hold_faults(plan)
    yield from _special_faults(plan)
    values, digits = _products(plan)
    if digits > EXACT_BITS:
        yield f"a product has more than {EXACT_BITS} bits"
    odd = False
    for level in plan.levels:
        if odd:
            yield f"level {level.facts.id} adds sums of more than {EXACT_BITS} bits"
        yield from _sum_faults(plan, level, values, digits)
        odd, digits = _left(plan, level)
        if odd and level.facts.add in ("chain", "pairwise"):
            yield f"level {level.facts.id} adds to sums of more than {EXACT_BITS} bits"
        if digits > EXACT_BITS:
            yield f"level {level.facts.id} leaves more than {EXACT_BITS} bits"
        values = level.values
    if odd and (plan.facts.out.plus == "c" or not _stays_odd(plan.facts.out)):
        yield f"the last sum has more than {EXACT_BITS} bits, and the result keeps more than {ODD_BITS}"


def operand_faults(plan: LevelsPlan) -> Iterator[str]:
    """Yield which formats of operands no kernel of levels takes."""
    facts = plan.facts
    if any(significant(fmt) > NARROW_BITS or not fits(fmt) for fmt in (plan.a, plan.b, plan.scale, plan.c) if fmt is not None):
        yield "an operand is beyond binary32"
    if any(derive.codes(fmt).bits > 16 and not is_binary32(fmt) for fmt in (plan.a, plan.b, plan.scale) if fmt is not None):
        yield "an operand has codes of more than 16 bits and is not binary32"
    flushes = [(plan.a, facts.subnormal.elements), (plan.b, facts.subnormal.elements), (plan.scale, facts.subnormal.scales)]
    if any(fmt is not None and derive.codes(fmt).bits > 16 and word == "flush" for fmt, word in flushes):
        yield "subnormal binary32 operands are flushed"


def _scale_faults(plan: LevelsPlan) -> Iterator[str]:
    facts = plan.facts
    if plan.scale is None or derive.codes(plan.scale).inf is None:
        return
    if facts.special.when != "per_add":
        yield "scales may be infinite, and operands decide before anything is added"
    if facts.special.nan_scale == "live":
        yield "scales may be infinite, and NaN scales count for live values alone"
    if facts.flags is not None:
        yield "scales may be infinite, and the result comes with exception flags"


def _hold_faults(plan: LevelsPlan) -> Iterator[str]:
    facts = plan.facts
    for rounding in roundings(facts):
        if direction(rounding) is None and not rounding.random_bits:
            yield f"rounding {rounding.id} is none of IEEE 754's directions, and draws no random bits"
    for align in (level.facts.align for level in plan.levels if level.facts.align is not None):
        for cut in (align.cut, *([] if align.cuts_running is None else [align.cuts_running.cut])):
            if direction(get("rounding", cut)) is None:
                yield f"terms are cut by {cut}, which is none of IEEE 754's directions"
    for hold in holds_of(facts):
        if isinstance(hold, FloatHold) and not is_float(hold):
            yield "a register is rounded by a policy, or has more than 24 bits"
        if isinstance(hold, CutHold) and (hold.significant_bits or hold.fraction_bits or 0) > ODD_BITS:
            yield f"a cut leaves more than {ODD_BITS} bits"
    if isinstance(facts.products.hold, FixedHold) and not _fixed_fits(facts.products.hold, plan.product_unit_exp, _exact_product(plan)):
        yield f"products are held in more than {ODD_BITS} bits"
    for level in plan.levels:
        hold = level.facts.hold
        if isinstance(hold, FixedHold) and level.loses is not None and not _fixed_fits(hold, level.unit_exp, _seen(plan, level)):
            yield f"level {level.facts.id}: a register in fixed point has more than {ODD_BITS} bits, or sums beyond {UNIT_BITS} bits wrap"


def _seen(plan: LevelsPlan, level: LevelPlan) -> Reach:
    """Return what comes to the register in fixed point of a level: in a chain or a tree of registers what one addition leaves."""
    if level.facts.add not in ("chain", "pairwise") or level.align is not None or level.unit_exp is None:
        return level.sums
    assert isinstance(level.facts.hold, FixedHold)
    below = _below(plan, level)
    own = Fraction(2) ** (level.facts.hold.bits - 1 + level.unit_exp)
    first = Fraction(0) if plan.c is None else reach(plan.c).largest
    return replace(level.sums, largest=max((level.facts.by or 1) * below.largest + max(own, first), 2 * below.largest))


def _below(plan: LevelsPlan, level: LevelPlan) -> Reach:
    """Return what the values that a level takes reach."""
    return _products(plan)[0] if level.number == 1 else plan.levels[level.number - 2].values


def _fixed_fits(hold: FixedHold, unit: int | None, sums: Reach) -> bool:
    """Tell whether a register in fixed point is one of binary64 numbers. sums: what comes to it."""
    assert unit is not None
    wraps = hold.overflow == "wrap" and sums.largest / Fraction(2) ** unit >= 1 << UNIT_BITS
    return hold.bits <= ODD_BITS and not wraps and abs(unit) + hold.bits <= FAR


def _special_faults(plan: LevelsPlan) -> Iterator[str]:
    """Yield what is wrong where NaN and infinite operands decide at each addition into the running value that C started."""
    facts = plan.facts
    started = [level.facts for level in plan.levels if level.facts.start == "c"]
    if not started or facts.special.when != "once":
        return
    if not _adds_neighbours(plan):
        yield "operands decide at each addition, of products that are no neighbours"
    if any(isinstance(hold, FixedHold) and hold.overflow == "error" for hold in holds_of(facts)):
        yield "a register that overflows may have been decided by operands before"


def _adds_neighbours(plan: LevelsPlan) -> bool:
    """Tell whether each value that comes to the level that C starts is of neighbouring products, in their order."""
    own = next(number for number, level in enumerate(plan.facts.levels) if level.start == "c")
    below = [(of, level.take.every) for of, level in zip(_taken(plan), plan.facts.levels[:own], strict=False)]
    size, steps = prod(of for of, _ in below), lcm(*(every for _, every in below))
    if plan.facts.levels[own].take.every != 1 or not 0 < size <= MOST_LOT:
        return plan.facts.levels[own].take.every == 1 and steps == 1

    def products(number: int, node: int) -> list[int]:
        if not number:
            return [node]
        of, every = below[number - 1]
        first = node // every * of * every + node % every
        return sorted(product for i in range(of) for product in products(number - 1, first + i * every))

    return all(products(len(below), node) == list(range(node * size, (node + 1) * size)) for node in range(steps))


def _taken(plan: LevelsPlan) -> list[int]:
    """Return how many values each level takes at once; 0: all."""
    found: list[int] = []
    for level in plan.facts.levels:
        found.append(plan.block // prod(found) if level.of == "block" else 0 if level.of == "all" else level.of)
    return found


def _exact_product(plan: LevelsPlan) -> Reach:
    one, other = reach(plan.a), reach(plan.b)
    return Reach(
        one.lsb_exp + other.lsb_exp,
        one.min_exp + other.min_exp,
        one.max_exp + other.max_exp,
        one.largest * other.largest,
        one.significand * other.significand,
    )


def lot_bits(plan: LevelsPlan, lot: int) -> int:
    """Return the bits of a sum of products, not scaled: of one product the significant ones, of more all above the finest unit."""
    one = _exact_product(plan)
    return significant(plan.a) + significant(plan.b) if lot == 1 else _bits(lot * one.largest, one.lsb_exp)


def in_binary32(plan: LevelsPlan, lot: int) -> bool:
    """Tell whether binary32 holds every sum of a lot of products."""
    one = _exact_product(plan)
    return lot_bits(plan, lot) <= NARROW_BITS and one.lsb_exp >= -149 and lot * one.largest < Fraction(2) ** 127


def _products(plan: LevelsPlan) -> tuple[Reach, int]:
    """Return what products reach, held and scaled, and how many bits they have."""
    exact, hold = _exact_product(plan), plan.facts.products.hold
    digits = significant(plan.a) + significant(plan.b)
    if digits > EXACT_BITS:
        return exact, digits
    values = exact
    if isinstance(hold, FloatHold):
        values, digits = reach(get("format", hold.format)), _float_bits(hold)
    elif isinstance(hold, FixedHold):
        assert plan.product_unit_exp is not None
        top = Fraction(2) ** (hold.bits - 1 + plan.product_unit_exp)
        values, digits = Reach(plan.product_unit_exp, 0, 0, top, top), hold.bits
    elif isinstance(hold, CutHold):
        lsb, bits = exact.lsb_exp, hold.significant_bits
        if hold.fraction_bits is not None:
            lsb, bits = min(lsb, exact.min_exp - hold.fraction_bits), hold.fraction_bits + int(exact.significand).bit_length()
        values, digits = Reach(lsb, exact.min_exp, exact.max_exp, 2 * exact.largest, 2 * exact.significand), bits or 0
    return _scaled(values, digits, plan.facts.products.scale, plan)


def _scaled(values: Reach, digits: int, words: LevelScale | str, plan: LevelsPlan) -> tuple[Reach, int]:
    """Return what values times both scales reach, and how many bits they have; more than fit where a step on the way has more."""
    if isinstance(words, str):
        return values, digits
    assert plan.scale is not None
    one, bits = reach(plan.scale), significant(plan.scale)
    if isinstance(words.each, FloatHold):
        one, bits = reach(get("format", words.each.format)), _float_bits(words.each)
    both, bits = Reach(2 * one.lsb_exp, 2 * one.min_exp, 2 * one.max_exp, one.largest**2, one.significand**2), 2 * bits
    most = bits
    if isinstance(words.product, FloatHold):
        both, bits = reach(get("format", words.product.format)), _float_bits(words.product)
    digits += bits
    most = max(most, digits)
    term = Reach(
        values.lsb_exp + both.lsb_exp,
        values.min_exp + both.min_exp,
        values.max_exp + both.max_exp,
        values.largest * both.largest,
        values.significand * both.significand,
    )
    if isinstance(words.term, FloatHold):
        term, digits = reach(get("format", words.term.format)), _float_bits(words.term)
    elif isinstance(words.term, CutHold):
        lsb = term.lsb_exp if words.term.fraction_bits is None else min(term.lsb_exp, term.min_exp - words.term.fraction_bits)
        term = Reach(lsb, term.min_exp, term.max_exp, 2 * term.largest, 2 * term.significand)
        digits = words.term.significant_bits or (words.term.fraction_bits or 0) + int(term.significand).bit_length()
    return term, most if most > EXACT_BITS else digits


def _float_bits(hold: FloatHold) -> int:
    return significant(get("format", hold.format))


def _bits(largest: Fraction, lsb_exp: int) -> int:
    """Return the bits of a multiple of 2^lsb_exp up to a number."""
    return int(largest / Fraction(2) ** lsb_exp).bit_length()


def _together(plan: LevelsPlan, level: LevelPlan) -> tuple[int, bool]:
    """Return how many values one addition of a level takes, and whether it takes a running value or C besides."""
    words = level.facts
    if words.add == "chain":
        return words.by or 1, True
    if words.add == "pairwise":
        return 2, False
    count = MOST if words.of == "all" else plan.block if words.of == "block" else words.of
    return count, words.plus == "c"


def _sum_faults(plan: LevelsPlan, level: LevelPlan, values: Reach, digits: int) -> Iterator[str]:
    """Yield why the additions of a level do not fit. values, digits: of what it adds."""
    words, (count, running) = level.facts, _together(plan, level)
    for part in (values, level.sums, level.values):
        if part.lsb_exp < -FAR or part.largest > Fraction(2) ** FAR:
            yield f"level {words.id}: numbers lie beyond 2^-{FAR} or 2^{FAR}"
    if level.align is not None:
        assert words.align is not None
        own = reach(plan.c).significand if plan.c is not None and (words.start == "c" or words.plus == "c") else Fraction(0)
        yield from _align_faults(level, words.align, level.align, values, count, max(own, Fraction(2)) if running else Fraction(0))
    elif _parts(plan, level) is None:
        yield f"level {words.id}: a sum of {'all' if count == MOST else count} values has more than {EXACT_BITS} bits"
    if isinstance(words.hold, CutHold) and words.hold.fraction_bits is not None and level.values.min_exp - ODD_BITS < -FAR:
        yield f"level {words.id}: a cut lies beyond 2^-{FAR}"


def _parts(plan: LevelsPlan, level: LevelPlan) -> list[int] | None:
    """Return the exponents of the units of the parts of an exact sum, the coarsest first: [] where one addition rounds it to odd.

    None: too many parts, or too many values for sums of parts that are not rounded.
    """
    values, (count, running) = _below(plan, level), _together(plan, level)
    narrow = _bits(count * values.largest, values.lsb_exp) <= EXACT_BITS or (count == 2 and not running)
    if level.align is not None or count == 1 or narrow:
        return []
    own = _running(plan, level) if running else []
    lsb_exp, largest = min(each.lsb_exp for each in (values, *own)), max(each.largest for each in (values, *own))
    bits = PART_BITS - (count + running).bit_length()
    units = [_bits(largest, 0) - bits]
    while bits > 0 and units[-1] > lsb_exp:
        units.append(units[-1] - 1 - bits)
    return units if bits > 0 and len(units) <= lib.EMU_TREE_PARTS else None


def _running(plan: LevelsPlan, level: LevelPlan) -> list[Reach]:
    """Return what a running value reaches before the level's scales multiply it, rounded up too, and C."""
    hold, found = level.facts.hold, replace(level.sums, largest=2 * level.sums.largest)
    if isinstance(hold, FixedHold) and level.unit_exp is not None:
        found = replace(found, largest=max(found.largest, Fraction(2) ** (hold.bits - 1 + level.unit_exp)))
    return [found, *([] if plan.c is None else [reach(plan.c)])]


def _align_faults(level: LevelPlan, words: LevelAlign, align: AlignPlan, values: Reach, count: int, running: Fraction) -> Iterator[str]:
    own = words.cuts_running
    one = Fraction(2) if words.exponent == "normalised" else max(values.significand, Fraction(2))
    total = (count + 1) * one * max(Fraction(1), Fraction(2) ** -words.raised) + running
    if align.frac_bits > ODD_BITS or (total * Fraction(2) ** align.frac_bits + count + 2) >= 1 << UNIT_BITS:
        yield f"level {level.facts.id}: aligned terms have more than {UNIT_BITS} bits above the unit of their sum"
    if own is not None and own.fraction_bits > ODD_BITS:
        yield f"level {level.facts.id}: the running value keeps more than {ODD_BITS} bits"
    goes = level.extent
    if max(goes.top, goes.high, -goes.low, -goes.unit, -goes.grid[0], abs(align.floor or 0)) > FAR:
        yield f"level {level.facts.id}: exponents lie beyond 2^-{FAR} or 2^{FAR}"


def _stays_odd(hold: Hold) -> bool:
    """Tell whether a hold cannot tell a sum that was rounded to odd at 53 bits from the exact one."""
    rounding = rounding_of(hold)
    draws = 0 if rounding is None else rounding.random_bits
    if isinstance(hold, FloatHold):
        return _float_bits(hold) + draws <= ODD_BITS
    if isinstance(hold, CutHold):
        return hold.significant_bits is not None and hold.significant_bits + draws <= ODD_BITS
    return isinstance(hold, FixedHold) and hold.overflow != "wrap" and hold.bits + draws <= ODD_BITS


def _left(plan: LevelsPlan, level: LevelPlan) -> tuple[bool, int]:
    """Return whether a level leaves sums that were rounded to odd, and how many bits its values have."""
    words, hold = level.facts, level.facts.hold
    wide = level.align is None and _bits(level.sums.largest, level.sums.lsb_exp) > EXACT_BITS
    odd = wide and not _stays_odd(hold)
    digits = EXACT_BITS
    if isinstance(hold, FloatHold):
        digits = _float_bits(hold)
    elif isinstance(hold, FixedHold):
        digits = hold.bits if level.loses is not None else _bits(level.sums.largest, level.sums.lsb_exp)
    elif isinstance(hold, CutHold):
        digits = hold.significant_bits or EXACT_BITS
    elif not wide:
        digits = _bits(level.sums.largest, level.sums.lsb_exp) if level.align is None else EXACT_BITS
    if words.scale == "none":
        return odd, digits
    return odd, EXACT_BITS + 1 if odd else _scaled(level.sums, digits, words.scale, plan)[1]


# Plans as C structures


def fill_tree(out: Any, plan: LevelsPlan, k: int, kept: list[Any]) -> None:
    """Fill an emu_levels whose operands and result are filled already. k: products of a row, which fixes where random words lie."""
    facts = plan.facts
    tree = ffi.new("emu_tree *")
    tree.count, tree.names = len(plan.levels), _names(plan)
    if plan.c is not None:
        tree.c_low, tree.c_high = reach(plan.c).min_exp, reach(plan.c).max_exp
    below = tree.levels[0]
    below.cancelled_counts = below.float_zero = True
    _fill_any(below.hold, facts.products.hold, plan.product_unit_exp, True, plan)
    _fill_scale(below.scale, facts.products.scale, plan)
    for level, of in zip(plan.levels, _taken(plan), strict=True):
        _fill_level(tree.levels[level.number], level, of, plan)
    _fill_places(tree, plan, k, kept)
    out.lot, out.tree, out.live_nan = 1, tree, facts.special.nan_scale == "live"
    tree.plain = _is_plain(plan)
    out.narrow = tree.plain and in_binary32(plan, _taken(plan)[0])
    kept.append(tree)


def _is_plain(plan: LevelsPlan) -> bool:
    """Tell whether the first level is a sum of neighbouring products of which no word says more, so that it may be one loop."""
    facts, first = plan.facts, plan.levels[0]
    words = first.facts
    exact = words.add == "exact" and words.take.every == 1 and words.plus != "c" and words.hold == "exact" and _parts(plan, first) == []
    bare = facts.products.hold == "exact" and facts.products.scale == "none"
    return exact and bare and not (_names(plan) and words.exponent == "largest")


def _names(plan: LevelsPlan) -> bool:
    """Tell whether exponents that values name matter."""
    cuts = [hold for hold in holds_of(plan.facts) if isinstance(hold, CutHold) and hold.fraction_bits is not None]
    live = plan.scale is not None and plan.facts.special.nan_scale == "live"
    return live or bool(cuts) or any(level.align is not None for level in plan.levels)


def _fill_level(out: Any, level: LevelPlan, of: int, plan: LevelsPlan) -> None:
    words, facts = level.facts, plan.facts
    adds = {"exact": "EXACT", "aligned": "ALIGNED", "chain": "CHAIN", "pairwise": "PAIRS"}
    out.add, out.of, out.every, out.by = getattr(lib, f"EMU_ADDS_{adds[words.add]}"), of, words.take.every, words.by or 1
    out.starts_first, out.starts_c, out.plus_c = words.start == "first", words.start == "c", words.plus == "c"
    out.loads_c = words.start == "c" and plan.loads_c
    out.decides = words.start == "c" and facts.special.when == "once"
    if words.start == "c" and facts.subnormal.c == "flush" and isinstance(words.hold, FloatHold):
        out.flushes, out.normal = True, 2.0 ** reach(get("format", words.hold.format)).min_exp
    if words.align is not None and level.align is not None:
        _fill_align(out, words.align, level.align)
    parts = _parts(plan, level) or []
    out.parts, out.big[0 : len(parts)] = len(parts), [1.5 * 2.0 ** (52 + unit) for unit in parts]
    out.names_largest, out.cancelled_counts = words.exponent == "largest", words.cancelled_counts == "yes"
    rounding = rounding_of(words.hold)
    out.float_zero = isinstance(words.hold, FloatHold)
    out.downward = 1 << 63 if rounding is not None and rounding.rounds_down else 0
    _fill_any(out.hold, words.hold, level.unit_exp, level.loses is not None, plan)
    _fill_scale(out.scale, words.scale, plan)


def _fill_align(out: Any, words: LevelAlign, align: AlignPlan) -> None:
    out.is_aligned, out.normalised, out.raised = True, words.exponent == "normalised", words.raised
    out.frac_bits, out.has_floor, out.floor = align.frac_bits, align.floor is not None, align.floor or 0
    fill_rounding(out.cut, get("rounding", words.cut))
    if words.beyond == "wrap" and align.adder_bits is not None and align.adder_bits <= UNIT_BITS:
        out.wraps = align.adder_bits
    own = words.cuts_running
    if own is not None:
        out.running_cut, out.running_bits = True, own.fraction_bits
        out.running_drop = -1 if own.drop_below is None else own.drop_below
        fill_rounding(out.running, get("rounding", own.cut))


def _fill_any(out: Any, hold: Hold, unit: int | None, loses: bool, plan: LevelsPlan) -> None:
    """Fill an emu_tree_hold. loses: whether a register in fixed point changes anything that can come."""
    rounding: Rounding | None = rounding_of(hold)
    if isinstance(hold, FloatHold):
        fmt = reach(get("format", hold.format))
        out.kind, out.low_exp, out.high_exp = lib.EMU_KEEPS_FLOAT, fmt.min_exp, fmt.max_exp
        fill_hold(out.by, hold, plan)
    elif isinstance(hold, CutHold) and hold.significant_bits is not None:
        out.kind = lib.EMU_KEEPS_DIGITS
        fill_hold(out.by, hold, plan)
    elif isinstance(hold, CutHold):
        out.kind, out.below = lib.EMU_KEEPS_BELOW, hold.fraction_bits
        fill_rounding(out.by, rounding)
    elif isinstance(hold, FixedHold):
        assert unit is not None
        out.kind, out.unit, out.below, out.beyond = lib.EMU_KEEPS_FIXED, 2.0**unit, hold.bits, BEYOND[hold.overflow]
        high = (2.0 ** (hold.bits - 1) - 1) * 2.0**unit if loses else np.inf
        out.low, out.high = -high if not loses or hold.overflow == "saturate_symmetric" else -high - 2.0**unit, high
        fill_rounding(out.by, rounding)


def _fill_scale(out: Any, words: LevelScale | str, plan: LevelsPlan) -> None:
    if isinstance(words, str):
        return
    out.by = True
    for part, hold in ((out.each, words.each), (out.product, words.product), (out.term, words.term)):
        _fill_any(part, hold, None, True, plan)


def _fill_places(tree: Any, plan: LevelsPlan, k: int, kept: list[Any]) -> None:
    """Fill where the random word of each rounding lies in a row."""
    facts, draws = plan.facts, plan.draws(k)
    tree.words = len(draws)
    shape = plan.shape(k)
    tree.levels[0].turns = 1 + len(scale_turns(facts.products.scale))
    for number, level in enumerate(facts.levels, 1):
        tree.levels[number].turns = len(list(turns(level, len(shape[number - 1][0]), plan)))
    if not draws:
        return
    sizes = [k, *map(len, shape)]
    places = [np.zeros((size, tree.levels[number].turns), np.int32) for number, size in enumerate(sizes)]
    for place, draw in enumerate(draws):
        if draw.level > len(facts.levels):
            tree.out_place = place
        else:
            places[draw.level][draw.node, draw.turn] = place
    for number, table in enumerate(places):
        kept += [table, ffi.from_buffer("int32_t[]", table)]
        tree.levels[number].places = kept[-1]
