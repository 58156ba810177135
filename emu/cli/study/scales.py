"""emu study scales: scale codecs x grids."""

from __future__ import annotations

from typing import Any

import click

from emu.cli.quantize import parse_signs
from emu.cli.settings import bar_of, common_options, print_json, print_table, say, settings_of
from emu.cli.study.inputs import check_kept, command_line, data_options, keep, kept_options, tensors_of, text

DATA = ("gaussian", "lognormal_1.0")
HEADER = ("data", "scales", "block", "elements", "rotation", "SQNR dB", "alpha-1 %", "B_eff", "clipped %", "recipe")


@click.command("scales")
@click.option(
    "--codec", "codecs", multiple=True, help="fp32, ue4m3_fp32, ue5m3, fp32_block32, e8m0_floor/even/rceil/ceil; repeatable [default: all]."
)
@click.option("--element", "grids", multiple=True, help="e2m1, e1m2, int4 or e0m3; repeatable [default: all].")
@data_options
@kept_options
@common_options
def command(codecs: tuple[str, ...], grids: tuple[str, ...], names: tuple[str, ...], **options: Any) -> None:
    """Print what each grid loses under each scale codec, and where E1M2 loses to E2M1.

    The uniform grid needs fraction bits in its scale: with E8M0 it falls behind on normal data. Data default to gaussian and lognormal_1.0.
    """
    from emu.analysis import plot
    from emu.analysis import records as study
    from emu.analysis.cells import CODECS, GRIDS

    check_kept(options)
    record = command_line({"codecs": codecs, "grids": grids, "names": names, **options}, "emu study scales")
    with bar_of("scales") as tick:
        tensors = tensors_of(names or DATA, options)
        others = {"codecs": codecs or CODECS, "grids": grids or GRIDS, "engine": options["engine"]}
        record |= study.scales_record(tensors, parse_signs(options["signs"]), tick, **others)
    keep(record, options, plot.plot_scales)
    print_json(record) if settings_of().json else _print(record)


def _print(record: dict[str, Any]) -> None:
    lines = [
        (row["data"], row["codec"], row["block"], row["element"], row["transform"] or "none", text(row["sqnr_db"], ".2f"),
         text(row["alpha_minus_1"], "+.3f", 100), text(row["bucket_ratio"], ".3f"), text(row["clipped_share"], ".2f", 100), row["recipe"])
        for row in record["rows"]
    ]  # fmt: skip
    print_table(lines, HEADER, right=("block", "SQNR dB", "alpha-1 %", "B_eff", "clipped %"))
    for lead in record["leads"]:
        say(lead["text"])
