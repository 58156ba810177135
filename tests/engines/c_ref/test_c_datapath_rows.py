"""Datapaths in the C reference: worked rows of a separate model, with exponents, sums and stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from support.c_dot import in_c

from emu.engines.c_ref import datapath as native
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.models import Format
from emu.spec.models.levels import EpilogueFacts

ROWS = yaml.safe_load((Path(__file__).parents[2] / "engines" / "exact" / "datapath_rows.yaml").read_text(encoding="utf-8"))
Operands = tuple[list[int], list[int], list[int], list[int], int]


def plan_of(name: str) -> DatapathPlan:
    """Return the plan of a name such as nv_like/e1m2xe1m2/ue4m3/16."""
    datapath, *chosen = name.split("/")
    pair = next((part.split("x") for part in chosen if "x" in part), [None, None])
    scale = next((part for part in chosen if "x" not in part and not part.isdigit()), None)
    return resolve(datapath, *pair, scale, next((int(part) for part in chosen if part.isdigit()), None))


def split(text: str, fmt: Format) -> list[int]:
    """Return the codes of a hex string."""
    digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
    return [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]


def operands_of(row: dict[str, Any], plan: DatapathPlan) -> Operands:
    """Return the operands of a worked row."""
    scales = [split(row[key], plan.scale) if plan.scale else [] for key in ("sfa", "sfb")]
    return split(row["a"], plan.a), split(row["b"], plan.b), *scales, int(row["c"], 16)


@pytest.mark.parametrize("row", ROWS["rows"], ids=lambda row: f"{row['plan']}-{row['category']}")
def test_worked_row(row: dict[str, Any]) -> None:
    plan = plan_of(row["plan"])
    operands = operands_of(row, plan)
    assert f"{in_c(operands, plan):0{len(row['d'])}X}" == row["d"]
    step = native.dot_stages(*operands, plan)[-1]
    if "e" in row and plan.frac_bits is not None:
        assert (step.exp, step.code) == (row["e"], int(row["d"], 16))
        if plan.late_c is None:
            assert step.total == int(row["s"])


@pytest.mark.parametrize("row", ROWS["promote"], ids=lambda row: f"{row['plan']}-{row['category']}")
def test_worked_row_of_promote(row: dict[str, Any]) -> None:
    plan = plan_of(row["plan"])
    steps = native.dot_stages(*operands_of(row, plan), plan)
    found = {"p": [s.part_code for s in steps], "ss": [s.scale_code for s in steps], "tm": [s.term_code for s in steps]}
    found["acc"] = [s.code for s in steps]
    assert {key: [f"{code:08X}" for code in codes] for key, codes in found.items()} == {key: row[key] for key in found}
    assert f"{in_c(operands_of(row, plan), plan):08X}" == row["d"]


@pytest.mark.parametrize("row", ROWS["profiles"], ids=lambda row: f"{row['format']}: {row['why']}")
def test_worked_row_of_every_profile(row: dict[str, Any]) -> None:
    assert len(row["d"]) == 5
    for profile, wanted in row["d"].items():
        plan = resolve(profile, row["format"], row["format"], "ue4m3", 16)
        assert f"{in_c(operands_of(row, plan), plan):08X}" == wanted, profile
        if profile == "int64":
            last = native.dot_stages(*operands_of(row, plan), plan)[-1]
            assert (last.total, last.lsb_exp) == (int(row["acc"]), row["lsb_exp"])


@pytest.mark.parametrize("row", ROWS["epilogue"], ids=lambda row: row["category"])
def test_worked_row_of_the_epilogue(row: dict[str, Any]) -> None:
    plan, before = plan_of(row["plan"]), row["c_place"] == "before"
    facts = EpilogueFacts(alpha="rne", d="rne", c_place=row["c_place"], fused=row["fused"])
    a, b, scale_a, scale_b, c = operands_of(row, plan)
    found = in_c((a, b, scale_a, scale_b, c if before else 0), plan)
    alpha = native.alpha(int(row["t_a"], 16), int(row["t_b"], 16), facts, plan)
    codes = (np.array([[code]], np.uint32) for code in (found, c))
    d, addend = codes
    result = int(native.epilogue(d, alpha, None if before else addend, facts, plan)[0, 0])
    assert [f"{code:08X}" for code in (found, alpha, result)] == [row["dot"], row["alpha"], row["d"]]
