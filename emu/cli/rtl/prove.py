"""emu rtl prove: a design against a golden function, for all inputs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from emu.cli.settings import common_options, note, print_json, settings_of

if TYPE_CHECKING:
    from emu.rtl.export.prove import Proof

DIFFERS, NOTHING = 1, 3


@click.command("prove")
@click.argument("contract")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--source", help="Source of a conversion: fp32, bf16 or fp16.  [default: fp32]")
@click.option("--define", "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro for the files; repeatable.")
@click.option("--out", "-o", type=click.Path(path_type=Path, dir_okay=False), help="New .tv file for the row of a counterexample.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--seconds", default=120, show_default=True, type=click.IntRange(1), help="Processor time for each program.")
@click.option("--solver", default="abc", show_default=True, type=click.Choice(["abc", "z3"]), help="Who decides.")
@common_options
def command(
    contract: str,
    files: tuple[Path, ...],
    source: str | None,
    defines: tuple[str, ...],
    out: Path | None,
    force: bool,
    seconds: int,
    solver: Literal["abc", "z3"],
) -> int:
    """Prove that module `dut` in FILES is the golden function of CONTRACT, or find an input where it is not.

    Ports as in the bench kit: the columns of the suite; clk, rst, in_valid and out_valid may be there. A clocked design whose registers do
    not feed themselves is proven as a function; its timing is not. Needs yosys, and z3 for --solver z3.
    Exit code: 0 proven, 1 a counterexample, 2 misuse or a bad file, 3 no answer in the time, 5 a tool is missing.
    """
    from emu.base.atomic import check_target, write_text
    from emu.rtl.export import functions as export
    from emu.rtl.export.prove import mismatches_of, prove, render_mem, render_tv

    if out is not None:
        check_target(out, force)
    item = export.golden(contract, source)
    proof = prove(item, files, defines, seconds, solver)
    line = "" if proof.row is None else render_mem(item, proof.row)
    seen = mismatches_of(item, proof)
    if settings_of().json:
        told = {"golden": item.name, "result": proof.kind, "clocked": proof.clocked, "why": proof.why, "row": line}
        print_json({**told, "simulator": proof.simulator, "got": proof.got, "mismatch": seen})
    else:
        click.echo(f"{proof.kind.upper()} {item.name}" + (f": {proof.why}" if proof.why else "") + (f"\n{line}" if line else ""))
        for text in seen:
            click.echo(text)
    if proof.kind == "counterexample":
        note(_replayed(proof))
    if proof.clocked:
        note("registers were taken as wires: the function was judged, not the timing")
    if proof.row is not None and out is not None:
        write_text(out, render_tv(item, proof.row), force)
    return {"proven": 0, "counterexample": DIFFERS, "unknown": NOTHING}[proof.kind]


def _replayed(proof: Proof) -> str:
    if proof.simulator.startswith("("):
        return f"not replayed: {proof.simulator[1:-1]}"
    if proof.got is None:
        return f"replayed in {proof.simulator}: the design gives no answer"
    return f"replayed in {proof.simulator}: the design gives " + ", ".join(f"{name} = {text}" for name, text in proof.got.items())
