"""emu identify: which documented behaviour a kernel or a checkpoint has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from emu.base.errors import OperandError
from emu.cli.settings import InputPath, Kernel, common_options, progress, say, show


@click.command("identify")
@click.argument("target", required=False, type=Kernel())
@click.option(
    "--op",
    default="quantize",
    show_default=True,
    metavar="OPERATION",
    help="quantize, dequantize, convert, decode, transform or dot; or a contract with the same operands and answers.",
)
@click.option("--against", metavar="CONTRACT", help="matmul/A/B/OUT: how does a product add? The operands are those of emu check.")
@click.option("--source", metavar="ID", help="Format of the values that the target takes.")
@click.option("--result", metavar="ID", help="Format of the values that it answers.")
@click.option("--takes", metavar="KIND", help="numpy.fp32, torch.bf16 ..., numpy.bits: what a Python target is given.")
@click.option("--gives", metavar="NAMES", help="codes, packed, values, or names separated by commas; outer=inner for names of a mapping.")
@click.option("--wants", metavar="NAMES", help="Which of tensor_amax, random, signs it takes, separated by commas; none: nothing.")
@click.option("--signature", metavar="TEXT", help='Of a C symbol: "f(x: const float*, n: size_t, codes: uint8_t*)".')
@click.option("--packing", metavar="NAME", help="low_nibble_first or high_nibble_first, where it is known.")
@click.option("--scale-layout", metavar="NAME", help="row_major or 128x4, where it is known.")
@click.option("--device", metavar="NAME", help="Device of torch tensors.")
@click.option("--seconds", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Limit for one call of the target.")
@click.option("--multiple", metavar="RxC", help="Rows and columns that a quantize kernel needs, as multiples; left out: found out.")
@click.option(
    "--shapes", metavar="RxC,...", help="Confirm what was found of a quantize kernel on these shapes too; of a product ask MxNxK,... alone."
)
@click.option("--among", metavar="IDS", help="Compare with these spec objects alone, ids with commas between.")
@click.option("--quantized", metavar="CKPT", type=InputPath(path_type=Path), help="Identify the files of a checkpoint instead of a target.")
@click.option("--original", metavar="CKPT", type=InputPath(path_type=Path), help="The checkpoint before quantization.")
@click.option("--dequantized", metavar="CKPT", type=InputPath(path_type=Path), help="The checkpoint as a library reads it back.")
@click.option("--refresh", is_flag=True, help="Derive the kept discriminating rows again from the spec.")
@common_options
def command(
    target: str | None,
    among: str | None,
    quantized: Path | None,
    original: Path | None,
    dequantized: Path | None,
    refresh: bool,
    **options: Any,
) -> int:
    """Name the documented behaviour of TARGET: py:module:function, c:library.so:symbol or exec:command. Runs the code of the target.

    Exit codes: 0 a documented behaviour (of a product: an order that gives every answer), 1 only near one or unknown, 2 misuse, 3 nothing
    compared.
    """
    if [target is not None, quantized is not None, refresh].count(True) != 1:
        raise OperandError("identify: name one TARGET, or --quantized CKPT, or --refresh")
    if quantized is not None:
        return _files(quantized, original, dequantized, options["packing"], options["scale_layout"])
    if original is not None or dequantized is not None:
        raise OperandError("identify: --original and --dequantized go with --quantized")
    if refresh:
        from emu.identify.refresh import refresh as derive_again

        say(*derive_again())
        return 0
    assert target is not None
    if options["against"] is not None:
        return _product(target, among, options)
    options.pop("against")
    return _target(target, None if among is None else among.split(","), options)


def _target(text: str, among: list[str] | None, options: dict[str, Any]) -> int:
    """Identify a kernel in a process of its own; a kernel that fails has a verdict and exit code 1."""
    from emu.base.errors import TargetError
    from emu.check.inputs.suites import parse_shapes
    from emu.check.targets.answers import ANY_SHAPE
    from emu.check.targets.isolate import spawned
    from emu.check.targets.named import is_python, make
    from emu.cli.check import LATE, _gives, _multiple, _names
    from emu.identify.signatures import contracts_of, identify_any
    from emu.spec.registry import added_folders

    own = text.startswith("exec:")  # it stops its program by itself
    seconds = options.pop("seconds")
    contracts = contracts_of(options.pop("op"), among)
    asked: dict[str, Any] = {}
    multiple, shapes = options.pop("multiple"), options.pop("shapes")
    if multiple is not None:
        asked["multiple"] = _multiple(multiple)
    if shapes is not None:
        asked["shapes"] = parse_shapes(shapes)
    given = options | {"gives": _gives(options["gives"]), "wants": _names(options["wants"])} | ({"seconds": seconds} if own else {})
    if given["scale_layout"] is None and is_python(text):
        given["scale_layout"] = ANY_SHAPE
    try:
        with progress() as bar:
            bar.add_task("identify", total=None)
            found = identify_any(
                contracts,
                lambda contract: spawned(make, (text, contract, given, added_folders()), seconds + (LATE if own else 0)),
                among,
                **asked,
            )
    except TargetError as error:
        say(f"{text}: {error.verdict}: {error}")
        return 1
    show(found.json(), found.text().split("\n"))
    return found.exit_code


def _product(text: str, among: str | None, options: dict[str, Any]) -> int:
    """Identify a kernel that multiplies matrices, in a process of its own; one that fails has a verdict and exit code 1."""
    from emu.base.errors import SpecError, TargetError
    from emu.check.inputs.suites import parse_shapes
    from emu.check.matmul.named import make
    from emu.check.matmul.pair import PREFIX, pair_of
    from emu.check.matmul.run import checked_shapes
    from emu.check.targets.isolate import spawned
    from emu.identify.matmul.run import identify_matmul
    from emu.spec.registry import added_folders

    contract = options["against"]
    if not contract.startswith(PREFIX):
        raise SpecError(f"identify: --against {contract}: write matmul/A/B/OUT; other operations go by --op")
    strange = next((name for name in ("source", "result", "gives", "wants", "multiple") if options[name] is not None), None)
    if strange is not None or among is not None:
        raise OperandError(f"identify: --{strange or 'among'} says nothing of a product: leave it out")
    asked = () if options["shapes"] is None else parse_shapes(options["shapes"], 3)
    if any(len(shape) != 3 for shape in asked):
        raise OperandError("identify: --shapes of one product, M x N x K")
    shapes = [(shape[0], shape[1], shape[2]) for shape in asked] or None
    checked_shapes(shapes, pair_of(contract))
    given = {name: options[name] for name in ("signature", "takes", "packing", "scale_layout", "device")}
    try:
        with progress() as bar:
            bar.add_task("identify", total=None)
            with spawned(make, (text, contract, given, added_folders()), options["seconds"]) as isolated:  # type: ignore[arg-type]
                found = identify_matmul(isolated, contract, shapes)
    except TargetError as error:
        say(f"{text}: {error.verdict}: {error}")
        return 1
    show(found.json(), found.text().split("\n"))
    return found.exit_code


def _files(quantized: Path, original: Path | None, dequantized: Path | None, packing: str | None, scale_layout: str | None) -> int:
    from emu.checkpoint import identify_files
    from emu.checkpoint.layout import stated_orders

    report = identify_files(quantized, original, dequantized, stated_orders(packing, scale_layout))
    show(report.json(), report.text().split("\n"))
    return int(report.exit_code)
