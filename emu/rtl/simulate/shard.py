"""The files of one shard that a bench reads, checked before they are trusted: several defects load silently in a simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from emu.base.caches import bounded
from emu.base.errors import FileError
from emu.base.inputs import read_json
from emu.contracts.columns import Layout, layout_from, layout_of
from emu.contracts.rows import Row
from emu.vectors.files import lint, writers
from emu.vectors.files.manifest import parse_stem
from emu.vectors.files.suite import rows_sha256
from emu.vectors.files.writers import Counts, counts_of, negative_rows


class Shard(NamedTuple):
    """One shard. name: file name without ending.   counts: its macros.   with_stages: whether stages are columns of it."""

    op: str
    name: str
    mem: Path
    svh: Path
    negative: Path
    counts: Counts
    with_stages: bool

    def compared(self, stages: bool) -> int:
        """Return how many rows a bench must compare: those with a compared output, with stages those with anything compared."""
        open_outputs = self.counts.open_outputs
        return self.counts.rows - (self.counts.open_rows if stages or open_outputs is None else open_outputs)


def read_shard(path: Path) -> Shard:
    """Return a shard; `.mem`, `.svh`, `.neg.mem` and `.json` must agree in every digit.

    path: without ending; a suite of several shards is named shard by shard.
    Raises: FileError naming file and line: missing, truncated, edited, foreign, any of the file defects.
    """
    folder, name = path.parent, path.name
    stem = name.partition(".s")[0]
    parse_stem(stem)
    files = [folder / f"{name}.mem", folder / f"{name}.svh", folder / f"{stem}.neg.mem", folder / f"{stem}.json"]
    try:
        signs = tuple((status.st_size, status.st_mtime_ns, status.st_ino) for status in (file.stat() for file in files))
    except OSError as error:
        raise FileError(f"{error.filename}: {error.strerror}: a suite is named by its path without ending") from None
    return _read(folder, name, stem, signs)


@bounded(64)
def _read(folder: Path, name: str, stem: str, signs: object) -> Shard:
    """signs: size and time of the files, so that a changed one is read again."""
    layout, entries = _record(folder / f"{stem}.json")
    entry = next((entry for entry in entries if entry["file"] == f"{name}.mem"), None)
    if entry is None:
        raise FileError(f"{stem}.json: has no shard {name}.mem: it has {', '.join(str(entry['file']) for entry in entries)}")
    rows = lint.parse_mem((folder / f"{name}.mem").read_bytes(), f"{name}.mem", layout, entry["tcFirst"])
    digest = rows_sha256(layout, rows)
    if (digest, len(rows)) != (entry["sha256"], entry["rows"]):
        raise FileError(
            f"{name}.mem: {len(rows)} rows of digest {digest[:12]}, {stem}.json says {entry['rows']} of {str(entry['sha256'])[:12]}"
        )
    negative = _negative(folder, stem, layout, rows if entry["tcFirst"] == 1 else None)
    counts = counts_of(layout, rows, name, entry["tcFirst"], negative, digest)
    if (folder / f"{name}.svh").read_bytes() != writers.render_svh(layout, counts).encode("ascii"):
        raise FileError(f"{name}.svh: differs from what its rows and {stem}.json say: build the suite again")
    with_stages = any(column.role == "stage" for column in layout.columns)
    paths = (folder / f"{name}.mem", folder / f"{name}.svh", folder / f"{stem}.neg.mem")
    return Shard(parse_stem(stem).op, name, *paths, counts, with_stages)


def _record(path: Path) -> tuple[Layout, list[dict[str, Any]]]:
    """Return the columns and the shards of a JSON record."""
    try:
        data = read_json(path, "ascii")
        entries = [{key: entry[key] for key in ("file", "tcFirst", "rows", "sha256")} for entry in data["shards"]]
        layout = layout_from(data["columns"])
        if layout_of([column for column in layout.columns if column.role in ("in", "r", "out", "stage")]).described() != data["columns"]:
            raise ValueError("columns: masks and kinds do not follow from the others")
        return layout, entries
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"{path.name}: not a record of vectors: {error!r}") from None


def _negative(folder: Path, stem: str, layout: Layout, first: list[Row] | None) -> int:
    """Return the rows of the self-test file. first: the rows of the first shard, from which it follows; None: of another shard."""
    name = f"{stem}.neg.mem"
    data = (folder / name).read_bytes()
    rows = lint.parse_mem(data, name, layout, 1)
    if first is not None and data != writers.render_mem(layout, negative_rows(layout, first)).encode("ascii"):
        raise FileError(f"{name}: is not the first rows of the suite with one compared bit flipped: build the suite again")
    return len(rows)
