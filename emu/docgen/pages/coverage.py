"""The page of a coverage model: axes with their bins, crosses, and how bins are counted."""

from __future__ import annotations

from emu.docgen.frame import Context, Writer
from emu.docgen.markdown import code, fence, table
from emu.spec import Coverage

EACH = {
    "destination_code": "one for each magnitude code of the destination (of more than 8 bits: for each exponent)",
    "exponent_field": "one for each value of the exponent field",
    "element_code": "one for each element code",
    "term_or_class": "one for each term of the sum; of more than eight, all together",
    "distance": "0 .. F + 2, the last one and all beyond together",
    "normalise_shift": "one for each place from the least bit of the adder to its highest",
    "live_pattern": "one for each set of terms that are there, C first; of more than eight terms: none, one, some, all",
    "special_pair": "one for each kind of special operand the formats have, and each pair of them",
}


def body(model: Coverage, context: Context) -> list[str]:
    """Return the body of the page."""
    facts = model.facts
    lines = ["## Axes", ""]
    rows = []
    for name, axis in facts.axes.items():
        bins = ([EACH[axis.each]] if axis.each else []) + [", ".join(code(item) for item in axis.bins)] * bool(axis.bins)
        rows.append((code(name), axis.text, "; ".join(bins)))
    lines += [*table(("axis", "question", "bins"), rows), "", "## Crosses", ""]
    rows = [(code(name), " x ".join(code(axis) for axis in cross.axes), cross.text) for name, cross in facts.crosses.items()]
    lines += table(("cross", "axes", "what it shows"), rows)
    lines += [
        "",
        "A cross is left out of a contract that lacks one of its axes. A bin is hit, proved to be out of reach, or a hole; count with",
        "",
    ]
    return [*lines, *fence([f"emu vectors cover vectors/{facts.op}"], "sh")]


def witnesses(model: Coverage) -> list[str]:
    """Return the witnesses: inputs, and the bins of each cross."""
    rows = []
    for item in model.expect:
        bins = "; ".join(f"{name}: {', '.join(found) or 'none'}" for name, found in item.bins.items())
        given = ", ".join(text if len(text) <= 20 else f"{text[:18]}..." for text in item.given)
        rows.append((code(item.stem), code(given), bins, item.why or ""))
    return table(("suite", "in", "bins", "why"), rows)


WRITER = Writer(body, (), witnesses)
