"""Pages of the oracle: its source text function by function, and for each operation the functions it runs through."""

from __future__ import annotations

from emu.docgen.frame import oracle_link
from emu.docgen.markdown import fence, table
from emu.docgen.source import FOLDER, Module, Piece, closure

FOLDER_OF_PAGES = "docs/reference/oracle"

# Operation of a contract -> the oracle's entry.
ENTRIES = {
    "decode": ("decode", "decode_code"),
    "convert": ("convert", "convert_code"),
    "quantize": ("block", "quantize"),
    "dequantize": ("block", "dequantize"),
    "transform": ("transform", "transform_codes"),
    "layout": ("layout", "place"),
    "dot": ("datapath", "dot"),
    "epilogue": ("epilogue", "epilogue"),
}
# Operation of a contract that runs through others alone.
COMPOSED = {
    "accumulate": "[dot](#dot), one instruction after another; D of one is C of the next",
    "insn": "[convert](#convert) of each lane, `flags.convert_flags` for its flags; or [dot](#dot); or [quantize](#quantize)",
}


def oracle_pages(modules: dict[str, Module]) -> dict[str, str]:
    """Return path -> text: one page per module, and the page of operations."""
    pages = {f"{FOLDER_OF_PAGES}/{name}.md": _page(module, modules) for name, module in modules.items()}
    return pages | {f"{FOLDER_OF_PAGES}/operations.md": _operations(modules)}


def _page(module: Module, modules: dict[str, Module]) -> str:
    lines = [f"# Oracle: {module.name}", "", *_summary(module.summary), ""]
    lines.append(
        f"The text below is [{FOLDER}/{module.name}.py](../../../{FOLDER}/{module.name}.py) itself: integers and fractions, no float."
    )
    lines.append("Operations and the functions behind each: [operations](operations.md).")
    users = _users(modules)
    for piece in module.pieces:
        if piece.name:
            lines += ["", f"## {piece.name}", ""]
            lines += _links("Uses", piece.uses, module.name) + _links("Used by", users.get((piece.module, piece.name), ()), module.name)
        else:
            lines += ["", "Imports and constants:" if piece is module.pieces[0] else "Constants:", ""]
        lines += fence(piece.text.splitlines(), "python")
    return "\n".join(lines) + "\n"


def _summary(text: str) -> list[str]:
    """Return the docstring of a module: one line as it is, more as fixed-width text."""
    lines = text.splitlines()
    return lines if len(lines) <= 1 else fence(lines, "text")


def _links(word: str, targets: tuple[tuple[str, str], ...], here: str) -> list[str]:
    if not targets:
        return []
    shown = [f"[`{name}`](#{name.lower()})" if module == here else oracle_link(module, name, "") for module, name in targets]
    return [f"{word} {', '.join(shown)}.", ""]


def _users(modules: dict[str, Module]) -> dict[tuple[str, str], tuple[tuple[str, str], ...]]:
    found: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    for module in modules.values():
        for piece in module.pieces:
            for used in piece.uses:
                found[used] = (*found.get(used, ()), (piece.module, piece.name))
    return found


def _operations(modules: dict[str, Module]) -> str:
    lines = [
        "# Operations, and the source that defines them",
        "",
        f"The package [{FOLDER}](../../../{FOLDER}) is the law: what it returns is right, and every engine must return the same bits.",
        "These pages print its source, function by function. `emu docs check` fails when a page and the source differ.",
        "",
    ]
    lines += table(("operation", "entry", "what it does", "functions"), [_operation(name, modules) for name in ENTRIES], numbers=(3,))
    lines += ["", *(f"- {name}: {text}." for name, text in COMPOSED.items())]
    for name, entry in ENTRIES.items():
        pieces = closure(modules, entry)
        lines += ["", f"## {name}", "", "In the order in which a reader meets them: " + ", ".join(_item(piece) for piece in pieces) + "."]
    return "\n".join(lines) + "\n"


def _operation(name: str, modules: dict[str, Module]) -> tuple[str, str, str, str]:
    found = closure(modules, ENTRIES[name])
    return f"[{name}](#{name})", oracle_link(*ENTRIES[name], ""), found[0].summary, str(len(found))


def _item(piece: Piece) -> str:
    return oracle_link(piece.module, piece.name, "")
