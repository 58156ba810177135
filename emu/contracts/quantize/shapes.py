"""Shapes around every size at which kernels change their way: tails, single blocks, odd counts, more rows than a grid has; and how x lies.

Not here: which numbers decide (search.py). What is asked is that every shape gets what the contract says, wherever x lies in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from emu.base.philox import stream_of
from emu.contracts.drawn import KINDS, tensor
from emu.contracts.form import Asked, Question
from emu.contracts.shapes import LAYOUTS, MANY, MOST, SIZES, in_turn, large
from emu.spec.models.format import FloatFacts

if TYPE_CHECKING:
    from emu.contracts.quantize.form import QuantizeForm

ROWS: Final = (1, 2, 3, 5)  # beside each width in turn
LARGE: Final = 1 << 21  # elements of a shape, beside those of `many`: of tiles of 128 x 128 the tallest matrices are left out
Shape = tuple[int, int]


def shapes_of(form: QuantizeForm, multiple: Shape = (1, 1)) -> list[Shape]:
    """Return the shapes that are asked, in the order in which they are: large and small in turn, so that nothing stale fits."""
    tall, wide = form.tile
    widths = [size + off for size in SIZES for off in (-1, 0, 1, wide)] + [1, wide, 3 * wide, 5 * wide, 7 * wide + wide // 2]
    heights = [size * tall + off for size in SIZES for off in ((-1, 0, 1) if tall == 1 else (0, 1))]
    found = [(ROWS[number % len(ROWS)] * tall - (number % 3 == 2), width) for number, width in enumerate(widths)]
    found += [(height, (wide, 3 * wide + 1, 2 * wide)[number % 3]) for number, height in enumerate(heights)]
    found += [(1, wide), (tall, wide), (1, 1)]
    found += [(rows, columns * wide) for rows, columns in ((130, 9), (256, 16), (257, 33), (40, 65))]  # several tiles of a scale layout
    unit = (tall, wide) if form.recipe.facts.tail == "error" else (1, 1)
    steps = tuple(int(np.lcm(part, each)) for part, each in zip(unit, multiple, strict=True))
    rounded = dict.fromkeys((-(-max(shape[0], 1) // steps[0]) * steps[0], -(-shape[1] // steps[1]) * steps[1]) for shape in found)
    return in_turn(shape for shape in rounded if shape[0] * shape[1] <= LARGE)


def many(form: QuantizeForm, multiple: Shape = (1, 1)) -> list[Shape]:
    """Return a shape of more rows, and one of more blocks in a row, than 16 bits count."""
    tall, wide = form.tile
    steps = (int(np.lcm(tall, multiple[0])), int(np.lcm(wide, multiple[1])))
    both = ((MANY, wide), (tall, MANY * wide))
    rounded = [(-(-rows // steps[0]) * steps[0], -(-columns // steps[1]) * steps[1]) for rows, columns in both]
    return [shape for shape in rounded if shape[0] * shape[1] <= MOST]


def in_shapes(form: QuantizeForm, asked: Asked) -> Iterator[Question]:
    """Yield an ordinary tensor of each shape: a user's own first, the largest not for targets that take long; then other layouts.

    No rows at all are asked last, because a kernel may die of it. Tests: tests/check/test_check_shapes.py.
    """
    if not isinstance(form.source.facts, FloatFacts):
        return
    lays = asked.calls == "arrays"
    chosen = [*asked.shapes, *shapes_of(form, asked.multiple), *([] if asked.calls == "programs" else many(form, asked.multiple))]
    for number, (rows, columns) in enumerate(chosen):
        yield question(form, (rows, columns), asked.key, number)
    tall, wide = (int(np.lcm(part, step)) for part, step in zip(form.tile, asked.multiple, strict=True))
    if asked.calls != "programs":
        yield from large((tall, wide), lambda shape, why: question(form, shape, asked.key, len(chosen), name=why).operands, "x")
    for number, layout in enumerate(LAYOUTS if lays else ()):
        if layout != "three" or form.draws is None:
            yield question(form, (6 * tall, 3 * wide), asked.key, len(chosen) + number, layout)
    if lays or asked.calls == "pointers":
        yield question(form, (0, 4 * form.tile[1]), asked.key, 0)


def question(form: QuantizeForm, shape: Shape, key: int, number: int, layout: str = "", name: str = "") -> Question:
    """Return an ordinary tensor of a shape. name: of the generator, beside shape and number."""
    stream = f"shapes {form.contract} {shape} {number}{name}"
    x = tensor(form.source, number % len(KINDS), shape[0] * shape[1], shape[1], key, stream_of(stream)).reshape(shape)
    why = f"shape {shape[0]}x{shape[1]}" + (f", {LAYOUTS[layout]}" if layout else "")
    operands = form.completed({"x": x}, key, stream)
    return Question(operands, (why,), layout=layout)
