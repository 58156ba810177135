"""The table of contents of the spec: every object with status and open points. Not here: one page per object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from emu.pages.layout import padding
from emu.pages.render import Code, Links, Ref, Section, plural, render
from emu.spec import derive, get, names
from emu.spec.models import KINDS, Block, Datapath, Format, Instruction, Layout, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.format import CodebookFacts, FloatFacts, IntegerFacts
from emu.spec.models.instruction import forms

# What a status word promises, strongest evidence of a document first.
STATUS: dict[str, str] = {
    "standard": "the text of a published standard says it",
    "vendor": "a document of the vendor says it",
    "source-code": "it was read in public source code",
    "paper": "it was read in a paper",
    "measured": "the named implementation was run, and its bits compared",
    "reported": "a third party reports it of real hardware; not measured here",
    "inferred": "deduced from what the sources say; none says it in words",
    "proposed": "no implementation: a proposal",
    "unknown": "nobody says it: refused",
}


def contents_page() -> str:
    """Return the Markdown page of the whole spec."""
    objects = {kind: [get(kind, name) for name in names(kind)] for kind in KINDS}
    found = Counter(thing.status for things in objects.values() for thing in things)
    statuses = [(word, means, found[word]) for word, means in STATUS.items()]
    return render("contents", Links(""), kinds=[_kind(kind, things) for kind, things in objects.items()], statuses=statuses)


def user_contents_page(folders: Sequence[str], own: Mapping[str, Sequence[SpecObject]], links: Links) -> str:
    """Return the list of a user's own objects. folders: where their files are. own: kind -> objects, in the order of ids."""
    kinds = [_kind(kind, things) for kind, things in own.items() if things]
    return render("user_contents", links, folders=[Code(folder) for folder in folders], kinds=kinds)


def _kind(kind: str, things: Sequence[SpecObject]) -> dict[str, Any]:
    """Return what the table of one kind says: a row for each object."""
    heading, extra = _EXTRA.get(kind, ("", None))
    rows = []
    for thing in things:
        also = ("<br>also ", [Code(alias) for alias in thing.aliases]) if thing.aliases else ()
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
    levels = ", ".join(f"{level.name} {level.format} per {_granularity(level.granularity)}" for level in block.facts.levels)
    rows, columns = block.facts.shape
    return f"{' or '.join(block.element_formats)} in {rows} x {columns}: {levels}"


def _granularity(granularity: Any) -> str:
    return granularity if isinstance(granularity, str) else f"{granularity.sub} elements"


def _layout(layout: Layout) -> str:
    facts = layout.facts
    return f"{facts.holds} of {facts.code_bits} bits, padded to {padding(layout, 'row')} x {padding(layout, 'idx')}"


def _transform(transform: Transform) -> str:
    facts = transform.facts
    return f"{facts.size} elements, {facts.sum} sum in {facts.sum_format}, result {facts.result}"


def _recipe(recipe: Recipe) -> Any:
    return "block ", Code(recipe.facts.block), f", {len(recipe.facts.steps)} steps; dequantize: {', '.join(recipe.facts.dequantize)}"


def _datapath(datapath: Datapath) -> str:
    facts = datapath.facts
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
    "instruction": ("mnemonic", _instruction),
    "policy": ("destinations", lambda policy: ", ".join(policy.facts)),
    "checkpoint": ("file and blocks", lambda store: f"{store.facts.container}: {', '.join(store.facts.blocks)}"),
    "coverage": ("crosses", lambda model: ", ".join(model.facts.crosses)),
}
