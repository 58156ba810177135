"""emu rtl prove: a design against a golden function, for all inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from emu.cli.settings import InputPath, OutputPath, common_options, note, print_json, say, say_error, settings_of

if TYPE_CHECKING:
    from emu.contracts.rows import Row
    from emu.rtl.export.functions import Golden
    from emu.rtl.export.prove import Proof

DIFFERS, NOTHING = 1, 3


@click.command("prove")
@click.argument("contract", required=False)
@click.argument("files", nargs=-1, type=InputPath(path_type=Path, dir_okay=False))
@click.option(
    "--map", "map_file", type=InputPath(path_type=Path, dir_okay=False), help="Port map of a design, in the place of FILES: over time."
)
@click.option("--rows", type=click.IntRange(1, 16), help="With --map: rows after the reset.  [default: 2; 4 with ready ports]")
@click.option("--cycles", type=click.IntRange(1, 1024), help="With --map: clock cycles that an answer may take.  [default: 16]")
@click.option("--source", help="Source of a conversion: fp32, bf16 or fp16.  [default: fp32]")
@click.option("--define", "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro for the files; repeatable.")
@click.option("--out", "-o", type=OutputPath(path_type=Path, dir_okay=False), help="New .tv file for the row of a counterexample.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--seconds", default=120, show_default=True, type=click.IntRange(1), help="Processor time for each program.")
@click.option("--solver", default="abc", show_default=True, type=click.Choice(["abc", "z3"]), help="Who decides.")
@click.option("--lemmas", is_flag=True, help="A sum of products lane by lane: for adders of any shape.")
@common_options
def command(
    contract: str | None,
    files: tuple[Path, ...],
    map_file: Path | None,
    rows: int | None,
    cycles: int | None,
    source: str | None,
    defines: tuple[str, ...],
    out: Path | None,
    force: bool,
    seconds: int,
    solver: Literal["abc", "z3"],
    lemmas: bool,
) -> int:
    """Prove that module `dut` in FILES is the golden function of CONTRACT, or find an input where it is not.

    Ports as in the bench kit: the columns of the suite; clk, rst, in_valid and out_valid may be there. A clocked design whose registers do
    not feed themselves is proven as a function; its timing is not. Needs yosys, and z3 for --solver z3.

    With --map FILE the design is the one of a port map, with its own ports, clock, reset and handshake, and what is proven is what happens
    after a reset: the answers to some rows, in order, and that each comes. CONTRACT left out is the map's.

    Exit code: 0 proven, 1 a counterexample, an answer that does not come, or an output that the map leaves out without a reason, 2 misuse
    or a bad file, 3 no answer in the time, 5 a tool is missing.
    """
    from emu.base.errors import OperandError
    from emu.rtl.export import functions as export

    if map_file is not None:
        if files or defines or lemmas or solver != "abc":
            raise OperandError(
                "--map names the files and macros of the design, and abc decides: leave FILES, -D, --lemmas and --solver out"
            )
        return _over_time(map_file, contract, source, (rows, cycles, seconds), out, force)
    if contract is None or not files:
        raise click.UsageError("name CONTRACT and FILES, or --map FILE")
    for given, why in (
        (rows is not None or cycles is not None, "--rows and --cycles go with --map"),
        (lemmas and solver == "z3", "--lemmas is decided by abc: leave --solver out"),
    ):
        if given:
            raise OperandError(why)
    return _one_function(export.golden(contract, source), files, defines, (seconds, solver, lemmas), out, force)


def _one_function(
    item: Golden,
    files: tuple[Path, ...],
    defines: tuple[str, ...],
    how: tuple[int, Literal["abc", "z3"], bool],
    out: Path | None,
    force: bool,
) -> int:
    """Prove module `dut` as a function of one row."""
    from emu.base.atomic import write_text
    from emu.rtl.export.prove import mismatches_of, prove, render_mem, render_tv
    from emu.rtl.portmap.file import reads_design

    reads_design(files)
    proof = prove(item, files, defines, *how)
    line = "" if proof.row is None else render_mem(item, proof.row)
    seen = mismatches_of(item, proof)
    if settings_of().json:
        told = {"golden": item.name, "result": proof.kind, "clocked": proof.clocked, "why": proof.why, "row": line}
        print_json({**told, "simulator": proof.simulator, "got": proof.got, "mismatch": seen, **_lemmas(proof)})
    else:
        say(f"{proof.kind.upper()} {item.name}" + (f": {proof.why}" if proof.why else ""), *([line] if line else []), *seen)
    if proof.kind == "proven" and proof.lemmas is not None:
        note(f"by {proof.lemmas.proven} lemmas, one for each lane and one for all lanes 0")
    if proof.kind == "counterexample":
        note(_replayed(proof.simulator, proof.got, ": the design gives no answer"))
    if proof.row is not None:
        _see(item, proof.row, seen)
    if proof.clocked:
        note("registers were taken as wires: the function was judged, not the timing")
    if proof.row is not None and out is not None:
        write_text(out, render_tv(item, [proof.row]), force)
    return {"proven": 0, "counterexample": DIFFERS, "unknown": NOTHING}[proof.kind]


def _see(item: Golden, row: Row, mismatches: list[str]) -> None:
    """Say how the page of the explorer shows a row. mismatches: lines of the row's replay."""
    from emu.contracts.rows import inputs_of
    from emu.explain.link import lines_of_sum, lines_of_values
    from emu.rtl.export.functions import Products, Sums
    from emu.rtl.mismatch.lines import parse_log

    operation, values = item.operation, inputs_of(item.layout, row)
    if isinstance(operation, Sums):  # no contract's row
        told = lines_of_sum(operation.a, operation.b, *operation.elements(values))
    else:
        lane = parse_log(mismatches).mismatches()[0].lane(item.layout) if mismatches else 0
        told = lines_of_values(operation.contract if isinstance(operation, Products) else operation, values, lane)
    for line in told:
        note(f"emu: {line}")


def _lemmas(proof: Proof) -> dict[str, object]:
    return {} if proof.lemmas is None else {"lemmas": proof.lemmas.proven, "lemmas_sha256": proof.lemmas.sha256}


def _replayed(simulator: str, got: dict[str, str] | None, nothing: str) -> str:
    """Return what a simulator made of a counterexample. nothing: the words where the design gave no value."""
    if simulator.startswith("("):
        return f"not replayed: {simulator[1:-1]}"
    return f"replayed in {simulator}" + (
        ": the design gives " + ", ".join(f"{name} = {text}" for name, text in got.items()) if got else nothing
    )


def _over_time(
    path: Path, contract: str | None, source: str | None, limits: tuple[int | None, int | None, int], out: Path | None, force: bool
) -> int:
    """Prove the design of a port map."""
    from emu.base.atomic import write_text
    from emu.base.errors import SpecError
    from emu.rtl.export import functions as export
    from emu.rtl.export.prove import render_mem, render_tv
    from emu.rtl.export.sequence import layout_of_contract, mismatches_of, prove_map
    from emu.rtl.portmap.file import load_map
    from emu.rtl.portmap.rows import left_out

    file = load_map(path)
    if contract is None and file.map.contract is None:
        raise SpecError(f"{path}: the map names a suite: say the contract before --map")
    item = export.golden(contract or file.map.contract or "", source or (file.map.source if contract is None else None))
    proof = prove_map(item, file, *limits)
    lines = [render_mem(item, row) for row in proof.rows]
    seen = mismatches_of(item, proof)
    scope = proof.scope
    left = left_out(file.map, layout_of_contract(item))
    if settings_of().json:
        told = {"golden": item.name, "result": proof.kind, "why": proof.why, "fault": proof.fault, "rows": lines, "leftOut": left}
        print_json({**told, "scope": scope.data(), "simulator": proof.simulator, "got": proof.got, "mismatch": seen})
    else:
        names = ", ".join(f"{name} ({why})" if why else name for name, why in left.items())
        head = f"{proof.kind.upper()} {item.name}" + (f" without {names}" if left else "")
        say(*[head + (f": {proof.why or proof.fault}" if proof.why or proof.fault else ""), *lines, *seen])
    note(scope.words())
    if proof.rows:
        note(_replayed(proof.simulator, proof.got, ""))
        _see(item, proof.rows[-1], seen)
        if out is not None:
            write_text(out, render_tv(item, proof.rows), force)
    if proof.kind == "proven" and not all(left.values()):
        names = ", ".join(name for name, why in left.items() if not why)
        say_error(f"{path}: {names}: the contract has it and nothing is proven of it: wire it, or name it under `waived`")
        return DIFFERS
    return {"proven": 0, "counterexample": DIFFERS, "silent": DIFFERS, "unknown": NOTHING}[proof.kind]
