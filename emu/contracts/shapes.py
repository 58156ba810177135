"""Sizes at which kernels change their way: around powers of two, odd counts, more than 16 bits count; and how an operand lies in memory.

Not here: shapes of a quantizer, whose tails a recipe decides (quantize/shapes.py).   Tests: tests/check/test_check_lengths.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import lcm, prod
from typing import Any, Final, TypeVar

from emu.contracts.form import Arrays, Asked, Bits, Form, Question, repeated

SIZES: Final = (16, 32, 64, 128, 256, 512, 1024)
MANY: Final = (1 << 16) + 1  # rows, blocks of a row or codes beyond 16 bits and beyond the limit of a launch grid
MOST: Final = 1 << 23  # elements of a shape
PART: Final = 61  # rows (of tiles) that a large question repeats: a prime, so that an index that wraps at a power of two meets others
WIDE: Final = 64  # columns of a question of MANY rows: beyond 2^22 elements
LAYOUTS: Final = {  # how x lies in memory, see emu.check.targets.python.laid
    "transposed": "x a transposed view", "columns": "x every second column of an array", "rows": "x every second row of an array",
    "offset": "x inside of an array", "three": "x with three axes",
}  # fmt: skip
IN_A_ROW: Final = {"columns": "every second code of an array", "offset": "codes inside of an array"}
LENGTHS: Final = tuple(sorted({*range(1, 35), *(size + off for size in SIZES for off in (-1, 0, 1))}))
TILES: Final = ((1, 1), (1, 2), (1, 3), (1, 7), (2, 1), (3, 5), (5, 1), *((1, size + off) for size in SIZES for off in (-1, 1)),
                *((size + off, 1 + (size + off) % 3) for size in SIZES for off in (-1, 1)))  # fmt: skip
Sized = TypeVar("Sized")


def in_turn(shapes: Iterable[Sized], size: Callable[[Any], int] = prod) -> list[Sized]:
    """Return shapes, large and small in turn, so that nothing stale fits. size: elements of a shape."""
    order = sorted(shapes, key=size)
    half = len(order) // 2
    small, large = order[:half], order[half:]
    return [shape for pair in zip(large, small, strict=False) for shape in pair] + large[half:]


def lengths(form: Form, asked: Asked, drawn: Callable[[int], Bits]) -> Iterator[Question]:
    """Yield codes in a row, of many lengths: a user's own first, the longest not for targets that take long; other layouts, none, many.

    drawn: a number of codes -> codes. Every length is a multiple of what the target needs of a row. Above 2^22 a part is repeated.
    """
    step, many = asked.multiple[1], () if asked.calls == "programs" else (MANY,)
    chosen = (*map(prod, asked.shapes), *in_turn(LENGTHS, int), *many)
    sizes = dict.fromkeys(-(-length // step) * step for length in chosen)
    asks = [*((size, "") for size in sizes), *((48 * step, layout) for layout in IN_A_ROW if asked.calls == "arrays")]
    if asked.calls in ("arrays", "pointers"):
        asks.append((0, ""))
    codes, begin = drawn(sum(size for size, _ in asks)), 0
    for size, layout in asks:
        why = f"shape {size}" + (f", {IN_A_ROW[layout]}" if layout else "")
        yield Question(form.completed({form.main: codes[begin : begin + size]}, asked.key, f"{why} {begin}"), (why,), layout=layout)
        begin += size
    if many:
        part = form.completed({form.main: drawn(PART * WIDE * step)}, asked.key, "large")
        yield repeated(part, -(-MANY * WIDE // step) * step, form.main, f"shape {-(-MANY * WIDE // step) * step}")


def tiles(form: Form, asked: Asked, drawn: Callable[[tuple[int, int], str], dict[str, Bits]]) -> Iterator[Question]:
    """Yield matrices of whole tiles, of many shapes: a user's own first, the largest not for targets that take long.

    drawn: a shape and a name of the generator -> operands.
    """
    units = [lcm(part, step) for part, step in zip(form.tile, asked.multiple, strict=True)]
    many = () if asked.calls == "programs" else ((MANY, 1), (1, MANY))
    own = [(-(-shape[0] // units[0]), -(-shape[1] // units[1])) for shape in asked.shapes]
    for rows, columns in dict.fromkeys([*own, *in_turn(TILES), *many]):
        shape = rows * units[0], columns * units[1]
        if prod(shape) <= MOST:
            why = f"shape {shape[0]}x{shape[1]}"
            yield Question(form.completed(drawn(shape, why), asked.key, why), (why,))
    if many:
        yield from large((units[0], units[1]), lambda shape, why: form.completed(drawn(shape, why), asked.key, why), form.main)


def large(units: tuple[int, int], made: Callable[[tuple[int, int], str], Arrays], main: str) -> Iterator[Question]:
    """Yield a matrix of more rows than 16 bits count and more than 2^22 elements, whose rows repeat those of a part.

    units: what rows and columns are multiples of.   made: a shape and a name of the generator -> all operands.   main: the name of x.
    """
    rows, columns = -(-MANY // units[0]) * units[0], -(-WIDE // units[1]) * units[1]
    if rows * columns <= 2 * MOST:
        why = f"shape {rows}x{columns}"
        yield repeated(made((PART * units[0], columns), why), rows, main, why)
