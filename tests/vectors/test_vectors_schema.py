"""JSON records and their schemas: the small validator that ships judges as jsonschema does; the records in git follow."""

import copy as copying
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from emu.base.errors import FileError
from emu.vectors import verify
from emu.vectors.files.manifest import MANIFEST, render_manifest
from emu.vectors.files.schema_check import check, fault, schema
from emu.vectors.suites.notes import KILL_CLASSES, KINDS, NOTES

NAMES = ("vectors", "errata", "kill", "cover")


def judge(name: str) -> jsonschema.Draft202012Validator:
    """The full validator for a schema of the package."""
    data = json.loads((files("emu.vectors.files") / "schema" / f"{name}.schema.json").read_text(encoding="ascii"))
    jsonschema.Draft202012Validator.check_schema(data)
    return jsonschema.Draft202012Validator(data)


def damaged(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield (path, value) of changes: each key gone, each value of another type, one more key."""
    if isinstance(node, dict):
        yield (*path, "another key"), 1
        for key, value in node.items():
            yield from damaged(value, (*path, key))
    elif isinstance(node, list):
        yield path, {}
        for place, value in list(enumerate(node))[:2]:
            yield from damaged(value, (*path, place))
    else:
        for other in (None, -1, True, "NOT IT!", [], {}):
            yield path, other


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy with one value set."""
    out = copying.deepcopy(data)
    if not path:
        return value
    node = out
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return out


def compared(name: str, data: Any) -> int:
    """Hold the small validator against jsonschema on a record and on every damaged copy of it; return how many were refused."""
    full, refused = judge(name), 0
    assert fault(data, schema(name), schema(name)) is None and full.is_valid(data)
    for path, value in damaged(data):
        broken = changed(data, path, value)
        mine, theirs = fault(broken, schema(name), schema(name)) is None, full.is_valid(broken)
        assert mine == theirs, (path, value)
        refused += not mine
    return refused


@pytest.mark.exhaustive
def test_records_of_suites_are_judged_alike(built: Path) -> None:
    seen = 0
    for stem in ("convert__bf16_to_e2m1__nvidia_sr_add8__smoke", "decode__ue4m3_to_fp32__exact__all"):
        data = json.loads((built / stem.partition("__")[0] / f"{stem}.json").read_bytes())
        data["groups"] = [group | {key: group[key][:2] for key in ("tests",) if key in group} for group in data["groups"][:2]]
        data["notes"] = dict(list(data["notes"].items())[:2])
        seen += compared("vectors", data)
    assert seen > 300


def test_errata_and_kills_are_judged_alike(checkout: Path) -> None:
    entry = {"stem": "a", "tcId": 1, "column": "y", "old": "1", "new": "2", "why": "x", "fixed_by": 4}
    assert compared("errata", [entry]) > 20
    data = json.loads((checkout / "docs" / "evidence" / "KILL.json").read_bytes())
    check(data, "kill", "KILL.json")
    few = data | {"mutants": data["mutants"][:1], "survivors": data["survivors"][:1], "suites": dict(list(data["suites"].items())[:1])}
    assert compared("kill", few) > 50


@pytest.mark.parametrize("name", NAMES)
def test_schemas_ship_and_use_what_is_checked(name: str) -> None:
    assert schema(name)["$schema"].endswith("2020-12/schema") and judge(name)


def test_the_schema_lists_the_classes_and_kinds_of_notes() -> None:
    note = schema("vectors")["properties"]["notes"]["additionalProperties"]["properties"]
    assert note["kind"]["enum"] == list(KINDS) and note["kills"]["items"]["enum"] == list(KILL_CLASSES)
    assert {kind for item in NOTES.values() for kind in item.kills} == set(KILL_CLASSES)


def test_every_record_in_git_follows_its_schema(checkout: Path) -> None:
    counts = dict.fromkeys(NAMES, 0)
    for path in sorted((checkout / "vectors").glob("*/*.json")):
        if path.parent.name == "bench":
            continue
        name = {"ERRATA": "errata", "COVER": "cover", "KILL": "kill"}.get(path.stem, "vectors")
        check(json.loads(path.read_bytes()), name, path.name)
        counts[name] += 1
    assert counts["vectors"] > 100 and counts["errata"] >= 7


@pytest.mark.exhaustive
def test_verify_refuses_a_record_that_breaks_its_schema(copy: Path) -> None:
    """A fact of the record that follows from no row: only the schema sees it."""
    path = copy / "convert" / "convert__bf16_to_e2m1__nvidia_rne__smoke.json"
    text = path.read_text(encoding="ascii")
    path.write_text(text.replace('"overflow":"saturate"', '"overflow":"saturated"'), encoding="ascii")
    (path.parent / MANIFEST).write_text(render_manifest(path.parent), encoding="ascii")
    report = verify(copy)
    assert report.exit_code == 2 and 'contract.overflow: none of 2 forms: contract.overflow: "saturated" is none of' in report.faults[0]


def test_a_fault_names_the_place() -> None:
    with pytest.raises(FileError, match=r"f: \[0\]: key tcId is missing \(emu/vectors/files/schema/errata.schema.json\)"):
        check([{"stem": "a"}], "errata", "f")
