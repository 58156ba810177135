"""No two modules of emu, tools or research need each other: imports inside functions count, those for a type checker alone do not.

Rooms cannot need each other by the table of layers (test_frame_layers.py); here it is each file.
"""

import importlib.util
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("frame_layers", Path(__file__).with_name("test_frame_layers.py"))
layers = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(layers)


def graph_of(sources: dict[str, tuple[Path, str]]) -> dict[str, set[str]]:
    """For each module the modules that it imports, itself left out; sources: path and text of each module."""
    modules = set(sources)
    return {
        module: {item.name for item in layers.imports_of(module, path, text, modules) if not item.typing_only} & modules - {module}
        for module, (path, text) in sources.items()
    }


def components(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach one another, sorted; a module alone is no group."""
    found: list[list[str]] = []
    reach = {module: reachable(module, graph) for module in graph}
    left = set(graph)
    for module in sorted(graph):
        if module in left:
            group = {module} | {other for other in reach[module] if module in reach[other]}
            left -= group
            if len(group) > 1:
                found.append(sorted(group))
    return found


def reachable(module: str, graph: dict[str, set[str]]) -> set[str]:
    """Every module that an import of this one leads to."""
    seen: set[str] = set()
    todo = [module]
    while todo:
        for name in graph[todo.pop()] - seen:
            seen.add(name)
            todo.append(name)
    return seen


def test_no_modules_import_each_other():
    graph = graph_of({module: (path, path.read_text(encoding="utf-8")) for module, path in layers.MODULES.items()})
    assert sum(map(len, graph.values())) > 1000  # the walk saw the imports
    assert components(graph) == []
    TopologicalSorter(graph).prepare()  # the same, asked of another algorithm


@pytest.mark.parametrize(
    ("a", "b", "cycle"),
    [
        ("from emu.b import x", "from emu.a import y", True),
        ("from emu import b", "def f():\n    import emu.a", True),
        ("from . import b", "from .a import y", True),
        ("from emu.b import x", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from emu.a import y", False),
        ("from emu.b import x", "import emu", False),
    ],
)
def test_walk_sees_a_cycle(a, b, cycle):
    sources = {"emu": (Path("emu/__init__.py"), ""), "emu.a": (Path("emu/a.py"), a), "emu.b": (Path("emu/b.py"), b)}
    graph = graph_of(sources)
    assert components(graph) == ([["emu.a", "emu.b"]] if cycle else [])
    if cycle:
        with pytest.raises(CycleError):
            TopologicalSorter(graph).prepare()
