"""emu dequantize: a file of emu quantize back to values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from emu.arrays.values import float_dtype
from emu.base.atomic import check_target
from emu.base.errors import FileError
from emu.cli.quantize import default_target
from emu.cli.settings import common_options, note, print_json, progress, settings_of
from emu.files import StoredFile, tensor_writer
from emu.ops.quantized import Quantized, make_quantized, unpack_nibbles
from emu.spec import Block, derive, get
from emu.spec.programs.program import dequantize_program
from emu.spec.programs.types import extent_of


@click.command("dequantize")
@click.argument("file", type=click.Path())
@click.option("--profile", help="Order of operations, a dequantize profile of the recipe [default: its first].")
@click.option("--dtype", type=click.Choice(["fp32", "bf16", "fp16"]), default="fp32", show_default=True, help="Result format.")
@click.option("--out", "-o", type=click.Path(dir_okay=False), help="Result, kind by suffix [default: <file>.values.safetensors].")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy or auto.")
@click.option("--force", is_flag=True, help="Replace the result if it exists.")
@common_options
def command(file: str, profile: str | None, dtype: str, out: str | None, engine: str, force: bool) -> None:
    """Dequantize FILE, which emu quantize wrote: bit for bit what its codes and levels mean under the profile."""
    with StoredFile(file) as stored:
        dequantize_program(stored.recipe, profile)
        target = Path(out) if out else default_target(stored.path, "values.safetensors")
        check_target(target, force)
        wanted = float_dtype(get("format", dtype))
        with tensor_writer(target, force) as writer, progress() as bar:
            for name in bar.track(list(stored.tensors), description="dequantize"):
                writer.put(name, restored(stored, name).dequantize(wanted, profile, engine))
    if settings_of().json:
        print_json({"out": str(target), "tensors": list(stored.tensors), "profile": profile or next(iter(stored.recipe.facts.dequantize))})
    note(f"{target}: {len(stored.tensors)} tensors in {dtype}, recipe {stored.recipe.id}")


def restored(stored: StoredFile, name: str) -> Quantized:
    """Return one tensor of a file as a Quantized. Raises: FileError (arrays whose shapes contradict the metadata)."""
    packed, levels = stored.read(name)
    about = stored.tensors[name]
    try:
        codes = _unpacked(packed, stored, about.codes_shape, about.axis)
        found = make_quantized(codes, levels, stored.recipe, about.shape, about.axis, about.row_axis)
        _check_shapes(found)
    except (ValueError, IndexError, KeyError) as error:
        raise FileError(f"{stored.path}: tensor {name}: arrays and metadata contradict each other ({error}): quantize again") from None
    return found


def _unpacked(packed: Any, stored: StoredFile, shape: tuple[int, ...], axis: int) -> Any:
    block: Block = get("block", stored.recipe.facts.block)
    moved = [*shape[: axis % len(shape)], *shape[axis % len(shape) + 1 :], shape[axis]]
    if block.facts.packing != "none" and derive.codes(get("format", block.element_formats[0])).bits == 4:
        packed = unpack_nibbles(packed, shape[axis])
    if packed.dtype != np.uint8 or list(packed.shape) != moved:
        raise ValueError(f"codes have shape {list(packed.shape)}, not {moved}")
    return np.moveaxis(packed, -1, axis)


def _check_shapes(found: Quantized) -> None:
    """Check that codes and levels have the shapes that the recipe gives to a tensor of this shape. Raises: ValueError, IndexError."""
    ndim, tile = len(found.shape), found.block.facts.shape
    axis, row_axis = found.axis % ndim, found.row_axis % ndim if ndim > 1 else -1
    padded = list(found.shape)
    for place, length in ((axis, tile[1]), (row_axis, tile[0])):
        if place >= 0:
            padded[place] = -(-padded[place] // length) * length
    if list(found.codes.shape) != (padded if found.recipe.facts.tail == "zero_pad_keep" else list(found.shape)):
        raise ValueError(f"codes of shape {list(found.codes.shape)} for a tensor of {list(found.shape)}")
    for facts, level in zip(found.block.facts.levels, found.levels, strict=True):
        shared = extent_of(facts.granularity, found.block)
        wanted = list(padded)
        for place, length in ((axis, shared.columns), (row_axis, shared.rows)):
            if place >= 0:
                wanted[place] = -(-wanted[place] // length) if length else 1
        if list(level.codes.shape) != ([] if facts.granularity == "tensor" else wanted):
            raise ValueError(f"level {level.name} has shape {list(level.codes.shape)}, not {wanted}")
