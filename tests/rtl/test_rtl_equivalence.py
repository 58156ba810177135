"""Two Verilog designs, one function? Proven, counterexample, unknown, each where it must be. Skips where yosys is absent."""

import shutil
from pathlib import Path

import pytest

from emu.base.errors import EngineError, ToolError
from emu.rtl.export import yosys
from emu.rtl.export.equivalence import Verdict, equivalent

needs_yosys = pytest.mark.skipif(not (shutil.which("yosys") and shutil.which("yosys-abc")), reason="yosys absent: apt-get install yosys")

PLAIN = "module dut(input [3:0] a, input [1:0] b, output [4:0] y); assign y = {body}; endmodule"
CLOCKED = (
    "module dut(input clk, rst, input [3:0] a, output reg [3:0] y); reg [3:0] {name};"
    " always @(posedge clk) if (rst) begin {name} <= 0; y <= {reset}; end else begin {name} <= {step}; y <= {name} + a; end endmodule"
)


def judged(tmp_path: Path, gold: str, gate: str) -> Verdict:
    for name, text in (("gold.v", gold), ("gate.v", gate)):
        (tmp_path / name).write_text(text)
    return equivalent(tmp_path / "gold.v", tmp_path / "gate.v")


@needs_yosys
def test_the_same_function_in_another_form_is_proven(tmp_path: Path) -> None:
    gate = PLAIN.format(body="b[1] ? (b[0] ? a + {a, 1'b0} : {a, 1'b0}) : b[0] ? a : 5'd0")
    assert judged(tmp_path, PLAIN.format(body="a * b"), gate) == Verdict("proven", {})


@needs_yosys
def test_one_wrong_input_of_64_is_found(tmp_path: Path) -> None:
    found = judged(tmp_path, PLAIN.format(body="a * b"), PLAIN.format(body="a * b + (a == 11 && b == 2)"))
    assert found == Verdict("counterexample", {"a": 11, "b": 2})


@needs_yosys
@pytest.mark.parametrize("body", ["a[0] ? 5'bx : a * b", "a[0] ? unset : a * b"])
def test_an_unknown_bit_is_not_taken_for_the_wanted_one(tmp_path: Path, body: str) -> None:
    gate = PLAIN.format(body=body).replace("; assign", "; wire [4:0] unset; assign")
    found = judged(tmp_path, PLAIN.format(body="a * b"), gate)
    assert found.kind == "counterexample"
    assert found.model["a"] % 2 == 1


@needs_yosys
@pytest.mark.parametrize(
    ("change", "kind", "why"),
    [
        ({"step": "a - 15"}, "proven", ""),
        ({"step": "a + 2"}, "unknown", "from some state"),
        ({"reset": "1"}, "unknown", "from some state"),
        ({"name": "t"}, "unknown", "pair by name"),
    ],
)
def test_registers_are_paired_by_name(tmp_path: Path, change: dict[str, str], kind: str, why: str) -> None:
    right = {"name": "s", "reset": "0", "step": "a + 1"}
    found = judged(tmp_path, CLOCKED.format(**right), CLOCKED.format(**right | change))
    assert (found.kind, found.model) == (kind, {})
    assert why in found.why


@needs_yosys
def test_other_ports_and_bad_verilog_are_errors(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="port"):
        judged(tmp_path, PLAIN.format(body="a * b"), "module dut(input [3:0] a, output [4:0] y); assign y = a; endmodule")
    with pytest.raises(EngineError, match="syntax error"):
        judged(tmp_path, PLAIN.format(body="a * b"), "module dut(input [3:0] a; endmodule")


def test_an_absent_tool_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yosys.shutil, "which", lambda name: None)
    with pytest.raises(ToolError, match="yosys: not found: install yosys"):
        yosys.find()


def test_a_tool_out_of_time_is_killed(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match="sh: no answer within 1 s"):
        yosys._run(["/bin/sh", "-c", "while :; do :; done"], tmp_path, 1)
