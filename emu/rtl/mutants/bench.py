"""The bench that judges mutants: streams the rows of a suite through one mutant after the other.

Each stops at its first difference, or with `every` lists all rows that differ. It knows nothing of stalls, resets and reports: judging
designs is the work of the kit's benches (vectors/bench). Not here: its text (bench.sv.j2).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emu.base.templates import filled
from emu.contracts.columns import Column, Layout
from emu.rtl.export.special import float_fields

SELECTOR: Final = "mutsel"


def render(layout: Layout, most: int, mutants: int = 0, selector_bits: int = 0, every: bool = False) -> str:
    """Return the text of the bench.

    most: words of the longest suite, trailer included.   mutants: how many; 0 is the right design.   selector_bits: width of the input that
    chooses among them; 0: the design has none.   every: list all rows that differ.   Raises: SpecError (a free NaN payload of a lane).
    """
    outs = tuple(column for column in layout.results if column.role == "out")
    return filled(
        Path(__file__).with_name("bench.sv.j2"),
        ins=layout.inputs,
        outs=outs,
        width=layout.width,
        most=most,
        mutants=mutants,
        selector=SELECTOR,
        selector_bits=selector_bits,
        every=every,
        same=[_same(layout, column) for column in outs],
        field=lambda name: _field(layout, name),
    )


def _field(layout: Layout, name: str) -> str:
    column = layout.columns[layout.index(name)]
    return f"row[{layout.lsb(name)} +: {column.bits}]"


def _same(layout: Layout, column: Column) -> str:
    equal = f"(({column.name} ^ {_field(layout, column.name)}) & {_field(layout, 'm_' + column.name)}) === 0"
    if not column.any_nan:
        return equal
    return f"({_field(layout, 'k_' + column.name)} === 0 ? {equal} : {_nan(column)} === 1'b1)"


def _nan(column: Column) -> str:
    """Return the test for a NaN of a column whose NaN payload is free."""
    frac, exp = float_fields(column)
    return f"(&{column.name}[{frac} +: {exp}] && |{column.name}[0 +: {frac}])"
