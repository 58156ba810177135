"""emu quantize: the tensors of a file to codes and levels by one recipe."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

import click
import numpy as np

import emu
from emu.analysis.draws import random_operand
from emu.arrays.values import format_of_dtype
from emu.base.atomic import check_target
from emu.base.errors import EmuError, FileError, OperandError
from emu.base.philox import check_key, stream_of
from emu.cli.convert import parse_value
from emu.cli.settings import common_options, note, print_json, print_table, progress, settings_of
from emu.files import StoredWriter, TensorFile, TensorInfo, open_tensors, skip_reason
from emu.ops.functions import quantize
from emu.ops.quantized import Quantized
from emu.spec import Format, Recipe, get
from emu.spec.programs.program import quantize_program


@click.command("quantize")
@click.argument("file", type=click.Path())
@click.option("--recipe", "-r", required=True, help="Recipe id or alias (emu list recipes).")
@click.option("--out", "-o", type=click.Path(dir_okay=False), help="Result [default: <file>.<recipe>.safetensors in this folder].")
@click.option("--axis", default=-1, show_default=True, help="Blocked axis.")
@click.option("--row-axis", default=-2, show_default=True, help="Other side of a 2-D tile.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only tensors whose name matches; repeatable.")
@click.option("--source", help="Format of raw codes, for unsigned integer tensors.")
@click.option("--tensor-amax", help="Tensor maximum: a number, or fp32 bits in hex; for exactly one tensor.")
@click.option("--random-key", type=int, help="Key of Philox4x32-10, for recipes that draw.")
@click.option("--signs", help="Sign mask in hex, for a recipe that rotates and takes signs [default: the transform's own].")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto.")
@click.option("--strict", is_flag=True, help="A tensor that cannot be quantized is an error, not skipped.")
@click.option("--force", is_flag=True, help="Replace the result if it exists.")
@common_options
def command(file: str, recipe: str, out: str | None, select: tuple[str, ...], strict: bool, force: bool, **options: Any) -> None:
    """Quantize the fp32, fp16 and bf16 tensors of FILE (.npy, .npz, .safetensors, or a folder of .safetensors).

    Tensors are handled one at a time; the result appears whole or not at all. Scalars, empty tensors, other dtypes, vectors whose length is
    no multiple of the block, and lengths that do not fit a recipe with tail: error are skipped with the reason.
    """
    chosen: Recipe = get("recipe", recipe)
    source: Format | None = None if options["source"] is None else get("format", options["source"])
    check_operands(chosen, options["random_key"])
    options["signs"] = None if options["signs"] is None else parse_signs(options["signs"])
    with open_tensors(file) as tensors:
        target = Path(out) if out else default_target(tensors.path, f"{chosen.id}.safetensors")
        check_target(target, force, tensors.path)
        plan = plan_tensors(tensors, chosen, select, strict, options["axis"], options["row_axis"], source)
        taken = [info for info, reason in plan if reason is None]
        if options["tensor_amax"] is not None and len(taken) != 1:
            raise OperandError(f"--tensor-amax goes with one tensor, {len(taken)} are chosen: name one with --select")
        with StoredWriter.open(target, chosen, emu.__version__, force) as writer, progress() as bar:
            writer.skipped = {info.name: reason for info, reason in plan if reason is not None}
            for info in bar.track(taken, description="quantize"):
                _one(tensors, info, chosen, source, options, writer)
    _report(target, chosen, plan)


def plan_tensors(
    tensors: TensorFile, recipe: Recipe, select: tuple[str, ...], strict: bool, axis: int, row_axis: int, source: Format | None
) -> list[tuple[TensorInfo, str | None]]:
    """Return each selected tensor and why it is skipped, None when it is taken.

    Raises: FileError (nothing matches, nothing can be taken, something cannot under strict).
    """
    chosen = selected(tensors, select)
    plan = [(info, skip_reason(info, recipe, axis, row_axis, source)) for info in chosen]
    refused = [(info, reason) for info, reason in plan if reason is not None]
    if refused and (strict or len(refused) == len(plan)):
        info, reason = refused[0]
        rest = "" if len(refused) == 1 else f" (and {len(refused) - 1} more)"
        raise FileError(f"{tensors.path}: {shown(info.name)}{recipe.id} does not take it: {reason}{rest}")
    return plan


def selected(tensors: TensorFile, select: tuple[str, ...]) -> list[TensorInfo]:
    """Return the tensors whose names match one of the globs, all without globs. Raises: FileError (none)."""
    found = [info for info in tensors.tensors if not select or any(fnmatch.fnmatchcase(info.name, pattern) for pattern in select)]
    if not found:
        some = ", ".join(info.name for info in tensors.tensors[:3])
        raise FileError(f"{tensors.path}: no tensor" + (f" matches {' or '.join(select)}: it holds {some}, ..." if select else ""))
    return found


def shown(name: str) -> str:
    """Return a tensor's name for a message; the one array of a .npy file has none."""
    return f"tensor {name}: " if name else ""


def default_target(path: Path, suffix: str) -> Path:
    """Return the default result: in this folder, the source's stem and a suffix."""
    return Path(f"{path.resolve().stem if not path.is_dir() else path.resolve().name}.{suffix}")


def check_operands(recipe: Recipe, key: int | None) -> None:
    """Check that a key is there exactly when the recipe draws. Raises: OperandError."""
    rounding = quantize_program(recipe).drawing
    if rounding is None and key is not None:
        raise OperandError(f"recipe {recipe.id} draws no random bits: leave --random-key out")
    if rounding is not None and key is None:
        raise OperandError(f"recipe {recipe.id} draws random bits ({rounding.id}): give --random-key N")
    if key is not None:
        check_key(key)


def parse_signs(text: str) -> int:
    """Return a sign mask from the command line. Raises: OperandError."""
    try:
        return int(text, 0)
    except ValueError:
        raise OperandError(f"--signs {text!r} is no integer: write a mask like 0xD7E8") from None


def raw_or_float(array: Any, source: Format | None) -> Any:
    """Return an array as quantize takes it: voids of a known format become unsigned codes."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}")) if source is not None and array.dtype.kind == "V" else array


def _one(
    tensors: TensorFile, info: TensorInfo, recipe: Recipe, source: Format | None, options: dict[str, Any], writer: StoredWriter
) -> None:
    """Read one tensor, quantize it, and append it to the result with what the file says of it."""
    array = raw_or_float(tensors.read(info.name), source)
    operands = {"axis": options["axis"], "row_axis": options["row_axis"], "source": source, "engine": options["engine"]}
    key, signs = options["random_key"], options["signs"]
    try:
        amax = None if options["tensor_amax"] is None else _amax(options["tensor_amax"])
        random = random_operand(recipe, info.shape, info.name, key)
        found: Quantized = quantize(array, recipe, tensor_amax=amax, random=random, signs=signs, **operands)
    except EmuError as error:
        raise type(error)(f"{tensors.path}: {shown(info.name)}{error}") from None
    words = None if key is None else {"key": key, "stream": stream_of(info.name)}
    came_from = source.id if source else format_of_dtype(info.dtype).id
    writer.add(info.name, found, came_from, words, None if signs is None else f"0x{signs:X}")


def _amax(text: str) -> np.float32:
    bits = parse_value(text, get("format", "fp32"))
    return np.float32(np.array(bits, np.uint32).view(np.float32))


def _report(target: Path, recipe: Recipe, plan: list[tuple[TensorInfo, str | None]]) -> None:
    size = target.stat().st_size
    taken = sum(reason is None for _, reason in plan)
    if settings_of().json:
        rows = [{"tensor": info.name, "shape": list(info.shape), "dtype": info.dtype, "skipped": reason} for info, reason in plan]
        print_json({"out": str(target), "bytes": size, "recipe": recipe.id, "tensors": rows})
        return
    if not settings_of().quiet:
        rows_ = [(info.name or "-", "x".join(map(str, info.shape)) or "scalar", info.dtype, reason or "quantized") for info, reason in plan]
        print_table(rows_, ("tensor", "shape", "dtype", "result"))
    note(f"{target}: {taken} of {len(plan)} tensors by {recipe.id}, {size} bytes")
