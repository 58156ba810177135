"""The source tree as git sees it: which files, and their bytes as digests. Not here: what is done with them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from tools.processes import git


def files_of(root: Path) -> list[str]:
    """Return the files that are tracked, or new and not ignored, and are there; paths relative to the root, sorted."""
    listed = git(root, "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    return sorted({path for path in listed if path and (root / path).is_file()})


def snapshot(root: Path) -> dict[str, str]:
    """Return path -> SHA-256 of its bytes and of whether it may be run, for every file of the tree."""
    return {path: _digest(root / path) for path in files_of(root)}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes() + bytes([os.access(path, os.X_OK)])).hexdigest()


def digest(files: Mapping[str, str]) -> str:
    """Return one SHA-256 of a snapshot."""
    return hashlib.sha256("".join(f"{name}\0{value}\n" for name, value in sorted(files.items())).encode()).hexdigest()


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return the paths that two snapshots do not have alike, sorted."""
    return sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
