"""What a folder of vectors holds: names of files, MANIFEST.sha256, DIGESTS.sha256, errata and ERRATA.json."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.base.inputs import read_bytes
from emu.spec.contract import GRAMMARS

MANIFEST: Final = "MANIFEST.sha256"
DIGESTS: Final = "DIGESTS.sha256"
ERRATA: Final = "ERRATA.json"
COVER: Final = "COVER.json"
KILL: Final = "KILL.json"
ABOUT: Final = ("README.md", "LICENSE", "VERSION")  # beside the folders of operations, where a set is handed on
ERRATUM_KEYS: Final = ("stem", "tcId", "column", "old", "new", "why", "fixed_by")


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's bytes. Raises: OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def render_manifest(folder: Path) -> str:
    """Return the text of MANIFEST.sha256 for what a folder holds now, as sha256sum -c reads it; byte-sorted."""
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return "".join(f"{file_sha256(folder / name)}  {name}\n" for name in files if name != MANIFEST)


def listed_files(path: Path) -> dict[str, str]:
    """Return file name -> sha256 of a MANIFEST.sha256, as far as its lines have that form. Raises: OSError."""
    lines = read_bytes(path).decode("ascii", "replace").splitlines()
    return {name: digest for digest, gap, name in (line.partition("  ") for line in lines) if gap}


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
    for number, line in enumerate(read_bytes(path).decode("ascii").splitlines(), 1):
        digest, gap, stem = line.partition("  ")
        if len(digest) != 64 or not gap or not stem:
            raise FileError(f"{DIGESTS}:{number}: not `<sha256>  <stem>`")
        out[stem] = digest
    return out


# Names of vector files: the stem, shards, and the folder of an operation.


OPERATIONS: Final = GRAMMARS  # by name, in the order of reports; a registered operation is among them
SUITES: Final = ("smoke", "directed", "all", "random", "kill", "kill_more", "bits", "sums")
BENCH: Final = "bench"  # the folder of benches and reference designs beside the operations; no suites
SHARD_ROWS: Final = 1 << 16
SCHEMA: Final = "emu-vectors-1"
VECTORS_VERSION: Final = "1.3.0"
_PART: Final = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*\Z")


@dataclass(frozen=True)
class Stem:
    """The name of one suite: `<op>__<src>_to_<dst>__<part>__<suite>`."""

    op: str
    src: str
    dst: str
    part: str
    suite: str

    def __str__(self) -> str:
        return f"{self.op}__{self.src}_to_{self.dst}__{self.part}__{self.suite}"


def parse_stem(text: str) -> Stem:
    """Return the stem of a file name without its ending. Raises: FileError."""
    parts = text.split("__")
    if len(parts) != 4 or parts[0] not in OPERATIONS or parts[3] not in SUITES or not all(_PART.match(part) for part in parts):
        raise FileError(f"{text}: not the name of a vector suite: <op>__<src>_to_<dst>__<contract>__<suite>")
    src, to, dst = parts[1].partition("_to_")
    if not to:
        raise FileError(f"{text}: the second part of the name is <source>_to_<destination>")
    return Stem(parts[0], src, dst, parts[2], parts[3])


def shard_name(stem: str, index: int, count: int) -> str:
    """Return the file name of a shard without its ending; index from 0. A suite of one shard bears the stem alone."""
    return stem if count == 1 else f"{stem}.s{index:04d}of{count:04d}"


def shard_count(rows: int) -> int:
    """Return how many shards a number of rows takes."""
    return max(1, -(-rows // SHARD_ROWS))


# Errata of published rows, as data: every build applies them, so that a wrong row stays recognisable under its id.
# Entries: {stem, tcId, column, old, new, why, fixed_by}; see versioning.apply_erratum. A column whose value was wrong is an entry.


def _of_row(stem: str, tc: int, fixed_by: int, why: str, **columns: tuple[str, str]) -> tuple[dict[str, Any], ...]:
    """Return the errata of one row. columns: name -> published and right value, hexadecimal."""
    row = {"stem": stem, "tcId": tc}
    return tuple(row | {"column": name, "old": old, "new": new, "why": why, "fixed_by": fixed_by} for name, (old, new) in columns.items())


_TO_INF: Final = "a maximum of 1.75 * 2^127 and more rounds to Inf in the library, whose clamp gives the scale FE"
RELEASED: Final[tuple[dict[str, Any], ...]] = (
    *_of_row(
        "quantize__bf16_to_mxfp4__mxfp4_aiter_triton__smoke",
        10,
        11,
        _TO_INF,
        codes=("809191a2a2b3b3c4c4c4d5d5d5d5e6e6", "808091919191a2a2a2a2b3b3b3b3c4c4"),
        scale=("fd", "fe"),
    ),
    *_of_row(
        "quantize__bf16_to_mxfp4__mxfp4_quark_even__smoke",
        10,
        11,
        _TO_INF,
        codes=("009191a2a2b3b3c4c4c4d5d5d5d5e6e6", "000091919191a2a2a2a2b3b3b3b3c4c4"),
        scale=("fd", "fe"),
    ),
)


def of_stem(stem: str) -> list[dict[str, Any]]:
    """Return the errata of a suite, in the order in which they were published."""
    return [erratum for erratum in RELEASED if erratum["stem"] == stem]
