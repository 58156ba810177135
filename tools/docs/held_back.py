"""The page of what suites find that nobody recorded, from the record of mutants that contracts make of themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.pages.render import Code, render
from emu.vectors.files.manifest import parse_stem
from tools.docs import TEMPLATES

PAGE: Final = "docs/held_back.md"
RECORD: Final = "docs/evidence/held_back.json"
COMMAND: Final = "EMU_HELD=write pytest tests/mutation -m mutants -k held_back"
WANTED: Final = {"directed": 95, "chosen": 90}  # in 100


def held_back_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    path = root / RECORD
    if not path.is_file():
        return {}
    try:
        entries = json.loads(path.read_bytes())["contracts"]
        lines = [_line(entry) for entry in entries]
        below = [_below(entry, key) for key in WANTED for entry in entries if not reached(entry, key)]
        missed, escaped = ([_classes(entry, key) for entry in entries if entry[key]] for key in ("missed", "escaped"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{RECORD}: {type(error).__name__} {error}: make it again with {COMMAND}") from None
    total = sum(entry["mutants"] for entry in entries)
    text = render(
        "held_back", None, TEMPLATES, lines=lines, below=below, missed=missed, escaped=escaped, count=len(entries), total=f"{total:,}",
        command=COMMAND, record=RECORD.removeprefix("docs/"), wanted=WANTED,
    )  # fmt: skip
    return {PAGE: text}


def reached(entry: dict[str, Any], key: str) -> bool:
    """Tell whether a contract has the share that is wanted."""
    return bool(100 * entry[key] >= WANTED[key] * entry["mutants"])


def _share(part: int, whole: int) -> str:
    """Return a share in percent, rounded down: 100 only where nothing is missing."""
    tenths = 1000 * part // whole
    return f"{tenths // 10}.{tenths % 10} %" if tenths % 10 else f"{tenths // 10} %"


def _line(entry: dict[str, Any]) -> list[Any]:
    name, mutants = parse_stem(entry["stem"]), entry["mutants"]
    tried = f"{entry['tried']}" + (f" (every {entry['every']}th)" if entry["every"] > 2 else " (every 2nd)" if entry["every"] == 2 else "")
    kill = f"{_share(entry['published'], mutants)} ({entry['published_rows']})" if entry["published_rows"] else "none"
    return [
        Code(entry["contract"]), f"{name.src} to {name.dst}", tried, str(mutants), str(entry["classes"]),
        f"{_share(entry['directed'], mutants)} ({entry['directed_rows']})",
        f"{_share(entry['chosen'], mutants)} ({entry['chosen_rows']})", kill,
    ]  # fmt: skip


def _below(entry: dict[str, Any], key: str) -> str:
    return f"`{entry['stem']}`: {key} {_share(entry[key], entry['mutants'])} of {entry['mutants']}"


def _classes(entry: dict[str, Any], key: str) -> list[Any]:
    found = sorted(entry[key].items(), key=lambda item: (-item[1], item[0]))
    told = "; ".join(f"{kind} ({count})" for kind, count in found[:6])
    return [Code(entry["stem"].removesuffix("__directed")), told + (f"; and {len(found) - 6} more classes" if len(found) > 6 else "")]
