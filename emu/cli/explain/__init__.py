"""Commands that tell why a bit is what it is: `emu explain`, `emu compare-datapaths`, `emu probe`."""

import click

from emu.cli.settings import stacked

FREE = ("a_format", "b_format", "scale_format", "block")  # what a datapath may leave to the caller
free_options = stacked(
    click.option("--a-format", metavar="ID", help="Format of A, where the datapath leaves it free."),
    click.option("--b-format", metavar="ID", help="Format of B."),
    click.option("--scale-format", metavar="ID", help="Format of the scales."),
    click.option("--block", type=click.IntRange(1), help="Elements per scale."),
)
