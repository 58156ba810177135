"""What lies beside the suites of `vectors/`: README.md with the table of contracts, suites, rows and faults; LICENSE; VERSION."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import emu
from emu.base.errors import FileError
from emu.pages.render import Code, render
from emu.vectors.files.manifest import ABOUT, MANIFEST, OPERATIONS, SCHEMA, VECTORS_VERSION, Stem, parse_stem
from emu.vectors.suites.own import FROM
from emu.vectors.suites.plan import KILLS, rows_of_stems
from tools.docs import TEMPLATES

FOLDER: Final = "vectors"
RECORDS: Final = {"seeded": "docs/evidence/KILL.json", "rtl": "docs/evidence/KILL_rtl.json"}
EXAMPLE: Final = "convert__fp32_to_e2m1__nvidia_rne__directed.mem"
Kills = Mapping[str, Mapping[str, set[str]]]  # record -> stem -> faults that its rows show


def vector_pages(root: Path) -> dict[str, str]:
    """Return path -> text of the files beside the suites; nothing where the tree holds no vectors. Raises: FileError (a damaged record)."""
    folder = root / FOLDER
    found = {op: sorted((folder / op).glob("*.json")) for op in OPERATIONS if (folder / op / MANIFEST).is_file()}
    if not found:
        return {}
    kills = {name: _kills(root / path) for name, path in RECORDS.items()}
    operations = [(op, *_lines(op, paths, kills)) for op, paths in found.items()]
    suites = [path for paths in found.values() for path in paths if not path.stem.isupper()]
    text = render(
        "vectors",
        None,
        TEMPLATES,
        operations=operations,
        suites=len(suites),
        rows=f"{sum(rows for _, _, rows in operations):,}",
        records=[f"../{path}" for path in RECORDS.values()],
        example=_example(folder / "convert" / EXAMPLE),
    )
    texts = (text, (root / "LICENSE").read_text(encoding="utf-8"), version_text(folder, list(found)))
    return {f"{FOLDER}/{name}": one for name, one in zip(ABOUT, texts, strict=True)}


def _example(path: Path) -> str:
    """Return the row of a file that shows how rows are read: the first one about a tie. Raises: FileError (none)."""
    found = next((line for line in path.read_text(encoding="ascii").splitlines() if line.endswith(" tie")), None)
    if found is None:
        raise FileError(f"{path}: has no row about a tie: name another file for the page")
    return found


def version_text(folder: Path, operations: list[str]) -> str:
    """Return the text of VERSION: what the files are of, and one digest over the manifests of all operations."""
    manifests = b"".join((folder / op / MANIFEST).read_bytes() for op in sorted(operations))
    lines = {
        "vectors": VECTORS_VERSION,
        "schema": SCHEMA,
        "emu": emu.__version__,
        "manifests_sha256": hashlib.sha256(manifests).hexdigest(),
    }
    return "".join(f"{name} {value}\n" for name, value in lines.items())


def _kills(path: Path) -> dict[str, set[str]]:
    """Return stem -> faults of a record that it shows."""
    found: dict[str, set[str]] = {}
    try:
        for fault in json.loads(path.read_bytes())["mutants"]:
            for stem in fault["killedBy"]:
                found.setdefault(stem, set()).add(fault["id"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path}: no record of faults: {error!r}") from None
    return found


def _lines(op: str, paths: list[Path], kills: Kills) -> tuple[list[list[Any]], int]:
    """Return the rows of the table of one operation, one for each contract and pair of formats; and how many golden rows they are."""
    heads: dict[str, dict[str, dict[str, Any]]] = {}
    for path in paths:
        if not path.stem.isupper():  # COVER.json, ERRATA.json
            head, _, suite = path.stem.rpartition("__")
            heads.setdefault(head, {})[suite] = json.loads(path.read_bytes())
    lines = [_line(parse_stem(f"{head}__{next(iter(suites))}"), head, suites, kills) for head, suites in sorted(heads.items())]
    return lines, sum(record["numberOfTests"] for suites in heads.values() for record in suites.values())


def _line(stem: Stem, head: str, suites: Mapping[str, Mapping[str, Any]], kills: Kills) -> list[Any]:
    """Return one row of the table."""
    record = next(iter(suites.values()))
    stages = sum(column["role"] == "stage" for column in record["columns"])
    counts = [str(suites[name]["numberOfTests"]) if name in suites else "" for name in ("smoke", "directed", "bits", "sums", "kill", "all")]
    asked = sum(len(rows_of_stems(kill).get(f"{head}__{of}", ())) for kill in KILLS if kill not in suites for of in FROM)
    shown = [len(set().union(*(stems.get(f"{head}__{suite}", ()) for suite in suites))) for stems in kills.values()]
    contract, others = record["contract"]["name"], len(record["aliases"])
    named: Any = (Code(contract), f" and {others} more") if others else Code(contract)
    return [named, f"{stem.src} to {stem.dst}", *counts, str(asked or ""), str(stages or ""), *(str(count or "") for count in shown)]
