"""Catalogues of faults: what is wrong with an entry is said with its file and line, by both readers of them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.mutation import read_faults, replaced_once
from support.mutation_rtl import read_rtl_faults

from emu.base.errors import FileError, SpecError
from emu.rtl.simulate import simulator
from emu.rtl.simulate.units import read_units
from emu.vectors.suites.notes import is_about

Reader = Callable[[Path], Sequence[Any]]
C = '  - {id: "NAME", class: "tie", ops: ["convert"], text: "t", file: "round.h", old: "a", new: "b"}\n'
RTL = '  - {id: "NAME", class: "tie", units: ["decode_e2m1"], text: "t", file: "rtl/decode4.sv", old: "a", new: "b"}\n'
READERS: dict[str, tuple[Reader, str, str]] = {
    "c": (lambda path: read_faults([path]), C, "c_"),
    "rtl_x": (lambda path: read_rtl_faults([path], read_units(simulator.path()), simulator.path()), RTL, "rtl_"),
}


@pytest.mark.parametrize("stem", READERS)
def test_a_bad_entry_is_named_by_file_and_line(stem: str, tmp_path: Path) -> None:
    reader, line, prefix = READERS[stem]
    path = tmp_path / f"{stem}.yaml"

    def read(*names: str, text: str = line) -> Sequence[Any]:
        path.write_text("faults:\n" + "".join(text.replace("NAME", name) for name in names))
        return reader(path)

    assert [fault.id for fault in read(f"{prefix}one", f"{prefix}two")] == [f"{prefix}one", f"{prefix}two"]
    with pytest.raises(SpecError, match=f"fault {prefix}one is listed twice"):
        read(f"{prefix}one", f"{prefix}two", f"{prefix}one")
    for bad in (line.replace('"tie"', '"other"'), line.replace("text:", "texts:"), line.replace('"NAME"', '"other"')):
        with pytest.raises(SpecError, match=rf"{stem}\.yaml:3: "):
            read(f"{prefix}one", text=line + bad)


def test_a_text_is_replaced_where_it_stands_once() -> None:
    assert replaced_once("a b c", "b", "d", "fault x", "file") == "a d c"
    for text, new in (("a b b", "d"), ("a c", "d"), ("a b c", "b")):
        with pytest.raises(FileError, match=r"fault x: 'b' stands \d times in file: it must stand there once"):
            replaced_once(text, "b", new, "fault x", "file")


def test_a_row_is_about_the_classes_of_its_flags() -> None:
    assert is_about("tie", ["value", "tie"]) and is_about("decode", ["value"])
    assert not is_about("tie", ["value"]) and not is_about("tie", [])
    with pytest.raises(KeyError):
        is_about("tie", ["nothing"])
