"""Mutants, drawn by a seed: of Python by the operators of Cosmic Ray, of C by those of draw_c.py. Not here: how one is judged (judge.py).

First a place in the sources is drawn, every place alike, then one of the changes that the library knows for it: operators of arithmetic
would outnumber all else otherwise. Left out before anyone looks: places in annotations, which are never evaluated, and changes after which
the source does not parse (C: compile) or is the same program. Where there are both, Python and C take turns.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from tools.blind import draw_c

PYTHON: Final = ("emu/engines/exact", "emu/engines/numpy", "emu/engines/native", "emu/engines/torch", "emu/vectors", "emu/check")
ROOMS: Final = (*PYTHON, "c_ref/src")  # the kernels in C lie in emu/engines/native
Place = tuple[int, int, int, int]  # line and column of the first and behind the last character


class Mutant(NamedTuple):
    """One change. file: relative to the root.   operator, occurrence: as places counts them.   before, after: a line that differs."""

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
    """Return the source with one change; None where it does not parse, or is the same program. Raises: IndexError (C has none such)."""
    if operator.startswith(draw_c.PREFIX):
        return draw_c.changed(source.encode(), operator.removeprefix(draw_c.PREFIX), occurrence).decode()
    from cosmic_ray.mutating import mutate_code

    text = mutate_code(source, _operators()[f"core/{operator}"], occurrence)
    try:
        return None if text is None or ast.dump(ast.parse(text)) == ast.dump(ast.parse(source)) else str(text)
    except SyntaxError:
        return None


def drawn(root: Path, rooms: Sequence[str], seed: int, count: int) -> list[Mutant]:
    """Return mutants, each of another place; the same for the same sources, seed and rooms, and the first of a larger count.

    Raises: OSError (no C compiler, where rooms hold C).
    """
    kinds = [iter(_of_one_kind(root, rooms, seed, suffix)) for suffix in (".py", ".c")]
    found: list[Mutant] = []
    while kinds and len(found) < count:
        kind = kinds.pop(0)
        for mutant in kind:
            found.append(mutant)
            kinds.append(kind)
            break
    return found


def _of_one_kind(root: Path, rooms: Sequence[str], seed: int, suffix: str) -> Iterator[Mutant]:
    files = {path.relative_to(root).as_posix(): path for room in rooms for path in sorted((root / room).rglob(f"*{suffix}"))}
    sources = {file: path.read_text(encoding="utf-8") for file, path in files.items()}
    found = {file: _c_places(source) if suffix == ".c" else places(source) for file, source in sources.items()}
    pool = [(file, line, changes) for file, by_place in found.items() for (line, *_), changes in by_place.items()]
    numbers = Random(seed)  # which mutants are tried, no secret
    numbers.shuffle(pool)
    for file, line, changes in pool:
        operator, occurrence = changes[numbers.randrange(len(changes))]
        operator = operator.removeprefix("core/")
        text = changed_source(sources[file], operator, occurrence)
        if text is not None and (suffix != ".c" or _compiles(root, file, text)):
            lines = zip(sources[file].splitlines(), text.splitlines(), strict=False)
            before, after = next(((one, other) for one, other in lines if one != other), ("", ""))
            digest = hashlib.sha256(sources[file].encode()).hexdigest()
            yield Mutant(file, line, operator, occurrence, before.strip(), after.strip(), digest)


def _c_places(source: str) -> Mapping[Place, list[tuple[str, int]]]:
    """Return as places, of a C source; none where it is generated."""
    found: dict[Place, list[tuple[str, int]]] = {}
    counts: dict[str, int] = {}
    text = source.encode()
    for change in draw_c.changes(text) if draw_c.GENERATED not in source[:500] else ():
        number = counts[change.operator] = counts.get(change.operator, -1) + 1
        line = text.count(b"\n", 0, change.edit[0]) + 1
        found.setdefault((line, change.first, line, change.stop), []).append((draw_c.PREFIX + change.operator, number))
    return dict(sorted(found.items()))


def _compiles(root: Path, file: str, text: str) -> bool:
    """Whether a C compiler reads a text in the place of a file."""
    folders = ["-iquote", str((root / file).parent), "-I", str(root / "c_ref")]
    command = ["cc", "-fsyntax-only", "-std=c99", "-w", *folders, "-x", "c", "-"]
    return subprocess.run(command, check=False, input=text, capture_output=True, encoding="utf-8").returncode == 0
