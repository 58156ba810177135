"""The text of the exact engine, function by function, read from the tree with ast, never retyped. Not here: pages (reference_model.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from emu.base.errors import FileError

FOLDER = "emu/engines/exact"


@dataclass(frozen=True)
class Piece:
    """One function or class of the reference model, or the constants of a module between two of them.

    module: file name without .py.   name: empty for constants.   text: as written.   uses: (module, name) of what it calls.
    """

    module: str
    name: str
    text: str
    summary: str = ""
    uses: tuple[tuple[str, str], ...] = ()


@dataclass
class Module:
    """One file of the reference model, its pieces in the order of the file."""

    name: str
    summary: str
    pieces: list[Piece] = field(default_factory=list)


def reference_model(root: Path) -> dict[str, Module]:
    """Return module name -> module of the reference model of a source tree.

    root: a source tree with emu/engines/exact.   Raises: FileError (no reference model there, or a file that is no Python).
    """
    paths = [path for path in sorted((root / FOLDER).glob("*.py")) if path.stem != "__init__"]
    if not paths:
        raise FileError(f"{root}: no {FOLDER} here: the pages print the exact engine's source; run in the source tree, or say --root DIR")
    trees = {path.stem: _parse(path) for path in paths}
    defined = {
        name: {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)} for name, (tree, _) in trees.items()
    }
    return {name: _module(name, tree, text, defined) for name, (tree, text) in trees.items()}


def _parse(path: Path) -> tuple[ast.Module, str]:
    try:
        text = path.read_text(encoding="utf-8")
        return ast.parse(text), text
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read as Python: {error}") from None


def _module(name: str, tree: ast.Module, text: str, defined: dict[str, set[str]]) -> Module:
    lines = text.splitlines()
    found = Module(name, ast.get_docstring(tree) or "")
    body = tree.body[1:] if ast.get_docstring(tree) else tree.body
    imported = _imported(tree)
    start = body[0].lineno if body else 1
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            _constants(found, lines[start - 1 : first - 1])
            piece_text = "\n".join(lines[first - 1 : node.end_lineno])
            summary = (ast.get_docstring(node) or "").split("\n")[0]
            uses = tuple(dict.fromkeys(_uses(node, name, imported, defined)))
            found.pieces.append(Piece(name, node.name, piece_text, summary, uses))
            start = (node.end_lineno or first) + 1
    _constants(found, lines[start - 1 :])
    return found


def _constants(module: Module, lines: list[str]) -> None:
    """Keep what stands between functions: imports, constants, tables."""
    text = "\n".join(lines).strip("\n")
    if text.strip():
        module.pieces.append(Piece(module.name, "", text))


def _imported(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return local name -> (module, name) of what comes from the reference model; the name is empty for a whole module."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "emu.engines.exact":
            found |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("emu.engines.exact."):
            module = (node.module or "").rpartition(".")[2]
            found |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
    return found


def _uses(node: ast.AST, module: str, imported: dict[str, tuple[str, str]], defined: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield (module, name) of every function and class of the reference model that a definition names, in the order of the text."""
    own = getattr(node, "name", "")
    for item in _in_order(node):
        target: tuple[str, str] | None = None
        if isinstance(item, ast.Name):
            target = imported.get(item.id) or ((module, item.id) if item.id in defined[module] and item.id != own else None)
        elif isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name):
            whole = imported.get(item.value.id)
            target = (whole[0], item.attr) if whole and not whole[1] else None
        if target and target[1] in defined.get(target[0], ()):
            yield target


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _in_order(child)


def closure(modules: dict[str, Module], entry: tuple[str, str]) -> list[Piece]:
    """Return the functions that an operation runs through, the entry first, each where it is first met.

    entry: (module, name).   Raises: FileError (no such function).
    """
    pieces = {(piece.module, piece.name): piece for module in modules.values() for piece in module.pieces if piece.name}
    if entry not in pieces:
        raise FileError(f"{FOLDER}/{entry[0]}.py has no {entry[1]}: the pages name it; mend emu/pages")
    found: dict[tuple[str, str], Piece] = {}

    def visit(key: tuple[str, str]) -> None:
        if key in found:
            return
        found[key] = pieces[key]
        for used in pieces[key].uses:
            visit(used)

    visit(entry)
    return list(found.values())
