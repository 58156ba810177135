"""identify: one entry for every operation. Not here: the stages of each (quantize.py, convert.py, transform.py, decode.py, dot.py)."""

from __future__ import annotations

from collections.abc import Sequence

from emu.check.model import Target
from emu.errors import OperandError
from emu.identify.model import Identity


def identify(target: Target, *, among: Sequence[str] | None = None) -> Identity:
    """Return which documented behaviour a kernel has.

    target: answers questions as emu.check.model says; its `op` chooses the stages.
    among: ids of the spec objects that are compared; None: all of the registry.
    Raises: OperandError (an operation that cannot be identified, nothing left by `among`), TargetError (the kernel failed).
    Tests: tests/identify.
    """
    raise OperandError(f"identify: {target.op} cannot be identified: one of quantize, dequantize, convert, decode, transform, dot")
