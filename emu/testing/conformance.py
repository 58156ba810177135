"""emu.testing.check and emu.testing.conforms: a kernel against a contract in a test suite. The command is `emu check`.

Not here: how a check works (emu.check), how pytest collects kernels that conform (plugin.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

from emu.check.again import LEAST
from emu.check.attention.cache import check_cache
from emu.check.attention.invariance import check_invariance
from emu.check.attention.product import scores_product, values_product
from emu.check.attention.run import AttentionReport
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
    shapes: Iterable[tuple[int, ...]] | None = None,
    count: int | None = None,
    key: int = 1,
    seconds: float | None = None,
    batched: bool = False,
    align: int = 1,
    batch_invariant: bool | None = None,
    bound: str | None = None,
    repeat: int = LEAST,
    raises: bool = True,
    **adapter: Any,
) -> GemmReport:
    """Judge a product of quantized matrices, whatever its order of summation, without a tolerance. It runs the kernel.

    kernel: by the names of its parameters a, b (Quantized [M, K] and [N, K], blocked along K), or a_codes, a_packed, a_scales, a_tensor
    ..., c, alpha, beta, m, n, k; it returns alpha (a @ b.T) + beta c, [M, N].
    A kernel that takes offsets (int32 [E + 1]) or sizes (int32 [E]) is given rows of a in groups, one for each of E matrices of b.
    a, b: a recipe or a block.   out: fp32, bf16 or fp16.
    accumulate: fp32, fp16, bf16 or significand bits of the accumulator.   operands: what dequantized operands are held in: exact, bf16,
    fp16, tf32, fp8.   reduce: in what partial sums are joined.   epilogue: any of the list, or words of the one that it must be.
    shapes: (M, N, K) each; None: off every tile size.   count: the first so many shapes.   key: of the generator of operands.
    batched: a is [B, M, K], b [B, N, K], the result [B, M, N].   align: rows of each group begin at a multiple of it.
    shapes of grouped and batched products: (E, M, N, K), M the rows of all groups, in a batch of each.
    batch_invariant: must the bits of a row be the same whatever the number of rows and its place? None: it is said, False: it is not asked.
    bound: tosa: bits are not asked; each error on random data must be inside of the bound that TOSA 1.1 (a draft) states.
    repeat: how many questions are asked again at the end, cheap ones first.
    seconds: limit for one call, in a forked process.   adapter: takes (numpy or torch), packing, scale_layout, device, name.
    Returns: a report: verdict, located, accumulator_bits, epilogue, envelope_ratio, bound_ratio, equals, stages.
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
        seconds=seconds, batched=batched, align=align, batch_invariant=batch_invariant, bound=bound, repeat=repeat,
    )  # fmt: skip
    if raises and report.verdict != "pass":
        raise AssertionError(report.text())
    return report


def check_attention(
    kernel: Callable[..., Any],
    q: str,
    k: str,
    v: str,
    *,
    out: str = "fp32",
    mask: str = "none",
    maximum: str = "whole row",
    tile: int = 0,
    p: str | None = None,
    p_amax: float = 2688.0,
    p_bits: int = 24,
    v_axis: str = "dim",
    denominator: str = "values",
    exp_bits: int = 20,
    shapes: Iterable[tuple[int, int, int, int, int, int]] | None = None,
    scales: Iterable[float] | None = None,
    takes: str = "numpy",
    key: int = 1,
    raises: bool = True,
) -> AttentionReport:
    """Judge attention over quantized operands without a tolerance: bit for bit where no order matters, else by a proven bound.

    kernel: by the names of its parameters q, k, v (Quantized [batch, heads, rows, dim]) or q_codes, q_packed, q_scales, q_tensor ...,
    scale (binary32; else 1 / sqrt(dim)), causal (bool); it returns [batch, heads, queries, dim], or a dict of out, p_codes, p_scales and p.
    q, k, v: a recipe or a block.   out: fp32, bf16 or fp16.   mask: none, bottom-right or top-left (causal, aligned there).
    maximum: whole row, or running (online softmax), over tiles of tile keys.   p: recipe of P; p_amax: tensor maximum that it is given.
    p_bits: significand bits of P without a recipe.   v_axis: dim or keys, along which V is blocked.   denominator: values or codes of P.
    exp_bits: the exponential has a relative error of at most 2^-exp_bits (1 + |x|).
    shapes: (batch, heads, heads of keys, queries, keys, dim) each.   scales: of the scores.   takes: numpy or torch.   key: of operands.
    Returns: a report: verdict, located, exact, bounded, bound_ratio, straddling.
    Raises: AssertionError with the report's text; SpecError, OperandError for a call that has no meaning.
    Tests: tests/check/attention/test_attention_kernels.py.
    """
    __tracebackhide__ = True
    from emu.check.attention.contract import attention_of
    from emu.check.attention.run import check_kernel
    from emu.check.attention.target import AttentionTarget

    contract = attention_of(q, k, v, out, mask, maximum, tile, p, p_amax, p_bits, v_axis, denominator, exp_bits)
    report = check_kernel(AttentionTarget(kernel, contract, takes), shapes=shapes, scales=scales, key=key)
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
    repeat: int = LEAST,
    raises: bool = True,
    **adapter: Any,
) -> Report:
    """Compare a kernel with a contract, bit for bit, and fail with the report where it differs. It runs the kernel.

    fn: a function on NumPy arrays or torch tensors, or a target.   contract: such as "quantize/nvfp4_te_ref"; of "matmul/A/B/OUT" the
    keywords are those of check_matmul.
    suites, count, key, seconds, profile, multiple, finite, shapes, repeat: as emu.check.run.check.
    adapter: takes, gives, wants, packing, scale_layout, source, result, name, device, as emu.check.targets.python.python_target.
    raises: False returns the report whatever its verdict.
    Raises: AssertionError with the report's text, whose first line holds verdict and counterexample (also when nothing was compared or too
    little was reached); SpecError, OperandError for a call that has no meaning.
    Tests: tests/check/test_check_python.py.
    """
    __tracebackhide__ = True  # pytest shows the line of the test that called this, and the report
    if contract.startswith("matmul/"):
        asked: dict[str, Any] = {"count": count, "key": key, "seconds": seconds, "shapes": tuple(shapes) or None, "raises": raises}
        asked["repeat"] = repeat
        return _product(fn, contract, adapter | asked)
    ready = isinstance(fn, PythonTarget) or (hasattr(fn, "op") and hasattr(fn, "source"))
    target: Any = fn if ready else python_target(fn, contract, **adapter)
    asked = {"suites": suites, "count": count, "key": key, "seconds": seconds, "repeat": repeat}
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


__all__ = [
    "Case", "Conforming", "check", "check_attention", "check_cache", "check_invariance", "check_matmul", "conforms", "scores_product",
    "values_product",
]  # fmt: skip
