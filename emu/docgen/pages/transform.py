"""The page of a transform: formula, matrix, signs, order of the additions."""

from __future__ import annotations

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, link, table
from emu.spec import Transform

_ORDER = {
    "exact": "The {n} signed terms of a row are added without rounding; the sum times the scale is rounded once.",
    "sequential": "Each row starts from +0 and adds its {n} signed terms, j = 0, 1, ...; every addition is rounded, then the scaled sum.",
    "butterfly": "Fast algorithm: {log} passes, strides {strides}: (a, b) becomes (a + b, a - b), all additions rounded; then the scale.",
}


def body(transform: Transform, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = transform.facts
    n, log = facts.size, facts.size.bit_length() - 1
    mask = int(facts.signs, 16)
    lines = ["## Formula", ""]
    lines += [*fence(_formula(transform)), ""]
    strides = ", ".join(str(1 << number) for number in range(log))
    lines.append(_ORDER[facts.sum].format(n=n, log=log, strides=strides))
    again = (
        "" if facts.result == facts.sum_format else f" The result is rounded once more, to {link('format', facts.result)}, nearest even."
    )
    lines.append(f"Every rounding to {link('format', facts.sum_format)} is to nearest even.{again}")
    lines += ["", "## Facts", ""]
    operand = "the caller may hand in others" if facts.signs_operand == "yes" else "fixed"
    negated = ", ".join(str(j) for j in range(n) if mask >> j & 1) or "none"
    rows = [
        ("size", str(n)),
        ("scale", code(facts.scale)),
        ("signs", f"{code(facts.signs)}, {operand}"),
        ("negated elements", negated),
        ("sum", facts.sum),
    ]
    lines += table(("fact", "value"), rows)
    lines += ["", "## Matrix", "", "Rows of H times the signs; `+` and `-` are +1 and -1, element 0 at the left."]
    if facts.signs_operand == "yes":
        lines[-1] += " The signs shown are the transform's own."
    drawing = ["d    " + " ".join("-" if mask >> j & 1 else "+" for j in range(n)), ""]
    drawing += [f"y{i:<3} " + " ".join("-" if (i & j).bit_count() % 2 ^ (mask >> j & 1) else "+" for j in range(n)) for i in range(n)]
    return [*lines, "", *fence(drawing)]


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


def witnesses(transform: Transform) -> list[str]:
    """Return the witnesses as columns: element, source code, result code."""
    lines: list[str] = []
    for item in transform.expect:
        lines += [
            "",
            f"{item.why or 'Witness'}:" if item.why else "",
            "",
            *fence([f"x  {item.source:5} {item.x}", f"y  {transform.facts.result:5} {item.y}"]),
        ]
    return lines[1:]


WRITER = Writer(body, ("transform.transform_values", "transform._butterfly", "transform._by_row"), witnesses)
