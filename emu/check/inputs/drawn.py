"""Drawn numbers and blocks of the strata: every exponent, decision points, powers of two, zeros. Not here: the suites (inputs_bulk.py)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.errors import EmuError
from emu.base.philox import words
from emu.contracts.form import Bits, Form, integer_dtype
from emu.contracts.grid import code_at
from emu.engines.run import run_dequantize, run_quantize
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.strategies import decision_points


def numbers(source: Format, to: Format, size: int, key: int, stream: int) -> Bits:
    """Return source codes: half with every exponent alike, half beside the decision points of the destination, 0 .. 2^k ulps away."""
    facts, derived = source.facts, derive.codes(source)
    drawn = words(key, 2 * size, 0, stream).reshape(2, size)
    kind = np.dtype(integer_dtype(source))
    wide = (drawn[0].astype(np.uint64) << np.uint64(32) | drawn[1]).astype(kind if kind.itemsize == 8 else np.uint64)
    out: Bits = (wide & np.uint64((1 << derived.bits) - 1)).astype(kind)
    if not isinstance(facts, FloatFacts):
        return out
    near = np.array([code_at(point, source) for point in decision_points(to)], np.int64)
    half = size // 2
    chosen = near[drawn[0][:half] % near.size]
    reach = np.int64(1) << (drawn[1][:half] % np.uint32(facts.frac_bits)).astype(np.int64)
    away = (drawn[1][:half] >> np.uint32(8)).astype(np.int64) % (2 * reach + 1) - reach
    beside = np.clip(chosen + away, 0, derived.max_code).astype(kind)
    sign = (drawn[0][:half] >> np.uint32(31)).astype(kind) * kind.type(derived.sign_bit)
    out[:half] = beside | sign
    return out


def blocks(form: Form, source: Format, size: int, key: int, stream: int) -> Bits:
    """Return elements of blocks of kinds in turn: one binade, 8 binades, ties of the grid, powers of two, tiny, huge."""
    lanes = 16 if form.block is None else form.block.facts.shape[0] * form.block.facts.shape[1]
    columns = 16 if form.block is None else form.block.facts.shape[1]
    count = -(-size // lanes) * (lanes // columns)
    facts, derived = source.facts, derive.codes(source)
    assert isinstance(facts, FloatFacts)
    drawn = words(key, count * columns, 0, stream).reshape(count, columns)
    kind = np.dtype(integer_dtype(source))
    bias, frac = facts.bias, facts.frac_bits
    which = np.arange(count) % 8
    span = np.where(which == 0, 1, np.where(which == 1, 8, np.where(which == 2, 3, 4)))[:, None]
    centre = _centres(drawn[:, 0], which, bias)[:, None]
    field = np.clip(centre - (drawn >> np.uint32(24)).astype(np.int64) % span, 0, 2 * bias).astype(np.uint64)
    fraction = (drawn & np.uint32((1 << min(frac, 23)) - 1)).astype(np.uint64)
    fraction[which == 3] = 0
    out = (field << np.uint64(frac) | fraction).astype(kind)
    out[which == 4] &= np.where(drawn[which == 4] & np.uint32(0x700), 0xFFFFFFFF, 0).astype(kind)  # some zeros
    out |= (drawn >> np.uint32(31)).astype(kind) * kind.type(derived.sign_bit)
    if form.op == "quantize":
        ties = np.flatnonzero((which == 2) | (which == 6))
        out[ties] = _ties(form, source, out[ties], drawn[ties])
    found: Bits = out.reshape(-1)[:size]
    return found


def _centres(drawn: Bits, which: Bits, bias: int) -> Bits:
    """Return the exponent field of each block's largest elements: near one; for some blocks anywhere; for some of them subnormal."""
    near = bias + (drawn >> np.uint32(8)).astype(np.int64) % 8 - 4
    anywhere = 1 + (drawn >> np.uint32(4)).astype(np.int64) % (2 * bias)
    return np.where(which == 5, anywhere, np.where(which == 7, np.where(drawn & np.uint32(64), 1, 2), near))


def _ties(form: Form, source: Format, x: Bits, drawn: Bits) -> Bits:
    """Replace elements but the first of each block by midpoints of the grid under the scale that it gets, at most an ulp beside."""
    assert form.block is not None
    recipe = get("recipe", form.contract.parts[0])
    tall, wide = form.block.facts.shape
    rows = len(x) // tall * tall
    if not rows or form.draws is not None or "signs" in form.extras:
        return x
    try:
        codes, levels = run_quantize(recipe, x[:rows], source, engine="auto")
        one = np.full(codes.shape, code_at(Fraction(1), get("format", form.block.element_formats[0])), codes.dtype)
        unit = run_dequantize(recipe, one, levels, profile=None, result=get("format", "fp32"), engine="auto").view(np.float32)
    except EmuError:
        return x
    points = np.array([float(point) for point in decision_points(form.block.element_formats[0])], np.float32)
    with np.errstate(all="ignore"):
        near = (points[drawn[:rows] % points.size] * unit[:rows, :wide]).astype(float_dtype(source))
    bits = near.view(integer_dtype(source)).astype(np.int64) + (drawn[:rows] >> np.uint32(16)).astype(np.int64) % 3 - 1
    beside = np.clip(bits, 0, derive.codes(source).max_code).astype(x.dtype)
    biggest = np.argmax(x[:rows] & x.dtype.type(derive.codes(source).sign_bit - 1), axis=1)
    out = x.copy()
    out[:rows] = beside | (x[:rows] & x.dtype.type(derive.codes(source).sign_bit))
    out[np.arange(rows), biggest] = x[np.arange(rows), biggest]
    return out
