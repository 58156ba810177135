"""emu identify: which documented behaviour a kernel or a checkpoint has."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

from emu.cli.settings import common_options, print_json, settings_of
from emu.errors import OperandError


@click.command("identify")
@click.argument("target", required=False)
@click.option(
    "--op", metavar="OPERATION", help="quantize, dequantize, convert, decode, transform or dot, where the target does not say it."
)
@click.option("--source", metavar="ID", help="Format of the values that the target takes.")
@click.option("--result", metavar="ID", help="Format of the values that it answers.")
@click.option("--among", metavar="IDS", help="Compare with these spec objects alone, ids with commas between.")
@click.option(
    "--quantized", metavar="CKPT", type=click.Path(path_type=Path), help="Identify the files of a checkpoint instead of a target."
)
@click.option("--original", metavar="CKPT", type=click.Path(path_type=Path), help="The checkpoint before quantization.")
@click.option("--dequantized", metavar="CKPT", type=click.Path(path_type=Path), help="The checkpoint as a library reads it back.")
@click.option("--refresh", is_flag=True, help="Derive the kept discriminating rows again from the spec.")
@common_options
def command(
    target: str | None,
    op: str | None,
    source: str | None,
    result: str | None,
    among: str | None,
    quantized: Path | None,
    original: Path | None,
    dequantized: Path | None,
    refresh: bool,
) -> int:
    """Name the documented behaviour of TARGET: py:module:function, c:library.so:symbol or exec:command. Runs the code of the target.

    Exit codes: 0 a documented behaviour, 1 only near one, 2 misuse, 3 nothing compared.
    """
    if [target is not None, quantized is not None, refresh].count(True) != 1:
        raise OperandError("identify: name one TARGET, or --quantized CKPT, or --refresh")
    if quantized is not None:
        return _files(quantized, original, dequantized)
    if original is not None or dequantized is not None:
        raise OperandError("identify: --original and --dequantized go with --quantized")
    if refresh:
        click.echo("\n".join(import_module("emu.identify.refresh").refresh()))
        return 0
    from emu.identify.run import identify

    parse_target = import_module("emu.check.targets").parse_target

    assert target is not None
    options = {key: value for key, value in (("op", op), ("source", source), ("result", result)) if value is not None}
    found = identify(parse_target(target, **options), among=None if among is None else among.split(","))
    print_json(found.json()) if settings_of().json else click.echo(found.text())
    return found.exit_code


def _files(quantized: Path, original: Path | None, dequantized: Path | None) -> int:
    report = import_module("emu.checkpoint").identify_files(quantized, original, dequantized)
    print_json(report.json()) if settings_of().json else click.echo(report.text())
    return int(report.exit_code)
