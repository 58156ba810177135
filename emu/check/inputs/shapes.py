"""Shapes around every size at which kernels change their way: tails, single blocks, odd counts, more rows than a grid has; and how x lies.

Not here: which numbers decide (decisions.py). What is asked is that every shape gets what the contract says, wherever x lies in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from emu.base.errors import OperandError
from emu.base.philox import stream_of, words
from emu.check.inputs.directed import own_signs
from emu.check.inputs.ordinary import KINDS, tensor
from emu.contracts.form import Bits, Form, Question, draw_bits, integer_dtype
from emu.contracts.quantize.form import QuantizeForm
from emu.engines.run import run_amax
from emu.spec.ieee import binary_format

SIZES: Final = (16, 32, 64, 128, 256, 512, 1024)
ROWS: Final = (1, 2, 3, 5)  # beside each width in turn
MANY: Final = (1 << 16) + 1  # rows, or blocks of a row, beyond 16 bits and beyond the limit of a launch grid
LAYOUTS: Final = {  # how x lies in memory, see emu.check.targets.python.laid
    "transposed": "x a transposed view", "columns": "x every second column of an array", "rows": "x every second row of an array",
    "offset": "x inside of an array", "three": "x with three axes",
}  # fmt: skip
Shape = tuple[int, int]


def shapes_of(form: QuantizeForm, multiple: Shape = (1, 1)) -> list[Shape]:
    """Return the shapes that are asked, in the order in which they are: large and small in turn, so that nothing stale fits."""
    tall, wide = form.operation.block.facts.shape
    widths = [size + off for size in SIZES for off in (-1, 0, 1, wide)] + [1, wide, 3 * wide, 5 * wide, 7 * wide + wide // 2]
    heights = [size * tall + off for size in SIZES for off in ((-1, 0, 1) if tall == 1 else (0, 1))]
    found = [(ROWS[number % len(ROWS)] * tall - (number % 3 == 2), width) for number, width in enumerate(widths)]
    found += [(height, (wide, 3 * wide + 1, 2 * wide)[number % 3]) for number, height in enumerate(heights)]
    found += [(1, wide), (tall, wide), (1, 1)]
    found += [(rows, columns * wide) for rows, columns in ((130, 9), (256, 16), (257, 33), (40, 65))]  # several tiles of a scale layout
    unit = (tall, wide) if form.recipe.facts.tail == "error" else (1, 1)
    steps = tuple(int(np.lcm(part, each)) for part, each in zip(unit, multiple, strict=True))
    rounded = dict.fromkeys((-(-max(shape[0], 1) // steps[0]) * steps[0], -(-shape[1] // steps[1]) * steps[1]) for shape in found)
    order = sorted(rounded, key=lambda shape: shape[0] * shape[1])
    half = len(order) // 2
    small, large = order[:half], order[half:]
    return [shape for pair in zip(large, small, strict=False) for shape in pair] + large[half:]


def many(form: QuantizeForm, multiple: Shape = (1, 1)) -> list[Shape]:
    """Return a shape of more rows, and one of more blocks in a row, than 16 bits count."""
    tall, wide = form.operation.block.facts.shape
    steps = (int(np.lcm(tall, multiple[0])), int(np.lcm(wide, multiple[1])))
    both = ((MANY, wide), (tall, MANY * wide))
    rounded = [(-(-rows // steps[0]) * steps[0], -(-columns // steps[1]) * steps[1]) for rows, columns in both]
    return [shape for shape in rounded if shape[0] * shape[1] <= 1 << 23]


def shapes(
    form: Form, takes_amax: bool, key: int, multiple: Shape = (1, 1), own: Sequence[Shape] = (),
    lays: bool = False, quick: bool = False, empty: bool = False,
) -> Iterator[Question]:  # fmt: skip
    """Yield a tensor of each shape; none of an operation that is no quantizer.

    own: shapes that the user asks for, first.   lays: ask x that lies otherwise in memory too.   quick: leave the largest out.   empty: ask
    no rows at all, last, because a kernel may die of it.
    Tests: tests/check/test_check_shapes.py.
    """
    if not isinstance(form, QuantizeForm) or binary_format(form.source) is None:
        return
    chosen = [*own, *shapes_of(form, multiple), *([] if quick else many(form, multiple))]
    for number, shape in enumerate(chosen):
        yield question(form, shape, takes_amax, key, number)
    for number, layout in enumerate(LAYOUTS if lays else ()):
        wide = int(np.lcm(form.operation.block.facts.shape[1], multiple[1]))
        tall = int(np.lcm(form.operation.block.facts.shape[0], multiple[0]))
        if layout == "three" and form.draws is not None:
            continue
        yield question(form, (6 * tall, 3 * wide), takes_amax, key, len(chosen) + number, layout)
    if empty:
        yield question(form, (0, 4 * form.operation.block.facts.shape[1]), takes_amax, key, 0)


def question(form: QuantizeForm, shape: Shape, takes_amax: bool, key: int, number: int, layout: str = "") -> Question:
    """Return an ordinary tensor of a shape."""
    stream = stream_of(f"shapes {form.contract} {shape} {number}")
    x = tensor(form.source, number % len(KINDS), shape[0] * shape[1], shape[1], key, stream).reshape(shape)
    operands: dict[str, Bits] = {"x": x}
    if "tensor_amax" in form.extras and takes_amax:
        operands["tensor_amax"] = np.array(run_amax(x, form.source) if x.size else 0, "u4")
    if form.draws is not None:
        lanes, bits = draw_bits(form.draws)
        drawn = words(key, -(-x.size // lanes), 0, stream + len(KINDS)) & np.uint32((1 << bits) - 1 if bits < 32 else 0xFFFFFFFF)
        operands["random"] = drawn.astype(integer_dtype(None, bits)).reshape(shape if lanes == 1 else (1, -1))
    if "signs" in form.extras:
        operands["signs"] = np.array(own_signs(form), "u4")
    why = f"shape {shape[0]}x{shape[1]}" + (f", {LAYOUTS[layout]}" if layout else "")
    return Question(operands, (why,), layout=layout)


def parse_shapes(text: str, sides: int = 2) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of "4096x5120,1x128". sides: 2 of a tensor, 3 of a product (M, N, K). Raises: OperandError."""
    found = []
    for part in text.split(","):
        match = re.fullmatch("x".join([r"([1-9]\d{0,8})"] * sides), part.strip())
        if match is None:
            what = "rows x columns, such as 128x64" if sides == 2 else "M x N x K, such as 128x64x256"
            raise OperandError(f"--shapes {part.strip()!r}: write {what}, several with commas")
        found.append(tuple(int(side) for side in match.groups()))
    return tuple(found)
