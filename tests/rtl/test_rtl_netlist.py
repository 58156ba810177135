"""Netlist mutants are drawn alike on every machine, and what runs mutants says what is missing or does not end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support import mutation_rtl
from support.mutation_rtl import RtlBench

from emu.base.errors import EngineError, FileError, ToolError
from emu.rtl.mutants.netlist import Mutants, draw, elaborate
from emu.rtl.mutants.record import judge
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import Unit, golden, read_units
from emu.vectors.files.suite import Suite

SUITE = "decode__e2m1_to_fp32__exact__all"


@pytest.fixture
def unit(kit: Path) -> Unit:
    return read_units(kit)["decode_e2m1"]


def test_two_folders_draw_the_same_mutants(unit: Unit, frozen: Callable[[str], Path], need: Callable[..., None], tmp_path: Path) -> None:
    need("yosys")
    header = Path(f"{frozen(SUITE)}.svh")
    found = []
    for name in ("a", "b/c"):
        work = tmp_path / name
        work.mkdir(parents=True)
        found.append(draw(unit, header, work, 60, 1))
        assert all((work / path.parent.name / path.name).read_bytes() == path.read_bytes() for path in (header, *unit.sources))
    assert found[0].mutations == found[1].mutations and len(found[0].mutations) == 60
    cells = [word for mutation in found[0].mutations for word in mutation.command.split() if ".sv:" in word]
    assert cells and all(re.search(r"\$(rtl|wrap)/decode4?\.sv:\d+\$\d+$", word) for word in cells), cells


def test_a_header_that_lies_there_already_stays(unit: Unit, tmp_path: Path) -> None:
    header = tmp_path / "suites" / "x.svh"
    header.parent.mkdir()
    header.write_text("// x\n")
    read = elaborate(unit, header, tmp_path)[0]
    assert read.endswith(" suites/x.svh rtl/decode4.sv wrap/decode.sv") and header.read_text() == "// x\n"


def test_two_files_of_one_name_are_refused(unit: Unit, tmp_path: Path) -> None:
    other = tmp_path / "other" / "rtl" / "decode4.sv"
    other.parent.mkdir(parents=True)
    other.write_text("")
    with pytest.raises(FileError, match="decode_e2m1: two of its files have one name"):
        elaborate(unit, other, tmp_path)


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return golden(SUITE, tmp_path)


def test_a_missing_simulator_is_a_missing_tool(
    unit: Unit, suite: Suite, kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="verilator: not installed"):
        judge(Mutants(tmp_path / "mutants.v", 1, 1, ()), [suite], tmp_path)
    with pytest.raises(ToolError, match="icarus: not installed"):
        RtlBench(tmp_path, kit, {unit.id: unit}, {SUITE: suite})


@pytest.mark.exhaustive
def test_a_run_that_does_not_end_is_an_error(unit: Unit, suite: Suite, kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "find", lambda name: name)
    monkeypatch.setattr(simulator, "compile_sources", lambda *words: ("sh", "-c", "sleep 60"))
    with pytest.raises(EngineError, match="1 netlists do not end within 1 s"):
        judge(Mutants(tmp_path / "mutants.v", 1, 1, ()), [suite], tmp_path, 1)
    monkeypatch.setattr(mutation_rtl, "SECONDS", 1)
    with pytest.raises(EngineError, match=r"right\.decode_e2m1: .* did not end"):
        RtlBench(tmp_path, kit, {unit.id: unit}, {SUITE: suite}).try_one(unit.id, None)


def test_sources_that_do_not_compile_in_time_are_refused(need: Callable[..., None], tmp_path: Path) -> None:
    need("iverilog")
    (tmp_path / "bench.sv").write_text("module bench; initial $finish; endmodule\n")
    found = simulator.find("icarus")
    command = simulator.compile_sources(found, [tmp_path / "bench.sv"], [], tmp_path / "made")
    assert simulator.execute(command, tmp_path, 60)[0] == 0
    with pytest.raises(FileError, match="icarus: the design does not compile within 0 s"):
        simulator.compile_sources(found, [tmp_path / "bench.sv"], [], tmp_path / "made", 0)
