"""Which engine does what: one static table (operation, engine, condition on spec facts). `auto` reads only it, first match wins.

A named engine that cannot do the work raises EngineError; it never falls back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from emu.arrays import Codes
from emu.errors import EngineError
from emu.spec import derive
from emu.spec.models import Conversion, Format, Recipe, Rounding, Transform
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.program import Program, dequantize_program, quantize_program

ENGINES = ("exact", "fast", "c_ref", "native", "auto")


class Row(NamedTuple):
    """One line of the table; can: a condition on the facts of the asked operation."""

    operation: str
    engine: str
    can: Callable[..., bool]


def _fast_convert(source: Format, fmt: Format, rounding: Rounding, policy: Conversion | None = None) -> bool:
    if rounding.random_bits == 0 and derive.codes(source).bits <= 8:
        return True
    if not isinstance(source.facts, FloatFacts) or source.facts.subnormals == "no":
        return False
    if rounding.facts.add == "te_fma":
        return source.id in ("fp32", "bf16", "fp16") and isinstance(fmt.facts, FloatFacts | ExponentFacts)
    return not (rounding.random_bits and isinstance(fmt.facts, CodebookFacts))


def _fast_program(program: Program) -> bool:
    if program.arithmetic.id != "fp32":
        return False
    for item in program.instructions:
        if item.op == "sum" and item.step.order == "exact":
            return False
        if (
            item.op == "cast"
            and item.to is not None
            and item.rounding is not None
            and not _fast_convert(program.arithmetic, item.to, item.rounding)
        ):
            return False
    return True


def _fast_transform(transform: Transform, source: Format) -> bool:
    return transform.facts.sum_format == "fp32" and transform.facts.result in ("fp32", "bf16", "fp16")


@cache
def _has(module: str) -> bool:
    """Tell whether a compiled part is there; it neither comes nor goes while a process runs."""
    return find_spec(module) is not None


def _c_ref(*_: Any) -> bool:
    return _has("emu.native")


def _native_convert(source: Format, fmt: Format, rounding: Rounding, policy: Conversion) -> bool:
    if not _has("emu.native._kernels"):
        return False
    from emu.native.kernel import can_convert

    return can_convert(source, fmt, rounding, policy)


def _native_quantize(recipe: Recipe, source: Format) -> bool:
    if not _has("emu.native._kernels"):
        return False
    from emu.native.kernel_block import can_quantize

    return can_quantize(recipe, source)


def _native_amax(source: Format) -> bool:
    return _has("emu.native._kernels") and source.id in ("fp32", "bf16", "fp16")


def _native_transform(transform: Transform, source: Format) -> bool:
    if not _has("emu.native._kernels"):
        return False
    from emu.native.kernel_transform import can_transform

    return can_transform(transform, source)


def _native_decode(fmt: Format, result: Format) -> bool:
    if not _has("emu.native._kernels"):
        return False
    from emu.native.kernel import can_decode

    return can_decode(fmt, result)


def _always(*_: Any) -> bool:
    return True


TABLE = (
    Row("decode", "native", _native_decode),
    Row("decode", "fast", _always),
    Row("amax", "native", _native_amax),
    Row("amax", "fast", _always),
    Row("convert", "native", _native_convert),
    Row("convert", "fast", _fast_convert),
    Row("convert", "exact", _always),
    Row("convert", "c_ref", _c_ref),
    Row("quantize", "native", _native_quantize),
    Row("quantize", "fast", lambda recipe, *_: _fast_program(quantize_program(recipe))),
    Row("quantize", "exact", _always),
    Row("quantize", "c_ref", _c_ref),
    Row("dequantize", "fast", lambda recipe, profile: _fast_program(dequantize_program(recipe, profile))),
    Row("dequantize", "exact", _always),
    Row("dequantize", "c_ref", _c_ref),
    Row("transform", "native", _native_transform),
    Row("transform", "fast", _fast_transform),
    Row("transform", "exact", _always),
    Row("transform", "c_ref", _c_ref),
)


def choose(operation: str, engine: str, *facts: Any) -> str:
    """Return the engine that does an operation on given facts.

    engine: a name, or auto for the first row of the table that can.   Raises: EngineError (unknown name; the named one cannot).
    """
    if engine not in ENGINES:
        raise EngineError(f"engine {engine!r} is unknown: one of {', '.join(ENGINES)}")
    for row in TABLE:
        if row.operation == operation and engine in ("auto", row.engine) and row.can(*facts):
            return row.engine
    able = [row.engine for row in TABLE if row.operation == operation and row.can(*facts)]
    raise EngineError(f"engine {engine} cannot {operation} this: use {' or '.join(able)}")


def run_convert(
    codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Conversion, random: Codes | None, engine: str
) -> Codes:
    """Convert codes with an engine; any shape. Raises: as the engines."""
    chosen = choose("convert", engine, source, fmt, rounding, policy)
    if chosen == "native":
        from emu.native.kernel import convert as convert_kernel

        return convert_kernel(codes, source, fmt, rounding, policy, random)
    if chosen == "fast":
        from emu.fast.convert import convert
        from emu.fast.environment import check_environment

        check_environment()
        return convert(codes, source, fmt, rounding, policy, random)
    if chosen == "c_ref":
        from emu.native import convert as convert_native

        return convert_native(codes, source, fmt, rounding, policy, random)
    return _exact_convert(codes, source, fmt, rounding, policy, random)


def _exact_convert(codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Conversion, random: Codes | None) -> Codes:
    from emu.exact.convert import convert_code
    from emu.fast.convert import code_dtype, element_random

    drawn = element_random(random, rounding, codes.shape)
    flat = codes.reshape(-1)
    found = [
        convert_code(int(code), source, fmt, rounding, policy, None if drawn is None else int(drawn[i])) for i, code in enumerate(flat)
    ]
    return np.array(found, code_dtype(fmt)).reshape(codes.shape)


def run_decode(codes: Codes, fmt: Format, result: Format, engine: str = "auto") -> Codes:
    """Decode codes of at most 16 bits to codes of a wider float format; any shape. Raises: as the engines."""
    if choose("decode", engine, fmt, result) == "native":
        from emu.native.kernel import decode as decode_kernel

        return decode_kernel(codes, fmt, result)
    from emu.fast.convert import decode_narrow

    return decode_narrow(codes, fmt, result)


def run_amax(codes: Codes, source: Format) -> int:
    """Return the fp32 code of the largest magnitude; any NaN gives the canonical one. Raises: OperandError (no binary32 numbers)."""
    if choose("amax", "auto", source) == "native":
        from emu.native.kernel_block import amax_bits

        return amax_bits(codes, source)
    from emu.fast.block import amax_bits as amax_fast

    return amax_fast(codes, source)


def run_quantize(recipe: Recipe, codes: Codes, source: Format, *, engine: str, **operands: Any) -> tuple[Codes, dict[str, Codes]]:
    """Quantize a matrix of codes with an engine; operands: tensor_amax, random, signs. Raises: as the engines."""
    chosen = choose("quantize", engine, recipe, source)
    if chosen == "native":
        from emu.native.kernel_block import quantize as quantize_kernel

        return quantize_kernel(recipe, codes, source, **operands)
    if chosen == "fast":
        from emu.fast.block import quantize

        return quantize(recipe, codes, source, **operands)
    if chosen == "c_ref":
        from emu.native.block import quantize as quantize_c

        return quantize_c(recipe, codes, source, **operands)
    from emu.exact.block import quantize as quantize_exact

    random = operands.pop("random", None)
    rows = None if random is None else np.asarray(random).tolist()
    found = quantize_exact(recipe, codes.tolist(), source, random=rows, **operands)
    return _arrays(recipe, found.codes, found.levels)


def _arrays(recipe: Recipe, codes: Any, levels: Mapping[str, Any]) -> tuple[Codes, dict[str, Codes]]:
    from emu.fast.convert import code_dtype
    from emu.spec import get

    block = get("block", recipe.facts.block)
    formats = {level.name: get("format", level.format) for level in block.facts.levels}
    element = get("format", block.element_formats[0])
    return np.array(codes, code_dtype(element)), {name: np.array(rows, code_dtype(formats[name])) for name, rows in levels.items()}


def run_dequantize(recipe: Recipe, codes: Codes, levels: Mapping[str, Codes], *, profile: str | None, result: Format, engine: str) -> Codes:
    """Dequantize a matrix of codes with an engine. Raises: as the engines."""
    chosen = choose("dequantize", engine, recipe, profile)
    if chosen == "fast":
        from emu.fast.block import dequantize

        return dequantize(recipe, codes, levels, profile=profile, result=result)
    if chosen == "c_ref":
        from emu.native.block import dequantize as dequantize_c

        return dequantize_c(recipe, codes, levels, profile=profile, result=result)
    from emu.exact.block import dequantize as dequantize_exact
    from emu.fast.convert import code_dtype

    rows = {name: level.tolist() for name, level in levels.items()}
    return np.array(dequantize_exact(recipe, codes.tolist(), rows, profile=profile, result=result), code_dtype(result))


def run_transform(codes: Codes, source: Format, transform: Transform, signs: int | None, engine: str) -> Codes:
    """Rotate codes along the last axis with an engine. Raises: as the engines."""
    chosen = choose("transform", engine, transform, source)
    if chosen == "native":
        from emu.native.kernel_transform import transform as transform_kernel

        return transform_kernel(codes, source, transform, signs)
    if chosen == "c_ref":
        from emu.native.transform import transform as transform_c

        return transform_c(codes, source, transform, signs)
    if chosen == "fast":
        from emu.fast.environment import check_environment
        from emu.fast.transform import transform as transform_fast

        check_environment()
        return transform_fast(codes, source, transform, signs)
    from emu.exact.transform import transform_codes
    from emu.fast.convert import code_dtype
    from emu.spec import get

    size = transform.facts.size
    flat = codes.reshape(-1, size).tolist()
    found = [transform_codes(row, source, transform, signs) for row in flat]
    return np.array(found, code_dtype(get("format", transform.facts.result))).reshape(codes.shape)
