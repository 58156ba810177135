"""emu.testing.check: a kernel against a contract from a test. The command is `emu check`; how it works is in emu.check."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from emu.check.model import Target
from emu.check.report import Report
from emu.check.run import SUITES
from emu.check.run import check as run_check
from emu.check.target_python import PythonTarget, python_target


def check(
    fn: Callable[..., Any] | Target,
    contract: str,
    *,
    suites: Iterable[str] = SUITES,
    count: int | None = None,
    key: int = 1,
    seconds: float | None = None,
    profile: str | None = None,
    multiple: tuple[int, int] = (1, 1),
    raises: bool = True,
    **adapter: Any,
) -> Report:
    """Compare a kernel with a contract, bit for bit, and fail with the report where it differs. It runs the kernel.

    fn: a function on NumPy arrays or torch tensors, or a target.   contract: such as "quantize/nvfp4_te_ref".
    suites, count, key, seconds, profile, multiple: as emu.check.run.check.   adapter: takes, gives, wants, packing, scale_layout, source,
    result, name, device, as emu.check.target_python.python_target.
    raises: False returns the report whatever its verdict.
    Raises: AssertionError with the report's text (also when nothing was compared); SpecError, OperandError for a call that has no meaning.
    Tests: tests/check/test_check_python.py.
    """
    ready = isinstance(fn, PythonTarget) or (hasattr(fn, "op") and hasattr(fn, "source"))
    target: Any = fn if ready else python_target(fn, contract, **adapter)
    report = run_check(target, contract, suites=suites, count=count, key=key, seconds=seconds, profile=profile, multiple=multiple)
    if raises and report.verdict != "pass":
        raise AssertionError(report.text())
    return report


__all__ = ["check"]
