"""emu study bias: bias per bin of any grid under any density, and predicted against measured shrinkage."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from emu.cli.quantize import parse_signs
from emu.cli.settings import bar_of, common_options, note, print_json, print_table, settings_of
from emu.cli.study.inputs import check_kept, command_line, data_options, keep, kept_options, tensors_of, text

FORMATS = ("e2m1", "e1m2", "int4", "e0m3")
BINS = ("format", "density", "value", "mass %", "bias", "locally flat", "error")
WHOLE = ("format", "density", "alpha-1 %", "bin term %", "-NMSE %", "SQNR dB", "B_eff")
COMPARED = ("data", "recipe", "rotation", "measured", "empirical", "model", "bin term", "flat bins say", "-NMSE")


@click.command("bias")
@click.option("--format", "-f", "formats", multiple=True, help=f"Format of at most 8 bits; repeatable [default: {' '.join(FORMATS)}].")
@click.option("--density", "densities", multiple=True, help="flat, gaussian or laplace; repeatable [default: all three].")
@click.option("--block", default=16, show_default=True, type=click.IntRange(2, 4096), help="Elements of a block with an exact scale.")
@click.option("--recipe", "-r", "recipes", multiple=True, help="Recipes of the comparison with --data; repeatable.")
@data_options
@kept_options
@common_options
def command(formats: tuple[str, ...], densities: tuple[str, ...], block: int, names: tuple[str, ...], **options: Any) -> None:
    """Print the bias of every bin, what follows for a tensor, and with --data what was measured instead.

    Bias: E[value - x] of the numbers that round to a value, each counted once; below zero for a positive value, it shrinks. `locally flat`
    is the formula (2q - q_below - q_above)/4. alpha - 1 = bin term - NMSE: the bias of the bins, weighed with their values, less the error
    itself. flat: no blocks; the others in blocks with an exact scale. With --data: the same for the numbers of the tensor, in blocks of 16
    with a binary32 scale; and alpha - 1 in %, measured by the recipe, predicted from its scaled numbers (empirical) and, for gaussian and
    laplace as they are, from the density alone (model).
    """
    from emu.analysis import plot
    from emu.analysis import records as study

    check_kept(options)
    record = command_line({"formats": formats, "block": block, "names": names, **options}, "emu study bias")
    record |= study.bias_record(formats or FORMATS, densities or study.DENSITIES, block)
    if names:
        from emu.analysis.cells import load_recipes

        load_recipes()
        with bar_of("bias") as tick:
            tensors = list(tensors_of(names, options))
            numbers = study.numbers_record(tensors, formats or FORMATS, options["engine"])
            record |= {key: record[key] + rows for key, rows in numbers.items()}
            signs = parse_signs(options["signs"])
            record["predictions"] = study.prediction_rows(tensors, options["recipes"] or study.PREDICTED, signs, options["engine"], tick)
    keep(record, options, plot.plot_bias)
    print_json(record) if settings_of().json else _print(record)


def _print(record: dict[str, Any]) -> None:
    lines = [
        (
            row["format"],
            row["density"],
            row["value"],
            text(_plain(row["mass"]), ".3f", 100),
            *(_bias(row[key]) for key in ("bias", "local", "error")),
        )
        for row in record["bins"]
        if Fraction(row["value"]) >= 0
    ]
    print_table(lines, BINS, right=BINS[2:], title="Bins from zero up, in units of the format")
    whole = [
        (row["format"], row["density"], *(text(row[key], "+.3f", factor) for key, factor in
         (("alpha_minus_1", 100), ("bin_term", 100), ("nmse", -100))), text(row["sqnr_db"], ".2f"), text(row["bucket_ratio"], ".3f"))
        for row in record["expected"]
    ]  # fmt: skip
    print_table(whole, WHOLE, right=WHOLE[2:], title=f"The whole grid, blocks of {record['block']}, exact scale")
    if "predictions" in record:
        print_table([_compared(row) for row in record["predictions"]], COMPARED, right=COMPARED[3:], title="alpha - 1 in %")
        note("alpha - 1 = bin term - NMSE; flat bins know neither the slope of the density nor the outermost bin")


def _compared(row: dict[str, Any]) -> tuple[str, ...]:
    measured, model = row["measured"], row["model"]
    return (
        row["data"],
        row["recipe"],
        row["transform"] or "none",
        *(text(found, "+.3f", 100) for found in (measured["alpha_minus_1"], row["empirical"]["alpha_minus_1"])),
        text(None if model is None else model["alpha_minus_1"], "+.3f", 100),
        *(text(found, "+.3f", 100) for found in (measured["bin_term"], row["flat_term"], -measured["nmse"])),
    )


def _plain(value: Any) -> float:
    return float(Fraction(value)) if isinstance(value, str) else value


def _bias(value: Any) -> str:
    """Return a bias: an exact fraction as it is, a float with five places."""
    return "-" if value is None else value if isinstance(value, str) else f"{value:+.5f}"
