"""The page of a coverage model: axes with their bins, crosses, and how bins are counted."""

from __future__ import annotations

from typing import Any

from emu.pages.frame import Data, Writer
from emu.pages.render import Code, joined
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
    "level": "one for the products, for each level and for the result",
}


def data(model: Coverage) -> Data:
    """Return what the template shows: axes with their bins, crosses, worked examples."""
    facts = model.facts
    axes = []
    for name, axis in facts.axes.items():
        bins = [*([EACH[axis.each]] if axis.each else []), *([[Code(item) for item in axis.bins]] if axis.bins else [])]
        axes.append((Code(name), axis.text, joined("; ", bins)))
    crosses = [(Code(name), joined(" x ", map(Code, cross.axes)), cross.text) for name, cross in facts.crosses.items()]
    return {"axes": axes, "crosses": crosses, "example_rows": [_example(item) for item in model.expect]}


def _example(item: Any) -> tuple[object, ...]:
    """Return the inputs of a worked example, and the bins of each cross."""
    bins = "; ".join(f"{name}: {', '.join(found) or 'none'}" for name, found in item.bins.items())
    given = ", ".join(text if len(text) <= 20 else f"{text[:18]}..." for text in item.given)
    return Code(item.stem), Code(given), bins, item.why


WRITER = Writer("coverage", data)
