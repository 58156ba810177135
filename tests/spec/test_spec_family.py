"""A family name where a recipe is wanted: one line with the members and what tells them apart, all from facts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import emu
from emu.cli.main import run
from emu.spec import get, names
from emu.spec.family import family
from emu.spec.registry import restored

X = np.ones((1, 32), np.float32)


def line_of(name: str) -> str:
    with pytest.raises(emu.SpecError) as found:
        emu.quantize(X, name)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_a_family_names_its_members_and_their_titles() -> None:
    line = line_of("mxfp4")
    found = family("mxfp6_e2m3")
    assert found is not None and len(found.members) == 4 and found.members[0] == "mxfp6_e2m3_torchao_ceil"
    line = line_of("mxfp6_e2m3")
    assert line.startswith("recipe 'mxfp6_e2m3' is a family of 4 (e2m3 elements, e8m0 scales), name a member: mxfp6_e2m3_torchao_ceil")
    assert line.endswith("; `emu show mxfp6_e2m3` prints them as a table")
    for name in found.members:
        assert f"{name} ({get('recipe', name).title})" in line


def test_a_large_family_is_grouped_by_block() -> None:
    line = line_of("nvfp4")
    found = family("nvfp4")
    assert found is not None and {"nvfp4_te_ref", "nvfp4_te_cuda", "nvfp4_torchao_1level", "nvfp4_comfy"} < set(found.members)
    assert "nvfp4_comfy, nvfp4_jax, nvfp4_modelopt, " in line and "(NVFP4 whose tensor level is the factor itself: maximum / 2688)" in line
    assert f"is a family of {len(found.members)} (e2m1 elements, ue4m3 scales)" in line and all(name in line for name in found.members)
    assert line_of("NVFP4").replace("NVFP4'", "nvfp4'").replace("show NVFP4", "show nvfp4") == line


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mxfp8", "recipe 'mxfp8' is a family of 17 (8-bit float elements, power-of-two scales), name a member: mxfp8_e4m3_comfy, "),
        ("mxfp6", "recipe 'mxfp6' is a family of 8 (6-bit float elements, power-of-two scales), name a member: mxfp6_e2m3_torchao_ceil"),
        ("nvfp6", "recipe 'nvfp6' is unknown: no recipe has 6-bit float elements, float scales of at most 8 bits: emu.convert "),
        ("mxint8", "recipe 'mxint8' is unknown: no recipe has 8-bit integer elements, power-of-two scales: emu.convert takes int8; "),
        ("nvfp8", "recipe 'nvfp8' is unknown: no recipe has 8-bit float elements, float scales of at most 8 bits: "),
        ("int4", "recipe 'int4' is a family of 4 (int4 elements), name a member: f46_nvint4 ("),
        ("nvint4", "recipe 'nvint4' is a family of 1 (int4 elements, ue4m3 scales), name a member: f46_nvint4 ("),
        ("nvfp4_te_reff", "recipe 'nvfp4_te_reff' is unknown: did you mean nvfp4_te_ref"),
    ],
)
def test_other_first_names(name: str, line: str) -> None:
    assert line_of(name).startswith(line)


def test_facts_decide_who_belongs(tmp_path: Path) -> None:
    """A block with the same facts under another name, and a recipe on it, join the family; other scales do not."""
    shipped = Path(__file__).parents[2] / "spec"
    for kind, old, new in (("block", "mxfp4", "mine"), ("recipe", "mxfp4_torchao_floor", "floor_of_mine")):
        text = (shipped / kind / f"{old}.yaml").read_text(encoding="utf-8")
        text = text.replace(f'id: "{old}"', f'id: "{new}"').replace('block: "mxfp4"', 'block: "mine"')
        lines = [line for line in text.splitlines() if not line.startswith("aliases:")]
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f"{new}.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with restored():
        emu.load_spec(tmp_path)
        mine, other, theirs = family("mine"), family("mxfp4"), family("nvfp4")
        assert mine is not None and other is not None and theirs is not None
        assert mine.members == other.members and "floor_of_mine" in mine.members and "floor_of_mine" not in theirs.members


def test_every_recipe_is_in_the_family_of_its_block() -> None:
    for name in names("recipe"):
        found = family(get("recipe", name).facts.block)
        assert found is not None and name in found.members


def test_show_prints_the_family_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "nvfp4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(line for line in lines if line.split()[:2] == ["recipe", "block"])
    found = family("nvfp4")
    assert found is not None
    rows = lines[lines.index(head) + 1 :][: len(found.members)]
    assert tuple(row.split()[0] for row in rows) == found.members
    assert all(get("recipe", row.split()[0]).title in row for row in rows)
    assert run(["show", "nvfp8"]) == 2
    assert capsys.readouterr().err.startswith("emu: 'nvfp8' is unknown: no recipe has 8-bit float elements")
    assert run(["quantize", "none.npy", "--recipe", "mxfp4"]) == 2
    assert f"is a family of {len(members('mxfp4'))} (e2m1" in capsys.readouterr().err


def test_a_copy_of_a_format_means_the_same_family(tmp_path: Path) -> None:
    """A format with the facts of e2m1 under another name, and a block and recipe that name it, are of the family of e2m1 and of mxfp4."""
    shipped = Path(__file__).parents[2] / "spec"
    for kind, old, new in (("format", "e2m1", "my_fp4"), ("block", "mxfp4", "my_block"), ("recipe", "mxfp4_torchao_floor", "my_floor")):
        text = (shipped / kind / f"{old}.yaml").read_text(encoding="utf-8").replace(f'id: "{old}"', f'id: "{new}"')
        text = text.replace('block: "mxfp4"', 'block: "my_block"').replace('element: {format: "e2m1"}', 'element: {format: "my_fp4"}')
        text = "\n".join(line for line in text.splitlines() if not line.startswith("aliases:"))
        (tmp_path / f"{new}.yaml").write_text(text, encoding="utf-8")
    before = {name: members(name) for name in ("e2m1", "mxfp4")}
    with restored():
        emu.spec.load_spec(tmp_path)
        assert members("my_fp4") == members("e2m1") == {*before["e2m1"], "my_floor"}
        assert members("my_block") == members("mxfp4") == {*before["mxfp4"], "my_floor"}


def members(name: str) -> set[str]:
    found = family(name)
    assert found is not None
    return set(found.members)
