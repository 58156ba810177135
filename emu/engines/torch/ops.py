"""The engine's operations registered with torch: a compiled graph takes each as one opaque node, so no compiler contracts, reorders
or drops a rounding. Arguments are tensors, names and integers; each has a twin that tells shapes and dtypes only."""

from __future__ import annotations

import torch

from emu.base.errors import OperandError
from emu.engines.torch import block, datapath, levels
from emu.engines.torch import convert as conversion
from emu.engines.torch import operate as operations
from emu.engines.torch import transform as rotation
from emu.engines.torch.tensors import code_dtype, codes_of, float_dtype, named, signed_view
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models import Datapath, Format, Policy, Recipe, Rounding, Transform
from emu.spec.models.levels import DatapathLevels
from emu.spec.operations import OPERATIONS
from emu.spec.programs.program import padded_size
from emu.spec.programs.types import extent_of
from emu.spec.registry import get

_CONVERT = "(Tensor x, str to, str rounding, str policy, str source, Tensor? random) -> Tensor"
_DECODE = "(Tensor codes, str format, str result) -> Tensor"
_OPERATE = "(Tensor[] operands, str name, str[] formats, str to, str rounding, str policy) -> Tensor"
_TRANSFORM = "(Tensor x, str transform, str source, int? signs) -> Tensor"
_QUANTIZE = "(Tensor x, str recipe, str source, Tensor? tensor_amax, Tensor? random, int? signs) -> Tensor[]"
_DEQUANTIZE = "(Tensor codes, Tensor[] levels, str recipe, str profile, str result) -> Tensor"
_PRODUCT = (
    "(Tensor a, Tensor b, Tensor? a_scales, Tensor? b_scales, Tensor? c, Tensor? random, str[] plan, bool pairs, bool flags) -> Tensor[]"
)


def _result(fmt: Format) -> torch.dtype:
    """Return the dtype of values of a format. Raises: OperandError."""
    dtype = float_dtype(fmt)
    if dtype is None:
        raise OperandError(f"{fmt.id} has no torch float dtype here: one of fp16, bf16, fp32, fp64")
    return dtype


def _floats(codes: torch.Tensor, fmt: Format) -> torch.Tensor:
    return signed_view(codes).view(_result(fmt))


@torch.library.custom_op("emu::convert", mutates_args=(), schema=_CONVERT)
def convert(x: torch.Tensor, to: str, rounding: str, policy: str, source: str, random: torch.Tensor | None) -> torch.Tensor:
    """Convert codes or floats to codes; see conversion.convert."""
    fmt: Format = named("format", to)
    mode: Rounding = named("rounding", rounding)
    rules: Policy = named("policy", policy)
    return conversion.convert(*codes_of(x, source), fmt, mode, rules, random)


@convert.register_fake
def _(x: torch.Tensor, to: str, rounding: str, policy: str, source: str, random: torch.Tensor | None) -> torch.Tensor:
    return torch.empty(x.shape, dtype=code_dtype(named("format", to)), device=x.device)


@torch.library.custom_op("emu::decode", mutates_args=(), schema=_DECODE)
def decode(codes: torch.Tensor, format: str, result: str) -> torch.Tensor:  # noqa: A002
    """Decode codes to values of a float format; see conversion.decode."""
    to: Format = named("format", result)
    return _floats(conversion.decode(codes, named("format", format), to), to)


@decode.register_fake
def _(codes: torch.Tensor, format: str, result: str) -> torch.Tensor:  # noqa: A002
    return torch.empty(codes.shape, dtype=_result(named("format", result)), device=codes.device)


@torch.library.custom_op("emu::operate", mutates_args=(), schema=_OPERATE)
def operate(operands: list[torch.Tensor], name: str, formats: list[str], to: str, rounding: str, policy: str) -> torch.Tensor:
    """Operate on tensors of one shape; formats: empty where a dtype says it; see operate.operate."""
    codes, sources = zip(*(codes_of(x, fmt, "formats") for x, fmt in zip(operands, formats, strict=True)), strict=True)
    return operations.operate(name, codes, sources, named("format", to), named("rounding", rounding), named("policy", policy))


@operate.register_fake
def _(operands: list[torch.Tensor], name: str, formats: list[str], to: str, rounding: str, policy: str) -> torch.Tensor:
    dtype = torch.bool if OPERATIONS[name].gives == "truth" else code_dtype(named("format", to))
    return torch.empty(operands[0].shape, dtype=dtype, device=operands[0].device)


@torch.library.custom_op("emu::transform", mutates_args=(), schema=_TRANSFORM)
def transform(x: torch.Tensor, transform: str, source: str, signs: int | None) -> torch.Tensor:
    """Rotate groups along the last axis; see rotation.transform."""
    chosen: Transform = named("transform", transform)
    return _floats(rotation.transform(*codes_of(x, source), chosen, signs), get("format", chosen.facts.result))


@transform.register_fake
def _(x: torch.Tensor, transform: str, source: str, signs: int | None) -> torch.Tensor:
    chosen: Transform = named("transform", transform)
    return torch.empty(x.shape, dtype=_result(get("format", chosen.facts.result)), device=x.device)


@torch.library.custom_op("emu::quantize", mutates_args=(), schema=_QUANTIZE)
def quantize(
    x: torch.Tensor, recipe: str, source: str, tensor_amax: torch.Tensor | None, random: torch.Tensor | None, signs: int | None
) -> list[torch.Tensor]:
    """Quantize a matrix: codes, then the levels in the order of the block; see block.quantize."""
    chosen: Recipe = named("recipe", recipe)
    bits = None if tensor_amax is None else int(tensor_amax.view(torch.int32)) & 0xFFFFFFFF
    codes, fmt = codes_of(x, source)
    found = block.quantize(chosen, codes, fmt, tensor_amax=bits, random=random, signs=signs)
    return [found.codes, *found.levels.values()]


@quantize.register_fake
def _(
    x: torch.Tensor, recipe: str, source: str, tensor_amax: torch.Tensor | None, random: torch.Tensor | None, signs: int | None
) -> list[torch.Tensor]:
    chosen: Recipe = named("recipe", recipe)
    facts = get("block", chosen.facts.block)
    padded = padded_size(chosen, x.shape[0], x.shape[1])
    kept = tuple(x.shape) if chosen.facts.tail == "zero_pad_drop" else padded
    element: Format = get("format", facts.element_formats[0])
    out = [torch.empty(kept, dtype=code_dtype(element), device=x.device)]
    for level in facts.facts.levels:
        place = extent_of(level.granularity, facts)
        shape = (padded[0] // place.rows if place.rows else 1, padded[1] // place.columns if place.columns else 1)
        out.append(torch.empty(shape, dtype=code_dtype(get("format", level.format)), device=x.device))
    return out


@torch.library.custom_op("emu::dequantize", mutates_args=(), schema=_DEQUANTIZE)
def dequantize(codes: torch.Tensor, levels: list[torch.Tensor], recipe: str, profile: str, result: str) -> torch.Tensor:
    """Return the values of codes and levels; see block.dequantize."""
    chosen: Recipe = named("recipe", recipe)
    to: Format = named("format", result)
    names = [level.name for level in get("block", chosen.facts.block).facts.levels]
    given = dict(zip(names, levels, strict=True))
    return _floats(block.dequantize(chosen, codes, given, profile=profile or None, result=to), to)


@dequantize.register_fake
def _(codes: torch.Tensor, levels: list[torch.Tensor], recipe: str, profile: str, result: str) -> torch.Tensor:
    return torch.empty(codes.shape, dtype=_result(named("format", result)), device=codes.device)


def plan_named(plan: list[str]) -> DatapathPlan | LevelsPlan:
    """Return the plan of names: datapath, a, b, scale, block; empty: not left free. Raises: SpecError, OpenError."""
    which, first, second, scale, size = plan
    a, b, s = (named("format", name) if name else None for name in (first, second, scale))
    model: Datapath = named("datapath", which)
    by = resolve_levels if isinstance(model.facts, DatapathLevels) else resolve
    return by(model, a, b, s, int(size) if size else None)


@torch.library.custom_op("emu::product", mutates_args=(), schema=_PRODUCT)
def product(
    a: torch.Tensor,
    b: torch.Tensor,
    a_scales: torch.Tensor | None,
    b_scales: torch.Tensor | None,
    c: torch.Tensor | None,
    random: torch.Tensor | None,
    plan: list[str],
    pairs: bool,
    flags: bool,
) -> list[torch.Tensor]:
    """Return the codes of dot products of rows, in pairs or every row of A with every row of B, and with flags those of each result, uint8;
    see datapath.py, levels.py."""
    chosen = plan_named(plan)
    if isinstance(chosen, LevelsPlan):
        raised = torch.zeros((len(a),) if pairs else (len(a), len(b)), dtype=torch.uint8, device=a.device) if flags else None
        found = (levels.dot if pairs else levels.matmul)(a, b, a_scales, b_scales, c, random, chosen, raised)
        return [found] if raised is None else [found, raised]
    datapath.check_codes(a, b, a_scales, b_scales, chosen)
    if pairs:
        addend = torch.zeros(len(a), dtype=torch.int64, device=a.device) if c is None else c
        return [datapath.dot(a, b, a_scales, b_scales, addend, chosen)]
    return [datapath.matmul(a, b, a_scales, b_scales, c, chosen)]


@product.register_fake
def _(
    a: torch.Tensor,
    b: torch.Tensor,
    a_scales: torch.Tensor | None,
    b_scales: torch.Tensor | None,
    c: torch.Tensor | None,
    random: torch.Tensor | None,
    plan: list[str],
    pairs: bool,
    flags: bool,
) -> list[torch.Tensor]:
    shape = (a.shape[0],) if pairs else (a.shape[0], b.shape[0])
    dtypes = [code_dtype(plan_named(plan).d), *([torch.uint8] if flags else [])]
    return [torch.empty(shape, dtype=dtype, device=a.device) for dtype in dtypes]
