"""identify: one entry for every operation. Not here: the stages of each (quantize.py, convert.py, transform.py, decode.py, dot.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module

from emu.base.errors import OperandError
from emu.check.model import Target
from emu.identify.model import Identity

STAGES = {"quantize": "quantize", "dequantize": "decode", "convert": "convert", "decode": "decode", "transform": "transform", "dot": "dot"}


def identify(target: Target, *, among: Sequence[str] | None = None) -> Identity:
    """Return which documented behaviour a kernel has.

    target: answers questions as emu.check.model says; its `op` chooses the stages.
    among: ids of the spec objects that are compared; None: all of the registry.
    Raises: OperandError (an operation that cannot be identified, nothing left by `among`), SpecError (unknown id), TargetError (the kernel
    failed where every kernel must answer).
    Tests: tests/identify.
    """
    if target.op not in STAGES:
        raise OperandError(f"identify: {target.op} cannot be identified: one of {', '.join(STAGES)}")
    module = import_module(f"emu.identify.{STAGES[target.op]}")
    stages: Callable[[Target, Sequence[str] | None], Identity] = getattr(module, f"identify_{target.op}")
    return stages(target, among)
