"""emu explain: how a result came about, stage by stage."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from emu.base.errors import EmuError, OperandError
from emu.cli.explain.mismatch import mismatch_command
from emu.cli.settings import common_options, note, print_json, settings_of

if TYPE_CHECKING:
    from emu.contracts.dot.rows import DotRow
    from emu.spec.datapath import DatapathPlan


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
@click.option("--a-format", metavar="ID", help="Format of A, where the datapath leaves it free.")
@click.option("--b-format", metavar="ID", help="Format of B.")
@click.option("--scale-format", metavar="ID", help="Format of the scales.")
@click.option("--block", type=click.IntRange(1), help="Elements per scale.")
@click.option("--suite", type=click.Path(path_type=Path), help="A golden suite of dot products: one of its files, or folder/stem.")
@click.option("--tc", type=click.IntRange(1), help="tcId of the row of --suite.")
@click.option("--random", "key", metavar="KEY", type=click.IntRange(0, (1 << 64) - 1), help="A random row, drawn with this key.")
@click.option("--category", default="uniform_bits", show_default=True, metavar="NAME", help="Kind of random row.")
@click.option("--vcd", type=click.Path(path_type=Path), help="Write the golden stages to this VCD file too.")
@click.option("--force", is_flag=True, help="Replace an existing VCD file.")
@common_options
def dot_command(
    datapath: str | None,
    a: str | None,
    b: str | None,
    sa: str | None,
    sb: str | None,
    c: str | None,
    a_format: str | None,
    b_format: str | None,
    scale_format: str | None,
    block: int | None,
    suite: Path | None,
    tc: int | None,
    key: int | None,
    category: str,
    vcd: Path | None,
    force: bool,
) -> None:
    """Explain one dot product of DATAPATH: an id, or id/e1m2xe1m2/ue4m3/16 where it leaves choices.

    The row comes from --a and --b, from --suite and --tc, or from --random. Longer K is a chain of instructions.
    """
    from emu.base.atomic import check_target, whole_file
    from emu.contracts.dot.trace import explain_dot, vcd_text
    from emu.contracts.dot.trace_text import lines_of

    if vcd is not None:
        check_target(vcd, force)
    given = (a, b, sa, sb, c)
    row, plan = _row(datapath, (a_format, b_format, scale_format, block), given, (suite, tc), (key, category))
    trace = explain_dot(row, plan)
    if vcd is not None:
        with whole_file(vcd, force) as stream:
            stream.write(vcd_text(row, plan).encode("ascii"))
        note(f"{vcd}: golden stages of {len(trace['steps'])} fused step{'s' if len(trace['steps']) > 1 else ''}")
    if settings_of().json:
        print_json(trace)
    else:
        click.echo("\n".join(lines_of(trace)))


def _row(
    datapath: str | None,
    choices: tuple[str | None, str | None, str | None, int | None],
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


def _block_of(datapath: str, choices: tuple[str | None, str | None, str | None, int | None], given: tuple[str | None, ...]) -> int | None:
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
            row = row_of(plan_of(datapath, *choices[:3], block), a, b, sa, sb, c)
            if len(row.scale_a) * block == len(row.a):
                return block
    return None


command.add_command(mismatch_command)
