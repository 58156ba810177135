"""Engine `native`, datapaths of levels: what goes one after the other into one running register at full speed, others node by node.

A plan whose products, alone or in exact sums, go into a running register has a kernel of its own; what it takes, _chain_faults says. Other
plans are taken level by level (levels_tree.py). Values of codes come from the C reference, not from the reference model.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import EngineError, OpenError, OperandError, ShapeError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.native import levels_tree
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, address, check, workspace
from emu.engines.native.datapath import PANEL_COLUMNS, PANEL_ROWS
from emu.engines.native.levels_hold import ALL, BEYOND, F64, FAR, fill, fill_hold, is_float, significant, values_of
from emu.engines.native.levels_tree import EXACT_BITS
from emu.spec import derive
from emu.spec.ieee import direction
from emu.spec.levels import LevelPlan, LevelsPlan, rounding_of, roundings
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold, Level, LevelScale
from emu.spec.reach import reach
from emu.spec.registry import digest, get

PAIRS = 4096  # rows of pairs of one call of the kernel
FIXED_TERM_BITS, FIXED_BITS = 50, 61  # of a term in its finest unit, and in that of the register

_plans: Cache[Hashable, tuple[Any, list[Any]]] = Cache("emu.engines.native.levels._plans", 256)


def can_levels(plan: LevelsPlan) -> bool:
    """Tell whether a kernel takes a plan: one running register of at most 64 bits, or levels of numbers that binary64 holds."""
    return fault(plan) is None


def fault(plan: LevelsPlan) -> str | None:
    """Return why no kernel takes a plan, or None."""
    return None if is_chain(plan) else levels_tree.fault(plan)


def is_chain(plan: LevelsPlan) -> bool:
    """Tell whether the kernel of one running register takes a plan."""
    return next(_chain_faults(plan), None) is None


def _chain_faults(plan: LevelsPlan) -> Iterator[str]:
    """Yield what the kernel of one running register lacks; what comes later may count on what came before."""
    facts, *lots, chain = plan.facts, *plan.levels
    words, hold = chain.facts, chain.facts.hold
    if facts.flags is not None:
        yield "the result comes with exception flags"
    if any(direction(rounding) is None for rounding in roundings(facts)):
        yield "a rounding draws random bits, or is none of IEEE 754's directions"
    if words.add != "chain" or words.align is not None:  # the last level takes all of K, whatever its `of` says: plan.shape
        yield f"level {words.id} is no chain of exact additions"
    if any(level.facts.add != "exact" or level.facts.take.every != 1 or level.facts.hold != "exact" for level in lots):
        yield "a level below the running register is no exact sum of neighbours"
    if any(level.facts.of == "all" or level.facts.plus == "c" for level in lots):
        yield "a level below the running register takes all of K, or C"
    if any(level.facts.scale != "none" for level in lots[:-1]) or (facts.products.scale != "none" and (lots or (words.by or 1) > 1)):
        yield "scaled values are summed before they enter the running register"
    if lots and lots[-1].facts.scale != "none" and (words.by or 1) > 1:
        yield "scaled values are summed before they enter the running register"
    scaling = _scaling(plan)
    if scaling is not None and any(part != "exact" for part in (scaling.each, scaling.product, scaling.term)):
        yield "scales are rounded"
    yield from _register_faults(plan, chain, hold)
    yield from _operand_faults(plan, hold)


def _register_faults(plan: LevelsPlan, chain: LevelPlan, hold: Hold) -> Iterator[str]:
    """Yield what is wrong with the running register, the products and the result."""
    facts, first = plan.facts, plan.facts.products.hold
    if not isinstance(hold, FixedHold) and not is_float(hold):
        yield "the running register is no float of at most 24 bits and no fixed point"
    if not is_float(facts.out):
        yield "the result is rounded by a policy, or has more than 24 bits"
    if first != "exact" and (_lot(plan) > 1 or isinstance(first, FixedHold) or (isinstance(first, CutHold) and not first.significant_bits)):
        yield "products are rounded in fixed point, or before they are summed exactly"
    if isinstance(first, CutHold) and (first.significant_bits or 0) > EXACT_BITS - 2:
        yield f"products are cut to more than {EXACT_BITS - 2} bits"
    if isinstance(first, FloatHold) and (not is_float(first) or facts.special.when == "once"):
        yield "products are rounded to a float by a policy, or NaN and infinity decide before that"
    if chain.facts.start == "c" and (isinstance(hold, FixedHold) or facts.subnormal.c == "flush"):
        yield "C starts a register in fixed point, or subnormal running values are flushed"
    downs = facts.special.zero == "ieee" and any(rounding.rounds_down for rounding in roundings(facts))
    if downs and (chain.facts.by or 1) > 1:
        yield "zero sums of several values may be -0"
    if isinstance(hold, FixedHold):
        yield from _fixed_faults(plan, chain, hold)


def _fixed_faults(plan: LevelsPlan, chain: LevelPlan, hold: FixedHold) -> Iterator[str]:
    """Yield what is wrong with a running register in fixed point."""
    assert chain.unit_exp is not None
    facts = plan.facts
    if hold.overflow == "saturate_symmetric":
        yield "the running register stops at ends of one size on both sides"
    if hold.bits > 64 or (hold.bits > EXACT_BITS and facts.out.plus == "c"):
        yield "the running register has more than 64 bits, or more than 53 where C is added to it"
    unit = _term_unit(plan)
    if chain.unit_exp > unit and (hold.bits > 63 or chain.unit_exp - unit > FIXED_BITS - 1):
        yield "the running register rounds, and has more than 63 bits or a unit far above that of its terms"
    if abs(chain.unit_exp) > FAR or abs(chain.unit_exp + hold.bits) > FAR:
        yield f"the running register is beyond 2^-{FAR} or 2^{FAR}"
    nans = any(derive.codes(fmt).nan for fmt in (plan.a, plan.b, plan.scale) if fmt is not None)
    if hold.overflow == "error" and nans and facts.special.when == "per_add":
        yield "a register that overflows may have been NaN before"


def _operand_faults(plan: LevelsPlan, hold: Hold) -> Iterator[str]:
    """Yield what is wrong with operands, and with the width of terms."""
    facts, scaled = plan.facts, plan.scale is not None
    yield from levels_tree.operand_faults(plan)
    if plan.scale is not None and (derive.codes(plan.scale).inf is not None or facts.special.nan_scale == "live"):
        yield "scales may be infinite, or a NaN scale counts where its block is not zero"
    bits = levels_tree.lot_bits(plan, _lot(plan)) + (2 * significant(plan.scale) if plan.scale is not None else 0)
    low, high = _term_unit(plan), _largest(plan)
    if bits > EXACT_BITS or low < -FAR or high > Fraction(2) ** FAR:
        yield f"a term has more than {EXACT_BITS} bits, or lies beyond 2^-{FAR} or 2^{FAR}"
    if not isinstance(hold, FixedHold):
        return
    unit = plan.levels[-1].unit_exp
    assert unit is not None
    if high / Fraction(2) ** low > 1 << FIXED_TERM_BITS or high / Fraction(2) ** min(low, unit) > 1 << FIXED_BITS:
        yield f"a term has more than {FIXED_TERM_BITS} bits from its finest unit, or more than {FIXED_BITS} from that of the register"
    if any(derive.codes(fmt).inf is not None for fmt in (plan.a, plan.b)):
        yield "infinite operands meet a register in fixed point"
    if scaled and facts.products.hold != "exact":
        yield "rounded products are scaled"
    first = facts.products.hold
    ends = reach(get("format", first.format)).largest if isinstance(first, FloatHold) and first.overflow != "saturate" else None
    if ends is not None and 2 * high > ends:  # rounded up, a number may double
        yield "products that overflow meet a register in fixed point"


def _scaling(plan: LevelsPlan) -> LevelScale | None:
    """Return how block scales multiply, or None."""
    found = [words for words in (plan.facts.products.scale, *(level.facts.scale for level in plan.levels)) if not isinstance(words, str)]
    return found[0] if found else None


def _lot(plan: LevelsPlan) -> int:
    """Return the products that one addition into the register takes."""
    *lots, chain = plan.facts.levels
    found = 1
    for level in lots:
        found = plan.block if level.of == "block" else found * level.of if isinstance(level.of, int) else found
    return found * (chain.by or 1)


def _term_unit(plan: LevelsPlan) -> int:
    scale = 0 if plan.scale is None else 2 * reach(plan.scale).lsb_exp
    return reach(plan.a).lsb_exp + reach(plan.b).lsb_exp + scale


def _largest(plan: LevelsPlan) -> Fraction:
    scale = Fraction(1) if plan.scale is None else reach(plan.scale).largest ** 2
    return _lot(plan) * reach(plan.a).largest * reach(plan.b).largest * scale


def _plan_of(plan: LevelsPlan, k: int) -> tuple[Any, list[Any]]:
    """Return the emu_levels of a plan, and what it points to, which must live as long as it is used. k: products of a row."""
    size = 0 if is_chain(plan) else k
    key = (digest(plan.datapath), digest(plan.a), digest(plan.b), digest(plan.scale) if plan.scale else "", plan.block, size)
    found = _plans.get(key)
    if found is None:
        kept: list[Any] = []
        found = _plans.keep(key, (_describe(plan, size, kept), kept))
    return found


def _describe(plan: LevelsPlan, k: int, kept: list[Any]) -> Any:
    """Return the emu_levels of a plan. k: products of a row that is taken node by node; 0: it is one running register."""
    out = ffi.new("emu_levels *")
    facts, codes = plan.facts, derive.codes(plan.d)
    fill(out.a, plan.a, facts.subnormal.elements == "flush", plan.signals(plan.a), kept)
    fill(out.b, plan.b, facts.subnormal.elements == "flush", plan.signals(plan.b), kept)
    if plan.scale is not None:
        fill(out.scale, plan.scale, facts.subnormal.scales == "flush", False, kept)
    for name, flag in (("invalid_levels", "NV"), ("overflow_levels", "OF")):
        setattr(out, name, sum(1 << level for level in plan.flag_levels.get(flag, ())))
    out.block = plan.block
    fill_hold(out.out, facts.out, plan)
    carried = any(level.start == "c" for level in facts.levels)
    out.starts_c = carried or any(level.plus == "c" for level in facts.levels)
    out.out_plus_c = facts.out.plus == "c"
    out.once = facts.special.when == "once" and not carried  # a chain that C starts decides at each addition, as the sums do
    assert isinstance(plan.d.facts, FloatFacts)
    out.d_frac_bits, out.d_lowest = plan.d.facts.frac_bits, 1 - plan.d.facts.bias
    out.d_inf, out.d_nan, out.d_sign = codes.inf or 0, plan.nan_code, codes.sign_bit
    if k:
        out.beyond = lib.EMU_BEYOND_FAILS
        levels_tree.fill_tree(out, plan, k, kept)
    else:
        _fill_chain(out, plan)
    return out


def _fill_chain(out: Any, plan: LevelsPlan) -> None:
    """Fill what an emu_levels says of lots and one running register."""
    facts, chain = plan.facts, plan.levels[-1]
    words: Level = chain.facts
    out.lot, out.summed = _lot(plan), len(plan.levels) > 1
    out.narrow = levels_tree.in_binary32(plan, _lot(plan))
    out.holds_products = facts.products.hold != "exact"
    fill_hold(out.product, facts.products.hold, plan)
    fill_hold(out.held, words.hold, plan)
    if isinstance(words.hold, FixedHold):
        _fill_fixed(out, words.hold, chain, _term_unit(plan))
        units = _largest(plan) / Fraction(2) ** min(_term_unit(plan), chain.unit_exp or 0)
        plain = out.narrow and not out.shift and not plan.block and not out.holds_products
        plain = plain and not derive.codes(plan.a).nan and not derive.codes(plan.b).nan
        out.is_short = plain and out.bits <= 31 and units < 1 << 30 and out.beyond in (lib.EMU_BEYOND_STOPS, lib.EMU_BEYOND_WRAPS)
    out.starts_first = words.start == "first"
    out.loads_c = words.start == "c" and plan.loads_c


def _fill_fixed(out: Any, hold: FixedHold, chain: LevelPlan, unit: int) -> None:
    """Fill what emu_levels says of a register in fixed point. unit: exponent of the finest unit of terms."""
    assert chain.unit_exp is not None
    rounding = rounding_of(hold)
    toward = "rd" if rounding is None else direction(rounding)
    out.bits, out.beyond, out.unit, out.per_unit = hold.bits, BEYOND[hold.overflow], 2.0**chain.unit_exp, 2.0**-unit
    out.shift, out.lift = max(chain.unit_exp - unit, 0), max(unit - chain.unit_exp, 0)
    full, half = (1 << out.shift) - 1, (1 << out.shift) >> 1
    biases = {
        "rz": (0, 0, full), "rd": (0, 0, 0), "ru": (full, 0, 0), "rne": (half - 1, 1, 0), "rna": (half, 0, -1), "odd": (full, -full, 0)
    }  # fmt: skip
    out.bias, out.bias_odd, out.bias_minus = (number & ALL for number in biases[str(toward)])


def dot(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    random: Codes | None,
    plan: LevelsPlan,
    flags: Codes | None = None,
    *,
    form: int = BEST_FORM,
) -> Codes:
    """Return the dot product of each row of A with the same row of B by a datapath of levels.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R], None where the datapath has no C.
    random: unsigned integers [R, words] in the order of LevelsPlan.draws, None where nothing draws.
    flags: uint8 [R], filled with the exception flags of each row where the datapath reports any; None: not asked for.
    form: of emu/engines/native/kernels/kernels.h.   Returns: codes of the result format [R].
    NaN, infinity, zero, subnormals, overflow: as the datapath says.   Exactness: equals emu.engines.exact.levels.dot bit for bit.
    Raises: EngineError (no kernel can; a changed float environment), ShapeError (K, how many random words), OperandError (a random
    word too wide), OpenError (an open bit; a register that overflows, with its row).
    Source: the datapath's sources.   Tests: tests/engines/native/test_native_levels.py.
    """
    operands, addend = _checked(a, b, scale_a, scale_b, c, plan)
    words = _words(random, a.shape[1], plan)
    out = np.empty(len(a), np.uint32)
    for start in range(0, len(a), PAIRS):
        part = slice(start, start + PAIRS)
        given = [None if x is None else x[part] for x in operands]
        drawn, raised = (None if x is None else x[part] for x in (words, flags))
        failed = _panel(given, None if addend is None else addend[part], out[part], plan, form, paired=True, random=drawn, flags=raised)
        if failed is not None:
            raise _overflow(plan, start + failed)
    return out.astype(code_dtype(plan.d))


def matmul(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    plan: LevelsPlan,
    jobs: int = 1,
    flags: Codes | None = None,
    *,
    form: int = BEST_FORM,
) -> Codes:
    """Return A times B transposed by a datapath of levels: each output is one row of A and one column of B.

    a, b: codes [M, K] and [N, K].   scale_a, scale_b: codes [M, K / block] and [N, K / block].   c: codes [M, N], None without C.
    jobs: threads, each on panels of its own; the bits do not depend on it.   flags: uint8 [M, N], filled as by dot; None: not asked for.
    Returns: codes [M, N].   Raises: as dot; a row counts outputs.
    """
    (left, right, scale_left, scale_right), addend = _checked(a, b, scale_a, scale_b, c, plan)
    out = np.empty((len(a), len(b)), np.uint32)

    def work(place: tuple[int, int]) -> int | None:
        down, across = slice(place[0], place[0] + PANEL_ROWS), slice(place[1], place[1] + PANEL_COLUMNS)
        scales = [None if x is None else x[part] for x, part in ((scale_left, down), (scale_right, across))]
        found = np.empty(out[down, across].shape, np.uint32)
        given = None if addend is None else np.ascontiguousarray(addend[down, across])
        raised = None if flags is None else np.empty(found.shape, np.uint8)
        failed = _panel([left[down], right[across], *scales], given, found, plan, form, paired=False, flags=raised)
        out[down, across] = found
        if flags is not None and raised is not None:
            flags[down, across] = raised
        if failed is None:
            return None
        down_by, across_by = divmod(failed, len(found[0]))
        return (place[0] + down_by) * len(b) + place[1] + across_by

    places = [(i, j) for i in range(0, len(a), PANEL_ROWS) for j in range(0, len(b), PANEL_COLUMNS)]
    if jobs > 1 and len(places) > 1:
        with ThreadPoolExecutor(jobs) as pool:
            failures = list(pool.map(work, places))
    else:
        failures = [work(place) for place in places]
    if any(failed is not None for failed in failures):
        raise _overflow(plan, min(failed for failed in failures if failed is not None))
    return out.astype(code_dtype(plan.d))


def _overflow(plan: LevelsPlan, row: int) -> OpenError:
    return OpenError(f"datapath {plan.datapath.id}: row {row}: a register overflows where the datapath says error")


def _checked(
    a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, plan: LevelsPlan
) -> tuple[list[Any], F64 | None]:
    """Return operands in the dtypes of their formats, and C as numbers. Raises: EngineError, ShapeError, OpenError."""
    why = fault(plan)
    if why is not None:
        raise EngineError(f"engine native cannot add as {plan.name} does ({why}): use engine='c_ref'")
    plan.shape(a.shape[1])
    operands: list[Any] = [_bare(a, "a", plan.a, False, plan), _bare(b, "b", plan.b, False, plan)]
    ignored = plan.unused_bits == "ignore"
    for name, scales in (("a_scales", scale_a), ("b_scales", scale_b)):
        operands.append(None if plan.scale is None or scales is None else _bare(scales, name, plan.scale, ignored, plan))
    if plan.c is None or c is None:
        return operands, None
    return operands, values_of(c.astype(code_dtype(plan.c)), plan.c, plan.facts.subnormal.c == "flush", plan.signals(plan.c))


def _bare(codes: Codes, name: str, fmt: Format, ignored: bool, plan: LevelsPlan) -> Codes:
    """Return codes in the dtype of their format. ignored: whether a set bit above them means nothing.   Raises: OpenError."""
    array = np.ascontiguousarray(codes, code_dtype(fmt))
    bits = derive.codes(fmt).bits
    if not ignored and bits < 8 * array.itemsize and array.size and int(array.max()) >> bits:
        row = int(np.flatnonzero((array >> array.dtype.type(bits)).any(axis=1))[0])
        raise OpenError(f"{name}: datapath {plan.datapath.id}: row {row}: what a set bit {bits} of a {fmt.id} code means is open")
    return array


def _words(random: Codes | None, k: int, plan: LevelsPlan) -> NDArray[np.uint32] | None:
    """Return the random words of rows, None where nothing draws. Raises: ShapeError (how many), OperandError (one is too wide)."""
    drawn = plan.draws(k)
    given = 0 if random is None else random.shape[1]
    if given != len(drawn):
        raise ShapeError(f"random: datapath {plan.datapath.id} takes {len(drawn)} words for K = {k}, not {given}")
    if random is None or not drawn:
        return None
    bits = np.array([draw.rounding.random_bits for draw in drawn])
    wide = np.flatnonzero((random.astype(np.uint64) >> bits.astype(np.uint64)).any(axis=0))
    if wide.size:
        rounding = drawn[int(wide[0])].rounding
        raise OperandError(f"random: word {int(wide[0])} does not fit the {rounding.random_bits} bits of {rounding.id}")
    return np.ascontiguousarray(random, np.uint32)


def _panel(
    operands: list[Any],
    c: F64 | None,
    out: NDArray[np.uint32],
    plan: LevelsPlan,
    form: int,
    paired: bool,
    random: NDArray[np.uint32] | None = None,
    flags: Codes | None = None,
) -> int | None:
    """Run the kernel on operands [rows, K], [columns, K] and scales; fill flags. Returns the first output without a result, if any."""
    a, b, scale_a, scale_b = operands
    rows, columns, k = len(a), len(b), a.shape[1]
    if not rows or not columns:
        return None
    described, _kept = _plan_of(plan, k)
    room, failed = workspace(lib.emu_levels_room(described, rows, columns, k), np.uint8), ffi.new("size_t *")
    scales = [ffi.NULL if x is None else address(x) for x in (scale_a, scale_b)]
    given = ffi.NULL if c is None else ffi.cast("double *", c.ctypes.data)
    target = ffi.cast("uint32_t *", out.ctypes.data)
    words = ffi.NULL if random is None else ffi.cast("uint32_t *", random.ctypes.data)
    raised = None if flags is None or not plan.flag_levels else np.empty(out.shape, np.uint8)
    told = ffi.NULL if raised is None else ffi.cast("uint8_t *", raised.ctypes.data)
    every: list[Any] = [address(a), address(b), *scales, rows, columns, k, paired, given, words, target, told, failed, address(room)]
    check(lib.emu_levels_panel(form, described, *every))
    if flags is not None:
        flags[...] = 0 if raised is None else _in_report_order(raised, plan)
    return None if failed[0] == (1 << 64) - 1 else int(failed[0])


def _in_report_order(raised: Codes, plan: LevelsPlan) -> Codes:
    """Return flags of the kernel as bits in the order in which the datapath reports them."""
    kernel = {"NV": lib.EMU_FLAG_INVALID, "OF": lib.EMU_FLAG_OVERFLOW}
    out = np.zeros(raised.shape, np.uint8)
    for bit, flag in enumerate(plan.flag_levels):
        out |= ((raised & kernel[flag]) != 0).astype(np.uint8) << bit
    return out
