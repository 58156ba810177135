"""Device function: the step interpreter. A program is a compile-time tuple made by program.py: the compiler sees straight-line code."""

from __future__ import annotations

import triton
import triton.language as tl

from emu.engines.torch.triton.bits import (
    MAGNITUDE,
    SIGN,
    cast_exponent,
    cast_float,
    decode_exponent,
    decode_float,
    divide,
    e8m0_rule,
    holds,
    larger,
    largest_magnitude,
    smaller,
    to_bits,
    to_values,
)
from emu.engines.torch.triton.hadamard import rotate


@triton.jit
def arithmetic(op: tl.constexpr, a, b):
    """Return one binary32 operation, rounded once to nearest even."""
    if op == "add":
        return a + b
    elif op == "sub":
        return a - b
    elif op == "mul":
        return a * b
    else:
        return divide(a, b)


@triton.jit
def plain(item: tl.constexpr, a, b):
    """Return an operation whose result is one of its arguments."""
    if item[0] == "abs":
        return to_values(to_bits(a) & MAGNITUDE)
    elif item[0] == "neg":
        return to_values(to_bits(a) ^ SIGN)
    elif item[0] == "min":
        return smaller(a, b, item[3])
    else:
        return larger(a, b, item[3])


@triton.jit
def cast(item: tl.constexpr, values, random):
    """Return codes. item: cast, argument, class of the format, its facts, draws."""
    if item[2] == "exponent":
        return cast_exponent(values, item[3])
    elif item[4]:
        return cast_float(values, random, item[3])
    else:
        return cast_float(values, to_bits(values), item[3])


@triton.jit
def run_step(item: tl.constexpr, names, random, signs):
    """Return the result of one step. names: the tuple of all results so far; a step refers to them by number."""
    op: tl.constexpr = item[0]
    if op == "const":
        return to_values(tl.full((1, 1, 1), item[1], tl.uint32))
    elif op == "amax":
        return largest_magnitude(names[item[1]], 2, item[2])
    elif op == "rotate":
        return rotate(names[item[1]], signs, item[2])
    elif op == "clamp":
        return smaller(larger(names[item[1]], names[item[2]], item[4]), names[item[3]], item[4])
    elif op == "select":
        return tl.where(holds(item[1], names[item[2]], names[item[3]]), names[item[4]], names[item[5]])
    elif op == "cast":
        return cast(item, names[item[1]], random)
    elif op == "decode":
        return decode(item, names[item[1]])
    elif op == "e8m0_rule":
        return e8m0_rule(names[item[1]], item[2], item[3], item[4])
    elif op == "min" or op == "max" or op == "abs" or op == "neg":
        return plain(item, names[item[1]], names[item[2]])
    else:
        return arithmetic(op, names[item[1]], names[item[2]])


@triton.jit
def decode(item: tl.constexpr, code):
    """Return the values of codes. item: decode, argument, class of the format, its facts."""
    if item[2] == "exponent":
        return decode_exponent(code, item[3])
    else:
        return decode_float(code, item[3])


@triton.jit
def run_program(program: tl.constexpr, values, tensor_amax, random, signs):
    """Return the results of all steps, x and tensor_amax first.

    values: float32 [rows, blocks, lanes].   tensor_amax: float32 [1, 1, 1].
    random: uint32 of the shape of values, or any where none draws.
    """
    names = (values, tensor_amax)
    for number in tl.static_range(len(program)):
        names = names + (run_step(program[number], names, random, signs),)
    return names
