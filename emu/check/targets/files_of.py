"""Which files a kernel under test is made of, as far as its text says. Nothing of it is imported or run."""

from __future__ import annotations

import ast
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from warnings import catch_warnings

_LIBRARIES = Path(sysconfig.get_path("stdlib")), Path(__file__).parents[2]


def files_of(text: str) -> Iterator[Path]:
    """Yield the files that a target's text names: of a Python module with its packages, a C library, a program and its arguments.

    Of Python also what it imports from its own folder or the working folder, and what that imports, as far as names stand in the text.

    text: as emu.check.targets.named.parse_target takes it.   Tests: tests/files/test_files_in_use.py.
    """
    kind, _, rest = text.partition(":")
    if kind == "c":
        yield Path(rest.partition(":")[0])
    elif kind == "exec":
        with suppress(ValueError):  # an open quote: said later
            words = shlex.split(rest)
            yield from (Path(part) for word in words for part in (word, word.partition("=")[2]) if part)
            yield from (Path(found) for found in map(shutil.which, words[:1]) if found)
    elif kind != "foreign":
        where = (rest if kind == "py" else text).rpartition(":")[0]
        yield from _with_imports([Path(where)] if where.endswith(".py") else [*_modules(where, ["", *sys.path])])


def _with_imports(files: list[Path]) -> Iterator[Path]:
    """Yield Python files and those that they import from the working folder or that in which the first of them lies, each once.

    Files of libraries and of emu are yielded where they are named; what they import is not followed.
    """
    known: set[Path] = set()
    top = ["", *(str(file.parent.parent if file.name == "__init__.py" else file.parent) for file in files[:1])]
    while files:
        file = files.pop(0)
        if file in known:
            continue
        known.add(file)
        yield file
        place = file.absolute()
        if not {"site-packages", "dist-packages"}.isdisjoint(place.parts) or any(map(place.is_relative_to, _LIBRARIES)):
            continue
        with (
            suppress(OSError, ValueError, SyntaxError, RecursionError),
            catch_warnings(action="ignore"),
        ):  # said when it is loaded
            for name, level in _imports(ast.parse(file.read_bytes())):
                up = [*map(str, place.parents[level - 1 : level])] if level else top
                files += [*_modules(name, up)] + [Path(each, "__init__.py") for each in up if level and Path(each, "__init__.py").is_file()]


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what a module imports, wherever in it that stands: names with dots, and the number of dots before them."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from ((each.name, 0) for each in names)
            case ast.ImportFrom(module, names, level):
                yield from ((f"{module or ''}.{each.name}", level) for each in names)
            case ast.Call(ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"), [ast.Constant(str(name)), *_]):
                yield name.lstrip("."), len(name) - len(name.lstrip("."))


def _modules(name: str, places: list[str] | None) -> Iterator[Path]:
    """Yield the file of a module and those of the packages that it lies in, as far as there are any. places: folders to search."""
    for part in filter(None, name.split(".")):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            return
        if spec.origin is not None:
            yield Path(spec.origin)
        places = spec.submodule_search_locations and list(spec.submodule_search_locations)
