"""Designs in VHDL on the bench kit: ghdl makes Verilog of them, which every simulator of the kit takes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emu.base.errors import FileError, ToolError
from emu.rtl.simulate.simulator import COMPILE_SECONDS, execute

ENDINGS: Final = (".vhd", ".vhdl")


def as_verilog(files: Sequence[Path], module: str, work: Path) -> tuple[Path, ...]:
    """Return the files of a design with those in VHDL replaced by one file of Verilog; the same files where none is VHDL.

    module: the entity on top of the VHDL files.   work: an existing folder for what is made.
    Raises: ToolError (no ghdl), FileError (the files do not compile).   Tests: tests/rtl/test_rtl_protocols.py.
    """
    sources = [file.resolve() for file in files if file.suffix in ENDINGS]
    if not sources:
        return tuple(files)
    ghdl = shutil.which("ghdl")
    if ghdl is None:
        raise ToolError(f"ghdl: not installed: {sources[0].name} is VHDL (Debian: apt-get install ghdl)")
    command = [ghdl, "--synth", "--std=08", "--out=verilog", *map(str, sources), "-e", module]
    status, text = execute(command, work, COMPILE_SECONDS)
    start = text.find("module ")
    if status != 0 or start < 0:
        said = next((line for line in text.splitlines() if "error" in line or ":" in line), f"code {status}")
        raise FileError(f"ghdl: the design does not compile: {said.strip()}")
    made = work / f"{module}_from_vhdl.v"
    made.write_text(text[start:], encoding="utf-8")
    return (*(file for file in files if file.suffix not in ENDINGS), made)
