"""Matrices of stated shapes: what was found on whole blocks is asked again with tails, one row, many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from emu.base.errors import TargetError
from emu.check.model import Target
from emu.engines.c_ref.call import code_dtype
from emu.identify.cases import drawn_codes
from emu.identify.model import Axis, Departure, Identity
from emu.identify.quantize_calls import Views, ask
from emu.identify.rows import OPEN, Bits, Call, Tile, canonical, narrowed, quantized, random_bits
from emu.spec.ieee import binary_format
from emu.spec.models import Block, Format, Recipe
from emu.spec.programs.program import quantize_program
from emu.spec.registry import get


def confirmed_at(
    target: Target, views: Views, recipe: Recipe, source: Format, shapes: Sequence[tuple[int, int]], found: Identity, base: str = ""
) -> Identity:
    """Return what was found with what is said of some shapes; only the nearest where the kernel departs in one.

    recipe: what was found.   base: id of the documented recipe that it changes; "": none, it is one itself.
    """
    said, departures = _at_shapes(target, views, recipe, source, shapes)
    axes = (*found.axes, *said)
    if not departures:
        return replace(found, axes=axes, asked=found.asked + len(said), agreed=found.agreed + len(said))
    name = base or recipe.id
    title = f"nothing documented; nearest {name}: {found.found[0]} on whole blocks, departs in shapes"
    counts = found.asked + len(said), found.agreed + len(said) - len(departures)
    return replace(
        found, kind="nearest", found=(name,), title=title, axes=axes, departures=tuple(departures), asked=counts[0], agreed=counts[1]
    )


def _at_shapes(
    target: Target, views: Views, recipe: Recipe, source: Format, shapes: Sequence[tuple[int, int]]
) -> tuple[list[Axis], list[Departure]]:
    """Ask random matrices of some shapes. Returns: what is said of each shape, and the first place of each where a kernel departs."""
    said, out = [], []
    for shape in shapes:
        text = f"{shape[0]}x{shape[1]}"
        call = _call(shape, source)
        program = quantize_program(recipe)
        wanted = quantized(recipe, program, call, source, call.amax if program.reads("tensor_amax") else None)
        if wanted is None:
            said.append(Axis("shapes", text, "the recipe does not take it"))
            continue
        try:
            found = ask(target, call.x, call.amax, call.random & np.uint32((1 << random_bits(program)) - 1), views.size)
        except TargetError as error:
            said.append(Axis("shapes", text, f"{error.verdict}: {error}"))
            out.append(Departure({"x": f"random, {text}"}, "codes", "an answer", error.verdict))
            continue
        departure = first_departure(found, wanted, views, recipe, shape, partial(_random, text))
        said.append(Axis("shapes", text, "departs" if departure else "agrees"))
        out += [departure] if departure else []
    return said, out


def _random(text: str, _: tuple[int, ...]) -> dict[str, str]:
    return {"x": f"random, {text}"}


def _call(shape: tuple[int, int], source: Format) -> Call:
    codes = drawn_codes(shape, binary_format(source) != "binary32")
    flat = narrowed(Tile(tuple(codes.reshape(-1).tolist()), 0), source)
    assert flat is not None
    top = int((codes & 0x7FFFFFFF).max())
    x = np.array(flat, code_dtype(source)).reshape(shape)
    return Call(x, top, np.zeros(shape, np.uint32), ())


def first_departure(
    found: dict[str, Bits], wanted: tuple[Bits, dict[str, Bits]], views: Views, recipe: Recipe, shape: tuple[int, ...],
    shown: Callable[[tuple[int, ...]], dict[str, str]],
) -> Departure | None:  # fmt: skip
    """Return the first place where answers differ, scales before codes; None without one. shown: place -> the operands of a report."""
    block: Block = get("block", recipe.facts.block)
    formats = {level.name: level.format for level in block.facts.levels}
    expected = {**wanted[1], "codes": wanted[0]}
    for name in sorted(found, key=lambda name: name == "codes"):
        if name not in expected:
            continue
        mine = expected[name] if name != "codes" else expected[name][: shape[0], : shape[1]]
        theirs = (views.codes if name == "codes" else views.scale)(found[name]) if name in ("codes", "scale") else found[name]
        theirs = theirs.reshape(mine.shape) if theirs.size == mine.size == 1 else theirs
        if theirs.ndim != mine.ndim or any(have < need for have, need in zip(theirs.shape, mine.shape, strict=True)):
            return Departure(shown(()), name, f"shape {mine.shape}", f"shape {theirs.shape}")
        theirs = theirs[tuple(slice(need) for need in mine.shape)].astype(np.int64)
        if name != "codes":
            mine, theirs = (canonical(array, get("format", formats[name])) for array in (mine, theirs))
        places = np.argwhere((mine != theirs) & (mine != OPEN))
        if len(places):
            at = tuple(places[0].tolist())
            return Departure(shown(at), f"{name}{list(at)}", f"{int(mine[at]):#x}", f"{int(theirs[at]):#x}")
    return None
