"""emu study tensor: what recipes do to tensors, with and without rotation."""

from __future__ import annotations

from typing import Any

import click

from emu.cli.quantize import parse_signs
from emu.cli.settings import bar_of, common_options, note, print_json, print_table, settings_of
from emu.cli.study.inputs import check_kept, command_line, data_options, keep, kept_options, refuse_empty, tensors_of, text

DATA = ("gaussian", "lognormal_1.0")
RECIPES = (
    "e2m1_fp32scale",
    "e1m2_fp32scale",
    "study_int4_fp32scale",
    "nvfp4_te_ref",
    "nvufp4",
    "mxfp4_torchao_floor",
    "mxe1m2_floor",
    "ufp4",
)
HEADER = ("data", "recipe", "rotation", "SQNR dB", "alpha-1 %", "coherent", "incoherent", "B_eff", "clipped %", "zero %")


@click.command("tensor")
@click.option("--recipe", "-r", "recipes", multiple=True, help=f"Recipe; repeatable; `all`: every one [default: {' '.join(RECIPES)}].")
@click.option("--random-key", default=0, show_default=True, type=click.IntRange(0), help="Key of Philox4x32-10, for recipes that draw.")
@data_options
@kept_options
@common_options
def command(recipes: tuple[str, ...], names: tuple[str, ...], **options: Any) -> None:
    """Print SQNR, alpha, coherent and incoherent error, B_eff and clipped share of tensors, as they are and rotated.

    coherent = (alpha-1)^2, the part of the error that is a change of scale; B_eff = exp(H)/K, the share of the code space in use. Data
    default to gaussian and lognormal_1.0; the published table has --rows 4096.
    """
    from emu.analysis import plot
    from emu.analysis import records as study
    from emu.analysis.cells import load_recipes

    load_recipes()
    check_kept(options)
    record = command_line({"recipes": recipes, "names": names, **options}, "emu study tensor")
    signs = parse_signs(options["signs"])
    with bar_of("tensor") as tick:
        chosen = None if recipes == ("all",) else recipes or RECIPES
        others = {"random_key": options["random_key"], "engine": options["engine"]}
        record |= study.tensor_record(tensors_of(names or DATA, options), chosen, signs, tick, **others)
        refuse_empty(record["rows"], record["skipped"])
    keep(record, options, plot.plot_tensor)
    print_json(record) if settings_of().json else _print(record)


def _print(record: dict[str, Any]) -> None:
    lines = [
        (row["data"], row["recipe"], row["transform"] or "none", text(row["sqnr_db"], ".2f"), text(row["alpha_minus_1"], "+.3f", 100),
         text(row["coherent"], ".2e"), text(row["incoherent"], ".2e"), text(row["bucket_ratio"], ".3f"),
         text(row["clipped_share"], ".2f", 100), text(row["zero_share"], ".2f", 100))
        for row in record["rows"]
    ]  # fmt: skip
    print_table(lines, HEADER, right=HEADER[3:])
    for row in record["skipped"]:
        note(f"skipped {row['recipe']}: {row['reason']}")
