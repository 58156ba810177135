"""A program that multiplies two quantized matrices, as a target: one line for each operand on stdin, one line for each row of the result.

A line is the name of the operand, its shape such as 17x48 (1 for a single number), and all its codes in hexadecimal, the last axis
fastest, each with two digits a byte of its type: `a_packed 17x48 0f3a...`, `alpha 1 3f800000`. An answer is one line for each row (of a
batch row after row), the codes of the result one behind the other. The program is started once a question, with the contract and the names
of the operands as last arguments: `matmul/nvfp4/nvfp4/fp32 "a_packed a_scales b_packed b_scales -> d"`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.check.matmul.files import wanted
from emu.check.matmul.pair import Pair, pair_of
from emu.check.matmul.target import GemmTarget, result_shape
from emu.check.targets.exec import SECONDS, ran
from emu.contracts.form import Arrays, integer_dtype


class ExecGemm(GemmTarget):
    """A program under test; see exec_gemm."""

    def __init__(self, command: Sequence[str], pair: Pair, wants: tuple[str, ...], packing: str, scale_layout: str, seconds: float) -> None:
        super().__init__(pair, command[0], wants, packing, scale_layout)
        self.command, self.seconds = list(command), seconds

    def __call__(self, operands: Arrays) -> Arrays:
        """Run the program once. Raises: TargetError (raises, hangs, shape, dtype), ToolError (it cannot be started)."""
        text = "".join(self.line(name, np.asarray(self.array(name, operands))) for name in self.wants)
        lines = ran([*self.command, self.pair.text, " ".join(self.wants) + " -> d"], text, self.name, self.seconds)
        shape, kind = result_shape(operands), np.dtype(integer_dtype(self.pair.out)).newbyteorder(">")
        rows = int(np.prod(shape[:-1]))
        if len(lines) != rows:
            raise TargetError("shape", f"{self.name} printed {len(lines)} lines for {rows} rows")
        try:
            found = [np.frombuffer(bytes.fromhex(line), kind) for line in lines]
        except ValueError:
            raise TargetError("dtype", f"{self.name} printed something else than {2 * kind.itemsize} hex digits a code") from None
        if any(len(row) != shape[-1] for row in found):
            raise TargetError("shape", f"{self.name} printed rows that are not {shape[-1]} codes long")
        return self.answer(np.array(found).astype(integer_dtype(self.pair.out)).reshape(shape), operands)

    def line(self, name: str, array: np.ndarray) -> str:
        """Return the line of an operand."""
        bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
        return f"{name} {'x'.join(map(str, array.shape)) or 1} {bits.astype(bits.dtype.newbyteorder('>')).tobytes().hex()}\n"


def exec_gemm(
    command: str, contract: str, *, wants: Sequence[str] | None = None, packing: str = "low_nibble_first", scale_layout: str = "row_major",
    seconds: float = SECONDS,
) -> ExecGemm:  # fmt: skip
    """Return a program as a target.

    command: words as in a shell, no shell is started.   wants: operands that it reads, as emu.check.matmul.target names them; None: packed
    codes, scales and multipliers of the whole tensors.   seconds: limit of one run.
    Raises: OperandError, SpecError.   Tests: tests/check/matmul/test_matmul_exec.py.
    """
    words = shlex.split(command)
    if not words:
        raise OperandError("exec: name a program")
    pair = pair_of(contract)
    return ExecGemm(words, pair, wanted(pair, None if wants is None else tuple(wants)), packing, scale_layout, seconds)
