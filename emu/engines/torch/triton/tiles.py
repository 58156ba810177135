"""Device functions: tiles of a matrix in and out. Loading by format, random bits by place, codes packed or not, scales in their layout."""

from __future__ import annotations

import triton
import triton.language as tl

from emu.engines.torch.triton.bits import OPEN_CODE, canonical, decode_float
from emu.engines.torch.triton.machine import run_program
from emu.engines.torch.triton.philox import words, words_of_rows


@triton.jit
def load_tile(x, row, column, rows, columns, source: tl.constexpr):
    """Return the float32 values of a tile, +0 outside the matrix.

    x: pointer to the stored bits, row-major.   row, column: int64 [R, 1] and [1, C].   source: facts of decode_float.
    """
    bits = tl.load(x + row * columns + column, mask=(row < rows) & (column < columns), other=0)
    return decode_float((bits.to(tl.int64) & source[5]).to(tl.uint32), source)


@triton.jit
def load_random(random, row, column, rows, columns, draw: tl.constexpr):
    """Return the uint32 random integer of each element, by its row-major place in the matrix; 0 outside.

    random: pointer to the integers, or to the halves of key and stream (philox.py).
    draw: (none, operand or philox; bits of an integer; are rows whole blocks of four words).
    """
    inside = (row < rows) & (column < columns)
    place = row * columns + column
    if draw[0] == "operand":
        return tl.load(random + place, mask=inside, other=0).to(tl.uint32)
    elif draw[0] == "philox":
        if draw[2]:
            groups: tl.constexpr = column.shape[1] // 4
            first = tl.min(tl.reshape(place, (place.shape[0], groups, 4)), axis=2)
            found = words_of_rows(first, random)
        else:
            found = words(place, random)
        return tl.where(inside, found & ((1 << draw[1]) - 1), 0).to(tl.uint32)
    else:
        return tl.zeros((1, 1), tl.uint32)


@triton.jit
def digit_of(row, idx, digit: tl.constexpr):
    """Return one digit of a place. digit: is it of the row, its step, its count or 0 for the rest."""
    at = (row if digit[0] else idx) // digit[1]
    return at % digit[2] + (idx if digit[0] else row) * 0 if digit[2] else at + (idx if digit[0] else row) * 0


@triton.jit
def digit_count(rows, codes, digit: tl.constexpr):
    """Return how many values a digit takes."""
    if digit[2]:
        return digit[2]
    else:
        return ((rows if digit[0] else codes) + digit[1] - 1) // digit[1]


@triton.jit
def layout_place(row, idx, rows, codes, digits: tl.constexpr):
    """Return the place of a code by the digits of a layout, the fastest first."""
    place, weight = row * 0 + idx * 0, rows * 0 + 1
    for number in tl.static_range(len(digits)):
        place += digit_of(row, idx, digits[number]) * weight
        weight = weight * digit_count(rows, codes, digits[number])
    return place


@triton.jit
def store_codes(out, codes, row, column, rows, width, pack: tl.constexpr):
    """Store element codes, one per byte, or two with the even element in the low nibble. codes: uint32 [R, C]; width: stored elements."""
    if pack:
        low, high = tl.split(tl.reshape(codes & 0xF, (codes.shape[0], codes.shape[1] // 2, 2)))
        first = tl.min(tl.reshape(column, (1, codes.shape[1] // 2, 2)), axis=2)
        tl.store(out + row * (width // 2) + first // 2, (low | (high << 4)).to(tl.uint8), mask=(row < rows) & (first < width))
    else:
        tl.store(out + row * width + column, codes.to(tl.uint8), mask=(row < rows) & (column < width))


@triton.jit
def store_level(out, found, row, block, rows, blocks, level: tl.constexpr, digits: tl.constexpr):
    """Store one level. level: (number, is a code, one for the tensor); the tensor's is written by the program of the first tile."""
    value = found if level[1] else canonical(found)
    if level[2]:
        first = (row == 0) & (block == 0)
        tl.store(out + row * 0 + block * 0, (value + tl.zeros(first.shape, tl.uint32)[:, :, None]).reshape(first.shape), mask=first)
    else:
        flat = tl.reshape(value, (value.shape[0], value.shape[1]))
        place = layout_place(row, block, rows, blocks, digits)
        inside = (row < rows) & (block < blocks)
        tl.store(out + place, flat.to(tl.uint8) if level[1] else flat.to(tl.int32, bitcast=True), mask=inside)


@triton.jit
def quantize_tile(tile, random, amax, signs, row, column, rows, width, codes_out, level0_out, level1_out, open_out, side: tl.constexpr):
    """Run a program on a tile and store what it gives.

    tile: float32 [R, C], rows of blocks.   row, column: int64 [R, 1] and [1, C], places in the matrix that is stored.
    side: (program, number of the codes, levels, lanes, draws, may be open, packed, digits of the scale layout).
    """
    lanes: tl.constexpr = side[3]
    height: tl.constexpr = tile.shape[0]
    count: tl.constexpr = tile.shape[1] // lanes
    blocks = tl.reshape(tile, (height, count, lanes))
    drawn = tl.reshape(random, (height, count, lanes)) if side[4] else random
    names = run_program(side[0], blocks, amax, drawn, signs)
    codes = tl.reshape(names[side[1]], tile.shape)
    if side[5]:
        outside = (row >= rows) | (column >= width)
        tl.atomic_max(open_out, tl.max(tl.where((codes == OPEN_CODE) & ~outside, 1, 0)))
    store_codes(codes_out, codes, row, column, rows, width, side[6])
    block = tl.min(tl.reshape(column, (1, count, lanes)), axis=2) // lanes
    in_row = (width + lanes - 1) // lanes
    store_level(level0_out, names[side[2][0][0]], row, block, rows, in_row, side[2][0], side[7])
    if len(side[2]) == 2:
        store_level(level1_out, names[side[2][1][0]], row, block, rows, in_row, side[2][1], side[7])
