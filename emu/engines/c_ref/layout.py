"""layout in the C reference: the place of every code of a tensor, and the code of every place."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import check
from emu.spec.models import Layout

_AXES: Final = {"row": lib.EMU_AXIS_ROW, "idx": lib.EMU_AXIS_IDX}


def layout_descriptor(layout: Layout) -> Any:
    """Return the C descriptor of a layout, a pointer that owns it."""
    made, facts = ffi.new("emu_layout *"), layout.facts
    made.code_bits, made.word_bits, made.digit_count = facts.code_bits, facts.word_bits or 0, len(facts.digits)
    for number, digit in enumerate(facts.digits):
        made.digits[number] = {"axis": _AXES[digit.axis], "step": digit.step, "count": digit.count or 0, "down": digit.order == "down"}
    return made


def places(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return the place of every code of a tensor. int64 [rows, codes]. Raises: ShapeError (a side beyond 2^31 - 1)."""
    made, at, found = layout_descriptor(layout), ffi.new("uint64_t *"), np.empty((rows, codes), np.int64)
    for row in range(rows):
        for idx in range(codes):
            check(lib.emu_layout_place(made, rows, codes, row, idx, at), f"layout {layout.id}")
            found[row, idx] = at[0]
    return found


def origins(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return, for every place, row x codes + index of the code that lies there; -1 for padding. int64 [places]. Raises: as places."""
    made, row, idx = layout_descriptor(layout), ffi.new("uint64_t *"), ffi.new("uint64_t *")
    check(lib.emu_layout_size(made, rows, codes, row), f"layout {layout.id}")
    found = np.empty(row[0], np.int64)
    for place in range(found.size):
        check(lib.emu_layout_locate(made, rows, codes, place, row, idx), f"layout {layout.id}")
        found[place] = row[0] * codes + idx[0] if row[0] < rows and idx[0] < codes else -1
    return found
