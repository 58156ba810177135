"""A user's module `dut` against a golden function: proven for all inputs, or an input where they differ, as a golden row.

A miter of both, decided by yosys' abc. The design may be clocked when no register feeds itself: registers are taken as wires, so that the
function is proven and not the timing. Unknown and undriven bits are free values: a design that needs one is not proven.

Two things keep the answer honest. Nothing is called proven before the solver has shown, for each result, an input that the same comparison
calls wrong once the lowest bit of that result is turned: a miter that compares nothing is found out. A counterexample is run on the design
itself in a simulator (replay): one that does not come back is an error of the proof, not of the design.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from emu.base.atomic import temporary_folder
from emu.base.errors import EngineError, FileError
from emu.base.templates import filled
from emu.contracts.rows import Input, Row, make_row
from emu.rtl.export import verilog as export_verilog
from emu.rtl.export.equivalence import AIGER, VACUOUS, Kind, Verdict, outputs_of, solve
from emu.rtl.export.functions import Golden, Sums
from emu.rtl.export.lemmas import Lemmas, halves_of, judge_lemmas, lemmas_text, product_of, sums_of
from emu.rtl.export.prove_z3 import DESIGN, solve_z3
from emu.rtl.export.prove_z3 import TOP as DESIGN_TOP
from emu.rtl.export.replay import FalseCounterexample, differ, replay
from emu.rtl.export.special import float_fields
from emu.rtl.export.yosys import ABC, YOSYS, find, freed, in_yosys, run_yosys
from emu.rtl.mismatch.golden_rows import mismatch_lines
from emu.vectors.files import writers

Solver = Literal["abc", "z3"]
TEMPLATE: Final = Path(__file__).with_name("prove.v.j2")
TOP: Final = "dut"
HANDSHAKE: Final = {"clk": "emu_clk", "rst": "1'b0", "in_valid": "1'b1"}  # a constant clock would drop the registers and what feeds them
GRAPH: Final = ("techmap", "setundef -undriven -anyseq", "opt_clean", "aigmap", f"write_aiger -symbols {AIGER}")
WORDS: Final = ("setundef -undriven -anyseq", "opt_clean", f"write_smt2 -wires {DESIGN}")
FLAG: Final = "counterexample"
_LOOP: Final = "registers feed themselves"
_PORTS: Final = "ports.json"
_WIRES: Final = """(* techmap_celltype = "$dff" *)
module emu_wire #(parameter WIDTH = 1, parameter CLK_POLARITY = 1) (input CLK, input [WIDTH-1:0] D, output [WIDTH-1:0] Q);
    assign Q = D;
endmodule
"""


class Proof(NamedTuple):
    """kind: proven, counterexample or unknown.   row: the golden row of a counterexample.   clocked: were registers taken as wires.

    lemmas: of a sum that was proven lane by lane.
    why: of an unknown.   got: result column -> hex text of what the design gave in simulation, x possible; None: it gave no answer, or
    nothing was simulated.   simulator: that ran it, or in brackets why none did.
    """

    kind: Kind
    row: Row | None
    clocked: bool
    why: str = ""
    got: dict[str, str] | None = None
    simulator: str = ""
    lemmas: Lemmas | None = None


def prove(
    item: Golden, files: Sequence[Path], defines: Sequence[str] = (), seconds: float = 120, solver: Solver = "abc", lemmas: bool = False
) -> Proof:
    """Compare a design with a golden function for all inputs at once.

    files: Verilog or SystemVerilog with a module `dut`, ports named as the columns; clk, rst, in_valid, out_valid may be there.
    defines: `NAME` or `NAME=value`.   seconds: processor time for each program.
    solver: abc on a miter of the golden Verilog; z3 on the golden SMT-LIB.   lemmas: a sum of products lane by lane, by abc.
    Raises: SpecError (lemmas about something else), ToolError (a program is absent), FileError (a file, a port or its width), EngineError
    (yosys refuses the design; a false counterexample, which the design does not show in simulation).
    Tests: tests/rtl/test_rtl_prove.py.
    """
    find(ABC if solver == "abc" else YOSYS)
    if lemmas:
        sums_of(item)
    for file in files:
        if not file.is_file():
            raise FileError(f"{file}: no such file")
    with temporary_folder("rtl") as work:
        clocked, verdict = False, Verdict("unknown", {})
        try:
            ports = _ports(item, files, defines, work, seconds)
            if lemmas:
                return _by_lemmas(item, files, defines, ports, work, seconds)
            clocked = _build(item, ports, solver, _reading(files, defines), work, seconds)
            verdict = _judged(work, seconds) if solver == "abc" else solve_z3(item, work, seconds)
        except TimeoutError as error:
            verdict = Verdict("unknown", {}, str(error))
        except EngineError as error:
            if "logic loop" not in str(error) and "SCC" not in str(error):
                raise
            verdict = Verdict("unknown", {}, f"{_LOOP}: only the function of one row can be proven")
    if verdict.kind != "counterexample":
        return Proof(verdict.kind, None, clocked, verdict.why)
    row = row_of(item, verdict.model)
    simulator, got = replay(item.layout, row, files, defines, ports)
    return Proof(verdict.kind, row, clocked, verdict.why, got, simulator)


def _by_lemmas(
    item: Golden, files: Sequence[Path], defines: Sequence[str], ports: Mapping[str, tuple[str, int]], work: Path, seconds: float
) -> Proof:
    """Prove a sum of products lane by lane. A lemma that fails is about two inputs: shown is one that the design fails."""
    (work / "golden.v").write_text(export_verilog.render(product_of(sums_of(item))), encoding="ascii")
    (work / "top.v").write_text(lemmas_text(item, TOP, _tied(ports), _answers(ports)), encoding="ascii")
    clocked = _netlist("emu_top", GRAPH, _reading(files, defines), work, seconds)
    verdict, number, found = judge_lemmas(work, seconds)
    if verdict.kind != "counterexample":
        return Proof(verdict.kind, None, clocked, verdict.why, lemmas=found)
    *others, last = halves_of(item, verdict.model, number)
    for model in others:
        try:
            simulator, got = replay(item.layout, row := row_of(item, model), files, defines, ports)
        except FalseCounterexample:
            continue
        return Proof("counterexample", row, clocked, "", got, simulator, found)
    simulator, got = replay(item.layout, row := row_of(item, last), files, defines, ports)
    return Proof("counterexample", row, clocked, "", got, simulator, found)


def _judged(work: Path, seconds: float) -> Verdict:
    """Ask whether `bad` is always 0; if so, whether every bit of `seen` can be 1."""
    outputs = outputs_of(work)
    verdict = solve(work, seconds, outputs["bad"])
    if verdict.kind != "proven":
        return verdict
    watched = [name for name in outputs if name != "bad"]
    assert watched
    for name in watched:
        seen = solve(work, seconds, outputs[name])
        if seen.kind != "counterexample":
            return Verdict("unknown", {}, VACUOUS if seen.kind == "proven" else seen.why)
    return verdict


def row_of(item: Golden, model: Mapping[str, int]) -> Row:
    """Return the golden row of an input: the expected columns are the reference model's, never the solver's."""
    values = tuple(model.get(column.name, 0) for column in item.layout.inputs)
    return make_row(item.layout, Input("formal", (FLAG,), values), item.operation.exact(values))


def mismatches_of(item: Golden, proof: Proof) -> list[str]:
    """Return the MISMATCH lines of a counterexample that was replayed: what emu explain mismatch reads; none of a sum of products."""
    if proof.row is None or proof.got is None or isinstance(item.operation, Sums):
        return []
    wrong = differ(item.layout, proof.row, proof.got)
    return mismatch_lines(str(item.operation.name), item.layout, proof.row, proof.got, wrong)


def render_tv(item: Golden, rows: Sequence[Row]) -> str:
    """Return a `.tv` file of rows, with its trailer."""
    return writers.render_tv(item.layout, rows)


def render_mem(item: Golden, row: Row) -> str:
    """Return the row as a line of a `.mem` file, with id and flags."""
    return writers.render_mem(item.layout, [row]).splitlines()[0]


def _reading(files: Sequence[Path], defines: Sequence[str]) -> str:
    words = "".join(f"-D {define} " for define in defines)
    return f"read_verilog -sv {words}" + " ".join(map(in_yosys, files))


def _ports(item: Golden, files: Sequence[Path], defines: Sequence[str], work: Path, seconds: float) -> dict[str, tuple[str, int]]:
    """Return port -> (direction, bits) of the design. Raises: FileError (no such module, a column without a port)."""
    try:
        run_yosys([_reading(files, defines), f"hierarchy -check -top {TOP}", "proc -norom", f"write_json {_PORTS}"], work, seconds)
    except EngineError as error:
        if f"Module `{TOP}' not found" not in str(error):
            raise
        raise FileError(f"{files[0]}: no module {TOP}: name the top module of the design so, or give a port map (--map)") from None
    modules = json.loads((work / _PORTS).read_text(encoding="utf-8"))["modules"]
    ports = {name: (port["direction"], len(port["bits"])) for name, port in modules[TOP]["ports"].items()}
    results = [(column.name, column.bits) for column in item.layout.results]
    wanted = {name: ("input", bits) for name, bits in item.circuit.inputs} | {name: ("output", bits) for name, bits in results}
    for name, (direction, bits) in wanted.items():
        if ports.get(name) != (direction, bits):
            found = "none of that name" if name not in ports else f"{ports[name][0]} of {ports[name][1]} bits"
            raise FileError(f"{files[0]}: module {TOP} needs the {direction} port {name} of {bits} bits: it has {found}")
    for name, (direction, _) in ports.items():
        if direction != "output" and name not in wanted and name not in HANDSHAKE:
            raise FileError(f"{files[0]}: {direction} port {name} is no column of {item.name}: tie it in a wrapper")
    return ports


def _build(item: Golden, ports: Mapping[str, tuple[str, int]], solver: Solver, reading: str, work: Path, seconds: float) -> bool:
    """Write the miter as an and-inverter graph, or the design alone as SMT-LIB; tell whether the design has registers."""
    (work / "golden.v").write_text(export_verilog.render(replace(item.circuit, name="emu_golden")), encoding="ascii")
    top = "emu_top" if solver == "abc" else DESIGN_TOP
    outputs = {name for name, _ in item.circuit.outputs}
    text = filled(
        TEMPLATE,
        top=top,
        dut=TOP,
        inputs=item.circuit.inputs,
        wants=item.circuit.outputs if solver == "abc" else (),
        results=item.layout.results,
        nans={column.name: float_fields(column) for column in item.layout.results if f"k_{column.name}" in outputs},
        tied=_tied(ports),
        valid=_answers(ports),
    )
    (work / "top.v").write_text(text, encoding="ascii")
    return _netlist(top, GRAPH if solver == "abc" else WORDS, reading, work, seconds)


def _tied(ports: Mapping[str, tuple[str, int]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in HANDSHAKE.items() if name in ports]


def _answers(ports: Mapping[str, tuple[str, int]]) -> bool:
    return ports.get("out_valid") == ("output", 1)


def _netlist(top: str, writes: Sequence[str], reading: str, work: Path, seconds: float) -> bool:
    """Read golden.v, top.v and the design, take registers as wires, and write what a solver reads; tell whether there were registers."""
    (work / "wires.v").write_text(_WIRES, encoding="ascii")
    begin = ["read_verilog golden.v top.v", reading, f"hierarchy -check -top {top}", "proc -norom", "flatten"]
    flat = [*freed(work), "memory -nomap", "memory_map", "async2sync", "dffunmap", "tee -q -o registers.txt select -list t:$dff t:$ff"]
    ready = ["setundef -anyseq", "opt_expr -mux_undef", "opt_clean"]  # the valid input is 1: what a register keeps without it is no loop
    wires = ["techmap -map wires.v t:$dff", "opt_clean", "scc -expect 0", "setundef -undriven -anyseq", "opt -full", "wreduce"]
    run_yosys([*begin, *flat, *ready, *wires, *writes], work, seconds)
    return bool((work / "registers.txt").read_text(encoding="ascii", errors="replace").split())
