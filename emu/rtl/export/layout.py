"""The index maps of layouts as a SystemVerilog package: place of a code, row and index of a place, number of places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emu.base.templates import filled
from emu.spec.models import Layout
from emu.spec.models.layout import Digit
from emu.spec.registry import digest

PACKAGE = "emu_layout_pkg"


def render(layouts: Sequence[Layout]) -> str:
    """Return the text of a package with four functions for each layout: ID_size, ID_place, ID_row, ID_idx, all on 64 bits.

    rows and codes are those of the tensor without padding, as in emu.engines.exact.layout; Icarus Verilog and Verilator read it.
    Tests: tests/rtl/test_rtl_export_layout.py.
    """
    items = [
        {
            "id": layout.id,
            "title": layout.title,
            "digest": digest(layout),
            "unit": "bytes" if layout.facts.code_bits == 8 else "nibbles, the low one of a byte first",
            "word": layout.facts.word_bits,
            "pads": {"row": layout.facts.padded_to("row"), "idx": layout.facts.padded_to("idx")},
            "digits": [_digit(digit) for digit in layout.facts.digits],
        }
        for layout in layouts
    ]
    return filled(Path(__file__).with_name("layout.sv.j2"), package=PACKAGE, layouts=items)


def _digit(digit: Digit) -> dict[str, object]:
    side = "rows" if digit.axis == "row" else "codes"
    count = f"64'd{digit.count}" if digit.count else (side if digit.step == 1 else f"(({side} + 64'd{digit.step - 1}) / 64'd{digit.step})")
    value = f"({digit.axis} / 64'd{digit.step} % {count})"
    down = digit.order == "down"
    return {"axis": digit.axis, "step": digit.step, "count": count, "value": f"({count} - 1 - {value})" if down else value, "down": down}
