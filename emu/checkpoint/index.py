"""Which files make up a checkpoint: one file, a folder, or an index that names them. An index never leads out of its folder."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath, PureWindowsPath

from emu.base.errors import FileError

SUFFIXES = (".safetensors", ".gguf")
INDEX = ".safetensors.index.json"


def files_of(root: Path) -> tuple[list[Path], dict[str, Path]]:
    """Return the tensor files of a checkpoint, and where an index places each tensor ({} without one).

    Raises: FileError (missing, nothing there, kinds mixed, a bad index).
    """
    if not root.exists():
        raise FileError(f"{root}: no such file or folder")
    if root.is_dir():
        indexes = sorted(root.glob(f"*{INDEX}"))
        if len(indexes) > 1:
            raise FileError(f"{root}: holds {len(indexes)} indexes: name one of them")
        if indexes:
            return _indexed(indexes[0])
        for suffix in SUFFIXES:
            found = sorted(root.glob(f"*{suffix}"))
            if found:
                return found, {}
        raise FileError(f"{root}: a folder without {' or '.join(SUFFIXES)} files")
    if root.name.endswith(INDEX):
        return _indexed(root)
    if root.suffix not in SUFFIXES:
        raise FileError(f"{root}: is no checkpoint: give {', '.join(SUFFIXES)}, *{INDEX} or a folder")
    return [root], {}


def _indexed(path: Path) -> tuple[list[Path], dict[str, Path]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        placed = data["weight_map"]
        pairs = [(str(name), file) for name, file in placed.items()]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{path}: is no index of tensors (weight_map: name -> file): {type(error).__name__}") from None
    if not pairs:
        raise FileError(f"{path}: names no tensor")
    found = {name: _beside(path, file) for name, file in pairs}
    return sorted(set(found.values())), found


def _beside(index: Path, name: object) -> Path:
    """Return a file beside an index. Raises: FileError for any name that is no plain file name, and for a missing file."""
    if not isinstance(name, str) or name in ("", ".", "..") or PurePosixPath(name).name != name or PureWindowsPath(name).name != name:
        raise FileError(f"{index}: {name!r} is no plain file name: an index names files of its own folder")
    if Path(name).suffix != ".safetensors":
        raise FileError(f"{index}: {name!r} is no .safetensors file")
    file = index.parent / name
    if not file.is_file():
        raise FileError(f"{index}: names {name}, which is not there: fetch it")
    return file
