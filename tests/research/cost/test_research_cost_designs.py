"""Designs of research/cost: netlists of simple gates give the bits of the engines, whatever the operands; a rotation gives exact sums."""

import json
from pathlib import Path

import numpy as np
import pytest

from emu.base.errors import EngineError
from emu.rtl.export import yosys
from emu.rtl.simulate import simulator
from research.cost import energy
from research.cost import measure as cost
from research.cost.liberty import Cell, Library
from research.cost.toggles import Netlist, bits_of

FUNCTIONS = {"NAND": "(!(A B))", "NOR": "(!(A+B))", "AND": "(A B)", "OR": "(A+B)", "XNOR": "(!(A^B))", "XOR": "(A^B)"}
FUNCTIONS |= {"ANDNOT": "(A !B)", "ORNOT": "(A+(!B))"}
GATES = {f"$_{name}_": Cell(1, {"A": 1.0, "B": 1.0}, "Y", text) for name, text in FUNCTIONS.items()}
GATES |= {"$_NOT_": Cell(1, {"A": 1.0}, "Y", "(!A)"), "$_MUX_": Cell(1, {"A": 1.0, "B": 1.0, "S": 1.0}, "Y", "((S B)+(!S A))")}
SIMPLE = Library(Path("simple gates"), "", "", GATES)
NEW = ("e0m3", "int4_7", "both")


def synthesised(part: str, operands: str, folder: Path) -> cost.Task:
    """Leave the netlist of a design in simple gates where energy.lines looks for it."""
    (task,) = [each for each in cost.tasks(simulator.path(), (part,)) if each.operands == operands]
    yosys.run_yosys([*cost.reading(task, folder), *cost.rules()["join"], f"write_json {energy.MAPPING}.json"], folder)
    return task


def modes(part: str, operands: str, folder: Path) -> list[str]:
    task = synthesised(part, operands, folder)
    return [line["element"] for line in energy.lines(task, SIMPLE, folder, None, {})]


@pytest.mark.parametrize("operands", NEW)
@pytest.mark.parametrize("part", ["product", pytest.param("dot16", marks=pytest.mark.exhaustive)])
def test_products_and_sums_are_those_of_the_formats(need, tmp_path: Path, part: str, operands: str) -> None:
    need("yosys")
    wanted = energy.MODES.get(operands, (operands,))
    assert modes(part, operands, tmp_path) == [mode for mode in wanted for _ in energy.ORDERS]


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("operands", NEW)
def test_lanes_give_the_bits_of_the_engines(need, tmp_path: Path, operands: str) -> None:
    need("yosys")
    assert modes("lane_nv_like", operands, tmp_path)


def test_a_wrong_gate_is_found(need, tmp_path: Path) -> None:
    need("yosys")
    task = synthesised("product", "e1m2", tmp_path)
    path = tmp_path / f"{energy.MAPPING}.json"
    data = json.loads(path.read_text(encoding="ascii"))
    gate = next(cell for cell in data["modules"][task.top]["cells"].values() if cell["type"] == "$_NAND_")
    gate["type"] = "$_OR_"
    path.write_text(json.dumps(data), encoding="ascii")
    with pytest.raises(EngineError, match="product e1m2: the netlist differs from the engines on random e1m2"):
        list(energy.lines(task, SIMPLE, tmp_path, None, {}))


@pytest.mark.cases(0, 0)
def test_the_rotation_is_exact_above_its_cut(need, tmp_path: Path) -> None:
    need("yosys")
    task = synthesised("rotate16", "any", tmp_path)
    found = Netlist(tmp_path / f"{energy.MAPPING}.json", task.top, SIMPLE)
    rng = np.random.Generator(np.random.Philox(key=3))
    words = rng.integers(0, 1 << 15, (200, 16)) % (0xFF << 7) | rng.integers(0, 2, (200, 16)) << 15
    words[100:] = words[100:] & ~0x7F80 | rng.integers(120, 131, (100, 16)) << 7  # near one another
    signs = rng.integers(0, 1 << 16, (200, 1))
    values = found.settled({"x": bits_of(words, 16), "signs": bits_of(signs, 16)})
    field = words >> 7 & 0xFF
    top = np.maximum(field.max(1, keepdims=True), 1)
    moved = ((words & 0x7F | (field != 0) << 7) << 7) >> (top - np.maximum(field, 1))
    x = np.where((words >> 15 ^ signs >> np.arange(16)) & 1, -moved, moved)
    hadamard = np.array([[(-1) ** (i & j).bit_count() for j in range(16)] for i in range(16)])
    bits = found.output(values, "y", 200).reshape(200, 16, 20).astype(np.int64)
    y = (bits << np.arange(20)).sum(2)
    assert np.array_equal(np.where(y >> 19, y - (1 << 20), y), x @ hadamard)
    assert np.array_equal((found.output(values, "exp", 200).astype(np.int64) << np.arange(8)).sum(1), top[:, 0])
