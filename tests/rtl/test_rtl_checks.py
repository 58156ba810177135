"""The checkers of the kit, assertions for Verilator and plain code for Icarus: they fire on wrong designs and are silent on right ones."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.contracts.columns import Column
from emu.rtl.simulate.units import read_units

CONVERT = "convert__bf16_to_e2m1__nvidia_rne__directed"
SMALL = "dot__e2m1xe2m1_ue4m3_to_fp32__made__smoke"
LANE = "dot__e1m2xe1m2_ue4m3_to_fp32__nv_like_b16__smoke"
# A right converter, and from EMU_FAULT on a wrong one: +fault= chooses how.
DUT = """
module dut (input clk, input rst, input in_valid, input [15:0] x, output out_valid, output [3:0] y);
  wire [3:0] right;
  convert4 #(.SRC_FRAC_BITS(7)) unit (.x(x), .exp_down(10'sd0), .r(1'b0), .y(right));
  integer fault;
  initial if (!$value$plusargs("fault=%d", fault)) fault = 0;
  reg [3:0] then;
  reg valid;
  always @(posedge clk) begin then <= right; valid <= in_valid && !rst; end
  assign y = fault == 1 && x == 16'h40a0 ? right ^ 8 : fault == 2 && x == 16'h8000 ? 4'h9 : fault == 3 && x == 16'h3fc0 ? 4'h6
    : fault == 4 && x == 16'h40a0 ? 4'bxxxx : fault == 9 ? then : right;
  assign out_valid = fault == 5 ? 1'b1 : fault == 6 ? 1'b0 : fault == 7 ? 1'bx : fault == 9 ? valid : in_valid;
endmodule
"""
FAULTS = {1: "sign", 2: "zero", 3: "order", 5: "asked", 6: "in_time"}
UNKNOWN = {4: "output_known", 7: "valid_known"}  # Verilator knows no X
DOT = """
module dut (input clk, input rst, input in_valid, input [15:0] a, b, input [7:0] sa, sb, input [31:0] c, output out_valid, output [31:0] d);
  integer fault;
  initial if (!$value$plusargs("fault=%d", fault)) fault = 0;
  wire is_nan = c[30:0] > 31'h7f800000;
  assign out_valid = in_valid;
  assign d = fault == 1 && c[30] ? 32'h7fffffff : fault == 2 && c == 0 ? 32'h00000001 : fault == 3 && is_nan ? 32'h7f800000 : c;
endmodule
"""
DOT_FAULTS = {1: "finite", 2: "zero", 3: "nan"}


def icarus(kit: Path, suite: Path, op: str, design: list[str], work: Path) -> list[str]:
    """Compile bench, design and plain checks; the command that runs them."""
    words = [
        "iverilog",
        "-g2012",
        "-s",
        "bench",
        "-s",
        "emu_checks",
        "-o",
        str(work / "checked"),
        f"-I{kit}",
        f"-I{kit / 'sva'}",
        f"{suite}.svh",
    ]
    done = subprocess.run([*words, str(kit / f"{op}.sv"), str(kit / f"sva/{op}_always.sv"), *design], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return ["vvp", "-n", str(work / "checked"), f"+vec={suite}.mem"]


def verilator(kit: Path, suite: Path, op: str, design: list[str], work: Path) -> list[str]:
    """Compile bench, design and assertions; the command that runs them."""
    words = [
        "verilator",
        "--binary",
        "--timing",
        "--assert",
        "-fno-life",
        "-Wno-fatal",
        "-Wno-lint",
        "--top-module",
        "bench",
        "-CFLAGS",
        "-O0",
    ]
    words += ["--Mdir", str(work), f"-I{kit}", f"-I{kit / 'sva'}", f"{suite}.svh", str(kit / f"{op}.sv"), str(kit / f"sva/{op}_checks.sv")]
    done = subprocess.run([*words, *design], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return [str(work / "Vbench"), f"+vec={suite}.mem"]


def fired(command: list[str], *words: str) -> tuple[list[str], list[str], int]:
    """Names of rules that fired, verdicts printed, exit code."""
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    names = [line.split()[1] for line in lines if line.startswith("CHECK ")]
    return names, [line.split(" suite=")[0] for line in lines if line.startswith("RESULT ")], done.returncode


def prove(command: list[str], faults: dict[int, str], right: tuple[int, ...]) -> None:
    """Right designs pass in silence; each wrong one is stopped by its rule, without a RESULT line."""
    for fault in right:
        for stall in ((), ("+stall=3",)):
            assert fired(command, f"+fault={fault}", *stall) == ([], ["RESULT PASS reason=none"], 0)
    for fault, name in faults.items():
        names, results, code = fired(command, f"+fault={fault}")
        assert names[:1] == [name] and results == [] and code != 0, (fault, names, results)


@pytest.fixture
def converter(kit: Path, tmp_path: Path) -> list[str]:
    """The converter with faults to choose."""
    (tmp_path / "dut.sv").write_text(DUT)
    return [str(tmp_path / "dut.sv"), str(kit / "rtl/convert4.sv")]


@pytest.fixture
def dots(handmade: Callable[..., Path]) -> Path:
    """Three dot products: of zeros, of a finite C, of a NaN in C."""
    columns = [
        Column("a", "in", 16, "e2m1", 4),
        Column("b", "in", 16, "e2m1", 4),
        Column("sa", "in", 8, "ue4m3"),
        Column("sb", "in", 8, "ue4m3"),
    ]
    columns += [Column("c", "in", 32, "fp32"), Column("d", "out", 32, "fp32")]
    zeros, ones = (0x8080, 0x7777, 0x38, 0x38), (0, 0x2222, 0x38, 0x38)
    cases = [((*zeros, 0), ((0,),)), ((*ones, 0x40000000), ((0x40000000,),)), ((*ones, 0x7FC00000), ((0x7FC00000,),))]
    return handmade(SMALL, columns, cases)


def test_plain_checks_of_convert(
    kit: Path, need: Callable[..., None], frozen: Callable[[str], Path], converter: list[str], tmp_path: Path
) -> None:
    need("iverilog", "vvp")
    prove(icarus(kit, frozen(CONVERT), "convert", converter, tmp_path), FAULTS | UNKNOWN, (0, 9))
    low = icarus(kit, frozen(CONVERT), "convert", ["-DEMU_DST_TOP=6", *converter], tmp_path)
    assert fired(low)[0][:1] == ["top"]
    quick = icarus(kit, frozen(CONVERT), "convert", ["-DEMU_LATENCY=0", *converter], tmp_path)
    assert fired(quick)[0] == [] and fired(quick, "+fault=9")[0][:1] == ["in_time"]
    slow = icarus(kit, frozen(CONVERT), "convert", ["-DEMU_LATENCY=1", *converter], tmp_path)
    assert fired(slow, "+fault=9")[0] == []


@pytest.mark.exhaustive  # many compilations
def test_assertions_of_convert(
    kit: Path, need: Callable[..., None], frozen: Callable[[str], Path], converter: list[str], tmp_path: Path
) -> None:
    need("verilator", "g++", "make")
    prove(verilator(kit, frozen(CONVERT), "convert", converter, tmp_path), FAULTS, (0, 9))


def test_plain_checks_of_dot(kit: Path, need: Callable[..., None], frozen: Callable[[str], Path], dots: Path, tmp_path: Path) -> None:
    need("iverilog", "vvp")
    (tmp_path / "dut.sv").write_text(DOT)
    prove(icarus(kit, dots, "dot", [str(tmp_path / "dut.sv")], tmp_path), DOT_FAULTS, (0,))
    for name in ("lane_nv_like_e1m2", "lane_nv_like_e1m2_pipe"):
        unit = read_units(kit)[name]
        design = [*(f"-D{macro}={value}" for macro, value in unit.defines.items()), *map(str, unit.sources)]
        assert fired(icarus(kit, frozen(LANE), "dot", design, tmp_path)) == ([], ["RESULT PASS reason=none"], 0)


@pytest.mark.exhaustive
def test_assertions_of_dot(kit: Path, need: Callable[..., None], dots: Path, tmp_path: Path) -> None:
    need("verilator", "g++", "make")
    (tmp_path / "dut.sv").write_text(DOT)
    prove(verilator(kit, dots, "dot", [str(tmp_path / "dut.sv")], tmp_path / "build"), DOT_FAULTS, (0,))


def test_both_spellings_state_the_same_rules(kit: Path) -> None:
    for op in ("convert", "dot"):
        texts = [(kit / f"sva/{op}_{form}.sv").read_text() for form in ("checks", "always")]
        assert all(f'`include "{op}_rules.svh"' in text and "`EMU_RULES" in text for text in texts)
        rules = (kit / f"sva/{op}_rules.svh").read_text() + (kit / "sva/protocol.svh").read_text()
        named = {line.split('"')[1] for line in rules.splitlines() if line.lstrip().startswith("`EMU_RULE(")}
        assert named == {"valid_known", "output_known", "asked", "in_time"} | (
            {"sign", "zero", "top", "order"} if op == "convert" else set(DOT_FAULTS.values())
        )
