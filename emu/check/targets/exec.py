"""An executable as a target: one line of hexadecimal columns per row (per tile, for tiles of several rows) on stdin, answers on stdout.

A column holds the codes of one operand, element 0 first, each with as many digits as its format needs; a single code of the whole tensor is
repeated on each line. The program is started once a question, with the contract and the names of the columns as last arguments.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from string import hexdigits
from typing import Final

import numpy as np

from emu.base.errors import OperandError, TargetError, ToolError
from emu.check.model import Calls
from emu.check.targets.answers import PACKED, Reading, _positions, read
from emu.contracts import form_of
from emu.contracts.form import EXTRAS, FLAGS, Arrays, Bits, Form, Shape, integer_dtype
from emu.spec import derive

SECONDS = 600
HEX: Final = frozenset(hexdigits)  # int() takes signs, _ and digits of other scripts too


class ExecTarget:
    """A program under test; see exec_target."""

    def __init__(self, command: Sequence[str], form: Form, gives: tuple[str, ...], wants: tuple[str, ...], seconds: float, reading: Reading,
                 source: str | None, result: str | None) -> None:  # fmt: skip
        self.command, self.form, self.gives, self.wants, self.seconds, self.reading = list(command), form, gives, wants, seconds, reading
        self.calls: Calls = "programs"
        self.name, self.op, self.source, self.result = command[0], form.op, source, result or ("fp32" if "values" in gives else None)
        if form.draws is not None and form.draws.random_operand[0] > 1:
            raise OperandError(f"{form.contract}: random words shared between elements have no column: use a Python or C target")

    def __call__(self, operands: Arrays) -> Arrays:
        """Run the program once. Raises: TargetError (raises, hangs, shape, dtype), ToolError (it cannot be started)."""
        names = [name for name in self.form.operands if name in operands and (name not in EXTRAS or name in self.wants)]
        lines = self.lines(names, operands)
        words = [*self.command, str(self.form.contract), " ".join(names) + " -> " + " ".join(self.gives)]
        return self.answers(ran(words, "".join(lines), self.name, self.seconds), operands, len(lines))

    def lines(self, names: Sequence[str], operands: Arrays) -> list[str]:
        """Return what is written to stdin."""
        rows = operands[self.form.main].shape[0]
        count = rows // (self.form.block.facts.shape[0] if self.form.block is not None else 1)
        columns = []
        for name in names:
            array, fmt = operands[name], self.form.operands[name]
            digits = array.dtype.itemsize * 2 if fmt is None else digits_of(fmt)
            table = np.broadcast_to(array, (count, 1)) if not array.shape else array.reshape(count, -1)
            columns.append(["".join(f"{code:0{digits}x}" for code in row) for row in table.tolist()])
        return [" ".join(row) + "\n" for row in zip(*columns, strict=True)]

    def answers(self, lines: Sequence[str], operands: Arrays, count: int) -> Arrays:
        """Return the answers of the lines that were printed. Raises: TargetError (shape, dtype)."""
        if len(lines) != count:
            raise TargetError("shape", f"{self.name} printed {len(lines)} lines for {count} rows")
        shapes, table = self.form.shapes(operands), [line.split() for line in lines]
        for number, row in enumerate(table, 1):
            if len(row) != len(self.gives):
                raise TargetError("shape", f"{self.name}: line {number} has {len(row)} columns, declared were {' '.join(self.gives)}")
        found = {}
        for place, name in enumerate(self.gives):
            shape = _packed(shapes["codes"]) if name == PACKED else shapes[name]
            codes = [self.codes(name, row[place]) for row in table]
            found[name] = self.array(name, codes, shape)
        out, self.result = read(found, self.form, operands, self.reading, self.result)
        return out

    def codes(self, name: str, text: str) -> list[int]:
        """Return the codes of a column. Raises: TargetError (dtype)."""
        digits = self.digits(name)
        try:
            if len(text) % digits or not set(text) <= HEX:
                raise ValueError(text)
            return [int(text[at : at + digits], 16) for at in range(0, len(text), digits)]
        except ValueError:
            raise TargetError("dtype", f"{self.name}: {text[:40]!r} is no column of {name}: {digits} hex digits a code") from None

    def digits(self, name: str) -> int:
        """Return the hex digits of a code of an answer."""
        if name == PACKED:
            return 2
        if name in self.form.answers:
            return digits_of(self.form.answers[name])
        return 8 if self.result in (None, "fp32") else 4

    def array(self, name: str, codes: Sequence[Sequence[int]], shape: Shape) -> Bits:
        """Return the codes of all lines as an array. Raises: TargetError (shape)."""
        kind = f"u{-(-self.digits(name) // 2)}" if name not in self.form.answers else integer_dtype(self.form.answers[name])
        if not shape:
            if any(row != codes[0] or len(row) != 1 for row in codes):
                raise TargetError("shape", f"{self.name}: {name} is one code of the tensor, the same on each line")
            return np.array(codes[0][0], kind)
        if len({len(row) for row in codes}) != 1 or len(codes) * len(codes[0]) != int(np.prod(shape)):
            raise TargetError("shape", f"{self.name}: {name} has {sum(map(len, codes))} codes, the contract says {shape}")
        return np.array(codes, kind).reshape(shape)


def ran(words: Sequence[str], text: str, name: str, seconds: float) -> list[str]:
    """Run a program with text on stdin and return the lines of its stdout. Raises: TargetError (raises, hangs, dtype), ToolError."""
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise TargetError("hangs", f"{name}: no answer within {seconds:g} s") from None
    except OSError as error:
        raise ToolError(f"{name}: cannot be started: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise TargetError("dtype", f"{name} printed something else than text") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
        raise TargetError("raises", f"{name} ended with exit code {done.returncode}: {last}")
    return done.stdout.splitlines()


def _packed(shape: Shape) -> Shape:
    return (*shape[:-1], -(-shape[-1] // 2))


def digits_of(fmt: object) -> int:
    """Return how many hex digits a code of a format takes, unused high bits included."""
    return -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)  # type: ignore[arg-type]


def exec_target(
    command: str,
    contract: str,
    *,
    gives: Sequence[str] | None = None,
    wants: Sequence[str] | None = None,
    source: str | None = None,
    result: str | None = None,
    packing: str = "low_nibble_first",
    seconds: float = SECONDS,
) -> ExecTarget:
    """Return a program as a target.

    command: words as in a shell, no shell is started.   gives: columns that it prints; None: codes, levels from the innermost, no flags.
    wants: which of tensor_amax, random and signs it reads; None: all.   seconds: limit of one run.
    Raises: OperandError, SpecError.   Tests: tests/check/test_check_exec.py.
    """
    form = form_of(contract, source, result)
    words = shlex.split(command)
    if not words:
        raise OperandError("exec: name a program")
    names = tuple(gives) if gives is not None else tuple(name for name in _positions(form) if name != FLAGS)
    for name in names:
        if name not in (*form.answers, "values", PACKED):
            raise OperandError(f"gives {name!r} is unknown: one of {', '.join((*form.answers, 'values', PACKED))}")
    reading = Reading(None, packing)
    return ExecTarget(words, form, names, form.extras if wants is None else tuple(wants), seconds, reading, source, result)
