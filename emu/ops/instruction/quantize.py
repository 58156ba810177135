"""Fused quantizers: the lanes of one block rotated, then quantized by a recipe. Not here: the steps of either (emu.ops.functions)."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.arrays.values import Codes
from emu.engines.numpy.convert import code_dtype
from emu.ops.functions import quantize, transform
from emu.ops.instruction.bits import pack, take_register, unpack
from emu.spec import get
from emu.spec.instruction import check_slot
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.instruction import InstructionFacts

SIGN_BITS = 32
AMAX_BITS = 32


def execute(facts: InstructionFacts, operands: dict[str, Any], engine: str) -> tuple[Codes, Codes]:
    """Return (codes, scale) of each call: the packed result register and the code of the block's scale.

    operands: name -> raw bits.   Raises: as emu.transform and emu.quantize.
    """
    assert facts.source and facts.operands and facts.result and facts.recipe
    source: Format = get("format", facts.source)
    parts = []
    for register in facts.operands:
        slot = check_slot(register, source)
        parts.append(unpack(take_register(operands[register.name], register.name, slot * register.lanes), register, slot))
    extra = [operands[name] for name in (facts.amax_operand, facts.signs_operand) if name is not None]
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts), *(np.shape(value) for value in extra))
    joined = np.concatenate([np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts], axis=-1)
    lanes = np.ascontiguousarray(joined).reshape(-1, joined.shape[-1])
    amax = _flat(operands, facts.amax_operand, AMAX_BITS, shape)
    signs = _flat(operands, facts.signs_operand, SIGN_BITS, shape)
    codes, scales = _blocks(facts, lanes, source, amax, signs, engine)
    recipe: Recipe = get("recipe", facts.recipe)
    block: Block = get("block", recipe.facts.block)
    slot = check_slot(facts.result, get("format", block.element_formats[0]))
    packed = pack(codes.reshape(*shape, -1), facts.result, slot)
    return packed, scales.reshape(shape)


def _flat(operands: dict[str, Any], name: str | None, bits: int, shape: tuple[int, ...]) -> Codes | None:
    """Return one integer per call, or None where the form has no such operand."""
    return None if name is None else np.broadcast_to(take_register(operands[name], name, bits), shape).reshape(-1)


def _blocks(
    facts: InstructionFacts, lanes: Codes, source: Format, amax: Codes | None, signs: Codes | None, engine: str
) -> tuple[Codes, Codes]:
    """Quantize blocks [n, elements]: those with the same tensor maximum and signs together."""
    keys = np.zeros((len(lanes), 2), np.uint64)
    for column, values in enumerate((amax, signs)):
        if values is not None:
            keys[:, column] = values
    codes = np.zeros(lanes.shape, np.uint8)
    scales: Codes | None = None
    for first, second in np.unique(keys, axis=0):
        chosen = (keys == (first, second)).all(axis=1)
        maximum = None if amax is None else np.uint32(first).view(np.float32)
        found = _one_setting(facts, lanes[chosen], source, maximum, None if signs is None else int(second), engine)
        codes[chosen] = found.codes
        if scales is None:
            scales = np.zeros(len(lanes), found.scales.dtype)
        scales[chosen] = found.scales.reshape(-1)
    assert scales is not None
    return codes, scales


def _one_setting(facts: InstructionFacts, lanes: Codes, source: Format, amax: Any, signs: int | None, engine: str) -> Any:
    values: Any = lanes.astype(code_dtype(source))
    named: str | None = source.id
    if facts.transform is not None:
        values, named = transform(values, facts.transform, signs=signs, source=source, engine=engine), None
        signs = None
    assert facts.recipe
    return quantize(values, facts.recipe, source=named, tensor_amax=amax, signs=signs, engine=engine)
