"""What quantized operands do to a matrix product: gain, error, and the gains of the operands whose product predicts it.

Every product here is that of the dequantized operands in binary64: what quantization costs, without an accumulator's rounding; for that see
research.datapath.errors. Not here: a chain of products (depth.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.analysis.analyze import inner_transform
from emu.arrays.values import to_codes
from emu.base.errors import OperandError, ShapeError
from emu.ops import functions as api
from emu.spec import Recipe, Transform, get
from research.reproduction.likeness import Likeness, likeness

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Side:
    """One operand. given: what its quantizer was given, rotated where it was, binary64.   values: what its codes mean, binary64."""

    given: Array
    values: Array

    @property
    def likeness(self) -> Likeness:
        """What quantization did to the operand."""
        return likeness(self.values, self.given)


@dataclass(frozen=True)
class GemmFigures:
    """One product A B^T. shape: (M, N, K).   a, b: what quantization did to the operands; product: what it did to the product."""

    recipes: tuple[str, str]
    transform: str | None
    shape: tuple[int, int, int]
    a: Likeness
    b: Likeness
    product: Likeness

    @property
    def alpha_product(self) -> float | None:
        """alpha_A * alpha_B: the gain of the product if the errors of the operands had nothing to do with each other."""
        return None if self.a.gain is None or self.b.gain is None else self.a.gain * self.b.gain

    def figures(self) -> dict[str, Any]:
        """Return every figure by name, for tables and JSON."""
        return {
            "recipes": list(self.recipes),
            "transform": self.transform,
            "shape": list(self.shape),
            "alpha_a": self.a.gain,
            "alpha_b": self.b.gain,
            "alpha_product": self.alpha_product,
            "eta": self.product.gain,
            "nmse": self.product.nmse,
            "sqnr_db": self.product.sqnr_db,
        }


def quantized_side(
    x: Any,
    recipe: str | Recipe,
    transform: str | Transform | None = None,
    signs: int | None = None,
    random: Any = None,
    engine: str = "auto",
) -> Side:
    """Rotate a matrix along its last axis where asked, quantize it by a recipe, and return what went in and what came out.

    x: [rows, K], as emu.quantize takes it.   transform: before the recipe; None for a recipe that rotates by itself.
    signs: of the rotation, where it takes them.   random: as emu.quantize.   Raises: as emu.quantize; OperandError (rotated twice).
    """
    chosen: Recipe = get("recipe", recipe)
    inner = inner_transform(chosen)
    if inner is not None and transform is not None:
        raise OperandError(f"recipe {chosen.id} rotates by itself: leave the transform out")
    outer: Transform | None = None if transform is None else get("transform", transform)
    taken = {item.id: signs if item.facts.signs_operand == "yes" else None for item in (inner, outer) if item is not None}
    given = x if outer is None else api.transform(x, outer, -1, taken[outer.id], None, engine)
    found = api.quantize(given, chosen, -1, -2, random=random, signs=None if inner is None else taken[inner.id], engine=engine)
    if inner is not None:
        given = api.transform(x, inner, -1, taken[inner.id], None, engine)
    return Side(_wide(given), found.dequantize(np.float32, engine=engine).astype(np.float64))


def _wide(x: Any) -> Array:
    codes, fmt = to_codes(x, None)
    found: Array = api.decode(codes, fmt, np.float64)
    return found


def gemm(
    a: Any,
    b: Any,
    recipe: str | Recipe,
    recipe_b: str | Recipe | None = None,
    transform: str | Transform | None = None,
    signs: int | None = None,
    engine: str = "auto",
) -> GemmFigures:
    """Compare the product of quantized operands with the product of the given ones.

    a: [M, K].   b: [N, K]; the product is a @ b.T.   recipe_b: of b; None: that of a.   transform: rotates both along K first, with the
    same signs, so the product stays what it is; its own rounding counts as loss of the product, not of the operands.
    Returns: GemmFigures.   NaN, Inf in a or b: the figures are None; a recipe that leaves them open raises.
    Raises: ShapeError (no matrices, K differs, K against the block), OperandError, OpenError, SpecError, EngineError.
    Source: eta = <Y^, Y> / |Y|^2, arXiv 2606.20381.   Tests: tests/research/reproduction/test_reproduction_gemm.py.
    """
    left, right = np.asarray(a), np.asarray(b)
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
        raise ShapeError(f"gemm: {list(left.shape)} and {list(right.shape)}: two matrices with the same last axis K are needed")
    names = (get("recipe", recipe).id, get("recipe", recipe if recipe_b is None else recipe_b).id)
    sides = [quantized_side(x, name, transform, signs, None, engine) for x, name in ((left, names[0]), (right, names[1]))]
    reference = _wide(left) @ _wide(right).T
    made = sides[0].values @ sides[1].values.T
    rotation = None if transform is None else get("transform", transform).id
    shape = (left.shape[0], right.shape[0], left.shape[1])
    return GemmFigures(names, rotation, shape, sides[0].likeness, sides[1].likeness, likeness(made, reference))
