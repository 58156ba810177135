"""emu quantize: the tensors of a file to codes and levels, by one recipe or by others for the names that match patterns."""

from __future__ import annotations

import fnmatch
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import emu
from emu.analysis.draws import random_operand
from emu.arrays.values import format_of_dtype
from emu.base.atomic import check_target
from emu.base.errors import EmuError, FileError, OperandError
from emu.base.inputs import read_json
from emu.base.philox import check_key, stream_of
from emu.base.workers import in_order_by_threads
from emu.cli.convert import parse_value
from emu.cli.settings import InputPath, OutputPath, cluster_option, common_options, note, print_json, print_table, progress, settings_of
from emu.files import Pattern, Recipes, StoredWriter, TensorFile, TensorInfo, is_model, kept_reason, open_tensors, skip_reason
from emu.ops.functions import QuantizeTask, quantize, quantize_task
from emu.ops.pieces import quantize_in_pieces
from emu.ops.quantized import Quantized
from emu.spec import Format, Recipe, get
from emu.spec.carried import workers
from emu.spec.programs.program import quantize_program


@click.command("quantize")
@click.argument("file", type=InputPath())
@click.option("--recipe", "-r", required=True, help="Recipe id or alias (emu list recipes).")
@click.option(
    "--recipe-for",
    multiple=True,
    metavar="GLOB=RECIPE",
    help="Another recipe for tensors whose name matches; repeatable, the last match wins.",
)
@click.option(
    "--out", "-o", type=OutputPath(dir_okay=False), help="Result [default: <file>.<recipe>.safetensors in this folder, of several: mixed]."
)
@click.option("--axis", default=-1, show_default=True, help="Blocked axis.")
@click.option("--row-axis", default=-2, show_default=True, help="Other side of a 2-D tile.")
@click.option("--select", multiple=True, metavar="GLOB", help="Only tensors whose name matches; repeatable.")
@click.option("--include", multiple=True, metavar="GLOB", help="Of a model: also tensors that deployments keep; repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave tensors out; repeatable.")
@click.option("--source", help="Format of raw codes, for unsigned integer tensors.")
@click.option("--tensor-amax", help="Tensor maximum: a number, or fp32 bits in hex; for exactly one tensor.")
@click.option(
    "--amax-file",
    type=InputPath(),
    help="Calibrated tensor maxima: JSON, name -> number or fp32 bits in hex; for every tensor whose recipe reads one.",
)
@click.option("--random-key", type=int, help="Key of Philox4x32-10, for recipes that draw.")
@click.option("--signs", help="Sign mask in hex, for a recipe that rotates and takes signs [default: the transform's own].")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto.")
@click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help="Threads; the bytes do not depend on it.")
@cluster_option
@click.option("--strict", is_flag=True, help="A tensor that cannot be quantized is an error, not skipped.")
@click.option("--force", is_flag=True, help="Replace the result if it exists.")
@common_options
def command(
    file: str, recipe: str, recipe_for: tuple[str, ...], out: str | None, select: tuple[str, ...], strict: bool, force: bool, **options: Any
) -> None:
    """Quantize the fp32, fp16 and bf16 tensors of FILE (.npy, .npz, .safetensors, or a folder of .safetensors).

    Tensors are handled one at a time, with --jobs N at most N of them; --cluster hands pieces of them to workers, which need not see FILE.
    The result appears whole or not at all. Scalars, empty tensors,
    other dtypes, vectors whose length is no multiple of the block, and lengths that do not fit a recipe with tail: error are skipped with
    the reason. Of a model (a file with a tensor named *.weight) embeddings, norms, output heads, routers and vectors are skipped too, as
    deployments do: --include takes them.

    --recipe-for says how a tensor is quantized, not whether: a pattern that matches no tensor, or none that is taken, is an error.
    """
    recipes = Recipes(get("recipe", recipe), tuple(Pattern.parse(text) for text in recipe_for))
    source: Format | None = None if options["source"] is None else get("format", options["source"])
    options["signs"] = None if options["signs"] is None else parse_signs(options["signs"])
    with open_tensors(file) as tensors:
        choice = Choice(select, options["include"], options["exclude"], strict)
        plan = plan_tensors(tensors, recipes, choice, options["axis"], options["row_axis"], source)
        recipes.check(tensors.path, (info.name for info in tensors.tensors), {info.name: reason for info, reason in plan})
        taken = [info for info, reason in plan if reason is None]
        used = recipes.used(info.name for info in taken)
        check_keys(used, options["random_key"], options["signs"])
        target = Path(out) if out else default_target(tensors.path, f"{used[0].id if len(used) == 1 else 'mixed'}.safetensors")
        check_target(target, force)
        if options["tensor_amax"] is not None and len(taken) != 1:
            raise OperandError(f"--tensor-amax goes with one tensor, {len(taken)} are chosen: name one with --select")
        options["maxima"] = {} if options["amax_file"] is None else read_maxima(options["amax_file"], _measured(taken, recipes))
        if options["maxima"] and options["tensor_amax"] is not None:
            raise OperandError("--tensor-amax and --amax-file say the same thing: give one of them")
        with StoredWriter.open(target, recipes.default, emu.__version__, force) as writer, progress() as bar:
            writer.skipped = {info.name: reason for info, reason in plan if reason is not None}
            with closing(_quantized(tensors, taken, recipes, source, options)) as made:
                for info, found in zip(bar.track(taken, description="quantize"), made, strict=True):
                    writer.add(info.name, found, *_about(info, recipes.of(info.name), source, options))
    _report(target, recipes, used, plan)


class Choice(NamedTuple):
    """Which tensors are wanted: globs of names.

    select: only these, where there are any.   include: also where deployments keep them.   exclude: none of these.
    strict: a wanted tensor that the recipe does not take is an error.
    """

    select: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    strict: bool = False


def plan_tensors(
    tensors: TensorFile, recipes: Recipes, choice: Choice, axis: int, row_axis: int, source: Format | None
) -> list[tuple[TensorInfo, str | None]]:
    """Return each selected tensor and why it is skipped, None when it is taken.

    Raises: FileError (nothing matches, nothing can be taken, something cannot under strict).
    """
    chosen = selected(tensors, choice.select)
    for glob in (*choice.include, *choice.exclude):
        selected(tensors, (glob,))
    model = is_model(info.name for info in tensors.tensors)
    unwanted = {info.name: _unwanted(info, choice, model) for info in chosen}
    plan = [(info, skip_reason(info, recipes.of(info.name), axis, row_axis, source) or unwanted[info.name]) for info in chosen]
    refused = [(info, reason) for info, reason in plan if reason is not None and (len(chosen) == 1 or not unwanted[info.name])]
    if (refused and choice.strict) or all(reason is not None for _, reason in plan):
        info, reason = (refused or plan)[0]
        rest = "" if len(refused) == 1 else f" (and {len(refused) - 1} more)"
        raise FileError(f"{tensors.path}: {shown(info.name)}{recipes.of(info.name).id} does not take it: {reason}{rest}")
    return plan


def _unwanted(info: TensorInfo, choice: Choice, model: bool) -> str | None:
    """Return why nobody wants a tensor quantized, or None."""
    if _matches(info.name, choice.exclude):
        return "left out by --exclude"
    return None if not model or _matches(info.name, choice.include) else kept_reason(info)


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _measured(taken: list[TensorInfo], recipes: Recipes) -> list[TensorInfo]:
    """Return the tensors whose recipe reads a tensor maximum; all of them where none does, so that quantizing them says so."""
    return [info for info in taken if quantize_program(recipes.of(info.name)).reads("tensor_amax")] or taken


def read_maxima(path: str, taken: list[TensorInfo]) -> dict[str, np.float32]:
    """Return the calibrated maximum of each tensor out of a JSON file. Raises: FileError (no such file, a tensor missing, no number)."""
    try:
        found = read_json(path)
        texts = {str(name): value for name, value in found.items()}
        missing = next((info.name for info in taken if info.name not in texts), None)
        if missing is not None:
            raise FileError(f"{path}: has no maximum for tensor {missing}: add it, or leave the tensor out with --exclude")
        return {info.name: _amax(str(texts[info.name])) for info in taken}
    except OSError as error:
        raise FileError(f"{path}: cannot read: {error.strerror or error}") from None
    except EmuError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: is no JSON object of maxima (tensor name -> number or fp32 bits in hex): {error}") from None


def selected(tensors: TensorFile, select: tuple[str, ...]) -> list[TensorInfo]:
    """Return the tensors whose names match one of the globs, all without globs. Raises: FileError (none)."""
    found = [info for info in tensors.tensors if not select or _matches(info.name, select)]
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


def check_keys(recipes: list[Recipe], key: int | None, signs: int | None) -> None:
    """Check that a key is there exactly when one of the recipes draws, and signs only when one rotates. Raises: OperandError."""
    drawing = [recipe for recipe in recipes if quantize_program(recipe).drawing is not None]
    for recipe in drawing or recipes[:1]:
        check_operands(recipe, key)
    if signs is not None and not any(recipe.transforms for recipe in recipes):
        raise OperandError(f"recipe {recipes[0].id} rotates nothing: leave --signs out")


def parse_signs(text: str) -> int:
    """Return a sign mask from the command line. Raises: OperandError."""
    try:
        return int(text, 0)
    except ValueError:
        raise OperandError(f"--signs {text!r} is no integer: write a mask like 0xD7E8") from None


def raw_or_float(array: Any, source: Format | None) -> Any:
    """Return an array as quantize takes it: voids of a known format become unsigned codes."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}")) if source is not None and array.dtype.kind == "V" else array


def _quantized(
    tensors: TensorFile, taken: list[TensorInfo], recipes: Recipes, source: Format | None, options: dict[str, Any]
) -> Generator[Quantized, None, None]:
    """Yield each tensor quantized, in their order, by threads or by the workers of a cluster."""

    def one(info: TensorInfo) -> Quantized:
        return _one(tensors, info, recipes.of(info.name), source, options)

    def task(info: TensorInfo) -> QuantizeTask:
        recipe = recipes.of(info.name)
        return quantize_task(raw_or_float(tensors.read(info.name), source), recipe, **_operands(info, recipe, source, options))

    if options["cluster"] is None:
        yield from in_order_by_threads(one, taken, options["jobs"])
        return
    with workers(cluster=options["cluster"]) as mapped:
        yield from quantize_in_pieces(mapped, taken, task, one, options["engine"])


def _operands(info: TensorInfo, recipe: Recipe, source: Format | None, options: dict[str, Any]) -> dict[str, Any]:
    """Return what quantize takes of one tensor besides its values, the recipe and the engine."""
    return {
        "axis": options["axis"],
        "row_axis": options["row_axis"],
        "source": source,
        "tensor_amax": options["maxima"].get(info.name) if options["tensor_amax"] is None else _amax(options["tensor_amax"]),
        "random": random_operand(recipe, info.shape, info.name, _key(recipe, options)),
        "signs": _signs(recipe, options),
    }


def _key(recipe: Recipe, options: dict[str, Any]) -> int | None:
    key: int | None = options["random_key"]
    return None if quantize_program(recipe).drawing is None else key


def _signs(recipe: Recipe, options: dict[str, Any]) -> int | None:
    signs: int | None = options["signs"]
    return signs if recipe.transforms else None


def _one(tensors: TensorFile, info: TensorInfo, recipe: Recipe, source: Format | None, options: dict[str, Any]) -> Quantized:
    """Read one tensor and quantize it."""
    array = raw_or_float(tensors.read(info.name), source)
    try:
        found: Quantized = quantize(array, recipe, **_operands(info, recipe, source, options), engine=options["engine"])
    except EmuError as error:
        raise type(error)(f"{tensors.path}: {shown(info.name)}{error}") from None
    return found


def _about(
    info: TensorInfo, recipe: Recipe, source: Format | None, options: dict[str, Any]
) -> tuple[str, dict[str, int] | None, str | None]:
    """Return what StoredWriter.add takes of a tensor besides its codes."""
    key, signs = _key(recipe, options), _signs(recipe, options)
    words = None if key is None else {"key": key, "stream": stream_of(info.name)}
    return source.id if source else format_of_dtype(info.dtype).id, words, None if signs is None else f"0x{signs:X}"


def _amax(text: str) -> np.float32:
    bits = parse_value(text, get("format", "fp32"))
    return np.float32(np.array(bits, np.uint32).view(np.float32))


def _report(target: Path, recipes: Recipes, used: list[Recipe], plan: list[tuple[TensorInfo, str | None]]) -> None:
    size = target.stat().st_size
    taken = sum(reason is None for _, reason in plan)
    if settings_of().json:
        rows = [{"tensor": info.name, "shape": list(info.shape), "dtype": info.dtype, "skipped": reason} for info, reason in plan]
        if len(used) == 1:
            print_json({"out": str(target), "bytes": size, "recipe": used[0].id, "tensors": rows})
            return
        for row in rows:
            row["recipe"] = None if row["skipped"] else recipes.of(str(row["tensor"])).id
        print_json({"out": str(target), "bytes": size, "recipes": [recipe.id for recipe in used], "tensors": rows})
        return
    if not settings_of().quiet:
        names = {info.name: "quantized" if len(used) == 1 else f"by {recipes.of(info.name).id}" for info, _ in plan}
        rows_ = [(info.name or "-", _sides(info), info.dtype, reason or names[info.name]) for info, reason in plan]
        print_table(rows_, ("tensor", "shape", "dtype", "result"))
    note(f"{target}: {taken} of {len(plan)} tensors by {', '.join(recipe.id for recipe in used)}, {size} bytes")


def _sides(info: TensorInfo) -> str:
    return "x".join(map(str, info.shape)) or "scalar"
