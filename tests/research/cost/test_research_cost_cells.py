"""Real cells: a liberty file that is read, netlists whose switching can be counted by hand, and the record made again in part."""

import json
from pathlib import Path

import numpy as np
import pytest

from emu.base.errors import EngineError, FileError
from emu.rtl.simulate import simulator
from research.cost import energy
from research.cost import measure as cost
from research.cost.cells import map_cells, points
from research.cost.liberty import Cell, Library, read_library
from research.cost.toggles import Netlist, bits_of

RECORD = Path(__file__).resolve().parents[3] / cost.RECORD
LIBERTY = """library(x) { capacitive_load_unit (1,pf);
/* cell (NOT_ONE) { area : 1; } */
cell (AOI21) { area : 32; pin(A) { direction : input; capacitance : 0.015625; } pin(B) { capacitance : 0.03125; }
  pin(C) { capacitance : 0.0625; }
  pin(Y) { direction : output; capacitance : 0; function : "(!((A B)+C))"; } }
cell (MUX) { area : 48; pin(A) { capacitance : 0.01; } pin(B) { capacitance : 0.01; } pin(S) { capacitance : 0.02; }
  pin(Y) { capacitance : 0; function : "(!((S A) + (!S B)))"; } }
cell (ADD) { area : 1; pin(A) { capacitance : 0.01; } pin(YC) { function : "A"; } pin(YS) { function : "(!A)"; } }
cell (FLOP) { area : 96; pin(D) { capacitance : 0.01; } pin(Q) { function : "IQ"; } }
cell (FILL) { area : 8; }
}
"""
GATES = {"INV": Cell(1, {"A": 2.0}, "Y", "(!A)"), "NAND": Cell(1, {"A": 3.0, "B": 5.0}, "Y", "(!(A B))")}
SMALL = Library(Path("small.lib"), "", "", GATES)


def test_a_liberty_file_gives_area_pins_and_functions(tmp_path: Path) -> None:
    path = tmp_path / "x.lib"
    path.write_text(LIBERTY, encoding="ascii")
    found = read_library(path)
    assert set(found.cells) == {"AOI21", "MUX"}  # no register, no second output, nothing without a function
    assert found.cells["AOI21"].area == 32 and found.cells["AOI21"].pins == {"A": 15.625, "B": 31.25, "C": 62.5}
    a, b, c = (np.array([number >> place & 1 for number in range(8)], bool) for place in range(3))
    assert np.array_equal(found.cells["AOI21"].value({"A": a, "B": b, "C": c}), ~((a & b) | c))
    assert np.array_equal(found.cells["MUX"].value({"A": a, "B": b, "S": c}), ~np.where(c, a, b))
    with pytest.raises(FileError, match="apt-get install"):
        read_library(tmp_path / "none.lib")
    path.write_text("library(x) {}", encoding="ascii")
    with pytest.raises(FileError, match="no combinational cell"):
        read_library(path)


def netlist(folder: Path, cells: dict) -> Path:
    ports = {"a": {"direction": "input", "bits": [2]}, "y": {"direction": "output", "bits": [5]}}
    found = {name: {"type": kind, "connections": {pin: [bit] for pin, bit in nets.items()}} for name, (kind, nets) in cells.items()}
    path = folder / "netlist.json"
    path.write_text(json.dumps({"modules": {"dut": {"ports": ports, "cells": found}}}), encoding="ascii")
    return path


def test_a_passing_value_counts_where_it_is_asked_for(tmp_path: Path) -> None:
    """y = not nand(a, not a) is always 0; while a rises, both inputs of the nand are 1 for one step."""
    cells = {"last": ("INV", {"A": 4, "Y": 5}), "nand": ("NAND", {"A": 2, "B": 3, "Y": 4}), "first": ("INV", {"A": 2, "Y": 3})}
    found = Netlist(netlist(tmp_path, cells), "dut", SMALL)
    rows = {"a": np.array([[0], [1], [0], [0], [1]])}
    assert not found.output(found.settled(rows), "y", 5).any()
    a, inverted, inner = 2.0 + 3.0, 5.0, 2.0  # the pins that each net drives
    assert found.settled_switched(rows) == (3 * a + 3 * inverted) / 4
    assert found.passing_switched(rows) == (3 * a + 3 * inverted + 2 * 2 * inner) / 4


def test_a_loop_and_an_unknown_cell_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="a loop of gates"):
        Netlist(netlist(tmp_path, {"x": ("INV", {"A": 4, "Y": 5}), "y": ("INV", {"A": 5, "Y": 4})}), "dut", SMALL)
    with pytest.raises(EngineError, match="cell LATCH is not combinational"):
        Netlist(netlist(tmp_path, {"x": ("LATCH", {"A": 2, "Y": 5})}), "dut", SMALL)


def test_codes_become_bits_low_first() -> None:
    assert bits_of(np.array([[1, 8]]), 4).tolist() == [[1, 0, 0, 0, 0, 0, 0, 1]]


def test_a_product_has_the_area_delay_and_switching_of_the_record(need, tmp_path: Path) -> None:
    """With the yosys and the library of the record: others find other netlists."""
    need("yosys")
    record = cost.read_record(RECORD)
    path = Path(cost.rules()["libraries"]["osu018"])
    if not path.is_file():
        pytest.skip(f"{path} is not here: apt-get install qflow-tech-osu018")
    library = read_library(path)
    if library.sha256 != record["libraries"]["osu018"]["sha256"] or cost.version(tmp_path) != record["yosys"]:
        pytest.skip(f"the record is of {record['yosys']} and {record['libraries']['osu018']['package']}")
    (task,) = [each for each in cost.tasks(simulator.path(), ("product",)) if each.operands == "e1m2"]
    (kept,) = [line for line in record["area"] if (line["part"], line["operands"], line["library"]) == ("product", "e1m2", "osu018")]
    assert [list(point) for point in points(task, library, tmp_path)] == kept["points"]
    random = [line for line in record["energy"] if (line["part"], line["operands"], line["data"]) == ("product", "e1m2", "random")]
    assert random and list(energy.lines(task, library, tmp_path, None, {})) == random
    assert map_cells(task, library, tmp_path, every=False) == ["area"]
