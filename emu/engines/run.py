"""Asking the chosen engine: one function per operation, codes in, codes out. Not here: dot products (engines/datapath.py).

Operands are checked here, once, after the engine is chosen and before it runs (operands.py): every engine refuses the same ones with the
same line. jobs: threads, each on a part of the operands (parts.py); the bits do not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes
from emu.base.errors import OpenError, OperandError
from emu.engines import operands, parts
from emu.engines.parts import Found
from emu.engines.table import choose
from emu.spec import derive, get
from emu.spec.ieee import is_binary32
from emu.spec.models import Format, Policy, Recipe, Rounding, Transform
from emu.spec.operations import OPERATIONS
from emu.spec.programs.program import Program, dequantize_program, padded_size, quantize_program


def run_convert(
    codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: Codes | None, engine: str, jobs: int = 1
) -> Codes:
    """Convert codes with an engine; any shape. Raises: as the engines."""
    derive.check_codebook_rounding(fmt, rounding)
    chosen = choose("convert", engine, source, fmt, rounding, policy)
    random = operands.random_words(random, rounding, codes.size)
    jobs = parts.worth(jobs, chosen, codes.size)
    if jobs > 1:
        flat, cuts = codes.reshape(-1), parts.of_elements(codes.size, random, rounding, jobs)
        found = parts.array_in_threads(
            lambda part, place: _convert(chosen, flat[part], source, fmt, rounding, policy, parts.words_of(random, rounding, part), place),
            cuts,
            jobs,
            _room_like(flat, flat.shape, fmt),
        )
        if found is not None:
            return found.reshape(codes.shape)
    return _convert(chosen, codes, source, fmt, rounding, policy, random)


def _room_like(codes: Codes, shape: tuple[int, ...], fmt: Format) -> Codes:
    """Return an array for codes of a format, nothing in it yet, in the memory order of other codes."""
    from emu.engines.numpy.convert import code_dtype

    return np.empty(shape, code_dtype(fmt), "F" if parts.by_columns(codes) else "C")


def _convert(
    chosen: str,
    codes: Codes,
    source: Format,
    fmt: Format,
    rounding: Rounding,
    policy: Policy,
    random: Codes | None,
    place: Codes | None = None,
) -> Codes:
    if chosen == "native":
        from emu.engines.native.convert import convert as convert_kernel

        return convert_kernel(codes, source, fmt, rounding, policy, random, out=place)
    if chosen == "numpy":
        from emu.engines.numpy.convert import convert
        from emu.engines.numpy.environment import check_environment

        check_environment()
        return convert(codes, source, fmt, rounding, policy, random)
    if chosen == "c_ref":
        from emu.engines.c_ref.convert import convert as convert_native

        return convert_native(codes, source, fmt, rounding, policy, random)
    if chosen == "torch":
        from emu.engines.torch.arrays import convert as convert_torch

        return convert_torch(codes, source, fmt, rounding, policy, random)
    return _exact_convert(codes, source, fmt, rounding, policy, random)


def _exact_convert(codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: Codes | None) -> Codes:
    from emu.engines.exact.convert import convert_value
    from emu.engines.exact.decode import decode_code
    from emu.engines.numpy.convert import code_dtype, element_random

    entry, drawn = derive.policy_entry(policy, fmt), element_random(random, rounding, codes.shape)
    found = []
    for i, code in enumerate(codes.reshape(-1)):
        word = None if drawn is None else int(drawn[i])
        found.append(convert_value(decode_code(int(code), source), fmt, rounding, entry, word))
    _check_known(found, f"convert/{fmt.id}/{rounding.id}/{policy.id}", "", " (NaN, Inf or sign): clean the input or name another policy")
    return np.array(found, code_dtype(fmt)).reshape(codes.shape)


def _check_known(found: Sequence[int], what: str, under: str, hint: str) -> None:
    """Refuse results of which one is no code but a mark. Raises: OpenError, OperandError (the policy refuses it)."""
    for mark, error, said in ((derive.OPEN, OpenError, "is open"), (derive.REFUSE, OperandError, "is refused by the policy")):
        if mark in found:
            raise error(f"{what}: the code of element {found.index(mark)}{under} {said}{hint}")


def run_operate(
    name: str, codes: Sequence[Codes], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy, engine: str
) -> NDArray[Any]:
    """Operate on codes of one shape with an engine; codes or truth values. Raises: as the engines."""
    chosen = choose("operate", engine, name, formats, to, rounding)
    if OPERATIONS[name].gives == "number":
        derive.policy_entry(policy, to)  # refused without operands too
    if chosen == "c_ref":
        from emu.engines.c_ref.operate import operate as operate_c

        return operate_c(name, codes, formats, to, rounding, policy)
    if chosen == "torch":
        from emu.engines.torch.arrays import operate as operate_torch

        return operate_torch(name, codes, formats, to, rounding, policy)
    if chosen == "numpy":
        from emu.engines.numpy.environment import check_environment
        from emu.engines.numpy.operations import operate

        check_environment()
        return operate(name, codes, formats, to, rounding, policy)
    from emu.engines.exact.operate import operate_codes
    from emu.engines.numpy.convert import code_dtype

    rows = zip(*(part.reshape(-1).tolist() for part in codes), strict=True)
    found = [operate_codes(name, row, formats, to, rounding, policy) for row in rows]
    if OPERATIONS[name].gives == "truth":
        return np.array(found, np.bool_).reshape(codes[0].shape)
    _check_known(found, f"operate {name}", f" under {policy.id}", "")
    return np.array(found, code_dtype(to)).reshape(codes[0].shape)


def run_decode(codes: Codes, fmt: Format, result: Format, engine: str = "auto") -> Codes:
    """Decode codes of at most 16 bits to codes of a wider float format; any shape. Raises: as the engines."""
    chosen = choose("decode", engine, fmt, result)
    if chosen == "torch":
        from emu.engines.torch.arrays import decode as decode_torch

        return decode_torch(codes, fmt, result)
    if chosen == "native":
        from emu.engines.native.convert import decode as decode_kernel

        return decode_kernel(codes, fmt, result)
    from emu.engines.numpy.convert import decode_narrow

    return decode_narrow(codes, fmt, result)


def run_amax(codes: Codes, source: Format, jobs: int = 1) -> int:
    """Return the fp32 code of the largest magnitude; any NaN gives the canonical one. Raises: OperandError (no binary32 numbers)."""
    if jobs > 1:
        flat = codes.ravel(order="K")
        found = parts.in_threads(lambda part: run_amax(flat[part], source), parts.slices(flat.size, 1, flat.size, jobs), jobs)
        if found is not None:
            return run_amax(np.array(found, np.uint32), get("format", "fp32"))
    if choose("amax", "auto", source) == "native":
        from emu.engines.native.block import amax_bits

        return amax_bits(codes, source)
    from emu.engines.numpy.block import amax_bits as amax_numpy

    return amax_numpy(codes, source)


def run_quantize(
    recipe: Recipe,
    codes: Codes,
    source: Format,
    *,
    engine: str,
    tensor_amax: int | None = None,
    random: Codes | None = None,
    signs: int | None = None,
    jobs: int = 1,
) -> tuple[Codes, dict[str, Codes]]:
    """Quantize a matrix of codes with an engine. Raises: as the engines."""
    chosen, program, random = begin_quantize(recipe, codes, source, engine, tensor_amax, random)
    given: dict[str, Any] = {"tensor_amax": tensor_amax, "signs": signs}
    jobs = parts.worth(jobs, chosen, codes.size)
    if jobs > 1 and is_binary32(program.arithmetic):
        shared = shared_operands(program, codes, source, given, jobs)
        shape = codes.shape if recipe.facts.tail == "zero_pad_drop" else padded_size(recipe, *codes.shape)
        out = _room_like(codes, shape, get("format", program.block.element_formats[0]))

        def work(own: Codes, drawn: Codes | None, place: Codes) -> tuple[Codes, dict[str, Codes]]:
            there = {"out": place} if chosen == "native" else {}
            return quantize_by(chosen, recipe, own, source, random=drawn, **shared, **there)

        found = parts.quantized(work, program, codes, random, out, jobs)
        if found is not None:
            return found
    return quantize_by(chosen, recipe, codes, source, random=random, **given)


def begin_quantize(
    recipe: Recipe, codes: Codes, source: Format, engine: str, tensor_amax: int | None, random: Codes | None
) -> tuple[str, Program, Codes | None]:
    """Return the engine, the program and the random words of a matrix to quantize, its operands checked. Raises: as run_quantize."""
    chosen = choose("quantize", engine, recipe, source)
    random = operands.check_quantize(recipe, codes, source, tensor_amax, random)
    return chosen, quantize_program(recipe), random


def shared_operands(program: Program, codes: Codes, source: Format, given: dict[str, Any], jobs: int = 1) -> dict[str, Any]:
    """Return operands with what the whole tensor shares: its maximum, where the program reads one and none is given."""
    if given["tensor_amax"] is not None or not program.reads("tensor_amax"):
        return given
    return given | {"tensor_amax": run_amax(codes, source, jobs)}


def quantize_by(chosen: str, recipe: Recipe, codes: Codes, source: Format, **given: Any) -> Found:
    """Quantize a matrix, or a part of one, with a chosen engine; its operands are checked. given: random, tensor_amax, signs."""
    if chosen == "native":
        from emu.engines.native.block import quantize as quantize_kernel

        return quantize_kernel(recipe, codes, source, **given)
    if chosen == "numpy":
        from emu.engines.numpy.block import quantize

        return quantize(recipe, codes, source, **given)
    if chosen == "c_ref":
        from emu.engines.c_ref.block import quantize as quantize_c

        return quantize_c(recipe, codes, source, **given)
    if chosen == "torch":
        from emu.engines.torch.arrays import quantize as quantize_torch

        return quantize_torch(recipe, codes, source, **given)
    from emu.engines.exact.block import quantize as quantize_exact

    given["random"] = None if given["random"] is None else given["random"].tolist()
    found = quantize_exact(recipe, codes.tolist(), source, **given)
    return _arrays(recipe, found.codes, found.levels)


def _arrays(recipe: Recipe, codes: Any, levels: Mapping[str, Any]) -> tuple[Codes, dict[str, Codes]]:
    from emu.engines.numpy.convert import code_dtype

    block = get("block", recipe.facts.block)
    formats = {level.name: get("format", level.format) for level in block.facts.levels}
    element = get("format", block.element_formats[0])
    return np.array(codes, code_dtype(element)), {name: np.array(rows, code_dtype(formats[name])) for name, rows in levels.items()}


def run_dequantize(
    recipe: Recipe, codes: Codes, levels: Mapping[str, Codes], *, profile: str | None, result: Format, engine: str, jobs: int = 1
) -> Codes:
    """Dequantize a matrix of codes with an engine. Raises: as the engines."""
    chosen = choose("dequantize", engine, recipe, profile)
    codes, levels = operands.check_dequantize(recipe, codes, levels)
    jobs = parts.worth(jobs, chosen, codes.size)
    if jobs > 1:
        out, program = _room_like(codes, codes.shape, result), dequantize_program(recipe, profile)

        def work(own: Codes, its: Mapping[str, Codes], place: Codes) -> Codes:
            return _dequantize(chosen, recipe, own, its, profile, result, place)

        found = parts.dequantized(work, program, codes, levels, out, jobs)
        if found is not None:
            return found
    return _dequantize(chosen, recipe, codes, levels, profile, result)


def _dequantize(
    chosen: str,
    recipe: Recipe,
    codes: Codes,
    levels: Mapping[str, Codes],
    profile: str | None,
    result: Format,
    place: Codes | None = None,
) -> Codes:
    if chosen == "native":
        from emu.engines.native.dequantize import dequantize as dequantize_kernel

        return dequantize_kernel(recipe, codes, levels, profile=profile, result=result, out=place)
    if chosen == "numpy":
        from emu.engines.numpy.block import dequantize

        return dequantize(recipe, codes, levels, profile=profile, result=result, out=place)
    if chosen == "c_ref":
        from emu.engines.c_ref.block import dequantize as dequantize_c

        return dequantize_c(recipe, codes, levels, profile=profile, result=result)
    if chosen == "torch":
        from emu.engines.torch.arrays import dequantize as dequantize_torch

        return dequantize_torch(recipe, codes, levels, profile=profile, result=result)
    from emu.engines.exact.block import dequantize as dequantize_exact
    from emu.engines.numpy.convert import code_dtype

    rows = {name: level.tolist() for name, level in levels.items()}
    return np.array(dequantize_exact(recipe, codes.tolist(), rows, profile=profile, result=result), code_dtype(result))


def run_transform(codes: Codes, source: Format, transform: Transform, signs: int | None, engine: str) -> Codes:
    """Rotate codes along the last axis with an engine. Raises: as the engines."""
    chosen = choose("transform", engine, transform, source)
    if chosen == "native":
        from emu.engines.native.transform import transform as transform_kernel

        return transform_kernel(codes, source, transform, signs)
    if chosen == "c_ref":
        from emu.engines.c_ref.transform import transform as transform_c

        return transform_c(codes, source, transform, signs)
    if chosen == "numpy":
        from emu.engines.numpy.environment import check_environment
        from emu.engines.numpy.transform import transform as transform_numpy

        check_environment()
        return transform_numpy(codes, source, transform, signs)
    if chosen == "torch":
        from emu.engines.torch.arrays import transform as transform_torch

        return transform_torch(codes, source, transform, signs)
    from emu.engines.exact.transform import transform_codes
    from emu.engines.numpy.convert import code_dtype

    size = transform.facts.size
    flat = codes.reshape(-1, size).tolist()
    found = [transform_codes(row, source, transform, signs) for row in flat]
    return np.array(found, code_dtype(get("format", transform.facts.result))).reshape(codes.shape)
