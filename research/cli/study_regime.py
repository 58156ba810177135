"""python -m research regime: which grid loses least along ever wider tensors, and what it loses to."""

from __future__ import annotations

from typing import Any

import click

from emu.cli.quantize import parse_signs
from emu.cli.settings import bar_of, common_options, note, print_json, print_table, settings_of
from emu.cli.study.inputs import check_kept, command_line, keep, kept_options, text

WINNERS = ("sigma", "block crest", "bits", "scales", "rotation", "least loss", "SQNR dB", "ahead by dB", "limited by")


@click.command("regime")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the drawn tensors.")
@click.option("--signs", default="0xD7E8", show_default=True, help="Sign mask of the rotation.")
@click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto: same figures.")
@kept_options
@common_options
def command(**options: Any) -> None:
    """Map which grid loses least, and to what: every element format with FP32 scales and the other scale codecs.

    Along lognormal_0 to lognormal_1.6, as they are and rotated.
    """
    from emu.analysis.cells import load_recipes
    from research.reproduction import regime

    load_recipes()
    check_kept(options)
    record = command_line(options, "python -m research regime")
    with bar_of("regime") as tick:
        record |= regime.regime_record(signs=parse_signs(options["signs"]), seed=options["seed"], engine=options["engine"], tick=tick)
    keep(record, options, regime.plot_regime)
    print_json(record) if settings_of().json else _print(record)


def _print(record: dict[str, Any]) -> None:
    lines = [
        (f"{row['sigma']:g}", f"{row['crest']:.2f}", row["bits"], row["codec"], row["transform"] or "none", " = ".join(row["elements"]),
         f"{row['sqnr_db']:.2f}", text(row["lead_db"], ".2f"), row["regime"])
        for row in sorted(record["winners"], key=lambda row: (row["bits"], row["codec"], row["transform"] or "", row["sigma"]))
    ]  # fmt: skip
    print_table(lines, WINNERS, right=("sigma", "block crest", "bits", "SQNR dB", "ahead by dB"))
    for row in record["crossings"]:
        way = "rotated" if row["transform"] else "as it is"
        note(
            f"{row['codec']} scales, {way}: {row['first']} and {row['second']} cross at {row['sigma']:.2f}; {row['wins_above']} leads above"
        )
