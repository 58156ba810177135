"""Which codes are NaN or of another class, for the languages of the solvers: where a format's fields lie, and conditions in Verilog."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.contracts.columns import Column
from emu.rtl.portmap.rows import has_class
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get

TABLE_BITS = 8  # wider formats are told by their fields


def float_fields(column: Column) -> tuple[int, int]:
    """Return the bits of fraction and exponent of a result whose NaN may have any payload. Raises: SpecError (no NaN as in IEEE 754)."""
    fmt: Format = get("format", column.format or "")
    if column.lanes != 1 or not isinstance(fmt.facts, FloatFacts) or fmt.facts.nan != "ieee":
        raise SpecError(f"column {column.name}: a free NaN payload is judged in one lane of a format with infinity only")
    return fmt.facts.frac_bits, fmt.facts.exp_bits


def class_condition(wanted: str, column: Column, signal: str) -> str:
    """Return the Verilog condition: some element of a column is of a class of the port map.

    signal: a name that holds the column.   Raises: SpecError (a wide format that is no binary interchange format).
    """
    fmt: Format = get("format", column.format or "")
    bits = derive.codes(fmt).bits
    found = []
    for lane in range(column.lanes):
        low = lane * column.lane_bits
        if bits <= TABLE_BITS:
            codes = [code for code in range(1 << bits) if has_class(code, fmt, wanted)]
            found += [f"{signal}[{low} +: {bits}] == {bits}'h{code:x}" for code in codes]
        else:
            found.append(_by_fields(wanted, fmt, signal, low))
    return " | ".join(f"({text})" for text in found) or "1'b0"


def _by_fields(wanted: str, fmt: Format, signal: str, low: int) -> str:
    facts = fmt.facts
    if not isinstance(facts, FloatFacts) or facts.nan != "ieee":
        raise SpecError(f"{fmt.id}: classes of a format this wide are told for binary interchange formats only")
    frac, exp = f"{signal}[{low} +: {facts.frac_bits}]", f"{signal}[{low + facts.frac_bits} +: {facts.exp_bits}]"
    sign = f"{signal}[{low + facts.frac_bits + facts.exp_bits}]"
    quiet = f"{signal}[{low + facts.frac_bits - 1}]"
    return {
        "zero": f"~|{exp} & ~|{frac}",
        "negative_zero": f"{sign} & ~|{exp} & ~|{frac}",
        "subnormal": f"~|{exp} & |{frac}",
        "inf": f"&{exp} & ~|{frac}",
        "nan": f"&{exp} & |{frac}",
        "signalling_nan": f"&{exp} & |{frac} & ~{quiet}",
        "negative": f"{sign} & |{{{exp}, {frac}}}",
    }[wanted]
