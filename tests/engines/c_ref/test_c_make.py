"""c_ref/Makefile and the sources of the command: clean under both compilers, no floating point, no allocation."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

MAKE = shutil.which("make")


@pytest.mark.cases(0, 1)  # compiles the reference twice
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_make_check_is_clean(checkout: Path, compiler: str) -> None:
    if MAKE is None or shutil.which(compiler) is None:
        pytest.skip(f"no make or no {compiler} here (Debian: make {compiler})")
    done = subprocess.run([str(MAKE), "-s", "check", f"CC={compiler}"], cwd=checkout / "c_ref", capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_tool_keeps_to_its_rules(checkout: Path) -> None:
    files = sorted(path for folder in ("tool", "dpi") for path in (checkout / "c_ref" / folder).glob("*.[ch]"))
    assert len(files) > 8
    for path in files:
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"\b(float|double|calloc|realloc|math\.h)\b", text), path.name
        if path.name != "emu_dpi_library.c":  # the memory of a descriptor that a bench opens
            assert not re.search(r"\b(malloc|free|stdlib\.h)\b", text), path.name
        assert len(text.splitlines()) <= 300, path.name
