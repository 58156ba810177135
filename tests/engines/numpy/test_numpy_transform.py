"""emu.engines.numpy.transform against the reference model: three orders of additions, exponents far apart, specials, signs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu import strategies
from emu.base.errors import EngineError, OperandError, ShapeError
from emu.base.philox import words
from emu.engines.exact.transform import transform_codes
from emu.engines.numpy import transform as npy
from emu.spec.models import Transform
from emu.spec.registry import get, names

TRANSFORMS = names("transform")
SOURCES = {"fp32": np.uint32, "bf16": np.uint16, "fp16": np.uint16, "e4m3": np.uint8}


def both(rows: Any, source: str, chosen: Transform, signs: int | None = None) -> tuple[list[list[int]], list[list[int]]]:
    fmt = get("format", source)
    return npy.transform(rows, fmt, chosen, signs).tolist(), [transform_codes(row, fmt, chosen, signs) for row in rows.tolist()]


def changed(chosen: Transform, **facts: Any) -> Transform:
    """The same rotation with other facts."""
    return chosen.model_copy(update={"facts": chosen.facts.model_copy(update=facts)})


def directed() -> Any:
    """Rows of binary32 codes: spread exponents, cancellations, subnormals, the largest numbers, zeros of both signs, NaN and Inf."""
    draw = words(5, 400 * 16).reshape(400, 16)
    rows = [draw[:20] & 0x807FFFFF | 0x3F800000]  # one binade
    for spread in (1, 4, 20, 24, 25, 26, 27, 29, 30, 40, 60, 100, 250):  # around the place where integers take over
        fields = 127 - spread // 2 + draw[60:64] % (spread + 1)
        rows.append(draw[72:76] & 0x807FFFFF | fields << 23)
        ends = rows[-1].copy()
        ends[:, 3], ends[:, 9] = (
            ends[:, 3] & 0x807FFFFF | (127 - spread // 2) << 23,
            ends[:, 9] & 0x807FFFFF | (127 + spread - spread // 2) << 23,
        )
        rows.append(ends)
    cancel = draw[84:100] & 0x007FFFFF | 0x4B000000
    cancel[:, 1::2] = cancel[:, 0::2] ^ 0x80000000
    cancel[:, 5] = draw[84:100, 5] & 0x80FFFFFF
    rows += [cancel, draw[100:106] & 0x807FFFFF, draw[120:130] & 0x80FFFFFF, draw[140:150] & 0x807FFFFF | 0x7F000000, draw[150:158]]
    rows += [draw[170:174] & 0x80000000, np.zeros((1, 16)), np.full((1, 16), 0x80000000), np.full((1, 16), 0x7F7FFFFF)]
    special = draw[174:190] & 0x807FFFFF | 0x3F800000
    for i, code in enumerate([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000]):
        special[i, i * 3] = code
    special[5, 2], special[5, 11] = 0x7F800000, 0xFF800000
    mask = 0xD7E8
    minus = np.array([[0x80000000 if not mask >> i & 1 else 0 for i in range(16)]])  # every term of row 0 is -0 after the signs
    return np.concatenate([*rows, special, minus]).astype(np.uint32)


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_directed_rows(name: str) -> None:
    rows = directed()[:: 1 if name == "rht16_te" else 2]
    got, wanted = both(rows, "fp32", get("transform", name))
    bad = [i for i in range(len(rows)) if got[i] != wanted[i]]
    assert not bad, [f"{code:08X}" for code in rows[bad[0]].tolist()]


@pytest.mark.cases(5)
@pytest.mark.parametrize("order", ["exact", "butterfly", "sequential"])
@pytest.mark.parametrize("size", [2, 4, 8, 32])
def test_other_sizes_and_orders(size: int, order: str) -> None:
    chosen = changed(get("transform", "rht16_exact"), size=size, sum=order, signs="0x2", scale="1/2" if size < 8 else "2")
    flat = directed().reshape(-1)
    rows = np.concatenate([flat[16 * 15 :][: 10 * size].reshape(-1, size), flat[-16 * size :].reshape(-1, size)])
    got, wanted = both(rows, "fp32", chosen)
    assert got == wanted


@pytest.mark.cases(4)
@pytest.mark.parametrize("source", ["bf16", "fp16", "e4m3"])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_narrow_sources(name: str, source: str) -> None:
    bits = 8 if source == "e4m3" else 16
    rows = (words(9, 40 * 16).reshape(40, 16) >> (32 - bits)).astype(SOURCES[source])
    got, wanted = both(rows, source, get("transform", name))
    assert got == wanted


@settings(max_examples=40)
@given(st.data())
def test_rows_of_hypothesis(data: st.DataObject) -> None:
    chosen = get("transform", data.draw(st.sampled_from(TRANSFORMS)))
    source = data.draw(st.sampled_from(["fp32", "bf16", "fp16"]))
    row = data.draw(st.lists(strategies.codes(source), min_size=16, max_size=16))
    signs = data.draw(st.integers(0, 0xFFFF)) if chosen.facts.signs_operand == "yes" else None
    got, wanted = both(np.array([row], SOURCES[source]), source, chosen, signs)
    assert got == wanted


def test_signs_are_an_operand_only_where_the_spec_says_so() -> None:
    rows = directed()[:12]
    chosen = get("transform", "rht16_ufp4")
    for signs in (0x0001, 0x8000, 0xD7E8, 0xFFFF):
        got, wanted = both(rows, "fp32", chosen, signs)
        assert got == wanted and got != both(rows, "fp32", chosen)[0]
    with pytest.raises(OperandError, match="fixed signs"):
        npy.transform(rows, get("format", "fp32"), get("transform", "rht16_te"), 1)
    with pytest.raises(OperandError, match="more than 16 bits"):
        npy.transform(rows, get("format", "fp32"), chosen, 0x10000)


def test_orders_differ_where_they_should() -> None:
    row = np.array([[0x4B800000, 0x3F800000, 0x3F800000, 0x4B800000] + [0] * 12], np.uint32)
    first = {name: npy.transform(row, get("format", "fp32"), get("transform", name))[0, 0].item() for name in TRANSFORMS}
    assert first["rht16_exact"] == 0x3F000000 and first["rht16_butterfly"] == 0x3E800000 and first["rht16_te_fp32"] == 0


def test_group_size_never_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = directed()
    for name in TRANSFORMS:
        chosen = get("transform", name)
        whole = npy.transform(rows, get("format", "fp32"), chosen).tolist()
        for size in (1, 7):
            monkeypatch.setattr(npy, "GROUPS", size)
            assert npy.transform(rows, get("format", "fp32"), chosen).tolist() == whole
            assert npy.transform(rows.reshape(-1, 16)[:, :].reshape(1, -1), get("format", "fp32"), chosen).reshape(-1, 16).tolist() == whole
        monkeypatch.undo()


def test_the_source_is_not_changed() -> None:
    rows = directed()
    before = rows.copy()
    for name in TRANSFORMS:
        npy.transform(rows, get("format", "fp32"), get("transform", name))
    assert np.array_equal(rows, before)


def test_what_the_column_refuses() -> None:
    with pytest.raises(ShapeError, match="multiple"):
        npy.transform(np.zeros((2, 20), np.uint32), get("format", "fp32"), get("transform", "rht16_te"))
    with pytest.raises(ShapeError, match="multiple"):
        npy.transform(np.zeros((), np.uint32), get("format", "fp32"), get("transform", "rht16_te"))
    other = changed(get("transform", "rht16_te"), sum_format="bf16")
    with pytest.raises(EngineError, match="engine='exact'"):
        npy.transform(np.zeros((1, 16), np.uint32), get("format", "fp32"), other)
    with pytest.raises(OperandError, match="is no binary32 number"):
        npy.transform(np.full((1, 16), 1, np.uint64), get("format", "fp64"), get("transform", "rht16_te"))


@pytest.mark.parametrize("result", ["bf16", "fp16"])
def test_result_formats(result: str) -> None:
    for order in ("exact", "butterfly", "sequential"):
        chosen = changed(get("transform", "rht16_exact"), sum=order, result=result)
        got, wanted = both(directed()[::7], "fp32", chosen)
        assert got == wanted
