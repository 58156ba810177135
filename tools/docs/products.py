"""The page of products: for which pairs of shipped element and scale formats a check has sets, made by making the sets."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.check.matmul.default_sets import every_set
from emu.check.matmul.pair import Side, pair_of, side_of
from emu.check.matmul.sets import limits_of
from emu.pages.render import Links, Ref, render
from emu.spec import names
from tools.docs import TEMPLATES

SHAPE = (17, 9, 96)


def products_page() -> str:
    """Return the page."""
    sides: dict[tuple[str, str], list[tuple[str, Side]]] = {}
    refused = []
    for name in names("block"):
        try:
            side = side_of(name)
        except SpecError as error:
            refused.append((Ref("block", name), str(error).partition(": ")[2]))
            continue
        sides.setdefault((side.element.id, side.scale.id if side.scale else "none"), []).append((name, side))
    kinds = []
    for (element, scale), found in sides.items():
        kinds.append((Ref("format", element), Ref("format", scale), ", ".join(name for name, _ in found)))
    every = {key: found[0][0] for key, found in sides.items()}
    rows = [[f"{element} with {scale}", *(_sets(mine, other) for other in every.values())] for (element, scale), mine in every.items()]
    header = ["a, below; b, to the right", *(f"{element} with {scale}" for element, scale in every)]
    return render("products", Links(""), TEMPLATES, kinds=kinds, header=header, rows=rows, refused=refused, shape="x".join(map(str, SHAPE)))


def _sets(a: str, b: str) -> str:
    """Return how many sets a pair of blocks has, or what is left out."""
    left: list[str] = []
    pair = pair_of(f"matmul/{a}/{b}/fp32")
    shape = (*SHAPE[:2], -(-SHAPE[2] // pair.step) * pair.step)
    found = {asked.name for asked in every_set(pair, [shape], limits_of("fp32", "exact", "fp32"), 1, left)}
    return f"all {len(found)}" if not left else f"{len(found)}; {'; '.join(left)}"
