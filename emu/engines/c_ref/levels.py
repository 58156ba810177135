"""Datapaths of levels in the C reference: rows of codes in, codes of the result out.

Only facts are copied into descriptors here: units, widths, floors and the places of random words are derived again in C.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from emu.base.caches import Cache
from emu.base.errors import EmuError, EngineError, OpenError, OperandError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import Codes, check, code_dtype, in_width, matrix
from emu.engines.c_ref.descriptors import Descriptor, format_descriptor, policy_descriptor, rounding_descriptor
from emu.spec import derive
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold, Level, LevelScale
from emu.spec.reach import reach
from emu.spec.registry import digest, get

ADD: Final = {
    "exact": lib.EMU_SUM_AT_ONCE,
    "aligned": lib.EMU_SUM_ALIGNED,
    "chain": lib.EMU_SUM_CHAIN,
    "pairwise": lib.EMU_SUM_PAIRWISE,
}
START: Final = {None: lib.EMU_START_ZERO, "zero": lib.EMU_START_ZERO, "first": lib.EMU_START_FIRST, "c": lib.EMU_START_C}
OF: Final = {"all": lib.EMU_OF_ALL, "block": lib.EMU_OF_BLOCK}
BEYOND: Final = {
    "inf": lib.EMU_BEYOND_INF,
    "ieee": lib.EMU_BEYOND_IEEE,
    "saturate": lib.EMU_BEYOND_MAX,
    "saturate_symmetric": lib.EMU_BEYOND_SYMMETRIC,
    "wrap": lib.EMU_BEYOND_WRAP,
    "sticky_inf": lib.EMU_BEYOND_INF,
    "error": lib.EMU_BEYOND_ERROR,
}
RULES: Final = {"none": lib.EMU_UNLIMITED, "derived": lib.EMU_DERIVED}

_descriptors: Cache[tuple[str, ...], Descriptor] = Cache("emu.engines.c_ref.levels._descriptors", 512)


def levels_descriptor(plan: LevelsPlan) -> Descriptor:
    """Return the emu_levels of a plan. Raises: EngineError when it passes a limit of the C reference (see emu_ref.h)."""
    key = (digest(plan.datapath), digest(plan.a), digest(plan.b), digest(plan.scale) if plan.scale else "", str(plan.block))
    if key not in _descriptors:
        made = unchecked_descriptor(plan)
        if lib.emu_check_dot_levels(made.pointer):
            raise EngineError(f"datapath {plan.name} passes a limit of the C reference (c_ref/emu_ref.h): use engine='exact'")
        _descriptors[key] = made
    return _descriptors[key]


def unchecked_descriptor(plan: LevelsPlan) -> Descriptor:
    """Return the emu_levels of a plan, whether or not the C reference takes it."""
    facts, out = plan.facts, ffi.new("emu_levels *")
    memory: list[Any] = []
    offered = () if facts.offered is None else facts.offered.formats
    widest = max((get("format", name) for name in offered), key=lambda fmt: reach(fmt).significand, default=None)
    for name, fmt in (("a", plan.a), ("b", plan.b), ("scale", plan.scale), ("widest_scale", widest), ("c", plan.c)):
        if fmt is not None:
            memory.append(format_descriptor(fmt))
            setattr(out, name, memory[-1].pointer)
    out.block, out.k, out.ignores_unused_bits = plan.block, facts.k, plan.unused_bits == "ignore"
    kept, special = facts.subnormal, facts.special
    out.flushes_elements, out.flushes_scales, out.flushes_c = (word == "flush" for word in (kept.elements, kept.scales, kept.c))
    out.per_add, out.nan_scale_live = special.when == "per_add", special.nan_scale == "live"
    out.ieee_zero, out.nan_code = special.zero == "ieee", plan.nan_code if derive.codes(plan.d).nan else 0
    _fill_hold(out.product, facts.products.hold, plan.d, memory)
    _fill_scaling(out.product_scaling, facts.products.scale, plan.d, memory)
    levels = ffi.new("emu_sum_level[]", len(facts.levels))
    for target, level in zip(levels, facts.levels, strict=True):
        _fill_level(target, level, plan.d, memory)
    memory.append(levels)
    out.level_count, out.levels = len(facts.levels), levels
    _fill_hold(out.out, facts.out, plan.d, memory)
    out.out_plus_c = facts.out.plus == "c"
    for name, flag in (("invalid_levels", "NV"), ("overflow_levels", "OF")):
        setattr(out, name, sum(1 << level for level in plan.flag_levels.get(flag, ())))
    signalling = () if facts.flags is None else facts.flags.signalling
    for name, operands in (("a", facts.a), ("b", facts.b), ("scale", offered), ("c", (facts.c,))):
        setattr(out, f"signals_{name}", any(operand in signalling for operand in operands))
    return Descriptor(out, memory)


def _fill_level(out: Any, level: Level, d: Format, memory: list[Any]) -> None:
    memory.append(ffi.new("char[]", level.id.encode()))
    out.name = memory[-1]
    out.of_rule = OF.get(level.of, lib.EMU_OF_COUNT) if isinstance(level.of, str) else lib.EMU_OF_COUNT
    out.of = level.of if isinstance(level.of, int) else 0
    out.every, out.add, out.by, out.start = level.take.every, ADD[level.add], level.by or 1, START[level.start]
    out.plus_c, out.aligns = level.plus == "c", level.align is not None
    out.names_largest, out.cancelled_counts = level.exponent == "largest", level.cancelled_counts == "yes"
    _fill_hold(out.hold, level.hold, d, memory)
    _fill_scaling(out.scaling, level.scale, d, memory)
    words, align = level.align, out.align
    if words is None:
        return
    align.cut = _rounding(words.cut, d, memory)
    for name, wanted in (("frac", words.fraction_bits), ("integer", words.integer_bits), ("floor", words.floor)):
        setattr(align, f"{name}_rule", RULES[wanted] if isinstance(wanted, str) else lib.EMU_STATED)
        if isinstance(wanted, int):
            setattr(align, "floor_exp" if name == "floor" else f"{name}_bits", wanted)
    align.is_normalised, align.exponent_raise = words.exponent == "normalised", words.raised
    align.wraps, align.drop_below, own = words.beyond == "wrap", -1, words.cuts_running
    if own is not None:
        align.running, align.running_bits = _rounding(own.cut, d, memory), own.fraction_bits
        align.drop_below = -1 if own.drop_below is None else own.drop_below


def _fill_scaling(out: Any, words: LevelScale | str, d: Format, memory: list[Any]) -> None:
    out.applies = not isinstance(words, str)
    if not isinstance(words, str):
        for target, hold in ((out.each, words.each), (out.product, words.product), (out.term, words.term)):
            _fill_hold(target, hold, d, memory)


def _fill_hold(out: Any, hold: Hold, d: Format, memory: list[Any]) -> None:
    """Fill an emu_hold; its memory goes to `memory`. d: format that a rounding is checked for where the hold has none."""
    if hold == "exact":
        return
    fmt: Format = get("format", hold.format) if isinstance(hold, FloatHold) else d
    if hold.rounding is not None:
        out.rounding = _rounding(hold.rounding, fmt, memory)
    if isinstance(hold, CutHold):
        out.kind, out.is_fraction = lib.EMU_HOLD_CUT, hold.fraction_bits is not None
        out.bits = hold.significant_bits if hold.fraction_bits is None else hold.fraction_bits
    elif isinstance(hold, FixedHold):
        out.kind, out.bits, out.beyond = lib.EMU_HOLD_FIXED, hold.bits, BEYOND[hold.overflow]
        out.unit_rule = lib.EMU_DERIVED if isinstance(hold.unit_exp, str) else lib.EMU_STATED
        out.unit_exp = 0 if isinstance(hold.unit_exp, str) else hold.unit_exp
    else:
        made = format_descriptor(fmt)
        memory.append(made)
        out.kind, out.format, out.beyond = lib.EMU_HOLD_FLOAT, made.pointer, BEYOND[hold.overflow]
        out.keep, out.flushes = made.pointer.frac_bits if hold.keep is None else hold.keep, hold.subnormals == "flush"
        if hold.policy is not None:
            memory.append(policy_descriptor(derive.policy_entry(get("policy", hold.policy), fmt), fmt, made))
            out.policy = memory[-1]


def _rounding(name: str, fmt: Format, memory: list[Any]) -> Any:
    """Return the emu_rounding of a rounding; it is kept in `memory`."""
    memory.append(rounding_descriptor(get("rounding", name), fmt, format_descriptor(fmt)))
    return memory[-1]


def can_levels(plan: LevelsPlan) -> bool:
    """Tell whether the C reference has this datapath of levels: its widths and facts are within the limits of emu_ref.h."""
    try:
        levels_descriptor(plan)
    except EmuError:
        return False
    return True


def dot(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    random: Codes | None,
    plan: LevelsPlan,
    flags: Codes | None = None,
) -> Codes:
    """Return the dot product of each row of A with the same row of B by a datapath of levels.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R], None where the datapath has no C.
    random: unsigned integers [R, words] in the order of LevelsPlan.draws, None where nothing draws.
    flags: uint8 [R], filled with the exception flags of each row; None: not asked for.
    Returns: codes of the result format [R].   Exactness: equals emu.engines.exact.levels.dot bit for bit.
    Raises: ShapeError, OperandError (codes, random words, a policy that refuses), OpenError (an open bit or policy, a register that
    overflows, with its row), EngineError (limits).
    Source: the datapath's sources.   Tests: tests/engines/c_ref/test_c_levels.py.
    """
    made, what = levels_descriptor(plan), f"dot/{plan.name}"
    counts, row = ffi.new("size_t[2]"), ffi.new("size_t *")
    check(lib.emu_count_dot_levels(made.pointer, a.shape[1], counts, counts + 1), what)
    order, room = ffi.new("uint32_t[]", max(counts[0], 1)), ffi.new("emu_number[]", max(counts[1], 1))
    scales = [None if codes is None or plan.scale is None else in_width(codes, plan.scale) for codes in (scale_a, scale_b)]
    addend = None if c is None else in_width(c.reshape(-1, 1), plan.c) if plan.c is not None else c.reshape(-1, 1)
    words = None if random is None or not counts[0] else np.ascontiguousarray(random)
    operands = [in_width(a, plan.a), in_width(b, plan.b), *scales, addend, words]
    out: Codes = np.zeros((a.shape[0], 1), code_dtype(plan.d))
    raised: Codes = np.zeros((a.shape[0], 1), np.uint8)
    pointers = [ffi.NULL if item is None else ffi.new("emu_matrix *", matrix(item)) for item in (*operands, out, raised)]
    error = lib.emu_dot_levels_flags(made.pointer, *pointers, order, room, counts[1], row)
    if error in ROWS:
        kind, why = ROWS[error]
        raise kind(f"datapath {plan.datapath.id}: row {row[0]}: {why}")
    check(error, what)
    if flags is not None:
        codes = {"NV": lib.EMU_RAISED_INVALID, "OF": lib.EMU_RAISED_OVERFLOW}
        flags[:] = sum(((raised[:, 0] & codes[flag]) != 0).astype(np.uint8) << bit for bit, flag in enumerate(plan.flag_levels))
    return out.reshape(-1)


ROWS: Final[dict[int, tuple[type[EmuError], str]]] = {
    lib.EMU_ERROR_OPEN: (OpenError, "a code has an unused bit set, or the policy does not know the result"),
    lib.EMU_ERROR_REFUSED: (OperandError, "the policy refuses a value"),
    lib.EMU_ERROR_OVERFLOW: (OpenError, "a register overflows where the datapath says error"),
    lib.EMU_ERROR_DATAPATH: (EngineError, "a number outgrows the C reference: use engine='exact'"),
}
