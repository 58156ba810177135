"""python -m research gemm: gain and error of a matrix product whose operands are quantized."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.atomic import check_target, whole_file, write_text
from emu.cli.settings import common_options, note, print_json, print_table, progress, settings_of

RECIPES = ("e2m1_fp32scale", "e1m2_fp32scale", "study_e2m1_to2", "study_e2m1_even")
ALL_DATA = ("gaussian", "laplace", "student_t3", "lognormal_0.8", "lognormal_1.0", "lognormal_1.2", "columns_1.0")
HEADER = ("data", "recipe", "rotation", "alpha_A", "alpha_B", "alpha_A alpha_B", "eta", "NMSE", "SQNR dB")


@click.command("gemm")
@click.option(
    "--data", "data", multiple=True, type=click.Choice(ALL_DATA), help="Drawn data; repeatable [default: gaussian, lognormal_1.0]."
)
@click.option("--recipe", "-r", "recipes", multiple=True, help=f"Recipe of both operands; repeatable [default: {' '.join(RECIPES)}].")
@click.option("--recipe-b", help="Another recipe for B.")
@click.option("--rht/--no-rht", default=True, show_default=True, help="Also with both operands rotated along K.")
@click.option("--shape", nargs=3, type=click.IntRange(min=1), default=(256, 256, 1024), show_default=True, help="M N K.")
@click.option("--seed", default=11, show_default=True, type=click.IntRange(min=0), help="Of the drawn data; A is drawn first.")
@click.option("--tensors", metavar="FILE", type=click.Path(path_type=Path), help="Products of a file instead; see the help of reproduce.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto: same codes.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Save a plot (.png, .svg, .pdf).")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Keep the figures as JSON.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@common_options
def command(data: tuple[str, ...], recipes: tuple[str, ...], tensors: Path | None, **options: Any) -> None:
    """Compare the product of two quantized matrices with the product of the given ones.

    eta = <Y^, Y> / <Y, Y>, the gain of the product; alpha_A alpha_B, the gains of its operands; NMSE and SQNR of the product. Below one:
    shrunk. Default sizes take seconds; the sheet's targets need --shape 512 512 4096.
    """
    from emu.analysis.cells import load_recipes
    from emu.analysis.plot import plot_kind
    from research.reproduction import cells, plot, real

    load_recipes()
    kind = None if options["plot"] is None else plot_kind(options["plot"].suffix)
    for path in (options["plot"], options["out"]):
        if path is not None:
            check_target(path, options["force"])
    if tensors is not None and data:
        raise click.UsageError("--tensors and --data: products come from a file or are drawn: give one of them")
    pairs = (
        cells.drawn_pairs(data or ("gaussian", "lognormal_1.0"), options["shape"], options["seed"])
        if tensors is None
        else real.captured_pairs(tensors)
    )
    with progress() as bar:
        chosen = recipes or RECIPES
        rotations = (False, True) if options["rht"] else (False,)
        todo = [(pair, recipe, rotated) for pair in pairs for recipe in chosen for rotated in rotations]
        rows = [
            cells.gemm_row(pair, recipe, rotated, options["recipe_b"], options["engine"])
            for pair, recipe, rotated in bar.track(todo, description="gemm")
        ]
    _write(rows, kind, options, plot)
    if settings_of().json:
        print_json(rows)
    else:
        print_table([_line(row) for row in rows], HEADER, right=HEADER[3:])


def _write(rows: list[dict[str, Any]], kind: str | None, options: dict[str, Any], plot: Any) -> None:
    import json

    if kind is not None:
        with whole_file(options["plot"], options["force"]) as file:
            plot.plot_gemms(rows, file, kind)
        note(f"{options['plot']}: plot of {len(rows)} products")
    if options["out"] is not None:
        write_text(options["out"], json.dumps(rows, indent=1) + "\n", options["force"])


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = [row[name] for name in ("alpha_a", "alpha_b", "alpha_product", "eta", "nmse", "sqnr_db")]
    texts = ["-" if number is None else f"{number:.5f}" if isinstance(number, float) else str(number) for number in numbers]
    return (
        row["data"],
        row["recipe"],
        row["transform"] or "none",
        *texts[:-1],
        texts[-1][:-3] if isinstance(numbers[-1], float) else texts[-1],
    )
