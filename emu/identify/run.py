"""identify: one entry for every operation. Not here: the stages (quantize.py, convert.py, transform.py, decode.py, dot.py, matmul/)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from emu.base.errors import OperandError
from emu.check.model import Target
from emu.identify.model import Identity

STAGES = {"quantize": "quantize", "dequantize": "decode", "convert": "convert", "decode": "decode", "transform": "transform", "dot": "dot"}


def identify(
    target: Target, *, among: Sequence[str] | None = None, multiple: tuple[int, int] = (1, 1), shapes: Sequence[tuple[int, ...]] = ()
) -> Identity:
    """Return which documented behaviour a kernel has.

    target: answers questions as emu.check.model says; its `op` chooses the stages.
    among: ids of the spec objects that are compared; None: all of the registry.
    multiple: rows and columns that a quantize kernel needs; (1, 1): any, or it is found out.
    shapes: rows and columns of matrices that confirm what was found of a quantize kernel with codes, beside those of whole blocks;
    of a product M, N, K, and no others are asked.
    Raises: OperandError (an operation that cannot be identified, nothing left by `among`), SpecError (unknown id), TargetError (the kernel
    failed where every kernel must answer).
    Tests: tests/identify.
    """
    if target.op == "matmul":
        from emu.identify.matmul.run import identify_matmul

        if among or multiple != (1, 1):
            raise OperandError("identify: a product is compared with every order: leave among and multiple out")
        return identify_matmul(target, shapes=[(m, n, k) for m, n, k in shapes] or None)
    if target.op not in STAGES:
        raise OperandError(f"identify: {target.op} cannot be identified: one of {', '.join(STAGES)}")
    if target.op == "quantize":
        from emu.identify.quantize import identify_quantize

        return identify_quantize(target, among, multiple, [(rows, columns) for rows, columns in shapes])
    if multiple != (1, 1) or shapes:
        raise OperandError(f"identify: multiples and shapes are of quantize kernels, not of {target.op}: leave them out")
    module = import_module(f"emu.identify.{STAGES[target.op]}")
    stages: Callable[[Target, Sequence[str] | None], Identity] = getattr(module, f"identify_{target.op}")
    return stages(target, among)
