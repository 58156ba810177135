"""emu.testing.check and emu.testing.conforms: a kernel against a contract in a test suite. The command is `emu check`.

Not here: how a check works (emu.check), how pytest collects kernels that conform (plugin.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

from emu.check.inputs.suites import SUITES
from emu.check.matmul.report import GemmReport
from emu.check.model import Target
from emu.check.progress import on_terminal
from emu.check.report.model import Report
from emu.check.run import check as run_check
from emu.check.targets.python import PythonTarget, python_target


def check_matmul(
    kernel: Callable[..., Any] | Target,
    a: str,
    b: str,
    *,
    out: str = "fp32",
    accumulate: str | int = "fp32",
    operands: str = "exact",
    reduce: str = "fp32",
    epilogue: str = "any",
    shapes: Iterable[tuple[int, int, int]] | None = None,
    count: int | None = None,
    key: int = 1,
    seconds: float | None = None,
    raises: bool = True,
    **adapter: Any,
) -> GemmReport:
    """Judge a product of quantized matrices, whatever its order of summation, without a tolerance. It runs the kernel.

    kernel: by the names of its parameters a, b (Quantized [M, K] and [N, K], blocked along K), or a_codes, a_packed, a_scales, a_tensor
    ..., c, alpha, beta, m, n, k; it returns alpha (a @ b.T) + beta c, [M, N].   a, b: a recipe or a block.   out: fp32, bf16 or fp16.
    accumulate: fp32, fp16, bf16 or significand bits of the accumulator.   operands: what dequantized operands are held in: exact, bf16,
    fp16, tf32, fp8.   reduce: in what partial sums are joined.   epilogue: any of the list, or words of the one that it must be.
    shapes: (M, N, K) each; None: off every tile size.   count: the first so many shapes.   key: of the generator of operands.
    seconds: limit for one call, in a forked process.   adapter: takes (numpy or torch), packing, scale_layout, device, name.
    Returns: a report: verdict, located, accumulator_bits, epilogue, envelope_ratio, equals, stages.
    Raises: AssertionError with the report's text; SpecError, OperandError for a call that has no meaning.
    Tests: tests/check/matmul/test_matmul_right.py.
    """
    __tracebackhide__ = True
    from emu.check.matmul.run import check_gemm
    from emu.check.matmul.target import GemmTarget, python_gemm

    contract = f"matmul/{a}/{b}/{out}"
    target: Any = kernel if isinstance(kernel, GemmTarget) else python_gemm(kernel, contract, **adapter)
    report = check_gemm(
        target, contract, accumulate=accumulate, operands=operands, reduce=reduce, epilogue=epilogue, shapes=shapes, count=count, key=key,
        seconds=seconds,
    )  # fmt: skip
    if raises and report.verdict != "pass":
        raise AssertionError(report.text())
    return report


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
    finite: bool = False,
    shapes: Iterable[tuple[int, ...]] = (),
    raises: bool = True,
    **adapter: Any,
) -> Report:
    """Compare a kernel with a contract, bit for bit, and fail with the report where it differs. It runs the kernel.

    fn: a function on NumPy arrays or torch tensors, or a target.   contract: such as "quantize/nvfp4_te_ref"; of "matmul/A/B/OUT" the
    keywords are those of check_matmul.
    suites, count, key, seconds, profile, multiple, finite, shapes: as emu.check.run.check.
    adapter: takes, gives, wants, packing, scale_layout, source, result, name, device, as emu.check.targets.python.python_target.
    raises: False returns the report whatever its verdict.
    Raises: AssertionError with the report's text, whose first line holds verdict and counterexample (also when nothing was compared or too
    little was reached); SpecError, OperandError for a call that has no meaning.
    Tests: tests/check/test_check_python.py.
    """
    __tracebackhide__ = True  # pytest shows the line of the test that called this, and the report
    if contract.startswith("matmul/"):
        asked: dict[str, Any] = {"count": count, "key": key, "seconds": seconds, "shapes": tuple(shapes) or None, "raises": raises}
        return _product(fn, contract, adapter | asked)
    ready = isinstance(fn, PythonTarget) or (hasattr(fn, "op") and hasattr(fn, "source"))
    target: Any = fn if ready else python_target(fn, contract, **adapter)
    asked = {"suites": suites, "count": count, "key": key, "seconds": seconds}
    with on_terminal(f"check of {target.name}"):
        report = run_check(target, contract, profile=profile, multiple=multiple, finite=finite, shapes=shapes, **asked)
    if raises and report.verdict != "pass":
        raise AssertionError(report.text())
    return report


def _product(fn: Any, contract: str, options: dict[str, Any]) -> Report:
    __tracebackhide__ = True
    from emu.check.matmul.pair import parts_of

    a, b, out = parts_of(contract)
    return check_matmul(fn, a, b, out=out, **options)


@dataclass(frozen=True)
class Case:
    """A contract that a kernel says it keeps, and how it is called. options: keywords of check."""

    contract: str
    options: dict[str, Any]


class Conforming:
    """A kernel with the contracts that it says it keeps; calling it calls the kernel. pytest collects a test for each case."""

    def __init__(self, kernel: Callable[..., Any], cases: tuple[Case, ...]) -> None:
        update_wrapper(self, kernel)
        self.kernel, self.cases = kernel, cases

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the kernel."""
        return self.kernel(*args, **kwargs)


def conforms(contract: str, **options: Any) -> Callable[[Callable[..., Any]], Conforming]:
    """Declare that a kernel keeps a contract: pytest then checks it, wherever the name is in a test module.

    contract: such as "quantize/nvfp4_te_ref".   options: as check: takes, gives, packing, suites, count, key, seconds, finite ...
    A kernel may be decorated several times; marks of pytest, above or below, count for each of its tests.
    Raises: SpecError (no contract), OperandError (options that do not fit).   Tests: tests/testing/plugin/test_plugin.py.
    """

    def declare(kernel: Callable[..., Any]) -> Conforming:
        inner = kernel.kernel if isinstance(kernel, Conforming) else kernel
        known = kernel.cases if isinstance(kernel, Conforming) else ()
        return Conforming(inner, (Case(contract, options), *known))

    return declare


__all__ = ["Case", "Conforming", "check", "check_matmul", "conforms"]
