"""Mutants of Python sources, drawn by a seed: the operators are those of Cosmic Ray. Not here: how one is judged (judge.py).

First a place in the sources is drawn, every place alike, then one of the changes that the library knows for it: operators of arithmetic
would outnumber all else otherwise. Left out before anyone looks: places in annotations, which are never evaluated, and changes after which
the source does not parse or is the same program.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

ROOMS: Final = ("emu/engines/exact", "emu/engines/numpy", "emu/engines/native", "emu/engines/torch", "emu/vectors", "emu/check")
Place = tuple[int, int, int, int]  # line and column of the first and behind the last character


class Mutant(NamedTuple):
    """One change. file: relative to the root.   operator, occurrence: as Cosmic Ray counts them.   before, after: a line that differs."""

    file: str
    line: int
    operator: str
    occurrence: int
    before: str
    after: str
    sha256: str

    @property
    def name(self) -> str:
        """Tell one mutant of one state of its file from all others."""
        return f"{self.file} {self.operator} {self.occurrence} {self.sha256[:16]}"


def _operators() -> dict[str, Any]:
    """Return name -> operator of those that need no arguments."""
    from cosmic_ray.plugins import get_operator, operator_names

    found = {name: get_operator(name) for name in operator_names()}
    return {name: operator() for name, operator in sorted(found.items()) if not operator.arguments()}


def places(source: str) -> dict[Place, list[tuple[str, int]]]:
    """Return place -> the changes there, each an operator and its occurrence, in the order of the source."""
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes, silent = list(ast_nodes(get_ast(source))), list(_annotations(source))
    found: dict[Place, list[tuple[str, int]]] = {}
    for name, operator in _operators().items():
        count = 0
        for node in nodes:
            for start, stop in operator.mutation_positions(node):
                place = (*start, *stop)
                if not any(first <= start and stop <= last for first, last in silent):
                    found.setdefault(place, []).append((name, count))
                count += 1
    return dict(sorted(found.items()))


def _annotations(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            inner = getattr(node, name, None)
            if isinstance(inner, ast.expr):
                yield (inner.lineno, inner.col_offset), (inner.end_lineno or 0, inner.end_col_offset or 0)


def changed_source(source: str, operator: str, occurrence: int) -> str | None:
    """Return the source with one change; None where it does not parse, or is the same program."""
    from cosmic_ray.mutating import mutate_code

    text = mutate_code(source, _operators()[operator], occurrence)
    try:
        return None if text is None or ast.dump(ast.parse(text)) == ast.dump(ast.parse(source)) else str(text)
    except SyntaxError:
        return None


def drawn(root: Path, rooms: Sequence[str], seed: int, count: int) -> list[Mutant]:
    """Return mutants, each of another place; the same for the same sources, seed and rooms, and the first of a larger count."""
    files = [path for room in rooms for path in sorted((root / room).rglob("*.py"))]
    sources = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}
    pool = [(file, place, changes) for file, source in sources.items() for place, changes in places(source).items()]
    numbers = Random(seed)  # which mutants are tried, no secret
    numbers.shuffle(pool)
    found: list[Mutant] = []
    for file, place, changes in pool:
        if len(found) == count:
            break
        operator, occurrence = changes[numbers.randrange(len(changes))]
        text = changed_source(sources[file], operator, occurrence)
        if text is not None:
            lines = zip(sources[file].splitlines(), text.splitlines(), strict=False)
            before, after = next(((one, other) for one, other in lines if one != other), ("", ""))
            digest = hashlib.sha256(sources[file].encode()).hexdigest()
            found.append(Mutant(file, place[0], operator.removeprefix("core/"), occurrence, before.strip(), after.strip(), digest))
    return found
