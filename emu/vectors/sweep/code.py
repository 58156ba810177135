"""The digest of the code that a sweep judged: a later reader sees whether the engines have changed since."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

from emu.base.caches import bounded

FOLDERS: Final = ("exact", "numpy", "native")
SUFFIXES: Final = (".py", ".c", ".h")


@bounded(1)
def code_sha256() -> str:
    """Return one sha256 over the files of the reference model and the engines, and over the digest of the compiled C reference."""
    from emu.engines.c_ref._c import ffi, lib

    root = Path(str(files("emu")))
    paths = sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)
    digest = sha256(ffi.string(lib.emu_source_digest))
    for path in paths:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
