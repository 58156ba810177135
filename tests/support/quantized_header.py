"""The metadata in the header of a file of emu quantize, read and changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emu.files.stored import KEY


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


def _split(path: Path) -> tuple[dict[str, Any], bytes]:
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:end]), raw[end:]
