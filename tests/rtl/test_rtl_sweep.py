"""Whole input spaces of reference converters: the record is of these designs, its digests are those of the engines, a wrong one fails."""

import json

import pytest

from emu.base.errors import EngineError, FileError
from emu.cli.main import run
from emu.rtl.simulate import simulator, sweep
from emu.rtl.simulate.units import read_units

UNITS = read_units(simulator.path())
SPACES = {space.name: space for space in sweep.spaces(UNITS)}
WANTED = [f"convert_fp32_{fmt}_{rounding}" for fmt in ("e2m1", "e1m2") for rounding in ("rne", "rz", "sr_add8/mix")]


@pytest.fixture(scope="module")
def record(checkout):
    return sweep.read_record(checkout / "docs/evidence/rtl_sweeps.json")


def test_record_is_of_these_designs_and_this_spec(record):
    wrong = [name for name in sweep.stale(simulator.path(), UNITS, record) if name in record]
    assert not wrong, f"made from other files or facts: {sweep.COMMAND}"
    assert set(WANTED) <= set(record)
    assert {name for name, space in SPACES.items() if space.operation.src == "bf16"} <= set(record)


def test_digests_are_those_of_the_engines(checkout, record):
    known = json.loads((checkout / "docs/evidence/sweeps.json").read_text())["sweeps"]
    compared = 0
    for name, line in record.items():
        if line["twin"] is not None:
            assert (line["codes_sha256"], line["inputs"]) == (known[line["twin"]]["codes_sha256"], known[line["twin"]]["inputs"]), name
            compared += 1
    assert compared >= 12


def test_inputs_count_every_source_code(record):
    for name, line in record.items():
        bits = 32 if "_fp32_" in name else 16 + (8 if name.endswith("/rows") else 0)
        assert line["inputs"] == 1 << bits, name


def test_another_design_makes_a_line_stale(record):
    name = "convert_bf16_e2m1_rne"
    other = UNITS | {name: UNITS[name]._replace(defines=UNITS[name].defines | {"ROUND": 2})}
    found = sweep.stale(simulator.path(), other, record)
    assert name in found
    assert set(found) - set(sweep.stale(simulator.path(), UNITS, record)) == {name}


def test_a_unit_that_is_gone_makes_a_line_stale(record):
    assert "convert_gone" in sweep.stale(simulator.path(), UNITS, dict(record) | {"convert_gone": {}})


def test_comments_do_not_count(tmp_path):
    unit = UNITS["convert_bf16_e2m1_rne"]
    for file in (*unit.sources, *(simulator.path() / name for name in sweep.HARNESS)):
        copy = tmp_path / file.relative_to(simulator.path())
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(file.read_text())
    moved = unit._replace(wrapper=tmp_path / "wrap/convert.sv", files=(tmp_path / "rtl/convert4.sv",))
    first = sweep.rtl_sha256(tmp_path, moved)
    assert first == sweep.rtl_sha256(simulator.path(), unit)
    moved.files[0].write_text("// another word\n" + moved.files[0].read_text().replace("    ", "  "))
    assert sweep.rtl_sha256(tmp_path, moved) == first
    moved.files[0].write_text(moved.files[0].read_text().replace("half & (rest | is_odd)", "half & rest"))
    assert sweep.rtl_sha256(tmp_path, moved) != first


def test_check_tells_a_record_of_nothing(tmp_path, capsys):
    assert run(["rtl", "sweep", "--check", "--out", str(tmp_path / "none.json")]) == 1
    assert f"{len(SPACES)} spaces" in capsys.readouterr().err


def test_misuse(tmp_path, capsys):
    assert run(["rtl", "sweep", "--only", "nothing_like_it", "--out", str(tmp_path / "none.json")]) == 2
    assert "nothing_like_it" in capsys.readouterr().err
    (tmp_path / "bad.json").write_text("[]")
    with pytest.raises(FileError, match="no record of sweeps"):
        sweep.read_record(tmp_path / "bad.json")


@pytest.mark.exhaustive
def test_a_space_gives_its_line_and_a_wrong_design_its_first_difference(need, tmp_path, record):
    need("verilator", "make", "gcc", "g++")
    space = SPACES["convert_bf16_e2m1_rne"]
    assert sweep.sweep(sweep.build_model(simulator.path(), space.unit, tmp_path), space) == record[space.name]["codes_sha256"]
    wrong = space.unit._replace(id="wrong", defines=space.unit.defines | {"ROUND": 2})
    program = sweep.build_model(simulator.path(), wrong, tmp_path)
    with pytest.raises(sweep.Differs, match="MISMATCH x=3e80 r=0 want=0 got=1"):
        sweep.sweep(program, space)
    with pytest.raises(EngineError, match="RANDOM_BITS"):
        sweep.sweep(program, SPACES["convert_bf16_e2m1_sr_add8/rows"])


@pytest.mark.parametrize("option", ["--x-assign", "--x-initial"])
def test_unknown_bits_are_drawn_as_verilator_names_it(option: str) -> None:
    assert sweep.VERILATE[sweep.VERILATE.index(option) + 1] in ("0", "fast", "unique")
