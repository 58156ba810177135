"""Families of recipes: the kept record fits the spec, groups hold what agrees, counts are those of a plain comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.spec.family import Family, family
from research import families
from research.families import compare, needs_more
from research.pages.families import families_pages


def rows(count: int = 32) -> list[tuple[str, Any]]:
    rng = np.random.default_rng(20261124)
    return [("drawn", rng.standard_normal((count, 64)).astype(np.float32)), ("small", np.full((16, 32), 2**-20, np.float32))]


def test_the_kept_record_fits_the_spec(checkout: Path) -> None:
    record = families.KIND.read(checkout / families.RECORD)
    assert families.stale(record) == []
    lost = {**record, "families": record["families"][1:]}
    assert families.stale(lost) == [f"{record['families'][0]['name']}: other members"]
    kind, name = "recipe", next(iter(record["digests"]["recipe"]))
    assert families.stale({**record, "digests": {**record["digests"], kind: {**record["digests"][kind], name: "0"}}}) == [f"{kind} {name}"]


def test_a_family_is_told_once_and_holds_two_members_at_least() -> None:
    found = families.families()
    assert len({one.members for one in found}) == len(found) >= 6
    assert all(sum(not needs_more(name) for name in one.members) > 1 for one in found)
    assert {"nvfp4", "mxfp4", "mxfp8_e4m3"} <= {one.name for one in found}


def test_members_that_take_random_numbers_are_left_out() -> None:
    found = family("ufp4")
    assert found is not None and "ufp4_sr" in found.members
    assert "ufp4_sr" in compare(found, rows())["left_out"]


@pytest.mark.parametrize(
    "names",
    [
        ("mxfp4_torchao_floor", "mxfp4_torchao_ceil"),
        ("nvfp4_te_ref", "nvfp4_f46_static_4"),
        ("nvfp4_te_ref", "nvfp4_te_2d_ref"),
        ("mxfp4_torchao_floor", "kvfp4_sglang"),
    ],
)
def test_counts_are_those_of_a_plain_comparison(names: tuple[str, str]) -> None:
    given = rows()
    found = compare(Family("pair", "two recipes", names), given)
    assert sorted(name for group in found["groups"] for name in group["members"]) == sorted(names)
    one, two = ([emu.quantize(x, name) for _, x in given] for name in names)
    codes = sum(int(np.count_nonzero(a.codes != b.codes)) for a, b in zip(one, two, strict=True))
    values = sum(
        sum(x != y or str(x) != str(y) for x, y in zip(a.dequantize().ravel().tolist(), b.dequantize().ravel().tolist(), strict=True))
        for a, b in zip(one, two, strict=True)
    )
    assert codes and all((group["codes"], group["values"]) == (codes, values) for group in found["groups"])
    pairs = [(a.levels[-1].codes, b.levels[-1].codes) for a, b in zip(one, two, strict=True)]
    scales = sum(int(np.count_nonzero(a != b)) if a.shape == b.shape else max(a.size, b.size) for a, b in pairs)
    assert all(group["scales"] == scales for group in found["groups"])


def test_the_same_computation_is_one_group() -> None:
    found = compare(Family("twice", "the same", ("mxfp4_te_pow2", "mxfp4_f46_static_6")), [("drawn", rows()[0][1])])
    assert found["groups"] == [{"members": ["mxfp4_te_pow2", "mxfp4_f46_static_6"]}]


def test_the_page_follows_from_the_record(checkout: Path, tmp_path: Path) -> None:
    assert families_pages(tmp_path) == {}
    text = families_pages(checkout)["docs/families.md"]
    assert all(f"### {row['name']}\n" in text for row in families.KIND.read(checkout / families.RECORD)["families"])
