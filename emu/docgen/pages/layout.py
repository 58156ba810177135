"""The page of a layout: its digits with their weights, the formula, and the places of a small tensor."""

from __future__ import annotations

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import fence, table
from emu.engines.exact.layout import place
from emu.spec import Layout

SHOWN = ((0, 0), (0, 1), (0, 3), (0, 4), (1, 0), (31, 0), (32, 0), (127, 3), (128, 0))
TENSOR = (130, 6)


def body(layout: Layout, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = layout.facts
    unit = "bytes" if facts.code_bits == 8 else "nibbles, the low one of a byte first"
    stated = [("holds", facts.holds), ("code_bits", str(facts.code_bits)), ("places count", unit)]
    padded = f"a multiple of {padding(layout, 'row')} rows and of {padding(layout, 'idx')} codes a row"
    lines = ["## Facts", "", *table(("fact", "value"), stated), "", "## Digits", ""]
    lines += [f"The place of a code is the sum of digit times weight. R and C are the sides of the tensor, padded to {padded}.", ""]
    lines += table(("digit", "weight"), list(zip(digits(layout), weights(layout), strict=True)))
    rows, codes = TENSOR
    lines += ["", f"## A tensor of {rows} x {codes}", ""]
    shown = [(str(row), str(idx), str(place(row, idx, rows, codes, layout))) for row, idx in SHOWN]
    return [*lines, *table(("row", "idx", "place"), shown)]


def padding(layout: Layout, axis: str) -> int:
    """Return what an axis is padded to a multiple of: the step of its last digit."""
    return max(digit.step for digit in layout.facts.digits if digit.axis == axis)


def digits(layout: Layout) -> list[str]:
    """Return the digits as formulas, the fastest first."""
    found = []
    for digit in layout.facts.digits:
        text = digit.axis if digit.step == 1 else f"{digit.axis} / {digit.step}"
        found.append(f"`{text}`" if digit.count is None else f"`{text} mod {digit.count}`")
    return found


def weights(layout: Layout) -> list[str]:
    """Return the weight of each digit: a number, times a padded side where a whole axis lies below."""
    found, number, sides = [], 1, ""
    for digit in layout.facts.digits:
        found.append(f"`{number}{sides}`")
        if digit.count is not None:
            number *= digit.count
        else:
            side = "R" if digit.axis == "row" else "C"
            sides += f" * {side}" if digit.step == 1 else f" * {side} / {digit.step}"
    return found


def witnesses(layout: Layout) -> list[str]:
    """Return the hand-checked places."""
    lines = [
        f"{item.rows} x {item.codes}: row {item.row}, idx {item.idx} -> {item.place}" + (f"   {item.why}" if item.why else "")
        for item in layout.expect
    ]
    return fence(lines)


WRITER = Writer(body, ("layout.place",), witnesses)
