"""What recipes do to a tensor: SQNR, alpha, coherent and incoherent error, effective bucket ratio, clipped share, with and without RHT.

The sums are those of emu.analysis.analyze. Not here: what they follow from (bias.py, scaled.py, predict.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from emu.analysis.analyze import inner_transform, tensor_report
from emu.analysis.draws import random_operand
from emu.analysis.report import Report
from emu.arrays.values import float_dtype, to_codes
from emu.base.errors import EmuError, OpenError, OperandError, ShapeError
from emu.spec import Block, Recipe, Transform, get
from emu.spec.registry import names

ROTATION: Final = "rht16_ufp4"
SIGNS: Final = 0xD7E8  # of a rotation whose signs are the caller's
KEY: Final = 0  # of Philox4x32-10, for recipes that draw


@dataclass(frozen=True)
class TensorFigures:
    """One recipe on one tensor. transform: the rotation, None as it is.   report: None where the tensor is not taken.   reason: why not."""

    recipe: str
    transform: str | None
    report: Report | None
    reason: str = ""


def measure(
    x: Any,
    recipe: str | Recipe,
    transform: str | Transform | None = None,
    signs: int | None = None,
    *,
    axis: int = -1,
    row_axis: int = -2,
    random_key: int = KEY,
    engine: str = "auto",
    name: str = "x",
) -> Report:
    """Quantize a tensor by a recipe, dequantize it, and return what was lost.

    x: finite array of float16/32/64 or bfloat16.   transform: rotates x first, both axis lengths whole blocks; None: as it is (a recipe
    that rotates by itself still does).   signs: mask, for a rotation that takes one; None: SIGNS.   random_key: of Philox, for recipes that
    draw.   name: of the tensor, in messages and as the stream of the draw.
    Returns: Report: sqnr_db, alpha_minus_1, nmse, coherent ((alpha-1)^2), incoherent, bucket_ratio (B_eff), clipped_share, zero_share.
    Raises: OperandError (NaN or Inf; a rotation for a recipe that rotates), ShapeError (a length that the rotation or recipe does not
    divide), SpecError (unknown name), OpenError, EngineError.
    Source: arXiv 2606.20381 for SQNR, alpha, B_eff.   Tests: tests/analysis/test_shrinkage_tensor.py.
    """
    chosen: Recipe = get("recipe", recipe)
    rotation: Transform | None = None if transform is None else get("transform", transform)
    mask = check_tensor(x, rotation or inner_transform(chosen), axis, name, signs)
    drawn = random_operand(chosen, np.shape(x), name, random_key)
    try:
        return tensor_report(x, chosen, rotation, signs=mask, axis=axis, row_axis=row_axis, random=drawn, engine=engine)
    except EmuError as error:
        raise type(error)(f"{name}, {chosen.id}: {error}") from None


def measure_all(
    x: Any,
    recipes: Sequence[str | Recipe] | None = None,
    transform: str | Transform | None = ROTATION,
    signs: int | None = None,
    **options: Any,
) -> Iterator[TensorFigures]:
    """Yield a Row per recipe, as it is and (where the recipe does not rotate by itself) rotated.

    recipes: None: every recipe of the registry; one that does not take the tensor gives a Row with the reason.
    transform: None: only as it is.   Other arguments: as measure.   Raises: OperandError (NaN or Inf), SpecError, EngineError.
    """
    _check_finite(x, options.get("name", "x"))
    for recipe in names("recipe") if recipes is None else recipes:
        chosen: Recipe = get("recipe", recipe)
        inner = inner_transform(chosen)
        ways: list[Transform | None] = [None] if transform is None or inner is not None else [None, get("transform", transform)]
        for way in ways:
            shown = inner or way
            try:
                yield TensorFigures(
                    chosen.id, None if shown is None else shown.id, measure(x, chosen, way, None if shown is None else signs, **options)
                )
            except (ShapeError, OpenError) as error:
                yield TensorFigures(chosen.id, None if shown is None else shown.id, None, str(error))


def block_of(recipe: str | Recipe) -> Block:
    """Return the block format of a recipe."""
    found: Block = get("block", get("recipe", recipe).facts.block)
    return found


def check_tensor(x: Any, rotation: Transform | str | None, axis: int, name: str, signs: int | None) -> int | None:
    """Refuse a tensor that has no figures, and return the sign mask of its rotation (None where it takes none).

    Raises: OperandError (NaN or Inf; signs for nothing), ShapeError (no elements; a length that the rotation does not divide).
    """
    _check_finite(x, name)
    if rotation is None:
        if signs is not None:
            raise OperandError(f"{name}: signs without a rotation: leave signs out, or name a transform")
        return None
    used: Transform = get("transform", rotation)
    _check_length(np.shape(x), axis, used, name)
    if used.facts.signs_operand != "yes":
        return None
    return SIGNS if signs is None else signs


def _check_finite(x: Any, name: str) -> None:
    """Refuse what has no figures. Raises: OperandError."""
    codes, fmt = to_codes(x)
    if not codes.size:
        raise ShapeError(f"{name}: no elements: figures need a tensor")
    with np.errstate(all="ignore"):
        bad = ~np.isfinite(codes.view(float_dtype(fmt)).astype(np.float64))
    if bad.any():
        first = tuple(int(place) for place in np.argwhere(bad)[0])
        raise OperandError(
            f"{name}: NaN or Inf in {int(bad.sum())} of {bad.size} elements, the first at {list(first)}: take them out first"
        )


def _check_length(shape: tuple[int, ...], axis: int, transform: Transform, name: str) -> None:
    """Refuse a length that a rotation does not divide. Raises: ShapeError."""
    size = transform.facts.size
    if not shape or not -len(shape) <= axis < len(shape):
        raise ShapeError(f"{name}: shape {list(shape)} has no axis {axis}")
    if shape[axis] % size:
        whole = math.ceil(shape[axis] / size) * size
        raise ShapeError(
            f"{name}: {transform.id} rotates {size} elements, the length along axis {axis} is {shape[axis]}: pad it with zeros to {whole}"
        )
