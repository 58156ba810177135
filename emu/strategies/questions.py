"""Whole sets of operands for the contract of a kernel, under the names of emu.check.model; they shrink towards zeros."""

from __future__ import annotations

from math import lcm

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.spec import contract as contracts
from emu.spec import derive, get
from emu.spec.levels import LevelsPlan
from emu.spec.models import Block, Format, Layout, Recipe, Rounding, Transform
from emu.spec.programs.program import quantize_program
from emu.spec.programs.types import extent_of
from emu.strategies.directed import tensors
from emu.strategies.kinds import draws_random
from emu.strategies.numbers import codes, near_ties, random_operands
from emu.strategies.points import dtype_of

Operands = dict[str, NDArray[np.unsignedinteger]]


def operands(contract: str, source: str | Format = "fp32", *, specials: bool = False, rows: int = 2) -> st.SearchStrategy[Operands]:
    """Operands of one call under a contract: {name: array of codes}.

    contract: any but accumulate and insn.   source: format of x where the contract says none.   specials: NaN and Inf, too.
    rows: of dequantize, transform, dot and layout; a quantizer gets the rows of one tile.
    Shapes and names: emu.check.model.   Raises: SpecError (no contract), OperandError (accumulate, insn).
    """
    parsed = contracts.parse(contract)
    fmt: Format = get("format", source)
    draw = {"convert": _convert, "quantize": _quantize, "transform": _transform}
    fixed = {"decode": _decode, "dequantize": _dequantize, "dot": _dot, "layout": _layout}
    if parsed.op in draw:
        return draw[parsed.op](parsed, fmt, specials, rows)
    if parsed.op not in fixed:
        raise OperandError(f"{parsed}: no strategy draws operands of {parsed.op}: one of {', '.join((*draw, *fixed))}")
    return fixed[parsed.op](parsed, specials, rows)


@st.composite
def _array(draw: st.DrawFn, fmt: Format, shape: tuple[int, ...], specials: bool) -> NDArray[np.unsignedinteger]:
    size = int(np.prod(shape))
    flat = draw(st.lists(codes(fmt, specials=specials), min_size=size, max_size=size))
    return np.array(flat, dtype_of(fmt)).reshape(shape)


@st.composite
def _decode(draw: st.DrawFn, contract: contracts.ContractName, specials: bool, rows: int) -> Operands:
    fmt: Format = get("format", contract.parts[0])
    return {"codes": draw(_array(fmt, (draw(st.integers(1, 8)),), specials))}


@st.composite
def _convert(draw: st.DrawFn, contract: contracts.ContractName, fmt: Format, specials: bool, rows: int) -> Operands:
    to, rounding, _ = contract.objects
    assert isinstance(to, Format) and isinstance(rounding, Rounding)
    some = st.one_of(near_ties(to, fmt), codes(fmt, specials=specials))
    flat = draw(st.lists(some, min_size=1, max_size=8))
    out: Operands = {"codes": np.array(flat, dtype_of(fmt))}
    return out | ({"random": draw(random_operands(rounding, len(flat)))} if rounding.random_bits else {})


@st.composite
def _quantize(draw: st.DrawFn, contract: contracts.ContractName, fmt: Format, specials: bool, rows: int) -> Operands:
    recipe: Recipe = get("recipe", contract.parts[0])
    drawn = draw(tensors(recipe, fmt, specials=specials and recipe.facts.domain.non_finite != "no"))
    out: Operands = {"x": drawn.x}
    program = quantize_program(recipe)
    if program.reads("tensor_amax"):
        from emu.engines.run import run_amax

        own = int(run_amax(drawn.x, fmt)) if drawn.tensor_amax is None else drawn.tensor_amax
        out["tensor_amax"] = np.array(own, np.uint32)
    mode = draws_random(recipe)
    if mode is not None:
        flat = draw(random_operands(mode, drawn.x.size))
        out["random"] = flat.reshape(drawn.x.shape) if flat.size == drawn.x.size else flat.reshape(1, -1)
    turns = [get("transform", name) for name in recipe.transforms]
    return out | (_signs(draw, turns[0]) if turns else {})


def _signs(draw: st.DrawFn, transform: Transform) -> Operands:
    if transform.facts.signs_operand == "no":
        return {}
    top = (1 << transform.facts.size) - 1
    return {"signs": np.array(draw(st.one_of(st.sampled_from([0, 1, top]), st.integers(0, top))), np.uint32)}


@st.composite
def _transform(draw: st.DrawFn, contract: contracts.ContractName, fmt: Format, specials: bool, rows: int) -> Operands:
    transform: Transform = get("transform", contract.parts[0])
    return {"x": draw(_array(fmt, (rows, transform.facts.size), specials)), **_signs(draw, transform)}


@st.composite
def _dequantize(draw: st.DrawFn, contract: contracts.ContractName, specials: bool, rows: int) -> Operands:
    block: Block = get("block", get("recipe", contract.parts[0]).facts.block)
    high, wide = block.facts.shape
    out: Operands = {"codes": draw(_array(get("format", block.element_formats[0]), (high * rows, wide), specials))}
    for level in block.facts.levels:
        place = extent_of(level.granularity, block)
        shape = (high * rows // place.rows if place.rows else 1, wide // place.columns if place.columns else 1)
        out[level.name] = draw(_array(get("format", level.format), shape, specials))
    return out


@st.composite
def _dot(draw: st.DrawFn, contract: contracts.ContractName, specials: bool, rows: int) -> Operands:
    plan = contracts.any_plan_of(contract)
    length = lcm(plan.facts.k, plan.block or 1)
    out: Operands = {name: draw(_array(fmt, (rows, length), specials)) for name, fmt in (("a", plan.a), ("b", plan.b))}
    if plan.scale is not None:
        out |= {name: draw(_array(plan.scale, (rows, length // plan.block), specials)) for name in ("scale_a", "scale_b")}
    if plan.c is not None:
        out["c"] = draw(_array(plan.c, (rows,), specials))
    modes = [turn.rounding for turn in plan.draws(length)] if isinstance(plan, LevelsPlan) else []
    if modes:  # one word for each rounding that draws
        out["random"] = np.stack([draw(random_operands(mode, rows)) for mode in modes], axis=1)
    return out


@st.composite
def _layout(draw: st.DrawFn, contract: contracts.ContractName, specials: bool, rows: int) -> Operands:
    block, layout = contract.objects
    assert isinstance(block, Block) and isinstance(layout, Layout)
    scales = [level.format for level in block.facts.levels if level.granularity == "block"]
    held = get("format", block.element_formats[0] if layout.facts.holds == "elements" else scales[-1])
    wide = draw(st.integers(1, 9))
    width = derive.codes(held).bits
    flat = draw(st.lists(st.integers(0, (1 << width) - 1), min_size=rows * wide, max_size=rows * wide))
    return {"codes": np.array(flat, dtype_of(held)).reshape(rows, wide)}
