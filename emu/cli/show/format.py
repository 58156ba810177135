"""The part of emu show that speaks of formats: derived facts and the table of values."""

from __future__ import annotations

from emu.pages.format_facts import MOST_BITS, derived, table
from emu.spec import Format, derive


def lines(fmt: Format, every: bool) -> list[str]:
    """Return facts, derived facts and the table of values as lines."""
    facts = {key: value for key, value in fmt.facts_json().items() if key not in ("values", "values_bits")}
    out = ["", ", ".join(f"{key} {value}" for key, value in facts.items())]
    known = {key: " ".join(value) if isinstance(value, list) else value for key, value in derived(fmt).items()}
    out.append("derived: " + ", ".join(f"{key} {value}" for key, value in known.items()))
    rows = table(fmt, every)
    width = derive.codes(fmt).bits
    if len(rows) < 1 << width:
        out += ["", f"landmarks of {1 << width} codes" + ("" if width > MOST_BITS else " (--all for every one)")]
    else:
        out.append("")
    widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in ("code", "bits", "value")}
    out.append("  ".join(key.ljust(widths[key]) for key in widths) + "  decimal")
    for row in rows:
        cells = [row[key].rjust(wide) if key == "value" else row[key].ljust(wide) for key, wide in widths.items()]
        out.append("  ".join([*cells, row["decimal"]]))
    return out
