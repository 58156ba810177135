"""INT4, E1M2 and E0M3 are one grid of steps k = -7 .. 7: what of it holds bit for bit, under which scales; over all bf16 significands.

Counted, never assumed: elements whose step differs, scale codes that differ after the power of two between the grids, values that differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from emu.analysis.cells import CELLS
from emu.analysis.cells import GRIDS as CELL_GRIDS
from emu.engines.exact.decode import decode_code
from emu.ops import functions as api
from emu.ops.matmul import matmul
from emu.ops.quantized import Quantized
from emu.spec import Format, derive, get
from research.reproduction.data import draw

Array = NDArray[Any]
GRIDS: Final = ("e1m2", "int4", "e0m3")
GROUPS: Final = {codec: tuple(recipes[CELL_GRIDS.index(grid)] for grid in GRIDS) for codec, recipes in CELLS.items()}
TWO_LEVELS: Final = "ue4m3_fp32"
DATAPATHS: Final = ("ideal", "int64")
SIGNIFICANDS: Final = 128  # of bf16
GAPS: Final = 6  # binades below the block maximum that are asked
QUICK: Final = 8  # every eighth significand


@dataclass(frozen=True)
class Equivalence:
    """Two recipes on the same blocks. elements: how many.   steps: elements whose step k differs.   scales: blocks whose scale differs by
    something else than `ratio`.   ratio: scale of the first / scale of the other, as the grids ask, or 1.   values: elements whose value
    differs; +0 and -0 are one value."""

    codec: str
    first: str
    other: str
    elements: int
    blocks: int
    steps: int
    scales: int
    ratio: str
    values: int


def step_map(fmt: str | Format) -> dict[int, int]:
    """Return code -> step k of a uniform 4-bit grid; codes outside -7 .. 7 (INT4's -8) are left out."""
    model: Format = get("format", fmt)
    values = {code: decode_code(code, model).signed for code in range(1 << derive.codes(model).bits)}
    unit = min(abs(value) for value in values.values() if value)
    return {code: int(value / unit) for code, value in values.items() if abs(value / unit) < len(values) // 2}


def unit_of(fmt: str | Format) -> Fraction:
    """Return the spacing of a uniform grid."""
    model: Format = get("format", fmt)
    values = {decode_code(code, model).signed for code in range(1 << derive.codes(model).bits)}
    return min(abs(value) for value in values if value)


def blocks(every: int = 1, width: int = 16) -> Array:
    """Return blocks of bf16 in which each maximum of [1, 2) meets each smaller magnitude down to 2^-GAPS, signs alternating.

    every: takes one significand in so many of the maximum.   width: of a block.   Returns: bfloat16 [blocks, width], the maximum first.
    """
    sizes = np.concatenate([(1 + np.arange(SIGNIFICANDS) / SIGNIFICANDS) * 2.0**-gap for gap in range(GAPS)] + [np.zeros(1)])
    found = []
    for top in 1 + np.arange(0, SIGNIFICANDS, every) / SIGNIFICANDS:
        inside = sizes[sizes <= top]
        rest = np.resize(inside, -(-inside.size // (width - 1)) * (width - 1)).reshape(-1, width - 1)
        found.append(np.concatenate([np.full((len(rest), 1), top), rest], axis=1))
    whole = np.concatenate(found)
    whole[:, 1::2] *= -1
    made: Array = whole.astype(bfloat16)
    return made


def amaxes(codec: str, every: int) -> list[Any]:
    """Return the tensor maxima that are asked: each bf16 significand under two-level scales, none (taken from the tensor) elsewhere."""
    if codec != TWO_LEVELS:
        return [None]
    return [np.float32(2 + number / (SIGNIFICANDS // 2)) for number in range(0, SIGNIFICANDS, every)]


def compare(codec: str, other: str, every: int = 1, engine: str = "auto") -> Equivalence:
    """Quantize the same blocks by the first recipe of a group and by another one, and count what differs. Raises: as emu.quantize."""
    first = GROUPS[codec][0]
    width = get("block", get("recipe", first).facts.block).facts.shape[1]
    x = blocks(every, width)
    counts = np.zeros(4, np.int64)
    ratio = ""
    for tensor_amax in amaxes(codec, every):
        pair = [api.quantize(x, name, tensor_amax=tensor_amax, engine=engine) for name in (first, other)]
        found, ratio = _differences(*pair)
        counts += found
    steps, scales, values, asked = (int(count) for count in counts)
    return Equivalence(codec, first, other, asked, asked // width, steps, scales, ratio, values)


def _differences(a: Quantized, b: Quantized) -> tuple[Array, str]:
    """Count differing steps, scales (up to the power of two between the grids, where a scale holds it) and values, and elements."""
    formats = [item.block.facts.element.format for item in (a, b)]  # type: ignore[union-attr]
    steps = [_steps(item.codes, name) for item, name in zip((a, b), formats, strict=True)]
    scales = [item.levels[-1] for item in (a, b)]
    worth = [api.decode(level.codes, level.format, np.float64) for level in scales]
    ratio = unit_of(formats[1]) / unit_of(formats[0]) if len(a.levels) == 1 else Fraction(1)
    values = [item.dequantize(np.float32) for item in (a, b)]
    different = np.count_nonzero(worth[0] != worth[1] * float(ratio))
    found = np.array([np.count_nonzero(steps[0] != steps[1]), different, np.count_nonzero(values[0] != values[1]), a.codes.size])
    return found, str(ratio)


def _steps(codes: Array, fmt: str) -> Array:
    table = np.full(16, 99)
    for code, step in step_map(fmt).items():
        table[code] = step
    found: Array = table[codes]
    return found


def equivalences(every: int = 1, engine: str = "auto") -> Iterator[Equivalence]:
    """Yield the comparison of every group's first recipe with its others."""
    for codec, recipes in GROUPS.items():
        for other in recipes[1:]:
            yield compare(codec, other, every, engine)


def products(engine: str = "auto", shape: tuple[int, int, int] = (32, 32, 512)) -> Iterator[dict[str, Any]]:
    """Yield, for each datapath and recipe with UE4M3 scales, how many result bits differ from those of the first recipe.

    shape: M, N, K of a drawn product with outliers.
    """
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = draw("lognormal_1.0", (m, k), rng), draw("lognormal_1.0", (n, k), rng)
    for name in DATAPATHS:
        results = {}
        for recipe in GROUPS[TWO_LEVELS]:
            left, right = api.quantize(a, recipe, engine=engine), api.quantize(b, recipe, engine=engine)
            results[recipe] = matmul(left, right.T, name, bits=True, engine=engine)
        first = results[GROUPS[TWO_LEVELS][0]]
        for recipe in GROUPS[TWO_LEVELS][1:]:
            yield {
                "datapath": name,
                "first": GROUPS[TWO_LEVELS][0],
                "other": recipe,
                "results": int(first.size),
                "different": int(np.count_nonzero(first != results[recipe])),
            }
