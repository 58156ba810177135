"""A user's block of several rows whose scale belongs to one row of it: the maximum of a row is no stage of the tile."""

import re
from pathlib import Path

import pytest

from emu.contracts import parse
from emu.spec.registry import load_spec, restored
from emu.vectors import build, verify


@pytest.mark.cases(1)
@pytest.mark.parametrize("shape", ["[4, 16]", "[2, 32]"])
def test_maxima_of_rows_do_not_stop_the_build(shape: str, tmp_path: Path, checkout: Path) -> None:
    for kind, name in (("block", "nvfp4_1level"), ("recipe", "nvfp4_torchao_1level")):
        text = (checkout / "spec" / kind / f"{name}.yaml").read_text(encoding="utf-8")
        text = re.sub(r"expect:\n.*(?=open:)", "expect: []\n", text, flags=re.DOTALL)
        text = text.replace(f'id: "{name}"', 'id: "my_tall"').replace('block: "nvfp4_1level"', 'block: "my_tall"').replace("[1, 16]", shape)
        (tmp_path / "spec" / kind).mkdir(parents=True)
        (tmp_path / "spec" / kind / "my_tall.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(tmp_path / "spec")
        contract = parse("quantize/my_tall", "fp32")
        assert "amax" not in [column.name for column in contract.layout.columns]
        build(tmp_path / "out", ["smoke"], ["quantize/my_tall"])
        assert verify(tmp_path / "out").exit_code == 0
