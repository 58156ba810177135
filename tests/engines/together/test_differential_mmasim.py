"""mmasim (PyPI) as an outside reference of the published datapaths: no difference on any directed category.

Needs the extra [torch]. It models machines as its authors measured them; it is a peer, never a judge. mmasim.yaml says what is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.contracts.dot.cases import MAKERS, applies, rows
from emu.contracts.dot.rows import DotRow
from emu.engines.exact.datapath import dot
from emu.spec import derive
from emu.spec.contract import parse, plan_of
from emu.spec.datapath import DatapathPlan
from emu.spec.loader import read
from emu.spec.models import Format

torch = pytest.importorskip("torch", reason="torch is not installed: mmasim needs it (extra [torch])")
pytest.importorskip("mmasim", reason="mmasim is not installed: extra [torch]")

DATA: dict[str, Any] = read(Path(__file__).with_name("mmasim.yaml")).data
ROWS = 40
DTYPES = {
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e4m3fnuz": "float8_e4m3fnuz", "e5m2fnuz": "float8_e5m2fnuz",
    "e8m0": "float8_e8m0fnu", "ue4m3": "float8_e4m3fn", "fp16": "float16", "bf16": "bfloat16", "fp32": "float32",
}  # fmt: skip


def operation(entry: dict[str, Any]) -> Any:
    """The simulated instruction."""
    import importlib

    package, name = entry["maker"].split(".")
    return getattr(importlib.import_module(f"mmasim.{package}"), name)(entry["arch"], entry["name"])


def tensor(codes: Sequence[Any], fmt: Format) -> Any:
    """Codes as mmasim takes them: its own dtypes by bits; 6- and 4-bit codes in bytes, at the top of six bits."""
    bits = derive.codes(fmt).bits
    if fmt.id in DTYPES:
        wide = bits if bits in (16, 32) else 8
        array = np.array(codes, f"uint{wide}").view(f"int{wide}" if wide > 8 else "uint8")
        return torch.from_numpy(array).view(getattr(torch, DTYPES[fmt.id]))
    return torch.from_numpy(np.array(codes, np.uint8) << (6 - bits))


def packed(codes: Sequence[Any]) -> Any:
    """E2M1 codes of the block-scaled kinds, two in a byte, the first one in the high nibble."""
    array = np.array(codes, np.uint8)
    return torch.from_numpy(array[:, ::2] << 4 | array[:, 1::2])


def simulated(entry: dict[str, Any], plan: DatapathPlan, cases: Sequence[DotRow]) -> list[int]:
    """The codes that mmasim gives."""
    a, b, scale_a, scale_b, c = zip(*cases, strict=True)
    pair = plan.facts.scale.apply == "group"
    operands = [packed(list(codes)) if pair else tensor(list(codes), fmt) for codes, fmt in ((a, plan.a), (b, plan.b))]
    operands.append(tensor(list(c), plan.c))
    if plan.scale is not None:
        operands += [tensor(list(codes), plan.scale) for codes in (scale_a, scale_b)]
    result = operation(entry).dpa(*operands)
    wide = derive.codes(plan.d).bits
    return [code & (1 << wide) - 1 for code in result.view(getattr(torch, f"int{wide}")).tolist()]


@pytest.mark.parametrize("entry", DATA["instructions"], ids=[entry["plan"] for entry in DATA["instructions"]])
def test_no_difference_on_any_category(entry: dict[str, Any]) -> None:
    plan, compared = plan_of(parse(f"dot/{entry['plan']}")), 0
    for category in MAKERS:
        if not applies(category, plan):
            continue
        cases = rows(category, plan, ROWS)
        for case, code in zip(cases, simulated(entry, plan, cases), strict=True):
            wanted = dot(*case, plan).code
            any_nan = plan.facts.special.nan == "any" and derive.is_nan_code(wanted, plan.d)
            same = derive.is_nan_code(code, plan.d) if any_nan else code == wanted
            assert same, f"{category}: {code:#x}, not {wanted:#x}: {case}"
            compared += 1
    assert compared >= 12 * ROWS
