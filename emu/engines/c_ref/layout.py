"""layout in the C reference: descriptors of the order of codes in memory."""

from __future__ import annotations

from emu.base.errors import EngineError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptors import Descriptor
from emu.spec.models import Layout


def layout_descriptor(layout: Layout) -> Descriptor:
    """Return the emu_layout of a layout. Raises: EngineError when it passes a limit of the C reference."""
    facts = layout.facts
    digits = [{"is_row": digit.axis == "row", "step": digit.step, "count": digit.count or 0} for digit in facts.digits]
    memory = ffi.new("emu_digit[]", digits)
    out = ffi.new("emu_layout *", [facts.holds == "scales", facts.code_bits, len(digits), memory])
    if lib.emu_check_layout(out):
        raise EngineError(f"{layout.id} passes a limit of the C reference (c_ref/emu_ref.h)")
    return Descriptor(out, memory)
