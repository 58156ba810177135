"""Dot products in the C reference: the column interface on arrays of codes, and single rows with every stage.

Only facts are copied into descriptors here: fraction bits, integer bits and the floor are derived again in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.base.errors import EmuError, EngineError, OpenError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import Codes, check, code_dtype, in_width, matrix
from emu.engines.c_ref.descriptors import Descriptor, format_descriptor, rounding_descriptor
from emu.spec.datapath import DatapathPlan, align_direction_of, nan_code_of
from emu.spec.models import Format
from emu.spec.models.datapath import Accumulator, DatapathFacts, LateC, PromoteFacts
from emu.spec.models.levels import EpilogueFacts
from emu.spec.reach import reach
from emu.spec.registry import digest, get

APPLY: Final = {
    "none": lib.EMU_APPLY_NONE,
    "group": lib.EMU_APPLY_GROUP,
    "product": lib.EMU_APPLY_PRODUCT,
    "promote": lib.EMU_APPLY_PROMOTE,
}
ALIGN: Final = {"rz": lib.EMU_ALIGN_RZ, "rd": lib.EMU_ALIGN_RD, "rne": lib.EMU_ALIGN_RNE}
RULES: Final = {"exact": lib.EMU_UNLIMITED, "none": lib.EMU_UNLIMITED, "derived": lib.EMU_DERIVED, "exact_products": lib.EMU_DERIVED}


class Stages(NamedTuple):
    """One fused step as the C reference leaves it; what a kind of datapath does not have is 0 or empty.

    terms: (significand, lsb_exp, exp, live, group sum) each.   aligned, aligned_c, total: integers in units of 2^lsb_exp.
    special: 0, or the class of a NaN or infinity that decided the step.
    """

    code: int
    special: int
    exp: int
    lsb_exp: int
    terms: tuple[tuple[int, int, int, bool, int], ...]
    aligned: tuple[int, ...]
    aligned_c: int
    total: int
    parts: tuple[int, ...]
    part_code: int
    scale_code: int
    term_code: int


_descriptors: Cache[tuple[str, ...], Descriptor] = Cache("emu.engines.c_ref.datapath._descriptors", 512)


def datapath_descriptor(plan: DatapathPlan) -> Descriptor:
    """Return the emu_datapath of a plan. Raises: EngineError when it passes a limit of the C reference (see emu_ref.h)."""
    key = (digest(plan.datapath), digest(plan.a), digest(plan.b), digest(plan.scale) if plan.scale else "", str(plan.block))
    if key not in _descriptors:
        made = fill_descriptor(plan.facts, plan.d)
        point_to(made, plan.facts, plan.a, plan.b, plan.scale, plan.block)
        if lib.emu_check_datapath(made.pointer):
            raise EngineError(f"datapath {plan.name} passes a limit of the C reference (c_ref/emu_ref.h): use engine='exact'")
        _descriptors[key] = made
    return _descriptors[key]


def fill_descriptor(facts: DatapathFacts, d: Format) -> Descriptor:
    """Return the emu_datapath of a datapath whose operands are still to be chosen; step and group 0: a block."""
    out, result = ffi.new("emu_datapath *"), format_descriptor(d)
    out.result, out.k = result.pointer, facts.k
    out.step, out.group = (0 if size == "block" else size for size in (facts.step, facts.group))
    out.split, out.apply = facts.split, APPLY[facts.scale.apply]
    out.ignores_unused_bits = facts.scale.unused_bits == "ignore"
    rounding = rounding_descriptor(get("rounding", facts.round.mode), d, result)
    out.rounding = rounding
    out.keep, out.saturates = facts.round.keep, facts.round.overflow == "saturate"
    kept = facts.subnormal
    out.flushes_elements, out.flushes_scales = kept.elements == "flush", kept.scales == "flush"
    out.flushes_c, out.flushes_result = kept.c == "flush", kept.result == "flush"
    out.any_nan = facts.special.nan == "any"
    out.nan_code = nan_code_of(facts)
    out.nan_scale_live, out.ieee_zero = facts.special.nan_scale == "live", facts.special.zero == "ieee"
    _fill_align(out, facts)
    memory = [result, rounding, *_fill_c(out, facts, d, result)]
    widest = max((get("format", name) for name in facts.scale.formats), key=lambda fmt: reach(fmt).significand, default=None)
    if widest is not None:
        memory.append(format_descriptor(widest))
        out.widest_scale = memory[-1].pointer
    return Descriptor(out, memory)


def _fill_align(out: Any, facts: DatapathFacts) -> None:
    align = facts.align
    out.is_normalised, out.exponent_raise = align.exponent == "normalised", align.exponent_raise
    for name, wanted in (("frac", align.fraction_bits), ("integer", align.integer_bits), ("floor", align.floor)):
        setattr(out, f"{name}_rule", RULES[wanted] if isinstance(wanted, str) else lib.EMU_STATED)
        if isinstance(wanted, int):
            setattr(out, "floor_exp" if name == "floor" else f"{name}_bits", wanted)
    out.align_mode, out.wraps = ALIGN[align_direction_of(facts)], align.beyond == "wrap"
    out.cancelled_group_counts = align.cancelled_group_counts == "yes"


def _fill_c(out: Any, facts: DatapathFacts, d: Format, result: Descriptor) -> list[Any]:
    """Fill how C joins; return what the descriptor now points to."""
    out.c_kind = lib.EMU_C_ADDED if facts.late_c == "add" else lib.EMU_C_ALIGNED
    if isinstance(facts.late_c, LateC):
        out.c_kind, out.f2, out.drop_below = lib.EMU_C_REALIGNED, facts.late_c.f2, facts.late_c.drop_below
    if isinstance(facts.accumulator, Accumulator):
        out.c_kind, out.accumulator_bits = lib.EMU_C_LAST, facts.accumulator.bits
    if not isinstance(facts.promote, PromoteFacts):
        return []
    modes = [rounding_descriptor(get("rounding", getattr(facts.promote, name)), d, result) for name in ("scale_product", "term", "acc")]
    out.scale_product, out.term, out.sum = modes
    out.is_fused = facts.promote.fused == "yes"
    return modes


def point_to(made: Descriptor, facts: DatapathFacts, a: Format, b: Format, scale: Format | None, block: int) -> None:
    """Choose the operands of a descriptor."""
    out = made.pointer
    for name, fmt in (("a", a), ("b", b), ("scale", scale)):
        if fmt is not None:
            made.memory.append(format_descriptor(fmt))
            setattr(out, name, made.memory[-1].pointer)
    out.block = block
    out.step, out.group = (block if size == "block" else size for size in (facts.step, facts.group))


def can_dot(plan: DatapathPlan) -> bool:
    """Tell whether the C reference has this datapath: its widths are within the limits of emu_ref.h."""
    try:
        datapath_descriptor(plan)
    except EmuError:
        return False
    return True


def dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan) -> Codes:
    """Return the dot products of paired rows.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R].
    Returns: codes of the result format [R].   Exactness: equals emu.engines.exact.datapath.dot bit for bit.
    Raises: ShapeError, OperandError (codes), OpenError (an open bit or an overflowing accumulator, with its row), EngineError (limits).
    Source: the datapath's sources.   Tests: tests/engines/c_ref/test_c_datapath.py.
    """
    made = datapath_descriptor(plan)
    operands = _operands(a, b, scale_a, scale_b, plan)
    addend = _matrix(c.reshape(-1, 1), plan.c)
    out, marks = _result((a.shape[0], 1), plan)
    check(lib.emu_dot(made.pointer, *_pointers(*operands, addend), _pointer(out, marks), ffi.NULL), f"dot/{plan.name}")
    _refuse_open(marks, plan)
    return out.reshape(-1)


def matmul(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, plan: DatapathPlan, jobs: int = 1) -> Codes:
    """Return every row of A with every row of B: one ascending chain over K each.

    a: codes [M, K].   b: codes [N, K].   scale_a, scale_b: [M, K / block] and [N, K / block], None without scales.
    c: codes [M, N]; None: +0.   jobs: taken, and not used: the reference has one thread.
    Returns: codes [M, N].   Raises: as dot.
    Tests: tests/engines/c_ref/test_c_datapath.py.
    """
    made = datapath_descriptor(plan)
    operands = _operands(a, b, scale_a, scale_b, plan)
    addend = None if c is None else _matrix(c, plan.c)
    out, marks = _result((a.shape[0], b.shape[0]), plan)
    check(lib.emu_matmul(made.pointer, *_pointers(*operands, addend), _pointer(out, marks)), f"dot/{plan.name}")
    _refuse_open(marks, plan)
    return out


def dot_stages(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan
) -> list[Stages]:
    """Return every fused step of one row. Arguments: as emu.engines.exact.datapath.dot.   Raises: as dot."""
    made = datapath_descriptor(plan)
    scales = [None if plan.scale is None else _row(codes, plan.scale) for codes in (scale_a, scale_b)]
    x, y, addend = _row(a, plan.a), _row(b, plan.b), _row([c], plan.c)
    steps = len(a) // plan.step
    room = [(ffi.new("emu_term[]", plan.step), ffi.new("emu_wide[]", plan.step)) for _ in range(steps)]
    stages = ffi.new("emu_stages[]", [{"terms": terms, "aligned": aligned} for terms, aligned in room])
    out, marks = _result((1, 1), plan)
    check(lib.emu_dot(made.pointer, *_pointers(x, y, *scales, addend), _pointer(out, marks), stages), f"dot/{plan.name}")
    _refuse_open(marks, plan)
    return [_read_stages(stages[number], plan) for number in range(steps)]


def epilogue(d: Codes, alpha: int, c: Codes | None, facts: EpilogueFacts, plan: DatapathPlan) -> Codes:
    """Return alpha * D, then + C where c is given: codes of the shape of d.

    alpha: code, as `alpha` returns it.   c: codes, or None where C was in the dot product or there is none.
    Tests: tests/engines/c_ref/test_c_datapath.py.
    """
    made, chosen = datapath_descriptor(plan), _epilogue_descriptor(facts, c is not None, plan)
    x, addend = _matrix(_plane(d), plan.d), None if c is None else _matrix(_plane(c), plan.d)
    out: Codes = np.zeros(x.shape, code_dtype(plan.d))
    x_pointer, c_pointer = _pointers(x, addend)
    check(lib.emu_epilogue(made.pointer, chosen.pointer, x_pointer, alpha, c_pointer, _pointer(out)), f"epilogue of dot/{plan.name}")
    return out.reshape(d.shape)


def alpha(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return the code of scale a * scale b, rounded once: codes of binary32 multipliers in, code out."""
    made, chosen, out = datapath_descriptor(plan), _epilogue_descriptor(facts, False, plan), ffi.new("uint64_t *")
    check(lib.emu_alpha(made.pointer, chosen.pointer, scale_a, scale_b, out), f"epilogue of dot/{plan.name}")
    return int(out[0])


def add(x: Codes, y: Codes, plan: DatapathPlan) -> Codes:
    """Return x + y in the result format, ties to even: how partial results of split K join. Codes of one shape."""
    made = datapath_descriptor(plan)
    first, second = _matrix(_plane(x), plan.d), _matrix(_plane(y), plan.d)
    out: Codes = np.zeros(first.shape, code_dtype(plan.d))
    check(lib.emu_add_results(made.pointer, *_pointers(first, second), _pointer(out)), f"sum of dot/{plan.name}")
    return out.reshape(x.shape)


def _epilogue_descriptor(facts: EpilogueFacts, c_after: bool, plan: DatapathPlan) -> Descriptor:
    result = format_descriptor(plan.d)
    modes = [rounding_descriptor(get("rounding", name), plan.d, result) for name in (facts.alpha, facts.d)]
    made = {"alpha": modes[0], "d": modes[1], "c_after": c_after, "is_fused": facts.fused == "yes"}
    return Descriptor(ffi.new("emu_epilogue_facts *", made), modes)


def _plane(codes: Codes) -> Codes:
    return codes.reshape(1, -1)


def _matrix(codes: Codes, fmt: Format) -> Codes:
    return in_width(codes, fmt)


def _row(codes: Sequence[int], fmt: Format) -> Codes:
    return np.array([codes], code_dtype(fmt)).reshape(1, -1)


def _operands(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, plan: DatapathPlan) -> list[Codes | None]:
    scales = [None if codes is None or plan.scale is None else _matrix(codes, plan.scale) for codes in (scale_a, scale_b)]
    return [_matrix(a, plan.a), _matrix(b, plan.b), *scales]


def _pointer(array: Codes | None, marks: NDArray[np.uint8] | None = None) -> Any:
    return ffi.NULL if array is None else ffi.new("emu_matrix *", matrix(array, marks))


def _pointers(*arrays: Codes | None) -> list[Any]:
    return [_pointer(array) for array in arrays]


def _result(shape: tuple[int, int], plan: DatapathPlan) -> tuple[Codes, NDArray[np.uint8]]:
    return np.zeros(shape, code_dtype(plan.d)), np.zeros(shape, np.uint8)


def _refuse_open(marks: NDArray[np.uint8], plan: DatapathPlan) -> None:
    """Raise for the first result that nobody knows. Raises: OpenError."""
    found = np.argwhere(marks)
    if not found.size:
        return
    row, column = (int(place) for place in found[0])
    where = f"row {row}" if marks.shape[1] == 1 else f"row {row} of A with row {column} of B"
    why = "a code has an unused bit set"
    if plan.accumulator is not None:
        why = f"the {plan.accumulator.bits}-bit accumulator overflows (any values fit up to K = {plan.largest_k}), or {why}"
    raise OpenError(f"datapath {plan.datapath.id}: {where}: {why}")


def _read_stages(found: Any, plan: DatapathPlan) -> Stages:
    count = found.term_count
    terms = tuple((t.significand, t.lsb_exp, t.exp, bool(t.is_live), t.group_sum) for t in found.terms[0:count])
    aligned = tuple(_integer(number) for number in found.aligned[0 : 1 if plan.late_c is not None and not found.special else count])
    parts = tuple(found.parts[0 : plan.facts.split]) if plan.late_c is not None else ()
    numbers = (_integer(found.aligned_c), _integer(found.total))
    codes = (found.part_code, found.scale_code, found.term_code)
    return Stages(found.code, found.special, found.exp, found.lsb_exp, terms, aligned, *numbers, parts, *codes)


def _integer(number: Any) -> int:
    limbs = list(number.limbs)
    unsigned = sum(limb << (64 * place) for place, limb in enumerate(limbs))
    return int(unsigned - (1 << (64 * len(limbs))) if limbs[-1] >> 63 else unsigned)
