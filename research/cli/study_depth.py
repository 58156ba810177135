"""python -m research depth: what is left of a signal after many quantized layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.atomic import check_target, whole_file, write_text
from emu.base.errors import SpecError
from emu.cli.settings import common_options, note, print_json, print_table, progress, settings_of

RECIPES = ("e2m1_fp32scale", "e1m2_fp32scale", "study_e2m1_to2")
HEADER = ("recipe", "rotation", "layers", "eta", "sd", "product of alphas", "cosine", "norm ratio")


@click.command("depth")
@click.option(
    "--recipe", "-r", "recipes", multiple=True, help=f"Recipe of both operands of every layer; repeatable [default: {' '.join(RECIPES)}]."
)
@click.option("--rht/--no-rht", default=True, show_default=True, help="Also with both operands rotated along K.")
@click.option(
    "--weights", type=click.Choice(("orthogonal", "gaussian")), default="orthogonal", show_default=True, help="Weights of the layers."
)
@click.option("--residual", is_flag=True, help="Each layer adds to a signal that it reads normalised, as in a transformer.")
@click.option("--layers", type=click.IntRange(min=1), default=24, show_default=True, help="Layers of the chain.")
@click.option("--width", type=click.IntRange(min=1), default=128, show_default=True, help="K = N of every layer.")
@click.option("--batch", type=click.IntRange(min=1), default=128, show_default=True, help="Rows of the input.")
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True, help="Runs, with seeds 0, 1, ...")
@click.option("--full", is_flag=True, help="Width and batch 512, 3 seeds: about a minute.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto: same codes.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Save a plot (.png, .svg, .pdf).")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Keep the figures as JSON.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@common_options
def command(recipes: tuple[str, ...], rht: bool, full: bool, **options: Any) -> None:
    """Run a chain of layers, both operands of every product quantized, beside the exact chain: linear layers, or with a residual path.

    eta: projection of the output on the exact output, 1 where nothing shrinks; the product of the operands' gains, which predicts it;
    cosine and ratio of lengths: noise may keep the length where the projection shrinks.
    """
    from emu.analysis.cells import load_recipes
    from emu.analysis.plot import plot_kind
    from research.reproduction import cells, plot
    from research.reproduction.depth import FULL, Setting

    load_recipes()
    kind = None if options["plot"] is None else plot_kind(options["plot"].suffix)
    for path in (options["plot"], options["out"]):
        if path is not None:
            check_target(path, options["force"])
    width, batch, seeds = (FULL.width, FULL.batch, 3) if full else (options["width"], options["batch"], options["seeds"])
    setting = Setting(options["layers"], width, batch, options["weights"], options["residual"])
    todo = [(recipe, rotated) for recipe in recipes or RECIPES for rotated in ((False, True) if rht else (False,))]
    with progress() as bar:
        groups = []
        for recipe, rotated in bar.track(todo, description="depth"):
            try:
                groups.append(cells.chains(setting, recipe, rotated, seeds, options["engine"]))
            except SpecError as error:
                raise SpecError(f"{error}: `emu list recipe` shows the names") from None
    rows = [row for runs in groups for row in cells.depth_rows(setting, runs)]
    _write(rows, groups, kind, options, plot)
    if settings_of().json:
        print_json(rows)
    else:
        print_table([_line(row) for row in rows], HEADER, right=HEADER[2:])


def _write(rows: list[dict[str, Any]], groups: list[Any], kind: str | None, options: dict[str, Any], plot: Any) -> None:
    import json

    if kind is not None:
        with whole_file(options["plot"], options["force"]) as file:
            plot.plot_chains([(runs[0].recipe + (" rotated" if runs[0].transform else ""), runs) for runs in groups], file, kind)
        note(f"{options['plot']}: plot of {len(groups)} chains")
    if options["out"] is not None:
        write_text(options["out"], json.dumps(rows, indent=1) + "\n", options["force"])


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    numbers = [f"{row[name]:.4f}" for name in ("eta", "eta_deviation", "alpha_product", "cosine", "norm_ratio")]
    return (row["recipe"], row["transform"] or "none", str(row["layers"]), *numbers)
