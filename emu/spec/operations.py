"""Operations on one to four numbers: what each takes and what it gives. What they mean is in the engines.

The operations that the IEEE P3109 draft asks of an implementation (interim report 4.0, 4.5), in its names written with underscores.
A number is one of the closed extended reals: a rational, an infinity or NaN; zero has no sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from emu.base.errors import OperandError
from emu.spec import derive
from emu.spec.ieee import same_facts
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get

_NARROW: Final = 8  # bits: neighbours are asked of formats whose codes can be listed

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


def result_of(name: str, sources: Sequence[Format], to: str | Format | None, rounding: str | Rounding) -> tuple[Format, Rounding]:
    """Return the format of the result and the rounding to it. Raises: OperandError (formats or a rounding that are not taken)."""
    for fmt in sources:
        if not isinstance(fmt.facts, FloatFacts):
            raise OperandError(f"operation {name} takes float formats: {fmt.id} is none")
    target, how = _target(name, OPERATIONS[name], sources, to), get("rounding", rounding)
    if OPERATIONS[name].gives == "code":
        _check_listed(name, sources[0])
    if OPERATIONS[name].gives == "number" and how.random_bits:
        raise OperandError(f"operation {name} takes no rounding that draws: {how.id} does")
    return target, how


def _target(name: str, operation: Operation, sources: Sequence[Format], to: str | Format | None) -> Format:
    """Return the format of the result; that of the operands where none is asked for."""
    if operation.gives != "number":
        if to is not None:
            raise OperandError(f"operation {name} gives no number to project: leave `to` out")
        return sources[0]
    if to is None:
        if not all(same_facts(fmt, sources[0]) for fmt in sources):
            raise OperandError(f"operation {name}: the operands have several formats: say `to`")
        return sources[0]
    target: Format = get("format", to)
    if not isinstance(target.facts, FloatFacts):
        raise OperandError(f"operation {name} gives float formats: {target.id} is none")
    return target


def _check_listed(name: str, fmt: Format) -> None:
    derived = derive.codes(fmt)
    if derived.bits > _NARROW:
        raise OperandError(f"operation {name} takes formats of at most {_NARROW} bits: {fmt.id} has {derived.bits}")
    if not derived.nan:
        raise OperandError(f"operation {name}: {fmt.id} has no NaN, which is what lies beyond its last number")
