"""Rows: any array as a matrix whose columns lie along one axis, and every result back in the caller's shape and axis order."""

import itertools
import re

import numpy as np
import pytest

from emu.arrays.rows import Rows, axis_back, axis_last, default_row_axis, group_of, pack_codes, pack_nibbles, unpack_codes, unpack_nibbles
from emu.base.errors import OperandError, ShapeError
from emu.spec import get

SHAPES = [(5,), (3, 4), (2, 3, 4), (2, 3, 4, 5), (1, 1, 7), (0, 16), (16, 0), (2, 0, 3)]
CASES = [(shape, *pair) for shape in SHAPES for pair in itertools.product(range(-len(shape), len(shape)), repeat=2)]


def array(shape):
    return np.arange(int(np.prod(shape)), dtype=np.uint16).reshape(shape)


@pytest.mark.parametrize(("shape", "axis", "row_axis"), CASES)
def test_rows_lie_along_the_axis_and_come_back(shape, axis, row_axis):
    x = array(shape)
    rows = Rows.of(x, axis, row_axis)
    other = default_row_axis(axis, row_axis, len(shape))
    assert rows.matrix.shape == (x.size // shape[axis] if shape[axis] else int(np.prod(np.delete(shape, axis))), shape[axis])
    assert np.array_equal(rows.restore(rows.matrix), x)
    assert np.array_equal(rows.like(x + 1), rows.matrix + 1)
    for place, line in zip(np.ndindex(rows.matrix.shape[:1]), rows.matrix, strict=True):  # each row is one line of x along the axis
        if len(shape) > 1 and x.size:
            number, index = place[0], [0] * len(shape)
            index[other % len(shape)] = number % shape[other]
            number //= shape[other]
            for lead in reversed([n for n in range(len(shape)) if n not in (axis % len(shape), other % len(shape))]):
                index[lead], number = number % shape[lead], number // shape[lead]
            index[axis] = slice(None)
            assert np.array_equal(line, x[tuple(index)])


@pytest.mark.parametrize(("shape", "axis", "row_axis"), [((2, 3, 4), -1, -2), ((3, 4), -1, -2), ((3, 4), 0, 1), ((6,), 0, -2)])
def test_the_matrix_is_a_view_where_nothing_moves(shape, axis, row_axis):
    x = array(shape)
    rows = Rows.of(x, axis, row_axis)
    assert np.shares_memory(rows.matrix, x)
    assert np.shares_memory(rows.restore(rows.matrix), x)


def replace_granularity(level):
    return level if level.granularity == "tensor" else level.model_copy(update={"granularity": "tile"})


def test_codes_of_levels_have_fewer_columns_and_rows():
    block = get("block", "nvfp4_tile16")
    facts = block.facts
    per_tile = tuple(replace_granularity(level) for level in facts.levels)
    block = block.model_copy(update={"facts": facts.model_copy(update={"levels": per_tile})})
    rows = Rows.of(np.zeros((32, 5, 48), np.float32), -1, 0)
    matrices = {"tensor": np.array([[7]]), "scale": np.arange(30).reshape(10, 3)}
    found = rows.restore_levels(matrices, block)
    assert found["tensor"].shape == ()
    assert found["scale"].shape == (2, 5, 3)
    assert np.array_equal(rows.like(found["scale"]), matrices["scale"])
    assert rows.like(found["tensor"]).tolist() == [[7]]


@pytest.mark.parametrize(
    ("shape", "axis", "row_axis", "error", "message"),
    [
        ((), -1, -2, ShapeError, "a scalar has no axis to quantize along: give an array of at least one dimension"),
        ((2, 3), 3, -2, ShapeError, "axis 3 and row_axis -2 must lie in the 2 dimensions of the array"),
        ((2, 3), -1, 5, ShapeError, "axis -1 and row_axis 5 must lie in the 2 dimensions of the array"),
        ((2, 3), 0.5, -2, OperandError, "axis must be an integer, not 0.5"),
    ],
)
def test_axes_that_are_none(shape, axis, row_axis, error, message):
    with pytest.raises(error) as caught:
        Rows.of(np.zeros(shape), axis, row_axis)
    assert str(caught.value) == message


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_packed_bytes_lie_along_the_axis(axis):
    codes = (array((3, 4, 5)) % 16).astype(np.uint8)
    packed = pack_nibbles(axis_last(codes, axis))
    assert np.array_equal(axis_back(unpack_nibbles(packed, codes.shape[axis]), axis), codes)
    assert np.shares_memory(axis_last(codes, axis), codes)


STACKS = ("emu/engines", "emu/check/attention", "emu/identify/matmul")  # they transpose stacks of matrices of their own


def test_axes_are_moved_here_and_in_stacks_of_matrices_alone(checkout):
    """What turns an array to rows, and back, is in one place; who computes on matrices may lay them out as it likes."""
    elsewhere = [
        path.relative_to(checkout).as_posix()
        for path in sorted((checkout / "emu").rglob("*.py"))
        if re.search(r"\b(moveaxis|swapaxes)\b", path.read_text(encoding="utf-8"))
    ]
    assert [name for name in elsewhere if not name.startswith(STACKS)] == ["emu/arrays/rows.py"]


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("groups", [0, 1, 2, 5])
def test_codes_are_one_row_of_bits_and_come_back(bits, groups):
    count, size = group_of(bits)
    assert count * bits == size * 8
    codes = (np.arange(3 * groups * count).reshape(3, -1) * 37 + 5 & (1 << bits) - 1).astype(np.uint8)
    packed = pack_codes(codes, bits)
    assert packed.dtype == np.uint8 and packed.shape == (3, groups * size)
    for row, line in zip(codes.tolist(), packed, strict=True):  # a number whose lowest bits are the first code
        assert int.from_bytes(line.tobytes(), "little") == sum(code << bits * place for place, code in enumerate(row))
    assert np.array_equal(unpack_codes(packed, bits), codes)


def test_codes_that_fill_no_bytes_are_refused():
    for length in (1, 2, 3, 5):
        with pytest.raises(ShapeError, match=f"{length} codes of 6 bits fill no whole number of bytes: a multiple of 4 is needed"):
            pack_codes(np.zeros((2, length), np.uint8), 6)
        if length != 3:
            with pytest.raises(ShapeError, match=f"{length} bytes hold no whole number of groups of 4 codes of 6 bits in 3 bytes"):
                unpack_codes(np.zeros((2, length), np.uint8), 6)
