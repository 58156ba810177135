"""emu vectors cover: which bins of the coverage model rows reach; rows of golden files, of the user's own, or of a simulation log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.cli.settings import InputPath, OutputPath, common_options, note, print_json, print_table, say, say_error, settings_of

if TYPE_CHECKING:
    from emu.vectors.coverage.model import Cross
    from emu.vectors.coverage.read import Rows

HEADER = ("cross", "bins", "hit", "unreachable", "holes", "reached")
NOTHING = 3


@click.command("cover")
@click.argument("path", metavar="FILE|FOLDER", type=InputPath(path_type=Path))
@click.option(
    "--suite", "stem", metavar="STEM", help="The suite whose input columns the rows of a .tv file have, where its name does not say it."
)
@click.option("--merge", is_flag=True, help="Count the suites of one contract and source together.")
@click.option("--holes", is_flag=True, help="List every bin that is missed, with inputs that reach it where they are known.")
@click.option(
    "--out", "-o", type=OutputPath(path_type=Path), help="Write the counts as COVER.json (emu-cover-1); rows of one operation only."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@common_options
def command(path: Path, stem: str | None, merge: bool, holes: bool, out: Path | None, force: bool) -> int:
    """Count the bins of the coverage model that rows reach: of golden files, of your own .tv rows, of a bench's log (run it with +rows).

    A bin is hit, proved to be unreachable, or a hole. Coverage says what was driven, not that the answers were right.
    Exit code: 0 counted, 2 a bad or foreign file, 3 nothing was counted.
    """
    from emu.vectors.coverage.count import counted_as, crosses_of, model_of
    from emu.vectors.coverage.read import rows_of

    found = rows_of(path, stem)
    suites = {name: rows for name, rows in (_merged(found) if merge else found).items() if rows and model_of(counted_as(name))}
    if not suites:
        ops = sorted({name.split("__")[0] for name in found})
        say_error(f"{path}: nothing was counted: " + (f"no coverage model for {', '.join(ops)}" if ops else "no rows"))
        return NOTHING
    counted = {name: crosses_of(name, rows) for name, rows in suites.items()}
    if out is not None or settings_of().json:
        _records(suites, counted, out, force)
    if not settings_of().json:
        for name, crosses in counted.items():
            _print(name, len(suites[name]), crosses, holes)
    note(f"{path}: {sum(map(len, suites.values()))} rows of {len(suites)} suites counted")
    return 0


def _merged(found: dict[str, Rows]) -> dict[str, Rows]:
    """Return the rows of all suites of one contract under the name of the first; ids stay those of each suite."""
    out: dict[str, Rows] = {}
    heads: dict[str, str] = {}
    for name, rows in found.items():
        first = heads.setdefault(name.rpartition("__")[0], name)
        out.setdefault(first, []).extend(rows)
    return out


def _records(suites: dict[str, Rows], counted: dict[str, list[Cross]], out: Path | None, force: bool) -> None:
    """Write or print the record of each operation."""
    from emu.base.atomic import write_text
    from emu.base.errors import FileError
    from emu.vectors.coverage.count import counted_as, model_of
    from emu.vectors.coverage.record import record, render

    records: list[dict[str, Any]] = []
    for op in sorted({counted_as(name) for name in counted}):
        model = model_of(op)
        assert model is not None
        records.append(record(model, [(name, len(suites[name]), crosses) for name, crosses in counted.items() if counted_as(name) == op]))
    if out is not None:
        if len(records) > 1:
            raise FileError(f"{out}: rows of {len(records)} operations: name the folder of one")
        write_text(out, render(records[0]), force)
    if settings_of().json:
        print_json(records)


def _print(name: str, rows: int, crosses: list[Cross], holes: bool) -> None:
    table = [(cross.name, cross.size, len(cross.hits), len(cross.unreachable), len(cross.holes()), share(cross)) for cross in crosses]
    say(f"{name}: {rows} rows")
    print_table(table, HEADER, right=HEADER[1:])
    if holes:
        _print_holes(name, crosses)
    say("")


def _print_holes(name: str, crosses: list[Cross]) -> None:
    """List what is missed, with inputs that reach it where they are known."""
    from emu.vectors.coverage.count import examples
    from emu.vectors.suites.plan import find

    columns = find(name).operation.layout.inputs
    known = examples(name, crosses)
    for cross in crosses:
        for one in cross.holes():
            values = known.get((cross.name, one))
            given = " ".join(f"{column.name}={value:0{column.digits}x}" for column, value in zip(columns, values or (), strict=False))
            say(f"  {cross.name}: {' '.join(one)}: " + (f"try {given}" if given else "neither reached nor proved to be out of reach"))


def share(cross: Cross) -> str:
    """Return the part of the bins that can be reached, or may be, that is hit: percent, one digit, rounded down."""
    open_bins = cross.size - len(cross.unreachable)
    whole, tenth = divmod(1000 * len(cross.hits) // open_bins, 10) if open_bins else (100, 0)
    return f"{whole}.{tenth}%"
