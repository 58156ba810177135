"""Small checkpoints of the real libraries, unpacked from text; the weights they hold; and a writer of files with any bytes."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

HERE = Path(__file__).parent
RECORDED = sorted(path.stem for path in (HERE / "files").glob("*.json"))


@pytest.fixture(scope="session")
def make_files() -> ModuleType:
    """The script that made the recorded files."""
    spec = importlib.util.spec_from_file_location("make_files", HERE / "make_files.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function: name of a recorded checkpoint -> a folder with its files, shared: do not change it."""
    root = tmp_path_factory.mktemp("recorded")

    def unpack(name: str) -> Path:
        folder = root / name
        if not folder.exists():
            folder.mkdir()
            for file, text in json.loads((HERE / "files" / f"{name}.json").read_text(encoding="utf-8"))["files"].items():
                (folder / file).write_bytes(bytes.fromhex(text))
        return folder

    return unpack


@pytest.fixture(scope="session")
def original(make_files: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function: dtype -> a file with the weights before quantization, under the names of every store."""
    root = tmp_path_factory.mktemp("original")

    def write(dtype: str) -> Path:
        path = root / f"{dtype}.safetensors"
        if not path.exists():
            tensors = {}
            for number, name in enumerate(make_files.MODULES):
                found = make_files.weight(name, dtype=dtype)
                tensors |= {f"{name}.weight": found, name: found, f"blk.0.attn_{'qk'[number]}.weight": found}
            save_file(tensors, path)
        return path

    return write


@pytest.fixture
def write() -> Callable[..., Path]:
    """A function: path, {name: (type word, shape, array)} and metadata -> a .safetensors file with exactly that."""

    def made(path: Path, tensors: dict[str, tuple[str, tuple[int, ...], Any]], metadata: dict[str, str] | None = None) -> Path:
        header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
        data = b""
        for name, (word, shape, array) in tensors.items():
            raw = np.ascontiguousarray(array).tobytes()
            header[name] = {"dtype": word, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
            data += raw
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)
        return path

    return made


@pytest.fixture
def parts() -> Callable[[Path], dict[str, tuple[str, tuple[int, ...], Any]]]:
    """A function: a .safetensors file -> its tensors in the form that `write` takes, arrays writable."""

    def read(path: Path) -> dict[str, tuple[str, tuple[int, ...], Any]]:
        raw = path.read_bytes()
        length = int.from_bytes(raw[:8], "little")
        found = {}
        for name, about in json.loads(raw[8 : 8 + length]).items():
            if name != "__metadata__":
                start, end = about["data_offsets"]
                data = np.frombuffer(raw[8 + length + start : 8 + length + end], np.uint8).copy()
                found[name] = (about["dtype"], tuple(about["shape"]), data)
        return found

    return read
