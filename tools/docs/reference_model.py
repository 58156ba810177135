"""Pages of the reference model: its source text function by function, and for each operation the functions it runs through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emu.base.errors import FileError
from emu.pages.render import Anchor, Function, Links, render
from tools.docs import TEMPLATES
from tools.docs.source import FOLDER, Module, closure

Target = tuple[str, str]

FOLDER_OF_PAGES = "docs/reference/reference_model"

# Operation of a contract -> the reference model's entry.
ENTRIES = {
    "decode": ("decode", "decode_code"),
    "convert": ("convert", "convert_code"),
    "quantize": ("block", "quantize"),
    "dequantize": ("block", "dequantize"),
    "transform": ("transform", "transform_codes"),
    "layout": ("layout", "place"),
    "dot": ("datapath", "dot"),
    "operate": ("operate", "operate_codes"),
    "epilogue": ("epilogue", "epilogue"),
}
# Operations of a contract that run through others alone; the template says through which.
COMPOSED = ("accumulate", "insn")


def reference_model_pages(modules: dict[str, Module]) -> dict[str, str]:
    """Return path -> text: one page per module, and the page of operations. Raises: FileError (a module whose page has that name)."""
    if "operations" in modules:
        raise FileError(f"{FOLDER}/operations.py: its page would be that of all operations: give the module another name")
    users = _users(modules)
    pages = {f"{FOLDER_OF_PAGES}/{name}.md": _page(module, users) for name, module in modules.items()}
    return pages | {f"{FOLDER_OF_PAGES}/operations.md": _operations(modules)}


def _page(module: Module, users: Mapping[Target, Sequence[Target]]) -> str:
    pieces = [
        (piece, _links(piece.uses, module.name), _links(users.get((piece.module, piece.name), ()), module.name)) for piece in module.pieces
    ]
    return render("reference_model", Links("", functions=""), TEMPLATES, module=module, folder=FOLDER, pieces=pieces)


def _links(targets: Sequence[Target], here: str) -> list[Any]:
    return [Anchor(f"`{name}`", name.lower()) if module == here else Function(module, name) for module, name in targets]


def _users(modules: dict[str, Module]) -> dict[Target, list[Target]]:
    """Return function -> those that call it."""
    found: dict[Target, list[Target]] = {}
    for module in modules.values():
        for piece in module.pieces:
            for used in piece.uses:
                found.setdefault(used, []).append((piece.module, piece.name))
    return found


def _operations(modules: dict[str, Module]) -> str:
    behind = {name: closure(modules, entry) for name, entry in ENTRIES.items()}
    return render(
        "operations",
        Links("", functions=""),
        TEMPLATES,
        folder=FOLDER,
        operations=[(Anchor(name, name), Function(*ENTRIES[name]), found[0].summary, len(found)) for name, found in behind.items()],
        closures={name: [Function(piece.module, piece.name) for piece in found] for name, found in behind.items()},
    )
