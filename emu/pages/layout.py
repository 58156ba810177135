"""The page of a layout: its digits with their weights, the formula, and the places of a small tensor."""

from __future__ import annotations

from emu.engines.exact.layout import place
from emu.pages.frame import Data, Writer
from emu.pages.render import Code
from emu.spec import Layout

SHOWN = ((0, 0), (0, 1), (0, 3), (0, 4), (1, 0), (31, 0), (32, 0), (127, 3), (128, 0))
TENSOR = (130, 6)


def data(layout: Layout) -> Data:
    """Return what the template shows: facts, digits with their weights, places of a small tensor, worked examples."""
    facts, (rows, codes) = layout.facts, TENSOR
    unit = "bytes" if facts.code_bits == 8 else "nibbles, the low one of a byte first"
    return {
        "facts": [
            ("holds", facts.holds),
            ("code_bits", facts.code_bits),
            ("places count", unit),
            *([("words", f"{facts.word_bits} bits, the lowest place in the lowest bits, little-endian")] if facts.word_bits else []),
        ],
        "row_padding": facts.padded_to("row"),
        "idx_padding": facts.padded_to("idx"),
        "digits": list(zip(digits(layout), weights(layout), strict=True)),
        "rows": rows,
        "codes": codes,
        "places": [(row, idx, place(row, idx, rows, codes, layout)) for row, idx in SHOWN],
        "example_lines": [
            f"{item.rows} x {item.codes}: row {item.row}, idx {item.idx} -> {item.place}" + (f"   {item.why}" if item.why else "")
            for item in layout.expect
        ],
    }


def digits(layout: Layout) -> list[Code]:
    """Return the digits as formulas, the fastest first."""
    found: list[Code] = []
    for digit in layout.facts.digits:
        text = digit.axis if digit.step == 1 else f"{digit.axis} / {digit.step}"
        text = text if digit.count is None else f"{text} mod {digit.count}"
        found.append(Code(f"{(digit.count or 0) - 1} - {text}" if digit.order == "down" else text))
    return found


def weights(layout: Layout) -> list[Code]:
    """Return the weight of each digit: a number, times a padded side where a whole axis lies below."""
    found, number, sides = list[Code](), 1, ""
    for digit in layout.facts.digits:
        found.append(Code(f"{number}{sides}"))
        if digit.count is not None:
            number *= digit.count
        else:
            side = "R" if digit.axis == "row" else "C"
            sides += f" * {side}" if digit.step == 1 else f" * {side} / {digit.step}"
    return found


WRITER = Writer("layout", data, ("layout.place",))
