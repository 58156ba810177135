"""Names of vector files: the stem, shards, and the folder of an operation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from emu.base.errors import FileError
from emu.spec.contract import GRAMMARS

OPERATIONS: Final = GRAMMARS  # by name, in the order of reports; a registered operation is among them
SUITES: Final = ("smoke", "directed", "all", "random", "kill")
BENCH: Final = "bench"  # the folder of benches and reference designs beside the operations; no suites
SHARD_ROWS: Final = 1 << 16
SCHEMA: Final = "emu-vectors-1"
VECTORS_VERSION: Final = "1.2.0"
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
