"""emu dequantize: a file of emu quantize back to values."""

from __future__ import annotations

from pathlib import Path

import click

from emu.arrays.values import float_dtype
from emu.base.atomic import check_target
from emu.cli.quantize import default_target
from emu.cli.settings import InputPath, OutputPath, common_options, note, print_json, progress, settings_of
from emu.files import StoredFile, distinct, tensor_writer
from emu.spec import get
from emu.spec.programs.program import dequantize_program


@click.command("dequantize")
@click.argument("file", type=InputPath())
@click.option("--profile", help="Order of operations, a dequantize profile of the recipe [default: its first].")
@click.option("--dtype", type=click.Choice(["fp32", "bf16", "fp16"]), default="fp32", show_default=True, help="Result format.")
@click.option("--out", "-o", type=OutputPath(dir_okay=False), help="Result, kind by suffix [default: <file>.values.safetensors].")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy or auto.")
@click.option("--force", is_flag=True, help="Replace the result if it exists.")
@common_options
def command(file: str, profile: str | None, dtype: str, out: str | None, engine: str, force: bool) -> None:
    """Dequantize FILE, which emu quantize wrote: bit for bit what its codes and levels mean under the profile."""
    with StoredFile(file) as stored:
        recipes = distinct(stored.recipes.values())
        for recipe in recipes:
            dequantize_program(recipe, profile)
        target = Path(out) if out else default_target(stored.path, "values.safetensors")
        check_target(target, force)
        wanted = float_dtype(get("format", dtype))
        with tensor_writer(target, force) as writer, progress() as bar:
            for name in bar.track(list(stored.tensors), description="dequantize"):
                writer.put(name, stored.quantized(name).dequantize(wanted, profile, engine))
    names = ", ".join(recipe.id for recipe in recipes)
    if settings_of().json:
        profiles = {recipe.id: profile or next(iter(recipe.facts.dequantize)) for recipe in recipes}
        said = {"profile": next(iter(profiles.values()))} if len(profiles) == 1 else {"profiles": profiles}
        print_json({"out": str(target), "tensors": list(stored.tensors)} | said)
    note(f"{target}: {len(stored.tensors)} tensors in {dtype}, {'recipe' if len(recipes) == 1 else 'recipes'} {names}")
