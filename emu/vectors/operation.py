"""What the suites of an operation have in common: columns, an oracle for one row, and the other implementations for many rows.

One module per operation: decode_rows, convert_rows, quantize_rows, dequantize_rows, transform_rows. Which inputs are tried is in cases_*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.models import Format
from emu.vectors.files.columns import Layout
from emu.vectors.files.rows import Answer

Values = tuple[int, ...]
Batch = Callable[[Sequence[Values]], list[Answer | None]]


class Operation(Protocol):
    """One contract with its source and destination."""

    contract: Contract
    src: str
    dst: str
    part: str

    @property
    def layout(self) -> Layout:
        """The columns."""

    def exact(self, values: Values) -> Answer:
        """Return the oracle's answer, one tuple of lane codes per result column; negative where nobody knows."""

    def engines(self) -> dict[str, Batch]:
        """Return the other implementations present: answers for the outputs (stages may be missing), None for a row one cannot do."""

    def described(self) -> dict[str, Any]:
        """Return what the JSON `contract` object says of this operation beyond names and sources."""


def stored_bits(fmt: Format) -> int:
    """Return the width of a code as stored, unused high bits included."""
    return derive.codes(fmt).bits + derive.unused_high_bits(fmt)


def dtype_of(bits: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned dtype that holds `bits` bits."""
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def array_of(codes: Sequence[Any], fmt: Format) -> NDArray[np.unsignedinteger]:
    """Return codes as an unsigned array of the format's dtype."""
    return np.array(codes, dtype_of(stored_bits(fmt)))


def present(table: Mapping[str, Batch]) -> dict[str, Batch]:
    """Return the engines of a table, each answering None for all rows when it says it cannot do the work."""

    def guarded(batch: Batch) -> Batch:
        def run(rows: Sequence[Values]) -> list[Answer | None]:
            try:
                return batch(rows)
            except EngineError:
                return [None] * len(rows)

        return run

    return {name: guarded(batch) for name, batch in table.items()}


def native() -> Any:
    """Return the binding of the C reference, or None where the extension is not built."""
    try:
        from emu.engines.c_ref import convert as module
    except ImportError:
        return None
    return module if hasattr(module, "convert_with_open") else None
