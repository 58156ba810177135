"""`import emu` in a clone after `pip install .`: the clone's emu/ has no compiled parts and hides the installed package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import emu

CODE = """
import emu, numpy as np
print(emu.__file__)
q = emu.quantize(np.full((1, 16), 6, np.float32), "nvfp4_te_ref")
print(q.codes[0, 0], emu.spec.get("format", "e2m1").id, emu.engines.table.__file__)
"""


@pytest.fixture
def clone(checkout: Path, tmp_path: Path) -> Path:
    """The sources as git has them: nothing compiled."""
    shutil.copytree(checkout / "emu", tmp_path / "emu", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copytree(checkout / "spec", tmp_path / "spec")
    return tmp_path


def python(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run([sys.executable, *words], cwd=clone, env=variables, capture_output=True, text=True)


def test_the_installed_package_is_used(clone: Path) -> None:
    done = python(clone, "-c", CODE)
    assert done.returncode == 0, done.stderr
    where, result = done.stdout.splitlines()
    home = Path(emu.__file__).parent
    assert Path(where) == home / "__init__.py" and result.split() == ["7", "e2m1", str(home / "engines" / "table.py")]


def test_without_an_installed_package_one_line_says_what_to_do(clone: Path) -> None:
    done = python(clone, "-S", "-c", "import emu")  # -S: no site-packages
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[-1].startswith(f"ImportError: emu: {clone / 'emu'} is source whose C parts are not compiled")
    assert lines[-1].endswith(f"pip install {clone}")
