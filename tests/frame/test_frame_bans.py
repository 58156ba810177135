"""Words that may not be written: tolerances, stubs, global random state, exponents by logarithm, floats in the reference model."""

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOLERANCES = {"allclose", "isclose", "approx", "assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assertAlmostEqual"}
TOLERANCE_KEYS = {"rtol", "atol", "rel_tol", "abs_tol"}
LOGARITHMS = {"log2", "frexp", "logb"}
FLOAT_MODULES = {"array", "cmath", "ctypes", "decimal", "math", "random", "statistics", "struct"}
REFERENCE_MODEL_LIBRARIES = {"emu", *sys.stdlib_module_names} - FLOAT_MODULES
GENERATORS = {"default_rng", "Generator", "PCG64", "Philox", "SeedSequence"}


def words(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every name that a module says: variables, attributes, imported names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.alias):
            yield node.lineno, node.name.rpartition(".")[2]


def tolerances(tree: ast.AST) -> Iterator[str]:
    """Comparison within a tolerance: bits are compared exactly."""
    yield from (f"{line}: {word}" for line, word in words(tree) if word in TOLERANCES)
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in TOLERANCE_KEYS:
            yield f"{node.value.lineno}: {node.arg}="


def is_numpy_random(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node) in {"np.random", "numpy.random"}


def global_random(tree: ast.AST) -> Iterator[str]:
    """State shared by everyone: the modules random and numpy.random other than their explicit generators, and one without a seed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and any(alias.name in {"random", "numpy.random"} for alias in node.names):
            yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and node.module == "random":
            yield from (f"{node.lineno}: {alias.name}" for alias in node.names if alias.name != "Random")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Random" and not node.args:
            yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and node.module == "numpy.random":
            yield from (f"{node.lineno}: {alias.name}" for alias in node.names if alias.name not in GENERATORS)
        elif isinstance(node, ast.Attribute) and node.attr not in GENERATORS and is_numpy_random(node.value):
            yield f"{node.lineno}: {ast.unparse(node)}"


def stubs(tree: ast.AST) -> Iterator[str]:
    """Places left for later."""
    yield from (f"{line}: {word}" for line, word in words(tree) if word == "NotImplementedError")


def logarithms(tree: ast.AST) -> Iterator[str]:
    """An exponent taken by a logarithm is wrong just below a power of two: read the field."""
    yield from (f"{line}: {word}" for line, word in words(tree) if word in LOGARITHMS)


def floats(tree: ast.AST) -> Iterator[str]:
    """What the reference model may not hold: float or complex literals, float(), modules that compute in floats, outside libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float | complex):
            yield f"{node.lineno}: {node.value!r}"
        elif isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            if any(name.split(".")[0] not in REFERENCE_MODEL_LIBRARIES for name in names):
                yield f"{node.lineno}: {ast.unparse(node)}"
    yield from (f"{line}: {word}" for line, word in words(tree) if word in {"float", "complex", "fromhex", "from_float"})


def python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


# A rule, words one of which stands in every text that breaks it (others are not parsed; none: all are), and the files it is for.
RULES: list[tuple[Callable[[ast.AST], Iterator[str]], set[str], list[Path]]] = [
    (tolerances, TOLERANCES | TOLERANCE_KEYS, python_files("emu", "tools", "research", "tests")),
    (global_random, {"random", "Random"}, python_files("emu", "tools", "research", "tests")),
    (stubs, {"NotImplementedError"}, python_files("emu", "tools", "research", "tests")),
    (
        logarithms,
        LOGARITHMS,
        python_files(
            "emu/spec", "emu/engines/exact", "emu/engines/numpy", "emu/engines/c_ref", "emu/engines/torch", "emu/contracts", "emu/vectors"
        ),
    ),
    (floats, set(), python_files("emu/engines/exact")),
]


@pytest.mark.parametrize(("rule", "hints", "files"), RULES, ids=[rule.__name__ for rule, _, _ in RULES])
def test_ban_holds(rule, hints, files):
    assert files
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    suspects = {path: text for path, text in texts.items() if not hints or any(hint in text for hint in hints)}
    assert [f"{path.relative_to(ROOT)}:{fault}" for path, text in suspects.items() for fault in rule(ast.parse(text))] == []


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (tolerances, "np.allclose(a, b)"),
        (tolerances, "from math import isclose"),
        (tolerances, "x == pytest.approx(y)"),
        (tolerances, "check(a, b, rtol=0)"),
        (global_random, "import random"),
        (global_random, "from random import choice"),
        (global_random, "from random import Random\nx = Random()"),
        (global_random, "np.random.seed(1)"),
        (global_random, "from numpy.random import rand"),
        (stubs, "raise NotImplementedError"),
        (logarithms, "e = np.floor(np.log2(x))"),
        (logarithms, "from math import frexp"),
        (floats, "x = 0.5"),
        (floats, "x = 1e3"),
        (floats, "x = float(y)"),
        (floats, "import math"),
        (floats, "from numpy import uint8"),
        (floats, "import ml_dtypes"),
    ],
)
def test_ban_sees_a_fault(rule, source):
    assert len(list(rule(ast.parse(source)))) == 1
    hints = next(hints for other, hints, _ in RULES if other is rule)
    assert not hints or any(hint in source for hint in hints)


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (tolerances, "assert (a == b).all()"),
        (global_random, "rows = np.random.default_rng(7).integers(0, 9)"),
        (global_random, "from random import Random\nx = Random(7).random()"),
        (logarithms, "e = n.bit_length() - 1"),
        (floats, "from fractions import Fraction\nfrom . import value\nfrom emu.spec import get\nx = Fraction(1, 2)"),
    ],
)
def test_ban_lets_the_right_way_pass(rule, source):
    assert list(rule(ast.parse(source))) == []
