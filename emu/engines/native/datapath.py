"""Engine `native`, dot products and matrix products by the kernel: datapaths that align terms and cut them toward zero.

What the kernel takes, can_dot says. Tables of the formats come from the C reference, not from the reference model.
"""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import lcm
from typing import Any, Final

import numpy as np

from emu.base.caches import Cache
from emu.base.errors import EngineError, OpenError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.convert import decode
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, address, check, workspace
from emu.engines.native.tables import is_source
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import is_nearest_even
from emu.spec.models import Format
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.models.levels import EpilogueFacts
from emu.spec.reach import frac_bits_of, reach
from emu.spec.registry import get

PANEL_ROWS, PANEL_COLUMNS = 256, 256  # outputs of one call of the kernel
CHUNK = 4096  # elements of K of one call: what the outputs carry from call to call is their codes
GROUPS: Final = (16, 32)
TERMS_AT_ONCE: Final = 16  # single products that the kernel adds in 32 bits
NO_FLOOR: Final = -600  # below every exponent
FAR: Final = 900  # exponents that numbers and E keep to: 2^52 units of a sum are a binary64 number too
INFINITE: Final = 3  # value_class of emu.engines.c_ref.convert.decode
NAN: Final = 4

_plans: Cache[Hashable, tuple[Any, list[Any]]] = Cache("emu.engines.native.datapath._plans", 256)


def can_dot(plan: DatapathPlan) -> bool:
    """Tell whether the kernel takes a plan: aligned terms cut toward zero, groups of 16 or 32 or single products, in sums that it holds."""
    facts = plan.facts
    align, special = facts.align, facts.special
    simple = facts.late_c == "none" and facts.accumulator == "none" and facts.promote == "none" and plan.frac_bits is not None
    plain = align.exponent == "nominal" and plan.align_direction == "rz" and align.beyond == "never" and align.include_c == "yes"
    rounded = plan.round_direction in ("rz", "rne") and facts.round.overflow == "inf" and facts.subnormal.result == "gradual"
    kept = special.zero == "plus" and special.nan_scale == "always" and facts.subnormal.c == "keep"
    if not (simple and plain and rounded and kept) or not is_source(plan.d):
        return False
    if any(not isinstance(fmt.facts, FloatFacts | IntegerFacts) or derive.codes(fmt).bits > 16 for fmt in (plan.a, plan.b)):
        return False
    if plan.scale is not None and (derive.codes(plan.scale).bits > 8 or derive.codes(plan.scale).sign_bit or _infinite(plan.scale)):
        return False
    found = plan.extent
    if found.low <= NO_FLOOR or max(found.high, found.top, -found.unit) > FAR:
        return False
    return _groups(plan, facts) if facts.scale.apply == "group" else _products(plan)


def _groups(plan: DatapathPlan, facts: DatapathFacts) -> bool:
    """Tell whether group sums fit binary32, and the aligned sum 2^51."""
    assert plan.frac_bits is not None
    fits = plan.widths.term_bits <= 24 and plan.frac_bits + plan.integer_bits_needed <= 50
    counted = facts.align.cancelled_group_counts == "yes" and not _infinite(plan.a) and not _infinite(plan.b)
    return fits and counted and plan.group in GROUPS and plan.step // plan.group <= lib.EMU_DOT_MAX_TERMS


def _products(plan: DatapathPlan) -> bool:
    """Tell whether products fit binary32, and 16 aligned ones 32 bits.

    A product is `significand` times 2^e at most, e the exponent that it names: below 4 of two floats, far more of integers, which name
    their unit. E is e + exponent_raise at least.
    """
    assert plan.frac_bits is not None
    powers = plan.scale is None or isinstance(plan.scale.facts, ExponentFacts)
    significand = reach(plan.a).significand * reach(plan.b).significand
    aligned = TERMS_AT_ONCE * significand * Fraction(2) ** (plan.frac_bits - int(plan.facts.align.exponent_raise))
    fits = plan.widths.term_bits <= 24 and plan.frac_bits <= 25 and aligned < 1 << 31
    return powers and fits and plan.facts.align.cancelled_group_counts == "yes"


def _infinite(fmt: Format) -> bool:
    return derive.codes(fmt).inf is not None


def _plan_of(plan: DatapathPlan) -> tuple[Any, list[Any]]:
    """Return the emu_dot of a plan, and what it points to, which must live as long as it is used."""
    found = _plans.get(plan.key)
    if found is None:
        kept: list[Any] = []
        found = _plans.keep(plan.key, (_describe(plan, kept), kept))
    return found


def _describe(plan: DatapathPlan, kept: list[Any]) -> Any:
    facts = plan.facts
    grouped = facts.scale.apply == "group"
    out = ffi.new("emu_dot *")
    _fill(out.a, plan.a, facts.subnormal.elements == "flush", grouped, kept)
    _fill(out.b, plan.b, facts.subnormal.elements == "flush", grouped, kept)
    if plan.scale is not None:
        _fill(out.scale, plan.scale, facts.subnormal.scales == "flush", False, kept)
    out.step, out.group, out.block = plan.step, plan.group if grouped else 1, plan.block
    out.frac_bits, out.raised = plan.frac_bits, facts.align.exponent_raise
    out.low_bits = plan.product_frac_bits + plan.scale_frac_bits - (plan.product_exp if grouped else 0)
    out.floor = NO_FLOOR if plan.floor is None else max(plan.floor, NO_FLOOR)
    out.nearest, out.keep = plan.round_direction == "rne", facts.round.keep
    _fill_result(out, plan)
    return out


def _fill_result(out: Any, plan: DatapathPlan) -> None:
    """Fill what an emu_dot says of the result format."""
    codes = derive.codes(plan.d)
    assert isinstance(plan.d.facts, FloatFacts)
    out.d_bytes, out.d_frac_bits = np.dtype(code_dtype(plan.d)).itemsize, plan.d.facts.frac_bits
    out.d_lowest = 1 - plan.d.facts.bias
    out.d_max, out.d_inf, out.d_sign = codes.max_code, codes.inf, codes.sign_bit
    out.d_nan = plan.nan_code


def _fill(out: Any, fmt: Format, flush: bool, grouped: bool, kept: list[Any]) -> None:
    """Fill the emu_dot_format of a format, with an entry for every number of its bytes. grouped: in units of the finest element."""
    width = np.dtype(code_dtype(fmt)).itemsize
    codes: Codes = (np.arange(1 << (8 * width)) & ((1 << derive.codes(fmt).bits) - 1)).astype(code_dtype(fmt))
    found = decode(codes, fmt)
    special = found.value_class >= INFINITE
    dead = special | (found.value_class == 0) | ((found.value_class == 1) & flush)
    size = found.significand.astype(np.int64)
    if grouped:
        size <<= np.where(dead, 0, found.lsb_exp - found.lsb_exp[~dead].min())
    significand = np.where(dead, 0, np.where(found.sign != 0, -size, size)).astype(np.float32)
    kind = np.where(dead & ~special, lib.EMU_KIND_ZERO, 0) | np.where(found.sign != 0, lib.EMU_KIND_MINUS, 0)
    kind |= np.where(found.value_class == INFINITE, lib.EMU_KIND_INF, 0) | np.where(found.value_class >= NAN, lib.EMU_KIND_NAN, 0)
    exp = np.where(dead, lib.EMU_DOT_DEAD, found.lsb_exp + frac_bits_of(fmt))
    arrays = significand, exp.astype(np.int32), kind.astype(np.uint8)
    pointers = [ffi.from_buffer(f"{name}[]", array) for name, array in zip(("float", "int32_t", "uint8_t"), arrays, strict=True)]
    kept += [*arrays, *pointers]
    out.bytes, (out.significand, out.exp, out.kind) = width, pointers


def dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan, *, form: int = BEST_FORM) -> Codes:
    """Return the results of a datapath for rows of A and B in pairs.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R].   Returns: codes [R].
    NaN, infinity, zero, subnormals, overflow: as the datapath says.   form: of emu/engines/native/kernels/kernels.h.
    Raises: EngineError (the kernel cannot; a changed float environment), OpenError (an open bit).
    Exactness: equals emu.engines.exact.datapath.dot bit for bit.   Source: the datapath's sources.
    Tests: tests/engines/native/test_native_datapath.py.
    """
    operands = _checked(a, b, scale_a, scale_b, plan)
    out = np.array(c, code_dtype(plan.d))
    for start in range(0, len(out), PANEL_ROWS):
        part = slice(start, start + PANEL_ROWS)
        _panel([None if x is None else x[part] for x in operands], out[part], plan, form, paired=True)
    return out


def matmul(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    plan: DatapathPlan,
    jobs: int = 1,
    *,
    form: int = BEST_FORM,
) -> Codes:
    """Return A times B transposed plus C: one ascending chain over K for each output.

    a, b: codes [M, K] and [N, K].   scale_a, scale_b: codes [M, K / block] and [N, K / block].   c: codes [M, N], None for +0.
    jobs: threads, each on panels of its own; the bits do not depend on it.   Returns: codes [M, N].   Raises: as dot.
    """
    left, right, scale_left, scale_right = _checked(a, b, scale_a, scale_b, plan)
    rows, columns = len(a), len(b)
    out = np.zeros((rows, columns), code_dtype(plan.d)) if c is None else np.array(c, code_dtype(plan.d), order="C")

    def work(place: tuple[int, int]) -> None:
        down, across = slice(place[0], place[0] + PANEL_ROWS), slice(place[1], place[1] + PANEL_COLUMNS)
        scales = [None if x is None else x[part] for x, part in ((scale_left, down), (scale_right, across))]
        _panel([left[down], right[across], *scales], out[down, across], plan, form, paired=False)

    places = [(i, j) for i in range(0, rows, PANEL_ROWS) for j in range(0, columns, PANEL_COLUMNS)]
    if jobs > 1 and len(places) > 1:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, places))
    else:
        for place in places:
            work(place)
    return out


def _checked(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, plan: DatapathPlan) -> list[Any]:
    """Return operands in the dtypes of their formats. Raises: EngineError, OpenError."""
    if not can_dot(plan):
        raise EngineError(f"engine native cannot add as {plan.name} does: use engine='numpy'")
    ignored = plan.facts.scale.unused_bits == "ignore"
    operands: list[Any] = [_bare(a, plan.a, False), _bare(b, plan.b, False)]
    operands += [None if plan.scale is None or scales is None else _bare(scales, plan.scale, ignored) for scales in (scale_a, scale_b)]
    return operands


def _bare(codes: Codes, fmt: Format, ignored: bool) -> Codes:
    """Return codes in the dtype of their format. ignored: whether a set bit above them means nothing.   Raises: OpenError."""
    array = np.ascontiguousarray(codes, code_dtype(fmt))
    bits = derive.codes(fmt).bits
    if not ignored and derive.unused_high_bits(fmt) and array.size and int(array.max()) >> bits:
        raise OpenError(f"{fmt.id} code {int(array.max()):#04x}: what a set bit {bits} means is open")
    return array


def _panel(operands: list[Any], out: Codes, plan: DatapathPlan, form: int, paired: bool) -> None:
    """Run the kernel on operands [rows, K], [columns, K] and their scales; out: codes of C, which become those of D, in place."""
    (described, _kept), (a, b, scale_a, scale_b) = _plan_of(plan), operands
    rows, columns, stride = len(a), len(b), out.strides[0] // out.itemsize
    target = ffi.cast("void *", out.ctypes.data)
    for k in _chunks(a.shape[1], plan):
        part = [np.ascontiguousarray(x[:, k]) for x in (a, b)]
        scales = [
            None if x is None else np.ascontiguousarray(x[:, k.start // plan.block : k.stop // plan.block]) for x in (scale_a, scale_b)
        ]
        length = k.stop - k.start
        room = workspace(lib.emu_dot_room(described, rows, columns, length), np.uint8)
        of_a, of_b = (ffi.NULL if x is None else address(x) for x in scales)
        given = address(part[0]), address(part[1]), of_a, of_b, rows, columns, length
        check(lib.emu_dot_panel(form, described, *given, paired, target, stride, address(room)))


def _chunks(size: int, plan: DatapathPlan) -> list[slice]:
    """Return parts of the K axis, each a whole number of instructions and blocks."""
    unit = lcm(plan.facts.k, plan.block or 1)
    length = max(CHUNK // unit, 1) * unit
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def alpha(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return alpha = round(scale a * scale b): binary32 codes of the multipliers in, code out. Raises: EngineError."""
    _check_rounding(facts.alpha)
    return int(_epilogue(np.array([scale_a], code_dtype(plan.d)), scale_b, None, False, plan)[0])


def epilogue(d: Codes, alpha: int, c: Codes | None, facts: EpilogueFacts, plan: DatapathPlan) -> Codes:
    """Return the codes of alpha * D, then + C where the epilogue adds it.

    d, c: binary32 codes, any shape; c None: nothing to add, or C was in the dot product.   alpha: binary32 code.
    fused yes: one rounding for product and sum.   Zeros as IEEE 754 has them; NaN is the datapath's.
    Raises: EngineError (a rounding other than to nearest even).
    """
    _check_rounding(facts.d)
    return _epilogue(d, alpha, c, facts.fused == "yes", plan)


def add(x: Codes, y: Codes, plan: DatapathPlan) -> Codes:
    """Return x + y in the result format, to nearest even: what joins the parts of a split K. NaN is the datapath's."""
    assert isinstance(plan.d.facts, FloatFacts)
    return _epilogue(x, plan.d.facts.bias << plan.d.facts.frac_bits, y, False, plan)


def _check_rounding(name: str) -> None:
    if not is_nearest_even(get("rounding", name)):
        raise EngineError(f"engine native rounds an epilogue to nearest even, not by {name}: use engine='numpy'")


def _epilogue(d: Codes, alpha: int, c: Codes | None, fused: bool, plan: DatapathPlan) -> Codes:
    given = np.ascontiguousarray(d, code_dtype(plan.d))
    addend = None if c is None else np.ascontiguousarray(np.broadcast_to(c, given.shape), code_dtype(plan.d))
    out: Codes = np.empty_like(given)
    pointer = ffi.NULL if addend is None else address(addend)
    described = ffi.new("emu_dot *")
    _fill_result(described, plan)
    check(lib.emu_dot_epilogue(described, alpha, address(given), pointer, given.size, fused, address(out)))
    return out
