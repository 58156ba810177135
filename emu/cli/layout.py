"""emu layout: orders of codes in memory: what lies where, and tensors of files from one order to another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import numpy as np

from emu.cli.settings import InputPath, OutputPath, common_options, note, print_json, print_table, say, settings_of

_SIDE = re.compile(r"[1-9][0-9]{0,9}\Z")
MOST_SHOWN = 256


@click.group("layout")
def command() -> None:
    """Orders of codes in memory: show one, or bring tensors of a file from one to another.

    A layout of your own is one YAML file (docs/layouts.md): `--spec DIR`.
    """


def _shape(text: str, least: int = 2) -> tuple[int, ...]:
    sides = text.split("x")
    if len(sides) < least or not all(_SIDE.match(side) for side in sides):
        raise click.UsageError(f"--shape {text}: write ROWSxCODES, or MATRICESxROWSxCODES, such as 128x4")
    return tuple(int(side) for side in sides)


@command.command("show")
@click.argument("name", metavar="LAYOUT")
@click.option("--shape", default="4x8", show_default=True, help="ROWSxCODES of the tensor.")
@click.option("--at", metavar="PLACE", multiple=True, type=click.IntRange(0), help="What lies at this place; repeatable.")
@common_options
def show(name: str, shape: str, at: tuple[int, ...]) -> None:
    """Show the places of a tensor's codes in a LAYOUT: one line a row, or what lies --at places."""
    from emu.engines.exact.layout import locate, place, size
    from emu.ops.layout import layout_named, units
    from emu.pages.layout import digits, weights

    layout, sides = layout_named(name), _shape(shape)
    if len(sides) != 2:
        raise click.UsageError(f"--shape {shape}: one matrix is shown: write ROWSxCODES")
    rows, codes = sides
    places, bits = size(rows, codes, layout), layout.facts.word_bits or 8
    about: dict[str, Any] = {
        "layout": layout.id,
        "rows": rows,
        "codes": codes,
        "places": places,
        "units": units(rows, codes, layout),
        "unit_bits": bits,
    }
    if at:
        found = [(number, locate(number, rows, codes, layout)) for number in at]
        if settings_of().json:
            print_json({**about, "at": [{"place": number, "row": here and here[0], "idx": here and here[1]} for number, here in found]})
        else:
            print_table([(number, *(here or ("padding", ""))) for number, here in found], ("place", "row", "idx"))
        return
    if rows * codes > MOST_SHOWN:
        raise click.UsageError(f"--shape {shape}: at most {MOST_SHOWN} codes are shown: name a smaller tensor, or places with --at")
    table = [[place(row, idx, rows, codes, layout) for idx in range(codes)] for row in range(rows)]
    if settings_of().json:
        print_json({**about, "place": table})
        return
    say(f"{layout.id}: {layout.title}")
    weighed = (f"({digit}) * {weight}" for digit, weight in zip(digits(layout), weights(layout), strict=True))
    say(f"place of (row, idx) = {' + '.join(weighed)}")
    say(f"{rows} x {codes} codes of {layout.facts.code_bits} bits in {places} places: {about['units']} units of {bits} bits")
    print_table([(row, *line) for row, line in enumerate(table)], ("row", *map(str, range(codes))), right=("row", *map(str, range(codes))))


@command.command("convert")
@click.argument("source", metavar="FILE", type=InputPath(path_type=Path))
@click.option("--tensor", metavar="NAME", multiple=True, help="Which tensor; repeatable. Not needed where the file holds one.")
@click.option("--from", "given", metavar="LAYOUT", required=True, help="The order in which its codes lie.")
@click.option("--to", "wanted", metavar="LAYOUT", required=True, help="The order that is written.")
@click.option("--shape", help="ROWSxCODES, or MATRICESxROWSxCODES; not needed where the order has no padding and the tensor is a matrix.")
@click.option("--out", "-o", required=True, type=OutputPath(path_type=Path, dir_okay=False), help="The new file; other tensors are copied.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common_options
def convert(source: Path, tensor: tuple[str, ...], given: str, wanted: str, shape: str | None, out: Path, force: bool) -> None:
    """Bring tensors of codes in FILE from one layout to another: the same codes at other places.

    Without padding and words a written tensor is [.., ROWS, units of a row], else its units in a line. Padding is written as 0.
    """
    from emu.base.errors import FileError
    from emu.files import open_tensors, tensor_writer
    from emu.ops.layout import layout_named

    first, second = layout_named(given), layout_named(wanted)
    if (first.facts.holds, first.facts.code_bits) != (second.facts.holds, second.facts.code_bits):
        told = " and ".join(f"{item.id} {item.facts.holds} of {item.facts.code_bits} bits" for item in (first, second))
        raise click.UsageError(f"{told}: no layout of the one is an order of the other")
    sides = None if shape is None else _shape(shape)
    lines: list[dict[str, Any]] = []
    with open_tensors(source) as file:
        known = [info.name for info in file.tensors]
        names = tensor or tuple(known)
        if not tensor and len(known) != 1:
            raise click.UsageError(f"{source} holds {len(known)} tensors: say which with --tensor")
        missing = [name for name in names if name not in known]
        if missing:
            raise FileError(f"{source}: no tensor {missing[0]!r}: it holds {', '.join(known[:5])}{' ...' if len(known) > 5 else ''}")
        with tensor_writer(out, force, _metadata(source)) as writer:
            for name in known:
                array = file.read(name)
                if name in names:
                    where = f"{source}{f', tensor {name}' if name else ''}"
                    array, line = _laid(array, first, second, sides, where)
                    lines.append({"tensor": name, **line})
                writer.put(name, array)
    if settings_of().json:
        print_json({"out": str(out), "from": first.id, "to": second.id, "tensors": lines})
    for line in lines:
        lost = f"; {line['padding']} codes in the padding were not 0 and are left out" if line["padding"] else ""
        note(f"{out}: {line['tensor'] or 'array'}: {' x '.join(map(str, line['shape']))} codes from {first.id} to {second.id}{lost}")


def _metadata(source: Path) -> dict[str, str]:
    """Return the metadata of a .safetensors file, which its copy keeps."""
    if source.suffix != ".safetensors":
        return {}
    from safetensors import safe_open

    with safe_open(str(source), framework="numpy") as file:
        return dict(file.metadata() or {})


def _laid(array: Any, first: Any, second: Any, sides: tuple[int, ...] | None, where: str) -> tuple[Any, dict[str, Any]]:
    """Return one tensor in the other order, and a line about it. Raises: FileError (codes or sides that do not fit)."""
    from emu.base.errors import EmuError, FileError
    from emu.ops.layout import from_layout, padding, to_layout, units, word_dtype

    unit = word_dtype(first)
    if array.dtype.itemsize != unit.itemsize:
        raise FileError(f"{where}: elements of {array.dtype.itemsize * 8} bits, but {first.id} lies in units of {unit.itemsize * 8} bits")
    raw = np.ascontiguousarray(array).view(f"u{unit.itemsize}")
    if sides is None:
        per = (first.facts.word_bits or 8) // first.facts.code_bits
        if raw.ndim < 2 or raw.size == 0 or units(raw.shape[-2], raw.shape[-1] * per, first) != raw.shape[-2] * raw.shape[-1]:
            raise FileError(f"{where}: its sides, {list(raw.shape)}, do not say how many codes it holds without padding: give --shape")
        sides = (*raw.shape[:-1], raw.shape[-1] * per)
    *lead, rows, codes = sides
    try:
        size = units(rows, codes, first)
        if raw.size != int(np.prod(lead, dtype=np.int64)) * size:
            many = f"{int(np.prod(lead))} x " if lead else ""
            raise FileError(
                f"{where}: {raw.size} units, but {many}{rows} x {codes} codes in {first.id} take {many}{size}: give the right --shape"
            )
        memory = raw.reshape(*lead, size)
        lost = padding(memory, first, rows, codes)
        found = to_layout(from_layout(memory, first, rows, codes), second)
    except FileError:
        raise
    except EmuError as error:
        raise FileError(f"{where}: {error}") from None
    if found.size == int(np.prod(lead, dtype=np.int64)) * rows * codes * second.facts.code_bits // (8 * found.dtype.itemsize):
        found = found.reshape(*lead, rows, -1) if found.shape[-1] % rows == 0 else found
    if found.dtype.itemsize == array.dtype.itemsize:
        found = found.view(array.dtype)
    return found, {"shape": list(sides), "padding": lost}
