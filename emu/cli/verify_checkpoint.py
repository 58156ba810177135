"""emu verify-checkpoint: is a quantized checkpoint whole, alone or beside what it was made from."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import InputPath, common_options, print_json, say, settings_of

SHOWN = 20


@click.command("verify-checkpoint")
@click.argument("source", metavar="CKPT", type=InputPath(path_type=Path))
@click.option(
    "--original", metavar="CKPT", type=InputPath(path_type=Path), help="What it was made from: weights, or the same in any store."
)
@click.option("--packing", metavar="NAME", help="low_nibble_first or high_nibble_first, where neither file nor bytes say it.")
@click.option("--scale-layout", metavar="ID", help="Order of the scales (row_major, sf128x4), where neither file nor bytes say it.")
@common_options
def command(source: Path, original: Path | None, packing: str | None, scale_layout: str | None) -> int:
    """Look for damage in the checkpoint CKPT (.safetensors, .gguf, a folder, an index): scales, tensor factors, padding, NaN bytes.

    Beside a quantized original every number must be the same; beside weights, some recipe must give every byte. Exit code: 0 fine,
    1 damaged or different, 2 a file that cannot be read, 3 nothing compared, or not every weight that the original has too.
    """
    from emu.checkpoint.layout import stated_orders
    from emu.checkpoint.verify import verify_checkpoint

    done = verify_checkpoint(source, original, stated_orders(packing, scale_layout))
    if settings_of().json:
        print_json(done.json())
        return done.exit_code
    for item in done.faults[:SHOWN] if not settings_of().quiet else ():
        say(f"{item.tensor}: {item.what}")
        for place in item.places:
            say(f"    {place}")
    if len(done.faults) > SHOWN and not settings_of().quiet:
        say(f"and {len(done.faults) - SHOWN} more (--json lists them)")
    say(done.verdict)
    return done.exit_code
