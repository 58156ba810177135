"""Naming a datapath and its operands: what is refused, and how the error says so."""

from __future__ import annotations

import re

import pytest

from emu.base.errors import OpenError, SpecError
from emu.contracts.dot.rows import plan_of


@pytest.mark.parametrize(
    ("name", "given", "error", "text"),
    [
        ("nope", {}, SpecError, "'nope' is unknown"),
        ("cdna4", {}, OpenError, "no published model"),
        ("blackwell_e0m3", {}, OpenError, "align.fraction_bits is open"),
        ("nv_like/e1m2xe1m2/ue4m3/17", {}, SpecError, "does not take block size 17"),
        ("nv_like/e9m2xe1m2", {}, SpecError, "is no operand pair"),
        ("nv_like/e1m2xe1m2/ue4m3/16", {"a": "e2m1"}, SpecError, "is said twice"),
        ("nv_like/e1m2xe1m2", {"scale": "ue4m3"}, SpecError, "name the block size, one of 16, 32"),
    ],
)
def test_bad_choices_of_a_datapath(name: str, given: dict, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        plan_of(name, **given)
