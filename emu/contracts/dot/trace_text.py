"""The trace of a dot product as lines people read: one section per fused step, one table of the alignment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emu.base.templates import filled

Data = dict[str, Any]
WIDEST_BINARY = 72
MOST_ZEROS = 24
PER_LINE = 4
MARGIN = "    "
TEMPLATE = Path(__file__).with_name("trace.txt.j2")


def lines_of(trace: Data) -> list[str]:
    """Return the text of a trace of explain_dot, without line ends: trace.txt.j2 filled."""
    return filled(TEMPLATE, trace=trace, products=_products, ranges=_ranges, table=_table).splitlines()


def _products(term: Data) -> str:
    """The products that are not zero, as values, some on a line; neighbours with the same codes stand together."""
    texts = []
    for run in _runs(term["products"]):
        first, last = run[0], run[-1]
        place = f"[{first['element']}]" if first is last else f"[{first['element']}..{last['element']}]"
        each = "" if first is last else " each"
        texts.append(f"{place} {first['a_value']} * {first['b_value']} = {first['product']}{each}")
    if term["zero_products"]:
        texts.append(f"{term['zero_products']} are 0")
    wide = max(len(text) for text in texts)
    lines = []
    for start in range(0, len(texts), PER_LINE):
        part = "   ".join(f"{text:<{wide}}" for text in texts[start : start + PER_LINE]).rstrip()
        lines.append(f"{MARGIN}{'products' if start == 0 else '':<9} {part}")
    return "\n".join(lines)


def _runs(products: Sequence[Data]) -> list[list[Data]]:
    """Return neighbouring products with the same codes as one run."""
    out: list[list[Data]] = []
    for one in products:
        last = out[-1][-1] if out else None
        same = last is not None and (last["a"], last["b"], last["element"] + 1) == (one["a"], one["b"], one["element"])
        if same:
            out[-1].append(one)
        else:
            out.append([one])
    return out


def _table(step: Data) -> str:
    """Return name, shift, aligned integer in decimal and binary with the dropped bits behind a point, exact value lost of what is live."""
    shown = [(f"term {term['term']}", term) for term in step["terms"] if term["products"]]
    if "aligned_c" in step and step["aligned_c"]["live"]:
        shown.append(("C", step["aligned_c"]))
    binary = step["sum"]["bits"] <= WIDEST_BINARY
    rows = [("", "shift", "aligned", "binary . dropped" if binary else "dropped", "lost")]
    for name, term in shown:
        places = term["shift"]
        bits = f"{int(term['aligned']):b}" if binary else ""
        zeros = term["dropped_zeros"]
        dropped = (
            f"{bits}.{'0' * zeros if zeros <= MOST_ZEROS else f'({zeros} zeros)'}{term['dropped_bits']}" if term["dropped_bits"] else bits
        )
        rows.append((name, f"<<{places}" if places >= 0 else f">>{-places}", term["aligned"], dropped, term["lost"]))
    wide = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = []
    for row in rows:
        cells = (f"{row[0]:<{wide[0]}}", *(f"{row[i]:>{wide[i]}}" for i in (1, 2)), _at_point(row[3], rows, wide[3]), row[4])
        lines.append((MARGIN + "  ".join(cells)).rstrip())
    return "\n".join(lines)


def _at_point(text: str, rows: Sequence[tuple[str, ...]], wide: int) -> str:
    """Align binary integers at their last bit."""
    if text == rows[0][3]:
        return f"{text:<{max(wide, _whole(rows) + 1 + _rest(rows))}}"
    whole, point, rest = text.partition(".")
    return f"{whole:>{_whole(rows)}}{point or ' '}{rest:<{_rest(rows)}}".ljust(wide)


def _whole(rows: Sequence[tuple[str, ...]]) -> int:
    return max((len(row[3].partition(".")[0]) for row in rows[1:]), default=0)


def _rest(rows: Sequence[tuple[str, ...]]) -> int:
    return max((len(row[3].partition(".")[2]) for row in rows[1:]), default=0)


def _ranges(numbers: Sequence[int]) -> str:
    """Return sorted integers as 0, 2..5."""
    out: list[list[int]] = []
    for number in numbers:
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}..{high}" for low, high in out)
