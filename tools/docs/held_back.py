"""The page of what suites find that nobody recorded, from the record of mutants that contracts make of themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.files.record import Data, Record, all_open
from emu.pages.render import Code, render
from emu.vectors.files.manifest import parse_stem
from emu.vectors.suites.own import NARROW
from tools.docs import TEMPLATES

PAGE: Final = "docs/held_back.md"
RECORD: Final = "docs/evidence/held_back.json"
COMMAND: Final = "EMU_HELD=write pytest tests/mutation -m mutants -k held_back"
KIND: Final = Record("record of classes held back", f"make it again with {COMMAND}", all_open, ("schema", "command", "contracts"))
FEW: Final = 3  # an edit with fewer mutants has no row of its own
TOLD: Final = 6  # places, or classes, that are named
WANTED: Final = {"directed": 95, "chosen": 90}  # in 100


def held_back_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the page; nothing where the tree holds no record. Raises: FileError (a damaged record)."""
    path = root / RECORD
    if not path.is_file():
        return {}
    entries = KIND.read(path)["contracts"]
    try:
        lines = [_line(entry) for entry in entries]
        below = [_below(entry, key) for key in WANTED for entry in entries if not reached(entry, key)]
        missed, escaped = (_classes([entry[key] for entry in entries]) for key in ("missed", "escaped"))
    except (ValueError, KeyError, TypeError) as error:
        raise FileError(f"{RECORD}: {type(error).__name__} {error}: make it again with {COMMAND}") from None
    total = sum(entry["mutants"] for entry in entries)
    met = {key: sum(reached(entry, key) for entry in entries) for key in WANTED}
    thinned = [entry["every"] for entry in entries if entry["every"] > 1]
    text = render(
        "held_back", None, TEMPLATES, lines=lines, below=below, missed=_most(missed), escaped=_most(escaped), count=len(entries),
        total=f"{total:,}", met=met, thinned=thinned, command=COMMAND, record=RECORD.removeprefix("docs/"), wanted=WANTED, narrow=NARROW,
    )  # fmt: skip
    return {PAGE: text}


def reached(entry: Data, key: str) -> bool:
    """Tell whether a contract has the share that is wanted."""
    return bool(100 * entry[key] >= WANTED[key] * entry["mutants"])


def _share(part: int, whole: int) -> str:
    """Return a share in percent, rounded down: 100 only where nothing is missing."""
    tenths = 1000 * part // whole
    return f"{tenths // 10}.{tenths % 10} %" if tenths % 10 else f"{tenths // 10} %"


def _line(entry: Data) -> list[Any]:
    name, mutants = parse_stem(entry["stem"]), entry["mutants"]
    kill = f"{_share(entry['published'], mutants)} ({entry['published_rows']})" if entry["published_rows"] else "none"
    return [
        Code(entry["contract"]), f"{name.src} to {name.dst}", str(mutants),
        f"{_share(entry['directed'], mutants)} ({entry['directed_rows']})",
        f"{_share(entry['chosen'], mutants)} ({entry['chosen_rows']})", kill,
    ]  # fmt: skip


def _below(entry: Data, key: str) -> str:
    left = _told(entry["missed" if key == "directed" else "escaped"])
    return f"`{entry['stem']}`: {key} {_share(entry[key], entry['mutants'])} of {entry['mutants']}; left: {left}"


def _classes(entries: Sequence[Data]) -> list[tuple[str, int, int, str]]:
    """Return (what is edited how, mutants left, contracts that have some, where with mutants) of what each contract leaves, most first."""
    places: dict[str, Counter[str]] = {}
    contracts = Counter[str]()
    for left in entries:
        for kind, count in left.items():
            place, _, edit = kind.rpartition(" / ")
            places.setdefault(edit, Counter())[place] += count
        contracts.update({kind.rpartition(" / ")[2] for kind in left})
    rows = [(edit, sum(found.values()), contracts[edit], _places(found)) for edit, found in places.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def _most(rows: list[tuple[str, int, int, str]]) -> list[tuple[str, int, Any, str]]:
    """Return the edits with FEW mutants or more; the others in one row."""
    few = [row for row in rows if row[1] < FEW]
    rest = (f"{len(few)} other edits, fewer than {FEW} mutants each", sum(row[1] for row in few), "", "")
    return [row for row in rows if row[1] >= FEW] + ([rest] if few else [])


def _places(found: Counter[str]) -> str:
    told = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    shown, rest = told[:TOLD], told[TOLD:]
    words = [f"{place} {count}" if place else str(count) for place, count in shown]
    return ", ".join(words + ([f"{len(rest)} other places {sum(count for _, count in rest)}"] if rest else []))


def _told(classes: Data) -> str:
    """Return the classes of which most mutants are left."""
    found = sorted(classes.items(), key=lambda item: (-item[1], item[0]))
    told = "; ".join(f"{kind} ({count})" for kind, count in found[:TOLD])
    return told + (f"; and {len(found) - TOLD} more classes" if len(found) > TOLD else "")
