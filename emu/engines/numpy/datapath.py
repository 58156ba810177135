"""dot and matmul on arrays of codes: exact sums in binary64, tile by tile. What this engine leaves out, can_dot says.

Memory is bounded by tiles of outputs and chunks of K, never M x N x K. Threads work on different tiles: the same bits.
Not here: lengths and code ranges (the caller checks them once), the choice of formats (emu.spec.datapath).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import lcm

import numpy as np

from emu.base.errors import OpenError
from emu.engines.numpy.arithmetic import binary
from emu.engines.numpy.arithmetic import fused as multiply_add
from emu.engines.numpy.convert import code_dtype, to_fp32
from emu.engines.numpy.datapath_chain import Overflow, Promote, Register, Steps
from emu.engines.numpy.datapath_operands import decode_side, table_of
from emu.engines.numpy.datapath_round import F64, Codes, encode_values
from emu.engines.numpy.datapath_shape import Shape, fault, shape_of
from emu.spec.datapath import DatapathPlan
from emu.spec.models.levels import EpilogueFacts
from emu.spec.registry import get

PANEL_ROWS, PANEL_COLUMNS = 256, 512  # operands are decoded once for so many outputs
TILE_ROWS, TILE_COLUMNS = 64, 256  # outputs that are worked on at a time: they fit the second cache
CHUNK = 2048  # elements of K that are decoded at a time
PAIRS = 4096  # rows of `dot` that are worked on at a time


def can_dot(plan: DatapathPlan) -> bool:
    """Tell whether this engine takes a plan: elements of at most 16 bits, results in fp32, fp16 or bf16, sums that binary64 holds."""
    return fault(plan) is None


def dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan) -> Codes:
    """Return the results of a datapath for rows of A and B in pairs.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R].   Returns: codes [R].
    NaN, infinity, zero, subnormals, overflow: as the datapath says.
    Raises: OpenError (an open bit; an accumulator that overflows, with its row).
    Needs: default rounding mode, subnormals not flushed (emu.engines.numpy.environment checks).
    Exactness: equals emu.engines.exact.datapath.dot bit for bit.   Source: the datapath's sources.
    Tests: tests/engines/numpy/test_numpy_datapath.py.
    """
    out = np.empty(c.shape, code_dtype(plan.d))
    for start in range(0, len(c), PAIRS):
        rows = slice(start, start + PAIRS)
        sides = [None if x is None else x[rows, np.newaxis, :] for x in (a, b, scale_a, scale_b)]
        assert sides[0] is not None and sides[1] is not None
        try:
            out[rows] = _panel(sides[0], sides[1], sides[2], sides[3], c[rows, np.newaxis, np.newaxis], plan)[:, 0, 0]
        except Overflow as error:
            raise OpenError(f"row {start + error.place[0]}: {error}") from None
    return out


def matmul(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, plan: DatapathPlan, jobs: int = 1) -> Codes:
    """Return A times B transposed plus C: one ascending chain over K for each output.

    a, b: codes [M, K] and [N, K].   scale_a, scale_b: codes [M, K / block] and [N, K / block].   c: codes [M, N], None for +0.
    jobs: threads, each on tiles of its own; the bits do not depend on it.   Returns: codes [M, N].   Raises: as dot.
    """
    rows, columns = len(a), len(b)
    out = np.zeros((rows, columns), code_dtype(plan.d)) if c is None else c.astype(code_dtype(plan.d))
    places = [(i, j) for i in range(0, rows, PANEL_ROWS) for j in range(0, columns, PANEL_COLUMNS)]

    def work(place: tuple[int, int]) -> None:
        down, across = slice(place[0], place[0] + PANEL_ROWS), slice(place[1], place[1] + PANEL_COLUMNS)
        left, right = (None if x is None else x[part] for x, part in ((scale_a, down), (scale_b, across)))
        try:
            out[down, across] = _panel(a[down], b[across], left, right, out[down, across], plan)
        except Overflow as error:
            raise OpenError(f"row {place[0] + error.place[0]}, column {place[1] + error.place[1]}: {error}") from None

    if jobs > 1 and len(places) > 1:
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(work, places))
    else:
        for place in places:
            work(place)
    return out


def _panel(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan) -> Codes:
    """Return the results of a panel: operands [..., rows, K], C [..., rows of a, rows of b]."""
    shape = shape_of(plan)
    if shape.kind == "promote":
        return _promote(a, b, scale_a, scale_b, c, shape)
    start: Callable[[Codes, Shape], Steps | Register] = Register if shape.kind == "register" else Steps
    tiles = _tiles(c)
    chains = [start(c[..., down, across], shape) for down, across in tiles]
    for k in _chunks(a.shape[-1], plan):
        left, right = (
            decode_side(codes[..., k], None if scales is None else scales[..., _blocks(k, plan)], fmt, shape)
            for codes, scales, fmt in ((a, scale_a, plan.a), (b, scale_b, plan.b))
        )
        for chain, (down, across) in zip(chains, tiles, strict=True):
            alone = len(tiles) == 1
            chain.add(left if alone else left.rows(down), right if alone else right.rows(across))
    return _joined(c, tiles, chains)


def _joined(c: Codes, tiles: list[tuple[slice, slice]], chains: list[Steps | Register]) -> Codes:
    out: Codes = np.empty_like(c)
    for chain, (down, across) in zip(chains, tiles, strict=True):
        try:
            out[..., down, across] = chain.codes()
        except Overflow as error:
            error.place = (*error.place[:-2], error.place[-2] + down.start, error.place[-1] + across.start)
            raise
    return out


def _tiles(c: Codes) -> list[tuple[slice, slice]]:
    """Return the tiles of a panel of outputs; one where the panel has a leading axis."""
    rows, columns = c.shape[-2:]
    return [
        (slice(i, i + TILE_ROWS), slice(j, j + TILE_COLUMNS)) for i in range(0, rows, TILE_ROWS) for j in range(0, columns, TILE_COLUMNS)
    ]


def _chunks(size: int, plan: DatapathPlan) -> list[slice]:
    """Return parts of the K axis, each a whole number of instructions and blocks."""
    unit = lcm(plan.facts.k, plan.block or 1)
    length = max(CHUNK // unit, 1) * unit
    return [slice(start, min(start + length, size)) for start in range(0, size, length)]


def _blocks(k: slice, plan: DatapathPlan) -> slice:
    return slice(k.start // plan.block, k.stop // plan.block)


def _promote(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, shape: Shape) -> Codes:
    """Return the results of a panel with binary32 block scales."""
    plan = shape.plan
    assert scale_a is not None and scale_b is not None
    tables = [table_of(fmt, plan.facts.subnormal.elements == "flush").value for fmt in (plan.a, plan.b)]
    tiles = _tiles(c)
    chains = [Promote(c[..., down, across], shape) for down, across in tiles]
    for k in _chunks(a.shape[-1], plan):
        blocks = _blocks(k, plan)
        left, right = tables[0][a[..., k]], tables[1][b[..., k]]
        for chain, (down, across) in zip(chains, tiles, strict=True):
            scales = scale_a[..., down, blocks], scale_b[..., across, blocks]
            chain.add_scaled(left[..., down, :], right[..., across, :], *scales)
    out: Codes = np.empty_like(c)
    for chain, (down, across) in zip(chains, tiles, strict=True):
        out[..., down, across] = chain.codes()
    return out


def alpha(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return alpha = round(scale a * scale b): binary32 codes of the multipliers in, code out."""
    x, y = (to_fp32(np.array([code], np.uint32), plan.d) for code in (scale_a, scale_b))
    with np.errstate(all="ignore"):
        return int(_encode(binary("mul", x, y, plan.d, get("rounding", facts.alpha)), plan)[0])


def epilogue(d: Codes, alpha: int, c: Codes | None, facts: EpilogueFacts, plan: DatapathPlan) -> Codes:
    """Return the codes of alpha * D, then + C where the epilogue adds it.

    d, c: binary32 codes, any shape; c None: nothing to add, or C was in the dot product.   alpha: binary32 code.
    fused yes: one rounding for product and sum.   Zeros as IEEE 754 has them; NaN is the datapath's.
    """
    rounding = get("rounding", facts.d)
    by, values = to_fp32(np.array([alpha], np.uint32), plan.d), to_fp32(d, plan.d)
    with np.errstate(all="ignore"):
        if c is not None and facts.fused == "yes":
            return _encode(multiply_add(by, values, to_fp32(c, plan.d), plan.d, rounding), plan)
        scaled = binary("mul", by, values, plan.d, rounding)
        return _encode(scaled if c is None else binary("add", scaled, to_fp32(c, plan.d), plan.d, rounding), plan)


def add(x: Codes, y: Codes, plan: DatapathPlan) -> Codes:
    """Return x + y in the result format, to nearest even: what joins the parts of a split K. NaN is the datapath's."""
    with np.errstate(all="ignore"):
        return _encode(binary("add", to_fp32(x, plan.d), to_fp32(y, plan.d), plan.d, get("rounding", "rne")), plan)


def _encode(values: F64 | np.ndarray[tuple[int, ...], np.dtype[np.float32]], plan: DatapathPlan) -> Codes:
    with np.errstate(invalid="ignore"):
        return encode_values(values.astype(np.float64), plan.d, plan.nan_code)
