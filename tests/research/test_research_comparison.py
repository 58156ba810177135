"""An order on a page: told only where the interval leaves zero out, a null is there and the effect is more than three times the null."""

import math

import pytest

from research.pages.comparison import Comparison, difference, ratio

CLEAR = (1.0, 1.1, 0.9, 1.0)


@pytest.mark.parametrize(
    ("values", "null", "verdict"),
    [
        (CLEAR, 0.3, 1),
        (tuple(-value for value in CLEAR), 0.3, -1),
        (CLEAR, 0.35, 0),
        (CLEAR, None, 0),
        ((1.0, -0.5, 2.0, -1.0), 0.01, 0),
        ((1.0,), 0.01, 0),
    ],
)
def test_what_is_told(values: tuple[float, ...], null: float | None, verdict: int) -> None:
    assert Comparison("x", values, null).verdict == verdict


def test_cells_hold_interval_null_and_power() -> None:
    name, pairs, shown, null, power, told = Comparison("x", CLEAR, 0.3).cells(*difference(2), ("more", "less"))
    assert (name, pairs, shown, null, power, told) == ("x", "4", "+1.00 (+0.87 to +1.13)", "0.30", "> 0.99", "more")
    logs = tuple(math.log(2) * value for value in (1, -1, 1, -1))
    *_, null, power, told = Comparison("x", logs, None).cells(*ratio(), ("more", "less"))
    assert (null, told) == ("none", "open") and float(power) < 0.1
