"""emu check: what a check of many elements costs beside the kernel that it asks, for kernels as quick as emu's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from time import process_time
from typing import Any, Final, NamedTuple

import numpy as np

from emu.base.errors import EngineError
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.contracts.form import Form, expect
from emu.testing import check_attention, check_matmul
from tools.bench.table import Measurement, rates

TIMES: Final = 3  # a check may cost so many times the kernel's own time
SECONDS: Final = 2  # and so much more


class CheckCase(NamedTuple):
    """One row. kernel: what is asked."""

    name: str
    contract: str
    kernel: Callable[..., Any]


def _convert(x: Any) -> Any:
    import emu

    return emu.convert(x, "e2m1")


def _quantize(x: Any, tensor_amax: Any) -> Any:
    import emu

    return emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax)


def _product(a: Any, b: Any) -> Any:
    return a.dequantize() @ b.dequantize().T


PRODUCT_SECONDS: Final = 60  # a whole check of products of the default shapes may cost so much
CASES: Final = (
    CheckCase("check convert", "convert/e2m1/rne/nvidia", _convert),
    CheckCase("check quantize", "quantize/nvfp4_te_ref", _quantize),
)


def run_checks(elements: int, repeats: int, only: str, progress: Callable[[str], None] | None = None) -> Iterator[Measurement]:
    """Measure every case whose name contains `only`: a whole check against what it may cost, TIMES the kernel and SECONDS more."""
    for case in CASES:
        if only not in case.name:
            continue
        if progress is not None:
            progress(case.name)
        whole, kernel = [], []
        for _ in range(max(1, repeats // 2)):
            timed = _Timed(case.kernel)
            target = python_target(timed, case.contract, wants=("tensor_amax",) if "quantize" in case.contract else ())
            begin = process_time()
            check(target, case.contract, count=elements)
            whole.append(process_time() - begin)
            kernel.append(timed.seconds)
        allowed = TIMES * median(kernel) + SECONDS
        yield Measurement(case.name, elements, rates(elements, whole), f"{TIMES} x kernel + {SECONDS} s", rates(elements, [allowed]), 1)
    if only in "check matmul":
        begin = process_time()
        compared = check_matmul(_product, "nvfp4", "nvfp4").compared
        seconds = process_time() - begin
        aim = rates(compared, [PRODUCT_SECONDS])
        yield Measurement("check matmul", compared, rates(compared, [seconds]), f"{PRODUCT_SECONDS} s", aim, 1)


# What a verdict costs: whole checks of right kernels, in seconds of processor time, beside the most that they may cost.


class Verdict(NamedTuple):
    """One check. seconds: what it cost.   most: what it may cost.   compared: answers."""

    name: str
    seconds: float
    most: int
    compared: int


RECIPES: Final = ("nvfp4_te_ref", "mxfp4_te_pow2", "ufp4", "hif4", "if4_mse", "nvfp4_te_2d_ref")
PAIRS: Final = (("nvfp4", "nvfp4"), ("mxfp4", "mxfp4"), ("ufp4", "nvfp4"), ("nvint4", "mxfp4"))


def run_verdicts(progress: Callable[[str], None] | None = None) -> Iterator[Verdict]:
    """Measure whole and quick checks of quantizers, checks of products, of products of experts and of attention, all of right kernels."""
    for name, most, run in (*_quantizers(), *_products()):
        if progress is not None:
            progress(name)
        begin = process_time()
        report = run()
        if report.verdict != "pass":
            raise EngineError(f"bench: {name}: a right kernel got the verdict {report.verdict}")
        yield Verdict(name, process_time() - begin, most, report.compared)


def _quantizers() -> Iterator[tuple[str, int, Callable[[], Any]]]:
    for recipe in RECIPES:
        contract = f"quantize/{recipe}"
        form = form_of(contract)
        target = python_target(partial(_right, form), contract, takes="numpy.bits", wants=form.extras)
        yield f"{contract}, whole", 30, partial(check, target, contract)
        yield f"{contract}, quick", 3, partial(check, target, contract, suites=("directed",))


def _right(form: Form, x: Any, *given: Any) -> Any:
    operands = {"x": np.ascontiguousarray(x)} | {name: np.asarray(value) for name, value in zip(form.extras, given, strict=True)}
    return {name: array for name, array in expect(form, operands, "auto").arrays.items() if name != "tensor"}


def _products() -> Iterator[tuple[str, int, Callable[[], Any]]]:
    for a, b in PAIRS:
        yield f"matmul/{a}/{b}/fp32", PRODUCT_SECONDS, partial(check_matmul, _product, a, b)
    yield "matmul/nvfp4/nvfp4/fp32, experts in groups", PRODUCT_SECONDS, partial(check_matmul, _experts, "nvfp4", "nvfp4")
    yield "attention/nvfp4/nvfp4/nvfp4/fp32", PRODUCT_SECONDS, partial(check_attention, _attention, "nvfp4", "nvfp4", "nvfp4")


def _experts(a: Any, b: Any, offsets: Any) -> Any:
    x = a.dequantize()
    return np.concatenate([x[first:last] @ b[e].dequantize().T for e, (first, last) in enumerate(pairwise(offsets))])


def _attention(q: Any, k: Any, v: Any, scale: Any) -> Any:
    q, k, v = (part.dequantize() for part in (q, k, v))
    share = q.shape[1] // k.shape[1]
    scores = q @ k.repeat(share, 1).swapaxes(-1, -2) * scale
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p @ v.repeat(share, 1) / p.sum(-1, keepdims=True)


def verdict_table(rows: Sequence[Verdict]) -> str:
    """Return a table of what checks cost."""
    lines = ["| check | answers compared | seconds | at most |", "| --- | ---: | ---: | ---: |"]
    return "\n".join([*lines, *(f"| `{row.name}` | {row.compared} | {row.seconds:.1f} | {row.most} |" for row in rows)]) + "\n"


class _Timed:
    """A kernel that adds up its own processor time."""

    def __init__(self, kernel: Callable[..., Any]) -> None:
        self.kernel, self.seconds = kernel, 0.0

    def __call__(self, *args: Any, **operands: Any) -> Any:
        begin = process_time()
        try:
            return self.kernel(*args, **operands)
        finally:
            self.seconds += process_time() - begin
