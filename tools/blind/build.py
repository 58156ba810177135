"""The compiled extensions of a copy of a clone, made once more with one changed file: only what reads that file is compiled again.

The changed text is there while it is compiled: tests that look at sources see the right ones, and the extension names the digest of those.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from emu.base.errors import EngineError, ToolError

EXTENSIONS: Final = {  # folder of C sources -> build script and module
    "c_ref/": ("c_ref/build.py", "emu/engines/c_ref/_c.abi3.so"),
    "emu/engines/native/kernels/": ("emu/engines/native/kernels/build.py", "emu/engines/native/_kernels.abi3.so"),
}
_PLAN: Final = """
import json, runpy, sys
made = runpy.run_path(sys.argv[1])["ffi"].distutils_extension(sys.argv[2])
print(json.dumps([made.sources, made.include_dirs, made.extra_compile_args]))
"""


def folder_of(file: str) -> str:
    """Return the folder of EXTENSIONS in which a file is. Raises: EngineError."""
    for folder in EXTENSIONS:
        if file.startswith(folder):
            return folder
    raise EngineError(f"{file}: is compiled into no extension")


class Library:
    """An extension in a copy of a clone, every object of it kept."""

    def __init__(self, place: Path, objects: Path, folder: str, texts: Mapping[str, bytes] | None = None, unit: Path | None = None) -> None:
        """place: the copy.   objects: a new folder.   folder: of EXTENSIONS.   texts: of files, other than theirs.   unit: one more source.

        Raises: ToolError (no compiler), EngineError (it refuses).
        """
        script, module = EXTENSIONS[folder]
        self.place, self.objects, self.module = place, objects, place / module
        self.compiler = [*["ccache"] * bool(shutil.which("ccache")), *str(sysconfig.get_config_var("CC") or "cc").split()]
        objects.mkdir(parents=True)
        plan = self._run([sys.executable, "-P", "-c", _PLAN, script, str(objects)]).splitlines()[-1]
        sources, folders, arguments = json.loads(plan)
        self.arguments = ["-DNDEBUG", "-fPIC", *arguments, *(f"-I{name}" for name in [*folders, sysconfig.get_path("include")])]
        self.arguments += ["-O1"] * bool(unit)  # with marks the kernels take minutes otherwise
        self.units = {name: objects / f"{number}.o" for number, name in enumerate([*sources, *[str(unit)] * bool(unit)])}
        right = {file: (place / file).read_bytes() for file in texts or ()}
        for file in right:
            (place / file).write_bytes((texts or {})[file])
        try:
            for name, kept in self.units.items():
                self._compile(name, kept)
        finally:
            for file, text in right.items():
                (place / file).write_bytes(text)
        self.put({})

    def changed(self, file: str, text: bytes) -> dict[str, Path]:
        """Compile with another text of a file; return unit -> its object, of those that came out other than the right ones.

        Raises: EngineError (the compiler refuses it).
        """
        path, found = self.place / file, {}
        right = path.read_bytes()
        readers = [name for name in self.units if name == file or f'#include "{path.name}"' in (self.place / name).read_text("utf-8")]
        path.write_bytes(text)
        try:
            for number, name in enumerate(readers):
                made = self.objects / f"changed_{number}.o"
                self._compile(name, made)
                if made.read_bytes() != self.units[name].read_bytes():
                    found[name] = made
        finally:
            path.write_bytes(right)
        return found

    def put(self, changed: dict[str, Path]) -> None:
        """Link the extension of the copy: of the right objects, but for those that are given."""
        self.module.unlink(missing_ok=True)  # a new file: a process may have loaded the old one
        objects = [str(changed.get(name, kept)) for name, kept in self.units.items()]
        self._run([*self.compiler, "-shared", *objects, "-o", str(self.module)])

    def _compile(self, unit: str, made: Path) -> None:
        self._run([*self.compiler, *self.arguments, "-c", unit, "-o", str(made)])

    def _run(self, command: Sequence[str]) -> str:
        try:
            done = subprocess.run(command, check=False, cwd=self.place, capture_output=True, encoding="utf-8", errors="replace")
        except OSError as error:
            raise ToolError(f"{command[0]}: {error.strerror}: mutants of C need a C compiler") from None
        if done.returncode:
            raise EngineError(f"{command[0]} ends with {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout
