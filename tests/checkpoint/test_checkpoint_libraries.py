"""The libraries write the files anew: every tensor is that of the recorded text, so the recorded files are theirs.

Run in an environment with the extra [foreign]; skipped elsewhere. EMU_NEED_FOREIGN: fail where a library is absent.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emu.checkpoint import identify_files

HERE = Path(__file__).parent
RECORDED = sorted(path.stem for path in (HERE / "files").glob("*.json"))
SECONDS = 500


def absent(libraries: tuple[str, ...]) -> str | None:
    """The first library that is not installed."""
    for name in libraries:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return name
    return None


@pytest.fixture(scope="module")
def made(make_files: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the installed libraries write, in one process of their own: their imports are slow and warn."""
    missing = {name: absent(libraries) for name, (libraries, _) in make_files.FILES.items()}
    present = [name for name, library in missing.items() if library is None]
    if os.environ.get("EMU_NEED_FOREIGN"):
        assert len(present) == len(missing), f"not installed: {sorted({item for item in missing.values() if item})}"
    if not present:
        pytest.skip("writing files needs the extra [foreign]: none of its libraries is installed")
    folder = tmp_path_factory.mktemp("made")
    command = [sys.executable, "-W", "ignore", str(HERE / "make_files.py"), str(folder), *present]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.parametrize("name", RECORDED)
def test_the_library_writes_what_is_recorded(
    name: str, make_files: Any, made: Path, recorded: Callable[[str], Path], parts: Any, original: Callable[[str], Path]
) -> None:
    library = absent(make_files.FILES[name][0])
    if library is not None:
        pytest.skip(f"{library} is not installed (extra [foreign])")
    old, new = recorded(name), made / name
    assert {path.name for path in old.iterdir()} == {path.name for path in new.iterdir()}
    for path in old.iterdir():
        if path.suffix == ".safetensors":  # the order of its header is not that of the library alone
            mine, theirs = ({key: (*item[:2], item[2].tobytes()) for key, item in parts(at).items()} for at in (path, new / path.name))
            assert mine == theirs
        else:
            assert path.read_bytes() == (new / path.name).read_bytes()
    dtype = "float32" if name in ("compressed_tensors_nvfp4", "torchao_nvfp4_1level") or name.startswith("gguf") else "bfloat16"
    ours, again = (identify_files(at, original(dtype)).json() for at in (old, new))
    assert ours["tensors"] == again["tensors"] and ours["recipes"] == again["recipes"]


def test_every_file_of_the_script_is_recorded(make_files: Any) -> None:
    assert sorted(make_files.FILES) == RECORDED
