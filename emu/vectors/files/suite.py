"""A suite read back from its files: strict, and every file must be what the writers make of the JSON record and the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from emu.base.errors import FileError
from emu.base.inputs import read_bytes, read_json
from emu.contracts.columns import Layout, layout_from
from emu.contracts.rows import Row
from emu.spec.models import SpecObject
from emu.vectors.files import lint, record, writers
from emu.vectors.files.manifest import SCHEMA, SHARD_ROWS, parse_stem, shard_count, shard_name
from emu.vectors.files.schema_check import check
from emu.vectors.files.writers import counts_of
from emu.vectors.suites import notes
from emu.vectors.suites.plan import SuitePlan

ENDINGS: Final = (".json", ".desc", ".neg.mem", ".mem", ".tv", ".svh", ".h")


@dataclass(frozen=True)
class Suite:
    """record: the JSON data.   rows: all of them, shards in order, with the group each belongs to."""

    record: dict[str, Any]
    layout: Layout
    rows: tuple[Row, ...]

    @property
    def stem(self) -> str:
        """The file name without ending."""
        return str(self.record["stem"])


def stem_of(name: str) -> str | None:
    """Return the stem that a file name belongs to; None for a file of another kind."""
    if name != name.lower():
        return None  # ERRATA.json and the other records of a folder
    for ending in ENDINGS:
        if name.endswith(ending):
            base = name[: -len(ending)]
            head, dot, shard = base.partition(".s")
            return head if dot and shard[:4].isdigit() else base
    return None


def rows_sha256(layout: Layout, rows: Iterable[Row]) -> str:
    """Return the digest of rows as `.tv` lines, the trailer left out."""
    digest = hashlib.sha256()
    for line in writers.row_lines(layout, rows):
        digest.update(line.encode("ascii") + b"\n")
    return digest.hexdigest()


def shard_entry(layout: Layout, rows: Sequence[Row], name: str, first: int) -> dict[str, Any]:
    """Return the entry of `shards` of one shard. name: its file name without ending.   first: tcId of its first row."""
    return {"file": f"{name}.mem", "tcFirst": first, "rows": len(rows), "sha256": rows_sha256(layout, rows)}


def shard_texts(layout: Layout, rows: Sequence[Row], entry: dict[str, Any], negative: int) -> dict[str, str]:
    """Return file name -> text of the files of one shard. negative: rows of the `.neg.mem`."""
    name, first = entry["file"].removesuffix(".mem"), entry["tcFirst"]
    counts = counts_of(layout, rows, name, first, negative, entry["sha256"])
    return {
        f"{name}.mem": writers.render_mem(layout, rows, first),
        f"{name}.tv": writers.render_tv(layout, rows),
        f"{name}.svh": writers.render_svh(layout, counts),
        f"{name}.h": writers.render_h(layout, counts),
    }


def shards_of(stem: str, layout: Layout, rows: tuple[Row, ...]) -> list[tuple[dict[str, Any], tuple[Row, ...]]]:
    """Return (entry of `shards`, rows) of every shard."""
    count = shard_count(len(rows))
    out = []
    for index in range(count):
        part = rows[index * SHARD_ROWS : (index + 1) * SHARD_ROWS]
        out.append((shard_entry(layout, part, shard_name(stem, index, count), 1 + index * SHARD_ROWS), part))
    return out


def render(suite: Suite) -> dict[str, str]:
    """Return file name -> text of every file of a suite, made from its record and rows. Raises: FileError (a self-test is impossible)."""
    layout, stem = suite.layout, suite.stem
    shards = shards_of(stem, layout, suite.rows)
    negative = writers.negative_rows(layout, shards[0][1])
    out = {f"{stem}.json": record.render(suite.record), f"{stem}.neg.mem": writers.render_mem(layout, negative)}
    out[f"{stem}.desc"] = writers.render_desc(layout, stem, len(suite.rows), suite.record["rows_sha256"])
    for entry, rows in shards:
        out |= shard_texts(layout, rows, entry, len(negative))
    return out


def refreshed(data: dict[str, Any], layout: Layout, rows: tuple[Row, ...]) -> dict[str, Any]:
    """Return a record with everything that follows from the rows made again: counts, digests, notes, groups."""
    groups = record.Groups(layout, record.lists_tests(layout, len(rows)))
    groups.add(rows)
    return data | {
        "numberOfTests": len(rows),
        "shards": [entry for entry, _ in shards_of(data["stem"], layout, rows)],
        "notes": record.used_notes(groups),
        "rows_sha256": rows_sha256(layout, rows),
        "groups": groups.groups,
    }


def load(folder: Path, stem: str) -> Suite:
    """Return the suite of a stem, checked file by file.

    Raises: FileError naming file and line: a missing or foreign file, one of the file defects, a count, digest or text that does not follow
    from the rows.
    """
    name = parse_stem(stem)
    data = _json(folder / f"{stem}.json")
    try:
        layout = layout_from(data["columns"])
        head = (data["schema"], data["stem"], data["op"], data["suite"])
        listed = [(entry["file"], entry["tcFirst"]) for entry in data["shards"]]
        shared = _group_names(data["groups"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileError(f"{stem}.json: not an {SCHEMA} record: {error!r}") from None
    check(data, "vectors", f"{stem}.json")
    if head != (SCHEMA, stem, name.op, name.suite):
        raise FileError(f"{stem}.json: schema, stem, op and suite {head} do not rebuild the file name")
    rows: list[Row] = []
    for file, first in listed:
        rows += _shard(folder, str(file), layout, first)
    if len(shared) != len(rows):
        raise FileError(f"{stem}.json: its groups hold {len(shared)} rows, the shards {len(rows)}")
    grouped = tuple(row._replace(group=group, comment=comment) for row, (group, comment) in zip(rows, shared, strict=True))
    suite = Suite(data, layout, grouped)
    _equal_texts(folder, suite)
    return suite


def _json(path: Path) -> dict[str, Any]:
    try:
        data = read_json(path, "ascii")
    except OSError as error:
        raise FileError(f"{path.name}: {error.strerror}") from None
    except FileError:
        raise
    except ValueError as error:
        raise FileError(f"{path.name}: no ASCII JSON: {error}") from None
    if not isinstance(data, dict) or tuple(data) != record.KEYS:
        raise FileError(f"{path.name}: the keys must be {', '.join(record.KEYS)}, in this order")
    return data


def _group_names(groups: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return (group, comment) of every row."""
    out = []
    for group in groups:
        if "tests" in group:
            out += [(str(group["name"]), str(test["comment"])) for test in group["tests"]]
        else:
            out += [(str(group["name"]), "")] * int(group["rows"])
    return out


def _shard(folder: Path, file: str, layout: Layout, first: int) -> list[Row]:
    """Return the rows of one shard; `.mem` and `.tv` must say the same."""
    rows = lint.parse_mem(_bytes(folder / file), file, layout, first)
    other = file.removesuffix(".mem") + ".tv"
    if lint.parse_tv(_bytes(folder / other), other, layout) != [row.values for row in rows]:
        raise FileError(f"{other}: its rows differ from {file}")
    unknown = {flag for row in rows for flag in row.flags} - set(notes.NOTES)
    if unknown:
        raise FileError(f"{file}: flags without a note: {', '.join(sorted(unknown))}")
    return rows


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise FileError(f"{path.name}: {error.strerror}") from None


def _equal_texts(folder: Path, suite: Suite) -> None:
    """Compare every file of a suite with what the writers make of its rows."""
    whole = Suite(refreshed(suite.record, suite.layout, suite.rows), suite.layout, suite.rows)
    for key in record.KEYS:
        if whole.record[key] != suite.record[key]:
            raise FileError(f"{suite.stem}.json: {key} does not follow from the rows of the .mem file")
    for name, wanted in render(whole).items():
        if _bytes(folder / name) != wanted.encode("ascii"):
            raise FileError(f"{name}: differs from what its rows and {suite.stem}.json say")


# The `contract` and `generator` objects of the JSON file: which rules the rows follow, and how to make them again.


KEYS: Final = (
    "rounding",
    "overflow",
    "nan",
    "inf",
    "zero_sign",
    "subnormals_in",
    "subnormals_out",
    "scale_signbit",
    "flags",
    "sr",
    "datapath",
)
STATUSES: Final = ("standard", "measured", "vendor", "source-code", "paper", "reported", "proposed", "inferred", "unknown")
DISTRIBUTION: Final = "fp4emu"


def contract_record(plan: SuitePlan) -> dict[str, Any]:
    """Return the `contract` object: names, digest, weakest status, rules as data, open points, sources."""
    contract = plan.operation.name
    objects: tuple[SpecObject, ...] = contract.objects
    rules = {"flags": "none"} | plan.operation.described()
    status = max((item.status for item in objects), key=STATUSES.index)
    return {
        "name": str(contract),
        "spec": list(contract.spec),
        "spec_sha256": contract.spec_sha256,
        "status": status,
        **{key: rules.get(key) for key in KEYS},
        "open": [point.what for item in objects for point in item.open],
        "sources": list(dict.fromkeys(source.ref for item in objects for source in item.sources)),
    }


def generator_record(plan: SuitePlan, exact_rows: int, agreed: list[str]) -> dict[str, Any]:
    """Return the `generator` object. agreed: the engines that derived every row as well."""
    return {
        "name": DISTRIBUTION,
        "version": _version(),
        "command": command(plan),
        "oracle": "exact",
        "exact_rows": exact_rows,
        "agreed": agreed,
    }


def command(plan: SuitePlan) -> str:
    """Return the command that makes a suite again."""
    return f"emu vectors build --out DIR --contract {plan.operation.name} --suite {plan.suite}"


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "unknown"
