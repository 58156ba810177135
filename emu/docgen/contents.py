"""The table of contents of the spec: every object with status and open points. Not here: one page per object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from emu.docgen.markdown import link, plural, table
from emu.docgen.pages.layout import padding
from emu.spec import derive, get, names
from emu.spec.instruction import forms
from emu.spec.models import KINDS, Block, Datapath, Format, Instruction, Layout, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.format import CodebookFacts, FloatFacts, IntegerFacts

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

_ACROSS = (
    "Across all objects:",
    "",
    "- [the 4-bit grids side by side](grids.md), and the bias of their rounding bins",
    "- [what each policy does with NaN, Inf, -0 and overflow](policies.md)",
    "- [datapaths side by side](datapaths.md): parameters, and the widths that follow from the operands",
    "- [instructions side by side](instructions.md): conversions by destination, matrix instructions by datapath",
    "- [operations, and the source that defines them](oracle/operations.md): the oracle, function by function",
    "- [sources](sources.md): every document and code base, and what was looked at",
    "- [spec files](spec.md): every key with its description and allowed values",
    "",
    "One page per object is behind each id below; `emu show KIND/ID` prints the same facts.",
)


def contents_page() -> str:
    """Return the Markdown page."""
    lines = ["# Contents of the spec", "", *_ACROSS, ""]
    lines += ["| kind | objects | with open points |", "| --- | ---: | ---: |"]
    for kind in KINDS:
        things = [get(kind, name) for name in names(kind)]
        lines.append(f"| [{kind}](#{kind}) | {len(things)} | {sum(bool(thing.open) for thing in things)} |")
    lines += ["", *_statuses()]
    for kind in KINDS:
        lines += ["", f"## {kind}", "", *_table(kind)]
    return "\n".join(lines) + "\n"


def _statuses() -> list[str]:
    """Return what each status word means and how many objects bear it."""
    found = Counter(get(kind, name).status for kind in KINDS for name in names(kind))
    lines = [
        "The status of an object is that of its weakest fact. What is open is refused, or masked in vectors; never guessed.",
        "",
    ]
    return lines + table(("status", "means", "objects"), [(word, means, str(found[word])) for word, means in STATUS.items()], numbers=(2,))


def _table(kind: str) -> list[str]:
    extra = _EXTRA.get(kind)
    header = ["id", "title", *([extra[0]] if extra else []), "status", "open"]
    rows = []
    for name in names(kind):
        thing: SpecObject = get(kind, name)
        also = f"<br>also {', '.join(f'`{alias}`' for alias in thing.aliases)}" if thing.aliases else ""
        points = f"[{len(thing.open)}]({kind}/{thing.id}.md#open)" if thing.open else ""
        cells = [f"{link(kind, thing.id, '')}{also}", thing.title, *([extra[1](thing)] if extra else []), thing.status, points]
        rows.append(cells)
    return table(header, rows)


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


def _recipe(recipe: Recipe) -> str:
    return f"block `{recipe.facts.block}`, {len(recipe.facts.steps)} steps; dequantize: {', '.join(recipe.facts.dequantize)}"


def _datapath(datapath: Datapath) -> str:
    facts = datapath.facts
    if not isinstance(facts, DatapathFacts):
        return "unknown: refused"
    kept = facts.align.fraction_bits
    adder = {"exact": "exact sum", "exact_products": "exact products", "open": "adder open"}.get(str(kept), f"{kept} fraction bits")
    a, b = (", ".join(names) for names in (facts.a, facts.b))
    return f"{a} x {b}" * (a != b) + f"pairs of {a}" * (a == b) + f"; K {facts.k}, {adder}, {facts.d} {facts.round.mode}"


def _instruction(family: Instruction) -> str:
    found = forms(family)
    return f"`{family.facts.mnemonic}`: {plural(len(found), 'form')}"


_EXTRA: dict[str, tuple[str, Callable[[Any], str]]] = {
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
