"""Netlist mutants are drawn alike on every machine: yosys sees the sources below one folder, by relative paths."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.errors import FileError
from emu.rtl.netlist import draw, elaborate
from emu.rtl.units import Unit, find_unit

SUITE = "decode__e2m1_to_fp32__exact__all"


@pytest.fixture
def unit(kit: Path) -> Unit:
    return find_unit(kit, "decode_e2m1")


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
