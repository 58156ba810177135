"""Sides of tensors at which a layout changes: at, just below and just over each step of each axis."""

from emu.spec.models import Layout


def sides_of(layout: Layout) -> list[tuple[int, int]]:
    """Return (rows, codes): every step of an axis with 1 below and above it, beside one side of each kind of the other axis."""
    steps = {axis: sorted({digit.step for digit in layout.facts.digits if digit.axis == axis}) for axis in ("row", "idx")}
    near = {axis: sorted({step + by for step in found for by in (-1, 0, 1)} - {0}) for axis, found in steps.items()}
    across = sorted({1, steps["idx"][-1], steps["idx"][-1] + 1})
    down = sorted({1, 2, min(steps["row"][-1], 32) + 1})
    return sorted({(rows, codes) for rows in near["row"] for codes in across} | {(rows, codes) for rows in down for codes in near["idx"]})
