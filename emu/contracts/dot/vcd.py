"""The golden stages of one dot product as VCD, to overlay on a simulation in a wave viewer. No date: same row, same bytes."""

from __future__ import annotations

from collections.abc import Sequence

from emu.contracts.dot.rows import DotRow, evaluate
from emu.contracts.text import waves
from emu.engines.exact.datapath_stages import stage_codes, stage_columns
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format


def vcd_text(row: DotRow, plan: DatapathPlan) -> str:
    """Return the VCD of a row: inputs a, sa, b, sb, c, the stage columns u<step>_<stage> of every fused step, and d.

    Names, widths and bit order are those of golden vectors: element i of width w at bits w*i .. w*i+w-1. All values stand from time 0 on.
    Stages that NaN or infinity skipped are x.   Raises: as emu.engines.exact.datapath.dot.   Tests: tests/explain/test_explain_dot.py.
    """
    return waves(signals_dot(row, plan), f"dot/{plan.name}")


def signals_dot(row: DotRow, plan: DatapathPlan) -> list[tuple[str, int, int | None]]:
    """Return the signals of vcd_text: (name, bits, value; None: x)."""
    found = evaluate(row, plan)
    signals: list[tuple[str, int, int | None]] = [_packed("a", row.a, plan.a)]
    signals += [_packed("sa", row.scale_a, plan.scale)] if plan.scale else []
    signals += [_packed("b", row.b, plan.b)]
    signals += [_packed("sb", row.scale_b, plan.scale)] if plan.scale else []
    signals.append(("c", derive.codes(plan.c).bits, row.c))
    values: dict[str, int] = {}
    for number, step in enumerate(found.steps):
        values |= stage_codes(step, number, plan)
    columns = stage_columns(plan, len(row.a) // plan.step)
    signals += [(column.name, column.bits, values.get(column.name)) for column in columns]
    signals.append(("d", derive.codes(plan.d).bits, found.code))
    return signals


def _packed(name: str, codes: Sequence[int], fmt: Format) -> tuple[str, int, int]:
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return name, bits * len(codes), sum(code << (bits * place) for place, code in enumerate(codes))
