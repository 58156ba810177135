"""What check and identify speak of: operands, answers, targets and verdicts. Everything is raw bits; floats stay with the target's adapter.

Names of the arrays, by operation (all unsigned integers, C order; rows are independent of each other but where a tensor level joins them):
decode      codes [n] -> values [n]
convert     codes [n] of the source format, random [n] where the rounding draws -> codes [n]
quantize    x [rows, n] of the source format, tensor_amax () fp32, random [rows, n], signs ()
            -> codes [rows, n] and each level of the block by its name, or values [rows, n] alone from a kernel that only fakes it
dequantize  codes [rows, n], each level by its name -> values [rows, n]
transform   x [rows, n], signs () -> values [rows, n]
dot         a, b [rows, K], scale_a, scale_b [rows, K / block], c [rows] -> d [rows], and flags [rows] where the datapath reports any
layout      codes -> bytes
Not here: how a target is reached (target_*.py), which inputs are tried (emu/contracts), how answers are judged (judge.py).
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

from emu.contracts.form import Arrays

Verdict = Literal["pass", "differs", "raises", "hangs", "shape", "dtype", "mutates", "unstable", "padding", "nothing", "too_little"]
Calls = Literal["arrays", "pointers", "programs", "files"]
RAISED: Final = (Exception, SystemExit)  # of a kernel: sys.exit would end the check itself


class Target(Protocol):
    """A kernel under test.

    name: as reports call it.   op: operation of the contract grammar.
    source: id of the format of x or of the codes to convert; None where the contract says it.
    result: id of the format of values that it answers, likewise.
    A target may have `calls`: "arrays" takes a second argument, how x lies in memory; "programs" takes long to ask; and `declared`: was it
    said what it answers.
    """

    name: str
    op: str
    source: str | None
    result: str | None

    def __call__(self, operands: Arrays) -> Arrays:
        """Return the answers for operands. Raises: TargetError, which carries a verdict of its own."""
        ...
