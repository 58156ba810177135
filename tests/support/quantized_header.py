"""The metadata in the header of a file of emu quantize: read, changed, and as version 2 had it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

from emu.files.stored import KEY
from emu.ops.quantized import checksum


def about_of(path: Path) -> dict[str, Any]:
    """Return what the header of a file says of its tensors."""
    found: dict[str, Any] = json.loads(_split(path)[0]["__metadata__"][KEY])
    return found


def change_about(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change what the header of a file says, in the file. Returns: its path."""
    header, data = _split(path)
    about = json.loads(header["__metadata__"][KEY])
    change(about)
    header["__metadata__"][KEY] = json.dumps(about)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def as_version_2(path: Path) -> Path:
    """Turn a file of one recipe into what emu wrote before version 3, in the file. Returns: its path."""
    arrays = load_file(path)

    def change(about: dict[str, Any]) -> None:
        ((recipe, facts),) = about.pop("recipes").items()
        about |= {"version": 2, "recipe": recipe} | facts
        for name, entry in about["tensors"].items():
            del entry["recipe"]
            levels = {level: arrays[f"{name or 'array'}.level.{level}"] for level in entry["levels"]}
            entry["sha256"] = checksum(arrays[f"{name or 'array'}.codes"], levels)

    return change_about(path, change)


def _split(path: Path) -> tuple[dict[str, Any], bytes]:
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:end]), raw[end:]
