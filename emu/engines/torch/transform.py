"""transform: the randomized Hadamard rotation of groups of elements, with its order of additions, on tensors."""

from __future__ import annotations

import torch

from emu.base.errors import EngineError, OperandError, ShapeError
from emu.engines.torch.arithmetic import fp32, number_of, round_number, round_values
from emu.engines.torch.can import can_transform
from emu.engines.torch.limbs import sum_of
from emu.engines.torch.numbers import Number, split
from emu.engines.torch.round import encode
from emu.engines.torch.tensors import check_environment, checked, code_dtype, signed_view
from emu.spec import derive
from emu.spec.ieee import binary_format, is_binary32, is_within
from emu.spec.models import Format, Rounding, Transform
from emu.spec.registry import get

GROUPS = 1 << 12
_LEAST, _HIGHEST = -149, 128  # exponents of binary32 numbers: the least unit, and above the highest bit


def transform(codes: torch.Tensor, source: Format, chosen: Transform, signs: int | None = None) -> torch.Tensor:
    """Rotate codes along the last axis, each `size` consecutive ones.

    codes: [..., n], n a multiple of the size.   signs: bit i negates element i; None: the transform's own.
    Returns: unsigned codes of the result format, same shape.   NaN and Inf spread by the IEEE rules of addition; NaN canonical.
    Exactness: equals emu.engines.exact.transform bit for bit.   Raises: ShapeError (length), OperandError (signs), EngineError.
    Source: the transform's sources.   Tests: tests/engines/torch/test_torch_transform.py.
    """
    size = chosen.facts.size
    if not can_transform(chosen, source):
        raise EngineError(f"engine torch does not do transform {chosen.id} on {source.id}: engine exact does it")
    if codes.ndim == 0 or codes.shape[-1] % size:
        raise ShapeError(f"transform {chosen.id} rotates {size} elements: the last axis must be a multiple of it")
    check_environment(codes.device)
    result: Format = get("format", chosen.facts.result)
    flat = codes.contiguous().view(-1, size)
    out = torch.empty(flat.shape, dtype=code_dtype(result), device=codes.device)
    for start in range(0, flat.shape[0], GROUPS):
        values = rotate(values_from(flat[start : start + GROUPS], source), chosen, signs)
        signed_view(out)[start : start + GROUPS] = codes_from(values, result)
    return out.view(codes.shape)


def values_from(codes: torch.Tensor, source: Format) -> torch.Tensor:
    """Return the float32 values of codes of a format inside binary32, exact. Raises: OperandError (another value)."""
    known = binary_format(source)
    if known == "binary32":
        return signed_view(codes).view(torch.float32)
    if known == "bfloat16":
        wide = signed_view(codes).to(torch.int32)
        wide <<= 16
        return wide.view(torch.float32)
    x = split(checked(codes, source), source)
    values = round_number(x, fp32(), get("rounding", "rne"))
    if not is_within(source, fp32()):
        back = number_of(values)
        shift = (back.lsb_exp - x.lsb_exp).clamp(-62, 62)
        same = (back.significand << shift.clamp(min=0)) == (x.significand << (-shift).clamp(min=0))
        if not bool((same & ~back.inf | (x.nan | x.inf | x.zero)).all()):
            name = "binary64" if known == "binary64" else source.id
            raise OperandError(f"a {name} value is no binary32 number: recipes start from binary32, convert the tensor first")
    return values


def codes_from(values: torch.Tensor, result: Format) -> torch.Tensor:
    """Return the signed codes of float32 values rounded once to a format, nearest even; NaN canonical."""
    if is_binary32(result):
        bits = values.contiguous().view(torch.int32)
        return torch.where(torch.isnan(values), derive.codes(result).nan[0], bits)
    return encode(number_of(values.contiguous()), result, get("rounding", "rne"), derive.arithmetic_entry(result))


def sign_mask(chosen: Transform, signs: int | None) -> int:
    """Return the sign mask to use. Raises: OperandError when the transform fixes its signs or the mask is too wide."""
    if signs is None:
        return int(chosen.facts.signs, 16)
    if chosen.facts.signs_operand == "no":
        raise OperandError(f"transform {chosen.id} has fixed signs: leave signs out")
    if not 0 <= signs < 1 << chosen.facts.size:
        raise OperandError(f"signs {signs:#x} has more than {chosen.facts.size} bits")
    return signs


def rotate(values: torch.Tensor, chosen: Transform, signs: int | None = None) -> torch.Tensor:
    """Return rotated values on the grid of the result format. values: float32 [groups, size], not changed."""
    facts = chosen.facts
    if not is_binary32(get("format", facts.sum_format)):
        raise EngineError(f"engine torch adds in fp32, not {facts.sum_format}: engine exact does it")
    mask = sign_mask(chosen, signs)
    flips = torch.tensor([[-0x80000000 * (mask >> i & 1)] for i in range(facts.size)], dtype=torch.int32, device=values.device)
    rows = (values.t().contiguous().view(torch.int32) ^ flips).view(torch.float32)
    scale = derive.parse_exact(facts.scale)
    if facts.sum == "exact":
        summed = _exact(rows, scale.numerator.bit_length() - scale.denominator.bit_length())
    else:
        summed = _butterfly(rows) if facts.sum == "butterfly" else _sequential(rows)
        summed = summed * torch.full_like(summed, float(scale))
    nearest: Rounding = get("rounding", "rne")
    return round_values(summed.t().contiguous(), get("format", facts.result), nearest)


def _butterfly(rows: torch.Tensor) -> torch.Tensor:
    """Strides 1, 2, 4, ...: (a, b) becomes (a + b, a - b), each rounded."""
    size, stride = rows.shape[0], 1
    while stride < size:
        pairs = rows.view(size // (2 * stride), 2, stride, -1)
        rows = torch.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], dim=1).view(size, -1)
        stride *= 2
    return rows


def _minus(i: int, j: int) -> bool:
    """Tell whether H[i][j] is -1."""
    return (i & j).bit_count() % 2 == 1


def _sequential(rows: torch.Tensor) -> torch.Tensor:
    """One sum per row of H from +0, each addition rounded."""
    out = torch.zeros_like(rows)
    for j in range(rows.shape[0]):
        for i in range(rows.shape[0]):
            out[i] = out[i] - rows[j] if _minus(i, j) else out[i] + rows[j]
    return out


def _exact(rows: torch.Tensor, scale_exp: int) -> torch.Tensor:
    """One rounding of the scaled exact sum of each row of H; an exact zero is +0, or -0 where every term is."""
    x = number_of(rows)
    size, room = rows.shape[0], rows.shape[0].bit_length()
    plus, minus = (x.inf & ~x.sign, x.inf & x.sign)
    nan = x.nan.any(0)
    finite = torch.where(x.inf | x.nan, 0, x.significand)
    out = []
    for i in range(size):
        negated = torch.tensor([_minus(i, j) for j in range(size)], device=rows.device).unsqueeze(1)
        sign = x.sign ^ negated
        terms = [Number(sign[j], nan, nan, finite[j], x.lsb_exp[j]) for j in range(size)]
        total = sum_of(terms, _LEAST, _HIGHEST + room)
        up, down = ((plus & ~negated) | (minus & negated)).any(0), ((plus & negated) | (minus & ~negated)).any(0)
        negative = torch.where(up | down, down, torch.where(total.significand == 0, (x.zero & sign).all(0), total.sign))
        both = nan | (up & down)
        summed = Number(negative, both, (up | down) & ~both, total.significand, total.lsb_exp + scale_exp)
        out.append(round_number(summed, fp32(), get("rounding", "rne")))
    return torch.stack(out)
