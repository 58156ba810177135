"""emu bench: speed of each operation by each engine on this machine."""

from __future__ import annotations

import os

import click

from emu.cli.settings import bar_of, common_options, say_text, settings_of


@click.command("bench")
@click.option("--elements", default=1 << 24, show_default=True, type=click.IntRange(1 << 12, 1 << 28), help="Elements of the tensor.")
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(1, 1000), help="Runs of each case.")
@click.option("--only", default="", metavar="WORD", help="Only cases whose name contains it.")
@click.option("--jobs", default=1, show_default=True, type=click.IntRange(1, 256), help="Matrix products with so many threads too.")
@click.option("--model", default=None, metavar="FILE", help="Instead: quantize every tensor of a file and time the stages.")
@click.option("--recipe", default="nvfp4_te_ref", show_default=True, help="Recipe for --model.")
@common_options
def command(elements: int, repeats: int, only: str, jobs: int, model: str | None, recipe: str) -> None:
    """Measure conversions, quantizers, rotations and matrix products by each engine, in one thread."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # read when NumPy is first imported

    from emu import bench

    if model is not None:
        with bar_of("model") as tick:
            count, stages = bench.run_model(model, recipe, tick)
        say_text((bench.model_json(count, stages) if settings_of().json else bench.model_markdown(count, stages)).rstrip("\n"))
        return
    with bar_of("bench") as tick:
        found = bench.run(elements, repeats, only, tick, jobs)
    if not found:
        raise click.UsageError(f"no case contains {only!r}: leave --only out to see their names")
    say_text((bench.as_json(found) if settings_of().json else bench.as_markdown(found)).rstrip("\n"))
