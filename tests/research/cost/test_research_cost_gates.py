"""Counts of gates: a design small enough to count by hand, the kept record, what makes it stale, the command."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from emu.base.errors import FileError, OperandError
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import Unit, read_units
from research.__main__ import run as emu
from research.cost import measure as cost
from research.cost.table import plan_of_product, products, table_module

RECORD = Path(__file__).resolve().parents[3] / cost.RECORD
UNITS = read_units(simulator.path())


def task(text, folder, part="decode"):
    path = folder / "dut.sv"
    path.write_text(text, encoding="ascii")
    return cost.Task(part, "e2m1", Unit("x", "x", path, (), {}, ()))


def test_every_part_names_units_and_gates_have_transistors():
    rules = cost.rules()
    assert len(cost.tasks(simulator.path())) >= 25 and all(count > 0 and count % 2 == 0 for count in rules["gates"].values())
    (abc,) = [line for line in rules["flow"] if line.startswith("abc -g ")]
    assert {gate.lower() for gate in abc.removeprefix("abc -g ").split(",")} | {"not"} == set(rules["gates"])
    assert rules["gates"]["nand"] == rules["transistors_of_one_ge"]
    assert cost.transistors({"nand": 3, "xor": 2}, rules["gates"]) == 32


def test_a_part_that_is_not_listed_is_refused():
    with pytest.raises(OperandError, match=r"dot17: no part of cost\.yaml: decode"):
        cost.tasks(simulator.path(), ("dot17",))


def test_gates_that_can_be_counted_by_hand(need, tmp_path):
    need("yosys")
    text = "module dut (input clk, a, b, c, output reg q, output y); always @(posedge clk) q <= a ^ b ^ c; assign y = ~(a & b); endmodule\n"
    found = cost.measure(task(text, tmp_path), tmp_path)
    assert found.flip_flops == 1 and found.depth == 2
    assert found.cells == {"nand": 1, "xor": 2} or found.cells == {"nand": 1, "xnor": 2}


def test_the_table_of_products_is_that_of_the_reference_model(need, tmp_path):
    need("iverilog")
    for name in ("product_e2m1", "product_int4"):
        plan = plan_of_product(UNITS[name])
        bits = plan.widths.product_bits + 1
        bench = f"module bench; reg [3:0] a, b; wire signed [{bits - 1}:0] p; integer i; dut device (a, b, p);\n"
        bench += 'initial for (i = 0; i < 256; i = i + 1) begin {a, b} = i; #1 $display("%0d", p); end endmodule\n'
        (tmp_path / "t.sv").write_text(table_module(UNITS[name]) + bench, encoding="ascii")
        subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", "t", "t.sv"], cwd=tmp_path, check=True)
        done = subprocess.run(["vvp", "-n", "t"], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert [int(line) for line in done.stdout.split()] == products(plan)


def test_the_record_is_of_these_designs():
    record = cost.read_record(RECORD)
    assert cost.stale(record, simulator.path()) == [], cost.COMMAND
    assert len(record["designs"]) == sum(task.gates for task in cost.tasks(simulator.path())) >= 25
    assert RECORD.read_text(encoding="ascii") == cost.as_text(record)


def test_a_changed_count_a_lost_design_and_other_sources_make_it_stale():
    record = cost.read_record(RECORD)
    first = record["designs"][0]
    name = f"{first['part']} {first['operands']}"
    assert cost.stale(record | {"designs": [first | {"cells": {"nand": 1}}, *record["designs"][1:]]}, simulator.path()) == [name]
    assert cost.stale(record | {"designs": record["designs"][1:]}, simulator.path()) == [name]
    assert cost.stale(record | {"designs": [first | {"sources_sha256": "0"}, *record["designs"][1:]]}, simulator.path()) == [name]
    assert cost.stale(record | {"rules_sha256": "0"}, simulator.path()) == ["cost.yaml"]
    more = {**first, "part": "another"}
    assert cost.stale(record | {"designs": [*record["designs"], more]}, simulator.path()) == [f"another {first['operands']}"]


@pytest.mark.parametrize("text", ["", "{}", '{"designs": [], "yosys": ""}', '{"yosys": "y", "designs": [{"cells": {}, "depth": 1}]}'])
def test_a_damaged_record_is_refused(text, tmp_path):
    (tmp_path / "record.json").write_text(text, encoding="ascii")
    with pytest.raises(FileError, match="no record of hardware cost"):
        cost.read_record(tmp_path / "record.json")


def test_a_design_counts_again_as_recorded(need, tmp_path):
    """With the yosys of the record; another version may find other gates."""
    need("yosys")
    record = cost.read_record(RECORD)
    if cost.version(tmp_path) != record["yosys"]:
        pytest.skip(f"the record is of {record['yosys']}")
    (one,) = [each for each in cost.tasks(simulator.path(), ("product",)) if each.operands == "e1m2"]
    found = cost.measure(one, tmp_path)
    (kept,) = [design for design in record["designs"] if (design["part"], design["operands"]) == ("product", "e1m2")]
    assert (found.cells, found.flip_flops, found.depth) == (kept["cells"], kept["flip_flops"], kept["depth"])


@pytest.mark.exhaustive
def test_the_command(need, tmp_path, capsys):
    need("yosys")
    assert emu(["cost", "--part", "decode", "--json", "--quiet"]) == 0
    designs = json.loads(capsys.readouterr().out)["designs"]
    assert [(design["part"], design["operands"]) for design in designs] == [("decode", "e2m1"), ("decode", "e1m2"), ("decode", "int4")]
    assert emu(["cost", "--part", "decode", "--quiet"]) == 0
    assert re.search(r"^decode +e2m1 +\d+\.\d +\d+ +0 +\d+$", capsys.readouterr().out, re.MULTILINE)
    assert emu(["cost", "--part", "decode", "--out", str(tmp_path / "x.json")]) == 2
    assert "leave --part out" in capsys.readouterr().err and not (tmp_path / "x.json").exists()


def test_check_says_whether_a_record_fits(tmp_path, capsys):
    assert emu(["cost", "--check", str(RECORD)]) == 0
    record = cost.read_record(RECORD)
    (tmp_path / "old.json").write_text(cost.as_text(record | {"rules_sha256": "0"}), encoding="ascii")
    assert emu(["cost", "--check", str(tmp_path / "old.json")]) == 1
    assert "made from other sources: cost.yaml: run python -m research cost" in capsys.readouterr().out


def test_without_yosys_the_command_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    assert emu(["cost", "--part", "decode"]) == 5
    assert "install yosys" in capsys.readouterr().err
