"""Integer dot products of RISC-V's drafts: every worked row, by the two files that docs/riscv.md prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

import emu
from emu.spec import load_spec
from emu.spec.registry import restored

PAGE = (Path(__file__).parents[3] / "docs" / "riscv.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
FORMAT, DATAPATH = (next(text for text in FILES if f'id: "{name}"' in text) for name in ("uint8", "riscv_int_dot4"))
ROWS = yaml.safe_load(Path(__file__).with_name("int_dot_rows.yaml").read_text(encoding="utf-8"))["rows"]
ELEMENTS = {"s8": "int8", "u8": "uint8"}


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The format, and the datapath for 2, 4 and 8 products."""
    folder = tmp_path_factory.mktemp("spec")
    (folder / "uint8.yaml").write_text(FORMAT, encoding="utf-8")
    for count in (2, 4, 8):
        text = DATAPATH
        for old in ("riscv_int_dot4", "k: 4", "of: 4"):
            assert text.count(old) == 1
            text = text.replace(old, old.replace("4", str(count)))
        (folder / f"riscv_int_dot{count}.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(folder)
        yield


def test_every_row() -> None:
    for row in ROWS:
        a, b = (np.array(row[key], np.uint8) for key in "ab")
        c = np.array(row["c"], np.uint32).view(np.int32).astype(np.float64)
        a_format, b_format = ELEMENTS[row["vs2"]], ELEMENTS[row["vs1"]]
        found = emu.dot(a, b, f"riscv_int_dot{len(a)}", c=c, a_format=a_format, b_format=b_format, engine="exact").view(np.float64)
        assert float(found).is_integer() and int(found) % 2**32 == row["d"], row
    assert len(ROWS) == 9 and "All 9 worked rows" in PAGE


def test_a_register_that_wraps_and_comes_back() -> None:
    """Two instructions: beyond 2^31 and below it again."""
    a, b = np.array([127] * 4 + [0x81] * 4, np.uint8), np.array([127] * 8, np.uint8)
    found = emu.dot(a, b, "riscv_int_dot4", c=np.float64(2**31 - 1), a_format="int8", b_format="int8", engine="exact").view(np.float64)
    assert float(found) == 2**31 - 1
