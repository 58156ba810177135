"""emu rtl run: a design on the bench kit, by its port map; emu rtl wrap: the wrapper of a port map."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from emu.base.text import in_shell
from emu.cli.settings import (
    InputPath,
    OutputPath,
    common_options,
    note,
    print_json,
    print_table,
    progress,
    say,
    say_error,
    say_text,
    settings_of,
)

if TYPE_CHECKING:
    from emu.rtl.simulate.run import Report, SuiteRun
    from emu.rtl.simulate.simulator import Simulator

HEADER = ("suite", "simulator", "rows", "compared", "unsupported", "open", "mismatch", "x", "ways", "verdict")
MOST_SEEN = 16  # rows with a link
WORDS = {0: "pass", 1: "FAIL", 2: "BAD", 3: "NOTHING COMPARED", 4: "X"}


@click.command("run")
@click.argument("map_file", metavar="MAP", type=InputPath(path_type=Path))
@click.option("--suite", "suites", multiple=True, metavar="NAME", help="A stem, or smoke, directed, kill, all, random; repeatable.")
@click.option("--contract", metavar="NAME", help="Judge by this contract in the place of the map's.")
@click.option("--vectors", type=InputPath(path_type=Path), metavar="DIR", help="Golden vectors to use; left out: built from the spec.")
@click.option("--sim", "simulator", default=None, type=click.Choice(["icarus", "verilator", "all"]), help="Left out: the first there is.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(1, (1 << 31) - 1), help="Of the random gaps between rows.")
@click.option("--allow-partial", is_flag=True, help="Pass although rows are left out without a reason; columns need one.")
@click.option(
    "--keep", type=OutputPath("folder", path_type=Path), metavar="DIR", help="New folder that keeps wrapper, suites and compiled benches."
)
@click.option("--log", type=OutputPath(path_type=Path), metavar="FILE", help="New file for all MISMATCH, ROW and RESULT lines.")
@common_options
def command(
    map_file: Path,
    suites: tuple[str, ...],
    contract: str | None,
    vectors: Path | None,
    simulator: str | None,
    seed: int,
    allow_partial: bool,
    keep: Path | None,
    log: Path | None,
) -> int:
    """Compile and run the design of the port map MAP (YAML) against golden vectors, with self-test, gaps and resets.

    Rows that the map leaves out are counted apart. Where one of them has no reason (`why` of a waiver) the verdict is partial; so it is
    where the run does not compare an output column or flag of the contract, and the map does not waive it by name.

    Exit code: 0 every suite passed, 1 a result differs or never comes, or a verdict is partial, 2 a bad file, a design that does not
    compile or a waiver that matches no row, 3 nothing was compared, 4 X or Z, 5 no simulator.
    """
    from emu.base.atomic import temporary_folder, whole_file
    from emu.rtl.portmap.file import load_map
    from emu.rtl.portmap.suite import plans_for
    from emu.rtl.simulate.run import run_map

    file = load_map(map_file)
    simulators = _simulators(simulator)
    plans = plans_for(file.map, suites, contract)
    with ExitStack() as stack:
        if keep is None:
            work = stack.enter_context(temporary_folder("rtl"))
        else:
            keep.mkdir()
            work = keep.resolve()
        bar = stack.enter_context(progress())
        task = bar.add_task("run", total=None)
        rows = log is not None
        told = lambda text: bar.update(task, description=text)  # noqa: E731
        report = run_map(file, plans, simulators, work, vectors, seed, rows, told, allow_partial)
    if log is not None:
        with whole_file(log) as stream:
            stream.write("".join(f"{line}\n" for item in report.runs for line in item.lines).encode("ascii", "replace"))
    _show(report, log)
    return report.exit_code


def _simulators(name: str | None) -> list[Simulator]:
    """Return the simulators to run. Raises: ToolError where none, or not the named one, is there."""
    from emu.base.errors import ToolError
    from emu.rtl.simulate.simulator import NAMES, find

    if name != "all":
        return [find(name)]
    found = []
    for item in NAMES:
        try:
            found.append(find(item))
        except ToolError as error:
            note(f"emu: {error}")
    return found or [find(None)]


def _show(report: Report, log: Path | None) -> None:
    if settings_of().json:
        print_json(_data(report))
    else:
        say(f"{report.map.map.module} against {report.contract}{_left_out(report)}")
        print_table([_cells(report, item) for item in report.runs], HEADER, right=HEADER[2:8])
        for item in report.runs:
            for text in _remarks(item):
                say(f"{item.suite}: {text}")
        hidden = ("ROW ", "LEFTOUT ", "DESIGN ")
        for line in dict.fromkeys(line for item in report.runs for line in item.lines if not line.startswith(hidden)):
            say(line)
    for item in report.runs:
        if item.exit_code:
            say_error(f"{item.suite}, {item.simulator}: {item.why}")
            if item.hint:
                say_error(f"{item.suite}: {item.hint}")
        elif report.is_partial(item) and item.derived.unwaived and not report.allow_partial:
            left = f"{item.derived.unwaived} rows are left out without a reason"
            say_error(f"{item.suite}, {item.simulator}: {left}: give each entry of `unsupported` a `why`, or say --allow-partial")
    silent = [name for name, why in report.left_out.items() if not why]
    if silent:
        names = ", ".join(silent)
        say_error(f"{report.map.path}: {names}: the contract has it and the run does not compare it: wire it, or name it under `waived`")
    if any(item.exit_code == 1 for item in report.runs):
        note(f"emu: why: emu explain mismatch {in_shell(log) if log else 'LINE (a MISMATCH line above, in quotes)'}")
        _see(report)


def _see(report: Report) -> None:
    """Say how the page of the explorer shows rows that differ."""
    from emu.explain.link import lines_of_values
    from emu.rtl.mismatch.lines import parse_log
    from emu.vectors.suites.plan import find

    lines = dict.fromkeys(line for item in report.runs for line in item.lines if line.startswith("MISMATCH "))
    if not lines:
        return
    without: set[tuple[str, str]] = set()
    for seen in parse_log(lines).mismatches()[:MOST_SEEN]:
        operation = find(seen.suite.partition(".s")[0]).operation
        (line,) = lines_of_values(operation, [int(text, 16) for text in seen.given], seen.lane(operation.layout))
        if (seen.suite, line) in without:
            continue  # said once of a suite
        without |= {(seen.suite, line)} if line.startswith("no link") else set()
        note(f"emu: {seen.suite} tc={seen.tc}: {line}")


def _left_out(report: Report) -> str:
    """Return what the first line says of columns and flags of the contract that are not compared: those without a reason first."""
    told = sorted(report.left_out.items(), key=lambda item: bool(item[1]))
    names = ", ".join(name + (f" ({why})" if why else "") for name, why in told)
    return f": {'partial' if told and not told[0][1] else 'not whole'}, {names} not compared" if told else ""


def _remarks(item: SuiteRun) -> list[str]:
    """Return what is said of a suite below the table."""
    derived = item.derived
    found = [f"{count} rows unsupported: {reason}" for reason, count in derived.unsupported.items()]
    found += [f"{derived.remade} rows made anew with the constants of the port map"] if derived.remade else []
    found += [f"latency found: {item.latency} clock edges"] if item.latency is not None else []
    stages = [name for name in derived.missing if name not in derived.left_out and name != "fl"]
    return found + ([f"stages not compared: {', '.join(stages)}"] if stages else [])


def _verdict(report: Report, item: SuiteRun) -> str:
    return "partial" if report.is_partial(item) else WORDS[item.exit_code]


def _cells(report: Report, item: SuiteRun) -> tuple[str, ...]:
    counts = [str(item.counts.get(name, "")) for name in ("compared", "mismatch", "x")]
    derived = item.derived
    left_out = str(sum(derived.unsupported.values()))
    ways = " ".join(item.modes)
    return (
        item.suite, item.simulator, str(len(derived.suite.rows)), counts[0], left_out, str(derived.open_rows), *counts[1:], ways,
        _verdict(report, item),
    )  # fmt: skip


def _data(report: Report) -> dict[str, Any]:
    def entry(item: SuiteRun) -> dict[str, Any]:
        derived = item.derived
        out: dict[str, Any] = {
            "latency": item.latency,
            "suite": item.suite,
            "simulator": item.simulator,
            "exitCode": item.exit_code,
            "why": item.why,
        }
        out |= {
            "verdict": _verdict(report, item),
            "hint": item.hint or None,
            "latency": item.latency,
            "rows": len(derived.suite.rows),
            "open": derived.open_rows,
        }
        out |= {"unsupported": derived.unsupported, "withoutReason": derived.unwaived, "remade": derived.remade, "ways": item.modes}
        return out | {"missing": list(derived.missing), "counts": item.counts, "lines": item.lines}

    head = {"map": report.map.path.name, "module": report.map.map.module, "contract": report.contract, "leftOut": report.left_out}
    return {**head, "exitCode": report.exit_code, "runs": [entry(item) for item in report.runs]}


@click.command("wrap")
@click.argument("map_file", metavar="MAP", type=InputPath(path_type=Path))
@click.option("--out", "-o", type=OutputPath(path_type=Path), help="File to write; left out: print.")
@click.option("--contract", metavar="NAME", help="Judge by this contract in the place of the map's.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@common_options
def wrap(map_file: Path, out: Path | None, contract: str | None, force: bool) -> None:
    """Print the module `dut` that puts the design of the port map MAP (YAML) on the bench kit."""
    from emu.base.atomic import write_text
    from emu.rtl.portmap.file import check_columns, load_map
    from emu.rtl.portmap.suite import plans_for
    from emu.rtl.portmap.wrapper import wrapper_text

    file = load_map(map_file)
    plan = plans_for(file.map, contract=contract)[0]
    check_columns(file, plan.operation.layout, plan.stem)
    text = wrapper_text(file.map, plan.operation.layout, map_file.name, contract or file.map.contract or plan.stem)
    if out is None:
        say_text(text)
        return
    write_text(out, text, force)
    note(f"{out}: module dut around {file.map.module}")
