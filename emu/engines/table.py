"""Which engine does what: one static table (operation, engine, condition on spec facts). `auto` reads only it, first match wins.

A named engine that cannot do the work raises EngineError; it never falls back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from emu.base.caches import bounded
from emu.base.errors import EngineError
from emu.engines.torch import can as torch_can
from emu.engines.torch.present import has_torch, need_torch
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import binary_format, is_binary32, is_within
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format, Policy, Recipe, Rounding, Transform
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.programs.lowering import decodes_beyond, lacking, refusal
from emu.spec.programs.program import Program, dequantize_program, quantize_program
from emu.spec.registry import get

ENGINES = ("exact", "numpy", "c_ref", "native", "torch", "auto")
_INSIDE_BINARY32 = ("binary32", "bfloat16", "binary16")


class Capability(NamedTuple):
    """One line of the table; can: a condition on the facts of the operation."""

    operation: str
    engine: str
    can: Callable[..., bool]


def _numpy_convert(source: Format, fmt: Format, rounding: Rounding, policy: Policy | None = None) -> bool:
    if rounding.random_bits == 0 and derive.codes(source).bits <= 8:
        return True
    if not isinstance(source.facts, FloatFacts) or source.facts.subnormals == "no":
        return False
    if rounding.facts.add == "te_fma":
        return is_within(source, get("format", "fp32")) and isinstance(fmt.facts, FloatFacts | ExponentFacts)
    if isinstance(fmt.facts, CodebookFacts):
        return not rounding.random_bits and is_within(source, get("format", "fp64"))
    return True


def _numpy_program(program: Program) -> bool:
    return refusal(program, "numpy", _numpy_convert) is None


def _numpy_operate(name: str, formats: Sequence[Format], to: Format, rounding: Rounding) -> bool:
    from emu.engines.numpy.operations import can_operate

    return can_operate(name, formats, to, rounding)


def _numpy_transform(transform: Transform, source: Format) -> bool:
    total, result = (get("format", name) for name in (transform.facts.sum_format, transform.facts.result))
    return is_binary32(total) and binary_format(result) in _INSIDE_BINARY32 and is_within(source, total)


@bounded(16)
def _has(module: str) -> bool:
    """Tell whether a compiled part is there; it neither comes nor goes while a process runs."""
    return find_spec(module) is not None


def _c_ref(*_: Any) -> bool:
    return _has("emu.engines.c_ref.convert")


def _c_ref_operate(name: str, formats: Sequence[Format], to: Format, _rounding: Rounding) -> bool:
    if not _c_ref():
        return False
    from emu.engines.c_ref.operate import can_operate

    return can_operate(name, formats, to)


def _c_ref_program(program: Program) -> bool:
    return _c_ref() and lacking(program, "c_ref") is None and decodes_beyond(program) is None


def _native_convert(source: Format, fmt: Format, rounding: Rounding, policy: Policy) -> bool:
    if not _has("emu.engines.native._kernels"):
        return False
    from emu.engines.native.convert import can_convert

    return can_convert(source, fmt, rounding, policy)


def _native_quantize(recipe: Recipe, source: Format) -> bool:
    if not _has("emu.engines.native._kernels"):
        return False
    from emu.engines.native.block import can_quantize

    return can_quantize(recipe, source)


def _native_dequantize(recipe: Recipe, profile: str | None) -> bool:
    if not _has("emu.engines.native._kernels"):
        return False
    from emu.engines.native.dequantize import can_dequantize

    return can_dequantize(recipe, profile)


def _native_amax(source: Format) -> bool:
    return _has("emu.engines.native._kernels") and binary_format(source) in _INSIDE_BINARY32


def _native_transform(transform: Transform, source: Format) -> bool:
    if not _has("emu.engines.native._kernels"):
        return False
    from emu.engines.native.transform import can_transform

    return can_transform(transform, source)


def _native_decode(fmt: Format, result: Format) -> bool:
    if not _has("emu.engines.native._kernels"):
        return False
    from emu.engines.native.convert import can_decode

    return can_decode(fmt, result)


def _always(*_: Any) -> bool:
    return True


def _torch(can: Callable[..., bool]) -> Callable[..., bool]:
    """Return the condition of the torch engine: torch is installed, and the facts are what it takes. Asking does not load torch."""
    return lambda *facts: has_torch() and can(*facts)


DOT_ENGINES = {
    "native": "emu.engines.native.dot",
    "numpy": "emu.engines.numpy.datapath",
    "c_ref": "emu.engines.c_ref.datapath",
    "torch": "emu.engines.torch.arrays",
}


def _dot(engine: str) -> Callable[..., bool]:
    """Return the condition of an engine on dot products: its module is there and takes the plan."""

    def can(plan: DatapathPlan) -> bool:
        if engine == "native" and not _has("emu.engines.native._kernels"):
            return False
        return _has(DOT_ENGINES[engine]) and bool(import_module(DOT_ENGINES[engine]).can_dot(plan))

    return can


LEVELS_ENGINES = {
    "native": "emu.engines.native.levels",
    "numpy": "emu.engines.numpy.levels",
    "c_ref": "emu.engines.c_ref.levels",
    "torch": "emu.engines.torch.levels_arrays",
}


def _levels(engine: str) -> Callable[..., bool]:
    """Return the condition of an engine on datapaths of levels: its module is there and takes the plan."""

    def can(plan: LevelsPlan) -> bool:
        if engine == "native" and not _has("emu.engines.native._kernels"):
            return False
        return _has(LEVELS_ENGINES[engine]) and bool(import_module(LEVELS_ENGINES[engine]).can_levels(plan))

    return can


TABLE = (
    Capability("decode", "native", _native_decode),
    Capability("decode", "numpy", _always),
    Capability("amax", "native", _native_amax),
    Capability("amax", "numpy", _always),
    Capability("convert", "native", _native_convert),
    Capability("convert", "numpy", _numpy_convert),
    Capability("convert", "exact", _always),
    Capability("convert", "c_ref", _c_ref),
    Capability("quantize", "native", _native_quantize),
    Capability("quantize", "numpy", lambda recipe, *_: _numpy_program(quantize_program(recipe))),
    Capability("quantize", "exact", _always),
    Capability("quantize", "c_ref", lambda recipe, *_: _c_ref_program(quantize_program(recipe))),
    Capability("dequantize", "native", _native_dequantize),
    Capability("dequantize", "numpy", lambda recipe, profile: _numpy_program(dequantize_program(recipe, profile))),
    Capability("dequantize", "exact", _always),
    Capability("dequantize", "c_ref", lambda recipe, profile: _c_ref_program(dequantize_program(recipe, profile))),
    Capability("operate", "numpy", _numpy_operate),
    Capability("operate", "exact", _always),
    Capability("operate", "c_ref", _c_ref_operate),
    Capability("transform", "native", _native_transform),
    Capability("transform", "numpy", _numpy_transform),
    Capability("transform", "exact", _always),
    Capability("transform", "c_ref", _c_ref),
    Capability("dot", "native", _dot("native")),
    Capability("dot", "numpy", _dot("numpy")),
    Capability("dot", "c_ref", _dot("c_ref")),
    Capability("dot", "exact", _always),
    Capability("levels", "native", _levels("native")),
    Capability("levels", "numpy", _levels("numpy")),
    Capability("levels", "c_ref", _levels("c_ref")),
    Capability("levels", "exact", _always),
    Capability("decode", "torch", _torch(torch_can.can_decode)),
    Capability("convert", "torch", _torch(lambda source, fmt, rounding, *_: torch_can.can_convert(source, fmt, rounding))),
    Capability("operate", "torch", _torch(torch_can.can_operate)),
    Capability("quantize", "torch", _torch(lambda recipe, *_: torch_can.fault(quantize_program(recipe)) is None)),
    Capability("dequantize", "torch", _torch(lambda recipe, profile: torch_can.fault(dequantize_program(recipe, profile)) is None)),
    Capability("transform", "torch", _torch(torch_can.can_transform)),
    Capability("dot", "torch", _torch(torch_can.can_dot)),
    Capability("levels", "torch", _torch(torch_can.can_levels)),
)
_ROWS: Final = {operation: tuple(row for row in TABLE if row.operation == operation) for operation in {row.operation for row in TABLE}}


def choose(operation: str, engine: str, *facts: Any) -> str:
    """Return the engine that does an operation on given facts.

    engine: a name, or auto for the first row of the table that can.
    Raises: EngineError (unknown name; the named one cannot, or is not installed).
    """
    if engine not in ENGINES:
        raise EngineError(f"engine {engine!r} is unknown: one of {', '.join(ENGINES)}")
    if engine == "torch":
        need_torch()
    for row in _ROWS[operation]:
        if engine in ("auto", row.engine) and row.can(*facts):
            return row.engine
    others = [row.engine for row in _ROWS[operation] if row.can(*facts)]
    if operation == "levels":
        what = "a datapath of levels"
        if engine in ("native", "numpy", "torch"):
            what = f"this datapath of levels ({import_module(LEVELS_ENGINES[engine]).fault(*facts)})"
        raise EngineError(f"engine {engine} does not take {what}; engine {' or '.join(others)} does")
    raise EngineError(f"engine {engine} cannot {operation} this: use {' or '.join(others)}")
