"""What the commands of emu study take and keep: drawn tensors and files, a record as JSON, a plot. No command of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from emu.analysis.plot import plot_kind
from emu.base.atomic import write_text
from emu.base.errors import EmuError, OperandError
from emu.cli.quantize import selected, shown
from emu.cli.settings import OutputPath, note, stacked
from emu.files import open_tensors, whole_file

Record = dict[str, Any]


kept_options = stacked(  # what is kept of a study
    click.option("--out", metavar="FILE", type=OutputPath(path_type=Path, dir_okay=False), help="Keep the record as JSON."),
    click.option("--plot", "plots", metavar="FILE", multiple=True, type=OutputPath(path_type=Path, dir_okay=False),
                 help="Save a plot (.png, .svg, .pdf); repeatable."),
    click.option("--force", is_flag=True, help="Replace files that exist."),
)  # fmt: skip


data_options = stacked(  # what is studied
    click.option("--data", "names", multiple=True, metavar="NAME|FILE",
                 help="gaussian, laplace, student_t3, lognormal_SIGMA, columns_SIGMA, or a file of tensors; repeatable."),
    click.option("--rows", default=1024, show_default=True, type=click.IntRange(1, 1 << 20), help="Of a drawn tensor."),
    click.option("--columns", default=1024, show_default=True, type=click.IntRange(1, 1 << 20), help="Of a drawn tensor; blocked."),
    click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of a drawn tensor."),
    click.option("--select", multiple=True, metavar="GLOB", help="Tensors of a file whose name matches; repeatable."),
    click.option("--signs", default="0xD7E8", show_default=True, help="Sign mask of the rotation."),
    click.option("--engine", default="auto", show_default=True, help="exact, numpy, c_ref, native, torch or auto: same figures."),
)  # fmt: skip


def tensors_of(names: Sequence[str], options: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, array) of drawn tensors and of the tensors of files. Raises: OperandError (neither), FileError."""
    from emu.analysis.drawn_tensors import drawn

    for name in names:
        if Path(name).suffix in (".npy", ".npz", ".safetensors") or Path(name).is_dir():
            yield from _stored(name, options["select"])
        else:
            yield name, drawn(name, (options["rows"], options["columns"]), options["seed"])


def _stored(path: str, select: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the tensors of a file that are matrices or stacks of them; others are named in a note."""
    with open_tensors(path) as file:
        for info in selected(file, select):
            if len(info.shape) < 2 or info.dtype not in ("float32", "float16", "bfloat16"):
                note(f"{path}: {shown(info.name)}left out: a matrix of fp32, fp16 or bf16 is studied")
                continue
            try:
                yield info.name or Path(path).stem, np.asarray(file.read(info.name))
            except EmuError as error:
                raise type(error)(f"{path}: {shown(info.name)}{error}") from None


def check_kept(options: dict[str, Any]) -> None:
    """Check the suffixes of --plot before any work. Raises: FileError."""
    for path in options["plots"]:
        plot_kind(path.suffix)


def keep(record: Record, options: dict[str, Any], draw: Callable[[Record, IO[bytes], str], None]) -> None:
    """Write what --out and --plot ask for, whole or not at all."""
    from emu.analysis.records import as_text

    out: Path | None = options["out"]
    if out is not None:
        write_text(out, as_text(record), options["force"])
        note(f"{out}: the record")
    for path in options["plots"]:
        with whole_file(path, options["force"]) as stream:
            draw(record, stream, plot_kind(path.suffix))
        note(f"{path}: the plot")


def command_line(options: dict[str, Any], command: str) -> Record:
    """Return the head of a record: the command, and the options that set its figures."""
    kept = {key: value for key, value in options.items() if key not in ("out", "plots", "force", "engine")}
    return {
        "command": command,
        "options": {key: list(value) if isinstance(value, tuple) else value for key, value in kept.items()},
    }


def text(value: Any, form: str, factor: float = 1) -> str:
    """Return a number of a table: - for none, inf as it is."""
    return "-" if value is None else value if isinstance(value, str) else format(value * factor, form)


def refuse_empty(rows: Sequence[Any], skipped: Sequence[Record]) -> None:
    """Refuse a study without a row. Raises: OperandError."""
    if not rows:
        reason = f": {skipped[0]['recipe']}: {skipped[0]['reason']}" if skipped else ""
        raise OperandError(f"nothing was measured{reason}")
