"""Writers of MANIFEST.sha256 (every file of a folder but itself), DIGESTS.sha256 (suites that are not shipped) and ERRATA.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError

MANIFEST: Final = "MANIFEST.sha256"
DIGESTS: Final = "DIGESTS.sha256"
ERRATA: Final = "ERRATA.json"
COVER: Final = "COVER.json"
KILL: Final = "KILL.json"
ERRATUM_KEYS: Final = ("stem", "tcId", "column", "old", "new", "why", "fixed_by")


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes. Raises: OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def render_manifest(folder: Path) -> str:
    """Return the text of MANIFEST.sha256 for what a folder holds now, as sha256sum -c reads it; byte-sorted."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return "".join(f"{file_sha256(folder / name)}  {name}\n" for name in files if name != MANIFEST)


def render_digests(digests: Mapping[str, str]) -> str:
    """Return the text of DIGESTS.sha256. digests: stem -> rows_sha256."""
    return "".join(f"{digests[stem]}  {stem}\n" for stem in sorted(digests))


def render_errata(errata: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of ERRATA.json: one erratum per line, keys in their order."""
    if not errata:
        return "[]\n"
    return "[\n" + ",\n".join(" " + json.dumps({key: item[key] for key in ERRATUM_KEYS}) for item in errata) + "\n]\n"


def read_digests(folder: Path) -> dict[str, str]:
    """Return stem -> rows_sha256 of a folder's DIGESTS.sha256; nothing where it has none. Raises: FileError for another form."""
    path = folder / DIGESTS
    if not path.is_file():
        return {}
    out = {}
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        digest, gap, stem = line.partition("  ")
        if len(digest) != 64 or not gap or not stem:
            raise FileError(f"{DIGESTS}:{number}: not `<sha256>  <stem>`")
        out[stem] = digest
    return out
