"""Whole numbers of datapaths, blocks, layouts and checkpoints are bounded: what is beyond is refused in one line with file and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.base.errors import SpecError
from emu.spec import get, load_spec
from emu.spec.registry import restored, shipped_root

CASES = [
    ("datapath/ideal", "k: 64", "k: 1048577", "facts.k: 1048577 must be less than or equal to 1048576"),
    ("datapath/ideal", "by: 4", "by: 9000000", "facts.levels.1.by: 9000000 must be less than or equal to 1048576"),
    ("datapath/ideal", "of: 16", "of: 0", "facts.levels.0.of: 0 must be greater than or equal to 1"),
    ("datapath/ideal", "blocks: [16, 32]", "blocks: [16, 99999999999]", "facts.scale.blocks.1: 99999999999 must be less than"),
    ("datapath/hopper_fp16", "fraction_bits: 25", "fraction_bits: 100000000", "align.fraction_bits: 100000000 must be less than"),
    ("datapath/hopper_fp16", "fraction_bits: 25", "fraction_bits: -1", "align.fraction_bits: -1 must be greater than or equal to 0"),
    ("datapath/hopper_fp16", 'floor: "derived"', "floor: -99999999", "align.floor: -99999999 must be greater than or equal to -16384"),
    ("datapath/hopper_fp16", 'floor: "derived"', "integer_bits: 99999999", "align.integer_bits: 99999999 must be less than or equal"),
    ("datapath/hopper_fp16", 'floor: "derived"', "exponent_raise: 16385", "align.exponent_raise: 16385 must be less than or"),
    ("datapath/hopper_fp16", 'rounding: "rz"', 'rounding: "rz", keep: 53', "hold.keep: 53 must be less than or equal to 52"),
    (
        "datapath/cdna3_fp8",
        "fraction_bits: 31",
        "fraction_bits: 9999999999",
        "align.fraction_bits: 9999999999 must be less than or equal to 16384",
    ),
    ("datapath/cdna3_fp8", "drop_below: 25", "drop_below: 16385", "running.drop_below: 16385 must be less than or equal to 16384"),
    ("datapath/cdna3_fp8", "every: 2", "every: 9999999999", "take.every: 9999999999 must be less than or equal to 1048576"),
    ("block/nvfp4", "shape: [1, 16]", "shape: [1, 1000000000]", "facts.shape.1: 1000000000 must be less than or equal to 4096"),
    ("block/nvfp4", "shape: [1, 16]", "shape: [0, 16]", "facts.shape.0: 0 must be greater than or equal to 1"),
    ("layout/sf128x4", "step: 128", "step: 1000000000", "facts.digits.4.step: 1000000000 must be less than or equal to 4096"),
    ("layout/sf128x4", "count: 32", "count: 1000000000", "facts.digits.2.count: 1000000000 must be less than or equal to 4096"),
]


def loaded(folder: Path, name: str, old: str, new: str) -> None:
    """Load a copy of a shipped object, called mine, with one change."""
    kind, stem = name.split("/")
    text = (shipped_root() / kind / f"{stem}.yaml").read_text(encoding="utf-8")
    assert old in text
    text = text.replace(f'id: "{stem}"', 'id: "mine"').replace(old, new).partition("\nexpect:")[0] + "\nopen: []\nsources: []\n"
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    load_spec(folder)


@pytest.mark.parametrize(("name", "old", "new", "message"), CASES, ids=[f"{name} {new}" for name, _, new, _ in CASES])
def test_a_number_beyond_its_bound_is_refused(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    with restored(), pytest.raises(SpecError) as caught:
        loaded(tmp_path, name, old, new)
    text = str(caught.value)
    assert message in text and text.startswith(f"{tmp_path}/mine.yaml:") and "\n" not in text and text.count(":") < 9


def test_a_number_at_its_bound_is_taken(tmp_path: Path) -> None:
    with restored():
        loaded(tmp_path, "block/nvfp4", "shape: [1, 16]", "shape: [1, 4096]")
        assert get("block", "mine").facts.shape == (1, 4096)
