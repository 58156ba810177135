"""What quantization costs a matrix product, and what the datapath adds: elements x scale codecs x datapaths x data.

Quantization error: the exact product of the quantized operands against the product of the given ones. Datapath error: what the datapath
makes of the quantized operands against their exact product. The first is measured in binary64, the second in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes
from emu.base.errors import SpecError
from emu.engines.datapath import run_matmul
from emu.ops import functions as api
from emu.ops.operands import Operand, operand_of
from emu.ops.quantized import Quantized
from emu.spec import Datapath, Recipe, get
from emu.spec.datapath import DatapathPlan, resolve
from research.datapath.data import OUTPUTS, Data
from research.datapath.exact import Errors, ExactSums, errors, exact_sums

RECIPES: Final = (
    "nvfp4_te_ref", "nvufp4", "f46_nvint4", "nve0m3",
    "study_e2m1_ue5m3", "study_e1m2_ue5m3", "study_int4_ue5m3",
    "mxfp4_torchao_floor", "mxe1m2_floor", "study_mxint4",
    "e2m1_fp32scale", "e1m2_fp32scale", "study_int4_fp32scale",
)  # fmt: skip
DATAPATHS: Final = (
    "blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf4_b32_ue8m0", "ideal", "nv_like", "nv_like_exact", "cheap", "late_c", "int64", "promote",
)  # fmt: skip
WIDEST_ADDER: Final = 64
ROTATION: Final = "rht16_ufp4"
SIGNS: Final = 0xD7E8
OTHER_SIGNS: Final = (0x289E, 0x9B3C, 0x51F6)  # null pairs: the same rotation under other signs


@dataclass(frozen=True, eq=False)
class Operands:
    """Both sides of one product after quantization. reference: A B^T of the given numbers, binary64 [M, N]."""

    a: Operand
    b: Operand
    exact: ExactSums
    reference: NDArray[Any]


def cell_of(recipe: str) -> tuple[str, str, int]:
    """Return the element format, scale format and block size of a recipe."""
    block = get("recipe", recipe).facts.block
    facts = get("block", block).facts
    return facts.element.format, facts.levels[-1].format, facts.shape[1]


def quantized(data: Data, recipe: str | Recipe, rotated: bool, engine: str = "auto", signs: int = SIGNS) -> Operands:
    """Quantize both sides along K and return what is measured: the first outputs of A, the chosen rows of B.

    rotated: both sides go through ROTATION with these signs first; their product stays what it is.   Raises: as emu.quantize.
    """
    sides = []
    for x, rows in ((data.a, slice(0, OUTPUTS)), (data.b, slice(None, None, data.every))):
        given = api.transform(x, ROTATION, -1, signs, None, engine) if rotated else x
        found: Quantized = api.quantize(given, recipe, engine=engine)
        whole = operand_of(found, "a", -1, None)
        sides.append(replace(whole, codes=whole.codes[rows], scales=None if whole.scales is None else whole.scales[rows]))
    return Operands(sides[0], sides[1], exact_sums(sides[0], sides[1]), product_of(data))


def product_of(data: Data) -> NDArray[Any]:
    """Return the product of the given numbers in binary64, K added in ascending order: the same bits on every machine."""
    a, b = data.a[:OUTPUTS].astype(np.float64), data.b[:: data.every].astype(np.float64)
    total = np.zeros((len(a), len(b)))
    for k in range(a.shape[1]):
        total += a[:, k, None] * b[None, :, k]
    return total


def quantization_error(found: Operands) -> float:
    """Return the root of (sum of squared differences / sum of squares) of the exact product of the quantized operands."""
    alpha = math.prod(1.0 if side.tensor_scale is None else _fp32(side.tensor_scale) for side in (found.a, found.b))
    lost = found.exact.values() * alpha - found.reference
    return math.sqrt(math.fsum((lost * lost).reshape(-1)) / math.fsum((found.reference * found.reference).reshape(-1)))


def _fp32(code: int) -> float:
    return float(np.array(code, np.uint32).view(np.float32))


def plans_of(found: Operands, names: Sequence[str] = DATAPATHS) -> Iterator[DatapathPlan]:
    """Yield the datapaths that take the operands and whose adder somebody could build, in the order of names."""
    for name in names:
        model: Datapath = get("datapath", name)
        try:
            plan = resolve(model, found.a.format, found.b.format, found.a.scale_format, found.a.block)
        except SpecError:
            continue
        if plan.adder_bits is None or plan.adder_bits <= WIDEST_ADDER:
            yield plan


def result_of(found: Operands, plan: DatapathPlan, engine: str = "auto", jobs: int = 1) -> Codes:
    """Return D before tensor scales, C = +0, one ascending chain over K."""
    return run_matmul(found.a.codes, found.b.codes, found.a.scales, found.b.scales, None, plan, engine, jobs)


def datapath_errors(found: Operands, plan: DatapathPlan, engine: str = "auto", jobs: int = 1) -> Errors:
    """Compare what a datapath computes with the exact product of the quantized operands."""
    return errors(result_of(found, plan, engine, jobs), found.exact, plan.d)


def error_rows(data: Data, recipe: str, rotated: bool, engine: str = "auto", jobs: int = 1) -> dict[str, Any]:
    """Return one cell of the study, ready for JSON: quantization error, and the errors of each datapath that takes the operands."""
    found = quantized(data, recipe, rotated, engine)
    paths = {plan.datapath.id: _figures(datapath_errors(found, plan, engine, jobs)) for plan in plans_of(found)}
    return {
        "data": data.name,
        "recipe": recipe,
        "rotation": ROTATION if rotated else "none",
        "quantization": short(quantization_error(found)),
        "datapaths": paths,
    }


def null_row(data: Data, recipe: str, engine: str = "auto") -> dict[str, Any]:
    """Return the quantization error of a product under other signs of the rotation."""
    found = [short(quantization_error(quantized(data, recipe, True, engine, signs))) for signs in OTHER_SIGNS]
    return {"data": data.name, "recipe": recipe, "signs": [f"0x{signs:04X}" for signs in OTHER_SIGNS], "rotated": found}


def _figures(found: Errors) -> dict[str, float]:
    return {name: short(value) for name, value in vars(found).items() if name != "outputs"}


def short(value: float) -> float:
    """Return a number with five significant digits, as it is kept and printed."""
    return float(f"{value:.5g}")
