"""Docstrings and comments that name a test name one that exists; schemas of records say what each field is."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
POINTER = re.compile(r"(?<![\w/.])tests/[\w./*-]*\w")
SOURCES = [path for top in ("emu", "c_ref") for path in sorted((ROOT / top).rglob("*")) if path.suffix in (".py", ".c", ".h", ".cu")]


def pointers(text: str) -> list[str]:
    """The files and folders of tests that a text names."""
    return POINTER.findall(text)


def test_every_pointer_names_a_file() -> None:
    named = [(path, name) for path in SOURCES for name in pointers(path.read_text(encoding="utf-8"))]
    assert len(named) > 80
    assert [f"{path.relative_to(ROOT)}: {name}" for path, name in named if not (ROOT / name).exists()] == []


def test_a_pointer_is_seen() -> None:
    assert pointers("Tests: tests/api/test_api_none.py.") == ["tests/api/test_api_none.py"]
    assert pointers("    Tests: tests/engines/torch.\n") == ["tests/engines/torch"]
    assert pointers("see tests/a/b*.py, tests/c_column/x.py") == ["tests/a/b*.py", "tests/c_column/x.py"]


def fields(node: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every field of a schema with its own schema."""
    found: list[tuple[str, Any]] = []
    for name, child in node.get("properties", {}).items():
        found += [(f"{path}.{name}", child), *fields(child, f"{path}.{name}")]
    for key in ("items", "additionalProperties"):
        found += fields(node[key], path) if isinstance(node.get(key), dict) else []
    for child in node.get("anyOf", ()):
        found += fields(child, path)
    return found


@pytest.mark.parametrize("name", ["vectors", "errata"])
def test_every_field_of_a_record_is_described(name: str) -> None:
    data = json.loads((ROOT / "emu" / "vectors" / "files" / "schema" / f"{name}.schema.json").read_text(encoding="ascii"))
    found = fields(data)
    assert len(found) >= 7
    assert [path for path, child in found if len(child.get("description", "")) < 5] == []
