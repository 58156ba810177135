"""Which file uses which: modules of emu, tools and research, the tests and their support, as a graph of imports.

Edges come from import statements, inside functions too, and from strings that name a module where a module is imported by its name
(the lazy tables of commands and engines). Not here: data, C, pages (choose.py), because no import names them.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tools.imports import imports_of

ROOMS: Final = ("emu", "tools", "research")
STATED, BY_NAME = 1, 3  # how far an import is, and a module that a table names: fewer of its users use that one
Graph = dict[str, dict[str, int]]  # file -> the files that it uses -> how far they are; paths relative to the root


def module_of(path: str) -> str | None:
    """Return the dotted name of a Python file of emu, tools, research or tests/support; None for any other file."""
    parts = path.removesuffix(".py").split("/")
    if not path.endswith(".py"):
        return None
    if parts[0] in ROOMS:
        return ".".join(parts).removesuffix(".__init__")
    return ".".join(parts[1:]) if parts[:2] == ["tests", "support"] else None


def used_by(sources: Mapping[str, str], gone: Iterable[str] = ()) -> Graph:
    """Return for each file the files that use it, and how far each of them is.

    sources: path -> text of every Python file.   gone: files that a change removed; who still imports them is found.
    A file that does not parse uses nothing here: its own tests say so.
    """
    names = {name: path for path in (*gone, *sources) if (name := module_of(path))}
    graph: Graph = {path: {} for path in (*gone, *sources)}
    for path, text in sources.items():
        for used, far in _used(path, text, names).items():
            if used != path:
                graph[used][path] = min(far, graph[used].get(path, far))
    return graph


def _used(path: str, text: str, names: Mapping[str, str]) -> dict[str, int]:
    """Return the files that one file uses."""
    module, found = module_of(path) or "", dict[str, int]()
    try:
        stated = [item.name for item in imports_of(module, Path(path), text, set(names)) if not item.typing_only]
    except SyntaxError:
        return {}
    for name in stated:
        _add(found, name, STATED, names)
    for name in _named(text, module if path.endswith("__init__.py") else module.rpartition(".")[0]):
        _add(found, name, BY_NAME, names)
    return found


def _add(found: dict[str, int], name: str, far: int, names: Mapping[str, str]) -> None:
    """Add the file of a module, and of the packages that are loaded before it: not emu itself, which all load."""
    while name:
        if name in names:
            found[names[name]] = min(far, found.get(names[name], far))
        name, far = name.rpartition(".")[0], far + STATED
        if name in ROOMS:
            return


def _named(text: str, package: str) -> set[str]:
    """Return what strings of a source may name: a module (`emu.cli.list`, with `:command`) or, where it imports by name, the end of one."""
    found = set(re.findall(r"""["']((?:emu|tools|research)\.[\w.]*\w)(?::\w+)?["']""", text))
    if "import_module" in text:
        words = set(re.findall(r"""["'](\w[\w.]*)["']""", text))
        heads = {f"{package}.", *re.findall(r"""["'](emu\.[\w.]*\.)\{""", text)}  # f"emu.identify.{...}"
        found |= {head + word for head in heads for word in words}
    return found


def distances(graph: Graph, start: Mapping[str, int]) -> dict[str, int]:
    """Return the least distance of every file that uses one of the starting ones, directly or through others.

    start: file -> its own distance.
    """
    found: dict[str, int] = {}
    queue = [(far, path) for path, far in start.items()]
    heapq.heapify(queue)
    while queue:
        far, path = heapq.heappop(queue)
        if path in found:
            continue
        found[path] = far
        for user, step in graph.get(path, {}).items():
            heapq.heappush(queue, (far + step, user))
    return found
