"""Prediction against measurement: what a recipe does to a tensor, and what three densities say it should do.

empirical: the scaled numbers of the tensor themselves; only the grid is left to go wrong, so it must agree.
model: independent normal or Laplace numbers in blocks, scaled by the recipe's own rule (scaled.py); it has not seen the tensor.
flat_term: the formula of flat bins on the true masses, which is the argument of arXiv 2606.20381.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.analysis.analyze import element_scales, inner_transform
from emu.analysis.bias import Expected, bin_bias, expected
from emu.analysis.density import Empirical, Symmetric, empirical
from emu.analysis.grid import Grid, grid_of
from emu.analysis.scaled import maxima_range, model
from emu.analysis.tensor import block_of, check_tensor
from emu.base.errors import OperandError
from emu.engines.exact.decode import decode_code
from emu.ops import functions as api
from emu.ops.quantized import Quantized
from emu.spec import Format, Recipe, Transform, derive, get
from emu.spec.ieee import binary_format
from emu.spec.models.block import OneElement

SAMPLES: Final = 4097  # block maxima at which a scale rule is looked at


@dataclass(frozen=True, eq=False)
class Scaled:
    """A tensor in units of its grid. numbers: binary64, x / scale, flat.   values: what the codes mean, flat.   weights: scale^2, flat.

    grid: of the elements, balanced.   block: elements of a block.   given: the tensor that the quantizer saw.
    """

    recipe: Recipe
    grid: Grid
    block: int
    given: NDArray[Any]
    numbers: NDArray[np.float64]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """One recipe on one tensor. measured: by the recipe.   empirical, model: predicted; model None where no density is named.

    flat_term: bin_term if every inner bin had the bias of flat bins.   density: of the model.
    """

    data: str
    recipe: str
    transform: str | None
    density: str | None
    measured: Expected
    empirical: Expected
    model: Expected | None
    flat_term: float


def scaled(
    x: Any,
    recipe: str | Recipe,
    transform: str | Transform | None = None,
    signs: int | None = None,
    *,
    engine: str = "auto",
    name: str = "x",
) -> Scaled:
    """Quantize a tensor and return it in units of the grid, blocks along the last axis.

    A block whose scale is zero comes back as zeros; its numbers are given in units of the tensor maximum, where they round to zero.
    Arguments and errors: as tensor.measure; also OperandError for a recipe whose elements are of two formats.
    Exactness: numbers equal those that the recipe rounds where its scale is one binary32 number and it divides; elsewhere they differ from
    them by the roundings of its own steps.
    """
    chosen: Recipe = get("recipe", recipe)
    element = block_of(chosen).facts.element
    if not isinstance(element, OneElement):
        raise OperandError(f"recipe {chosen.id}: its elements have two formats: a prediction needs one grid")
    if transform is not None and inner_transform(chosen) is not None:
        raise OperandError(f"recipe {chosen.id} rotates by itself: leave the transform out")
    rotation = transform or inner_transform(chosen)
    mask = check_tensor(x, rotation, -1, name, signs)
    given = x if rotation is None else api.transform(x, rotation, -1, mask, None, engine)
    plain = np.asarray(x)
    found: Quantized = api.quantize(
        plain if transform is None else given, chosen, signs=mask if inner_transform(chosen) else None, engine=engine
    )
    fmt: Format = get("format", element.format)
    codes = found.codes[..., : found.shape[-1]].reshape(-1)
    table = [decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits)]
    values = np.array([float(value.signed) if value.kind == "finite" else np.nan for value in table])[codes]
    scales = element_scales(found)
    wide = np.asarray(given).astype(np.float64)
    dead = scales == 0
    scales = np.where(dead, np.max(np.abs(wide)) or 1.0, scales)
    values = np.where(dead.reshape(-1), 0.0, values)
    numbers = wide / scales
    if _divides(found):
        numbers = (wide.astype(np.float32) / scales.astype(np.float32)).astype(np.float64)
    grid = grid_of(fmt).balanced
    return Scaled(
        chosen, grid, block_of(chosen).facts.shape[1], np.asarray(given), numbers.reshape(-1), values, (scales * scales).reshape(-1)
    )


def _divides(found: Quantized) -> bool:
    """Tell whether the recipe divides a binary32 number by one binary32 scale: then its scaled numbers are known to the bit."""
    facts = found.block.facts
    return len(facts.levels) == 1 and binary_format(get("format", facts.levels[0].format)) == "binary32" and any(
        step.op == "div" and step.args[-1] == "scale" for step in found.recipe.facts.steps if hasattr(step, "args")
    )  # fmt: skip


def _counted(found: Scaled) -> Empirical:
    return empirical(found.numbers, name=f"{found.recipe.id}, scaled numbers")


def predict(
    x: Any,
    recipe: str | Recipe,
    transform: str | Transform | None = None,
    signs: int | None = None,
    *,
    base: Symmetric | None = None,
    engine: str = "auto",
    name: str = "x",
) -> Prediction:
    """Measure a recipe on a tensor and predict the same from densities.

    x, recipe, transform, signs: as tensor.measure.   base: density of the model (gaussian(1), laplace(1)); None: no model.
    Raises: as scaled.   Tests: tests/analysis/test_shrinkage_predict.py.
    """
    found = scaled(x, recipe, transform, signs, engine=engine, name=name)
    weighed = empirical(found.numbers, found.weights, name="scaled numbers")
    seen = expected(found.grid, weighed, _counted(found))
    rotation = transform or inner_transform(found.recipe)
    shown = None if rotation is None else get("transform", rotation).id
    formula = None if base is None else model_of(found.recipe, base, tensor_amax=float(np.max(np.abs(found.given.astype(np.float64)))))
    flat_term = _flat_term(found.grid, weighed)
    return Prediction(name, found.recipe.id, shown, None if base is None else base.name, _measured(found), seen, formula, flat_term)


def model_of(recipe: str | Recipe, base: Symmetric, *, tensor_amax: float | None = None) -> Expected:
    """Return what a recipe does to independent numbers, in closed form inside a block; its scale rule is asked of the recipe itself.

    recipe: without a rotation, blocks of one row, elements of one format, rounding to nearest.   base: gaussian or laplace in the units of
    the tensor (with power-of-two scales its size matters).   tensor_amax: of a recipe with a tensor scale; None: the largest block maximum.
    Exactness: a scale that jumps is sampled at SAMPLES block maxima, and jumps half way between two of them.
    Raises: OperandError (another recipe), SpecError.   Tests: tests/analysis/test_shrinkage_predict.py.
    """
    chosen: Recipe = get("recipe", recipe)
    block = block_of(chosen)
    element, (rows, columns) = block.facts.element, block.facts.shape
    if not isinstance(element, OneElement) or rows > 1:
        raise OperandError(f"recipe {chosen.id}: a model needs blocks of one row and elements of one format")
    low, high = maxima_range(base, columns)
    maxima = np.linspace(low, high, SAMPLES).astype(np.float32)
    x = np.zeros((SAMPLES, columns), np.float32)
    x[:, 0] = maxima
    given = None if tensor_amax is None else np.float32(tensor_amax)
    reads = any(level.granularity == "tensor" for level in block.facts.levels)
    scales = element_scales(api.quantize(x, chosen, tensor_amax=given if reads else None))[:, 0].astype(np.float64)
    grid = grid_of(element.format).balanced
    jumps = np.flatnonzero(np.diff(scales)) + 1
    if len(jumps) > SAMPLES // 2:  # it follows the maximum
        return model(grid, base, columns)
    wide = maxima.astype(np.float64)
    borders = (wide[jumps] + wide[jumps - 1]) / 2
    steps = scales[np.concatenate([[0], jumps])]
    return model(grid, base, columns, lambda maximum: float(steps[np.searchsorted(borders, maximum)]), borders.tolist())


def _measured(found: Scaled) -> Expected:
    """Return the figures of the recipe's own codes, in binary64."""
    lost = found.values - found.numbers
    signal = float(np.sum(found.weights * found.numbers * found.numbers))
    if not signal:
        raise OperandError(f"{found.recipe.id}: every number is zero: alpha has no meaning")
    cross = float(np.sum(found.weights * found.numbers * lost)) / signal
    nmse = float(np.sum(found.weights * lost * lost)) / signal
    places = np.searchsorted(np.array([float(value) for value in found.grid.values]), found.values)
    shares = np.bincount(places, minlength=len(found.grid.values)) / found.values.size
    entropy = -float(np.sum(shares[shares > 0] * np.log(shares[shares > 0])))
    return Expected(cross, cross + nmse, nmse, float(np.exp(entropy)) / len(found.grid.values))


def _flat_term(grid: Grid, density: Empirical) -> float:
    """Return sum of mass * value * (bias of flat bins) / E[x^2]; both ends, which have one neighbour, count nothing."""
    bins = bin_bias(grid, density)
    signal = float(density.parts(None, None).second)
    return sum(float(item.mass) * float(item.value) * float(item.local) for item in bins if item.local is not None) / signal
