"""The same row, the same bits: for every batch it stands in, every place there, every number of splits. No reference is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.check.model import RAISED
from emu.check.report.model import Report
from emu.check.targets.answers import bits_of

SIZES: Final = (1, 2, 3, 5, 8, 16, 33, 64)


def check_invariance(
    kernel: Callable[..., Any],
    operands: Mapping[str, Any],
    *,
    batched: Iterable[str],
    vary: Mapping[str, Iterable[Any]] | None = None,
    axis: int = 0,
    raises: bool = True,
) -> Report:
    """Hold a kernel to the same bits for the same row, whatever batch it is computed in.

    kernel: called with the operands by name; its result has the rows along axis 0.   operands: arrays of NumPy or torch, and scalars.
    batched: names of the operands whose rows, along axis, belong to the rows of the result.
    vary: further arguments with the values that must make no difference, such as {"splits": [1, 2, 4]}; all combinations are tried.
    Returns: a report: verdict pass or differs, and in message the row, the batch and the arguments of the first difference.
    Raises: AssertionError with the report's text; OperandError (names, no rows, nothing to vary).
    Tests: tests/check/attention/test_attention_invariance.py.
    """
    __tracebackhide__ = True
    names, choices = tuple(batched), {name: list(values) for name, values in (vary or {}).items()}
    missing = next((name for name in names if name not in operands), None)
    if not names or missing is not None:
        raise OperandError(f"batched {missing or 'is empty'}: name operands that have a row for each row of the result")
    if any(not values for values in choices.values()):
        raise OperandError("vary: give each argument at least one value")
    lengths = {int(operands[name].shape[axis]) for name in names}
    if len(lengths) != 1 or min(lengths) < 2:
        raise OperandError(f"batched operands have {sorted(lengths)} rows: the same number of them, at least 2")
    rows = lengths.pop()
    report = Report(getattr(kernel, "__qualname__", type(kernel).__name__), "the same bits in every batch")
    try:
        _compare(kernel, operands, names, choices, axis, rows, report)
    except TargetError as error:
        report.verdict, report.message = error.verdict, str(error)  # type: ignore[assignment]
    if raises and report.verdict != "pass":
        raise AssertionError(f"{report.message}\n{report.text()}")
    return report


def _batches(rows: int) -> list[list[int]]:
    """Return lists of rows: all, reversed, shifted, and runs of several lengths at both ends."""
    whole = list(range(rows))
    found = [whole, whole[::-1], whole[rows // 3 :] + whole[: rows // 3], whole + whole[:1]]
    for size in (size for size in SIZES if size < rows):
        found += [whole[:size], whole[-size:], whole[rows // 2 :][:size]]
    return found


def _compare(
    kernel: Callable[..., Any], operands: Mapping[str, Any], names: tuple[str, ...], choices: dict[str, list[Any]], axis: int, rows: int,
    report: Report,
) -> None:  # fmt: skip
    first: Any = None
    for values in product(*choices.values()):
        arguments = dict(zip(choices, values, strict=True))
        for chosen in _batches(rows):
            given = {name: _taken(item, chosen, axis) if name in names else item for name, item in operands.items()}
            try:
                found, _ = bits_of("the result", kernel(**given, **arguments))
            except TargetError:
                raise
            except RAISED as error:
                raise TargetError("raises", f"a batch of {len(chosen)} rows, {arguments}: {type(error).__name__}: {error}") from error
            if found.ndim < 1 or len(found) != len(chosen):
                raise TargetError("shape", f"a batch of {len(chosen)} rows gave shape {found.shape}: rows go along axis 0")
            first = found if first is None else first
            wrong = found != first[chosen]
            report.compared += int(wrong.size)
            report.differing += int(wrong.sum())
            if wrong.any() and not report.message:
                at = tuple(int(place) for place in np.argwhere(wrong)[0])
                said = "".join(f", {name} {value}" for name, value in arguments.items())
                report.message = f"row {chosen[at[0]]} has other bits as row {at[0]} of a batch of {len(chosen)}{said}, at {at[1:]}"
    report.verdict = "differs" if report.differing else "pass" if report.compared else "nothing"


def _taken(item: Any, chosen: list[int], axis: int) -> Any:
    return item[(slice(None),) * (axis % item.ndim) + (chosen,)]
