"""docs/api.md: every public name is there with the signature that runs, and says shapes, errors and sources."""

from __future__ import annotations

import importlib
import inspect
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from emu.base.errors import FileError
from tools.docs.api import PACKAGES, PATH, api_pages, definition, paragraphs, public_items

TORCH = ("emu.torch", "emu.nn")


@pytest.fixture(scope="module")
def page(checkout: Path) -> str:
    return (checkout / PATH).read_text(encoding="utf-8")


def shown(page: str, name: str) -> str:
    """The part of the page under the heading of one name."""
    _, found, rest = page.partition(f"\n### {name}\n")
    assert found, f"{PATH} has no heading {name}"
    return re.split(r"\n##+ ", rest)[0]


def test_the_page_is_that_of_the_sources(page: str, checkout: Path) -> None:
    assert page == api_pages(checkout)[PATH], "to mend it: emu docs build"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_with_its_signature(page: str, package: str) -> None:
    if package in TORCH and find_spec("torch") is None:
        pytest.skip("no torch here: the signatures of emu.torch cannot be asked")
    module = importlib.import_module(package)
    assert len(module.__all__) == len(set(module.__all__)) > 2
    for name in module.__all__:
        part, found = shown(page, f"{package}.{name}"), getattr(module, name)
        if inspect.isfunction(found):
            assert part.startswith(f"\n```python\n{found.__name__}(")
            code = part.split("```")[1].removeprefix("python\n").strip()
            running: dict[str, Any] = {}
            exec(f"from __future__ import annotations\ndef {code}: ...", dict(vars(importlib.import_module(found.__module__))), running)
            mine, real = inspect.signature(running[found.__name__]), inspect.signature(found)
            assert list(mine.parameters) == list(real.parameters)
            assert [(p.kind, p.default) for p in mine.parameters.values()] == [(p.kind, p.default) for p in real.parameters.values()]


@pytest.mark.parametrize("package", ["emu", "emu.torch"])
def test_every_operation_says_errors_and_sources(page: str, checkout: Path, package: str) -> None:
    names = [item.name for item in public_items(checkout, package) if type(item.node).__name__ == "FunctionDef"]
    assert 6 < len(names) <= 20
    for name in names:
        part = shown(page, f"{package}.{name}")
        wanted = ("- **Raises**:",) if name == "load_spec" else ("- **Raises**:", "- **Source**:", "- **Returns**:")
        assert [word for word in wanted if word not in part] == [], f"{package}.{name}"


def test_links_of_the_page_lead_somewhere(page: str, checkout: Path) -> None:
    headings = {line.lstrip("# ").lower().replace(".", "") for line in page.splitlines() if line.startswith("#")}
    for target in re.findall(r"\]\(([^)]+)\)", page):
        assert target.removeprefix("#") in headings if target.startswith("#") else (checkout / "docs" / target).is_file(), target


def test_a_name_without_definition_is_a_fault(checkout: Path) -> None:
    with pytest.raises(FileError, match="emu: no definition of dot_product was found"):
        definition(checkout, "emu", "dot_product")


def test_a_docstring_becomes_sentences_and_a_list() -> None:
    text = "Do it.\n\nx: an array.   y: two\n    lines.\nNaN, Inf: kept.   Raises: OperandError.\nIt is quick.   Tests: tests/x.py."
    assert paragraphs(text) == [
        "Do it.", "", "- **x**: an array.", "- **y**: two lines.", "- **NaN, Inf**: kept.", "- **Raises**: OperandError.", "- It is quick.",
    ]  # fmt: skip
