"""The page of a training recipe: six operands in a table, signs, random bits, tails, layers left alone."""

from __future__ import annotations

from typing import Any

from emu.pages.frame import Data, Writer
from emu.pages.render import Code, Ref
from emu.spec import Training
from emu.spec.models.training import KeptExample
from emu.spec.training import SUMMED, Operand, plan_of

PRODUCTS = {"fprop": "Y = X W^T", "dgrad": "dX = dY W", "wgrad": "dW = dY^T X"}
NAMES = {"x": "X", "w": "W", "dy": "dY"}
SIGNS = {
    "seed_layer_gemm": "drawn once for each product of each layer from the seed, the same for both operands, so that they cancel",
    "transform": "those of the rotation itself, for all layers",
    "none": "nothing is rotated",
}
RANDOM = {
    "seed_layer_gemm_operand_step": "depend on seed, layer, product, operand, step and the row-major place of the element in its matrix",
    "none": "none are drawn",
}
TAIL = {"error": "refused", "zero_pad": "filled up with zeros before rotation, which add nothing to the product"}


def data(training: Training) -> Data:
    """Return what the template shows: a row per operand, facts, worked examples."""
    facts = training.facts
    base = [("based on", Ref("training", training.based_on))] if training.based_on else []
    return {
        "operands": [_row(training, operand) for operand in plan_of(training).operands.values()],
        "facts": [
            *base,
            ("signs of rotations", SIGNS[facts.signs]),
            ("random bits", RANDOM[facts.random]),
            ("features that no block divides", TAIL[facts.tail.features]),
            ("tokens that no block divides", TAIL[facts.tail.tokens]),
            ("first layers kept in the operand format", facts.kept_first),
            ("last layers kept in the operand format", facts.kept_last),
        ],
        "example_rows": [_example(item) for item in training.expect],
    }


def _row(training: Training, operand: Operand) -> tuple[Any, ...]:
    facts = next(item for gemm, name, item in training.operands() if (gemm, name) == (operand.gemm, operand.name))
    if facts.recipe == "none":
        cells: tuple[Any, ...] = ("not quantized", "-", "-")
    else:
        rotation = "in the recipe" if operand.rotates else "-" if facts.transform == "none" else Ref("transform", facts.transform)
        cells = (Ref("recipe", facts.recipe), rotation, Ref("rounding", facts.round))
    return (f"{operand.gemm}: {PRODUCTS[operand.gemm]}", NAMES[operand.name], SUMMED[operand.gemm], *cells)


def _example(item: Any) -> tuple[Any, ...]:
    """Return a hand-checked consequence."""
    if isinstance(item, KeptExample):
        return f"{item.layers} layers", f"{', '.join(map(str, item.kept))} are kept", item.why
    rotated = "rotated" if item.rotated == "yes" else "not rotated"
    text = f"blocks along {item.along}, multiples of {item.multiple}, {rotated}, {item.random_bits} random bits"
    return Code(item.operand), text, item.why


WRITER = Writer("training", data)
