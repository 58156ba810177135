"""Operations on one to four numbers: what each takes and what it gives. Data alone; what they mean is in the engines.

The operations that the IEEE P3109 draft asks of an implementation (interim report 4.0, 4.5), in its names written with underscores.
A number is one of the closed extended reals: a rational, an infinity or NaN; zero has no sign.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Gives = Literal["number", "truth", "code"]


class Operation(NamedTuple):
    """operands: how many; where scaled, a scale stands before each number.   gives: a number to project, yes or no, or a code."""

    operands: int
    gives: Gives
    scaled: bool = False


def _each(names: str, operands: int, gives: Gives, scaled: bool = False) -> dict[str, Operation]:
    return {name: Operation(operands, gives, scaled) for name in names.split()}


OPERATIONS: Final[dict[str, Operation]] = {
    **_each("convert negate abs recip", 1, "number"),
    **_each("add subtract multiply", 2, "number"),
    **_each("fma faa", 3, "number"),
    **_each("minimum maximum minimum_number maximum_number minimum_magnitude maximum_magnitude", 2, "number"),
    **_each("minimum_magnitude_number maximum_magnitude_number minimum_finite maximum_finite", 2, "number"),
    **_each("scaled_add scaled_subtract scaled_multiply", 4, "number", scaled=True),
    **_each("compare_less compare_less_equal compare_equal compare_greater compare_greater_equal", 2, "truth"),
    **_each("is_zero is_one is_nan is_infinite is_finite is_sign_minus is_normal is_subnormal", 1, "truth"),
    **_each("next_greater_than next_less_than", 1, "code"),
}
