"""RISC-V's integrated matrix extension: every worked row, by the file that docs/riscv.md prints, changed by the parameters of the row."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import emu
from emu.spec import load_spec
from emu.spec.registry import restored

PAGE = (Path(__file__).parents[3] / "docs" / "riscv.md").read_text(encoding="utf-8")
(PRINTED,) = re.findall(r"^```yaml\n([^`]*zvvm_g4_rto_rne[^`]*)^```", PAGE, re.MULTILINE)
ROWS = yaml.safe_load(Path(__file__).with_name("zvvm_rows.yaml").read_text(encoding="utf-8"))["rows"]
MODES = {"rne": "rne", "rtz": "rz", "rup": "ru", "rdn": "rd"}
NAN = {"fp32": "0x7FC00000", "fp16": "0x7E00", "bf16": "0x7FC0"}


def changed(row: dict[str, Any], products: int) -> str:
    """The printed file as a row asks for it."""
    file = copy.deepcopy(yaml.safe_load(PRINTED))
    facts, held = file["facts"], {"format": row["c_format"], "rounding": MODES[row["frm"]], "overflow": "ieee"}
    group, chain = facts["levels"]
    whole = row["in"].startswith("int")
    block = min(row["bs"], products) if row["scale_a"] is not None else products
    size = block if whole else min(row["W"] * row["G"], row["W"] * row["lambda"], block)
    facts.update(a=[row["in"]], b=[row["in"]], c=row["c_format"], k=size, out={"format": row["c_format"]})
    facts["special"]["nan"] = NAN[row["c_format"]]
    group["of"], chain["hold"] = size, held
    group["scale"] = {"each": held, "product": held, "term": held}
    rounded = "frm" if whole else row["rnd"]
    group["hold"] = dict(held, rounding="odd") if rounded == "rto" else held
    if rounded == "xct":
        del group["hold"], group["scale"]["term"]
    if row["scale_a"] is None:
        del group["scale"], facts["scale"]
    else:
        facts["scale"]["blocks"] = [block]
    return re.sub(r'"(\w+)": ', r"\1: ", json.dumps(file))  # keys are bare words


def test_every_row(tmp_path: Path) -> None:
    met = set()
    for number, row in enumerate(ROWS):
        text = changed(row, row["lambda"] * row["W"] * row["lmul"]).replace("zvvm_g4_rto_rne", f"zvvm_row_{number}")
        (tmp_path / f"zvvm_row_{number}.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(tmp_path)
        for number, row in enumerate(ROWS):
            products = row["lambda"] * row["W"] * row["lmul"]
            a, b = (np.array([row[key]["repeat"]] * products if isinstance(row[key], dict) else row[key], np.uint8) for key in "ab")
            scales = {f"{key}_scales": np.array(row[f"scale_{key}"], np.uint8) for key in "ab" if row[f"scale_{key}"] is not None}
            c = np.array(row["c"], np.uint32 if row["c_format"] == "fp32" else np.uint16)
            for engine in ("exact", "numpy", "c_ref"):
                assert int(emu.dot(a, b, f"zvvm_row_{number}", c=c, engine=engine, **scales)) == row["d"], (engine, row)
            met.add((row.get("rnd", "integer"), row["frm"]))
    assert len(ROWS) == 51 and "All 51 worked rows" in PAGE
    assert {how for how, _ in met} == {"xct", "rto", "frm", "integer"} and {mode for _, mode in met} == set(MODES)


def test_the_printed_file_is_what_a_row_asks_for(tmp_path: Path) -> None:
    """It loads as it stands, and a row with its parameters changes nothing but the form of the text."""
    (tmp_path / "zvvm_g4_rto_rne.yaml").write_text(PRINTED, encoding="utf-8")
    with restored():
        load_spec(tmp_path)
        asked = {"in": "e2m1", "c_format": "fp32", "W": 8, "lambda": 4, "bs": 32, "G": 4, "rnd": "rto", "frm": "rne", "scale_a": [0x7F]}
        assert yaml.safe_load(changed(asked, 32)) == yaml.safe_load(PRINTED)


@pytest.mark.parametrize("rounded", ["frm", "rto", "xct"])
def test_the_rounding_of_the_group_is_seen(rounded: str) -> None:
    """The rows tell the three apart: one of them says so by its codes."""
    told = {row["rnd"]: row["d"] for row in ROWS if "256.25 + 0" in row["why"]}
    other = {row["rnd"]: row["d"] for row in ROWS if "510.25 + 0.75" in row["why"]}
    assert [how for how in told if (told[how], other[how]) == (told[rounded], other[rounded])] == [rounded]
