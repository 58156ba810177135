"""emu convert-checkpoint: the quantized weights of a model from one library's files to another's, quantized again only if asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from emu.cli.settings import InputPath, OutputPath, bar_of, cluster_option, common_options, note, print_json, say, settings_of

if TYPE_CHECKING:
    from emu.checkpoint.convert import Converted

SHOWN: Final = 8  # weights that are named


@click.command("convert-checkpoint")
@click.argument("source", metavar="CKPT", type=InputPath(path_type=Path))
@click.option("--to", required=True, metavar="STORE", help="Store to write: an id of emu list checkpoints, or an alias.")
@click.option("--out", "-o", required=True, metavar="DIR", type=OutputPath("folder", path_type=Path), help="A new folder.")
@click.option(
    "--round-factor", is_flag=True, help="Round a tensor factor that the store cannot hold exactly; values change in their last bits."
)
@click.option(
    "--rest",
    metavar="MODEL",
    type=InputPath(),
    help="Copy what CKPT does not hold from the model before quantization (a file of emu quantize).",
)
@click.option(
    "--requantize", is_flag=True, help="Decode weights that the store cannot hold exactly, and quantize them again by its recipe."
)
@click.option("--recipe", "-r", help="With --requantize: another recipe of the store's blocks [default: the one that its library runs].")
@click.option("--packing", metavar="NAME", help="low_nibble_first or high_nibble_first, where neither CKPT nor its bytes say it.")
@click.option("--scale-layout", metavar="ID", help="Order of the scales (row_major, sf128x4), where neither CKPT nor its bytes say it.")
@click.option("--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help="Threads; the bytes do not depend on it.")
@cluster_option
@common_options
def command(
    source: Path,
    to: str,
    out: Path,
    round_factor: bool,
    rest: str | None,
    requantize: bool,
    recipe: str | None,
    packing: str | None,
    scale_layout: str | None,
    jobs: int,
    cluster: str | None,
) -> int:
    """Write the checkpoint CKPT (.safetensors, .gguf, a folder, an index) as another store. Codes and block scales stay bit for bit.

    What was written is read back and compared before the folder appears. Numbers that the store cannot hold are refused; with --requantize
    they are quantized again (by threads with --jobs, by workers with --cluster), and the report counts what changed.
    Exit code: 0 written, 2 refused.
    """
    from emu.checkpoint.convert import convert_checkpoint
    from emu.checkpoint.layout import stated_orders

    stated = stated_orders(packing, scale_layout)
    with bar_of("convert") as step:
        done = convert_checkpoint(source, to, out, round_factor, step, rest, requantize, recipe, jobs, cluster, stated)
    if settings_of().json:
        rounded = {name: {"before": old, "after": new} for name, (old, new) in done.rounded.items()}
        changed = {name: change.json() for name, change in done.changed.items()}
        lists = {
            "weights": done.weights,
            "kept": done.kept,
            "dropped": done.dropped,
            "absent": done.absent,
            "refitted": done.refitted,
            "rounded": rounded,
            "changed": changed,
        }
        print_json({"out": str(out), "store": done.store, "lossless": done.lossless, **lists})
        return 0
    say(f"{out}: {done.store}: {len(done.weights)} weights, {len(done.kept)} other tensors copied")
    if done.lossless and not done.changed:
        other = f", {len(done.refitted)} of them under other scales" if done.refitted else ""
        say(f"lossless: every weight stands for the same numbers{other}; read back and compared")
    for name, (old, new) in list(done.rounded.items())[:SHOWN]:
        say(f"rounded: tensor factor of {name}: {old} before, {new} after")
    if done.changed:
        _show_changed(done)
    if done.dropped:
        note(f"left out: {len(done.dropped)} tensors beside weights, such as {done.dropped[0]}: {done.store} has no known place for them")
    if done.absent:
        note(f"not there: {len(done.absent)} tensors that emu quantize left out, such as {done.absent[0]}: --rest MODEL copies them")
    return 0


def _show_changed(done: Converted) -> None:
    """Print what quantizing again changed: one line for all weights, one for each of the first."""
    found = list(done.changed.values())
    wrong, total = sum(change.values for change in found), sum(change.elements for change in found)
    same = len(done.weights) - len(found)
    how = "lossless all the same" if done.lossless else "not lossless"
    counts = f"{wrong} of {total} values differ; {same} weights kept as they are"
    say(f"{how}: {len(found)} weights quantized again by {found[0].recipe}: {counts}")
    for name, change in list(done.changed.items())[:SHOWN]:
        say(f"quantized again: {name}: {change}")
    if len(found) > SHOWN:
        worst = max(done.changed, key=lambda name: done.changed[name].error)
        say(f"quantized again: {len(found) - SHOWN} more (--json lists all); the largest error is in {worst}: {done.changed[worst]}")
    rounded = sum(change.rounded for change in found)
    if rounded:
        note(
            f"{rounded} decoded values are no binary32 numbers: the recipe was given the nearest ones; errors are those of the exact values"
        )
