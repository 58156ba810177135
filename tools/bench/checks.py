"""emu check: what a check of many elements costs beside the kernel that it asks, for kernels as quick as emu's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import median
from time import process_time
from typing import Any, Final, NamedTuple

from emu.check.run import check
from emu.check.targets.python import python_target
from emu.testing import check_matmul
from tools.bench.table import Measurement

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
        yield Measurement(
            case.name, elements, elements / median(whole) / 1e6, f"{TIMES} x kernel + {SECONDS} s", elements / allowed / 1e6, 1
        )
    if only in "check matmul":
        begin = process_time()
        compared = check_matmul(_product, "nvfp4", "nvfp4").compared
        seconds = process_time() - begin
        yield Measurement("check matmul", compared, compared / seconds / 1e6, f"{PRODUCT_SECONDS} s", compared / PRODUCT_SECONDS / 1e6, 1)


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
