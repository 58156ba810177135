"""layout in the C reference: descriptors of the order of codes in memory, the place of every code and the code of every place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EngineError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import check
from emu.engines.c_ref.descriptors import Descriptor
from emu.spec.models import Layout


def layout_descriptor(layout: Layout, checked: bool = True) -> Descriptor:
    """Return the emu_layout of a layout. Raises: EngineError when it passes a limit of the C reference, where that is checked."""
    facts = layout.facts
    digits = [
        {"is_row": digit.axis == "row", "step": digit.step, "count": digit.count or 0, "down": digit.order == "down"}
        for digit in facts.digits
    ]
    memory = ffi.new("emu_digit[]", digits)
    out = ffi.new("emu_layout *", [facts.holds == "scales", facts.code_bits, len(digits), memory])
    if checked and lib.emu_check_layout(out):
        raise EngineError(f"{layout.id} passes a limit of the C reference (c_ref/emu_ref.h)")
    return Descriptor(out, memory)


def places(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return the place of every code of a tensor. int64 [rows, codes]. Raises: ShapeError (a side beyond 2^31 - 1)."""
    made, at, found = layout_descriptor(layout), ffi.new("uint64_t *"), np.empty((rows, codes), np.int64)
    for row in range(rows):
        for index in range(codes):
            check(lib.emu_layout_place(made.pointer, row, index, rows, codes, at), f"layout {layout.id}")
            found[row, index] = at[0]
    return found


def origins(rows: int, codes: int, layout: Layout) -> NDArray[Any]:
    """Return, for every place, row x codes + index of the code that lies there; -1 for padding. int64 [places]. Raises: as places."""
    made, row, index = layout_descriptor(layout), ffi.new("uint64_t *"), ffi.new("uint64_t *")
    check(lib.emu_layout_size(made.pointer, rows, codes, row), f"layout {layout.id}")
    found = np.empty(row[0], np.int64)
    for place in range(found.size):
        check(lib.emu_layout_locate(made.pointer, place, rows, codes, row, index), f"layout {layout.id}")
        found[place] = row[0] * codes + index[0] if row[0] < rows and index[0] < codes else -1
    return found
