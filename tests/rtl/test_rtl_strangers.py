"""The name of a design is one word of yosys' script, or refused: a script has commands that run programs."""

from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.rtl.export.equivalence import read_design
from emu.rtl.export.prove import _reading
from emu.rtl.export.yosys import in_yosys

SIGNS = ('a" ; exec -- touch INJECTED ; ".v', "a\n!touch INJECTED\n.v", "a\\.v", "a\u202e.v", "a\x1b[2J.v")


@pytest.mark.parametrize("name", SIGNS, ids=ascii)
def test_a_name_with_signs_of_a_script_is_refused(name: str) -> None:
    for build in (in_yosys, lambda path: _reading([path], ()), lambda path: read_design([path], "dut", "x")):
        with pytest.raises(FileError, match="rename it"):
            build(Path(name))


def test_a_name_with_blanks_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / "a b; $(c) #.v"
    assert in_yosys(path) == f'"{path.resolve()}"'
