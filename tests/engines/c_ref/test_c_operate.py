"""Operations on numbers in C: boundaries beside the reference model."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import EngineError, OpenError
from emu.engines.c_ref._c import lib
from emu.spec.operations import OPERATIONS

F8 = "binary8p3se"


def both(name: str, *codes: Any, **how: Any) -> Any:
    """What exact gives, and C the same."""
    first, second = (emu.operate(name, *codes, engine=engine, **how) for engine in ("exact", "c_ref"))
    assert first.dtype == second.dtype
    assert first.tolist() == second.tolist(), (name, codes, how)
    return first


def test_every_operation_has_its_number() -> None:
    assert [getattr(lib, f"EMU_DO_{name.upper()}") for name in OPERATIONS] == list(range(len(OPERATIONS)))
    assert max(operation.operands for operation in OPERATIONS.values()) == lib.EMU_MAX_OPERANDS


def test_what_c_does_not_hold_is_refused_by_name() -> None:
    one = np.float64([1])
    with pytest.raises(EngineError, match="engine c_ref cannot operate this: use exact"):
        emu.operate("scaled_add", one, one, one, one, policy="ieee", engine="c_ref")
    for engine in ("exact", "c_ref"):
        with pytest.raises(OpenError):
            emu.operate("abs", np.array([0x80], np.uint8), formats="ue4m3", to="fp32", policy="ieee", engine=engine)


def test_three_terms_around_64_bits() -> None:
    """A first sum just inside 64 bits and just outside; a third term that turns a tie, cancels, or vanishes beside it."""
    one = np.float64(1)
    ends = (1.0, 1 + 2.0**-52, -1.0, -1 - 2.0**-52)
    terms = [np.float64(end * 2.0**exp) for end in ends for exp in (-63, -54, -53, -12, -11, -10, -1, 0)]
    rows = list(itertools.product(terms, terms))
    columns = [np.array([one] * len(rows)), *(np.array(column) for column in zip(*rows, strict=True))]
    for rounding in ("rne", "rz", "ru"):
        for order in ((0, 1, 2), (2, 0, 1)):
            both("faa", *(columns[place] for place in order), to="fp64", policy="ieee", rounding=rounding)


def test_sums_products_and_reciprocals_of_binary64() -> None:
    """Ends of the range, neighbours of one, cancellation to the last bit; to binary64 and binary32."""
    top = float(np.finfo(np.float64).max)
    ends = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1 - 2.0**-53, 1.0, -1.0, 1 + 2.0**-52, 3.0, top, np.inf, -np.inf, np.nan]
    a, b = (np.ascontiguousarray(part) for part in np.meshgrid(np.float64(ends), np.float64(ends)))
    for to in ("fp64", "fp32"):
        both("recip", np.float64(ends), to=to, policy="ieee")
        for name in ("add", "subtract", "multiply", "minimum", "maximum_magnitude_number", "maximum_finite"):
            both(name, a, b, to=to, policy="ieee")
        for third in (1.0, -1.0, 2.0**-1074, -np.inf):
            both("fma", a, b, np.float64(third), to=to, policy="ieee", rounding="rd")
    for name in OPERATIONS:
        if name.startswith(("is_", "compare_")):
            both(name, *(a, b)[: OPERATIONS[name].operands])


@pytest.mark.parametrize("fmt", ["e5m2", "e4m3", "e4m3fnuz", "e3m2", "e2m1", "ue5m3"])
def test_formats_beside_p3109(fmt: str) -> None:
    """-0 read as 0, NaN of IEEE 754 and listed, a format without NaN; neighbours where there is one."""
    codes = np.arange(1 << emu.query("bitwidth_of", fmt), dtype=np.uint8)
    for name, operation in OPERATIONS.items():
        if operation.operands == 1 and not (operation.gives == "code" and fmt in ("e3m2", "e2m1")):
            both(name, codes, formats=fmt, **({"to": F8} if operation.gives == "number" else {}))


def test_a_zero_has_no_sign() -> None:
    """-0 negated, added to -0 and kept beside 0 is +0, and what rounds to zero from below is too; its reciprocal is NaN."""
    minus, least = np.float32(-0.0), np.float32(-(2.0**-149))
    for name, operands in (("negate", [-minus]), ("convert", [minus]), ("add", [minus, minus]), ("minimum", [minus, -minus]),
                           ("multiply", [least, np.float32(0.5)]), ("maximum_magnitude", [minus, minus])):  # fmt: skip
        assert both(name, *operands, to="fp32", policy="ieee").item() == 0, name
    assert both("recip", minus, to="fp32", policy="ieee").item() == 0x7FC00000
    assert not both("is_sign_minus", minus).item() and both("compare_equal", minus, -minus).item()


def test_shapes_and_no_elements() -> None:
    a = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert both("add", a, a[:, :1], formats=F8).shape == (3, 4)
    assert both("is_one", a[:0], formats=F8).shape == (0, 4)
