"""Decoding and dequantizing in plain NumPy, right and wrong: codes and levels as stored bits, float32 values back."""

from __future__ import annotations

import ml_dtypes
import numpy as np

F32 = np.float32
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
E1M2 = np.concatenate([np.arange(8), -np.arange(8.0)]).astype(np.float32) / 4
FACTOR = F32(1) / F32(2688)


def from_e4m3(byte):
    """UE4M3: bit 7 says nothing."""
    return (byte & 0x7F).astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float32)


def from_e8m0(byte):
    return np.where(byte == 255, F32(np.nan), np.ldexp(F32(1), np.minimum(byte, 254).astype(np.int32) - 127)).astype(np.float32)


def float32(word):
    return np.ascontiguousarray(word, np.uint32).view(np.float32).reshape(np.shape(word))


# decode, right


def right_decode_e2m1(codes):
    return E2M1[codes]


def right_decode_e4m3(codes):
    return codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32)


def right_decode_e8m0(codes):
    return from_e8m0(codes)


# decode, wrong


def subnormal_is_zero(codes):
    """Code 1 has no leading one: read as zero."""
    return np.where(codes & 7 == 1, np.copysign(F32(0), E2M1[codes]), E2M1[codes])


def sign_is_bit_0(codes):
    """Sign last: the nibble is read backwards."""
    return np.where(codes & 1, -E2M1[codes >> 1], E2M1[codes >> 1]).astype(np.float32)


def bias_two(codes):
    """Exponents are one too low."""
    return E2M1[codes] / F32(2)


def leading_one_everywhere(codes):
    """No subnormals: code 0 is 1/2, code 1 is 3/4."""
    return np.where(codes & 7 < 2, np.copysign(F32(0.5) + F32(0.25) * (codes & 1), E2M1[codes]), E2M1[codes]).astype(np.float32)


def two_complement(codes):
    """Codes read as integers."""
    return (codes ^ 8).astype(np.float32) - F32(8)


def uniform_grid(codes):
    """E2M1 read as E1M2."""
    return E1M2[codes]


def minus_zero_is_zero(codes):
    return E2M1[codes] + F32(0)


def e4m3_without_nan(codes):
    """7F is 480."""
    return np.where(codes & 0x7F == 0x7F, np.copysign(F32(480), np.where(codes > 127, F32(-1), F32(1))), right_decode_e4m3(codes))


def e4m3_subnormals_flushed(codes):
    value = right_decode_e4m3(codes)
    return np.where(codes & 0x7F < 8, np.copysign(F32(0), np.where(codes > 127, F32(-1), F32(1))), value)


def e4m3_bias_8(codes):
    """The FNUZ bias."""
    return right_decode_e4m3(codes) / F32(2)


def e8m0_zero_is_zero(codes):
    return np.where(codes == 0, F32(0), from_e8m0(codes))


def e8m0_255_is_a_number(codes):
    """2^128, that is Inf."""
    return np.where(codes == 255, F32(np.inf), from_e8m0(codes))


def e8m0_bias_126(codes):
    return np.where(codes == 254, F32(np.inf), from_e8m0(codes + (codes < 254)))


# NVFP4: fl(code * fl(fl(scale * tensor) * fl(1/2688)))


def nvfp4(codes, scale, tensor, factor=None, element=E2M1, result=lambda v: v):
    if factor is None:
        factor = te_factor
    with np.errstate(all="ignore"):
        per_block = np.repeat(factor(from_e4m3(scale), float32(tensor)), 16, axis=-1)[:, : codes.shape[1]]
        return result(element[codes] * per_block).astype(np.float32)


def te_factor(scale, tensor):
    return scale * tensor * FACTOR


def right_dequantize_te(codes, scale, tensor):
    return nvfp4(codes, scale, tensor)


def divides_by_2688(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, factor=lambda s, t: s * t / F32(2688))


def tensor_factor_first(codes, scale, tensor):
    """scale * (tensor / 2688)."""
    return nvfp4(codes, scale, tensor, factor=lambda s, t: s * (t * FACTOR))


def element_times_scale_first(codes, scale, tensor):
    """((code * scale) * tensor) / 2688."""
    with np.errstate(all="ignore"):
        per_element = np.repeat(from_e4m3(scale), 16, axis=-1)[:, : codes.shape[1]]
        return (E2M1[codes] * per_element * float32(tensor) / F32(2688)).astype(np.float32)


def rounded_once(codes, scale, tensor):
    """The exact product, rounded once."""
    with np.errstate(all="ignore"):
        per_element = np.repeat(from_e4m3(scale), 16, axis=-1)[:, : codes.shape[1]]
        product = E2M1[codes].astype(np.float64) * per_element * np.float64(float32(tensor))
        return (product / 2688).astype(np.float32)


def tensor_factor_forgotten(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, factor=lambda s, t: s * np.ones_like(t))


def tensor_maximum_not_divided(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, factor=lambda s, t: s * t)


def tensor_factor_is_a_divisor(codes, scale, tensor):
    """Divides where it should multiply."""
    return nvfp4(codes, scale, tensor, factor=lambda s, t: s / (t * FACTOR))


def factor_in_bf16(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, factor=lambda s, t: te_factor(s, t).astype(ml_dtypes.bfloat16).astype(np.float32))


def result_in_bf16(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, result=lambda v: v.astype(ml_dtypes.bfloat16))


def result_in_fp16(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, result=lambda v: v.astype(np.float16))


def result_flushed(codes, scale, tensor):
    return nvfp4(codes, scale, tensor, result=lambda v: np.where(np.abs(v) < F32(2**-126), np.copysign(F32(0), v), v))


def minus_zero_dropped(codes, scale, tensor):
    """Code 8 gives plus zero."""
    return nvfp4(codes, scale, tensor, element=np.where(E2M1 == 0, F32(0), E2M1))


def nibbles_swapped(codes, scale, tensor):
    swapped = codes.copy()
    n = codes.shape[1] // 2 * 2
    swapped[:, :n] = codes[:, :n].reshape(len(codes), -1, 2)[..., ::-1].reshape(len(codes), -1)
    return nvfp4(swapped, scale, tensor)


def scale_of_the_next_block(codes, scale, tensor):
    return nvfp4(codes, np.roll(scale, 1, axis=1), tensor)


def nan_scale_is_480(codes, scale, tensor):
    with np.errstate(all="ignore"):
        value = np.where(scale & 0x7F == 0x7F, F32(480), from_e4m3(scale))
        per_block = np.repeat(te_factor(value, float32(tensor)), 16, axis=-1)[:, : codes.shape[1]]
        return (E2M1[codes] * per_block).astype(np.float32)


# MXFP4


def mxfp4(codes, scale, power=from_e8m0):
    with np.errstate(all="ignore"):
        return E2M1[codes] * np.repeat(power(scale), 32, axis=-1)


def right_dequantize_mxfp4(codes, scale):
    return mxfp4(codes, scale)


def mx_zero_scale_is_zero(codes, scale):
    """2^-127 is a float32 subnormal, and flushed."""
    return mxfp4(codes, scale, power=lambda byte: np.where(byte == 0, F32(0), from_e8m0(byte)))


def mx_nan_scale_is_infinite(codes, scale):
    return mxfp4(codes, scale, power=e8m0_255_is_a_number)


def mx_bias_126(codes, scale):
    return mxfp4(codes, scale, power=e8m0_bias_126)


def mx_exponent_bits(codes, scale):
    """The byte is moved into the exponent field: 00 becomes zero and FF infinity."""
    return mxfp4(codes, scale, power=lambda byte: (byte.astype(np.uint32) << 23).view(np.float32))
