"""Writing generated files into a source tree, and comparing. Not here: their text (the page modules)."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import emu.engines.exact
from emu.base.atomic import write_text
from emu.base.errors import FileError
from emu.spec.registry import isolated
from research.pages.charts import same_data
from research.pages.datapath_errors import study_pages
from research.pages.families import families_pages
from research.pages.hardware_cost import cost_pages
from research.pages.shrinkage import shrinkage_pages
from research.pages.training import training_pages
from research.pages.uniform_grid import uniform_grid_pages
from tools.docs.api import api_pages
from tools.docs.c_tables import c_table_pages
from tools.docs.dpi import dpi_pages
from tools.docs.foreign_kernels import foreign_pages
from tools.docs.held_back import held_back_pages
from tools.docs.riscv import riscv_pages
from tools.docs.schemas import COMMENT, schema_pages
from tools.docs.vectors_page import vector_pages
from tools.docs.writers import reference_texts
from tools.isa import PAGE as PROPOSAL
from tools.isa.page import isa_pages

COMMAND = "python -m tools.docs build"
MARK = "<!-- generated from spec/ by: python -m tools.docs build -->"
FOLDERS = ("spec/schema", "docs/reference")
DIFF_LINES = 24


# A later generated file is one more writer; each returns path -> text.
WRITERS: tuple[Callable[[], dict[str, str]], ...] = (schema_pages, c_table_pages)


def pages(root: Path) -> dict[str, str]:
    """Return path -> text of every generated file, for the spec in a source tree.

    root: a source tree with spec/ and emu/engines/exact/.   Raises: FileError (no source tree), SpecError (a fault of its spec).
    """
    if not (root / "spec" / "format").is_dir():
        raise FileError(f"{root}: no spec/ here: run in the source tree, or say --root DIR")
    with isolated(root / "spec"):
        found = {path: text for writer in WRITERS for path, text in writer().items()}
        found |= {path: f"{MARK}\n\n{text}" for path, text in reference_texts(root).items()}
        found |= study_pages(root)
        found |= shrinkage_pages(root)
        found |= cost_pages(root)
        found |= families_pages(root)
        found |= foreign_pages(root)
        found |= held_back_pages(root)
        found |= training_pages(root)
        found |= uniform_grid_pages(root)
        found |= isa_pages(root)
        found |= riscv_pages(root, found.get(PROPOSAL))
        found |= vector_pages(root)
    return found | dpi_pages(root) | api_pages(root)


def build(root: Path) -> list[str]:
    """Write what differs, remove generated files that are no more, and return the paths, sorted. Hand-written text is left alone.

    Raises: as pages; FileError (unwritable; the tree's `exact` is not the one that runs: its worked rows would come from the other).
    """
    strange = foreign_reference_model(root)
    if strange:
        raise FileError(f"{root}: {strange[0]}")
    wanted = pages(root)
    changed = [path for path, text in wanted.items() if not _is(root / path, text)]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        write_text(root / path, wanted[path], force=True)
    stale = _stale(root, wanted)
    for path in stale:
        (root / path).unlink()
    return sorted(changed + stale)


def check(root: Path) -> list[str]:
    """Compare in memory; return one text per generated file that differs: a short unified diff, or what is wrong. Raises: as pages."""
    wanted = pages(root)
    found = [_difference(path, _read(root / path), text) for path, text in wanted.items() if not _is(root / path, text)]
    return found + [f"{path}: no longer generated" for path in _stale(root, wanted)] + foreign_reference_model(root)


def foreign_reference_model(root: Path) -> list[str]:
    """Return one text per file of the tree's `exact` that is not the one that runs: pages print the first and compute with the second."""
    running = Path(emu.engines.exact.__file__).parent
    names = {path.name for folder in (root / "emu" / "engines" / "exact", running) for path in folder.glob("*.py")}
    other = sorted(name for name in names if _read(root / "emu" / "engines" / "exact" / name) != _read(running / name))
    return [f"emu/engines/exact/{name}: not the reference model that runs: install the tree again (pip install -e .)" for name in other]


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _is(path: Path, text: str) -> bool:
    """Tell whether a file is what is wanted: its text, or a chart of the same data, which another matplotlib draws with other bytes."""
    there = _read(path)
    return there == text or (path.suffix == ".svg" and there is not None and same_data(there, text))


def _stale(root: Path, wanted: dict[str, str]) -> list[str]:
    """Return the files in the generated folders that carry the mark and are not wanted."""
    there = [path.relative_to(root).as_posix() for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.is_file()]
    return [path for path in there if path not in wanted and any(mark in (_read(root / path) or "") for mark in (MARK, COMMENT))]


def _difference(path: str, old: str | None, new: str) -> str:
    if old is None:
        return f"{path}: missing"
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), path, f"{path} (generated)", lineterm="", n=1))
    more = len(lines) - DIFF_LINES
    return "\n".join(lines[:DIFF_LINES] + ([f"... {more} more lines"] if more > 0 else []))
