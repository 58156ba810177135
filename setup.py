"""Build of the distribution fp4emu: facts are in pyproject.toml; here are the three mapped folders and the C extension."""

import os
import shutil
import textwrap
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

shutil.rmtree(Path(__file__).resolve().parent / "build", ignore_errors=True)  # else a YAML deleted from the tree is still shipped


class BuildExt(build_ext):
    """build_ext that compiles on every core, and ends in one line when there is no working C compiler."""

    def run(self) -> None:
        """Compile the extension; on a compiler error print one line and exit with code 1."""
        try:
            super().run()
        except (CCompilerError, ExecError, PlatformError) as error:
            hint = "install a C compiler and the Python headers (Debian: gcc python3-dev)"
            raise SystemExit(f"emu: C extension: {textwrap.shorten(str(error), 120)}: {hint}") from None

    def build_extensions(self) -> None:
        """Compile the files of an extension at the same time; the largest first, linked in that order."""
        compile_some = self.compiler.compile

        def compile_all(sources: Sequence[str], *rest: Any, **options: Any) -> list[str]:
            ordered = sorted(sources, key=lambda path: (-Path(path).stat().st_size, path))
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                found = list(pool.map(lambda path: compile_some([path], *rest, **options), ordered))
            return [name for names in found for name in names]

        self.compiler.compile = compile_all
        super().build_extensions()


setup(
    packages=[*find_packages(include=["emu", "emu.*"]), "emu._spec", "emu._c_ref", "emu._bench"],
    package_dir={"emu._spec": "spec", "emu._c_ref": "c_ref", "emu._bench": "vectors/bench"},
    cffi_modules=["c_ref/build.py:ffi", "emu/engines/native/kernels/build.py:ffi"],
    cmdclass={"build_ext": BuildExt},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
