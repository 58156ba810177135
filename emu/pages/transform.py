"""The page of a transform: formula, matrix, signs, order of the additions."""

from __future__ import annotations

from emu.pages.frame import Data, Writer
from emu.pages.render import Code, Ref
from emu.spec import Transform


def data(transform: Transform) -> Data:
    """Return what the template shows."""
    facts = transform.facts
    n, mask = facts.size, int(facts.signs, 16)
    operand = facts.signs_operand == "yes"
    return {
        "formula": _formula(transform),
        "size": n,
        "strides": [1 << number for number in range(n.bit_length() - 1)],
        "sum_format": Ref("format", facts.sum_format),
        "again": None if facts.result == facts.sum_format else Ref("format", facts.result),
        "facts": [
            ("size", n),
            ("scale", Code(facts.scale)),
            ("signs", (Code(facts.signs), ", the caller may hand in others" if operand else ", fixed")),
            ("negated elements", [j for j in range(n) if mask >> j & 1] or "none"),
            ("sum", facts.sum),
        ],
        "own_signs": operand,
        "matrix": _matrix(n, mask),
    }


def _matrix(n: int, mask: int) -> list[str]:
    """Draw the signs, and the rows of H times the signs."""
    drawing = ["d    " + " ".join("-" if mask >> j & 1 else "+" for j in range(n)), ""]
    return drawing + [f"y{i:<3} " + " ".join("-" if (i & j).bit_count() % 2 ^ (mask >> j & 1) else "+" for j in range(n)) for i in range(n)]


def _formula(transform: Transform) -> list[str]:
    facts = transform.facts
    scaled = f"{facts.sum_format}({facts.scale} * s)"
    added = "nothing rounded" if facts.sum == "exact" else f"every addition rounded to {facts.sum_format} in the order below"
    return [
        f"s = H * D * x        {added}",
        f"y = {scaled}" if facts.result == facts.sum_format else f"y = {facts.result}({scaled})",
        "H[i][j] = (-1)^popcount(i AND j)",
        f"D = diag(d), d[j] = -1 where bit j of {facts.signs} is set, else +1",
    ]


WRITER = Writer("transform", data, ("transform.transform_values", "transform._butterfly", "transform._by_row"))
