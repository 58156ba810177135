"""emu explain: how a result came about, stage by stage."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.base.errors import EmuError, FileError, OperandError
from emu.base.in_use import reads
from emu.base.inputs import check_regular
from emu.cli.explain import FREE, free_options
from emu.cli.settings import InputPath, OutputPath, common_options, note, show

if TYPE_CHECKING:
    from emu.contracts.dot.rows import DotRow
    from emu.contracts.levels.rows import LevelsRow
    from emu.spec.datapath import DatapathPlan
    from emu.spec.levels import LevelsPlan

MOST_BYTES = 1 << 28  # of a log


@click.group("explain")
def command() -> None:
    """Explain a result: every stage of a dot product, with the bits that each term lost; why a design under test differs."""


@command.command("dot")
@click.argument("datapath", required=False)
@click.option("--a", "a", metavar="HEX", help="Element codes of A, element 0 first.")
@click.option("--b", "b", metavar="HEX", help="Element codes of B.")
@click.option("--sa", metavar="HEX", help="Scale codes of A, block 0 first; left out: all 1.")
@click.option("--sb", metavar="HEX", help="Scale codes of B; left out: all 1.")
@click.option("--c", "c", metavar="HEX", help="Code of C; left out: +0.")
@click.option("--words", metavar="HEX,...", help="Random words of a datapath of levels, in the order in which it draws; left out: 0.")
@free_options
@click.option("--suite", type=InputPath(path_type=Path), help="A golden suite of dot products: one of its files, or folder/stem.")
@click.option("--tc", type=click.IntRange(1), help="tcId of the row of --suite.")
@click.option("--random", "key", metavar="KEY", type=click.IntRange(0, (1 << 64) - 1), help="A random row, drawn with this key.")
@click.option("--category", default="uniform_bits", show_default=True, metavar="NAME", help="Kind of random row.")
@click.option("--vcd", type=OutputPath(path_type=Path), help="Write the golden stages to this VCD file too.")
@click.option("--force", is_flag=True, help="Replace an existing VCD file.")
@common_options
def dot_command(
    datapath: str | None,
    a: str | None,
    b: str | None,
    sa: str | None,
    sb: str | None,
    c: str | None,
    words: str | None,
    suite: Path | None,
    tc: int | None,
    key: int | None,
    category: str,
    vcd: Path | None,
    force: bool,
    **free: Any,
) -> None:
    """Explain one dot product of DATAPATH: an id, or id/e1m2xe1m2/ue4m3/16 where it leaves choices.

    The row comes from --a and --b, from --suite and --tc, or from --random. Longer K is a chain of instructions.
    """
    from emu.base.atomic import write_text
    from emu.contracts.dot.trace import explain_dot, vcd_text
    from emu.contracts.dot.trace_text import lines_of
    from emu.explain.link import of_dot

    given = (a, b, sa, sb, c)
    told = _levels(datapath, tuple(map(free.get, FREE)), (*given, words), (suite, tc), (key, category))
    if told is not None:
        from emu.contracts.levels.trace import explain_levels, vcd_levels
        from emu.contracts.levels.trace import lines_of as level_lines

        found = explain_levels(*told)
        if vcd is not None:
            write_text(vcd, vcd_levels(*told), force)
            note(f"{vcd}: golden stages of {len(found['levels'])} level{'s' if len(found['levels']) > 1 else ''}")
        show(found, level_lines(found))
        _see(of_dot(*told))
        return
    if words is not None:
        raise OperandError("explain dot: --words are of a datapath of levels")
    row, plan = _row(datapath, tuple(map(free.get, FREE)), given, (suite, tc), (key, category))
    trace = explain_dot(row, plan)
    if vcd is not None:
        write_text(vcd, vcd_text(row, plan), force)
        note(f"{vcd}: golden stages of {len(trace['steps'])} fused step{'s' if len(trace['steps']) > 1 else ''}")
    show(trace, lines_of(trace))
    _see(of_dot(row, plan))


def _see(made: str | None) -> None:
    """Say how the page of the explorer shows a row."""
    from emu.explain.link import see

    for line in see(made):
        note(line)


def _levels(
    datapath: str | None,
    choices: tuple[Any, ...],
    given: tuple[str | None, ...],
    suite: tuple[Path | None, int | None],
    random: tuple[int | None, str],
) -> tuple[LevelsRow, LevelsPlan] | None:
    """Return the row and plan of a datapath of levels; None where another is named. Raises: OperandError (a row named in several ways)."""
    from emu.contracts.levels.rows import in_levels, plan_of, row_of
    from emu.explain.dot.suite import levels_row, levels_samples

    if suite[0] is not None and suite[1] is not None and datapath is None:
        return levels_row(suite[0], suite[1])
    if datapath is None or not in_levels(datapath):
        return None
    a, b, *others = given
    if (random[0] is not None) == (a is not None or b is not None) or suite != (None, None):
        raise OperandError("explain dot: name the row in one way: --a and --b, --suite with --tc, or --random")
    plan = plan_of(datapath, *choices)
    if random[0] is not None:
        return levels_samples(plan, random[1], random[0], 1)[0], plan
    if a is None or b is None:
        raise OperandError("explain dot: --a and --b belong together")
    return row_of(plan, a, b, *others), plan


def _row(
    datapath: str | None,
    choices: tuple[Any, ...],
    given: tuple[str | None, ...],
    suite: tuple[Path | None, int | None],
    random: tuple[int | None, str],
) -> tuple[DotRow, DatapathPlan]:
    """Return the row and plan that the options name. Raises: OperandError (none or several ways to name it)."""
    from emu.contracts.dot.rows import plan_of, row_of
    from emu.explain.dot.suite import samples, suite_row

    ways = [any(item is not None for item in given), suite != (None, None), random[0] is not None]
    if sum(ways) != 1:
        raise OperandError("explain dot: name the row in one way: --a and --b, --suite with --tc, or --random")
    if ways[1]:
        if suite[0] is None or suite[1] is None or datapath is not None or any(item is not None for item in choices):
            raise OperandError("explain dot: --suite and --tc belong together; the suite names the datapath and its operands")
        return suite_row(suite[0], suite[1])
    if datapath is None:
        raise OperandError("explain dot: name the datapath: `emu list datapaths`")
    a, b, sa, sb, c = given
    if a is not None and b is not None and choices[3] is None and sa is not None:
        choices = (*choices[:3], _block_of(datapath, choices, given))
    plan = plan_of(datapath, *choices)
    if random[0] is not None:
        found = next(samples(plan, random[1], random[0], 1), None)
        if found is None:
            raise OperandError(f"explain dot: category {random[1]} has no rows for {plan.name}")
        return found, plan
    if a is None or b is None:
        raise OperandError("explain dot: --a and --b belong together")
    return row_of(plan, a, b, sa, sb, c), plan


def _block_of(datapath: str, choices: tuple[Any, ...], given: tuple[str | None, ...]) -> int | None:
    """Return the only block size under which the scales fit the elements, where the datapath takes several; else None."""
    from emu.contracts.dot.rows import plan_of, row_of
    from emu.spec import get
    from emu.spec.datapath import known_facts

    model = get("datapath", datapath.partition("/")[0])
    blocks = known_facts(model).scale.blocks
    if len(blocks) < 2 or datapath.rpartition("/")[2].isdigit():
        return None
    a, b, sa, sb, c = given
    assert a is not None and b is not None
    for block in blocks:
        with suppress(EmuError):
            row = row_of(plan_of(datapath, *(*choices[:3], block)), a, b, sa, sb, c)
            if len(row.scale_a) * block == len(row.a):
                return block
    return None


@command.command("mismatch")
@click.argument("what", metavar="LINE|FILE")
@click.option("--suite", metavar="STEM", help="Which suite of a log; left out: the one with the most rows that differ.")
@click.option("--tc", type=click.IntRange(1), help="Which row; left out: the first that differs.")
@click.option("--vectors", type=InputPath(path_type=Path), metavar="DIR", help="Golden vectors to read; left out: rows are computed.")
@click.option("--vcd", type=OutputPath(path_type=Path), help="Write the golden stages of the row to this VCD file too.")
@click.option("--force", is_flag=True, help="Replace an existing VCD file.")
@common_options
def mismatch_command(what: str, suite: str | None, tc: int | None, vectors: Path | None, vcd: Path | None, force: bool) -> None:
    """Explain a MISMATCH line (in quotes) or a log FILE (- for stdin) of the bench kit: `exact`'s trace of the row, the first wrong
    stage, and which single deviations explain what the design gave, with the number of rows on which each holds.
    """  # fmt: skip
    from emu.base.atomic import write_text
    from emu.rtl.mismatch.explain import explain_mismatch, lines_of, vcd_of
    from emu.rtl.mismatch.lines import parse_log

    log = parse_log(*_text(what))
    found = explain_mismatch(log, vectors, suite, tc)
    if vcd is not None:
        text = vcd_of(log, vectors, found["suite"], found["tc"])
        write_text(vcd, text, force)
        note(f"{vcd}: tc={found['tc']} of {found['suite']}")
    show(found, lines_of(found))
    for line in found["see"]:
        note(line)


def _text(what: str) -> tuple[list[str], str]:
    """Return the lines and their name. Raises: FileError (neither a line nor a readable file)."""
    if "MISMATCH suite=" in what or "ROW suite=" in what:
        return what.splitlines(), "line"
    if what == "-":
        reads("/dev/stdin")
        return sys.stdin.read(MOST_BYTES).splitlines(), "stdin"
    path = Path(what)
    try:
        check_regular(path)
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        if what.startswith("MISMATCH"):
            raise FileError(
                f"{what[:60]}: a line is MISMATCH suite=STEM tc=ROW out=COLUMN in=HEX want=HEX got=HEX mask=HEX, in quotes"
            ) from None
        raise FileError(f"{what}: {error.strerror}: give a MISMATCH line in quotes, or a log file") from None
    if len(data) > MOST_BYTES:
        raise FileError(f"{what}: more than {MOST_BYTES >> 20} MB: cut it down to the MISMATCH, ROW and RESULT lines")
    return data.decode("utf-8", "replace").splitlines(), path.name
