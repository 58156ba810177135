"""Rotations: the reference model and each engine of the table give the same bits for every shipped one, source and sign mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu import strategies
from emu.base.philox import words
from emu.spec.models import Transform
from emu.spec.registry import get, names

DTYPES = {"fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16}


def check_rows(judge: Any, name: str, examples: int) -> None:
    chosen: Transform = get("transform", name)
    size = chosen.facts.size

    @settings(max_examples=examples)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        source = data.draw(st.sampled_from(sorted(DTYPES)))
        count = data.draw(st.integers(1, 3))
        codes = data.draw(st.lists(strategies.codes(source), min_size=count * size, max_size=count * size))
        signs = data.draw(st.integers(0, (1 << size) - 1)) if chosen.facts.signs_operand == "yes" else None
        rows = np.array(codes, DTYPES[source]).reshape(-1, size * (count if data.draw(st.booleans()) else 1))
        assert judge.transform(chosen, rows, get("format", source), signs).gave_bits

    check()


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", names("transform"))
def test_rows_of_hypothesis(judge: Any, name: str) -> None:
    check_rows(judge, name, 25)


@pytest.mark.cases(0, 3)
@pytest.mark.parametrize("name", names("transform"))
def test_many_rows_of_hypothesis(judge: Any, name: str) -> None:
    check_rows(judge, name, 200)


@pytest.mark.cases(3)
@pytest.mark.parametrize("name", names("transform"))
def test_spread_exponents(judge: Any, name: str) -> None:
    """Terms further apart than a sum's significand: each order of additions loses other bits."""
    chosen: Transform = get("transform", name)
    draw = words(31, 60 * chosen.facts.size).reshape(60, -1)
    spread = np.arange(60, dtype=np.uint32)[:, None] // 2
    codes = (draw & 0x807FFFFF | (127 - spread + draw % (2 * spread + 1)) << 23).astype(np.uint32)
    assert judge.transform(chosen, codes, get("format", "fp32"), None).gave_bits
