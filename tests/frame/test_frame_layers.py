"""The layer table of pyproject.toml: every import inside emu, tools and research goes down, every library is imported where the table says.

What may not be written at all (tolerances, floats in the reference model) is in test_frame_bans.py.
"""

import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tools.imports import imports_of

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS: dict[str, list[str]] = PROJECT["tool"]["emu"]["layers"]
LIBRARIES: dict[str, dict[str, list[str]]] = PROJECT["tool"]["emu"]["libraries"]
ROOMS = ("emu", "tools", "research")
MODULES = {
    ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p
    for room in ROOMS
    for p in sorted((ROOT / room).rglob("*.py"))
    if "compare_driver" not in p.parts  # runs on two builds of emu, old and new: its files import each other by name
}


def layer_of(module: str) -> str | None:
    """The longest key of the table that covers a module such as "emu.engines.numpy.tables"; None: the table does not know it."""
    if module == "emu":
        return "emu"
    parts = module.removeprefix("emu.").split(".")
    keys = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((key for key in keys if key in LAYERS), None)


def parents(layer: str) -> set[str]:
    """A layer and the layers whose folders hold it: a rule for a folder is a rule for what is inside."""
    parts = layer.split(".")
    return {".".join(parts[:n]) for n in range(1, len(parts) + 1)}


def below(layer: str) -> set[str]:
    """All layers that a layer may import: those next below, and what is below those."""
    return {layer}.union(*(below(name) for name in LAYERS[layer]))


def faults(module: str, path: Path, source: str, modules: set[str]) -> list[str]:
    """What one module breaks, a line each; empty when it keeps the table."""
    found: list[str] = []
    layer = layer_of(module)
    if layer is None:
        return [f"{module}: no layer in [tool.emu.layers]"]
    allowed = below(layer)
    for item in imports_of(module, path, source, modules):
        top = item.name.split(".")[0]
        where = f"{module}:{item.line}: {layer} imports {item.name}"
        if top in ROOMS:
            target = layer_of(item.name)
            if not parents(target or "") & allowed and not (layer == "emu" and item.typing_only):
                found.append(f"{where}: not in [tool.emu.layers]")
        elif top not in sys.stdlib_module_names and top != "__future__":
            library = LIBRARIES.get(top, {})
            eager, lazy = library.get("eager", []), library.get("lazy", [])
            own = parents(layer)
            if not own & {*eager, *lazy}:
                found.append(f"{where}: not in [tool.emu.libraries]")
            elif item.eager and not own & {*eager}:
                found.append(f"{where} at the top of the module: only inside a function")
    return found


def test_imports_keep_the_table():
    modules = set(MODULES)
    found = [line for module, path in MODULES.items() for line in faults(module, path, path.read_text(encoding="utf-8"), modules)]
    assert not found, "\n".join(found)


def test_walk_covers_the_package():
    assert {"emu", "emu.base.errors"} <= set(MODULES)


@pytest.mark.parametrize(
    ("module", "source", "message"),
    [
        ("emu.engines.exact.convert", "from emu.engines.numpy import tables", "exact imports emu.engines.numpy.tables"),
        ("emu.engines.exact.convert", "def f():\n    import emu.arrays.values", "exact imports emu.arrays.values"),
        ("emu.engines.exact.convert", "from .. import numpy", "engines.exact imports emu.engines.numpy"),
        ("emu.engines.exact.convert", "from ..native.x import y", "exact imports emu.engines.native.x"),
        ("emu.engines.exact.convert", "import numpy as np", "exact imports numpy"),
        ("emu.engines.numpy.convert", "from emu.engines.exact.convert import convert", "engines.numpy imports emu.engines.exact.convert"),
        ("emu.engines.numpy.convert", "from emu import quantize", "engines.numpy imports emu"),
        ("emu.spec.registry", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from emu.cli import main", "spec imports emu.cli"),
        ("emu.analysis.plot", "import matplotlib.pyplot", "only inside a function"),
        ("emu.analysis.plot", "import pandas", "not in [tool.emu.libraries]"),
        ("emu.extra", "", "no layer"),
        ("emu.analysis.plot", "from tools import lines", "analysis imports tools.lines: not in"),
        ("emu.pages.format", "import research", "pages imports research: not in"),
        ("research.pages.training", "from tools.docs import tree", "research.pages imports tools.docs.tree: not in"),
    ],
)
def test_walk_sees_a_forbidden_import(module, source, message):
    modules = {
        *MODULES,
        "emu.engines.numpy",
        "emu.engines.numpy.tables",
        "emu.arrays.values",
        "emu.engines.exact",
        "emu.engines.exact.convert",
        "tools.lines",
    }
    found = faults(module, Path("module.py"), source, modules)
    assert len(found) == 1
    assert message in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("emu.engines.numpy.tables", "from emu.engines.exact.convert import decode\nimport numpy"),
        ("emu.engines.numpy.convert", "from . import tables\nfrom emu.engines.numpy.tables import table"),
        ("emu.analysis.plot", "def f():\n    import matplotlib.pyplot"),
        ("emu.cli.quantize", "import emu\nfrom emu import errors"),
        ("emu", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from emu.arrays.values import quantize"),
    ],
)
def test_walk_allows_what_the_table_allows(module, source):
    modules = {*MODULES, "emu.engines.numpy", "emu.engines.numpy.tables", "emu.arrays.values"}
    path = Path("__init__.py" if module == "emu" else "module.py")
    assert faults(module, path, source, modules) == []


def test_table_has_no_cycle_and_no_unknown_name():
    assert {name for names in LAYERS.values() for name in names} <= set(LAYERS)
    assert {name for rule in LIBRARIES.values() for layers in rule.values() for name in layers} <= set(LAYERS)
    assert next(iter(TopologicalSorter(LAYERS).static_order())) == "base"


def test_engines_see_no_other_engine():
    engines = {f"engines.{name}" for name in ("exact", "numpy", "c_ref", "torch")}
    assert all(below(engine) & engines == {engine} for engine in engines)
    assert below("engines.numpy.tables") & engines == {"engines.numpy", "engines.exact"}
    assert below("engines.native") & engines == {"engines.c_ref"}  # thresholds of the kernels come from the C reference


def test_every_dependency_has_a_library_rule_and_the_reverse():
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["test"], *extras["torch"], *extras["checkpoint"], *extras["cluster"], *extras["blind"]]
    names = {line.split(">")[0].split("=")[0].lower() for line in declared} - {"gfloat", "setuptools", "pytest-xdist"}
    rules = {{"yaml": "pyyaml", "markdown_it": "markdown-it-py"}.get(name, name) for name in LIBRARIES}
    assert {name.replace("-", "_") for name in names} == {name.replace("-", "_") for name in rules}


@pytest.mark.parametrize("statement", ["import emu", "import emu.base.errors", "import emu.engines.exact"])
def test_import_loads_no_numpy(statement):
    code = f"import sys; {statement}; print(sorted({{'numpy', 'torch', 'matplotlib', 'hypothesis'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
