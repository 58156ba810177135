"""Every import of a Python source, read from its syntax tree: for the table of layers and for the choice of tests."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """One imported dotted name: its line, whether it runs when the module loads, whether only a type checker sees it."""

    name: str
    line: int
    eager: bool
    typing_only: bool


def imports_of(module: str, path: Path, source: str, modules: set[str]) -> Iterator[Import]:
    """Every import of a module, absolute and relative; `from emu import x` names emu.x where that is a module."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]

    def names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
            return
        base = node.module or ""
        if node.level:
            parents = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*parents, base] if base else parents)
        for alias in node.names:
            full = f"{base}.{alias.name}"
            yield full if full in modules else base

    def walk(body: Iterable[ast.AST], eager: bool, typing_only: bool) -> Iterator[Import]:
        for statement in body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                yield from (Import(name, statement.lineno, eager and not typing_only, typing_only) for name in names(statement))
            elif isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
                yield from walk(statement.body, eager, True)
                yield from walk(statement.orelse, eager, typing_only)
            else:
                inside = eager and not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
                for part in ("body", "handlers", "orelse", "finalbody", "cases"):  # an import is a statement: no expression holds one
                    yield from walk(getattr(statement, part, ()), inside, typing_only)

    yield from walk(ast.parse(source).body, True, False)
