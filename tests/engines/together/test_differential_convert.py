"""Conversions: every shipped policy and format, each mode, on drawn codes of 16- and 32-bit sources; shared random words too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu import strategies
from emu.base.errors import OperandError
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names

DTYPES = {"fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16, "e4m3": np.uint8}
TARGETS = [name for name in names("format") if derive.codes(get("format", name)).bits <= 16]


def check_target(judge: Any, name: str, examples: int) -> None:
    fmt: Format = get("format", name)

    @settings(max_examples=examples)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        rounding = data.draw(st.one_of(strategies.modes(), strategies.modes(drawing=True)))
        source: Format = get("format", data.draw(st.sampled_from(sorted(DTYPES))))
        policy = data.draw(strategies.policies(fmt))
        drawn = strategies.codes(source)
        if derive.codes(source).bits >= 16 and derive.codes(fmt).bits <= 8:
            drawn = st.one_of(strategies.near_ties(fmt, source), drawn)
        codes = np.array(data.draw(st.lists(drawn, min_size=8, max_size=8)), DTYPES[source.id])
        random = None
        if rounding.random_bits:
            random = data.draw(strategies.random_operands(rounding, codes.size))
            random = random if isinstance(rounding.facts.random, Word) else random.reshape(codes.shape)
        judge.convert(codes, source, fmt, rounding, policy, random)

    try:
        strategies.policies(fmt)
    except OperandError:
        pytest.skip(f"no policy covers {name}")
    check()


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", TARGETS)
def test_codes_of_hypothesis(judge: Any, name: str) -> None:
    check_target(judge, name, 15)


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("name", TARGETS)
def test_many_codes_of_hypothesis(judge: Any, name: str) -> None:
    check_target(judge, name, 120)
