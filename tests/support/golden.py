"""Golden files: with a fault in them, for tests of what reads them, and which are of datapaths of levels."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get, names


def recounted(text: str, by: int) -> str:
    """The text with a trailer that counts so many rows more."""
    head, _, trailer = text.rstrip("\n").rpartition("\n")
    digits = trailer.replace("_", "").replace(" ", "")
    number = f"e{int(digits[1:], 16) + by:0{len(digits) - 1}x}"
    marks = iter(number)
    return head + "\n" + "".join(mark if mark in "_ " else next(marks) for mark in trailer) + "\n"


def levels_stems(folder: Path, stems: Iterable[str]) -> set[str]:
    """Return the suites whose contract is of a datapath of levels. folder: vectors, with a folder for each operation."""
    return {stem for stem in stems if _is_of_levels(folder, stem)}


def series_stems(folder: Path, stems: Iterable[str]) -> set[str]:
    """Return the suites whose contract names a format that no list has: a member of a series. folder: as levels_stems."""
    listed = set(names("format"))
    return {stem for stem in stems if any(kind == "format" and name not in listed for kind, name in _named(folder, stem))}


def _is_of_levels(folder: Path, stem: str) -> bool:
    return any(kind == "datapath" and isinstance(get("datapath", name).facts, DatapathLevels) for kind, name in _named(folder, stem))


def _named(folder: Path, stem: str) -> list[list[str]]:
    """The objects that the contract of a suite names, as (kind, name)."""
    record = folder / stem.partition("__")[0] / f"{stem}.json"
    return [name.split("/") for name in json.loads(record.read_text(encoding="ascii"))["contract"]["spec"]]
