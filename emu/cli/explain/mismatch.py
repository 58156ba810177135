"""emu explain mismatch: a MISMATCH line or a log of the bench kit, beside the reference model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from emu.base.errors import FileError
from emu.cli.settings import common_options, note, print_json, settings_of

MOST_BYTES = 1 << 28


@click.command("mismatch")
@click.argument("what", metavar="LINE|FILE")
@click.option("--suite", metavar="STEM", help="Which suite of a log; left out: the one with the most rows that differ.")
@click.option("--tc", type=click.IntRange(1), help="Which row; left out: the first that differs.")
@click.option("--vectors", type=click.Path(path_type=Path), metavar="DIR", help="Golden vectors to read; left out: rows are computed.")
@click.option("--vcd", type=click.Path(path_type=Path), help="Write the golden stages of the row to this VCD file too.")
@click.option("--force", is_flag=True, help="Replace an existing VCD file.")
@common_options
def mismatch_command(what: str, suite: str | None, tc: int | None, vectors: Path | None, vcd: Path | None, force: bool) -> None:
    """Explain a MISMATCH line (in quotes) or a log FILE (- for stdin) of the bench kit: `exact`'s trace of the row, the first wrong
    stage, and which single deviations explain what the design gave, with the number of rows on which each holds.
    """  # fmt: skip
    from emu.base.atomic import check_target, whole_file
    from emu.rtl.mismatch.explain import explain_mismatch, lines_of, vcd_of
    from emu.rtl.mismatch.lines import parse_log

    if vcd is not None:
        check_target(vcd, force)
    log = parse_log(*_text(what))
    found = explain_mismatch(log, vectors, suite, tc)
    if vcd is not None:
        text = vcd_of(log, vectors, found["suite"], found["tc"])
        with whole_file(vcd, force) as stream:
            stream.write(text.encode("ascii"))
        note(f"{vcd}: tc={found['tc']} of {found['suite']}")
    if settings_of().json:
        print_json(found)
    else:
        click.echo("\n".join(lines_of(found)))


def _text(what: str) -> tuple[list[str], str]:
    """Return the lines and their name. Raises: FileError (neither a line nor a readable file)."""
    if "MISMATCH suite=" in what or "ROW suite=" in what:
        return what.splitlines(), "line"
    if what == "-":
        return sys.stdin.read(MOST_BYTES).splitlines(), "stdin"
    path = Path(what)
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise FileError(f"{what}: {error.strerror}: give a MISMATCH line in quotes, or a log file") from None
    if len(data) > MOST_BYTES:
        raise FileError(f"{what}: more than {MOST_BYTES >> 20} MB: cut it down to the MISMATCH, ROW and RESULT lines")
    return data.decode("utf-8", "replace").splitlines(), path.name
