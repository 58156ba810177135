"""Tools run from the clone, with the installed emu: the clone stands at the end of the path."""

import os
import subprocess
import sys
from pathlib import Path


def test_the_installed_package_comes_before_the_checkout(checkout: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site" / "emu" / "__init__.py"
    installed.parent.mkdir(parents=True)
    installed.touch()
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    for code in ("import tools, emu; print(emu.__file__)", "import tools, research; print(research.__file__)"):
        done = subprocess.run([sys.executable, "-c", code], cwd=checkout, env=environment, capture_output=True, text=True, check=True)
        assert Path(done.stdout.strip()) in (installed, checkout / "research" / "__init__.py")
        assert ("research" in code) == done.stdout.strip().endswith("research/__init__.py")
