"""The JSON Schemas: valid themselves, true of every shipped file, false of bad ones; the reference names every key."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel

from emu.spec.loader import read
from emu.spec.models import KINDS
from emu.spec.models.common import Part
from emu.spec.models.datapath import (
    Accumulator,
    AlignFacts,
    DatapathFacts,
    LateC,
    PromoteFacts,
    RoundFacts,
    ScaleFacts,
    SpecialFacts,
    SubnormalFacts,
)
from emu.spec.registry import get
from tools.docs.reference import spec_page
from tools.docs.schemas import DIALECT, schema

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for path in (ROOT / "spec").rglob("*.yaml"))
ALL = (*KINDS, "sources")


def plain(data: Any) -> Any:
    """Tuples as lists: what a JSON reader sees."""
    return json.loads(json.dumps(data))


@cache
def validator(kind: str) -> Any:
    return jsonschema.Draft202012Validator(schema(kind))


STEPS = (
    DatapathFacts,
    ScaleFacts,
    AlignFacts,
    LateC,
    Accumulator,
    PromoteFacts,
    RoundFacts,
    SubnormalFacts,
    SpecialFacts,
)  # no file says them


def parts(model: type[BaseModel] = Part) -> list[type[BaseModel]]:
    found = [part for child in model.__subclasses__() if child.__module__.startswith("emu.spec") for part in (child, *parts(child))]
    return [part for part in found if part not in STEPS]


@pytest.mark.parametrize("kind", ALL)
def test_schema_is_valid_and_stored(kind: str) -> None:
    found = schema(kind)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found["$schema"] == DIALECT
    assert json.loads((ROOT / f"spec/schema/{kind}.schema.json").read_text(encoding="utf-8")) == found
    assert '"null"' not in json.dumps(found)


@pytest.mark.parametrize("kind", ALL)
def test_every_shipped_file_keeps_its_schema(kind: str) -> None:
    files = [ROOT / "spec" / "sources.yaml"] if kind == "sources" else [path for path in FILES if path.parent.name == kind]
    assert files
    for path in files:
        assert [(path.name, error.message) for error in validator(kind).iter_errors(plain(read(path).data))] == []
        if kind != "sources":
            assert path.read_text(encoding="utf-8").splitlines()[0] == f"# yaml-language-server: $schema=../schema/{kind}.schema.json"


def test_files_of_every_kind_were_checked() -> None:
    assert {path.parent.name for path in FILES} - {"spec"} == set(KINDS) and len(FILES) > 100


@pytest.mark.parametrize(
    ("kind", "name", "place", "value"),
    [
        ("format", "e2m1", ("facts", "bias"), "1"),
        ("format", "e2m1", ("facts", "signed"), "maybe"),
        ("format", "e2m1", ("facts", "surprise"), 1),
        ("format", "e2m1", ("facts", "exp_bits"), 12),
        ("format", "e2m1", ("aliases",), "fp4"),
        ("format", "ue4m3", ("facts", "nan"), ("7F",)),
        ("rounding", "rne", ("facts", "magnitude", "half"), "to_even"),
        ("policy", "nvidia", ("facts", "e2m1", "overflow"), "clip"),
        ("block", "nvfp4", ("facts", "shape"), (16,)),
        ("block", "nvfp4", ("facts", "levels", 0, "granularity"), "vector"),
        ("transform", "rht16_te", ("facts", "size"), 1),
        ("recipe", "nvfp4_te_ref", ("facts", "steps", 1, "args"), ("2688",)),
        ("recipe", "nvfp4_te_ref", ("facts", "steps", 1, "op"), "divide"),
        ("recipe", "nvfp4_te_ref", ("kind",), "block"),
    ],
)
def test_schema_sees_a_fault(kind: str, name: str, place: tuple[Any, ...], value: Any) -> None:
    data = plain(read(ROOT / f"spec/{kind}/{name}.yaml").data)
    *way, last = place
    node = data
    for part in way:
        node = node[part]
    node[last] = plain(value)
    assert list(validator(kind).iter_errors(data)) != []


def test_every_key_is_described_in_the_models_and_on_the_page() -> None:
    page = spec_page()
    models = parts()
    assert len(models) > 40
    for model in models:
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name} has no description"
            assert f"| `{field.alias or name}` |" in page
    shown = [model.__name__ for model in models if f"### {model.__name__}\n" in page]
    frames = {*(model.__name__ for model in KINDS.values()), "SpecObject", "SourceEntry", "_Step", "FormFacts"}
    assert sorted(shown) == sorted({model.__name__ for model in models} - frames)


def test_wire_names_are_the_aliases() -> None:
    assert "class" in schema("format")["$defs"]["FloatFacts"]["properties"]
    assert "class_" not in json.dumps(schema("format"))
    assert get("format", "e2m1").facts_json()["class"] == "float"
