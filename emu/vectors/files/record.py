"""Writer of `<stem>.json`, the master record: contract, columns, notes, digests, and the tests of suites with at most 16 narrow rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from emu.contracts.columns import Column, Layout
from emu.contracts.rows import Row
from emu.vectors.suites import notes

MOST_TESTS: Final = 16  # the rows of longer suites are in `.mem` and `.tv` alone
MOST_BITS: Final = 128  # of a word; wider rows are in `.mem` and `.tv` alone
KEYS: Final = (
    "schema", "stem", "op", "suite", "numberOfTests", "vectors_version", "contract", "aliases", "space", "columns", "shards", "notes",
    "generator", "rows_sha256", "groups",
)  # fmt: skip


def lists_tests(layout: Layout, rows: int) -> bool:
    """Tell whether the JSON record of a suite lists its rows."""
    return rows <= MOST_TESTS and layout.width <= MOST_BITS


class Groups:
    """Collects the groups of a suite while its rows stream by in order."""

    def __init__(self, layout: Layout, with_tests: bool) -> None:
        self.layout, self.with_tests = layout, with_tests
        self.groups: list[dict[str, Any]] = []
        self.flags: dict[str, None] = {}
        self.count = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Take the next rows."""
        for name, found in groupby(rows, key=lambda row: row.group):
            members = list(found)
            flags = dict.fromkeys(flag for row in members for flag in row.flags)
            self.flags |= flags
            if not self.groups or self.groups[-1]["name"] != name:
                self.groups.append(
                    {"name": name, "comment": ""}
                    | ({"tests": []} if self.with_tests else {"tcFirst": self.count + 1, "rows": 0, "flags": []})
                )
            group = self.groups[-1]
            if self.with_tests:
                group["tests"] += [self.test(self.count + 1 + place, row) for place, row in enumerate(members)]
            else:
                group["rows"] += len(members)
                group["flags"] = list(dict.fromkeys((*group["flags"], *flags)))
            self.count += len(members)

    def test(self, number: int, row: Row) -> dict[str, Any]:
        """Return one entry of `tests`. mask and kind are left out where they say nothing: all ones, all zero."""
        named = {column.name: (column, value) for column, value in zip(self.layout.columns, row.values, strict=True)}

        def part(*roles: str) -> dict[str, str]:
            return {name: text(column, value) for name, (column, value) in named.items() if column.role in roles}

        out: dict[str, Any] = {"tcId": number, "flags": list(row.flags), "in": part("in", "r"), "out": part("out")}
        if any(value != (1 << column.bits) - 1 for column, value in named.values() if column.role == "mask"):
            out["mask"] = part("mask")
        if any(value for column, value in named.values() if column.role == "kind"):
            out["kind"] = part("kind")
        if any(column.role == "stage" for column, _ in named.values()):
            out["stages"] = part("stage")
        return out | {"comment": row.comment}


def text(column: Column, value: int) -> str:
    """Return a column's value as its hex string."""
    return f"{value:0{column.digits}x}"


def used_notes(groups: Groups) -> dict[str, dict[str, Any]]:
    """Return the notes of every flag that the groups use."""
    return notes.described(groups.flags)


def render(record: dict[str, Any]) -> str:
    """Return the text of the JSON file: keys in their order, 1-space indent, one line per column, shard, note and test; ASCII.

    Raises: KeyError when a key is missing.
    """
    lines = []
    for key in KEYS:
        value = record[key]
        if key in ("columns", "shards") and value:
            body = _listed([_line(item) for item in value], 2)
            lines.append(f' "{key}": [\n{body}\n ]')
        elif key == "notes" and value:
            body = _listed([f"{json.dumps(flag)}:{_line(note)}" for flag, note in value.items()], 2)
            lines.append(f' "{key}": {{\n{body}\n }}')
        elif key == "groups" and value:
            lines.append(f' "{key}": [\n{_listed([_group(group) for group in value], 2)}\n ]')
        else:
            lines.append(f' "{key}": {_line(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _listed(items: Sequence[str], indent: int) -> str:
    return ",\n".join(" " * indent + item for item in items)


def _group(group: dict[str, Any]) -> str:
    if "tests" not in group:
        return _line(group)
    head = _line({key: value for key, value in group.items() if key != "tests"})[:-1]
    return f'{head}, "tests": [\n{_listed([_line(test) for test in group["tests"]], 3)}\n  ]}}'
