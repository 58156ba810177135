"""emu convert-checkpoint: the 4-bit weights of a model from one library's files to another's, without quantizing again."""

from __future__ import annotations

from pathlib import Path

import click

from emu.cli.settings import bar_of, common_options, note, print_json, settings_of


@click.command("convert-checkpoint")
@click.argument("source", metavar="CKPT", type=click.Path(path_type=Path))
@click.option("--to", required=True, metavar="STORE", help="Store to write: an id of emu list checkpoints, or an alias.")
@click.option("--out", "-o", required=True, metavar="DIR", type=click.Path(path_type=Path), help="A new folder.")
@click.option(
    "--round-factor", is_flag=True, help="Round a tensor factor that the store cannot hold exactly; values change in their last bits."
)
@click.option("--rest", metavar="MODEL", help="Copy what CKPT does not hold from the model before quantization (a file of emu quantize).")
@common_options
def command(source: Path, to: str, out: Path, round_factor: bool, rest: str | None) -> int:
    """Write the checkpoint CKPT (.safetensors, .gguf, a folder, an index) as another store. Codes and block scales stay bit for bit.

    What was written is read back and compared before the folder appears. Numbers that the store cannot hold are refused: nothing is
    quantized again. Exit code: 0 written, 2 refused.
    """
    from emu.checkpoint.convert import convert_checkpoint

    with bar_of("convert") as step:
        done = convert_checkpoint(source, to, out, round_factor, step, rest)
    if settings_of().json:
        rounded = {name: {"before": old, "after": new} for name, (old, new) in done.rounded.items()}
        lists = {"weights": done.weights, "kept": done.kept, "dropped": done.dropped, "absent": done.absent, "rounded": rounded}
        print_json({"out": str(out), "store": done.store, "lossless": done.lossless, **lists})
        return 0
    click.echo(f"{out}: {done.store}: {len(done.weights)} weights, {len(done.kept)} other tensors copied")
    if done.lossless:
        click.echo("lossless: every weight stands for the same numbers; read back and compared")
    for name, (old, new) in list(done.rounded.items())[:8]:
        click.echo(f"rounded: tensor factor of {name}: {old} before, {new} after")
    if done.dropped:
        note(f"left out: {len(done.dropped)} tensors beside weights, such as {done.dropped[0]}: {done.store} has no known place for them")
    if done.absent:
        note(f"not there: {len(done.absent)} tensors that emu quantize left out, such as {done.absent[0]}: --rest MODEL copies them")
    return 0
