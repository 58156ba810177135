"""The README's table of operations and engines follows from emu.engines.table and the shipped spec; so do the names and numbers around it.

`yes`: every contract of the spec, `most`: at least half of them, `some`: fewer. Examples, links and commands: test_readme_tour.py.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from emu.engines import table
from emu.spec import derive, get, names
from emu.spec.contract import GRAMMARS, level_plans, plans
from emu.spec.models.format import FloatFacts
from emu.spec.models.transform import TransformFacts
from emu.spec.operations import OPERATIONS
from emu.spec.series import choices

INNER = ("fp64", "ue1m0", "uint1")  # of which nothing is made alone: a source, and the inner scales and flags of blocks


@pytest.fixture(scope="module")
def readme(checkout: Path) -> str:
    return (checkout / "README.md").read_text(encoding="utf-8")


def asked() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Operation and facts of everything that the table of engines is asked about, for the shipped spec."""
    source = get("format", "fp32")
    for fmt, rounding, policy in (contract.parts for contract in GRAMMARS["convert"].every()):
        facts = get("format", fmt), get("rounding", rounding), get("policy", policy)
        yield "convert", (source, *facts)
    for recipe in (get("recipe", name) for name in names("recipe")):
        yield "quantize", (recipe, source)
        yield from (("dequantize", (recipe, profile)) for profile in recipe.facts.dequantize)
    for name in names("transform"):
        yield "transform", (get("transform", name), source)
    yield from (("dot", (plan,)) for plan in plans())
    yield from (("levels", (plan,)) for plan in level_plans())
    floats = [fmt for name in names("format") if isinstance((fmt := get("format", name)).facts, FloatFacts)]
    neighbours = [fmt for fmt in floats if fmt.facts.nan != "none" and derive.codes(fmt).bits <= 8]
    for name, operation in OPERATIONS.items():
        for fmt in floats if operation.gives != "code" else neighbours:
            yield "operate", (name, (fmt,) * operation.operands, fmt, get("rounding", "rne"))


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, list[bool]]]:
    """Operation -> engine -> for each case whether it can; levels are dot products."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "has_torch", lambda: True)
        found: dict[str, dict[str, list[bool]]] = {}
        for operation, facts in asked():
            row = found.setdefault("dot" if operation == "levels" else operation, {})
            for line in table.TABLE:
                if line.operation == operation:
                    row.setdefault(line.engine, []).append(bool(line.can(*facts)))
        return found


def word(can: list[bool]) -> str:
    """Return the word of a cell."""
    return "yes" if all(can) else "most" if 2 * sum(can) >= len(can) else "some" if any(can) else ""


def cells(readme: str) -> dict[str, list[str]]:
    """First cell of each row of the first table -> the others."""
    lines = [line for line in readme.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[: lines.index("| I ... | read |")]]
    return {first: others for first, *others in rows}


def test_each_cell_is_what_the_engines_take(readme: str, counted: dict[str, dict[str, list[bool]]]) -> None:
    rows = cells(readme)
    engines = [cell.strip("`") for cell in rows[""][1:]]
    assert sorted(engines) == sorted(set(table.ENGINES) - {"auto"})
    shown = {name: row for first, row in rows.items() for name in first.split(", ") if name in counted}
    assert sorted(shown) == sorted(counted) and rows["dot, matmul"]
    wrong = [
        f"{operation}, {engine}: {word(can)} ({sum(can)} of {len(can)})"
        for operation, row in counted.items()
        for engine, can in row.items()
        if shown[operation][1 + engines.index(engine)] != word(can)
    ]
    assert wrong == []


def test_the_words_tell_shares_apart() -> None:
    assert [word([True] * n + [False] * (4 - n)) for n in range(5)] == ["", "some", "most", "most", "yes"]


def test_auto_takes_the_engines_in_the_order_that_is_said(readme: str) -> None:
    assert '`engine="auto"` takes `native` where it can, then `numpy`, then another' in readme
    for operation in {line.operation for line in table.TABLE}:
        order = [line.engine for line in table.TABLE if line.operation == operation]
        assert order[: 2 if "native" in order else 1] == [name for name in ("native", "numpy") if name in order], operation


def test_what_the_rows_read_is_in_the_spec(readme: str) -> None:
    rows = cells(readme)
    formats = rows["convert"][0]
    named = {name.lower() for name in re.findall(r"\w+", formats)}
    others = [name for name in names("format") if name not in named and derive.codes(get("format", name)).bits not in (6, 8)]
    assert [name for name in others if name not in INNER] == []
    (series,) = (get("series", name) for name in names("series"))
    assert f"the {len(list(choices(series)))} formats of the IEEE P3109 draft" in formats
    families = re.findall(r"\b[A-Z]+[0-9]\b", rows["quantize, dequantize"][0].replace("HiF", "HIF"))
    blocks = {get("recipe", name).facts.block for name in names("recipe")}
    assert len(families) > 5 and [name for name in families if not any(name.lower() in block for block in blocks)] == []
    sizes = {type(bound).__name__: bound for bound in TransformFacts.model_fields["size"].metadata}
    assert f"of {sizes['Ge'].ge} to {sizes['Le'].le} elements" in rows["transform"][0]
    machines = " ".join(get("datapath", name).title for name in names("datapath"))
    assert [name for name in ("Blackwell", "Hopper", "Ada", "CDNA3", "RISC-V", "Proposed") if name not in machines] == []
    assert all(name in rows["dot, matmul"][0] for name in ("Blackwell", "Hopper", "Ada", "CDNA3", "RISC-V", "proposed"))


def test_every_space_of_binary32_that_it_counts_was_swept(readme: str, checkout: Path) -> None:
    assert "all 2^32 binary32 inputs" in readme
    record = json.loads((checkout / "docs/evidence/sweeps.json").read_text(encoding="utf-8"))["sweeps"]
    swept = {key.split("/")[1] for key, line in record.items() if key.startswith("fp32/") and line["inputs"] == 2**32}
    assert swept == {name for name in names("format") if derive.codes(get("format", name)).bits == 4}


def test_what_pip_needs_is_what_the_project_states(readme: str, checkout: Path) -> None:
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in readme
    assert f"the package `{project['name']}`" in readme and f"Licence: {project['license']}" in readme
    assert "emu" in project["scripts"]
