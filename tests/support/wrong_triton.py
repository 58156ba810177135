"""Three quantizers from one Triton kernel, right or with one fault: a step an ulp off, a fact, an index rule, a rule of shapes or memory.

The families are NVFP4 with two levels, MXFP4 with powers of two and blocks of E1M2 under a binary32 scale. Made to be broken: nothing here
is fast, and nothing of emu is used, so that what is judged is written twice. Import it where torch and Triton are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

RATES = (2, 8, 32, 128)  # an ulp off on one of so many inputs
LARGEST_TILE = 4096  # blocks of one program
NVFP4, MXFP4, E1M2 = "nvfp4_te_ref", "mxfp4_te_pow2", "e1m2_fp32scale"


@dataclass(frozen=True)
class Family:
    """A recipe as the kernel knows it. wide: elements of a block.   keeps: the padding of the last block is answered too."""

    number: int
    wide: int
    keeps: bool
    steps: tuple[str, ...]
    facts: tuple[str, ...]


EVERYWHERE = ("maximum of bf16", "NaN left out of the maximum", "ties away from zero", "ties to zero", "one tie up", "sign left out")
FAMILIES = {
    NVFP4: Family(0, 16, False, ("ratio", "amax_multiplier", "scale_raw", "tensor_factor", "factor", "reciprocal", "scaled"), (
        *EVERYWHERE, "minus zero kept", "division by the number", "reciprocal left out", "scale rounded to zero",
        "ties of the scale away", "small scales flushed", "scale to 240", "ratio of 2560", "reciprocal of the maximum",
        "infinite reciprocal")),
    MXFP4: Family(1, 32, False, ("unit", "multiplier", "scaled"), (
        *EVERYWHERE, "minus zero kept", "division by the number", "scale rounded down", "scale to nearest", "scale always one up",
        "largest element of 4", "small scales flushed", "elements not clamped")),
    E1M2: Family(2, 16, True, ("unit", "scaled"), (
        *EVERYWHERE, "division by the number", "reciprocal of the scale", "zero block with scale 0", "scale of bf16",
        "largest element of 2")),
}  # fmt: skip
INDEX = ("lane 0 left out", "last lane left out", "last lane left out of odd blocks", "scale of the next block",
         "scale of the block before", "lanes in pairs exchanged", "lanes in pairs exchanged in block 3",
         "half a block exchanged")  # fmt: skip
SHAPE = ("last partial block", "load mask one short", "load mask one long", "store mask one short", "store past the end", "65535 blocks",
         "65535 rows", "columns from 1024 on", "strides", "stride of rows", "stale tail", "stale last rows", "last tile not launched",
         "blocks over row ends", "odd number of blocks", "single row")  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One fault. step, rate, way and seed: an ulp up (1) or down (-1) on one of `rate` inputs.   rule: of facts, INDEX or SHAPE."""

    kind: str = "right"
    step: str = ""
    rate: int = 1
    way: int = 0
    seed: int = 0
    rule: str = ""

    def __str__(self) -> str:
        way = "up" if self.way > 0 else "down"
        return f"{self.kind}: " + (f"{self.step} {way}, 1 of {self.rate}" if self.step else self.rule)


def faults(recipe: str, seed: int = 0) -> list[Fault]:
    """Return all faults of a recipe. seed: of the inputs on which a step is off."""
    family = FAMILIES[recipe]
    ulps = [
        Fault("ulp", step, rate, 1 if (place + number) % 2 else -1, seed)
        for place, step in enumerate(family.steps)
        for number, rate in enumerate(RATES)
    ]  # fmt: skip
    shape = [name for name in SHAPE if not family.keeps or name != "store mask one short"]  # of whole blocks there is none
    rules = (("fact", family.facts), ("index", INDEX), ("shape", shape))
    return ulps + [Fault(kind, rule=rule) for kind, names in rules for rule in names]


@triton.jit
def bits_of(value):
    return value.to(tl.int32, bitcast=True)


@triton.jit
def value_of(bits):
    return bits.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def off(value, a, b, here: tl.constexpr, RATE: tl.constexpr, WAY: tl.constexpr, SEED: tl.constexpr):
    """Move a step's answer by an ulp on one of RATE inputs, chosen by a hash of its arguments."""
    if here:
        mixed = bits_of(a).to(tl.uint32, bitcast=True) * 0x85EBCA6B ^ bits_of(b).to(tl.uint32, bitcast=True)
        mixed = ((mixed ^ SEED) ^ (mixed >> 16)) * 0x9E3779B1
        mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35
        mixed = mixed ^ (mixed >> 16)
        bits = bits_of(value)
        magnitude = bits & 0x7FFFFFFF
        return value_of(tl.where((mixed % RATE == 0) & (magnitude > 1) & (magnitude < 0x7F7FFFFF), bits + WAY, bits))
    else:
        return value


@triton.jit
def finite_most(value, MOST: tl.constexpr):
    """Return min(value, MOST); a NaN stays."""
    return tl.where(value > MOST, MOST, value)


@triton.jit
def bf16(value):
    """Round to bf16, ties to even; a NaN stays."""
    bits = bits_of(value)
    return tl.where(value == value, value_of((bits + 0x7FFF + ((bits >> 16) & 1)) & -65536), value)


@triton.jit
def e4m3_code(value, RULE: tl.constexpr):
    """Return the code of 0 .. 448 or NaN."""
    bits = bits_of(value)
    if RULE == "scale rounded to zero":
        normal = bits >> 20
        small = (value * 512.0).to(tl.int32)
    elif RULE == "ties of the scale away":
        normal = (bits + 0x80000) >> 20
        small = (value * 512.0 + 0.5).to(tl.int32)
    else:
        normal = (bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20
        small = (value * 512.0 + 8388608.0 - 8388608.0).to(tl.int32)
    if RULE == "small scales flushed":
        small = 0 * small
    code = tl.where(value < 0.015625, small, normal - 960)
    return tl.where(value == value, code, 0x7F)


@triton.jit
def e8m0_code(value, RULE: tl.constexpr):
    """Return the code of the power of two that is not smaller; a NaN or Inf has 255."""
    bits = bits_of(value)
    if RULE == "scale rounded down":
        code = bits >> 23
    elif RULE == "scale to nearest":
        code = (bits + 0x400000) >> 23
    elif RULE == "scale always one up":
        code = (bits + 0x800000) >> 23
    elif RULE == "small scales flushed":
        code = (bits + 0x7FFFFF) >> 23
    else:
        code = tl.where(bits <= 0x400000, 0, (bits + 0x7FFFFF) >> 23)
    code = tl.where(code > 254, 254, code)
    return tl.where(value == value, code, 255)


@triton.jit
def e2m1_code(m, RULE: tl.constexpr):
    """Return the code of a magnitude; a NaN has 0."""
    if RULE == "ties away from zero":
        odd = (m >= 0.25).to(tl.int32) + (m >= 1.25) + (m >= 2.5) + (m >= 5.0)
    elif RULE == "one tie up":
        odd = (m > 0.25).to(tl.int32) + (m > 1.25) + (m >= 2.5) + (m > 5.0)
    else:
        odd = (m > 0.25).to(tl.int32) + (m > 1.25) + (m > 2.5) + (m > 5.0)
    if RULE == "ties to zero":
        return odd + (m > 0.75) + (m > 1.75) + (m > 3.5)
    else:
        return odd + (m >= 0.75) + (m >= 1.75) + (m >= 3.5)


@triton.jit
def e1m2_code(m, RULE: tl.constexpr):
    """Return the code of a magnitude: quarters up to 7."""
    quarters = tl.where(m > 2.0, 8.0, m * 4.0)
    if RULE == "ties away from zero":
        code = (quarters + 0.5).to(tl.int32)
    elif RULE == "ties to zero":
        code = (quarters + 8388608.0 - 8388608.0).to(tl.int32)
        code = tl.where(code - quarters == 0.5, code - 1, code)
    elif RULE == "one tie up":
        code = (quarters + 8388608.0 - 8388608.0).to(tl.int32)
        code = tl.where(quarters == 2.5, 3, code)
    else:
        code = (quarters + 8388608.0 - 8388608.0).to(tl.int32)
    return tl.where(code > 7, 7, code)


@triton.jit
def quantize_kernel(x, tensor_amax, codes, scale, rows, columns, blocks, width, row_stride, column_stride,
                    FAMILY: tl.constexpr, WIDE: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr, RATE: tl.constexpr, WAY: tl.constexpr,
                    SEED: tl.constexpr, RULE: tl.constexpr):  # fmt: skip
    """Quantize TILE blocks. width: columns of the codes.   STEP, RATE, WAY, SEED: as in off.   RULE: the rule that is broken, or ""."""
    block = tl.program_id(0) * TILE + tl.arange(0, TILE)
    total = rows * blocks
    if RULE == "65535 blocks":
        total = tl.minimum(total, 65535)
    row = block // blocks
    place = block % blocks
    if RULE == "65535 rows":
        total = tl.minimum(total, 65535 * blocks)
    lane = tl.arange(0, WIDE)
    column = place[:, None] * WIDE + lane[None, :]
    there = (block < total)[:, None]
    # what is read
    end = columns
    if RULE == "load mask one short":
        end = columns - (columns % WIDE > 0)
    if RULE == "last partial block":
        end = columns // WIDE * WIDE
    if RULE == "load mask one long":
        end = columns + (columns % WIDE > 0)
    if RULE == "blocks over row ends":
        inside = (row[:, None] * columns + column) < rows * columns
    else:
        inside = column < end
        if RULE == "load mask one long":
            inside = inside & (row[:, None] * columns + column < rows * columns)
    from_lane = column
    if RULE == "half a block exchanged":
        from_lane = tl.where((place % 4 == 3)[:, None], column ^ (WIDE // 2), column)
        inside = from_lane < end
    value = tl.load(x + row[:, None] * row_stride + from_lane * column_stride, mask=there & inside, other=0.0)
    # the block maximum
    magnitude = bits_of(value) & 0x7FFFFFFF
    if RULE == "NaN left out of the maximum":
        magnitude = tl.where(magnitude > 0x7F800000, 0, magnitude)
    if RULE == "maximum of bf16":
        magnitude = bits_of(bf16(value_of(magnitude)))
    if RULE == "lane 0 left out":
        magnitude = tl.where(lane[None, :] == 0, 0, magnitude)
    if RULE == "last lane left out":
        magnitude = tl.where(lane[None, :] == WIDE - 1, 0, magnitude)
    if RULE == "last lane left out of odd blocks":
        magnitude = tl.where((lane[None, :] == WIDE - 1) & (place % 2 == 1)[:, None], 0, magnitude)
    top = value_of(tl.max(magnitude, axis=1))
    # the scale and the scaled elements
    if FAMILY == 0:
        amax = tl.load(tensor_amax + 0 * block)
        one = tl.full((TILE,), 1.0, tl.float32)
        number = tl.full((TILE,), 2560.0 if RULE == "ratio of 2560" else 2688.0, tl.float32)
        ratio = tl.math.div_rn(number, amax)
        if RULE == "reciprocal of the maximum":
            ratio = number * tl.math.div_rn(one, amax)
        multiplier = finite_most(off(ratio, amax, number, STEP == "ratio", RATE, WAY, SEED), 3.4028234663852886e38)
        multiplier = tl.where(multiplier == 0, 1.0, multiplier)
        sixth = value_of(tl.full((TILE,), 0x3E2AAAAB, tl.int32))
        by_amax = off(multiplier * sixth, multiplier, sixth, STEP == "amax_multiplier", RATE, WAY, SEED)
        tensor_factor = tl.math.div_rn(one, multiplier)
        tensor_factor = off(tensor_factor, multiplier, sixth, STEP == "tensor_factor", RATE, WAY, SEED)
        raw = top * by_amax
        if RULE == "division by the number":
            raw = tl.math.div_rn(top, 6.0 * one) * multiplier
        raw = off(raw, top, by_amax, STEP == "scale_raw", RATE, WAY, SEED)
        if RULE == "scale to 240":
            raw = finite_most(raw, 240.0)
        code = e4m3_code(finite_most(raw, 448.0), RULE)
        scale_value = tl.where(code < 8, code.to(tl.float32) * 0.001953125, value_of((code + 960) << 20))
        scale_value = tl.where(code == 0x7F, float("nan"), scale_value)
        factor = off(scale_value * tensor_factor, scale_value, tensor_factor, STEP == "factor", RATE, WAY, SEED)
        inverse = off(tl.math.div_rn(one, factor), factor, tensor_factor, STEP == "reciprocal", RATE, WAY, SEED)
        if RULE != "infinite reciprocal":
            inverse = finite_most(inverse, 3.4028234663852886e38)
        if RULE == "reciprocal left out":
            scaled = tl.math.div_rn(value, tl.broadcast_to(factor[:, None], (TILE, WIDE)))
            scaled = tl.where((factor == 0)[:, None], value * inverse[:, None], scaled)
        else:
            lanes = tl.broadcast_to(inverse[:, None], (TILE, WIDE))
            scaled = off(value * lanes, value, lanes, STEP == "scaled", RATE, WAY, SEED)
    elif FAMILY == 1:
        unit = tl.math.div_rn(top, tl.full((TILE,), 6.0, tl.float32))
        if RULE == "division by the number":
            unit = top * 0.1666666716337204
        if RULE == "largest element of 4":
            unit = top * 0.25
        unit = off(unit, top, top, STEP == "unit", RATE, WAY, SEED)
        code = e8m0_code(unit, RULE)
        scale_value = value_of(tl.where(code == 0, 0x400000, tl.where(code == 255, 0x7FC00000, code << 23)))
        inverse = tl.math.div_rn(tl.full((TILE,), 1.0, tl.float32), scale_value)
        inverse = off(inverse, top, scale_value, STEP == "multiplier", RATE, WAY, SEED)
        lanes = tl.broadcast_to(inverse[:, None], (TILE, WIDE))
        scaled = off(value * lanes, value, lanes, STEP == "scaled", RATE, WAY, SEED)
    else:
        unit = tl.math.div_rn(top, tl.full((TILE,), 1.75, tl.float32))
        if RULE == "division by the number":
            unit = top * 0.5714285969734192
        if RULE == "largest element of 2":
            unit = top * 0.5
        unit = off(unit, top, top, STEP == "unit", RATE, WAY, SEED)
        if RULE == "scale of bf16":
            unit = bf16(unit)
        if RULE != "zero block with scale 0":
            unit = tl.where(unit == 0, 1.0, unit)
        code = unit
        wide_unit = tl.broadcast_to(unit[:, None], (TILE, WIDE))
        if RULE == "reciprocal of the scale":
            scaled = value * tl.math.div_rn(tl.full((TILE, WIDE), 1.0, tl.float32), wide_unit)
        else:
            scaled = off(tl.math.div_rn(value, wide_unit), value, wide_unit, STEP == "scaled", RATE, WAY, SEED)
    # codes
    negative = scaled < 0
    if FAMILY == 2 or RULE == "minus zero kept":
        negative = (bits_of(scaled) < 0) & (scaled == scaled)
    if RULE == "sign left out":
        negative = negative & (tl.abs(scaled) > 0.5)
    if RULE == "elements not clamped":
        size = tl.abs(scaled)
    else:
        size = finite_most(tl.abs(scaled), 6.0)
    if FAMILY == 2:
        found = e1m2_code(size, RULE)
        found = tl.where(scaled == scaled, found, 0)
    else:
        found = e2m1_code(size, RULE)
    found = found | tl.where(negative, 8, 0)
    if RULE == "odd number of blocks":
        found = tl.where(((blocks % 2 == 1) & (blocks > 1) & (place == blocks - 1))[:, None], 0, found)
    if RULE == "single row":
        found = tl.where(rows == 1, 0, found)
    if RULE == "columns from 1024 on":
        found = tl.where(column >= 1024, 0, found)
    # what is written
    to_column = column
    if RULE == "lanes in pairs exchanged":
        to_column = tl.where((column | 1) < width, column ^ 1, column)
    if RULE == "lanes in pairs exchanged in block 3":
        to_column = tl.where(((column | 1) < width) & (place == 3)[:, None], column ^ 1, column)
    written = there & (column < width)
    if RULE == "store mask one short":
        written = there & (column < width - (width % 2))
    if RULE == "stale tail":
        written = written & (place * WIDE < columns // WIDE * WIDE)[:, None]
    if RULE == "stale last rows":
        written = written & (row < rows - rows // 3)[:, None]
    at = block
    if RULE == "scale of the next block":
        at = tl.where(place % 4 == 3, row * blocks + (place + 1) % blocks, block)
    if RULE == "scale of the block before":
        at = row * blocks + (place + 1) % blocks
    tl.store(scale + at, code.to(scale.dtype.element_ty), mask=block < total)
    tl.store(codes + row[:, None] * width + to_column, found.to(tl.uint8), mask=written)
    if RULE == "store past the end":
        tl.store(codes + row * width + width, code.to(tl.int32).to(tl.uint8), mask=block == total - 1)


def quantizer(recipe: str, fault: Fault = Fault()) -> Callable[..., Any]:
    """Return a kernel of torch tensors, with a fault or without: x (and its tensor maximum) -> codes, scale.

    Both answers lie in one piece of memory that is used again, the scales behind the codes.
    """
    family = FAMILIES[recipe]
    arena = torch.zeros(1 << 25, dtype=torch.uint8)

    def call(x: torch.Tensor, tensor_amax: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        outer, columns = x.shape[:-1], x.shape[-1]
        x = x if x.dim() == 2 else x.reshape(-1, columns)
        rows, blocks = x.shape[0], -(-columns // family.wide)
        width = blocks * family.wide if family.keeps else columns
        count = rows * width
        begin = -(-count // 4) * 4 if family.keeps else count  # a scale of four bytes lies on a multiple of four
        codes = arena[:count].reshape(rows, width)
        scale = arena[begin : begin + rows * blocks * (4 if family.keeps else 1)]
        scale = (scale.view(torch.float32) if family.keeps else scale).reshape(rows, blocks)
        tile = max(16, min(LARGEST_TILE, triton.next_power_of_2(rows * blocks)))
        row_stride, column_stride = x.stride()
        if fault.rule in ("strides", "stride of rows"):
            row_stride, column_stride = columns, 1 if fault.rule == "strides" else column_stride
        programs = triton.cdiv(rows * blocks, tile)
        if fault.rule == "last tile not launched":
            programs = max(1, rows * blocks // tile)
        if programs and count:
            given = (x, x if tensor_amax is None else torch.as_tensor(tensor_amax), codes, scale)
            named = {"STEP": fault.step, "RATE": fault.rate, "WAY": fault.way, "SEED": fault.seed, "RULE": fault.rule}
            with np.errstate(all="ignore"):  # the interpreter computes with NumPy
                quantize_kernel[(programs,)](*given, rows, columns, blocks, width, row_stride, column_stride,
                                             FAMILY=family.number, WIDE=family.wide, TILE=tile, **named)  # fmt: skip
        return codes.reshape(*outer, width), scale.reshape(*outer, blocks)

    return call
