"""Which module shows which kind, and the pages of a user's own objects. Not here: the whole reference of the repository (tools/docs)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from emu.base.errors import OperandError, SpecError
from emu.pages import (
    block,
    checkpoint,
    coverage,
    datapath,
    epilogue,
    instruction,
    layout,
    policy,
    recipe,
    rounding,
    series,
    training,
    transform,
)
from emu.pages import format as format_page
from emu.pages.block import granularity
from emu.pages.datapath_levels import epilogue_text
from emu.pages.frame import Users, Writer, all_users, page
from emu.pages.render import Code, Links, Markdown, Ref, Section, plural, render
from emu.spec import KINDS, Block, Datapath, Format, Instruction, Layout, Recipe, Rounding, SpecObject, Transform, derive, get, names
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.format import CodebookFacts, FloatFacts, IntegerFacts
from emu.spec.models.instruction import forms
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import added_folders, broken, shipped_root

WRITERS: dict[str, Writer] = {
    "format": format_page.WRITER,
    "rounding": rounding.WRITER,
    "policy": policy.WRITER,
    "block": block.WRITER,
    "layout": layout.WRITER,
    "transform": transform.WRITER,
    "recipe": recipe.WRITER,
    "datapath": datapath.WRITER,
    "epilogue": epilogue.WRITER,
    "instruction": instruction.WRITER,
    "coverage": coverage.WRITER,
    "checkpoint": checkpoint.WRITER,
    "training": training.WRITER,
    "series": series.WRITER,
}


def object_page(thing: SpecObject, users: Users, links: Links) -> str:
    """Return the page of one object. A kind that has no writer gets the facts as they are."""
    return page(thing, WRITERS.get(thing.kind, Writer()), users, links)


def user_pages() -> dict[str, str]:
    """Return path -> text: a page for each object that does not come with emu, and contents.md, which lists them.

    Objects that come with emu are plain names there, and so is what only the repository's reference has a page of.
    Raises: OperandError (no such object), SpecError (a fault of a file).   Tests: tests/pages/test_pages_user.py.
    """
    for fault in broken().values():
        raise SpecError(fault)
    shipped = shipped_root()
    own = {kind: [get(kind, name) for name in names(kind) if not (shipped / kind / f"{name}.yaml").is_file()] for kind in KINDS}
    found = frozenset((kind, thing.id) for kind, things in own.items() for thing in things)
    if not found:
        raise OperandError("docs build: only objects that come with emu are known: name a folder with yours, --spec DIR")
    users = all_users()
    texts = {f"{thing.kind}/{thing.id}.md": object_page(thing, users, Links(own=found)) for things in own.values() for thing in things}
    kinds = [kind_table(kind, things) for kind, things in own.items() if things]
    contents = render("user_contents", Links("", found), folders=[Code(folder) for folder in added_folders()], kinds=kinds)
    return {"contents.md": contents} | texts


def kind_table(kind: str, things: Sequence[SpecObject]) -> dict[str, Any]:
    """Return what the table of one kind says: a row for each object."""
    heading, extra = _EXTRA.get(kind, ("", None))
    rows = []
    for thing in things:
        also = (Markdown("<br>also "), [Code(alias) for alias in thing.aliases]) if thing.aliases else ()
        points = Section(len(thing.open), kind, thing.id, "open") if thing.open else None
        cells = [(Ref(kind, thing.id), also), thing.title, *([extra(thing)] if extra else []), thing.status, points]
        rows.append(cells)
    header = ["id", "title", *([heading] if extra else []), "status", "open"]
    return {"name": kind, "count": len(things), "open": sum(bool(thing.open) for thing in things), "header": header, "rows": rows}


def _format(fmt: Format) -> str:
    facts, bits = fmt.facts, derive.codes(fmt).bits
    if isinstance(facts, FloatFacts):
        sign = "1" if facts.signed == "yes" else "0"
        return f"{plural(bits, 'bit')}: {sign}, {facts.exp_bits}, {facts.frac_bits}; bias {facts.bias}"
    if isinstance(facts, IntegerFacts):
        return f"{plural(bits, 'bit')}: {facts.signed.replace('_', ' ').replace('no', 'unsigned')} integer, unit 2^{facts.unit_exp}"
    return f"{plural(bits, 'bit')}: " + ("codebook" if isinstance(facts, CodebookFacts) else f"2^(code - {facts.bias})")


def _rounding(rounding: Rounding) -> str:
    facts = rounding.facts
    if facts.random == "none":
        return "none"
    word = getattr(facts.random, "word", None)
    return f"{rounding.random_bits} per element, {facts.add}" + (f", of a {word}-bit word" if word else "")


def _block(block: Block) -> str:
    levels = ", ".join(f"{level.name} {level.format} per {granularity(level)}" for level in block.facts.levels)
    rows, columns = block.facts.shape
    return f"{' or '.join(block.element_formats)} in {rows} x {columns}: {levels}"


def _layout(layout: Layout) -> str:
    facts = layout.facts
    return f"{facts.holds} of {facts.code_bits} bits, padded to {facts.padded_to('row')} x {facts.padded_to('idx')}"


def _transform(transform: Transform) -> str:
    facts = transform.facts
    return f"{facts.size} elements, {facts.sum} sum in {facts.sum_format}, result {facts.result}"


def _recipe(recipe: Recipe) -> Any:
    return "block ", Code(recipe.facts.block), f", {len(recipe.facts.steps)} steps; dequantize: {', '.join(recipe.facts.dequantize)}"


def _datapath(datapath: Datapath) -> str:
    facts = datapath.facts
    if isinstance(facts, DatapathLevels):
        return f"K {facts.k}, levels {', '.join(level.id for level in facts.levels)}; {facts.out.format}"
    if not isinstance(facts, DatapathFacts):
        return "unknown: refused"
    kept = facts.align.fraction_bits
    adder = {"exact": "exact sum", "exact_products": "exact products", "open": "adder open"}.get(str(kept), f"{kept} fraction bits")
    a, b = (", ".join(names) for names in (facts.a, facts.b))
    return f"{a} x {b}" * (a != b) + f"pairs of {a}" * (a == b) + f"; K {facts.k}, {adder}, {facts.d} {facts.round.mode}"


def _instruction(family: Instruction) -> Any:
    return Code(family.facts.mnemonic), f": {plural(len(forms(family)), 'form')}"


_EXTRA: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "format": ("sign, exponent, fraction", _format),
    "rounding": ("random bits", _rounding),
    "block": ("element and levels", _block),
    "transform": ("rotation", _transform),
    "layout": ("order of codes", _layout),
    "recipe": ("program", _recipe),
    "datapath": ("operands and sum", _datapath),
    "epilogue": ("scales of rows", lambda library: epilogue_text(library.facts.rows)),
    "instruction": ("mnemonic", _instruction),
    "policy": ("destinations", lambda policy: ", ".join(policy.facts)),
    "checkpoint": ("file and blocks", lambda store: f"{store.facts.container}: {', '.join(store.facts.blocks)}"),
    "coverage": ("crosses", lambda model: ", ".join(model.facts.crosses)),
}
