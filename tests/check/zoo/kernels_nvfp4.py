"""NVFP4 quantizers in plain NumPy: Transformer Engine's order of steps, and kernels that differ from it in one place.

x: float32 [rows, n].   tensor_amax: float32.   Answer: element codes [rows, n] and scale bytes [rows, blocks].
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

F32 = np.float32
GRID = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
TIES = (GRID[:-1] + GRID[1:]) / 2
SIXTH = F32(1) / F32(6)
FLT_MAX = np.finfo(np.float32).max
TINY = np.finfo(np.float32).smallest_normal


def flushed(x):
    return np.where(np.abs(x) < TINY, np.copysign(F32(0), x), x).astype(np.float32)


def e4m3(x):
    """Byte of the nearest E4M3 number, saturated; NaN is 7F."""
    byte = np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return np.where(np.isnan(x), 0x7F, byte).astype(np.uint8)


def from_e4m3(byte):
    return byte.view(ml_dtypes.float8_e4m3fn).astype(np.float32)


def tensor_multiplier(tensor_amax):
    found = np.minimum(F32(2688) / F32(tensor_amax), FLT_MAX)
    return F32(1) if found == 0 else found


def block_amax(blocks):
    return np.abs(blocks).max(axis=-1)


def scale_of(amax, times):
    """times: the tensor multiplier."""
    return e4m3(np.minimum(amax * (times * SIXTH), FLT_MAX))


def scaled_by(blocks, scale, times):
    factor = from_e4m3(scale) * (F32(1) / times)
    return blocks * np.minimum(F32(1) / factor, FLT_MAX)[..., None]


def codes_of(y):
    """Nearest, ties to even code, saturated; NaN and minus zero give 0, a negative that rounds to zero gives 8."""
    below, above = (np.searchsorted(TIES, np.abs(y), side=side) for side in ("left", "right"))
    code = np.where(below % 2 == 0, below, above) | np.where(y < 0, 8, 0)
    return np.where(np.isnan(y), 0, code).astype(np.uint8)


def quantize(
    x,
    tensor_amax,
    size=16,
    multiplier=tensor_multiplier,
    amax=block_amax,
    scale=scale_of,
    scaled=scaled_by,
    codes=codes_of,
):
    """The steps in their order; a wrong kernel replaces one of them."""
    rows, n = x.shape
    with np.errstate(all="ignore"):
        padded = np.pad(x, ((0, 0), (0, -n % size)))
        blocks = padded.reshape(rows, -1, size)
        times = multiplier(F32(tensor_amax))
        byte = scale(amax(blocks), times)
        found = codes(scaled(blocks, byte, times))
    return {"codes": found.reshape(rows, -1)[:, :n], "scale": byte}


def right_te(x, tensor_amax):
    return quantize(x, tensor_amax)


# wrong: order and kind of operations


def divides_by_six(x, tensor_amax):
    """amax / 6 first, then the tensor multiplier."""
    return quantize(x, tensor_amax, scale=lambda amax, times: e4m3(np.minimum(amax / F32(6) * times, FLT_MAX)))


def multiplies_from_the_left(x, tensor_amax):
    """(amax * multiplier) * (1/6)."""
    return quantize(x, tensor_amax, scale=lambda amax, times: e4m3(np.minimum(amax * times * SIXTH, FLT_MAX)))


def divides_elements(x, tensor_amax):
    """x / factor for x * (1 / factor)."""
    return quantize(x, tensor_amax, scaled=lambda blocks, scale, times: blocks / (from_e4m3(scale) * (F32(1) / times))[..., None])


def torchao_multiplier(x, tensor_amax):
    """(1 / tensor factor) / scale in two divisions."""

    def scaled(blocks, scale, times):
        return blocks * np.minimum(times / from_e4m3(scale), FLT_MAX)[..., None]

    return quantize(x, tensor_amax, scaled=scaled)


def reciprocal_of_the_maximum(x, tensor_amax):
    """2688 * (1 / amax), as tensor libraries write number / tensor."""

    def multiplier(a):
        found = np.minimum(F32(1) / a * F32(2688), FLT_MAX)
        return F32(1) if found == 0 else found

    return quantize(x, tensor_amax, multiplier=multiplier)


def approximate_reciprocal(x, tensor_amax):
    """A reciprocal that is one bit short."""

    def scaled(blocks, scale, times):
        factor = from_e4m3(scale) * (F32(1) / times)
        inverse = np.minimum(F32(1) / factor, FLT_MAX)
        return blocks * (inverse.view(np.uint32) & np.uint32(0xFFFFFFFE)).view(np.float32)[..., None]

    return quantize(x, tensor_amax, scaled=scaled)


def multiplier_in_bf16(x, tensor_amax):
    def scaled(blocks, scale, times):
        factor = from_e4m3(scale) * (F32(1) / times)
        return blocks * np.minimum(F32(1) / factor, FLT_MAX).astype(ml_dtypes.bfloat16).astype(np.float32)[..., None]

    return quantize(x, tensor_amax, scaled=scaled)


def elements_in_bf16(x, tensor_amax):
    """The scaled element is rounded to bf16 before the grid."""
    return quantize(x, tensor_amax, codes=lambda y: codes_of(y.astype(ml_dtypes.bfloat16).astype(np.float32)))


def elements_in_fp16(x, tensor_amax):
    return quantize(x, tensor_amax, codes=lambda y: codes_of(y.astype(np.float16).astype(np.float32)))


def input_in_fp16(x, tensor_amax):
    """The tensor is cast to fp16 on its way in."""
    with np.errstate(all="ignore"):
        return quantize(x.astype(np.float16).astype(np.float32), tensor_amax)


# wrong: scales


def scale_in_bf16_first(x, tensor_amax):
    """Rounded to bf16, then to E4M3."""

    def scale(amax, times):
        return e4m3(np.minimum(amax * (times * SIXTH), FLT_MAX).astype(ml_dtypes.bfloat16).astype(np.float32))

    return quantize(x, tensor_amax, scale=scale)


def neighbour(byte, wanted, up):
    """The next E4M3 byte where the nearest one lies on the wrong side."""
    got = from_e4m3(byte)
    step = (got < wanted) & (byte < 0x7E) if up else -((got > wanted) & (byte > 0)).astype(np.int64)
    return np.where(np.isnan(wanted), 0x7F, byte + step).astype(np.uint8)


def scale_rounded_up(x, tensor_amax):
    def scale(amax, times):
        return neighbour(scale_of(amax, times), amax * (times * SIXTH), up=True)

    return quantize(x, tensor_amax, scale=scale)


def scale_truncated(x, tensor_amax):
    def scale(amax, times):
        return neighbour(scale_of(amax, times), amax * (times * SIXTH), up=False)

    return quantize(x, tensor_amax, scale=scale)


def scale_not_clamped(x, tensor_amax):
    """Above 448 the cast gives NaN."""

    def scale(amax, times):
        return (amax * (times * SIXTH)).astype(ml_dtypes.float8_e4m3fn).view(np.uint8) & np.uint8(0x7F)

    return quantize(x, tensor_amax, scale=scale)


def scale_never_zero(x, tensor_amax):
    """At least 2^-9, so that nobody divides by zero."""
    return quantize(x, tensor_amax, scale=lambda amax, times: np.maximum(scale_of(amax, times), np.uint8(1)))


def scale_at_least_2_to_minus_6(x, tensor_amax):
    """Subnormal scales are avoided."""
    return quantize(x, tensor_amax, scale=lambda amax, times: np.maximum(scale_of(amax, times), np.uint8(8)))


def zero_scale_becomes_one(x, tensor_amax):
    def scale(amax, times):
        byte = scale_of(amax, times)
        return np.where(byte == 0, 0x38, byte).astype(np.uint8)

    return quantize(x, tensor_amax, scale=scale)


def zero_scale_zeroes_the_block(x, tensor_amax):
    """Elements of a block whose scale is zero are 0; the recipe multiplies them by FLT_MAX."""

    def scaled(blocks, scale, times):
        return np.where(scale[..., None] == 0, F32(0), scaled_by(blocks, scale, times))

    return quantize(x, tensor_amax, scaled=scaled)


def scale_subnormals_flushed(x, tensor_amax):
    def scale(amax, times):
        byte = scale_of(amax, times)
        return np.where(byte < 8, 0, byte).astype(np.uint8)

    return quantize(x, tensor_amax, scale=scale)


def scale_limit_256(x, tensor_amax):
    """The head room of four-over-six: 6 * 256 for 6 * 448."""

    def multiplier(a):
        found = np.minimum(F32(1536) / a, FLT_MAX)
        return F32(1) if found == 0 else found

    return quantize(x, tensor_amax, multiplier=multiplier)


def scale_ignores_the_tensor(x, tensor_amax):
    """One level where the format has two."""
    return quantize(x, tensor_amax, multiplier=lambda a: F32(1))


def scale_from_rounded_elements(x, tensor_amax):
    """Elements are divided by the scale before it was rounded."""
    with np.errstate(all="ignore"):
        times = tensor_multiplier(F32(tensor_amax))

        def scaled(blocks, scale, times):
            exact = np.minimum(block_amax(blocks) * (times * SIXTH), FLT_MAX)
            return blocks * np.minimum(F32(1) / (exact * (F32(1) / times)), FLT_MAX)[..., None]

        return quantize(x, tensor_amax, scaled=scaled, multiplier=lambda a: times)


# wrong: maxima


def maximum_without_abs(x, tensor_amax):
    return quantize(x, tensor_amax, amax=lambda blocks: np.maximum(blocks.max(axis=-1), 0))


def maximum_of_the_other_axis(x, tensor_amax):
    """The maximum goes down the column of blocks."""

    def amax(blocks):
        return np.broadcast_to(np.abs(blocks).max(axis=(0, 2)), blocks.shape[:2])

    return quantize(x, tensor_amax, amax=amax)


def maximum_loses_nan(x, tensor_amax):
    """fmax drops NaN."""
    return quantize(x, tensor_amax, amax=lambda blocks: np.fmax.reduce(np.abs(blocks), axis=-1))


def maximum_misses_the_last_lane(x, tensor_amax):
    return quantize(x, tensor_amax, amax=lambda blocks: np.abs(blocks[..., :-1]).max(axis=-1))


def maximum_of_the_next_block(x, tensor_amax):
    """The scale of a block is that of its neighbour."""
    return quantize(x, tensor_amax, amax=lambda blocks: np.roll(block_amax(blocks), 1, axis=1))


def maximum_of_32(x, tensor_amax):
    """Blocks of 32; the scale of each is written twice."""
    rows, n = x.shape
    with np.errstate(all="ignore"):
        wide = np.abs(np.pad(x, ((0, 0), (0, -n % 32)))).reshape(rows, -1, 32).max(axis=-1)
    return quantize(x, tensor_amax, amax=lambda blocks: np.repeat(wide, 2, axis=1)[:, : blocks.shape[1]])


def tensor_maximum_of_the_row(x, tensor_amax):
    """The row's own maximum for the tensor's."""
    parts = [quantize(row[None], np.abs(row).max()) for row in x]
    return {name: np.concatenate([part[name] for part in parts]) for name in ("codes", "scale")}


# wrong: elements


def minus_zero_on_overflow(x, tensor_amax):
    """Not clamped: 8 is encoded as code 8, minus zero."""

    def codes(y):
        return np.where(np.abs(y) >= 7, 8, codes_of(y)).astype(np.uint8)

    return quantize(x, tensor_amax, codes=codes)


def ties_away(x, tensor_amax):
    def codes(y):
        found = np.searchsorted(TIES, np.abs(y), side="right") | np.where(y < 0, 8, 0)
        return np.where(np.isnan(y), 0, found).astype(np.uint8)

    return quantize(x, tensor_amax, codes=codes)


def minus_zero_kept(x, tensor_amax):
    """The sign bit is copied, also that of minus zero."""

    def codes(y):
        return np.where(np.signbit(y) & (y == 0), 8, codes_of(y)).astype(np.uint8)

    return quantize(x, tensor_amax, codes=codes)


def nan_becomes_six(x, tensor_amax):
    return quantize(x, tensor_amax, codes=lambda y: np.where(np.isnan(y), 7, codes_of(y)).astype(np.uint8))


def flushes_inputs(x, tensor_amax):
    return quantize(flushed(x), tensor_amax)


def flushes_the_factor(x, tensor_amax):
    """scale * (1 / multiplier) below the smallest normal is zero."""

    def scaled(blocks, scale, times):
        factor = flushed(from_e4m3(scale) * flushed(F32(1) / times))
        return blocks * np.minimum(F32(1) / factor, FLT_MAX)[..., None]

    return quantize(x, tensor_amax, scaled=scaled)
