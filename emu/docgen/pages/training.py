"""The page of a training recipe: six operands in a table, signs, random bits, tails, layers left alone."""

from __future__ import annotations

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, table
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


def body(training: Training, context: Context) -> list[str]:
    """Return the body of the page."""
    facts, plan = training.facts, plan_of(training)
    first = f"Each is rounded to {link('format', facts.operands)} first, then rotated, then quantized along the summed axis."
    lines = ["## Operands", "", first, ""]
    header = ("product", "operand", "summed over", "recipe", "rotation", "rounding of elements")
    lines += table(header, [_row(training, operand) for operand in plan.operands.values()])
    lines += ["", "## Facts", ""]
    rows = [
        ("based on", link("training", training.based_on)) if training.based_on else None,
        ("signs of rotations", SIGNS[facts.signs]),
        ("random bits", RANDOM[facts.random]),
        ("features that no block divides", TAIL[facts.tail.features]),
        ("tokens that no block divides", TAIL[facts.tail.tokens]),
        ("first layers kept in the operand format", facts.kept_first),
        ("last layers kept in the operand format", facts.kept_last),
    ]
    lines += table(("fact", "value"), [row for row in rows if row is not None])
    example = f'emu.nn.convert_model(model, training="{training.id}", seed=0)'
    return [*lines, "", "## Use", "", *fence(["import emu.nn", "", example], "py")]


def _row(training: Training, operand: Operand) -> tuple[str, ...]:
    facts = next(item for gemm, name, item in training.operands() if (gemm, name) == (operand.gemm, operand.name))
    if facts.recipe == "none":
        cells: tuple[str, ...] = ("not quantized", "-", "-")
    else:
        rotation = "in the recipe" if operand.rotates else "-" if facts.transform == "none" else link("transform", facts.transform)
        cells = (link("recipe", facts.recipe), rotation, link("rounding", facts.round))
    return (f"{operand.gemm}: {PRODUCTS[operand.gemm]}", NAMES[operand.name], SUMMED[operand.gemm], *cells)


def witnesses(training: Training) -> list[str]:
    """Return the hand-checked consequences."""
    rows = []
    for item in training.expect:
        if isinstance(item, KeptExample):
            rows.append((f"{item.layers} layers", f"{', '.join(map(str, item.kept))} are kept", item.why or ""))
        else:
            rotated = "rotated" if item.rotated == "yes" else "not rotated"
            text = f"blocks along {item.along}, multiples of {item.multiple}, {rotated}, {item.random_bits} random bits"
            rows.append((code(item.operand), text, item.why or ""))
    return table(("given", "follows", "why"), rows)


WRITER = Writer(body, (), witnesses)
